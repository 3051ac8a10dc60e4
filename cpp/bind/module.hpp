// One function a file of bindings.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bind {

void bind_layout(pybind11::module_& m);     // Layout, ComposedLayout, Swizzle, ScaledBasis and their constructors
void bind_int_tuple(pybind11::module_& m);  // operations on nested tuples
void bind_modes(pybind11::module_& m);      // picking, grouping, slicing modes
void bind_algebra(pybind11::module_& m);    // coalesce ... raked_product
void bind_condition(pybind11::module_& m);  // when it answers right
void bind_explain(pybind11::module_& m);    // an operation with its steps
void bind_function(pybind11::module_& m);   // is_injective, equivalent, image, offsets ...
void bind_host(pybind11::module_& m);       // the submodule host: copy plans on the CPU
void bind_host_gemm(pybind11::module_& m);  // and GEMM plans
void bind_analysis(pybind11::module_& m);   // the submodule analysis: sectors and wavefronts of accesses
void bind_picture(pybind11::module_& m);    // the submodule picture: pictures as SVG
void bind_cuda(pybind11::module_& m);       // the submodule cuda: driver, NVRTC, launches
void bind_program(pybind11::module_& m);    // the submodule program: what tracing gives
void bind_execute(pybind11::module_& m);    // and its execution on the CPU

}  // namespace tilewright::bind
