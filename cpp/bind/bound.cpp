// Bound: a Prepared with its tensors. A call does nothing but launch.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cstddef>
#include <new>
#include <vector>

#include "prepared.hpp"
#include "vectorcall.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

struct Bound {
  PyObject_HEAD  //
      vectorcallfunc call;
  const Prepared* prepared;
  const DLPackExchangeAPI* api;  // nullptr: the stream has to be given
  Prepared::Parameters params;
  std::vector<uint64_t> addresses;
  PyObject* owner;    // the Prepared
  PyObject* tensors;  // kept alive
};

Bound* self_of(PyObject* object) { return reinterpret_cast<Bound*>(object); }

// The stream of bound(stream=...).
bool given_stream(PyObject* const* args, size_t positional, PyObject* keywords, runtime::Stream& stream) {
  const bool is_stream = positional == 0 && PyTuple_GET_SIZE(keywords) == 1 &&
                         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "stream") == 0;
  if (!is_stream || !PyLong_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "a Bound takes nothing, or stream=... with the number of a CUDA stream");
    return false;
  }
  stream = static_cast<runtime::Stream>(PyLong_AsVoidPtr(args[0]));
  return PyErr_Occurred() == nullptr;
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  Bound* self = self_of(object);
  const auto positional = static_cast<size_t>(PyVectorcall_NARGS(flags));
  runtime::Stream stream = nullptr;
  if (positional != 0 || (keywords != nullptr && PyTuple_GET_SIZE(keywords) != 0)) {
    static PyObject* const none = PyTuple_New(0);
    if (!given_stream(args, positional, keywords ? keywords : none, stream)) return nullptr;
  } else {
    void* current = nullptr;
    if (self->api == nullptr || !current_stream(*self->api, self->prepared->device(), current)) {
      PyErr_SetString(PyExc_TypeError,
                      "the library of the tensors does not tell its stream: call the Bound with stream=...");
      return nullptr;
    }
    stream = static_cast<runtime::Stream>(current);
  }
  return python_call([&] {
    self->prepared->launch(self->addresses.data(), stream, self->params);
    Py_RETURN_NONE;
  });
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self_of(object)->owner);
  Py_VISIT(self_of(object)->tensors);
  return 0;
}

void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  Bound* self = self_of(object);
  Py_XDECREF(self->tensors);
  Py_XDECREF(self->owner);
  self->params.~vector();
  self->addresses.~vector();
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Bound, call), READONLY, nullptr},
    {"prepared", T_OBJECT, offsetof(Bound, owner), READONLY, nullptr},
    {"tensors", T_OBJECT, offsetof(Bound, tensors), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyTypeObject* type = nullptr;

}  // namespace

py::object make_bound(const py::object& prepared, const py::tuple& tensors, std::vector<uint64_t> addresses,
                      const DLPackExchangeAPI* api) {
  auto object = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
  if (!object) throw py::error_already_set();
  Bound* self = self_of(object.ptr());
  new (&self->params) Prepared::Parameters;
  new (&self->addresses) std::vector<uint64_t>(std::move(addresses));
  self->call = call;
  self->prepared = prepared.cast<const Prepared*>();
  self->api = api;
  self->owner = py::object(prepared).release().ptr();
  self->tensors = py::object(tensors).release().ptr();
  self->params = self->prepared->params();
  if (self->prepared->has_workspace()) return object;  // its addresses are known at each call only
  const auto& kernels = self->prepared->kernels();
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].patch({self->addresses.data()}, self->params[i].data());
  }
  return object;
}

void bind_bound(py::module_& m) {
  static const char doc[] =
      "A Prepared with its tensors, which it keeps alive. A call launches it on the current stream of the tensors' "
      "library, or on stream=...; it is told of no change of the tensors' memory.";
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_members, members},
      {0, nullptr},
  };
  static PyType_Spec spec = {"tilewright._core.cuda.Bound", sizeof(Bound), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw py::error_already_set();
  m.add_object("Bound", py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type)));
}

}  // namespace tilewright::bind
