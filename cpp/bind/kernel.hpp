// A kernel with everything of its launch but the addresses and the stream.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call_key.hpp"
#include "launch_hook.hpp"
#include "runtime/module.hpp"
#include "runtime/tensor_map.hpp"

namespace tilewright::bind {

// Takes the place of a Function where there is no GPU: tensors on the CPU, launches are written down. For tests.
struct Recorder {
  struct Launch {
    runtime::LaunchShape shape;
    runtime::Stream stream;
    std::string params;
  };
  std::string name;
  uint64_t count = 0;  // launches so far
  Launch last;

  void record(const runtime::LaunchShape& shape, runtime::Stream stream, const char* params, size_t bytes) {
    ++count;
    last.shape = shape;
    last.stream = stream;
    last.params.assign(params, bytes);
  }
};

// The bytes of a parameter, in pieces that are aligned as the driver needs a tensor map in it to be.
struct alignas(runtime::TensorMap) ParameterPiece {
  unsigned char bytes[alignof(runtime::TensorMap)];
};
using ParameterBytes = std::vector<ParameterPiece>;

// The addresses of a call: of its arguments, and of the buffers of its workspace.
struct Addresses {
  const uint64_t* arguments;
  const uint64_t* buffers = nullptr;

  uint64_t operator[](int32_t place) const { return place >= 0 ? arguments[place] : buffers[-1 - place]; }
};

class Kernel {
 public:
  static constexpr int64_t kMaxBuffers = 8;
  using PointerTuple = std::tuple<int64_t, int64_t, int64_t>;
  using Tensor = std::optional<std::pair<int64_t, int64_t>>;

  Kernel(pybind11::object function, const runtime::Extent3& grid, const runtime::Extent3& block, int64_t shared,
         std::string_view params, const std::vector<PointerTuple>& pointers, const std::vector<PointerTuple>& maps,
         const runtime::LaunchOptions& options, pybind11::object plan, const std::vector<Tensor>& tensors);

  uint32_t tensors() const { return tensors_; }  // which arguments have to be tensors, as a bit mask
  uint32_t buffers() const { return buffers_; }  // buffers up to the last that it needs
  DLDevice device() const { return device_; }
  const pybind11::object& function() const { return function_; }
  const pybind11::object& plan() const { return plan_; }
  const runtime::LaunchShape& shape() const { return shape_; }
  const ParameterBytes& params() const { return params_; }
  size_t parameter_bytes() const { return bytes_; }

  // Writes the addresses into a copy of the parameter, also those in its tensor maps.
  void patch(const Addresses& addresses, ParameterPiece* params) const;
  void launch(runtime::Stream stream, ParameterPiece* params) const {
    if (kernel_ != nullptr) {
      kernel_->launch(shape_, stream, params);
    } else {
      recorder_->record(shape_, stream, reinterpret_cast<const char*>(params), bytes_);
    }
  }
  // Tells the callbacks that it was launched; the error of one.
  std::exception_ptr tell(const Addresses& addresses, runtime::Stream stream) const;

 private:
  struct Pointer {
    int32_t place;    // an argument, or -1 - i for buffer i
    uint32_t offset;  // in the parameter
    int64_t add;      // to the address there
  };

  int32_t place_of(int64_t index, const char* what);
  Pointer map_of(const PointerTuple& map);

  const runtime::Function* kernel_ = nullptr;
  Recorder* recorder_ = nullptr;
  runtime::LaunchShape shape_;
  ParameterBytes params_;
  size_t bytes_;
  std::vector<Pointer> pointers_;
  std::vector<Pointer> maps_;  // tensor maps, whose address is replaced
  uint32_t tensors_ = 0;
  uint32_t buffers_ = 0;
  DLDevice device_;
  pybind11::object function_;  // owns kernel_ or recorder_
  pybind11::object plan_;
  std::vector<std::optional<std::pair<int32_t, int64_t>>> shown_;  // the plan's tensors: place, bytes added
};

void bind_kernel(pybind11::module_& m);  // Recorder, Kernel

}  // namespace tilewright::bind
