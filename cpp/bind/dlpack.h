// The memory behind a tensor: imported through DLPack, or allocated here.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

// Adds the class Memory.
void bind_dlpack(pybind11::module_& module);

}  // namespace tilewright
