#include "module.hpp"

#include "convert.hpp"
#include "dlpack.h"

namespace py = pybind11;
using namespace tilewright::bind;

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  m.attr("__version__") = TILEWRIGHT_VERSION;
  m.doc() = "The C++ core of tilewright: IntTuple, Layout and the layout algebra.";
  // A Python class made by hand so that it derives from ValueError and takes attributes.
  const py::object error = py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc("tilewright.LayoutError",
                                "A layout operation whose condition does not hold.\n\n"
                                "Attributes: operation (name), operands (CuTe notation), counterexample (coordinate, "
                                "CuTe's answer, the right answer) or None.\n\n"
                                ">>> from tilewright import cute\n"
                                ">>> try:\n"
                                "...     cute.composition(cute.parse('(3,4):(4,1)'), cute.parse('4:2'))\n"
                                "... except cute.LayoutError as error:\n"
                                "...     print(error.operation, error.operands, error.counterexample)\n"
                                "composition ('(3,4):(4,1)', '4:2') (2, 1, 5)\n",
                                PyExc_ValueError, nullptr));
  error.attr("operation") = "";
  error.attr("operands") = py::tuple();
  error.attr("counterexample") = py::none();
  m.attr("LayoutError") = error;
  registry().error = error;
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const KindError& kind) {
      PyErr_SetString(PyExc_TypeError, kind.what());
    }
  });
  bind_int_tuple_type(m);
  bind_layout(m);
  bind_int_tuple(m);
  bind_modes(m);
  bind_algebra(m);
  bind_condition(m);
  bind_explain(m);
  bind_function(m);
  bind_host(m);
  bind_analysis(m);
  bind_picture(m);
  tilewright::bind_dlpack(m);
  bind_program(m);
  bind_cuda(m);
  bind_execute(m);
  m.def(
      "_register",
      [](py::object int32, py::object int64, py::object tensor) {
        Registry& known = registry();
        known.int32 = std::move(int32);
        known.int64 = std::move(int64);
        known.tensor = std::move(tensor);
      },
      py::kw_only(), py::arg("int32"), py::arg("int64"), py::arg("tensor"),
      "Tell the core the Python classes of dynamic integers and tensors.");
}
