// What the files of bindings of the submodule analysis share.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "analysis/access.hpp"

namespace tilewright::bind {

// The kind of access that Python's words say; ValueError for one that there is not.
analysis::Access to_access(const std::string& memory, const std::string& op, int64_t width, int64_t matrices);

void bind_totals(pybind11::module_& m);  // totals over a launch, in the same submodule

}  // namespace tilewright::bind
