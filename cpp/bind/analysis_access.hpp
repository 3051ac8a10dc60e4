// What the files of bindings of the submodule analysis share.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/access.hpp"

namespace tilewright::bind {

using Integers = pybind11::array_t<int64_t, pybind11::array::c_style | pybind11::array::forcecast>;
using Bools = pybind11::array_t<bool, pybind11::array::c_style | pybind11::array::forcecast>;

// The kind of access that Python's words say; ValueError for one that there is not.
analysis::Access to_access(const std::string& memory, const std::string& op, int64_t width, int64_t matrices);

// A bit for each active lane of each request; `addresses`: (requests, lanes).
std::vector<uint32_t> masks_of(const analysis::Access& access, const Integers& addresses,
                               const std::optional<Bools>& active);

void bind_search(pybind11::module_& m);  // the best swizzles and paddings, in the same submodule
void bind_totals(pybind11::module_& m);  // totals over a launch

}  // namespace tilewright::bind
