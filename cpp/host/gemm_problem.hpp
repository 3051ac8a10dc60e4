// The problem that a GEMM plan is run for: types, extents, strides, epilogue and addresses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gemm_numbers.hpp"

namespace tilewright::host {

inline constexpr std::size_t kMaxBatch = 8;  // batch modes

struct GemmTensor {
  uint64_t address = 0;
  Type type = Type::f32;
  std::array<int64_t, 2> extents{};  // (m, k), (n, k) or (m, n)
  std::array<int64_t, 2> strides{};  // in elements
  std::vector<int64_t> batch_strides;
};

enum class Activation { none, relu, gelu, gelu_tanh, silu };

// activation(alpha * sum + beta * C + bias)
struct GemmEpilogue {
  double alpha = 1;
  double beta = 0;
  int bias_mode = -1;  // 0 along m, 1 along n
  Type bias_type = Type::f32;
  int64_t bias_stride = 0;
  uint64_t bias_address = 0;
  Activation activation = Activation::none;
};

struct GemmProblem {
  GemmTensor a, b, c;
  Type acc = Type::f32;      // f32, f64 or i32: that of the sums
  Type compute = Type::f32;  // f32, f64 or i32: that of the epilogue
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> batch;
  GemmEpilogue epilogue;

  int64_t batches() const {
    int64_t count = 1;
    for (const int64_t extent : batch) count *= extent;
    return count;
  }
  bool empty() const { return m == 0 || n == 0 || batches() == 0; }
  // Where the matrix of a batch index begins, in elements.
  int64_t batch_offset(const GemmTensor& tensor, int64_t index) const {
    int64_t offset = 0;
    for (std::size_t mode = 0; mode < batch.size(); ++mode) {
      offset += index % batch[mode] * tensor.batch_strides[mode];
      index /= batch[mode];
    }
    return offset;
  }
};

// Raises PlanError where a field makes no sense, so that no address overflows afterwards.
void check_problem(GemmProblem& problem);

}  // namespace tilewright::host
