// Arrays of other libraries, seen through the C functions that their types offer (`__dlpack_c_exchange_api__`).
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "third_party/dlpack/dlpack.h"

namespace tilewright::bind {

// What a call makes of an argument, by its type.
enum class Kind : uint8_t {
  tensor,
  foreign_array,
  none,
  boolean,
  integer,
  real,
  string,
  tuple,
  numeric,
  stream,
  object,
  unhashable
};

struct TypeInfo {
  PyTypeObject* type = nullptr;
  Kind kind = Kind::object;
  const DLPackExchangeAPI* api = nullptr;  // of a tensor
  // Properties that DLPack cannot express, where the type has them: gradients; values that are to be conjugated or
  // negated when they are read, which torch exports as if they were not.
  getter requires_grad = nullptr;
  void* closure = nullptr;
  PyCFunction is_conj = nullptr;
  PyCFunction is_neg = nullptr;
};

// Looked up once a type and remembered; the reference is good until Python code runs.
TypeInfo type_info(PyTypeObject* type);

// The array behind an object whose kind is tensor, without a copy and without a reference: valid until Python code
// runs. False where DLPack cannot express it, or not without more work; no Python error is left.
bool view(PyObject* object, TypeInfo info, DLTensor& tensor) noexcept;

inline uint64_t address_of(const DLTensor& tensor) {
  return reinterpret_cast<uint64_t>(tensor.data) + tensor.byte_offset;
}

// The stream on which the library that made the tensor works now. False where it cannot tell.
bool current_stream(const DLPackExchangeAPI& api, DLDevice device, void*& stream) noexcept;

// The number of a stream that an argument is, of kind stream: of torch, or of CUDA's Python bindings. Runs Python code;
// false where that fails, and no Python error is left.
bool stream_of(PyObject* object, void*& stream) noexcept;

void bind_exchange(pybind11::module_& m);  // describe, current_stream

}  // namespace tilewright::bind
