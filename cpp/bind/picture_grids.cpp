// Axes, grids and memory of pictures, for the subjects that Python draws.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "convert.hpp"
#include "picture.hpp"
#include "picture/tables/grids.hpp"
#include "picture_options.hpp"

namespace tilewright::bind {

namespace {

using namespace picture;

constexpr const char* kShown = R"doc(All indices, or, beyond `most`, the first ones, None for a gap, and the last ones.

Raises: ValueError for `most` not in [2, 512].

Examples:
    >>> from tilewright._core.picture import shown_of
    >>> shown_of(5), shown_of(100, most=12)
    ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5, 6, 7, None, 97, 98, 99)))doc";

constexpr const char* kCut = R"doc(What a note says about a panel of which not all is drawn; "" where all is.

Examples:
    >>> from tilewright._core.picture import cut_note
    >>> cut_note("(4096,64):(64,1)", 4096, 64)
    '(4096,64):(64,1) has 4096 x 64 elements, of which 63 x 64 are drawn: the first ones and the last')doc";

constexpr const char* kAxis =
    R"doc(The labels of a mode's indices: one level for each leaf of its shape, the last leaf outside.

Examples:
    >>> from tilewright._core.picture import axis_of, shown_of
    >>> [[f"{x.text} x{x.span}" for x in level] for level in axis_of((2, 3), shown_of(6))]
    [['0 x2', '1 x2', '2 x2'], ['0 x1', '1 x1', '0 x1', '1 x1', '0 x1', '1 x1']])doc";

constexpr const char* kRules = R"doc(Rules where a leaf other than the first goes on, heavier for those further out.

Examples:
    >>> from tilewright._core.picture import rules_of, shown_of
    >>> rules_of((2, (2, 2)), shown_of(8))
    (Rule(after=2, weight=1), Rule(after=4, weight=2), Rule(after=6, weight=1)))doc";

constexpr const char* kIndex =
    R"doc(The index of a coordinate that is to be marked. Raises: ValueError outside of the shape.

Examples:
    >>> from tilewright._core.picture import index_of
    >>> index_of((1, 2), (4, 8))
    9)doc";

constexpr const char* kGrids = R"doc(The panels of a shape, and notes that say what of it is left out.

Examples:
    >>> from tilewright._core.picture import grids_of
    >>> grids, notes = grids_of(((2, 2), 96))
    >>> grids[0].place(3), notes
    ((3, 0), ('4 x 63 of 4 x 96 elements are drawn: the first ones and the last',)))doc";

constexpr const char* kHover = R"doc(What pointing at an element shows of its memory: bank and address.

Args: memory: (bits of an element, address of offset 0, whether its type is assumed, of which elements bank and address
    are or "").

Examples:
    >>> from tilewright._core.picture import memory_hover
    >>> memory_hover((16, 0, False, ""), 65)
    (('bank', '0'), ('address', '130')))doc";

py::tuple from_shown(const Shown& shown) {
  py::tuple found(shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) found[i] = shown[i] ? py::object(py::int_(*shown[i])) : py::none();
  return found;
}

template <class T>
py::tuple tuple_from(const T& items) {
  py::tuple found(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) found[i] = py::cast(items[i]);
  return found;
}

// The coordinate of a place in a grid: an index for each mode; of a shape with one mode the index, with none ().
py::object coordinate_at(const Grid& grid, const picture::Spot& spot) {
  if (grid.flat())
    return !grid.shape.is_leaf() && grid.shape.rank() == 0 ? py::object(py::tuple()) : py::int_(spot.index);
  py::tuple found(2 + grid.rest.size());
  found[0] = py::int_(*grid.rows[static_cast<std::size_t>(spot.row)]);
  found[1] = py::int_(*grid.columns[static_cast<std::size_t>(spot.column)]);
  for (std::size_t i = 0; i < grid.rest.size(); ++i) found[2 + i] = py::int_(grid.rest[i]);
  return found;
}

py::typing::List<py::tuple> cells_of(const Grid& grid) {
  py::typing::List<py::tuple> found;
  for (const picture::Spot& spot : grid.spots()) {
    found.append(py::make_tuple(spot.row, spot.column, coordinate_at(grid, spot), spot.index, spot.name));
  }
  return found;
}

}  // namespace

void bind_picture_grids(py::module_& m) {
  py::class_<Grid>(m, "Grid", "One panel's coordinates: mode 0 down, mode 1 across; of one mode line by line.")
      .def_property_readonly("shape", [](const Grid& grid) { return from_int_tuple(grid.shape); })
      .def_property_readonly(
          "rows", [](const Grid& grid) { return from_shown(grid.rows); },
          "The indices that are drawn; None stands for those that are left out.")
      .def_property_readonly("columns", [](const Grid& grid) { return from_shown(grid.columns); })
      .def_property_readonly(
          "width", [](const Grid& grid) { return product_of(grid.column_leaves); },
          "All columns, also those that are left out.")
      .def_property_readonly("row_axis", [](const Grid& grid) { return from_axis(grid.row_axis()); })
      .def_property_readonly("column_axis", [](const Grid& grid) { return from_axis(grid.column_axis()); })
      .def_property_readonly("row_rules",
                             [](const Grid& grid) { return from_rules(rules_of(grid.row_leaves, grid.rows)); })
      .def_property_readonly("column_rules",
                             [](const Grid& grid) { return from_rules(rules_of(grid.column_leaves, grid.columns)); })
      .def_property_readonly("title", &Grid::title, "Which slice of a shape with more than two modes this is.")
      .def("place", &Grid::place, py::arg("index"),
           "Row and column at which an index is drawn; None where it is not in this panel.")
      .def("cells", cells_of,
           "For each element: row and column of the panel, coordinate, index, text of the coordinate.");
  m.def(
      "shown_of",
      [](const Arg& extent, const Arg& most) {
        return show([&] { return from_shown(shown_of(to_int64(extent.handle), to_most(most.handle))); });
      },
      py::arg("extent"), py::arg("most") = kMost, kShown);
  m.def("cut_note", cut_note, py::arg("what"), py::arg("rows"), py::arg("columns"), py::arg("most") = kMost, kCut);
  m.def(
      "axis_of",
      [](const TupleArg& shape, const Shown& shown, const std::string& prefix) {
        return show([&] { return from_axis(axis_of(extents(to_int_tuple(shape.handle)), shown, prefix)); });
      },
      py::arg("shape"), py::arg("shown"), py::arg("prefix") = "", kAxis);
  m.def(
      "rules_of",
      [](const TupleArg& shape, const Shown& shown) {
        return show([&] { return from_rules(rules_of(extents(to_int_tuple(shape.handle)), shown)); });
      },
      py::arg("shape"), py::arg("shown"), kRules);
  m.def(
      "index_of",
      [](const Arg& at, const TupleArg& shape) {
        const IntTuple given = to_integers(at.handle), of = static_shape(to_int_tuple(shape.handle));
        return guarded("crd2idx", {at.handle, shape.handle}, [&] { return show([&] { return index_of(given, of); }); });
      },
      py::arg("at"), py::arg("shape"), kIndex);
  m.def(
      "grids_of",
      [](const TupleArg& shape, const Arg& most) {
        Grids found = show([&] { return grids_of(to_int_tuple(shape.handle), to_most(most.handle)); });
        return py::make_tuple(tuple_from(found.grids), tuple_from(found.notes));
      },
      py::arg("shape"), py::arg("most") = kMost, kGrids);
  m.def(
      "memory_hover",
      [](const Arg& memory, int64_t offset) {
        Hover hover;
        to_memory(memory.handle)->add_hover(hover, offset);
        return tuple_from(hover);
      },
      py::arg("memory"), py::arg("offset"), kHover);
}

}  // namespace tilewright::bind
