#include "call_key.hpp"

#include <bit>
#include <cstring>

namespace py = pybind11;

namespace tilewright::bind {

namespace {

// What a word, and those that follow it, stand for.
uint64_t tag(Kind kind) { return static_cast<uint64_t>(kind); }

// The place of a keyword among the parameters, or -1. Names are interned: the first loop nearly always finds it.
Py_ssize_t place_of(PyObject* keyword, PyObject* parameters) {
  const Py_ssize_t count = PyTuple_GET_SIZE(parameters);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyTuple_GET_ITEM(parameters, i) == keyword) return i;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(parameters, i), keyword) == 0) return i;
  }
  return -1;
}

// A stream that is given by its number takes the slow path.
bool is_stream_name(PyObject* name) { return PyUnicode_CompareWithASCIIString(name, "stream") == 0; }
bool is_stream(PyObject* object) { return type_info(Py_TYPE(object)).kind == Kind::stream; }

}  // namespace

bool CallKey::read(PyObject* const* args, size_t positional, PyObject* keywords, PyObject* parameters) {
  const auto named = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  if (positional + named > kMaxArguments) return false;
  size_ = 1;  // the first word is written last
  for (size_t i = 0; i < positional; ++i) {
    if (!put_argument(args[i], static_cast<uint32_t>(i))) return false;
  }
  for (size_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i));
    if (!put_string(name) || (is_stream_name(name) && !is_stream(args[positional + i]))) return false;
    const Py_ssize_t place = place_of(name, parameters);
    const auto index = place < 0 ? kMaxArguments : static_cast<uint32_t>(place);
    if (!put_argument(args[positional + i], index)) return false;
  }
  // The library of the tensors is a part of the key: a launch may have been prepared for memory of that library. Both
  // counts have 6 bits, and the addresses of a process fewer than 52.
  words_[0] = reinterpret_cast<uint64_t>(api_) << 12 | positional << 6 | named;
  return tensors_ != 0;
}

// index is kMaxArguments for an argument that has no place: a launch cannot need it.
bool CallKey::put_argument(PyObject* object, uint32_t index) {
  const TypeInfo info = type_info(Py_TYPE(object));
  if (index < kMaxArguments) {
    const uint32_t bit = uint32_t{1} << index;
    if (arguments_ & bit) return false;  // given twice: the callee says so
    arguments_ |= bit;
    objects_[index] = object;
    places_[index] = size_;
  }
  if (info.kind == Kind::tensor) return index < kMaxArguments && put_tensor(object, info, index);
  return put_value(object, info.kind, 0);
}

bool CallKey::put_tensor(PyObject* object, const TypeInfo& info, uint32_t index) {
  DLTensor tensor;
  const DLPackExchangeAPI* api = info.api;
  if (!view(object, info, tensor)) return false;
  const auto rank = static_cast<uint32_t>(tensor.ndim);
  const auto type = static_cast<uint32_t>(tensor.device.device_type);
  const auto id = static_cast<uint32_t>(tensor.device.device_id);
  if (rank > 64 || type > 255 || id > 255 || size_ + 1 + 2 * rank > kMaxWords || tensor.data == nullptr) return false;
  if (tensors_ == 0) {
    api_ = api;
    device_ = tensor.device;
  } else if (tensor.device.device_type != device_.device_type || tensor.device.device_id != device_.device_id) {
    return false;
  } else if (api != api_) {
    return false;  // each library knows its own stream only
  }
  const uint64_t address = address_of(tensor);
  // Not only how far the address is aligned: what is planned may begin at another element.
  const uint64_t misalignment = address & (kAlignment - 1);
  words_[size_++] = tag(Kind::tensor) | misalignment << 4 | uint64_t{rank} << 8 | uint64_t{type} << 16 |
                    uint64_t{id} << 24 | uint64_t{tensor.dtype.code} << 32 | uint64_t{tensor.dtype.bits} << 40 |
                    uint64_t{tensor.dtype.lanes} << 48;
  bool empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    words_[size_++] = static_cast<uint64_t>(tensor.shape[i]);
    words_[size_++] = static_cast<uint64_t>(tensor.strides[i]);
    empty |= tensor.shape[i] == 0;
  }
  addresses_[index] = address;
  tensors_ |= uint32_t{1} << index;
  return !empty;
}

bool CallKey::put_value(PyObject* object, Kind kind, int depth) {
  switch (kind) {
    case Kind::none:
      return put(tag(kind));
    case Kind::boolean:
      return put(tag(kind) | uint64_t{object == Py_True} << 8);
    case Kind::integer: {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
      return overflow == 0 && put(tag(kind)) && put(static_cast<uint64_t>(value));
    }
    case Kind::real:
      return put(tag(kind)) && put(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object)));
    case Kind::string:
      return put_string(object);
    case Kind::tuple: {
      const Py_ssize_t length = PyTuple_GET_SIZE(object);
      if (depth == kMaxDepth || !put(tag(kind) | static_cast<uint64_t>(length) << 8)) return false;
      for (Py_ssize_t i = 0; i < length; ++i) {
        PyObject* item = PyTuple_GET_ITEM(object, i);
        if (!put_value(item, type_info(Py_TYPE(item)).kind, depth + 1)) return false;
      }
      return true;
    }
    case Kind::object:
      if (identity_count_ == kMaxArguments) return false;
      identities_[identity_count_++] = object;
      return put(tag(kind)) && put(reinterpret_cast<uint64_t>(object));
    case Kind::numeric:
      return put_numeric(object);
    case Kind::stream:
      if (stream_ != nullptr) return false;
      stream_ = object;
      return put(tag(kind));
    case Kind::tensor:
    case Kind::foreign_array:
    case Kind::unhashable:
      break;
  }
  return false;
}

bool CallKey::put_string(PyObject* string) {
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string, &length);
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  const auto bytes = static_cast<size_t>(length);
  const size_t count = (bytes + 7) / 8;
  if (size_ + 1 + count > kMaxWords) return false;
  words_[size_++] = tag(Kind::string) | uint64_t{bytes} << 8;
  if (count != 0) {
    words_[size_ + count - 1] = 0;
    std::memcpy(&words_[size_], text, bytes);
    size_ += static_cast<uint32_t>(count);
  }
  return true;
}

// A number of one of the package's types, such as Int32(5): its value, what is known to divide it, and its type. One
// that is known at run time only takes the slow path.
bool CallKey::put_numeric(PyObject* object) {
  static PyObject* const value_name = PyUnicode_InternFromString("_value");
  static PyObject* const divisor_name = PyUnicode_InternFromString("_div");
  const auto value = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, value_name));
  const auto divisor = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, divisor_name));
  PyErr_Clear();  // floats have no divisor
  if (!value) return false;
  const Kind kind = type_info(Py_TYPE(value.ptr())).kind;
  if (kind != Kind::boolean && kind != Kind::integer && kind != Kind::real) return false;
  uint64_t word = value.ptr() == Py_True;
  int overflow = 0;
  if (kind == Kind::real) word = std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(value.ptr()));
  if (kind == Kind::integer) word = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(value.ptr(), &overflow));
  uint64_t known = 1;
  if (divisor && PyLong_CheckExact(divisor.ptr())) {
    int wide = 0;
    known = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(divisor.ptr(), &wide));
    overflow |= wide;
  }
  return overflow == 0 && put(tag(Kind::numeric) | tag(kind) << 8) && put(word) && put(known) &&
         put(reinterpret_cast<uint64_t>(Py_TYPE(object)));
}

uint64_t CallKey::hash() const {
  uint64_t hash = 0;
  for (uint32_t i = 0; i < size_; ++i) hash = (std::rotl(hash, 5) ^ words_[i]) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 32;
}

}  // namespace tilewright::bind
