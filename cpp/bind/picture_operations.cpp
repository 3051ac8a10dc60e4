// What is drawn of operations of the algebra.
#include <pybind11/stl.h>

#include "picture/operations/composition.hpp"
#include "picture/operations/divides.hpp"
#include "picture/operations/products.hpp"
#include "picture/operations/rewritten.hpp"
#include "picture/subjects/requests.hpp"

#include "picture.hpp"
#include "picture_options.hpp"

namespace tilewright::bind {

namespace {

using namespace picture;

constexpr const char* kComposition =
    R"doc(The picture of a composition: B, A and A o B, one coordinate followed through all three.

Args: result: A o B; at: a coordinate of B, or None for one in the middle.
Raises: ValueError for an `at` outside of B.

Examples:
    >>> from tilewright._core import picture
    >>> a, b = cute.parse("6:2"), cute.parse("(3,2):(1,3)")
    >>> picture.composition(a, b, cute.composition(a, b), (1, 1)).notes
    ('at (1,1): B gives 4, A(4) = 8, and A o B at (1,1) = 8',))doc";

constexpr const char* kByMode = R"doc(The picture of a composition mode by mode: A, and what a tuple takes of it.

Examples:
    >>> from tilewright._core import picture
    >>> a = cute.parse("(4,4):(4,1)")
    >>> drawn = picture.composition_by_mode(a, (2, 2), cute.composition(a, (2, 2)))
    >>> [cell.lines[0] for cell in drawn.panels[0].panel.cells if not cell.faded]
    ['0', '1', '4', '5'])doc";

constexpr const char* kNoComposition =
    R"doc(The picture of the operands of a composition without a result, the coordinate of B that shows it marked.

Args: at: that coordinate as an index, or None where none is known.

Examples:
    >>> from tilewright._core import picture
    >>> drawn = picture.no_composition(cute.parse("(3,4):(4,1)"), cute.parse("4:2"), 2)
    >>> [(link.start, link.end, link.text) for link in drawn.links]
    [((0, 0, 2), (1, 1, 1), '4')])doc";

constexpr const char* kOperand = R"doc(An operand as a plain table of offsets.

Examples:
    >>> from tilewright._core import picture
    >>> picture.operand_panel("A", cute.parse("(2,2):(2,1)")).title
    'A = (2,2):(2,1)')doc";

constexpr const char* kDivide =
    R"doc(The picture of a divide: a layout, coloured by tile, beside the result, in which one element is followed.

Args: operation: its name, such as "zipped_divide"; at: a coordinate of the result, or None for one in the middle.
Raises: ValueError for an `at` outside of the result.

Examples:
    >>> from tilewright._core import picture
    >>> a = cute.parse("6:1")
    >>> picture.divide("zipped_divide", a, 2, cute.zipped_divide(a, 2), None).panels[0].panel.subtitle
    '3 tiles, a colour for each')doc";

constexpr const char* kCut = R"doc(How a tiler cuts a mode of so many elements: (tile, tiles, places).

places: of each element its place + tile * the number of its tile; -1 where no tile has it.

Examples:
    >>> from tilewright._core import picture
    >>> picture.cut(6, 2), picture.cut(6, cute.make_layout(2, stride=3))
    ((2, 3, [0, 1, 2, 3, 4, 5]), (2, 3, [0, 2, 4, 1, 3, 5])))doc";

constexpr const char* kProduct =
    R"doc(The picture of a product: a block, the layout that repeats it, and the result, a colour for each copy.

Args: operation: its name, such as "raked_product"; at: a coordinate of the result, or None for one in the middle.
Raises: ValueError for an `at` outside of the result.

Examples:
    >>> from tilewright._core import picture
    >>> a, b = cute.parse("2:1"), cute.parse("3:1")
    >>> [cell.owner for cell in picture.product("raked_product", a, b, cute.raked_product(a, b), None).panels[2].panel.cells]
    [0, 1, 2, 0, 1, 2])doc";

constexpr const char* kCoalesce =
    R"doc(The picture of a layout before and after coalesce: the same offset at the same index.

Args: operands: their text; at: a coordinate, or None for one in the middle.
Raises: ValueError for an `at` outside.

Examples:
    >>> from tilewright._core import picture
    >>> before = cute.parse("(2,3):(1,2)")
    >>> picture.coalesce(before, cute.coalesce(before), str(before), 4).notes
    ('index 4 gives 4 in both: (0,2) and 4',))doc";

constexpr const char* kComplement =
    R"doc(The picture of a layout and the copies of it that its complement makes.

Args: bound: offsets below it are drawn; operands: their text.

Examples:
    >>> from tilewright._core import picture
    >>> a = cute.parse("2:1")
    >>> picture.complement(a, cute.complement(a, 6), 6, "2:1, 6").notes
    ('each of the 6 offsets is reached once',))doc";

constexpr const char* kBanks =
    R"doc(The lanes of a request over the banks of shared memory, a row for each wavefront.

Args: name, op: of the instruction; width: bytes of a lane's access; lanes: (lane, address) of each that is active; cost:
    sectors, ideal sectors, lines, wavefronts, ideal wavefronts, and those of a cp.async alone; None: not said.

Examples:
    >>> from tilewright._core import picture
    >>> panel = picture.banks_panel("a load", "load", 4, [(0, 0), (1, 128)], None)
    >>> [(cell.row, cell.column, cell.lines) for cell in panel.cells]
    [(0, 0, ('0',)), (1, 0, ('1',))])doc";

constexpr const char* kSectors =
    R"doc(The lanes of a request over the sectors and lines of global memory.

Args: as of banks_panel.

Examples:
    >>> from tilewright._core import picture
    >>> panel = picture.sectors_panel("a load", "load", 4, [(0, 0), (1, 4)], (1, 1, 1, 0, 0, 0))
    >>> panel.title, panel.cells[0].lines
    ('a load: 1 sector in 1 line, ideal 1', ('0+1',)))doc";

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

Lanes lanes_of(const StrArg& name, const StrArg& op, int64_t width, const Pairs& lanes,
               const std::optional<std::array<int64_t, 6>>& cost) {
  Lanes found{to_text(name.handle), to_text(op.handle), width, lanes, {}};
  if (cost) {
    const auto [sectors, ideal, lines, wavefronts, ideal_wavefronts, alone] = *cost;
    found.cost = {static_cast<int64_t>(lanes.size()), sectors, ideal, lines, wavefronts, ideal_wavefronts, 0, alone};
  }
  return found;
}

Left to_left(py::handle a) {
  if (is_swizzle(a)) return as_swizzle(a);
  return std::visit([](auto&& layout) { return Left(std::move(layout)); }, as_any_layout(a));
}

std::optional<IntTuple> to_at(const Arg& at) {
  return at.handle.is_none() ? std::optional<IntTuple>() : to_integers(at.handle);
}

Repeats to_repeats(py::handle tiler) {
  if (is_layout_like(tiler)) return {as_any_layout(tiler), {}};
  return {{}, to_tiler(tiler)};
}

}  // namespace

void bind_picture_operations(py::module_& m) {
  m.def(
      "composition",
      [](const Arg& a, const LayoutArg& b, const LayoutArg& result, const Arg& at) {
        return show([&] {
          return from_picture(
              composition_picture(to_left(a.handle), as_any_layout(b.handle), as_any_layout(result.handle), to_at(at)));
        });
      },
      py::arg("a"), py::arg("b"), py::arg("result"), py::arg("at"), kComposition);
  m.def(
      "composition_by_mode",
      [](const LayoutArg& a, const Arg& tiler, const LayoutArg& result) {
        return show([&] {
          return from_picture(composition_by_mode_picture(as_any_layout(a.handle), to_tiler(tiler.handle),
                                                          as_any_layout(result.handle)));
        });
      },
      py::arg("a"), py::arg("tiler"), py::arg("result"), kByMode);
  m.def(
      "no_composition",
      [](const Arg& a, const LayoutArg& b, std::optional<int64_t> at) {
        return show(
            [&] { return from_picture(no_composition_picture(to_left(a.handle), as_any_layout(b.handle), at)); });
      },
      py::arg("a"), py::arg("b"), py::arg("at"), kNoComposition);
  m.def(
      "operand_panel",
      [](const StrArg& name, const LayoutArg& layout) {
        return show(
            [&] { return from_panel(operand_panel(to_text(name.handle), Operand(as_any_layout(layout.handle)))); });
      },
      py::arg("name"), py::arg("layout"), kOperand);
  m.def(
      "divide",
      [](const StrArg& operation, const LayoutArg& layout, const Arg& tiler, const LayoutArg& result, const Arg& at) {
        return show([&] {
          return from_picture(divide_picture(to_text(operation.handle), as_any_layout(layout.handle),
                                             to_tiler(tiler.handle), as_any_layout(result.handle), to_at(at)));
        });
      },
      py::arg("operation"), py::arg("layout"), py::arg("tiler"), py::arg("result"), py::arg("at"), kDivide);
  m.def(
      "cut",
      [](int64_t extent, const Arg& tiler) {
        return show([&] {
          Cut found = cut_of(extent, to_tiler(tiler.handle));
          return std::tuple(found.tile, found.tiles, std::move(found.places));
        });
      },
      py::arg("extent"), py::arg("tiler"), kCut);
  m.def(
      "product",
      [](const StrArg& operation, const LayoutArg& block, const Arg& tiler, const LayoutArg& result, const Arg& at) {
        return show([&] {
          return from_picture(product_picture(to_text(operation.handle), as_any_layout(block.handle),
                                              to_repeats(tiler.handle), as_any_layout(result.handle), to_at(at)));
        });
      },
      py::arg("operation"), py::arg("block"), py::arg("tiler"), py::arg("result"), py::arg("at"), kProduct);
  m.def(
      "coalesce",
      [](const LayoutArg& before, const LayoutArg& after, const StrArg& operands, const Arg& at) {
        return show([&] {
          return from_picture(coalesce_picture(as_any_layout(before.handle), as_any_layout(after.handle),
                                               to_text(operands.handle), to_at(at)));
        });
      },
      py::arg("before"), py::arg("after"), py::arg("operands"), py::arg("at"), kCoalesce);
  m.def(
      "banks_panel",
      [](const StrArg& name, const StrArg& op, int64_t width, const Pairs& lanes,
         const std::optional<std::array<int64_t, 6>>& cost) {
        return from_panel(banks_panel(lanes_of(name, op, width, lanes, cost)));
      },
      py::arg("name"), py::arg("op"), py::arg("width"), py::arg("lanes"), py::arg("cost"), kBanks);
  m.def(
      "sectors_panel",
      [](const StrArg& name, const StrArg& op, int64_t width, const Pairs& lanes,
         const std::optional<std::array<int64_t, 6>>& cost) {
        return from_panel(lines_panel(lanes_of(name, op, width, lanes, cost), kSector));
      },
      py::arg("name"), py::arg("op"), py::arg("width"), py::arg("lanes"), py::arg("cost"), kSectors);
  m.def(
      "complement",
      [](const LayoutArg& layout, const LayoutArg& complement, int64_t bound, const StrArg& operands) {
        return show([&] {
          return from_picture(complement_picture(to_layout(layout.handle), to_layout(complement.handle), bound,
                                                 to_text(operands.handle)));
        });
      },
      py::arg("layout"), py::arg("complement"), py::arg("bound"), py::arg("operands"), kComplement);
}

}  // namespace tilewright::bind
