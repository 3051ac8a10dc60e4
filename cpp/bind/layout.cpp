// Functions that make layouts, swizzles and elements of a basis.
#include "define.hpp"
#include "docs.hpp"
#include "layout_types.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

py::object make_layout_any(py::handle shape, py::handle stride) {
  if (is_tensor(shape)) wrong_kind(shape, "a shape or layouts");  // its elements are no modes
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

Major to_major(py::handle side, const char* rule) {
  if (!PyUnicode_Check(side.ptr())) wrong_kind(side, "'left' or 'right'");
  if (PyUnicode_CompareWithASCIIString(side.ptr(), "left") == 0) return Major::kLeft;
  if (PyUnicode_CompareWithASCIIString(side.ptr(), "right") == 0) return Major::kRight;
  throw ValueError(concat(rule, ", but got ", notation(side)));
}

IntTuple default_order(py::handle order, TupleView shape) {
  if (!order.is_none()) return to_int_tuple(order);
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < shape.rank(); ++i) builder.leaf(static_int(i));
  builder.close();
  return builder.take();
}

}  // namespace

void bind_layout(py::module_& m) {
  bind_layout_types(m);
  define(
      m, "make_layout",
      [](OperandArg shape, TupleArg stride, Arg, Arg) {
        return guarded("make_layout", {shape.handle, stride.handle},
                       [&] { return Result(make_layout_any(shape.handle, stride.handle)); });
      },
      py::arg("shape"), py::kw_only(), py::arg("stride") = py::none(), Location(), doc::make_layout);
  define(
      m, "make_identity_layout",
      [](TupleArg shape, Arg, Arg) {
        return guarded("make_identity_layout", {shape.handle},
                       [&] { return make_identity_layout(to_int_tuple(shape.handle)); });
      },
      py::arg("shape"), Location(), doc::make_identity_layout);
  define(
      m, "make_ordered_layout",
      [](TupleArg shape, TupleArg order, Arg, Arg) {
        return guarded("make_ordered_layout", {shape.handle, order.handle},
                       [&] { return make_ordered_layout(to_int_tuple(shape.handle), to_int_tuple(order.handle)); });
      },
      py::arg("shape"), py::arg("order"), Location(), doc::make_ordered_layout);
  define(
      m, "make_layout_left",
      [](TupleArg shape) {
        return guarded("make_layout_left", {shape.handle}, [&] { return make_layout(to_int_tuple(shape.handle)); });
      },
      py::arg("shape"), doc::make_layout_left);
  define(
      m, "make_layout_right",
      [](TupleArg shape) {
        return guarded("make_layout_right", {shape.handle}, [&] {
          const IntTuple extents = to_int_tuple(shape.handle);
          return Layout(extents, compact(extents, IntTuple(static_int(1)), Major::kRight));
        });
      },
      py::arg("shape"), doc::make_layout_right);
  define(
      m, "make_layout_like",
      [](LayoutArg layout, Arg, Arg) {
        return guarded("make_layout_like", {layout.handle}, [&] { return make_layout_like(to_layout(layout.handle)); });
      },
      py::arg("layout"), Location(), doc::make_layout_like);
  define(
      m, "make_fragment_like_layout",
      [](LayoutArg layout) {
        return guarded("make_fragment_like_layout", {layout.handle}, [&] {
          return std::visit([](const auto& l) { return make_fragment_like(l); }, as_any_layout(layout.handle));
        });
      },
      py::arg("layout"), doc::make_fragment_like_layout);
  define(
      m, "make_composed_layout",
      [](InnerArg inner, CoordArg offset, LayoutArg outer, Arg, Arg) {
        return guarded("make_composed_layout", {inner.handle, offset.handle, outer.handle}, [&] {
          if (offset.handle.is_none()) wrong_kind(offset.handle, "an integer or a nested tuple of integers");
          return ComposedLayout(to_inner(inner.handle), to_int_tuple(offset.handle), to_layout(outer.handle));
        });
      },
      py::arg("inner"), py::arg("offset"), py::arg("outer"), Location(), doc::make_composed_layout);
  define(
      m, "make_swizzle",
      [](IntArg b, IntArg base, IntArg s, Arg, Arg) {
        return guarded("make_swizzle", {b.handle, base.handle, s.handle}, [&] {
          const Swizzle swizzle(to_int64(b.handle), to_int64(base.handle), to_int64(s.handle));
          return swizzle.bits() == 0 ? Swizzle(0, 4, 3) : swizzle;  // one spelling of the identity
        });
      },
      py::arg("b"), py::arg("m"), py::arg("s"), Location(), doc::make_swizzle);
  define(
      m, "swizzle_from_masks",
      [](IntArg y, IntArg z) {
        return guarded("swizzle_from_masks", {y.handle, z.handle},
                       [&] { return Swizzle::from_masks(to_int64(y.handle), to_int64(z.handle)); });
      },
      py::arg("y"), py::arg("z"), doc::swizzle_from_masks);
  define(
      m, "E",
      [](ModesArg mode) {
        return guarded("E", {mode.handle}, [&] { return make_basis(static_int(1), to_modes(mode.handle)); });
      },
      py::arg("mode"), doc::E);
  define(
      m, "basis_value",
      [](BasisArg element) {
        return guarded("basis_value", {element.handle}, [&] {
          if (element.handle.is_none() || is_sequence(element.handle))
            wrong_kind(element.handle, "a ScaledBasis or an integer");
          return Result(from_leaf(without_basis(to_leaf(element.handle))));
        });
      },
      py::arg("element"), doc::basis_value);
  define(
      m, "basis_get",
      [](BasisArg element, TupleArg tuple) {
        return guarded("basis_get", {element.handle, tuple.handle}, [&] {
          const Node leaf = to_leaf(element.handle);
          const IntTuple whole = to_int_tuple(tuple.handle);
          TupleView part = whole;
          const BasisPath path = basis_path(leaf.basis());
          for (std::size_t i = path.size(); i-- > 0;) part = part.mode(path[i]);
          return Result(from_int_tuple(part));
        });
      },
      py::arg("element"), py::arg("tuple"), doc::basis_get);
  define(
      m, "make_basis_like",
      [](TupleArg shape) {
        return guarded("make_basis_like", {shape.handle},
                       [&] { return Result(from_int_tuple(basis_like(to_int_tuple(shape.handle)))); });
      },
      py::arg("shape"), doc::make_basis_like);
  define(
      m, "compact_major",
      [](TupleArg shape, TupleArg start, StrArg major) {
        return guarded("compact_major", {shape.handle, start.handle}, [&] {
          const Major side = to_major(major.handle, "major must be 'left' or 'right'");
          return Result(from_int_tuple(compact(to_int_tuple(shape.handle), to_int_tuple(start.handle), side)));
        });
      },
      py::arg("shape"), py::arg("start") = 1, py::arg("major") = "left", doc::compact_major);
  define(
      m, "make_layout_tv",
      [](LayoutArg thr, LayoutArg val, Arg, Arg) {
        return guarded("make_layout_tv", {thr.handle, val.handle}, [&] {
          const TvLayout tv = make_layout_tv(to_layout(thr.handle), to_layout(val.handle));
          return py::make_tuple(from_int_tuple(tv.tiler), tv.layout);
        });
      },
      py::arg("thr_layout"), py::arg("val_layout"), Location(), doc::make_layout_tv);
  define(
      m, "tile_to_shape",
      [](LayoutArg atom, TupleArg shape, OrderArg order, Arg, Arg) {
        return guarded("tile_to_shape", {atom.handle, shape.handle, order.handle}, [&] {
          const IntTuple target = to_int_tuple(shape.handle);
          if (py::isinstance<py::str>(order.handle)) {
            const Major side = to_major(order.handle, "order must be a tuple, 'left' or 'right'");
            return Result(lift(atom.handle, [&](LayoutView l) { return tile_to_shape_ordered(l, target, side); }));
          }
          const IntTuple sequence = default_order(order.handle, target);
          return Result(lift(atom.handle, [&](LayoutView l) { return tile_to_shape(l, target, sequence); }));
        });
      },
      py::arg("atom"), py::arg("trg_shape"), py::arg("order") = py::none(), Location(), doc::tile_to_shape);
  define(
      m, "parse",
      [](StrArg text) {
        return guarded("parse", {text.handle}, [&] {
          if (!PyUnicode_Check(text.ptr())) wrong_kind(text.handle, "CuTe notation, a str");
          return Result(parse_text(text.handle));
        });
      },
      py::arg("text"), doc::parse);
}

}  // namespace tilewright::bind
