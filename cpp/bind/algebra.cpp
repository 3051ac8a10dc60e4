// The algebra: each function looks at the kind of its operands once and calls the core.
#include "core/law.hpp"
#include "define.hpp"
#include "docs.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

py::object compose(py::handle lhs, py::handle rhs) {
  if (is_layout(lhs) && is_layout(rhs))
    return from_layout(composition(LayoutView(as_layout(lhs)), LayoutView(as_layout(rhs))));
  if (is_swizzle(lhs)) {
    const auto swizzle = as_swizzle(lhs);
    if (is_swizzle(rhs)) return py::cast(composition(swizzle, as_swizzle(rhs)));
    if (is_composed(rhs)) {
      const ComposedLayout& inside = as_composed(rhs);
      if (inside.swizzle() == nullptr) wrong_kind(rhs, "a Layout, a Swizzle or a swizzled layout");
      return py::cast(ComposedLayout(composition(swizzle, *inside.swizzle()), inside.offset(), inside.outer()));
    }
    return from_any_layout(composition(swizzle, to_layout(rhs)));
  }
  if (is_layout(lhs) && is_swizzle(rhs)) return from_any_layout(composition(as_layout(lhs), as_swizzle(rhs)));
  if (is_layout(lhs) && is_composed(rhs)) return from_any_layout(composition(as_layout(lhs), as_composed(rhs)));
  if (is_composed(lhs) && is_swizzle(rhs)) return from_any_layout(composition(as_composed(lhs), as_swizzle(rhs)));
  if (is_composed(rhs)) wrong_kind(rhs, "a Layout, an integer or a tiler");
  if (!is_layout_like(lhs)) wrong_kind(lhs, "a Layout, ComposedLayout, Swizzle or Tensor");
  const Tiler tiler = to_tiler(rhs);
  return lift(lhs, [&](LayoutView layout) { return composition(layout, tiler); });
}

IntTuple cotarget_of(py::handle object) {
  return is_layout_like(object) ? outer_of(as_any_layout(object)).shape() : to_int_tuple(object);
}

py::object complement_any(py::handle object, py::handle cotarget) {
  const AnyLayout layout = as_any_layout(object);
  return from_layout(cotarget.is_none() ? complement(outer_of(layout))
                                        : complement(outer_of(layout), cotarget_of(cotarget)));
}

template <class OnLayout, class OnComposed>
py::object invert(py::handle object, OnLayout&& on_layout, OnComposed&& on_composed) {
  if (is_swizzle(object)) return py::cast(as_swizzle(object));  // its own inverse
  if (is_composed(object)) return from_any_layout(on_composed(as_composed(object)));
  if (!is_layout(object)) wrong_kind(object, "a Layout, ComposedLayout or Swizzle");
  return from_layout(on_layout(LayoutView(as_layout(object))));
}

using TilerOperation = Layout (*)(LayoutView, const Tiler&);

void tiler_operation(py::module_& m, const char* name, const char* first, TilerOperation operation, const char* text) {
  define(
      m, name,
      [name, operation](LayoutArg target, TilerArg tiler, Arg, Arg) {
        return guarded(name, {target.handle, tiler.handle}, [&] {
          const Tiler by = to_tiler(tiler.handle);
          return Result(lift(target.handle, [&](LayoutView layout) { return operation(layout, by); }));
        });
      },
      py::arg(first), py::arg("tiler"), Location(), text);
}

using LayoutOperation = Layout (*)(LayoutView, LayoutView);

void block_operation(py::module_& m, const char* name, LayoutOperation operation, const char* text) {
  define(
      m, name,
      [name, operation](LayoutArg block, TilerArg tiler, Arg, Arg) {
        return guarded(name, {block.handle, tiler.handle}, [&] {
          const Tiler by = to_tiler(tiler.handle);
          const Layout copies = by.as_layout();
          return Result(lift(block.handle, [&](LayoutView layout) { return operation(layout, copies); }));
        });
      },
      py::arg("block"), py::arg("tiler"), Location(), text);
}

// upcast and downcast of layouts, swizzles and their compositions.
template <class Operation>
py::object recast_any(py::handle object, Operation&& operation) {
  if (is_swizzle(object)) return py::cast(operation(as_swizzle(object)));
  if (is_composed(object)) return py::cast(operation(as_composed(object)));
  if (!is_layout(object)) wrong_kind(object, "a Layout, ComposedLayout or Swizzle");
  return from_layout(operation(LayoutView(as_layout(object))));
}

struct UncheckedScope {};

}  // namespace

void bind_algebra(py::module_& m) {
  define(
      m, "coalesce",
      [](OperandArg x, TupleArg profile, Arg, Arg) {
        return guarded("coalesce", {x.handle}, [&]() -> Result {
          if (!is_layout_like(x.handle)) return from_int_tuple(coalesce_shape(to_integers(x.handle)));
          if (profile.handle.is_none()) return lift(x.handle, [](LayoutView l) { return coalesce(l); });
          const IntTuple target = to_int_tuple(profile.handle);
          return lift(x.handle, [&](LayoutView l) { return coalesce(l, target); });
        });
      },
      py::arg("layout"), py::arg("target_profile") = py::none(), Location(), doc::coalesce);
  define(
      m, "filter",
      [](OperandArg x, TupleArg profile, Arg, Arg) {
        return guarded("filter", {x.handle}, [&]() -> Result {
          if (profile.handle.is_none()) return lift(x.handle, [](LayoutView l) { return filter(l); });
          const IntTuple target = to_int_tuple(profile.handle);
          return lift(x.handle, [&](LayoutView l) { return filter(l, target); });
        });
      },
      py::arg("layout"), py::arg("target_profile") = py::none(), Location(), doc::filter);
  define(
      m, "filter_zeros",
      [](OperandArg x, TupleArg profile, Arg, Arg) {
        return guarded("filter_zeros", {x.handle}, [&]() -> Result {
          if (profile.handle.is_none()) return lift(x.handle, [](LayoutView l) { return filter_zeros(l); });
          const IntTuple target = to_int_tuple(profile.handle);
          return lift(x.handle, [&](LayoutView l) {
            return Layout::unchecked(filter_zeros(l.shape, target), IntTuple(l.stride));
          });
        });
      },
      py::arg("layout"), py::arg("target_profile") = py::none(), Location(), doc::filter_zeros);

  define(
      m, "composition",
      [](OperandArg lhs, TilerArg rhs, Arg, Arg) {
        return guarded("composition", {lhs.handle, rhs.handle},
                       [&] { return Result(compose(lhs.handle, rhs.handle)); });
      },
      py::arg("lhs"), py::arg("rhs"), Location(), doc::composition);
  define(
      m, "with_shape",
      [](LayoutArg layout, OperandArg shape, Arg, Arg) {
        return guarded("with_shape", {layout.handle, shape.handle}, [&] {
          const IntTuple target = cotarget_of(shape.handle);
          return Result(lift(layout.handle, [&](LayoutView l) { return with_shape(l, target); }));
        });
      },
      py::arg("layout"), py::arg("shape"), Location(), doc::with_shape);
  define(
      m, "complement",
      [](LayoutArg layout, OperandArg cotarget, Arg, Arg) {
        return guarded("complement", {layout.handle, cotarget.handle},
                       [&] { return Result(complement_any(layout.handle, cotarget.handle)); });
      },
      py::arg("layout"), py::arg("cotarget") = py::none(), Location(), doc::complement);

  define(
      m, "right_inverse",
      [](LayoutArg layout, Arg, Arg) {
        return guarded("right_inverse", {layout.handle}, [&] {
          return Result(invert(
              layout.handle, [](LayoutView l) { return right_inverse(l); },
              [](const ComposedLayout& l) { return right_inverse(l); }));
        });
      },
      py::arg("layout"), Location(), doc::right_inverse);
  define(
      m, "left_inverse",
      [](LayoutArg layout, Arg, Arg) {
        return guarded("left_inverse", {layout.handle}, [&] {
          return Result(invert(
              layout.handle, [](LayoutView l) { return left_inverse(l); },
              [](const ComposedLayout& l) { return left_inverse(l); }));
        });
      },
      py::arg("layout"), Location(), doc::left_inverse);
  define(
      m, "nullspace",
      [](LayoutArg layout, Arg, Arg) {
        return guarded("nullspace", {layout.handle}, [&] {
          return std::visit([](const auto& l) { return nullspace(l); }, as_any_layout(layout.handle));
        });
      },
      py::arg("layout"), Location(), doc::nullspace);
  define(
      m, "max_common_layout",
      [](LayoutArg a, LayoutArg b, Arg, Arg) {
        return guarded("max_common_layout", {a.handle, b.handle},
                       [&] { return max_common_layout(as_any_layout(a.handle), as_any_layout(b.handle)); });
      },
      py::arg("a"), py::arg("b"), Location(), doc::max_common_layout);
  define(
      m, "max_common_vector",
      [](LayoutArg a, LayoutArg b, Arg, Arg) {
        return guarded("max_common_vector", {a.handle, b.handle},
                       [&] { return max_common_vector(as_any_layout(a.handle), as_any_layout(b.handle)); });
      },
      py::arg("a"), py::arg("b"), Location(), doc::max_common_vector);
  define(
      m, "max_alignment",
      [](LayoutArg layout) {
        return guarded("max_alignment", {layout.handle}, [&] {
          if (is_swizzle(layout.handle)) return max_alignment(as_swizzle(layout.handle)).value;
          return std::visit([](const auto& l) { return max_alignment(l); }, as_any_layout(layout.handle)).value;
        });
      },
      py::arg("layout"), doc::max_alignment);
  define(
      m, "domain_distribute",
      [](TupleArg shape, IntArg b) {
        return guarded("domain_distribute", {shape.handle, b.handle},
                       [&] { return domain_distribute(to_integers(shape.handle), to_number(b.handle)); });
      },
      py::arg("shape"), py::arg("b"), doc::domain_distribute);

  tiler_operation(m, "logical_divide", "target", logical_divide, doc::logical_divide);
  tiler_operation(m, "zipped_divide", "target", zipped_divide, doc::zipped_divide);
  tiler_operation(m, "tiled_divide", "target", tiled_divide, doc::tiled_divide);
  tiler_operation(m, "flat_divide", "target", flat_divide, doc::flat_divide);
  define(
      m, "logical_product",
      [](OperandArg block, TilerArg tiler, Arg, Arg) {
        return guarded("logical_product", {block.handle, tiler.handle}, [&] {
          if (is_layout(block.handle) && is_composed(tiler.handle))
            return Result(from_any_layout(logical_product(as_layout(block.handle), as_composed(tiler.handle))));
          const Tiler by = to_tiler(tiler.handle);
          return Result(lift(block.handle, [&](LayoutView layout) { return logical_product(layout, by); }));
        });
      },
      py::arg("block"), py::arg("tiler"), Location(), doc::logical_product);
  tiler_operation(m, "zipped_product", "block", zipped_product, doc::zipped_product);
  tiler_operation(m, "tiled_product", "block", tiled_product, doc::tiled_product);
  tiler_operation(m, "flat_product", "block", flat_product, doc::flat_product);
  block_operation(m, "blocked_product", blocked_product, doc::blocked_product);
  block_operation(m, "raked_product", raked_product, doc::raked_product);

  define(
      m, "upcast",
      [](OperandArg layout, IntArg n) {
        return guarded("upcast", {layout.handle, n.handle}, [&] {
          const int64_t factor = to_int64(n.handle);
          return Result(recast_any(layout.handle, [=](const auto& l) { return upcast(l, factor); }));
        });
      },
      py::arg("layout"), py::arg("n"), doc::upcast);
  define(
      m, "downcast",
      [](OperandArg layout, IntArg n) {
        return guarded("downcast", {layout.handle, n.handle}, [&] {
          const int64_t factor = to_int64(n.handle);
          return Result(recast_any(layout.handle, [=](const auto& l) { return downcast(l, factor); }));
        });
      },
      py::arg("layout"), py::arg("n"), doc::downcast);
  define(
      m, "recast_layout",
      [](IntArg new_bits, IntArg old_bits, OperandArg layout, Arg, Arg) {
        return guarded("recast_layout", {new_bits.handle, old_bits.handle, layout.handle}, [&] {
          const int64_t to = to_int64(new_bits.handle), from = to_int64(old_bits.handle);
          return Result(recast_any(layout.handle, [=](const auto& l) { return recast(l, from, to); }));
        });
      },
      py::arg("new_type_bits"), py::arg("old_type_bits"), py::arg("layout"), Location(), doc::recast_layout);

  define(
      m, "make_layout_image_mask",
      [](LayoutArg layout, CoordArg coord, IntArg kept, Arg, Arg) {
        return guarded("make_layout_image_mask", {layout.handle, coord.handle, kept.handle}, [&] {
          const Layout whole = to_layout(layout.handle);
          const int64_t mode = to_int64(kept.handle);
          whole.view().mode(mode);  // raises where there is none
          const int64_t bits = known(cosize(whole));
          if (bits > 16) fail(concat("the mask has 16 bits, but the cosize of ", to_string(whole), " is ", bits));
          // Keep one mode, fix the others at the coordinate.
          const IntTuple at = to_int_tuple(coord.handle);
          TupleBuilder builder;
          builder.open();
          for (int64_t i = 0; i < whole.rank(); ++i) {
            if (i == mode) {
              builder.leaf(none_node());
            } else {
              builder.copy(at.view().mode(i));
            }
          }
          builder.close();
          const Sliced sliced = slice_and_offset(builder.take(), LayoutView(whole));
          int64_t mask = 0;
          for (int64_t i = 0; i < known(size(sliced.layout)); ++i) {
            const int64_t offset = checked_add(known(sliced.offset.leaf()), evaluate(sliced.layout, i));
            if (offset < 0 || offset >= 16) fail(concat("the offset ", offset, " has no place in a mask of 16 bits"));
            mask |= int64_t{1} << offset;
          }
          return mask;
        });
      },
      py::arg("layout"), py::arg("coord"), py::arg("mode"), Location(), doc::make_layout_image_mask);
  define(
      m, "get_swizzle_portion",
      [](LayoutArg layout, Arg, Arg) {
        return guarded("get_swizzle_portion", {layout.handle}, [&] {
          const AnyLayout any = as_any_layout(layout.handle);
          if (const auto* composed = std::get_if<ComposedLayout>(&any)) {
            if (composed->swizzle() == nullptr) wrong_kind(layout.handle, "a layout, swizzled or not");
            return *composed->swizzle();
          }
          return Swizzle(0, 4, 3);
        });
      },
      py::arg("layout"), Location(), doc::get_swizzle_portion);
  define(
      m, "get_nonswizzle_portion",
      [](LayoutArg layout, Arg, Arg) {
        return guarded("get_nonswizzle_portion", {layout.handle}, [&] {
          const AnyLayout any = as_any_layout(layout.handle);
          return outer_of(any);
        });
      },
      py::arg("layout"), Location(), doc::get_nonswizzle_portion);

  py::class_<UncheckedScope> unchecked(m, "unchecked", py::custom_type_setup(constructed<UncheckedScope>),
                                       py::is_final(), doc::unchecked);
  constructor(unchecked, [] { return UncheckedScope(); });
  method(unchecked, "__enter__", [](UncheckedScope&) { enter_unchecked(); });
  method(
      unchecked, "__exit__", [](UncheckedScope&, Arg, Arg, Arg) { leave_unchecked(); }, py::arg("type"),
      py::arg("value"), py::arg("traceback"));
}

}  // namespace tilewright::bind
