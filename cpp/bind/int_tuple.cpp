// Operations on nested tuples of integers, and the ones that read sizes off layouts.
#include "core/law.hpp"
#include "core/symbolic.hpp"
#include "define.hpp"
#include "docs.hpp"
#include "module.hpp"
#include "program.hpp"

namespace tilewright::bind {

namespace {

void append_shape(py::handle object, TupleBuilder& builder);

IntTuple shape_of(py::handle object) {
  if (is_layout(object)) return as_layout(object).shape();
  if (is_composed(object)) return as_composed(object).outer().shape();
  if (is_tensor(object)) return shape_of(layout_of(object));
  if (!holds_layouts(object)) return to_int_tuple(object);
  TupleBuilder builder;
  append_shape(object, builder);
  return builder.take();
}

// A tuple may hold layouts: their shapes count.
void append_shape(py::handle object, TupleBuilder& builder) {
  if (!is_sequence(object)) return builder.copy(shape_of(object));
  builder.open();
  for (const py::handle item : items_of(object)) append_shape(item, builder);
  builder.close();
}

// The same where None has no meaning.
IntTuple integers_of(py::handle object) {
  IntTuple shape = shape_of(object);
  if (has_none(shape)) wrong_kind(object, "an integer or a nested tuple of integers");
  return shape;
}

py::object at_mode(py::handle object, const std::vector<int64_t>& mode) {
  if (mode.empty()) return py::reinterpret_borrow<py::object>(object);
  if (is_layout_like(object)) return lift(object, [&](LayoutView layout) { return get(layout, mode); });
  if (holds_layouts(object)) {
    const py::tuple items = items_of(object);
    if (mode[0] < 0 || mode[0] >= static_cast<int64_t>(items.size())) {
      fail(concat("mode ", mode[0], " does not exist: ", notation(object), " has ",
                  counted(static_cast<int64_t>(items.size()), "mode")));
    }
    return at_mode(items[static_cast<std::size_t>(mode[0])], {mode.begin() + 1, mode.end()});
  }
  const IntTuple tuple = to_int_tuple(object);
  TupleView part = tuple;
  for (const int64_t i : mode) part = part.mode(i);
  return from_int_tuple(part);
}

py::object size_at(py::handle object, const std::vector<int64_t>& mode) {
  if (!is_layout_like(object) && !is_sequence(object) && !PyIndex_Check(object.ptr()) && py::hasattr(object, "size")) {
    return object.attr("size");  // TiledCopy, TiledMma: threads
  }
  const IntTuple shape = integers_of(object);
  TupleView part = shape;
  for (const int64_t i : mode) part = part.mode(i);
  return from_leaf(product(part));
}

py::object cosize_at(py::handle object, const std::vector<int64_t>& mode) {
  if (is_tensor(object)) return cosize_at(layout_of(object), mode);
  const Layout whole = is_composed(object) ? as_composed(object).outer() : to_layout(object);
  return from_leaf(cosize(get(whole, mode)));
}

py::object rank_at(py::handle object, const std::vector<int64_t>& mode) {
  const IntTuple shape = shape_of(object);
  TupleView part = shape;
  for (const int64_t i : mode) part = part.mode(i);
  return py::int_(part.rank());
}

py::object depth_at(py::handle object, const std::vector<int64_t>& mode) {
  const IntTuple shape = shape_of(object);
  TupleView part = shape;
  for (const int64_t i : mode) part = part.mode(i);
  return py::int_(depth(part));
}

py::object select_at(py::handle object, const std::vector<int64_t>& mode) {
  if (is_layout_like(object)) return lift(object, [&](LayoutView layout) { return select(layout, mode); });
  // Anything in a tuple may be selected, layouts and None included.
  if (!is_sequence(object)) wrong_kind(object, "a tuple, Layout or Tensor");
  py::list items;
  const py::tuple modes = items_of(object);
  const auto count = static_cast<int64_t>(modes.size());
  for (const int64_t i : mode) {
    if (i < 0 || i >= count) {
      fail(concat("mode ", i, " does not exist: ", notation(object), " has ", counted(count, "mode")));
    }
    items.append(modes[static_cast<std::size_t>(i)]);
  }
  return py::tuple(items);
}

// A function of one object and a mode, which may also be given in brackets: size(x, mode=[0, 1]) is size[0, 1](x).
template <py::object (*F)(py::handle object, const std::vector<int64_t>& mode)>
void of_mode(py::module_& m, const char* name, const char* text) {
  define(
      m, name,
      [name](OperandArg x, ModesArg mode, Arg, Arg) {
        return guarded(name, {x.handle}, [&] {
          return Result(F(x.handle, mode.handle.is_none() ? std::vector<int64_t>() : to_modes(mode.handle)));
        });
      },
      py::arg("x"), py::arg("mode") = py::none(), Bracketed(), Location(), text);
}

// One tuple in, one tuple out.
template <IntTuple (*F)(TupleView)>
void unary(py::module_& m, const char* name, const char* text) {
  define(
      m, name,
      [name](OperandArg a, Arg, Arg) {
        return guarded(name, {a.handle}, [&] { return Result(from_int_tuple(F(to_int_tuple(a.handle)))); });
      },
      py::arg("a"), Location(), text);
}

template <IntTuple (*F)(TupleView, TupleView)>
void binary(py::module_& m, const char* name, const char* text) {
  define(
      m, name,
      [name](OperandArg a, OperandArg b, Arg, Arg) {
        return guarded(name, {a.handle, b.handle},
                       [&] { return Result(from_int_tuple(F(to_integers(a.handle), integers_of(b.handle)))); });
      },
      py::arg("a"), py::arg("b"), Location(), text);
}

// How many tiles cover a shape: a layout leaves its complement, a tuple that holds layouts divides mode by mode.
IntTuple tiles_of(TupleView shape, py::handle tiler) {
  if (is_layout_like(tiler)) return complement(outer_of(as_any_layout(tiler)), shape).shape();
  if (!holds_layouts(tiler)) return ceil_div(shape, to_integers(tiler));
  const py::tuple tilers = items_of(tiler);
  const auto count = static_cast<int64_t>(tilers.size());
  if (shape.is_leaf() || count > shape.rank()) {
    fail(concat("the tiler ", notation(tiler), " has ", counted(count, "mode"), ", but ", to_string(shape), " is ",
                shape.is_leaf() ? "an integer" : concat("a tuple of ", shape.rank())));
  }
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const py::handle part = i < count ? py::handle(tilers[static_cast<std::size_t>(i)]) : py::handle(Py_None);
    builder.copy(part.is_none() ? IntTuple(shape.mode(i)) : in_mode(i, [&] { return tiles_of(shape.mode(i), part); }));
  }
  builder.close();
  return builder.take();
}

bool covered_evenly(py::handle shape, py::handle tiler) {
  const IntTuple whole = integers_of(shape), tile = integers_of(tiler);
  if (!is_layout_like(tiler) && !holds_layouts(tiler)) return evenly_divides(whole, tile);
  const Unchecked answer_of_cute;  // that does not reach the end does not divide
  return known(product(whole)) == checked_mul(known(product(tile)), known(product(tiles_of(whole, tiler))));
}

// The pairs of integers that decide whether each of a is less than its one of b; none where that is known: false.
bool collect_pairs(TupleView a, TupleView b, std::vector<std::pair<Node, Node>>& pairs) {
  if (a.is_leaf() && b.is_leaf()) {
    if (!a->is_symbolic() && !b->is_symbolic()) return elem_less(a, b);
    pairs.emplace_back(*a, *b);
    return true;
  }
  if (a.is_leaf() || b.is_leaf()) return elem_less(a, b);  // raises
  bool less = a.rank() <= b.rank();
  for (int64_t i = 0; less && i < a.rank(); ++i) {
    less = in_mode(i, [&] { return collect_pairs(a.mode(i), b.mode(i), pairs); });
  }
  return less;
}

Result elem_less_any(const IntTuple& a, const IntTuple& b) {
  std::vector<std::pair<Node, Node>> pairs;
  if (!collect_pairs(a, b, pairs)) return Result(py::bool_(false));
  return pairs.empty() ? Result(py::bool_(true)) : Result(all_less(pairs));
}

// A question about two profiles, or about two tuples of numbers.
template <bool (*F)(TupleView, TupleView), IntTuple (*Read)(py::handle) = integers_of>
void predicate(py::module_& m, const char* name, const char* text) {
  define(
      m, name,
      [name](OperandArg a, OperandArg b, Arg, Arg) {
        return guarded(name, {a.handle, b.handle}, [&] { return F(Read(a.handle), Read(b.handle)); });
      },
      py::arg("a"), py::arg("b"), Location(), text);
}

bool contains_basis(py::handle object) {
  if (is_layout_like(object)) return has_basis(outer_of(as_any_layout(object)).stride());
  return has_basis(to_int_tuple(object));
}

bool is_static_any(py::handle object) {
  if (is_swizzle(object) || py::isinstance<BasisElement>(object))
    return is_swizzle(object) || to_leaf(object).is_static();
  if (is_layout_like(object)) {
    const AnyLayout layout = as_any_layout(object);
    if (const auto* plain = std::get_if<Layout>(&layout))
      return all_static(plain->shape()) && all_static(plain->stride());
    const auto& composed = std::get<ComposedLayout>(layout);
    return all_static(composed.offset()) && all_static(composed.outer().shape()) &&
           all_static(composed.outer().stride());
  }
  return all_static(to_int_tuple(object));
}

bool is_int_tuple_any(py::handle object, int depth, std::size_t& entries) {
  if (depth > kMaxDepth || ++entries > kMaxNodes) return false;
  if (is_sequence(object)) {
    for (const py::handle item : items_of(object)) {
      if (!is_int_tuple_any(item, depth + 1, entries)) return false;
    }
    return true;
  }
  return !PyBool_Check(object.ptr()) && PyIndex_Check(object.ptr());
}

}  // namespace

void bind_int_tuple(py::module_& m) {
  of_mode<size_at>(m, "size", doc::size);
  of_mode<cosize_at>(m, "cosize", doc::cosize);
  of_mode<rank_at>(m, "rank", doc::rank);
  of_mode<depth_at>(m, "depth", doc::depth);
  of_mode<at_mode>(m, "get", doc::get);
  of_mode<select_at>(m, "select", doc::select);
  unary<flatten_to_tuple>(m, "flatten_to_tuple", doc::flatten_to_tuple);
  unary<unwrap>(m, "unwrap", doc::unwrap);
  unary<wrap>(m, "wrap", doc::wrap);
  define(
      m, "ceil_div",
      [](OperandArg a, OperandArg b, Arg, Arg) {
        return guarded("ceil_div", {a.handle, b.handle},
                       [&] { return Result(from_int_tuple(tiles_of(integers_of(a.handle), b.handle))); });
      },
      py::arg("a"), py::arg("b"), Location(), doc::ceil_div);
  binary<round_up>(m, "round_up", doc::round_up);
  binary<shape_div>(m, "shape_div", doc::shape_div);
  binary<elem_scale>(m, "elem_scale", doc::elem_scale);
  binary<product_like>(m, "product_like", doc::product_like);
  predicate<congruent, shape_of>(m, "is_congruent", doc::is_congruent);
  predicate<weakly_congruent, shape_of>(m, "is_weakly_congruent", doc::is_weakly_congruent);
  predicate<compatible>(m, "is_compatible", doc::is_compatible);
  define(
      m, "elem_less",
      [](OperandArg a, OperandArg b, Arg, Arg) {
        return guarded("elem_less", {a.handle, b.handle},
                       [&] { return elem_less_any(integers_of(a.handle), integers_of(b.handle)); });
      },
      py::arg("a"), py::arg("b"), Location(), doc::elem_less);
  predicate<lex_less>(m, "lex_less", doc::lex_less);
  predicate<colex_less>(m, "colex_less", doc::colex_less);
  define(
      m, "evenly_divides",
      [](OperandArg a, OperandArg b, Arg, Arg) {
        return guarded("evenly_divides", {a.handle, b.handle}, [&] { return covered_evenly(a.handle, b.handle); });
      },
      py::arg("a"), py::arg("b"), Location(), doc::evenly_divides);

  define(
      m, "product",
      [](OperandArg a, Arg, Arg) {
        return guarded("product", {a.handle}, [&] { return Result(from_leaf(product(to_integers(a.handle)))); });
      },
      py::arg("a"), Location(), doc::product);
  define(
      m, "product_each",
      [](OperandArg a, Arg, Arg) {
        return guarded("product_each", {a.handle},
                       [&] { return Result(from_int_tuple(product_each(to_integers(a.handle)))); });
      },
      py::arg("a"), Location(), doc::product_each);
  define(
      m, "inner_product",
      [](OperandArg a, OperandArg b) {
        return guarded("inner_product", {a.handle, b.handle},
                       [&] { return Result(from_leaf(inner_product(to_integers(a.handle), to_integers(b.handle)))); });
      },
      py::arg("a"), py::arg("b"), doc::inner_product);
  define(
      m, "coalesce_shape",
      [](OperandArg shape) {
        return guarded("coalesce_shape", {shape.handle},
                       [&] { return Result(from_int_tuple(coalesce_shape(to_integers(shape.handle)))); });
      },
      py::arg("shape"), doc::coalesce_shape);

  define(
      m, "shape",
      [](OperandArg x, ModesArg mode, Arg, Arg) {
        return guarded("shape", {x.handle}, [&] {
          const IntTuple whole = shape_of(x.handle);
          TupleView part = whole;
          if (!mode.handle.is_none()) {
            for (const int64_t i : to_modes(mode.handle)) part = part.mode(i);
          }
          return Result(from_int_tuple(part));
        });
      },
      py::arg("x"), py::arg("mode") = py::none(), Location(), doc::shape);

  define(
      m, "crd2idx",
      [](CoordArg coord, OperandArg layout, TupleArg stride, Arg, Arg) {
        return guarded("crd2idx", {coord.handle, layout.handle}, [&] {
          const IntTuple at = to_int_tuple(coord.handle);
          if (!stride.handle.is_none())
            return Result(
                from_int_tuple(crd2idx(at, Layout(to_int_tuple(layout.handle), to_int_tuple(stride.handle)))));
          if (is_layout(layout.handle))
            return Result(from_int_tuple(crd2idx(at, LayoutView(to_layout(layout.handle)))));
          if (is_composed(layout.handle)) return Result(from_int_tuple(as_composed(layout.handle)(at)));
          if (is_tensor(layout.handle)) return Result(layout_of(layout.handle)(coord.handle));
          return Result(from_leaf(crd2idx(at, to_integers(layout.handle).view())));
        });
      },
      py::arg("coord"), py::arg("layout"), py::arg("stride") = py::none(), Location(), doc::crd2idx);
  define(
      m, "idx2crd",
      [](CoordArg idx, OperandArg shape, TupleArg stride, Arg, Arg) {
        return guarded("idx2crd", {idx.handle, shape.handle}, [&] {
          if (stride.handle.is_none())
            return Result(from_int_tuple(idx2crd(to_int_tuple(idx.handle), integers_of(shape.handle))));
          return Result(from_int_tuple(
              offset_to_coord(to_number(idx.handle), Layout(to_int_tuple(shape.handle), to_int_tuple(stride.handle)))));
        });
      },
      py::arg("idx"), py::arg("shape"), py::arg("stride") = py::none(), Location(), doc::idx2crd);
  define(
      m, "crd2crd",
      [](CoordArg coord, OperandArg source, OperandArg target) {
        return guarded("crd2crd", {coord.handle, source.handle, target.handle}, [&] {
          return Result(from_int_tuple(
              crd2crd(to_int_tuple(coord.handle), to_integers(source.handle), to_integers(target.handle))));
        });
      },
      py::arg("coord"), py::arg("src_shape"), py::arg("dst_shape"), doc::crd2crd);
  define(
      m, "increment_coord",
      [](CoordArg coord, OperandArg shape, Arg, Arg) {
        return guarded("increment_coord", {coord.handle, shape.handle}, [&] {
          return Result(from_int_tuple(increment_coord(to_integers(coord.handle), to_integers(shape.handle))));
        });
      },
      py::arg("coord"), py::arg("shape"), Location(), doc::increment_coord);

  define(
      m, "is_static",
      [](OperandArg x) { return guarded("is_static", {x.handle}, [&] { return is_static_any(x.handle); }); },
      py::arg("x"), doc::is_static);
  define(
      m, "is_integer", [](Arg x) { return !PyBool_Check(x.ptr()) && PyIndex_Check(x.ptr()) != 0; }, py::arg("x"),
      doc::is_integer);
  define(
      m, "is_int_tuple",
      [](Arg x) {
        std::size_t entries = 0;
        return is_int_tuple_any(x.handle, 0, entries);
      },
      py::arg("x"), doc::is_int_tuple);
  define(
      m, "has_underscore",
      [](OperandArg x) {
        return guarded("has_underscore", {x.handle},
                       [&] { return !is_layout_like(x.handle) && has_none(to_int_tuple(x.handle)); });
      },
      py::arg("x"), doc::has_underscore);
  define(
      m, "has_scaled_basis",
      [](OperandArg x) { return guarded("has_scaled_basis", {x.handle}, [&] { return contains_basis(x.handle); }); },
      py::arg("x"), doc::has_scaled_basis);
  define(
      m, "is_major",
      [](ModesArg mode, TupleArg stride, Arg, Arg) {
        return guarded("is_major", {mode.handle, stride.handle}, [&] {
          const IntTuple strides = to_int_tuple(stride.handle);
          TupleView part = strides;
          for (const int64_t i : to_modes(mode.handle)) part = part.mode(i);
          bool unit = false;
          for_each_leaf(part, [&](const Node& leaf) { unit = unit || leaf.is(1); });
          return unit;
        });
      },
      py::arg("mode"), py::arg("stride"), Location(), doc::is_major);
  define(
      m, "leading_dim",
      [](OperandArg shape, TupleArg stride, Arg, Arg) {
        return guarded("leading_dim", {shape.handle, stride.handle}, [&]() -> Result {
          const Layout layout(to_int_tuple(shape.handle), to_int_tuple(stride.handle));
          // Two unit strides are told apart by their extents: of size 1, a mode does not lead.
          py::object found = py::none();
          auto search = [&](auto&& self, LayoutView part, py::tuple path) -> bool {
            if (part.is_leaf()) {
              if (!part.stride->is(1) || part.shape->is(1)) return false;
              found = py::len(path) == 1 ? py::object(path[0]) : py::object(path);
              return true;
            }
            for (int64_t i = 0; i < part.rank(); ++i) {
              if (self(self, part.mode(i), py::tuple(path + py::make_tuple(i)))) return true;
            }
            return false;
          };
          if (layout.is_leaf()) return layout.stride().leaf().is(1) ? Result(py::int_(0)) : Result(py::none());
          search(search, layout, py::tuple());
          return Result(found);
        });
      },
      py::arg("shape"), py::arg("stride"), Location(), doc::leading_dim);
  define(
      m, "assume",
      [](IntArg x, IntArg divby, Arg, Arg) {
        return guarded("assume", {x.handle, divby.handle}, [&]() -> Result {
          if (divby.handle.is_none()) return py::reinterpret_borrow<py::object>(x.handle);
          const int64_t divisor = to_int64(divby.handle);
          const Node leaf = to_number(x.handle);
          if (divisor <= 0) fail(concat("divby must be positive, but got ", divisor));
          if (leaf.is_symbolic()) return from_leaf(symbolic_int(leaf.value, divisor, leaf.is_wide()));
          if (leaf.value % divisor != 0) fail(concat("the value ", leaf.value, " is not a multiple of ", divisor));
          if (leaf.is_static()) return from_leaf(leaf);
          return from_leaf(dynamic_int(leaf.value, divisor, leaf.is_wide()));
        });
      },
      py::arg("x"), py::arg("divby") = py::none(), Location(), doc::assume);
  define(
      m, "get_divisibility",
      [](IntArg x, Arg, Arg) {
        return guarded("get_divisibility", {x.handle}, [&] { return divisibility(to_number(x.handle)); });
      },
      py::arg("x"), Location(), doc::get_divisibility);
}

}  // namespace tilewright::bind
