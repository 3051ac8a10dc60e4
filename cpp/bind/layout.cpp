// Layout, ComposedLayout, Swizzle, ScaledBasis: the classes, and the functions that make them.
#include <pybind11/numpy.h>
#include <pybind11/operators.h>

#include "convert.hpp"
#include "core/function.hpp"
#include "core/parse.hpp"
#include "docs.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

// ---- calls
// ------------------------------------------------------------------------------------------------------------------

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
    if (__builtin_mul_overflow(digit, stride[i].value, &term) || __builtin_add_overflow(offset, term, &offset))
      return false;
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
  } catch (py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

void make_callable(PyHeapTypeObject* type) { type->ht_type.tp_call = call; }

// ---- a Python callable as inner function
// ------------------------------------------------------------------------------------

class PythonFunction final : public Function {
 public:
  explicit PythonFunction(py::object function) : function_(std::move(function)) {}
  ~PythonFunction() override {
    const py::gil_scoped_acquire gil;
    function_ = py::object();
  }
  IntTuple call(const IntTuple& argument) const override {
    const py::gil_scoped_acquire gil;
    return to_int_tuple(function_(from_int_tuple(argument)));
  }
  std::string text() const override { return "<inner>"; }
  bool equals(const Function& other) const override {
    const py::gil_scoped_acquire gil;
    return function_.equal(static_cast<const PythonFunction&>(other).function_);
  }
  std::size_t hash() const override {
    const py::gil_scoped_acquire gil;
    return static_cast<std::size_t>(py::hash(function_));
  }
  const py::object& function() const { return function_; }

 private:
  py::object function_;
};

Inner to_inner(py::handle object) {
  if (is_swizzle(object)) return as_swizzle(object);
  if (is_layout(object)) return as_layout(object);
  if (PyCallable_Check(object.ptr()))
    return std::make_shared<const PythonFunction>(py::reinterpret_borrow<py::object>(object));
  wrong_kind(object, "a Swizzle, a Layout or a callable");
}

py::object from_inner(const Inner& inner) {
  if (const auto* swizzle = std::get_if<Swizzle>(&inner)) return py::cast(*swizzle);
  if (const auto* layout = std::get_if<Layout>(&inner)) return py::cast(*layout);
  return static_cast<const PythonFunction&>(*std::get<std::shared_ptr<const Function>>(inner)).function();
}

// ---- offsets
// ----------------------------------------------------------------------------------------------------------------

py::array_t<int64_t> offsets(const AnyLayout& layout, const py::object& out) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  const int64_t count = size(composed ? composed->outer() : std::get<Layout>(layout)).value;
  py::array_t<int64_t> result;
  if (out.is_none()) {
    result = py::array_t<int64_t>(static_cast<py::ssize_t>(count));
  } else {
    if (!py::array_t<int64_t>::check_(out)) wrong_kind(out, "an int64 array");
    result = py::reinterpret_borrow<py::array_t<int64_t>>(out);
    const bool contiguous = (result.flags() & py::array::c_style) != 0;
    if (result.size() != count || !contiguous || !result.writeable()) {
      throw ValueError(concat("out must be writable, contiguous and hold ", counted(count, "element"), ", but it is ",
                              result.writeable() ? "" : "not writable, ", contiguous ? "" : "not contiguous, ",
                              "of size ", static_cast<int64_t>(result.size())));
    }
  }
  int64_t* const data = result.mutable_data();
  const bool calls_python = composed && std::holds_alternative<std::shared_ptr<const Function>>(composed->inner());
  if (calls_python) {
    write_offsets(layout, data);
  } else {
    const py::gil_scoped_release nogil;
    write_offsets(layout, data);
  }
  return result;
}

// ---- constructors
// -----------------------------------------------------------------------------------------------------------

py::object make_layout_any(py::handle shape, py::handle stride) {
  const bool of_layouts = is_sequence(shape) && !items_of(shape).empty() && is_layout_like(items_of(shape)[0]);
  const bool iterable =
      !is_sequence(shape) && !is_layout(shape) && !PyIndex_Check(shape.ptr()) && py::isinstance<py::iterable>(shape);
  if (of_layouts || iterable) {
    if (!stride.is_none()) throw KindError("a concatenation of layouts takes no stride: each has its own");
    LayoutBuilder builder;
    builder.open();
    for (const py::handle layout : py::iter(shape)) builder.copy(to_layout(layout));
    builder.close();
    return from_layout(builder.take());
  }
  if (is_layout(shape)) {
    if (!stride.is_none()) throw KindError("a layout already has a stride: pass its shape to give it another");
    return from_layout(concatenate({as_layout(shape)}));
  }
  IntTuple extents = to_int_tuple(shape);
  if (stride.is_none()) return from_layout(make_layout(extents));
  return from_layout(Layout(std::move(extents), to_int_tuple(stride)));
}

IntTuple default_order(py::handle order, TupleView shape) {
  if (!order.is_none()) return to_int_tuple(order);
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < shape.rank(); ++i) builder.leaf(static_int(i));
  builder.close();
  return builder.take();
}

BasisElement make_basis(const Node& value, const std::vector<int64_t>& modes) {
  BasisPath path;
  for (const int64_t mode : modes) {
    if (mode < 0 || mode > 4096) fail(concat("a mode of a basis element must lie between 0 and 4096, but got ", mode));
    path.push_back(static_cast<uint32_t>(mode));
  }
  check_depth(static_cast<int64_t>(path.size()));
  return {with_basis(value, basis_id(path))};
}

py::tuple basis_modes(const BasisElement& element) {
  const BasisPath& path = basis_path(element.node.basis());
  py::tuple modes(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) modes[i] = path[i];
  return modes;
}

[[noreturn]] void no_such_mode(py::ssize_t i, const std::string& layout, py::ssize_t rank) {
  throw py::index_error(concat("mode ", i, " does not exist: ", layout, " has ", counted(rank, "mode")));
}

void bind_classes(py::module_& m) {
  py::class_<Layout>(m, "Layout", py::custom_type_setup(make_callable), doc::Layout)
      .def_property_readonly(
          "shape", [](const Layout& l) { return Result(from_int_tuple(l.shape())); },
          "Extents: an int or nested tuple.")
      .def_property_readonly(
          "stride", [](const Layout& l) { return Result(from_int_tuple(l.stride())); },
          "Strides, congruent with the shape.")
      .def_property_readonly(
          "max_alignment",
          [](const Layout& l) {
            return guarded("max_alignment", {py::cast(l)}, [&] { return max_alignment(l).value; });
          },
          "The alignment, in elements, that every repetition of the contiguous part keeps.")
      .def("__len__", [](const Layout& l) { return l.rank(); })
      .def("__getitem__",
           [](const Layout& l, py::ssize_t i) {
             const auto rank = static_cast<py::ssize_t>(l.rank());
             if (i < -rank || i >= rank) no_such_mode(i, to_string(l), rank);
             return Layout(l.view().mode(i < 0 ? i + rank : i));
           })
      .def("__str__", [](const Layout& l) { return to_string(l); })
      .def("__repr__", [](const Layout& l) { return to_string(l); })
      .def("__hash__", [](const Layout& l) { return hash_value(l.shape()) * 1000003u ^ hash_value(l.stride()); })
      .def(py::self == py::self)
      .def(
          "get_hier_coord",
          [](const Layout& l, Arg offset) {
            return guarded("get_hier_coord", {py::cast(l), offset.handle},
                           [&] { return Result(from_int_tuple(offset_to_coord(to_number(offset.handle), l))); });
          },
          py::arg("offset"), doc::get_hier_coord)
      .def(
          "get_flat_coord",
          [](const Layout& l, Arg offset) {
            return guarded("get_flat_coord", {py::cast(l), offset.handle}, [&] {
              const IntTuple coord = offset_to_coord(to_number(offset.handle), l);
              const IntTuple index(crd2idx(coord, l.shape()));
              return Result(
                  from_int_tuple(idx2crd(index, l.rank() == 1 ? IntTuple(size(l)) : product_each(l.shape()))));
            });
          },
          py::arg("offset"), doc::get_flat_coord)
      .def(
          "get_1d_coord",
          [](const Layout& l, Arg offset) {
            return guarded("get_1d_coord", {py::cast(l), offset.handle}, [&] {
              return Result(from_leaf(crd2idx(offset_to_coord(to_number(offset.handle), l), l.shape())));
            });
          },
          py::arg("offset"), doc::get_1d_coord)
      .def(
          "offsets",
          [](const Layout& l, const py::object& out) {
            return guarded("offsets", {py::cast(l)}, [&] { return offsets(l, out); });
          },
          py::arg("out") = py::none(), doc::offsets)
      .def(py::pickle(
          [](const Layout& l) { return py::make_tuple(from_int_tuple(l.shape()), from_int_tuple(l.stride())); },
          [](const py::tuple& state) {
            return guarded("Layout.__setstate__", {state},
                           [&] { return Layout(to_int_tuple(state[0]), to_int_tuple(state[1])); });
          }));

  py::class_<Swizzle>(m, "Swizzle", doc::Swizzle)
      .def(py::init([](IntArg b, IntArg base, IntArg s) {
             return guarded("Swizzle", {b.handle, base.handle, s.handle},
                            [&] { return Swizzle(to_int64(b.handle), to_int64(base.handle), to_int64(s.handle)); });
           }),
           py::arg("b"), py::arg("m"), py::arg("s"))
      .def_property_readonly("num_bits", &Swizzle::bits)
      .def_property_readonly("num_base", &Swizzle::base)
      .def_property_readonly("num_shift", &Swizzle::shift)
      .def_property_readonly("y_mask", &Swizzle::y_mask, "The bits that are read.")
      .def_property_readonly("z_mask", &Swizzle::z_mask, "The bits that are changed.")
      .def(
          "__call__",
          [](const Swizzle& s, Arg offset) {
            return guarded("swizzle call", {py::cast(s), offset.handle}, [&] {
              const Node node = to_number(offset.handle);
              const int64_t value = s(node.value);
              return Result(from_leaf(node.is_static() ? static_int(value) : dynamic_int(value, 1, node.is_wide())));
            });
          },
          py::arg("offset"))
      .def("__str__", [](const Swizzle& s) { return to_string(s); })
      .def("__repr__", [](const Swizzle& s) { return to_string(s); })
      .def("__hash__", [](const Swizzle& s) { return std::hash<std::string>{}(to_string(s)); })
      .def(py::self == py::self)
      .def(py::pickle([](const Swizzle& s) { return py::make_tuple(s.bits(), s.base(), s.shift()); },
                      [](const py::tuple& state) {
                        return guarded("Swizzle.__setstate__", {state}, [&] {
                          return Swizzle(to_int64(state[0]), to_int64(state[1]), to_int64(state[2]));
                        });
                      }));

  py::class_<ComposedLayout>(m, "ComposedLayout", py::custom_type_setup(make_callable), doc::ComposedLayout)
      .def_property_readonly("inner", [](const ComposedLayout& l) { return Result(from_inner(l.inner())); })
      .def_property_readonly("offset", [](const ComposedLayout& l) { return Result(from_int_tuple(l.offset())); })
      .def_property_readonly("outer", [](const ComposedLayout& l) { return l.outer(); })
      .def_property_readonly("shape", [](const ComposedLayout& l) { return Result(from_int_tuple(l.outer().shape())); })
      .def_property_readonly(
          "is_normal", [](const ComposedLayout& l) { return l.swizzle() != nullptr; },
          "Whether the inner function is a swizzle, so that the outer layout's domain is indexed by integers.")
      .def("__len__", [](const ComposedLayout& l) { return l.outer().rank(); })
      .def("__getitem__",
           [](const ComposedLayout& l, py::ssize_t i) {
             const auto rank = static_cast<py::ssize_t>(l.outer().rank());
             if (i < -rank || i >= rank) no_such_mode(i, to_string(l), rank);
             return l.with_outer(Layout(l.outer().view().mode(i < 0 ? i + rank : i)));
           })
      .def("__str__", [](const ComposedLayout& l) { return to_string(l); })
      .def("__repr__", [](const ComposedLayout& l) { return to_string(l); })
      .def("__hash__", [](const ComposedLayout& l) { return hash_value(l); })
      .def(py::self == py::self)
      .def(
          "offsets",
          [](const ComposedLayout& l, const py::object& out) {
            return guarded("offsets", {py::cast(l)}, [&] { return offsets(l, out); });
          },
          py::arg("out") = py::none(), doc::offsets)
      .def(py::pickle(
          [](const ComposedLayout& l) {
            return py::make_tuple(from_inner(l.inner()), from_int_tuple(l.offset()), py::cast(l.outer()));
          },
          [](const py::tuple& state) {
            return guarded("ComposedLayout.__setstate__", {state}, [&] {
              return ComposedLayout(to_inner(state[0]), to_int_tuple(state[1]), to_layout(state[2]));
            });
          }));

  py::class_<BasisElement>(m, "ScaledBasis", doc::ScaledBasis)
      .def(py::init([](Arg value, Arg mode) {
             return guarded("ScaledBasis", {value.handle, mode.handle},
                            [&] { return make_basis(to_number(value.handle), to_modes(mode.handle)); });
           }),
           py::arg("value"), py::arg("mode"))
      .def_property_readonly("value", [](const BasisElement& e) { return Result(from_leaf(without_basis(e.node))); })
      .def_property_readonly("mode", &basis_modes, "Modes from the innermost to the outermost.")
      .def("is_static", [](const BasisElement& e) { return e.node.is_static(); })
      .def("__mul__",
           [](const BasisElement& e, Arg factor) {
             return guarded("ScaledBasis *", {py::cast(e), factor.handle},
                            [&] { return BasisElement{mul(e.node, to_leaf(factor.handle))}; });
           })
      .def("__rmul__",
           [](const BasisElement& e, Arg factor) {
             return guarded("ScaledBasis *", {py::cast(e), factor.handle},
                            [&] { return BasisElement{mul(e.node, to_leaf(factor.handle))}; });
           })
      .def("__str__", [](const BasisElement& e) { return to_string(TupleView(&e.node)); })
      .def("__repr__", [](const BasisElement& e) { return to_string(TupleView(&e.node)); })
      .def("__hash__", [](const BasisElement& e) { return hash_value(TupleView(&e.node)); })
      .def("__eq__",
           [](const BasisElement& e, Arg other) {
             return py::isinstance<BasisElement>(other.handle) && e.node == other.handle.cast<BasisElement>().node;
           })
      .def(py::pickle(
          [](const BasisElement& e) { return py::make_tuple(from_leaf(without_basis(e.node)), basis_modes(e)); },
          [](const py::tuple& state) {
            return guarded("ScaledBasis.__setstate__", {state},
                           [&] { return make_basis(to_number(state[0]), to_modes(state[1])); });
          }));
}

py::object parse_any(const std::string& text) {
  const Parsed parsed = parse(text);
  if (const auto* tuple = std::get_if<IntTuple>(&parsed)) return from_int_tuple(*tuple);
  if (const auto* layout = std::get_if<Layout>(&parsed)) return from_layout(*layout);
  if (const auto* swizzle = std::get_if<Swizzle>(&parsed)) return py::cast(*swizzle);
  return py::cast(std::get<ComposedLayout>(parsed));
}

}  // namespace

void bind_layout(py::module_& m) {
  bind_classes(m);
  m.def(
      "make_layout",
      [](Arg shape, Arg stride, Arg, Arg) {
        return guarded("make_layout", {shape.handle, stride.handle},
                       [&] { return Result(make_layout_any(shape.handle, stride.handle)); });
      },
      py::arg("shape"), py::kw_only(), py::arg("stride") = py::none(), py::arg("loc") = py::none(),
      py::arg("ip") = py::none(), doc::make_layout);
  m.def(
      "make_identity_layout",
      [](Arg shape, Arg, Arg) {
        return guarded("make_identity_layout", {shape.handle},
                       [&] { return make_identity_layout(to_int_tuple(shape.handle)); });
      },
      py::arg("shape"), py::kw_only(), py::arg("loc") = py::none(), py::arg("ip") = py::none(),
      doc::make_identity_layout);
  m.def(
      "make_ordered_layout",
      [](Arg shape, Arg order, Arg, Arg) {
        return guarded("make_ordered_layout", {shape.handle, order.handle},
                       [&] { return make_ordered_layout(to_int_tuple(shape.handle), to_int_tuple(order.handle)); });
      },
      py::arg("shape"), py::arg("order"), py::kw_only(), py::arg("loc") = py::none(), py::arg("ip") = py::none(),
      doc::make_ordered_layout);
  m.def(
      "make_layout_left",
      [](Arg shape) {
        return guarded("make_layout_left", {shape.handle}, [&] { return make_layout(to_int_tuple(shape.handle)); });
      },
      py::arg("shape"), doc::make_layout_left);
  m.def(
      "make_layout_right",
      [](Arg shape) {
        return guarded("make_layout_right", {shape.handle}, [&] {
          const IntTuple extents = to_int_tuple(shape.handle);
          return Layout(extents, compact(extents, IntTuple(static_int(1)), Major::kRight));
        });
      },
      py::arg("shape"), doc::make_layout_right);
  m.def(
      "make_layout_like",
      [](Arg layout, Arg, Arg) {
        return guarded("make_layout_like", {layout.handle}, [&] { return make_layout_like(to_layout(layout.handle)); });
      },
      py::arg("layout"), py::kw_only(), py::arg("loc") = py::none(), py::arg("ip") = py::none(), doc::make_layout_like);
  m.def(
      "make_fragment_like_layout",
      [](Arg layout) {
        return guarded("make_fragment_like_layout", {layout.handle},
                       [&] { return make_fragment_like(to_layout(layout.handle)); });
      },
      py::arg("layout"), doc::make_fragment_like_layout);
  m.def(
      "make_composed_layout",
      [](Arg inner, Arg offset, Arg outer, Arg, Arg) {
        return guarded("make_composed_layout", {inner.handle, offset.handle, outer.handle}, [&] {
          return ComposedLayout(to_inner(inner.handle), to_int_tuple(offset.handle), to_layout(outer.handle));
        });
      },
      py::arg("inner"), py::arg("offset"), py::arg("outer"), py::kw_only(), py::arg("loc") = py::none(),
      py::arg("ip") = py::none(), doc::make_composed_layout);
  m.def(
      "make_swizzle",
      [](IntArg b, IntArg base, IntArg s, Arg, Arg) {
        return guarded("make_swizzle", {b.handle, base.handle, s.handle}, [&] {
          const Swizzle swizzle(to_int64(b.handle), to_int64(base.handle), to_int64(s.handle));
          return swizzle.bits() == 0 ? Swizzle(0, 4, 3) : swizzle;  // one spelling of the identity
        });
      },
      py::arg("b"), py::arg("m"), py::arg("s"), py::kw_only(), py::arg("loc") = py::none(), py::arg("ip") = py::none(),
      doc::make_swizzle);
  m.def(
      "swizzle_from_masks",
      [](IntArg y, IntArg z) {
        return guarded("swizzle_from_masks", {y.handle, z.handle},
                       [&] { return Swizzle::from_masks(to_int64(y.handle), to_int64(z.handle)); });
      },
      py::arg("y"), py::arg("z"), doc::swizzle_from_masks);
  m.def(
      "E",
      [](Arg mode) {
        return guarded("E", {mode.handle}, [&] { return make_basis(static_int(1), to_modes(mode.handle)); });
      },
      py::arg("mode"), doc::E);
  m.def(
      "basis_value",
      [](Arg element) {
        return guarded("basis_value", {element.handle},
                       [&] { return Result(from_leaf(without_basis(to_leaf(element.handle)))); });
      },
      py::arg("element"), doc::basis_value);
  m.def(
      "basis_get",
      [](Arg element, Arg tuple) {
        return guarded("basis_get", {element.handle, tuple.handle}, [&] {
          const Node leaf = to_leaf(element.handle);
          const IntTuple whole = to_int_tuple(tuple.handle);
          TupleView part = whole;
          const BasisPath& path = basis_path(leaf.basis());
          for (auto mode = path.rbegin(); mode != path.rend(); ++mode) part = part.mode(*mode);
          return Result(from_int_tuple(part));
        });
      },
      py::arg("element"), py::arg("tuple"), doc::basis_get);
  m.def(
      "make_basis_like",
      [](Arg shape) {
        return guarded("make_basis_like", {shape.handle},
                       [&] { return Result(from_int_tuple(basis_like(to_int_tuple(shape.handle)))); });
      },
      py::arg("shape"), doc::make_basis_like);
  m.def(
      "compact_major",
      [](Arg shape, Arg start, Arg major) {
        return guarded("compact_major", {shape.handle, start.handle}, [&] {
          const auto side = py::str(major.handle).cast<std::string>();
          if (side != "left" && side != "right")
            throw ValueError("major must be 'left' or 'right', but got '" + side + "'");
          return Result(from_int_tuple(compact(to_int_tuple(shape.handle), to_int_tuple(start.handle),
                                               side == "left" ? Major::kLeft : Major::kRight)));
        });
      },
      py::arg("shape"), py::arg("start") = 1, py::arg("major") = "left", doc::compact_major);
  m.def(
      "make_layout_tv",
      [](Arg thr, Arg val, Arg, Arg) {
        return guarded("make_layout_tv", {thr.handle, val.handle}, [&] {
          const TvLayout tv = make_layout_tv(to_layout(thr.handle), to_layout(val.handle));
          return py::make_tuple(from_int_tuple(tv.tiler), tv.layout);
        });
      },
      py::arg("thr_layout"), py::arg("val_layout"), py::kw_only(), py::arg("loc") = py::none(),
      py::arg("ip") = py::none(), doc::make_layout_tv);
  m.def(
      "tile_to_shape",
      [](Arg atom, Arg shape, Arg order, Arg, Arg) {
        return guarded("tile_to_shape", {atom.handle, shape.handle, order.handle}, [&] {
          const IntTuple target = to_int_tuple(shape.handle);
          if (py::isinstance<py::str>(order.handle)) {
            const auto side = order.handle.cast<std::string>();
            if (side != "left" && side != "right")
              throw ValueError("order must be a tuple, 'left' or 'right', but got '" + side + "'");
            return Result(lift(atom.handle, [&](LayoutView l) {
              return tile_to_shape_ordered(l, target, side == "left" ? Major::kLeft : Major::kRight);
            }));
          }
          const IntTuple sequence = default_order(order.handle, target);
          return Result(lift(atom.handle, [&](LayoutView l) { return tile_to_shape(l, target, sequence); }));
        });
      },
      py::arg("atom"), py::arg("trg_shape"), py::arg("order") = py::none(), py::kw_only(), py::arg("loc") = py::none(),
      py::arg("ip") = py::none(), doc::tile_to_shape);
  m.def(
      "parse",
      [](const std::string& text) {
        return guarded("parse", {py::str(text)}, [&] { return Result(parse_any(text)); });
      },
      py::arg("text"), doc::parse);
}

}  // namespace tilewright::bind
