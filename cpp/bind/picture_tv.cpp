// What is drawn of thread-value layouts, and its parts for tiled copies and multiplications.
#include <pybind11/stl.h>

#include "picture/subjects/matrices.hpp"

#include "picture.hpp"
#include "picture_options.hpp"

namespace tilewright::bind {

namespace {

using namespace picture;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

constexpr const char* kIndices =
    R"doc(The indices of the tile to which (thread, value) leads: of thread 0 all values, then of thread 1.

Raises: LayoutError for a layout that has not two modes.

Examples:
    >>> from tilewright._core import picture
    >>> picture.indices_of(cute.parse("(2,2):(2,1)"), (2, 2))
    [0, 1, 2, 3])doc";

constexpr const char* kOwners =
    R"doc(For each index of a tile the (thread, value) pairs that have it, in order of threads.

Args: tv: from (thread, value) to the tile's index or coordinate; among: the indices that are asked for; None: all.
Raises: LayoutError for a layout that has not two modes or leads out of the tile.

Examples:
    >>> from tilewright._core import picture
    >>> picture.owners_of(cute.parse("(2,2):(0,1)"), (2,))
    {0: [(0, 0), (1, 0)], 1: [(0, 1), (1, 1)]})doc";

constexpr const char* kCoverage =
    R"doc(Whether each element of a tile has one owner, by the indices to which all threads and values lead.

Examples:
    >>> from tilewright._core import picture
    >>> picture.coverage([0, 1, 1], 4)
    '2 of 4 elements with nobody, 1 with several')doc";

constexpr const char* kTile =
    R"doc(A tile, coloured by thread, with thread and value in each cell; what nobody has is empty.

Examples:
    >>> from tilewright._core import picture
    >>> (grid,), _ = picture.grids_of((2,))
    >>> [cell.lines for cell in picture.tile_panel(grid, {0: [(0, 0), (1, 0)]}, "", "").cells]
    [('T0+1',), ('',)])doc";

constexpr const char* kTv =
    R"doc(The picture of a thread-value layout: the tile by thread, and the table the other way round.

Args: data: the layout of the tile in memory, or None; memory: the fields of a Memory, or None; at: the index of the
    (thread, value) to mark, or None.
Raises: LayoutError where TV is not a layout of two modes into the tile.

Examples:
    >>> from tilewright._core import picture
    >>> drawn = picture.tv(cute.parse("(2,2):(2,1)"), (2, 2), None, None, None, 64)
    >>> drawn.panels[0].panel.subtitle
    '2 threads, 2 values each; each element once')doc";

constexpr const char* kValues = R"doc(The picture of the elements of a tensor with the thread and value that read each.

Args: covered: what is said of the coverage; element: gives the text of what a (thread, value) reads.

Examples:
    >>> from tilewright._core import picture
    >>> drawn = picture.tv_values(cute.parse("(2,2):(2,1)"), cute.parse("4:1"), "each is read once", lambda t, v: f"{t}.{v}", 64)
    >>> [cell.lines for cell in drawn.panels[0].panel.cells]
    [('0.0', 'T0V0'), ('0.1', 'T0V1'), ('1.0', 'T1V0'), ('1.1', 'T1V1')])doc";

constexpr const char* kCopy =
    R"doc(The picture of a tiled copy: the tile as it is read beside the tile as it is written.

Args: sides: of each its name and its owners; one where both are the same.

Examples:
    >>> from tilewright._core import picture
    >>> picture.copy("a copy", (2,), [("source", {0: [(0, 0)], 1: [(1, 0)]})]).panels[0].panel.subtitle
    'the tile (2): thread and value of each element')doc";

constexpr const char* kMatrices =
    R"doc(The picture of a multiplication, A to the left of C and B above it; it has no title yet.

Args:
    extents: (M,N,K). operands: (name, what is said of it, owners by m + M * k, n + N * k or m + M * n, elements in 16
        bytes); without owners it is read from shared memory.
    blocks: the extents after which thick lines stand, or None. only: a thread whose elements stand out, or None.

Examples:
    >>> from tilewright._core import picture
    >>> drawn = picture.matrices((1, 1, 1), [("C", "one sum", {0: [(3, 0)]}, 0)], None, None)
    >>> drawn.panels[0].panel.title, drawn.panels[0].panel.cells[0].lines
    ('C (M,N)', ('T3', 'c0')))doc";

Owners to_owners(const std::map<int64_t, Pairs>& owned) {
  Owners known;
  for (const auto& [index, pairs] : owned) {
    for (const auto& [thread, value] : pairs) known[index].push_back({thread, value});
  }
  return known;
}

std::map<int64_t, Pairs> owners(const LayoutArg& tv, const TupleArg& tile,
                                const std::optional<std::set<int64_t>>& among) {
  return show([&] {
    std::map<int64_t, Pairs> found;
    const AnyLayout layout = as_any_layout(tv.handle);
    for (const auto& [index, pairs] : owners_of(layout, to_int_tuple(tile.handle), among ? &*among : nullptr)) {
      Pairs& known = found[index];
      for (const Pair& pair : pairs) known.emplace_back(pair.thread, pair.value);
    }
    return found;
  });
}

py::object panel(const Grid& grid, const std::map<int64_t, Pairs>& owned, const StrArg& title, const StrArg& subtitle) {
  return from_panel(tile_panel(grid, to_owners(owned), to_text(title.handle), to_text(subtitle.handle)));
}

py::object tv_drawn(const LayoutArg& tv, const TupleArg& tile, const Arg& data, const Arg& memory, const Arg& at,
                    const Arg& most) {
  return show([&] {
    TvStyle style{nullptr, to_memory(memory.handle), {}, to_most(most.handle)};
    std::optional<Values> values;
    if (!data.handle.is_none()) style.data = &values.emplace(as_any_layout(data.handle));
    if (!at.handle.is_none()) style.at = to_int64(at.handle);
    return from_picture(tv_picture(as_any_layout(tv.handle), static_shape(to_int_tuple(tile.handle)), style));
  });
}

py::object values_drawn(const LayoutArg& tv, const LayoutArg& data, const StrArg& covered, const Arg& element,
                        const Arg& most) {
  return show([&] {
    const auto text = [&](const Pair& pair) { return to_text(element.handle(pair.thread, pair.value)); };
    return from_picture(values_picture(as_any_layout(tv.handle), as_any_layout(data.handle), to_text(covered.handle),
                                       text, to_most(most.handle)));
  });
}

}  // namespace

void bind_picture_tv(py::module_& m) {
  m.def(
      "indices_of",
      [](const LayoutArg& tv, const TupleArg& tile) {
        return show([&] { return indices_of(as_any_layout(tv.handle), to_int_tuple(tile.handle)); });
      },
      py::arg("tv"), py::arg("tile"), kIndices);
  m.def("owners_of", owners, py::arg("tv"), py::arg("tile"), py::arg("among") = py::none(), kOwners);
  m.def("coverage", coverage, py::arg("indices"), py::arg("size"), kCoverage);
  m.def("tile_panel", panel, py::arg("grid"), py::arg("owners"), py::arg("title"), py::arg("subtitle"), kTile);
  m.def(
      "copy",
      [](const StrArg& title, const TupleArg& tile,
         const std::vector<std::pair<std::string, std::map<int64_t, Pairs>>>& sides) {
        return show([&] {
          std::vector<Side> found;
          for (const auto& [name, owned] : sides) found.push_back({name, to_owners(owned)});
          return from_picture(copy_picture(to_text(title.handle), static_shape(to_int_tuple(tile.handle)), found));
        });
      },
      py::arg("title"), py::arg("tile"), py::arg("sides"), kCopy);
  m.def(
      "matrices",
      [](const std::array<int64_t, 3>& extents,
         const std::vector<std::tuple<char, std::string, std::optional<std::map<int64_t, Pairs>>, int64_t>>& operands,
         std::optional<std::array<int64_t, 3>> blocks, std::optional<int64_t> only) {
        std::vector<Matrix> found;
        for (const auto& [name, says, owned, of_row] : operands) {
          found.push_back({name, says, owned ? std::optional(to_owners(*owned)) : std::nullopt, of_row});
        }
        return show([&] { return from_picture(matrices_picture(extents, found, {blocks, only})); });
      },
      py::arg("extents"), py::arg("operands"), py::arg("blocks"), py::arg("only"), kMatrices);
  m.def("tv", tv_drawn, py::arg("tv"), py::arg("tile"), py::arg("data"), py::arg("memory"), py::arg("at"),
        py::arg("most"), kTv);
  m.def("tv_values", values_drawn, py::arg("tv"), py::arg("layout"), py::arg("covered"), py::arg("element"),
        py::arg("most"), kValues);
}

}  // namespace tilewright::bind
