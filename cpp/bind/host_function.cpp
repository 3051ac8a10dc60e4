#include "host_function.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "core/error.hpp"
#include "prepared.hpp"
#include "program/emit/emit.hpp"
#include "program/evaluate.hpp"
#include "program/fold.hpp"
#include "runtime/tensor_map.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

using program::Opcode;
using program::Program;

constexpr int64_t kSharedUnasked = 48 * 1024;  // bytes that a block has without asking
constexpr int64_t kPortableCluster = 8;
constexpr int64_t kL2Promotion = 128;               // bytes that the L2 fetches at least for TMA
constexpr int kCooperative = 2, kProgrammatic = 3;  // among the numbers of a launch
constexpr std::size_t kWithoutEvents = 4;           // numbers of a launch that records no events

Source::Place place_of(const std::string& name) {
  constexpr const char* kNames[] = {"fixed", "address", "shape", "stride", "number"};
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) throw std::invalid_argument(concat("HostFunction: there is no source ", name));
  return static_cast<Source::Place>(found - std::begin(kNames));
}

// Whether a block has what is not the same for other addresses, or not in the launches alone.
bool is_more_than_launches(const Program& program, program::BlockId block) {
  return std::ranges::any_of(program.blocks[block].operations, [&](program::OpId id) {
    const program::Operation& operation = program.operations[id];
    const bool has_events = operation.code == Opcode::kLaunch && operation.ints.size() > kWithoutEvents;
    return operation.code == Opcode::kAddress || operation.code == Opcode::kPrintf || has_events ||
           std::ranges::any_of(operation.blocks,
                               [&](program::BlockId inner) { return is_more_than_launches(program, inner); });
  });
}

// The map but for its address, which every launch puts in.
runtime::TensorMap encoded(const program::MapOfTensor& map) {
  constexpr uint64_t kSomewhere = 1024;
  return runtime::encode_tiled(
      {kSomewhere, map.element, map.shape, map.strides, map.box, std::nullopt, map.swizzle, kL2Promotion, "zeros"});
}

}  // namespace

uint32_t Source::word(const CallKey& key) const {
  const uint32_t at = key.place(argument);
  if (place == Place::number) return at + 1;
  return at + 1 + 2 * mode + (place == Place::stride ? 1 : 0);
}

std::optional<uint64_t> Source::value(Kind kind, uint64_t word) const {
  if (place == Place::number && kind == Kind::real) {
    if (scalar == program::Scalar::kFloat64) return word;
    if (scalar != program::Scalar::kFloat32) return std::nullopt;
    return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(word)));
  }
  const auto number = static_cast<int64_t>(word);
  if ((place == Place::number && kind != Kind::integer) || program::is_float(scalar)) return std::nullopt;
  const uint64_t bits = program::bits_of_value(scalar, number);
  const bool fits = program::value_of_bits(scalar, bits) == number;
  if (!fits || number % divisor != 0) return std::nullopt;
  return bits;
}

HostFunction::HostFunction(std::shared_ptr<Program> program, std::size_t index, const std::vector<SourceTuple>& sources,
                           py::object load)
    : program_(std::move(program)), index_(index), load_(std::move(load)) {
  const program::Function& function = program_->functions.at(index);
  const std::vector<program::ValueId>& parameters = program_->blocks[function.body].parameters;
  if (sources.size() != parameters.size()) {
    throw std::invalid_argument(concat("HostFunction: ", function.name, " has ", parameters.size(), " parameters, but ",
                                       sources.size(), " sources are given"));
  }
  is_repeatable_ = function.results.empty() && !is_more_than_launches(*program_, function.body);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto& [name, argument, mode, divisor] = sources[i];
    const program::Type& type = program_->type(parameters[i]);
    Source source{place_of(name), static_cast<uint32_t>(argument), static_cast<uint32_t>(mode), divisor, type.scalar};
    if (argument < 0 || argument >= CallKey::kMaxArguments) source.place = Source::Place::fixed;
    if (type.is_pointer() && source.place != Source::Place::address) is_repeatable_ = false;
    sources_.push_back(source);
  }
}

const HostFunction::Loaded* HostFunction::loaded(std::size_t kernel, bool may_load) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(kernel);
    if (found != kernels_.end()) return &found->second;
  }
  if (!may_load) return nullptr;
  auto [function, offsets, bytes, shared, plan] = load_(kernel).cast<KernelTuple>();
  const std::lock_guard lock(mutex_);
  return &kernels_.emplace(kernel, Loaded{std::move(function), std::move(offsets), bytes, shared, std::move(plan)})
              .first->second;
}

py::object HostFunction::prepare(const py::object& self, const std::vector<uint64_t>& parameters, bool given_stream,
                                 bool may_load) const {
  if (!is_repeatable_) return py::none();
  const program::HostRun run = program::evaluate(*program_, index_, parameters);
  if (run.launches.empty()) return py::none();
  std::vector<Kernel> made;
  for (const program::Launched& launched : run.launches) {
    const Loaded* known = loaded(launched.kernel, may_load);
    if (known == nullptr) return py::none();
    const Loaded& kernel = *known;
    const std::vector<program::ValueId>& taken = program_->blocks[program_->functions[launched.kernel].body].parameters;
    std::string params(kernel.bytes, '\0');
    std::vector<Kernel::PointerTuple> pointers, maps;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const uint64_t bits = launched.arguments.at(i).bits;
      const int base = launched.arguments.at(i).base;
      if (program_->type(taken[i]).is_tensor_map()) {
        const program::MapOfTensor& map = launched.maps.at(bits);
        if (map.address.base < 0) return py::none();
        const runtime::TensorMap made_of = encoded(map);
        std::memcpy(params.data() + kernel.offsets.at(i), &made_of, sizeof made_of);
        const uint32_t argument = sources_[static_cast<std::size_t>(map.address.base)].argument;
        maps.emplace_back(argument, kernel.offsets.at(i), static_cast<int64_t>(map.address.bits));
      } else if (base >= 0) {
        const uint32_t argument = sources_[static_cast<std::size_t>(base)].argument;
        pointers.emplace_back(argument, kernel.offsets.at(i), static_cast<int64_t>(bits));
      } else {
        std::memcpy(params.data() + kernel.offsets.at(i), &bits, program::parameter_bytes(program_->type(taken[i])));
      }
    }
    const int64_t shared = std::max(kernel.shared, launched.shared_bytes);
    const runtime::Extent3 cluster = std::to_array(launched.cluster);
    if (!py::isinstance<Recorder>(kernel.function)) {
      auto& function = kernel.function.cast<runtime::Function&>();
      if (shared > kSharedUnasked) function.set_dynamic_shared(shared);
      if (cluster[0] * cluster[1] * cluster[2] > kPortableCluster) function.set_nonportable_cluster();
    }
    const runtime::LaunchOptions options = {launched.ints.at(kProgrammatic) != 0, launched.ints.at(kCooperative) != 0,
                                            cluster};
    made.emplace_back(kernel.function, std::to_array(launched.grid), std::to_array(launched.block), shared, params,
                      pointers, maps, options, kernel.plan, std::vector<Kernel::Tensor>());
  }
  Prepared prepared(std::move(made), {}, {}, std::nullopt, py::none(), py::none());
  prepared.come_from(self, parameters, given_stream);
  return py::cast(std::move(prepared));
}

void bind_host_function(py::module_& m) {
  py::class_<HostFunction>(m, "HostFunction",
                           "A host function of a traced program, with its kernels on a device: its launches for the "
                           "arguments of one call.")
      .def(py::init<std::shared_ptr<Program>, std::size_t, const std::vector<HostFunction::SourceTuple>&, py::object>(),
           py::arg("program"), py::arg("function"), py::arg("sources"), py::arg("load"),
           "sources: where a call has each parameter, (\"address\", argument, 0, alignment), (\"shape\" or \"stride\", "
           "argument, mode, divisor), (\"number\", argument, 0, divisor), or (\"fixed\", 0, 0, 1); load: called once "
           "with the index of a kernel that is launched, gives (function, offsets of the parameters, bytes of all, "
           "shared memory, plan).")
      .def(
          "prepare",
          [](const py::object& self, const std::vector<uint64_t>& parameters, bool given_stream) {
            return self.cast<const HostFunction&>().prepare(self, parameters, given_stream, true);
          },
          py::arg("parameters"), py::arg("given_stream") = false,
          "A Prepared of all launches for these parameters, with everything but the addresses of arguments. None "
          "where the function returns or prints something, looks at addresses, launches nothing, or gets pointers "
          "that are no tensors' own. given_stream: the call says the stream.");
}

}  // namespace tilewright::bind
