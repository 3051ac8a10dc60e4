// What the bindings of the CUDA runtime share.
#pragma once

#include <pybind11/pybind11.h>

#include "runtime/driver.hpp"

namespace tilewright::bind {

// Makes the Python exception of a DriverError the current one.
void set_error(const runtime::DriverError& error);

void bind_launcher(pybind11::module_& m);    // Launch, Kernel, Prepared, Bound, Launcher, describe
void bind_tensor_map(pybind11::module_& m);  // encode_tensor_map

}  // namespace tilewright::bind
