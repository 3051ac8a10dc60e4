// IntTuple: what `layout.shape` is. A tuple in everything but its text, which is CuTe's.
#include "convert.hpp"
#include "vectorcall.hpp"

namespace tilewright::bind {

namespace {

PyTypeObject* the_type = nullptr;

constexpr std::size_t kMaxText = 1 << 20;  // more than kMaxNodes numbers of 64 bits take

PyObject* text(PyObject* self) {
  try {
    return py::str(full_notation(self, kMaxText)).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

// tuple's own, but an iterable without end, or one that counts up to billions, is an error and no endless loop.
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"", nullptr};
  PyObject* items = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:IntTuple", const_cast<char**>(names), &items)) return nullptr;
  return python_call([&]() -> PyObject* {
    py::list read;
    if (items != nullptr) {
      const auto iterator = py::reinterpret_steal<py::object>(PyObject_GetIter(items));
      if (!iterator) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
        PyErr_Clear();
        throw py::type_error(concat("IntTuple: expected a tuple or another iterable, but got ", Py_TYPE(items)->tp_name,
                                    " ", notation(items)));
      }
      while (PyObject* const item = PyIter_Next(iterator.ptr())) {
        read.append(py::reinterpret_steal<py::object>(item));
        if (read.size() > kMaxNodes)
          throw py::value_error(concat("IntTuple: more than ", kMaxNodes, " entries in ", Py_TYPE(items)->tp_name));
      }
      if (PyErr_Occurred()) throw py::error_already_set();
    }
    const py::tuple arguments = py::make_tuple(read);
    return PyTuple_Type.tp_new(type, arguments.ptr(), nullptr);
  });
}

}  // namespace

PyTypeObject* int_tuple_type() { return the_type; }

void bind_int_tuple_type(py::module_& m) {
  static const char doc[] =
      "IntTuple(iterable=(), /)\n--\n\n"
      "A nested tuple of integers: a tuple whose str() is CuTe's text.\n\n"
      "Raises: TypeError for what is no iterable.\n"
      "Source: CuTe `IntTuple`.\n\n"
      ">>> import tilewright.cute as cute\n"
      ">>> print(cute.make_layout((4, (2, 3))).shape)\n"
      "(4,(2,3))\n"
      ">>> cute.make_layout((4, (2, 3))).shape == (4, (2, 3))\n"
      "True\n";
  PyType_Slot slots[] = {{Py_tp_new, slot(make)},
                         {Py_tp_str, reinterpret_cast<void*>(text)},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {0, nullptr}};
  PyType_Spec spec = {"tilewright._core.IntTuple", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const py::object bases = py::make_tuple(py::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)));
  const py::object type = py::reinterpret_steal<py::object>(PyType_FromSpecWithBases(&spec, bases.ptr()));
  if (!type) throw py::error_already_set();
  the_type = reinterpret_cast<PyTypeObject*>(py::object(type).release().ptr());
  m.attr("IntTuple") = type;
}

}  // namespace tilewright::bind
