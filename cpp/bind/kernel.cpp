#include "kernel.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/error.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

using runtime::Extent3;
using runtime::Function;

// A recorder has no kernel that could refuse a shape.
runtime::LaunchShape recorded_shape(const Extent3& grid, const Extent3& block, int64_t shared,
                                    const runtime::LaunchOptions& options) {
  const auto dim = [](const Extent3& v) {
    return runtime::Dim3{static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<uint32_t>(v[2])};
  };
  return {dim(grid),
          dim(block),
          static_cast<uint32_t>(shared),
          options.programmatic,
          dim(options.cluster),
          options.cooperative,
          options.completion_event,
          options.programmatic_event};
}

}  // namespace

// A place that a pointer or a map names is one that a launch needs.
int32_t Kernel::place_of(int64_t index, const char* what) {
  if (index >= CallKey::kMaxArguments || index < -kMaxBuffers) {
    throw std::invalid_argument(concat("Kernel: ", what, " names argument ", index, "; arguments are 0 to ",
                                       CallKey::kMaxArguments - 1, ", and -1 to ", -kMaxBuffers,
                                       " are buffers of the workspace"));
  }
  if (index >= 0) {
    tensors_ |= uint32_t{1} << index;
  } else {
    buffers_ = std::max(buffers_, static_cast<uint32_t>(-index));
  }
  return static_cast<int32_t>(index);
}

Kernel::Kernel(py::object function, const Extent3& grid, const Extent3& block, int64_t shared, std::string_view params,
               const std::vector<PointerTuple>& pointers, const std::vector<PointerTuple>& maps,
               const runtime::LaunchOptions& options, py::object plan, const std::vector<Tensor>& tensors)
    : bytes_(params.size()), function_(std::move(function)), plan_(std::move(plan)) {
  params_.resize((bytes_ + sizeof(ParameterPiece) - 1) / sizeof(ParameterPiece));
  if (bytes_ != 0) std::memcpy(params_.data(), params.data(), bytes_);
  if (py::isinstance<Recorder>(function_)) {
    recorder_ = function_.cast<Recorder*>();
    shape_ = recorded_shape(grid, block, shared, options);
    device_ = {kDLCPU, 0};
  } else {
    auto* function = function_.cast<Function*>();
    if (shared > function->dynamic_shared() && shared <= function->most_dynamic_shared()) {
      function->set_dynamic_shared(shared);
    }
    kernel_ = function;
    shape_ = kernel_->shape(grid, block, shared, options);
    kernel_->check_parameter(bytes_);
    device_ = {kDLCUDA, kernel_->device()};
  }
  for (const auto& [place, offset, add] : pointers) {
    if (offset < 0 || static_cast<uint64_t>(offset) + 8 > bytes_) {
      throw std::invalid_argument(
          concat("Kernel: a pointer at byte ", offset, " does not lie in a parameter of ", bytes_, " bytes"));
    }
    pointers_.push_back({place_of(place, "pointers"), static_cast<uint32_t>(offset), add});
  }
  for (const PointerTuple& map : maps) maps_.push_back(map_of(map));
  for (const Tensor& tensor : tensors) {
    shown_.emplace_back();
    if (tensor) shown_.back().emplace(place_of(tensor->first, "tensors"), tensor->second);
  }
}

Kernel::Pointer Kernel::map_of(const PointerTuple& map) {
  const auto [place, offset, add] = map;
  if (offset < 0 || static_cast<uint64_t>(offset) + sizeof(runtime::TensorMap) > bytes_) {
    throw std::invalid_argument(
        concat("Kernel: a tensor map at byte ", offset, " does not lie in a parameter of ", bytes_, " bytes"));
  }
  if (offset % alignof(runtime::TensorMap) != 0) {
    throw std::invalid_argument(concat("Kernel: a tensor map at byte ", offset,
                                       " of the parameter; it must lie at a multiple of ",
                                       alignof(runtime::TensorMap)));
  }
  if (kernel_ != nullptr) runtime::check_tensor_maps();
  return {place_of(place, "maps"), static_cast<uint32_t>(offset), add};
}

void Kernel::patch(const Addresses& addresses, ParameterPiece* params) const {
  auto* bytes = reinterpret_cast<unsigned char*>(params);
  for (const Pointer& pointer : pointers_) {
    const uint64_t address = addresses[pointer.place] + static_cast<uint64_t>(pointer.add);
    std::memcpy(bytes + pointer.offset, &address, sizeof address);
  }
  for (const Pointer& map : maps_) {
    const uint64_t address = addresses[map.place] + static_cast<uint64_t>(map.add);
    if (address % runtime::kTensorMapAlignment != 0) {
      throw std::invalid_argument(concat("launch: argument ", map.place, " is read through a tensor map from address ",
                                         address, ", which must be a multiple of ", runtime::kTensorMapAlignment,
                                         " bytes"));
    }
    if (kernel_ != nullptr) {
      runtime::replace_address(*reinterpret_cast<runtime::TensorMap*>(bytes + map.offset), address);
    } else {
      std::memcpy(bytes + map.offset, &address, sizeof address);
    }
  }
}

std::exception_ptr Kernel::tell(const Addresses& addresses, runtime::Stream stream) const {
  Launch launch = {plan_, kernel_ ? kernel_->name() : recorder_->name, {}, shape_, device_.device_id, stream};
  for (const auto& tensor : shown_) {
    launch.addresses.emplace_back();
    if (tensor) launch.addresses.back() = addresses[tensor->first] + static_cast<uint64_t>(tensor->second);
  }
  return report(launch);
}

constexpr int64_t kThreads = 2048;  // of a multiprocessor

void bind_kernel(py::module_& m) {
  py::class_<Recorder>(m, "Recorder",
                       "Takes the place of a Function in a Kernel where there is no GPU: its tensors are on the CPU, "
                       "and launches are written down. For tests.")
      .def(py::init([](std::string name) { return Recorder{std::move(name), 0, {}}; }), py::arg("name") = "")
      .def_readonly("name", &Recorder::name)
      .def_readonly("count", &Recorder::count, "Launches so far.")
      .def_property_readonly(
          "last",
          [](const Recorder& r) {
            return py::make_tuple(to_tuple(r.last.shape.grid), to_tuple(r.last.shape.block), r.last.shape.shared,
                                  reinterpret_cast<uintptr_t>(r.last.stream), py::bytes(r.last.params));
          },
          "The last launch: grid, block, shared, stream, params. A tensor map in params has its new address in its "
          "first 8 bytes.")
      .def_property_readonly(
          "programmatic", [](const Recorder& r) { return r.last.shape.programmatic; },
          "Whether the last launch might overlap with what was enqueued before it.")
      .def(
          "occupancy", [](const Recorder&, int64_t block, int64_t) { return kThreads / block; }, py::arg("block"),
          py::arg("shared") = 0, "Blocks that have room by their threads.");

  py::class_<Kernel>(m, "Kernel", "A kernel with everything of its launch but the addresses and the stream.")
      .def(py::init([](py::object function, const Extent3& grid, const Extent3& block, int64_t shared,
                       const py::bytes& params, const std::vector<Kernel::PointerTuple>& pointers,
                       const std::vector<Kernel::PointerTuple>& maps, bool programmatic, py::object plan,
                       const std::vector<Kernel::Tensor>& tensors) {
             return Kernel(std::move(function), grid, block, shared, std::string_view(params), pointers, maps,
                           {programmatic, false, {1, 1, 1}}, std::move(plan), tensors);
           }),
           py::arg("function"), py::arg("grid"), py::arg("block"), py::arg("shared"), py::arg("params"),
           py::arg("pointers") = std::vector<Kernel::PointerTuple>(), py::kw_only(),
           py::arg("maps") = std::vector<Kernel::PointerTuple>(), py::arg("programmatic") = false,
           py::arg("plan") = py::none(), py::arg("tensors") = std::vector<Kernel::Tensor>(),
           "pointers: (place, offset in params, bytes added to the address there), where a place from 0 on is an "
           "argument of the call, and -1 - i is buffer i of the workspace; maps: the same of tensor maps in params, "
           "whose address is replaced; shared: bytes of dynamic shared memory, which the function is allowed from then "
           "on; programmatic: the kernel may begin before the one before it on the stream has ended, and waits for its "
           "data itself, on devices from sm_90 on; plan, and tensors, (place, bytes added) or None: what callbacks of "
           "launches are shown.")
      .def_property_readonly("function", &Kernel::function)
      .def_property_readonly("plan", &Kernel::plan)
      .def_property_readonly("parameter_bytes", &Kernel::parameter_bytes)
      .def_property_readonly("grid", [](const Kernel& k) { return to_tuple(k.shape().grid); })
      .def_property_readonly("block", [](const Kernel& k) { return to_tuple(k.shape().block); })
      .def_property_readonly("shared", [](const Kernel& k) { return k.shape().shared; })
      .def_property_readonly("programmatic", [](const Kernel& k) { return k.shape().programmatic; });
}

}  // namespace tilewright::bind
