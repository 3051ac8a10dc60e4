// Picking, grouping, padding and slicing modes: of tuples, layouts and tensors alike.
#include "define.hpp"
#include "docs.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

// The items of a tuple, whatever they are; anything else is one item.
py::list modes_of(py::handle object) {
  py::list modes;
  for (const py::handle mode : is_sequence(object) ? items_of(object) : py::make_tuple(object)) modes.append(mode);
  return modes;
}

std::pair<int64_t, int64_t> range_of(py::handle begin, py::handle end, int64_t rank) {
  int64_t first = to_int64(begin);
  int64_t last = end.is_none() ? rank : to_int64(end);
  if (first < 0) first += rank;
  if (last < 0) last += rank;
  check_range(first, last, rank);
  return {first, last};
}

py::object group_any(py::handle object, py::handle begin, py::handle end) {
  if (is_layout_like(object)) {
    return lift(object, [&](LayoutView l) {
      const auto [first, last] = range_of(begin, end, l.rank());
      return group(l, first, last);
    });
  }
  const py::list items = modes_of(object);
  const auto [first, last] = range_of(begin, end, static_cast<int64_t>(py::len(items)));
  py::list result, inner;
  for (int64_t i = 0; i < static_cast<int64_t>(py::len(items)); ++i) {
    (i >= first && i < last ? inner : result).append(items[static_cast<std::size_t>(i)]);
    if (i + 1 == last) result.append(py::tuple(inner));
  }
  return py::tuple(result);
}

// append and prepend: to rank+1, or until up_to_rank is reached.
py::object pad(py::handle object, py::handle elem, py::handle up_to_rank, bool at_end) {
  if (is_layout_like(object)) {
    const Layout mode = to_layout(elem);
    return lift(object, [&](LayoutView l) {
      const int64_t rank = up_to_rank.is_none() ? l.rank() + 1 : to_int64(up_to_rank);
      return at_end ? append_to_rank(l, rank, mode) : prepend_to_rank(l, rank, mode);
    });
  }
  py::list items = modes_of(object);
  const auto count = static_cast<int64_t>(py::len(items));
  const int64_t rank = up_to_rank.is_none() ? count + 1 : to_int64(up_to_rank);
  check_rank(count, rank);
  if (rank == count) return py::reinterpret_borrow<py::object>(object);
  if (rank - count > static_cast<int64_t>(kMaxNodes)) too_many_entries();
  py::list padding;
  for (int64_t i = count; i < rank; ++i) padding.append(elem);
  return py::tuple(at_end ? items + padding : padding + items);
}

py::object unit_like(py::handle object) {
  if (is_layout_like(object)) return from_layout(Layout::leaf(static_int(1), static_int(0)));
  return py::int_(1);
}

py::object repeat(py::handle x, int64_t n, bool unwrap_one) {
  if (n < 1) fail(concat("n must be at least 1, but got ", n));
  if (n > (1 << 20)) fail(concat("n must be at most ", 1 << 20, ", but got ", n));
  if (n == 1 && unwrap_one) return py::reinterpret_borrow<py::object>(x);
  py::tuple result(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) result[i] = x;
  return result;
}

void flatten_items(py::handle object, py::list& flat) {
  if (!is_sequence(object)) return flat.append(object);
  for (const py::handle item : items_of(object)) flatten_items(item, flat);
}

py::object flatten_any(py::handle object) {
  if (holds_layouts(object)) {
    py::list flat;  // a layout in a tuple is a leaf
    flatten_items(object, flat);
    return py::tuple(flat);
  }
  if (is_layout_like(object)) return lift(object, [](LayoutView l) { return flatten(l); });
  return from_int_tuple(flatten(to_int_tuple(object)));
}

py::object slice_any(py::handle object, py::handle coord) {
  const IntTuple at = to_int_tuple(coord);
  if (is_layout(object)) return from_layout(slice(at, LayoutView(as_layout(object))));
  if (is_composed(object)) return from_any_layout(slice_and_offset(at, as_composed(object)).layout);
  if (is_tensor(object)) return object[coord];
  return from_int_tuple(slice(at, to_int_tuple(object).view()));
}

py::object dice_any(py::handle object, py::handle dicer) {
  const IntTuple at = to_int_tuple(dicer);
  if (is_layout_like(object)) return lift(object, [&](LayoutView l) { return dice(at, l); });
  return from_int_tuple(dice(at, to_int_tuple(object).view()));
}

py::object repeat_like_any(py::handle x, py::handle target, int depth, std::size_t& entries) {
  check_depth(depth);
  if (++entries > kMaxNodes) too_many_entries();
  if (!is_sequence(target)) return py::reinterpret_borrow<py::object>(x);
  py::list result;
  for (const py::handle part : items_of(target)) result.append(repeat_like_any(x, part, depth + 1, entries));
  return py::tuple(result);
}

}  // namespace

void bind_modes(py::module_& m) {
  define(
      m, "group_modes",
      [](OperandArg x, IntArg begin, IntArg end, Arg, Arg) {
        return guarded("group_modes", {x.handle, begin.handle, end.handle},
                       [&] { return Result(group_any(x.handle, begin.handle, end.handle)); });
      },
      py::arg("x"), py::arg("begin"), py::arg("end") = py::none(), Location(), doc::group_modes);
  define(
      m, "append",
      [](OperandArg x, OperandArg elem, IntArg rank, Arg, Arg) {
        return guarded("append", {x.handle, elem.handle},
                       [&] { return Result(pad(x.handle, elem.handle, rank.handle, true)); });
      },
      py::arg("x"), py::arg("elem"), py::arg("up_to_rank") = py::none(), Location(), doc::append);
  define(
      m, "prepend",
      [](OperandArg x, OperandArg elem, IntArg rank, Arg, Arg) {
        return guarded("prepend", {x.handle, elem.handle},
                       [&] { return Result(pad(x.handle, elem.handle, rank.handle, false)); });
      },
      py::arg("x"), py::arg("elem"), py::arg("up_to_rank") = py::none(), Location(), doc::prepend);
  define(
      m, "append_ones",
      [](OperandArg x, IntArg rank, Arg, Arg) {
        return guarded("append_ones", {x.handle},
                       [&] { return Result(pad(x.handle, unit_like(x.handle), rank.handle, true)); });
      },
      py::arg("x"), py::arg("up_to_rank") = py::none(), Location(), doc::append_ones);
  define(
      m, "prepend_ones",
      [](OperandArg x, IntArg rank, Arg, Arg) {
        return guarded("prepend_ones", {x.handle},
                       [&] { return Result(pad(x.handle, unit_like(x.handle), rank.handle, false)); });
      },
      py::arg("x"), py::arg("up_to_rank") = py::none(), Location(), doc::prepend_ones);
  define(
      m, "replace",
      [](LayoutArg layout, IntArg i, LayoutArg mode) {
        return guarded("replace", {layout.handle, i.handle, mode.handle}, [&] {
          const int64_t at = to_int64(i.handle);
          return Result(lift(layout.handle, [&](LayoutView l) { return replace(l, at, to_layout(mode.handle)); }));
        });
      },
      py::arg("layout"), py::arg("i"), py::arg("mode"), doc::replace);
  define(
      m, "take",
      [](OperandArg x, IntArg begin, IntArg end) {
        return guarded("take", {x.handle, begin.handle, end.handle}, [&]() -> Result {
          if (is_layout_like(x.handle)) {
            return lift(x.handle, [&](LayoutView l) {
              const auto [first, last] = range_of(begin.handle, end.handle, l.rank());
              return take(l, first, last);
            });
          }
          const py::list items = modes_of(x.handle);
          const auto [from, to] = range_of(begin.handle, end.handle, static_cast<int64_t>(py::len(items)));
          return py::tuple(items[py::slice(static_cast<py::ssize_t>(from), static_cast<py::ssize_t>(to), 1)]);
        });
      },
      py::arg("x"), py::arg("begin"), py::arg("end"), doc::take);
  define(
      m, "front",
      [](OperandArg x, Arg, Arg) {
        return guarded("front", {x.handle}, [&]() -> Result {
          py::object at = py::reinterpret_borrow<py::object>(x.handle);
          for (int64_t depth = 1; is_sequence(at); ++depth) {
            check_depth(depth);
            const py::tuple items = items_of(at);
            if (items.empty()) fail("an empty tuple has no first element");
            at = items[0];
          }
          return at;
        });
      },
      py::arg("x"), Location(), doc::front);
  define(
      m, "flatten",
      [](OperandArg x, Arg, Arg) {
        return guarded("flatten", {x.handle}, [&] { return Result(flatten_any(x.handle)); });
      },
      py::arg("x"), Location(), doc::flatten);
  define(
      m, "unflatten",
      [](OperandArg x, TupleArg profile, Arg, Arg) {
        return guarded("unflatten", {x.handle, profile.handle}, [&]() -> Result {
          const IntTuple slots = to_int_tuple(profile.handle);
          if (is_layout_like(x.handle)) return lift(x.handle, [&](LayoutView l) { return unflatten(l, slots); });
          return from_int_tuple(unflatten(to_int_tuple(x.handle), slots.view()));
        });
      },
      py::arg("x"), py::arg("profile"), Location(), doc::unflatten);
  define(
      m, "zip_layouts",
      [](LayoutsArg layouts) {
        return guarded("zip_layouts", {layouts.handle}, [&] {
          std::vector<Layout> parts;
          for (const py::handle layout : items_of(layouts.handle)) parts.push_back(to_layout(layout));
          return Result(from_layout(zip(parts)));
        });
      },
      py::arg("layouts"), doc::zip_layouts);
  define(
      m, "repeat",
      [](Arg x, IntArg n) {
        return guarded("repeat", {x.handle, n.handle},
                       [&] { return Result(repeat(x.handle, to_int64(n.handle), true)); });
      },
      py::arg("x"), py::arg("n"), doc::repeat);
  define(
      m, "repeat_as_tuple",
      [](Arg x, IntArg n) {
        return guarded("repeat_as_tuple", {x.handle, n.handle},
                       [&] { return Result(repeat(x.handle, to_int64(n.handle), false)); });
      },
      py::arg("x"), py::arg("n"), doc::repeat_as_tuple);
  define(
      m, "repeat_like",
      [](Arg x, TupleArg target) {
        return guarded("repeat_like", {x.handle, target.handle}, [&] {
          std::size_t entries = 0;
          return Result(repeat_like_any(x.handle, target.handle, 0, entries));
        });
      },
      py::arg("x"), py::arg("target"), doc::repeat_like);
  define(
      m, "slice_",
      [](OperandArg x, CoordArg coord, Arg, Arg) {
        return guarded("slice_", {x.handle, coord.handle}, [&] { return Result(slice_any(x.handle, coord.handle)); });
      },
      py::arg("x"), py::arg("coord"), Location(), doc::slice_);
  define(
      m, "dice",
      [](OperandArg x, CoordArg dicer, Arg, Arg) {
        return guarded("dice", {x.handle, dicer.handle}, [&] { return Result(dice_any(x.handle, dicer.handle)); });
      },
      py::arg("x"), py::arg("dicer"), Location(), doc::dice);
  define(
      m, "domain_offset",
      [](CoordArg coord, OperandArg x, Arg, Arg) {
        return guarded("domain_offset", {coord.handle, x.handle}, [&]() -> Result {
          const IntTuple at = to_int_tuple(coord.handle);
          const py::object whole =
              is_tensor(x.handle) ? layout_of(x.handle) : py::reinterpret_borrow<py::object>(x.handle);
          if (is_composed(whole)) {
            py::object moved = from_composed(domain_offset(at, as_composed(whole)));
            if (!is_tensor(x.handle)) return py::make_tuple(moved, 0);
            return make_tensor(x.handle, x.handle.attr("iterator"), moved);
          }
          const py::object offset = from_int_tuple(crd2idx(at, LayoutView(to_layout(x.handle))));
          if (!is_tensor(x.handle)) return py::make_tuple(x.handle, offset);
          return make_tensor(x.handle, py::object(x.handle.attr("iterator")) + offset, layout_of(x.handle));
        });
      },
      py::arg("coord"), py::arg("tensor"), Location(), doc::domain_offset);
  define(
      m, "slice_and_offset",
      [](CoordArg coord, LayoutArg layout, Arg, Arg) {
        return guarded("slice_and_offset", {coord.handle, layout.handle}, [&] {
          const IntTuple at = to_int_tuple(coord.handle);
          if (is_composed(layout.handle)) {
            SlicedComposed sliced = slice_and_offset(at, as_composed(layout.handle));
            return py::make_tuple(from_any_layout(std::move(sliced.layout)), from_int_tuple(sliced.offset));
          }
          Sliced sliced = slice_and_offset(at, LayoutView(to_layout(layout.handle)));
          return py::make_tuple(from_layout(std::move(sliced.layout)), from_int_tuple(sliced.offset));
        });
      },
      py::arg("coord"), py::arg("layout"), Location(), doc::slice_and_offset);
}

}  // namespace tilewright::bind
