// Values of a program as Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/integer.hpp"
#include "program/builder.hpp"

namespace tilewright::bind {

namespace py = pybind11;

// What `_core.program.Builder` holds.
struct Tracing;

// A value of a program that is being traced.
struct Symbol {
  std::shared_ptr<Tracing> tracing;
  program::ValueId id;
};

bool is_symbol(py::handle object);
// The id of a symbol of this thread's trace; raises where it is another one's.
int64_t id_of_symbol(py::handle object);
// The symbol of an id of this thread's trace.
py::object symbol_object(int64_t id);
// Whether each first integer is less than its second, a Boolean of the program.
py::object all_less(const std::vector<std::pair<Node, Node>>& pairs);

void bind_program_text(py::module_& m);  // CUDA C++

}  // namespace tilewright::bind
