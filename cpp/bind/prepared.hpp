// One or several kernels, launched one after another, with everything but the addresses and the stream.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel.hpp"
#include "without_gil.hpp"

namespace tilewright::bind {

class Prepared {
 public:
  struct Range {  // the bytes that the kernels touch, relative to the tensor's address
    uint32_t argument;
    int64_t low, high;
  };
  using RangeTuple = std::tuple<int64_t, int64_t, int64_t>;
  using Pair = std::pair<int64_t, int64_t>;
  using Parameters = std::vector<ParameterBytes>;  // a kernel's each

  Prepared(std::vector<Kernel> kernels, const std::vector<RangeTuple>& ranges, const std::vector<Pair>& disjoint,
           std::optional<int64_t> result, pybind11::object keep, pybind11::object workspace);

  // Which arguments have to be tensors, and which to be there, as bit masks.
  uint32_t tensors() const { return tensors_; }
  uint32_t arguments() const { return arguments_; }
  // Arguments up to the last that has to be a tensor.
  uint32_t tensor_count() const;
  DLDevice device() const { return kernels_.front().device(); }
  std::optional<uint32_t> result() const { return result_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const pybind11::object& keep() const { return keep_; }
  bool has_workspace() const { return buffers_ != 0; }
  bool runs_python() const { return has_workspace() || launches_are_watched; }
  Parameters params() const;

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

  // Of the launches of a program: its HostFunction, the parameters that they were evaluated for, and whether the call
  // says the stream. Addresses that are less aligned than the program was made for are not for it.
  void come_from(pybind11::object host, std::vector<uint64_t> parameters, bool given_stream);
  const pybind11::object& host() const { return host_; }
  const std::vector<uint64_t>& host_parameters() const { return host_parameters_; }
  bool given_stream() const { return given_stream_; }
  bool is_aligned(const uint64_t* addresses) const {
    for (const auto& [argument, mask] : alignments_) {
      if (addresses[argument] & mask) return false;
    }
    return true;
  }

  // Enqueues the kernels on a stream for arguments at these addresses. Where that runs Python code, whoever calls this
  // keeps the Prepared alive. The GIL, or the mutex, is held from the patch of a parameter to its launch: it guards the
  // parameter, and releasing it would cost more than enqueueing does.
  void launch(const uint64_t* arguments, runtime::Stream stream) {
    if (runs_python()) return launch_with_python(arguments, stream, params_, false);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const std::lock_guard lock(mutex_);
      kernels_[i].patch({arguments}, params_[i].data());
      kernels_[i].launch(stream, params_[i].data());
    }
  }
  // With parameters of one's own. Where there is no workspace, they have the addresses already.
  void launch(const uint64_t* arguments, runtime::Stream stream, Parameters& params) const {
    if (runs_python()) return launch_with_python(arguments, stream, params, !has_workspace());
    for (size_t i = 0; i < kernels_.size(); ++i) kernels_[i].launch(stream, params[i].data());
  }

 private:
  uint32_t argument_index(int64_t index, const char* what) const;
  [[gnu::cold, gnu::noinline]] void launch_with_python(const uint64_t* arguments, runtime::Stream stream,
                                                       Parameters& params, bool patched) const;
  pybind11::object ask_workspace(runtime::Stream stream, uint64_t* buffers) const;

  std::vector<Kernel> kernels_;
  Parameters params_;
  mutable GilMutex mutex_;  // of the parameters
  std::vector<Range> ranges_;
  std::vector<std::pair<uint32_t, uint32_t>> disjoint_;
  uint32_t tensors_ = 0;
  uint32_t arguments_ = 0;
  uint32_t buffers_ = 0;  // that the kernels need of the workspace
  std::optional<uint32_t> result_;
  pybind11::object keep_;
  pybind11::object workspace_;
  pybind11::object host_;
  std::vector<uint64_t> host_parameters_;
  bool given_stream_ = false;
  std::vector<std::pair<uint32_t, uint64_t>> alignments_;  // by argument, beyond what a call's key tells
};

void bind_prepared(pybind11::module_& m);

// A Bound of a Prepared; addresses by argument.
pybind11::object make_bound(const pybind11::object& prepared, const pybind11::tuple& tensors,
                            std::vector<uint64_t> addresses, const DLPackExchangeAPI* api);
void bind_bound(pybind11::module_& m);

}  // namespace tilewright::bind
