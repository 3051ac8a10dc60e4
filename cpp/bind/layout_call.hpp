// Calling a layout: `layout(i)`, `layout(i, j)`, `layout((i, j))`.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bind {

// Sets a type's slot for calls: of Layout and ComposedLayout.
void make_callable(PyHeapTypeObject* type);

}  // namespace tilewright::bind
