// What is called for every kernel launch.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "runtime/module.hpp"

namespace tilewright::bind {

// A kernel that was enqueued, as a callback gets it.
struct Launch {
  pybind11::object plan;
  std::string kernel;
  std::vector<std::optional<uint64_t>> addresses;
  runtime::LaunchShape shape;
  int device;
  runtime::Stream stream;
};

// Whether any callback is set: all that a launch asks where none is.
inline std::atomic<bool> launches_are_watched = false;

// Calls the callbacks, each with the launch. The error of the first that fails, after which no other is called. Nothing
// is called for a launch that a callback makes itself.
std::exception_ptr report(const Launch& launch) noexcept;

pybind11::tuple to_tuple(const runtime::Dim3& dim);

void bind_launch_hook(pybind11::module_& m);

}  // namespace tilewright::bind
