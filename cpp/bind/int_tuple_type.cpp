// IntTuple: what `layout.shape` is. A tuple in everything but its text, which is CuTe's.
#include "convert.hpp"

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

}  // namespace

PyTypeObject* int_tuple_type() { return the_type; }

void bind_int_tuple_type(py::module_& m) {
  static const char doc[] =
      "A nested tuple of integers: a tuple whose str() is CuTe's text.\n\n"
      ">>> import tilewright.cute as cute\n"
      ">>> print(cute.make_layout((4, (2, 3))).shape)\n"
      "(4,(2,3))\n"
      ">>> cute.make_layout((4, (2, 3))).shape == (4, (2, 3))\n"
      "True\n";
  PyType_Slot slots[] = {{Py_tp_str, reinterpret_cast<void*>(text)}, {Py_tp_doc, const_cast<char*>(doc)}, {0, nullptr}};
  PyType_Spec spec = {"tilewright._core.IntTuple", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const py::object bases = py::make_tuple(py::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)));
  const py::object type = py::reinterpret_steal<py::object>(PyType_FromSpecWithBases(&spec, bases.ptr()));
  if (!type) throw py::error_already_set();
  the_type = reinterpret_cast<PyTypeObject*>(py::object(type).release().ptr());
  m.attr("IntTuple") = type;
}

}  // namespace tilewright::bind
