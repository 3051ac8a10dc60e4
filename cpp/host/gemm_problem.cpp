#include "gemm_problem.hpp"

#include <limits>
#include <string>

#include "core/error.hpp"
#include "plan.hpp"

namespace tilewright::host {

namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;
constexpr int64_t kMaxOffset = int64_t{1} << 56;  // elements

template <class... Pieces>
[[noreturn]] void bad(const Pieces&... pieces) {
  throw PlanError(concat("problem.", pieces...));
}

// Strides of modes that do not move become 0; raises where an offset would be too large.
void check_reach(GemmProblem& problem, GemmTensor& tensor, const char* name) {
  int64_t reach = 0;
  const auto look = [&](int64_t extent, int64_t& stride, std::size_t mode) {
    if (extent <= 1) {
      stride = 0;
      return;
    }
    const int64_t most = (kMaxOffset - reach) / (extent - 1);
    if (stride > most || stride < -most) {
      bad(name, "_strides[", mode, "] = ", stride, " with the extent ", extent,
          " reaches over more than 2^56 elements");
    }
    reach += (extent - 1) * (stride < 0 ? -stride : stride);
  };
  for (std::size_t mode = 0; mode < 2; ++mode) look(tensor.extents[mode], tensor.strides[mode], mode);
  if (tensor.batch_strides.size() != problem.batch.size()) {
    bad(name, "_strides has ", tensor.batch_strides.size() + 2, " entries, but must have 2 + ", problem.batch.size(),
        ", one for each batch mode");
  }
  for (std::size_t mode = 0; mode < problem.batch.size(); ++mode) {
    look(problem.batch[mode], tensor.batch_strides[mode], mode + 2);
  }
}

bool sums_in(Type type, Type acc) {
  switch (type) {
    case Type::f64:
      return acc == Type::f64;
    case Type::i8:
    case Type::u8:
      return acc == Type::i32;
    case Type::i32:
      return false;
    default:
      return acc == Type::f32;
  }
}

}  // namespace

void check_problem(GemmProblem& problem) {
  for (const auto& [name, extent] : {std::pair{"m", problem.m}, {"n", problem.n}, {"k", problem.k}}) {
    if (extent < 0 || extent > kMaxExtent) bad(name, " = ", extent, " must be between 0 and 2^40");
  }
  if (problem.batch.size() > kMaxBatch) bad("batch has ", problem.batch.size(), " modes; at most 8 are taken");
  int64_t count = 1;
  for (const int64_t extent : problem.batch) {
    if (extent < 0 || extent > kMaxExtent) bad("batch has the extent ", extent, ", which must be between 0 and 2^40");
    if (extent != 0 && count > kMaxExtent / extent) bad("batch has more than 2^40 matrices");
    count *= extent;
  }
  problem.a.extents = {problem.m, problem.k};
  problem.b.extents = {problem.n, problem.k};
  problem.c.extents = {problem.m, problem.n};
  check_reach(problem, problem.a, "a");
  check_reach(problem, problem.b, "b");
  check_reach(problem, problem.c, "c");
  if (!sums_in(problem.a.type, problem.acc) || !sums_in(problem.b.type, problem.acc)) {
    bad("acc_type does not hold products of a_type and b_type: floats are summed in Float32, Float64 in Float64, 8-bit "
        "integers in Int32");
  }
  const GemmEpilogue& epilogue = problem.epilogue;
  const bool computes = problem.compute == problem.acc || (problem.acc == Type::i32 && problem.compute == Type::f32);
  if (!computes) bad("compute must be the type of the sums, or Float32 for sums in Int32");
  if (problem.compute == Type::i32) {
    constexpr double kMost = std::numeric_limits<int32_t>::max();
    for (const auto& [name, factor] : {std::pair{"alpha", epilogue.alpha}, {"beta", epilogue.beta}}) {
      if (!(factor >= -kMost && factor <= kMost)) bad("epilogue.", name, " = ", factor, " does not fit into Int32");
    }
    if (epilogue.activation != Activation::none && epilogue.activation != Activation::relu) {
      bad("epilogue.activation must be None or \"relu\" where compute is Int32");
    }
  }
  const int64_t extent = epilogue.bias_mode == 0 ? problem.m : problem.n;
  if (epilogue.bias_mode >= 0 && extent > 1) {
    const int64_t most = kMaxOffset / (extent - 1);
    if (epilogue.bias_stride > most || epilogue.bias_stride < -most) {
      bad("epilogue.bias_stride = ", epilogue.bias_stride, " reaches over more than 2^56 elements");
    }
  }
}

}  // namespace tilewright::host
