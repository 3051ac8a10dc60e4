#include "exchange.hpp"

#include <pybind11/stl.h>

#include <array>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "without_gil.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

py::object attribute(PyTypeObject* type, const char* name) {
  auto found = py::reinterpret_steal<py::object>(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
  if (!found) PyErr_Clear();
  return found;
}

// The functions that a type offers, in a version that is understood; nullptr where there are none.
const DLPackExchangeAPI* exchange_api(PyTypeObject* type) {
  const py::object capsule = attribute(type, "__dlpack_c_exchange_api__");
  const DLPackExchangeAPIHeader* header = nullptr;
  if (capsule && PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    header = static_cast<const DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  }
  while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  const auto* api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  const bool usable = api && api->dltensor_from_py_object_no_sync && api->current_work_stream;
  return usable ? api : nullptr;
}

// By name, as their libraries need not be there.
bool is_stream_type(PyTypeObject* type) {
  const std::string_view full(type->tp_name);
  const std::string_view name = full.substr(full.rfind('.') + 1);
  return name == "Stream" || name == "ExternalStream" || name == "CUstream" || name == "cudaStream_t";
}

Kind kind_of(PyTypeObject* type) {
  if (type == Py_TYPE(Py_None)) return Kind::none;
  if (type == &PyBool_Type) return Kind::boolean;
  if (type == &PyLong_Type) return Kind::integer;
  if (type == &PyFloat_Type) return Kind::real;
  if (type == &PyUnicode_Type) return Kind::string;
  if (type == &PyTuple_Type) return Kind::tuple;
  if (attribute(type, "__dlpack__")) return Kind::foreign_array;
  if (is_stream_type(type)) return Kind::stream;
  if (attribute(type, "_value") && attribute(type, "_encode")) return Kind::numeric;
  // What has no hash can be changed: its identity says nothing about its value.
  return type->tp_hash == PyObject_HashNotImplemented ? Kind::unhashable : Kind::object;
}

// The C function behind a method without arguments; false where the method is made otherwise.
bool find_method(PyTypeObject* type, const char* name, PyCFunction& function) {
  const py::object method = attribute(type, name);
  if (!method) return true;
  if (Py_TYPE(method.ptr()) != &PyMethodDescr_Type) return false;
  const PyMethodDef* definition = reinterpret_cast<PyMethodDescrObject*>(method.ptr())->d_method;
  function = definition->ml_meth;
  return definition->ml_flags == METH_NOARGS;
}

bool find_getter(PyTypeObject* type, const char* name, TypeInfo& info) {
  const py::object property = attribute(type, name);
  if (!property) return true;
  if (Py_TYPE(property.ptr()) != &PyGetSetDescr_Type) return false;
  const PyGetSetDef* definition = reinterpret_cast<PyGetSetDescrObject*>(property.ptr())->d_getset;
  info.requires_grad = definition->get;
  info.closure = definition->closure;
  return true;
}

TypeInfo make_info(PyTypeObject* type) {
  TypeInfo info;
  info.type = type;
  info.kind = kind_of(type);
  if (info.kind != Kind::foreign_array) return info;
  info.api = exchange_api(type);
  // Properties that cannot be asked for quickly make the type one like any other.
  const bool quick = find_getter(type, "requires_grad", info) && find_method(type, "is_conj", info.is_conj) &&
                     find_method(type, "is_neg", info.is_neg);
  if (info.api != nullptr && quick) info.kind = Kind::tensor;
  return info;
}

// False also where the answer cannot be had.
bool is_false(PyObject* answer) noexcept {
  const bool no = answer == Py_False;
  Py_XDECREF(answer);
  if (answer == nullptr) PyErr_Clear();
  return no;
}

// torch marks x.conj() as conjugated and x.conj().imag, where strides count pairs, as negated.
bool may_be_lazy(const DLTensor& tensor) {
  if (tensor.dtype.code == kDLComplex) return true;
  if (tensor.dtype.code != kDLFloat) return false;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.strides[i] == 1 && tensor.shape[i] > 1) return false;
  }
  return true;
}

}  // namespace

TypeInfo type_info(PyTypeObject* type) {
  // A slot holds its type, so that no other can come to lie at its address.
  static std::array<TypeInfo, 128> slots;
  static GilMutex mutex;
  TypeInfo& slot = slots[(reinterpret_cast<uintptr_t>(type) >> 4) % slots.size()];
  {
    const std::lock_guard lock(mutex);
    if (slot.type == type) return slot;
  }
  const TypeInfo info = make_info(type);
  Py_INCREF(type);
  PyTypeObject* old = nullptr;
  {
    const std::lock_guard lock(mutex);
    old = std::exchange(slot, info).type;
  }
  Py_XDECREF(old);
  return info;
}

bool view(PyObject* object, TypeInfo info, DLTensor& tensor) noexcept {
  if (info.api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  if (tensor.ndim < 0 || (tensor.ndim > 0 && (tensor.shape == nullptr || tensor.strides == nullptr))) return false;
  if (info.requires_grad != nullptr && !is_false(info.requires_grad(object, info.closure))) return false;
  if (info.is_conj == nullptr || info.is_neg == nullptr || !may_be_lazy(tensor)) return true;
  return is_false(info.is_conj(object, nullptr)) && is_false(info.is_neg(object, nullptr));
}

bool current_stream(const DLPackExchangeAPI& api, DLDevice device, void*& stream) noexcept {
  if (api.current_work_stream(device.device_type, device.device_id, &stream) == 0) return true;
  PyErr_Clear();
  return false;
}

bool stream_of(PyObject* object, void*& stream) noexcept {
  static PyObject* const name = PyUnicode_InternFromString("cuda_stream");
  PyObject* number = PyObject_GetAttr(object, name);
  if (number == nullptr) {
    PyErr_Clear();
    number = PyNumber_Long(object);
  }
  stream = number != nullptr ? PyLong_AsVoidPtr(number) : nullptr;
  Py_XDECREF(number);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  if (stream == nullptr) stream = reinterpret_cast<void*>(1);  // the legacy default stream, by its own number
  return true;
}

void bind_exchange(py::module_& m) {
  m.def(
      "describe",
      [](const py::object& tensor) -> py::object {
        const TypeInfo info = type_info(Py_TYPE(tensor.ptr()));
        DLTensor t;
        if (info.kind != Kind::tensor || !view(tensor.ptr(), info, t)) return py::none();
        py::tuple shape(t.ndim), strides(t.ndim);
        for (int32_t i = 0; i < t.ndim; ++i) {
          shape[i] = t.shape[i];
          strides[i] = t.strides[i];
        }
        return py::make_tuple(address_of(t), py::make_tuple(t.dtype.code, t.dtype.bits, t.dtype.lanes),
                              py::make_tuple(static_cast<int>(t.device.device_type), t.device.device_id), shape,
                              strides);
      },
      py::arg("tensor"),
      "(address, (code, bits, lanes), (device type, id), shape, strides) of an array whose library offers DLPack's C "
      "functions, None for anything else and for what DLPack cannot express (gradients, lazy conjugates).");
  m.def(
      "current_stream",
      [](const py::object& tensor) -> std::optional<uintptr_t> {
        const TypeInfo info = type_info(Py_TYPE(tensor.ptr()));
        DLTensor t;
        void* stream = nullptr;
        if (info.kind != Kind::tensor || info.api->dltensor_from_py_object_no_sync(tensor.ptr(), &t) != 0) {
          PyErr_Clear();
          return std::nullopt;
        }
        if (!current_stream(*info.api, t.device, stream)) return std::nullopt;
        return reinterpret_cast<uintptr_t>(stream);
      },
      py::arg("tensor"),
      "The stream on which the tensor's library works now on the tensor's device; None where it cannot tell.");
}

}  // namespace tilewright::bind
