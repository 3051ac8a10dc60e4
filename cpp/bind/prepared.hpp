// A launch with everything but the addresses and the stream.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "call_key.hpp"
#include "runtime/module.hpp"

namespace tilewright::bind {

// Takes the place of a Function where there is no GPU: tensors on the CPU, launches are written down. For tests.
struct Recorder {
  struct Launch {
    runtime::LaunchShape shape;
    runtime::Stream stream;
    std::string params;
  };
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

class Prepared {
 public:
  struct Pointer {
    uint32_t argument;
    uint32_t offset;  // in the parameter
    int64_t add;      // to the tensor's address
  };
  struct Range {  // the bytes that the kernel touches, relative to the tensor's address
    uint32_t argument;
    int64_t low, high;
  };
  using PointerTuple = std::tuple<int64_t, int64_t, int64_t>;
  using Pair = std::pair<int64_t, int64_t>;

  Prepared(pybind11::object function, const runtime::Extent3& grid, const runtime::Extent3& block, int64_t shared,
           const pybind11::bytes& params, const std::vector<PointerTuple>& pointers,
           const std::vector<PointerTuple>& ranges, const std::vector<Pair>& disjoint, std::optional<int64_t> result,
           pybind11::object keep, const std::vector<PointerTuple>& maps, bool programmatic);

  // Which arguments have to be tensors, and which to be there, as bit masks.
  uint32_t tensors() const { return tensors_; }
  uint32_t arguments() const { return arguments_; }
  // Arguments up to the last that has to be a tensor.
  uint32_t tensor_count() const;
  DLDevice device() const { return device_; }
  std::optional<uint32_t> result() const { return result_; }
  const pybind11::object& function() const { return function_; }
  const pybind11::object& keep() const { return keep_; }
  size_t parameter_bytes() const { return bytes_; }
  const runtime::LaunchShape& shape() const { return shape_; }

  // The first pair of ranges that overlap at these addresses (by argument), or nullptr.
  const std::pair<uint32_t, uint32_t>* overlap(const uint64_t* addresses) const {
    for (const auto& pair : disjoint_) {
      const Range& a = ranges_[pair.first];
      const Range& b = ranges_[pair.second];
      const auto at = [&](const Range& r, int64_t offset) {
        return addresses[r.argument] + static_cast<uint64_t>(offset);
      };
      if (at(a, a.low) < at(b, b.high) && at(b, b.low) < at(a, a.high)) return &pair;
    }
    return nullptr;
  }
  std::string overlap_text(const std::pair<uint32_t, uint32_t>& pair) const;

  // Writes the addresses into the parameter of the next launch, also those in its tensor maps. The GIL is held from
  // here to the launch: it guards the parameter, and releasing it would cost more than enqueueing does.
  void patch(const uint64_t* addresses) { patch(addresses, params_.data()); }
  void patch(const uint64_t* addresses, ParameterPiece* params) const;
  void launch(runtime::Stream stream) { launch(stream, params_.data()); }
  void launch(runtime::Stream stream, ParameterPiece* params) const {
    if (kernel_ != nullptr) {
      kernel_->launch(shape_, stream, params);
    } else {
      recorder_->record(shape_, stream, reinterpret_cast<const char*>(params), bytes_);
    }
  }
  const ParameterBytes& params() const { return params_; }

 private:
  uint32_t argument_index(int64_t index, const char* what) const;
  Pointer map_of(const PointerTuple& map) const;

  const runtime::Function* kernel_ = nullptr;
  Recorder* recorder_ = nullptr;
  runtime::LaunchShape shape_;
  ParameterBytes params_;
  size_t bytes_;
  std::vector<Pointer> pointers_;
  std::vector<Pointer> maps_;  // tensor maps, whose address is replaced
  std::vector<Range> ranges_;
  std::vector<std::pair<uint32_t, uint32_t>> disjoint_;
  uint32_t tensors_ = 0;
  uint32_t arguments_ = 0;
  std::optional<uint32_t> result_;
  DLDevice device_;
  pybind11::object function_;  // owns kernel_ or recorder_
  pybind11::object keep_;
};

void bind_prepared(pybind11::module_& m);

// A Bound of a Prepared; addresses by argument.
pybind11::object make_bound(const pybind11::object& prepared, const pybind11::tuple& tensors, const uint64_t* addresses,
                            const DLPackExchangeAPI* api);
void bind_bound(pybind11::module_& m);

}  // namespace tilewright::bind
