// The classes of layouts, and the parts of them that functions make of Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "convert.hpp"
#include "core/composed.hpp"

namespace tilewright::bind {

void bind_layout_types(pybind11::module_& m);  // Layout, ComposedLayout, Swizzle, ScaledBasis

// The inner function of a composed layout: a Swizzle, a Layout or a Python callable.
Inner to_inner(pybind11::handle object);

// value@modes[0]@modes[1]..
BasisElement make_basis(const Node& value, const std::vector<int64_t>& modes);

}  // namespace tilewright::bind
