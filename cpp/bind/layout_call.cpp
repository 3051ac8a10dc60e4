#include "layout_call.hpp"

#include "convert.hpp"
#include "core/function.hpp"
#include "core/portable.hpp"

namespace tilewright::bind {

namespace {

// The offset of a 1-D coordinate in a layout of static plain integers, without any Python object in between.
bool evaluate_static(const Layout& layout, int64_t index, int64_t& offset) {
  const Nodes &shape = layout.shape().nodes(), &stride = layout.stride().nodes();
  const std::size_t count = shape.size();
  std::size_t last = count;
  while (last > 0 && shape[last - 1].is_tuple()) --last;
  offset = 0;
  if (last == 0 || index < 0) return false;
  --last;
  for (std::size_t i = 0; i <= last; ++i) {
    if (shape[i].is_tuple()) continue;
    if (shape[i].tag != 0 || stride[i].tag != 0) return false;
    int64_t digit = index, term = 0;
    if (i != last) {
      if (shape[i].value <= 0) return false;
      digit = index % shape[i].value;
      index /= shape[i].value;
    }
    if (mul_overflows(digit, stride[i].value, term) || add_overflows(offset, term, offset)) return false;
  }
  return true;
}

py::object evaluate_any(const AnyLayout& layout, py::handle coordinate) {
  const IntTuple coord = to_int_tuple(coordinate);
  const bool slices = has_none(coord);
  if (const auto* plain = std::get_if<Layout>(&layout)) {
    return slices ? from_layout(slice(coord, LayoutView(*plain))) : from_int_tuple(crd2idx(coord, LayoutView(*plain)));
  }
  const auto& composed = std::get<ComposedLayout>(layout);
  if (!slices) return from_int_tuple(composed(coord));
  SlicedComposed sliced = slice_and_offset(coord, composed);
  if (!(sliced.offset.is_leaf() && sliced.offset.leaf().is(0))) {
    // Called, not split: the offset belongs to the function that is returned.
    if (auto* part = std::get_if<ComposedLayout>(&sliced.layout)) {
      fail(concat("slicing gives ", to_string(*part), " and the offset ", to_string(sliced.offset),
                  ": use slice_and_offset for both"));
    }
    return from_composed({Layout::leaf(static_int(1), static_int(1)), sliced.offset, std::get<Layout>(sliced.layout)});
  }
  return from_any_layout(std::move(sliced.layout));
}

// tp_call: `layout(i)`, `layout(i, j)`, `layout((i, j))`. A type slot, because a bound method would double its cost.
PyObject* call(PyObject* self, PyObject* args, PyObject* keywords) {
  try {
    const Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (keywords != nullptr) {
      for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(keywords)) {
        const auto text = py::str(name).cast<std::string>();
        if (text != "loc" && text != "ip")
          throw py::type_error("a layout takes a coordinate, no keyword '" + text + "'");
      }
    }
    const py::handle coordinate(count == 1 ? PyTuple_GET_ITEM(args, 0) : args);
    return guarded("layout call", {self, coordinate}, [&]() -> PyObject* {
      if (is_layout(self) && PyLong_CheckExact(coordinate.ptr())) {
        int overflow = 0;
        const long long index = PyLong_AsLongLongAndOverflow(coordinate.ptr(), &overflow);
        int64_t offset = 0;
        if (overflow == 0 && evaluate_static(as_layout(self), index, offset)) return PyLong_FromLongLong(offset);
      }
      return evaluate_any(as_any_layout(self), coordinate).release().ptr();
    });
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const KindError& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace

void make_callable(PyHeapTypeObject* type) { type->ht_type.tp_call = call; }

}  // namespace tilewright::bind
