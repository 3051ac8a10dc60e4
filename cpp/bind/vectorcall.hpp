// What the types share that leave something to CPython's own interface.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <stdexcept>

#include "cuda.hpp"

namespace tilewright::bind {

// f(), which returns a new reference; nullptr with a Python error where it throws.
template <class F>
PyObject* python_call(F&& f) noexcept {
  try {
    return f();
  } catch (const runtime::DriverError& error) {
    set_error(error);
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const pybind11::builtin_exception& error) {
    error.set_error();
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// A method or a slot as the C interface takes it.
template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

// Instances of a type come from functions alone: one that no function has made would have no value. For
// py::custom_type_setup.
void only_returned(PyHeapTypeObject* type);

}  // namespace tilewright::bind
