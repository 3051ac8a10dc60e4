# Generated from the C++ module by `make stubs`; do not edit.
"""
Pictures as SVG: of what has title, panels, notes and links.
"""

from __future__ import annotations

import collections.abc
import typing

import tilewright._core
from tilewright.cute.operands import IntTupleLike, LayoutLike

__all__: list[str] = [
    "Grid",
    "MARGIN",
    "MOST",
    "NOTE",
    "RICH",
    "STYLE",
    "SUBTITLE",
    "TITLE",
    "arrows",
    "axis_of",
    "banks_panel",
    "coalesce",
    "complement",
    "composition",
    "composition_by_mode",
    "copy",
    "coverage",
    "cut",
    "cut_note",
    "divide",
    "escape",
    "facts",
    "fill",
    "grids_of",
    "index_of",
    "indices_of",
    "layout",
    "matrices",
    "measure",
    "memory_hover",
    "no_composition",
    "operand_panel",
    "owners_of",
    "product",
    "rules_of",
    "sectors_panel",
    "shown_of",
    "strokes",
    "svg",
    "swizzle",
    "swizzled",
    "texts",
    "thread_color",
    "tile_panel",
    "tv",
    "tv_values",
]

class Grid:
    """
    One panel's coordinates: mode 0 down, mode 1 across; of one mode line by line.
    """

    def cells(self) -> list[tuple[typing.Any, ...]]:
        """
        For each element: row and column of the panel, coordinate, index, text of the coordinate.
        """

    def place(self, index: typing.SupportsInt | typing.SupportsIndex) -> tuple[int, int] | None:
        """
        Row and column at which an index is drawn; None where it is not in this panel.
        """

    @property
    def column_axis(self) -> tuple[typing.Any, ...]: ...
    @property
    def column_rules(self) -> tuple[typing.Any, ...]: ...
    @property
    def columns(self) -> tuple[typing.Any, ...]: ...
    @property
    def row_axis(self) -> tuple[typing.Any, ...]: ...
    @property
    def row_rules(self) -> tuple[typing.Any, ...]: ...
    @property
    def rows(self) -> tuple[typing.Any, ...]:
        """
        The indices that are drawn; None stands for those that are left out.
        """

    @property
    def shape(self) -> typing.Any: ...
    @property
    def title(self) -> str:
        """
        Which slice of a shape with more than two modes this is.
        """

    @property
    def width(self) -> int:
        """
        All columns, also those that are left out.
        """

def arrows(
    picture: typing.Any, dense: bool | None = None
) -> list[tuple[list[tuple[float, float]], tuple[float, float]]]:
    """
    The corners of each arrow of a picture, and the middle of its text.

    Args: dense: as of measure.

    Examples:
        >>> from tilewright._core import picture
        >>> from tilewright.show import Cell, Link, Panel, Picture, beside
        >>> panel = Panel("", "", 1, 2, (Cell(0, 0), Cell(0, 1)))
        >>> drawn = Picture("", beside(panel, panel), links=[Link((0, 0, 1), (1, 0, 0))])
        >>> [len(points) for points, _ in picture.arrows(drawn)]
        [2]
    """

def axis_of(
    shape: IntTupleLike,
    shown: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex | None],
    prefix: str = "",
) -> tuple[typing.Any, ...]:
    """
    The labels of a mode's indices: one level for each leaf of its shape, the last leaf outside.

    Examples:
        >>> from tilewright._core.picture import axis_of, shown_of
        >>> [[f"{x.text} x{x.span}" for x in level] for level in axis_of((2, 3), shown_of(6))]
        [['0 x2', '1 x2', '2 x2'], ['0 x1', '1 x1', '0 x1', '1 x1', '0 x1', '1 x1']]
    """

def banks_panel(
    name: str,
    op: str,
    width: typing.SupportsInt | typing.SupportsIndex,
    lanes: collections.abc.Sequence[
        tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
    ],
    cost: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(6)"] | None,
) -> typing.Any:
    """
    The lanes of a request over the banks of shared memory, a row for each wavefront.

    Args: name, op: of the instruction; width: bytes of a lane's access; lanes: (lane, address) of each that is active; cost:
        sectors, ideal sectors, lines, wavefronts, ideal wavefronts, and those of a cp.async alone; None: not said.

    Examples:
        >>> from tilewright._core import picture
        >>> panel = picture.banks_panel("a load", "load", 4, [(0, 0), (1, 128)], None)
        >>> [(cell.row, cell.column, cell.lines) for cell in panel.cells]
        [(0, 0, ('0',)), (1, 0, ('1',))]
    """

def coalesce(before: LayoutLike, after: LayoutLike, operands: str, at: typing.Any) -> typing.Any:
    """
    The picture of a layout before and after coalesce: the same offset at the same index.

    Args: operands: their text; at: a coordinate, or None for one in the middle.
    Raises: ValueError for an `at` outside.

    Examples:
        >>> from tilewright._core import picture
        >>> before = cute.parse("(2,3):(1,2)")
        >>> picture.coalesce(before, cute.coalesce(before), str(before), 4).notes
        ('index 4 gives 4 in both: (0,2) and 4',)
    """

def complement(
    layout: LayoutLike, complement: LayoutLike, bound: typing.SupportsInt | typing.SupportsIndex, operands: str
) -> typing.Any:
    """
    The picture of a layout and the copies of it that its complement makes.

    Args: bound: offsets below it are drawn; operands: their text.

    Examples:
        >>> from tilewright._core import picture
        >>> a = cute.parse("2:1")
        >>> picture.complement(a, cute.complement(a, 6), 6, "2:1, 6").notes
        ('each of the 6 offsets is reached once',)
    """

def composition(a: typing.Any, b: LayoutLike, result: LayoutLike, at: typing.Any) -> typing.Any:
    """
    The picture of a composition: B, A and A o B, one coordinate followed through all three.

    Args: result: A o B; at: a coordinate of B, or None for one in the middle.
    Raises: ValueError for an `at` outside of B.

    Examples:
        >>> from tilewright._core import picture
        >>> a, b = cute.parse("6:2"), cute.parse("(3,2):(1,3)")
        >>> picture.composition(a, b, cute.composition(a, b), (1, 1)).notes
        ('at (1,1): B gives 4, A(4) = 8, and A o B at (1,1) = 8',)
    """

def composition_by_mode(a: LayoutLike, tiler: typing.Any, result: LayoutLike) -> typing.Any:
    """
    The picture of a composition mode by mode: A, and what a tuple takes of it.

    Examples:
        >>> from tilewright._core import picture
        >>> a = cute.parse("(4,4):(4,1)")
        >>> drawn = picture.composition_by_mode(a, (2, 2), cute.composition(a, (2, 2)))
        >>> [cell.lines[0] for cell in drawn.panels[0].panel.cells if not cell.faded]
        ['0', '1', '4', '5']
    """

def copy(
    title: str,
    tile: IntTupleLike,
    sides: collections.abc.Sequence[
        tuple[
            str,
            collections.abc.Mapping[
                typing.SupportsInt | typing.SupportsIndex,
                collections.abc.Sequence[
                    tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
                ],
            ],
        ]
    ],
) -> typing.Any:
    """
    The picture of a tiled copy: the tile as it is read beside the tile as it is written.

    Args: sides: of each its name and its owners; one where both are the same.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.copy("a copy", (2,), [("source", {0: [(0, 0)], 1: [(1, 0)]})]).panels[0].panel.subtitle
        'the tile (2): thread and value of each element'
    """

def coverage(
    indices: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    size: typing.SupportsInt | typing.SupportsIndex,
) -> str:
    """
    Whether each element of a tile has one owner, by the indices to which all threads and values lead.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.coverage([0, 1, 1], 4)
        '2 of 4 elements with nobody, 1 with several'
    """

def cut(extent: typing.SupportsInt | typing.SupportsIndex, tiler: typing.Any) -> tuple[int, int, list[int]]:
    """
    How a tiler cuts a mode of so many elements: (tile, tiles, places).

    places: of each element its place + tile * the number of its tile; -1 where no tile has it.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.cut(6, 2), picture.cut(6, cute.make_layout(2, stride=3))
        ((2, 3, [0, 1, 2, 3, 4, 5]), (2, 3, [0, 2, 4, 1, 3, 5]))
    """

def cut_note(
    what: str,
    rows: typing.SupportsInt | typing.SupportsIndex,
    columns: typing.SupportsInt | typing.SupportsIndex,
    most: typing.SupportsInt | typing.SupportsIndex = 64,
) -> str:
    """
    What a note says about a panel of which not all is drawn; "" where all is.

    Examples:
        >>> from tilewright._core.picture import cut_note
        >>> cut_note("(4096,64):(64,1)", 4096, 64)
        '(4096,64):(64,1) has 4096 x 64 elements, of which 63 x 64 are drawn: the first ones and the last'
    """

def divide(operation: str, layout: LayoutLike, tiler: typing.Any, result: LayoutLike, at: typing.Any) -> typing.Any:
    """
    The picture of a divide: a layout, coloured by tile, beside the result, in which one element is followed.

    Args: operation: its name, such as "zipped_divide"; at: a coordinate of the result, or None for one in the middle.
    Raises: ValueError for an `at` outside of the result.

    Examples:
        >>> from tilewright._core import picture
        >>> a = cute.parse("6:1")
        >>> picture.divide("zipped_divide", a, 2, cute.zipped_divide(a, 2), None).panels[0].panel.subtitle
        '3 tiles, a colour for each'
    """

def escape(text: str) -> str:
    """
    A text as it stands in SVG and HTML; a control character becomes U+FFFD.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.escape("a < b"), picture.escape("\\x01") == "\\ufffd"
        ('a &lt; b', True)
    """

def facts(layout: LayoutLike) -> str:
    """
    How many elements a layout has, and how its offsets lie.

    Examples:
        >>> from tilewright._core import picture
        >>> [picture.facts(cute.parse(text)) for text in ("(4,8):(8,1)", "(4,8):(0,1)")]
        ['4 x 8 elements, offsets 0 to 31, each once', '4 x 8 elements, offsets 0 to 7, some more than once']
    """

def fill(owner: typing.SupportsInt | typing.SupportsIndex | None, faded: bool = False) -> str:
    """
    What a cell is filled with: the colour of its owner, light grey without one; greyish, or darker grey, if faded.

    Examples:
        >>> from tilewright._core.picture import fill
        >>> fill(0), fill(None), fill(None, faded=True), fill(0, faded=True)
        ('#77aadd', '#cbd0d5', '#b4bac1', '#b3c5d7')
    """

def grids_of(shape: IntTupleLike, most: typing.Any = 64) -> tuple[tuple[typing.Any, ...], tuple[typing.Any, ...]]:
    """
    The panels of a shape, and notes that say what of it is left out.

    Examples:
        >>> from tilewright._core.picture import grids_of
        >>> grids, notes = grids_of(((2, 2), 96))
        >>> grids[0].place(3), notes
        ((3, 0), ('4 x 63 of 4 x 96 elements are drawn: the first ones and the last',))
    """

def index_of(at: typing.Any, shape: IntTupleLike) -> int:
    """
    The index of a coordinate that is to be marked. Raises: ValueError outside of the shape.

    Examples:
        >>> from tilewright._core.picture import index_of
        >>> index_of((1, 2), (4, 8))
        9
    """

def indices_of(tv: LayoutLike, tile: IntTupleLike) -> list[int]:
    """
    The indices of the tile to which (thread, value) leads: of thread 0 all values, then of thread 1.

    Raises: LayoutError for a layout that has not two modes.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.indices_of(cute.parse("(2,2):(2,1)"), (2, 2))
        [0, 1, 2, 3]
    """

def layout(
    layout: LayoutLike,
    color: typing.Any,
    memory: typing.Any,
    mark: typing.Any,
    most: typing.Any,
    content: typing.Any = None,
    heading: typing.Any = None,
) -> typing.Any:
    """
    The picture of a layout.

    Args:
        color, most: options of show. memory: the fields of a Memory, or None. mark: (index, text) of the coordinate that is
            marked, or None.
        content: gives the text of an index's cell in place of the offset.
        heading: title, subtitle and notes, in place of the layout's own.
    Raises: ValueError for an option that it does not have.

    Examples:
        >>> from tilewright._core import picture
        >>> drawn = picture.layout(cute.parse("(2,4):(4,1)"), "value", None, None, 64)
        >>> drawn.title, drawn.panels[0].panel.subtitle
        ('(2,4):(4,1)', '2 x 4 elements, offsets 0 to 7, each once')
    """

def matrices(
    extents: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"],
    operands: collections.abc.Sequence[
        tuple[
            str,
            str,
            collections.abc.Mapping[
                typing.SupportsInt | typing.SupportsIndex,
                collections.abc.Sequence[
                    tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
                ],
            ]
            | None,
            typing.SupportsInt | typing.SupportsIndex,
        ]
    ],
    blocks: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"]
    | None,
    only: typing.SupportsInt | typing.SupportsIndex | None,
) -> typing.Any:
    """
    The picture of a multiplication, A to the left of C and B above it; it has no title yet.

    Args:
        extents: (M,N,K). operands: (name, what is said of it, owners by m + M * k, n + N * k or m + M * n, elements in 16
            bytes); without owners it is read from shared memory.
        blocks: the extents after which thick lines stand, or None. only: a thread whose elements stand out, or None.

    Examples:
        >>> from tilewright._core import picture
        >>> drawn = picture.matrices((1, 1, 1), [("C", "one sum", {0: [(3, 0)]}, 0)], None, None)
        >>> drawn.panels[0].panel.title, drawn.panels[0].panel.cells[0].lines
        ('C (M,N)', ('T3', 'c0'))
    """

def measure(
    picture: typing.Any, dense: bool | None = None
) -> tuple[
    float,
    float,
    bool,
    tuple[typing.Any, ...],
    tuple[typing.Any, ...],
    float,
    list[
        tuple[
            float,
            float,
            float,
            float,
            tuple[float, float],
            tuple[typing.Any, ...],
            tuple[typing.Any, ...],
            list[tuple[float, float]],
            list[tuple[float, float]],
            list[tuple[float, float]],
        ]
    ],
]:
    """
    Where everything of a picture stands, in pixels.

    Args: dense: whether its cells are small; None: where they are more than 900.
    Returns: (width, height, dense, title, notes, notes_y, boxes), boxes: for each panel (x, y, left, top, (width, height) of
        a cell, title, subtitle, legend, column_levels, row_levels): legend: the place of each entry; levels: of the labels
        of each level where they stand and how wide, or high, it is.

    Examples:
        >>> from tilewright._core import picture
        >>> from tilewright.show import Picture
        >>> picture.measure(Picture("nothing", ()))[:2]
        (88.0, 54.0)
    """

def memory_hover(memory: typing.Any, offset: typing.SupportsInt | typing.SupportsIndex) -> tuple[typing.Any, ...]:
    """
    What pointing at an element shows of its memory: bank and address.

    Args: memory: (bits of an element, address of offset 0, whether its type is assumed, of which elements bank and address
        are or "").

    Examples:
        >>> from tilewright._core.picture import memory_hover
        >>> memory_hover((16, 0, False, ""), 65)
        (('bank', '0'), ('address', '130'))
    """

def no_composition(a: typing.Any, b: LayoutLike, at: typing.SupportsInt | typing.SupportsIndex | None) -> typing.Any:
    """
    The picture of the operands of a composition without a result, the coordinate of B that shows it marked.

    Args: at: that coordinate as an index, or None where none is known.

    Examples:
        >>> from tilewright._core import picture
        >>> drawn = picture.no_composition(cute.parse("(3,4):(4,1)"), cute.parse("4:2"), 2)
        >>> [(link.start, link.end, link.text) for link in drawn.links]
        [((0, 0, 2), (1, 1, 1), '4')]
    """

def operand_panel(name: str, layout: LayoutLike) -> typing.Any:
    """
    An operand as a plain table of offsets.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.operand_panel("A", cute.parse("(2,2):(2,1)")).title
        'A = (2,2):(2,1)'
    """

def owners_of(
    tv: LayoutLike,
    tile: IntTupleLike,
    among: collections.abc.Set[typing.SupportsInt | typing.SupportsIndex] | None = None,
) -> dict[int, list[tuple[int, int]]]:
    """
    For each index of a tile the (thread, value) pairs that have it, in order of threads.

    Args: tv: from (thread, value) to the tile's index or coordinate; among: the indices that are asked for; None: all.
    Raises: LayoutError for a layout that has not two modes or leads out of the tile.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.owners_of(cute.parse("(2,2):(0,1)"), (2,))
        {0: [(0, 0), (1, 0)], 1: [(0, 1), (1, 1)]}
    """

def product(operation: str, block: LayoutLike, tiler: typing.Any, result: LayoutLike, at: typing.Any) -> typing.Any:
    """
    The picture of a product: a block, the layout that repeats it, and the result, a colour for each copy.

    Args: operation: its name, such as "raked_product"; at: a coordinate of the result, or None for one in the middle.
    Raises: ValueError for an `at` outside of the result.

    Examples:
        >>> from tilewright._core import picture
        >>> a, b = cute.parse("2:1"), cute.parse("3:1")
        >>> [cell.owner for cell in picture.product("raked_product", a, b, cute.raked_product(a, b), None).panels[2].panel.cells]
        [0, 1, 2, 0, 1, 2]
    """

def rules_of(
    shape: IntTupleLike, shown: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex | None]
) -> tuple[typing.Any, ...]:
    """
    Rules where a leaf other than the first goes on, heavier for those further out.

    Examples:
        >>> from tilewright._core.picture import rules_of, shown_of
        >>> rules_of((2, (2, 2)), shown_of(8))
        (Rule(after=2, weight=1), Rule(after=4, weight=2), Rule(after=6, weight=1))
    """

def sectors_panel(
    name: str,
    op: str,
    width: typing.SupportsInt | typing.SupportsIndex,
    lanes: collections.abc.Sequence[
        tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
    ],
    cost: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(6)"] | None,
) -> typing.Any:
    """
    The lanes of a request over the sectors and lines of global memory.

    Args: as of banks_panel.

    Examples:
        >>> from tilewright._core import picture
        >>> panel = picture.sectors_panel("a load", "load", 4, [(0, 0), (1, 4)], (1, 1, 1, 0, 0, 0))
        >>> panel.title, panel.cells[0].lines
        ('a load: 1 sector in 1 line, ideal 1', ('0+1',))
    """

def shown_of(extent: typing.Any, most: typing.Any = 64) -> tuple[typing.Any, ...]:
    """
    All indices, or, beyond `most`, the first ones, None for a gap, and the last ones.

    Raises: ValueError for `most` not in [2, 512].

    Examples:
        >>> from tilewright._core.picture import shown_of
        >>> shown_of(5), shown_of(100, most=12)
        ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5, 6, 7, None, 97, 98, 99))
    """

def strokes(
    lines: collections.abc.Sequence[collections.abc.Sequence[str]],
) -> dict[tuple[str, str], list[tuple[int, int, int]]]:
    """
    (line, start, end) of the neighbours of one colour, by (colour, dashes).

    Equal runs at equal distances are one line. Other runs are one where enough lines have the same for a path of their own
    to take less.

    Examples:
        >>> from tilewright._core.picture import strokes
        >>> sorted(strokes([("red", "blue", "red", "blue", "red"), ("", "red", "red", "", "")]).items())
        [(('blue', '1 1'), [(0, 1, 4)]), (('red', ''), [(1, 1, 3)]), (('red', '1 1'), [(0, 0, 5)])]
        >>> list(strokes([("red", "", "red", "red")] * 4)), list(strokes([("red", "", "red", "red")] * 9))
        ([('red', '')], [('red', '1 1 2')])
    """

def svg(picture: typing.Any) -> str:
    """
    The SVG of a picture: of what has title, panels, notes and links.

    Examples:
        >>> from tilewright._core import picture
        >>> from tilewright.show import Picture
        >>> picture.svg(Picture("nothing", ()))[:4]
        '<svg'
    """

def swizzle(swizzle: tilewright._core.Swizzle, memory: typing.Any, at: typing.Any, most: typing.Any) -> typing.Any:
    """
    The picture of a swizzle on the smallest block that it permutes.

    Args: memory: the fields of a Memory; an assumed one gives way to that of elements of which 2^m make 16 bytes. at: an
        offset to mark, or None.
    Raises: ValueError for an offset outside of the block.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.swizzle(cute.make_swizzle(1, 0, 1), (32, 0, True, ""), None, 64).title
        'S<1,0,1>'
    """

def swizzled(
    layout: tilewright._core.ComposedLayout,
    color: typing.Any,
    memory: typing.Any,
    mark: typing.Any,
    most: typing.Any,
    only: typing.Any,
) -> typing.Any:
    """
    The picture of a swizzled layout before and after the swizzle.

    Args: as of layout; only: "before", "after" or None for both.
    Raises: ValueError for an option that it does not have.

    Examples:
        >>> from tilewright._core import picture
        >>> drawn = picture.swizzled(cute.parse("S<1,1,1> o 0 o (4,4):(4,1)"), "bank", (32, 0, True, ""), None, 64, None)
        >>> [placed.panel.title for placed in drawn.panels]
        ['before: (4,4):(4,1)', 'after: S<1,1,1> o 0 o (4,4):(4,1)']
    """

def texts(picture: typing.Any, dense: bool | None = None) -> list[tuple[float, float, float, float]]:
    """
    Where the texts of a picture are, but those in cells: left, top, right and bottom of each.

    Args: dense: as of measure.

    Examples:
        >>> from tilewright._core import picture
        >>> from tilewright.show import Panel, Picture, below
        >>> picture.texts(Picture("ab", below(Panel("", "", 0, 0, ()))))
        [(16.0, 15.0, 32.0, 29.0)]
    """

def thread_color(thread: typing.SupportsInt | typing.SupportsIndex) -> str:
    """
    The colour of a thread: eight hues, then the same ones lighter; it repeats after 24.

    Examples:
        >>> from tilewright._core import picture
        >>> picture.thread_color(0), picture.thread_color(8), picture.thread_color(24)
        ('#77aadd', '#a7c8e9', '#77aadd')
    """

def tile_panel(
    grid: Grid,
    owners: collections.abc.Mapping[
        typing.SupportsInt | typing.SupportsIndex,
        collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ],
    ],
    title: str,
    subtitle: str,
) -> typing.Any:
    """
    A tile, coloured by thread, with thread and value in each cell; what nobody has is empty.

    Examples:
        >>> from tilewright._core import picture
        >>> (grid,), _ = picture.grids_of((2,))
        >>> [cell.lines for cell in picture.tile_panel(grid, {0: [(0, 0), (1, 0)]}, "", "").cells]
        [('T0+1',), ('',)]
    """

def tv(
    tv: LayoutLike, tile: IntTupleLike, data: typing.Any, memory: typing.Any, at: typing.Any, most: typing.Any
) -> typing.Any:
    """
    The picture of a thread-value layout: the tile by thread, and the table the other way round.

    Args: data: the layout of the tile in memory, or None; memory: the fields of a Memory, or None; at: the index of the
        (thread, value) to mark, or None.
    Raises: LayoutError where TV is not a layout of two modes into the tile.

    Examples:
        >>> from tilewright._core import picture
        >>> drawn = picture.tv(cute.parse("(2,2):(2,1)"), (2, 2), None, None, None, 64)
        >>> drawn.panels[0].panel.subtitle
        '2 threads, 2 values each; each element once'
    """

def tv_values(tv: LayoutLike, layout: LayoutLike, covered: str, element: typing.Any, most: typing.Any) -> typing.Any:
    """
    The picture of the elements of a tensor with the thread and value that read each.

    Args: covered: what is said of the coverage; element: gives the text of what a (thread, value) reads.

    Examples:
        >>> from tilewright._core import picture
        >>> drawn = picture.tv_values(cute.parse("(2,2):(2,1)"), cute.parse("4:1"), "each is read once", lambda t, v: f"{t}.{v}", 64)
        >>> [cell.lines for cell in drawn.panels[0].panel.cells]
        [('0.0', 'T0V0'), ('0.1', 'T0V1'), ('1.0', 'T1V0'), ('1.1', 'T1V1')]
    """

MARGIN: float = 16.0
MOST: int = 64
NOTE: float = 16.0
RICH: int = 900
STYLE: str = ".tw-show text{font-family:DejaVu Sans Mono,Menlo,Consolas,monospace;font-size:11.627px;fill:#111;text-anchor:middle;white-space:pre}.tw-show .s{font-size:9.966px}.tw-show .c{text-anchor:start;font-size:9.966px}.tw-show .g{font-size:9.966px;fill:#777}.tw-show .f{fill:#444}.tw-show .u{text-anchor:start;font-size:11.627px;fill:#777}.tw-show .h{text-anchor:start;font-size:13.288px;font-weight:bold;fill:#777}.tw-show .t{text-anchor:start;font-size:13.288px;font-weight:bold;fill:#777}.tw-show .l{text-anchor:start;font-size:9.966px;fill:#777}.tw-show rect{stroke:#555;stroke-width:.8}.tw-show .b{fill:none;stroke:#999}.tw-show .m{fill:none;stroke:#111;stroke-width:3}.tw-show .k{fill:none;stroke:#d63346;stroke-width:1.8;stroke-linejoin:round}.tw-show .a{fill:#d63346}.tw-show .w{font-size:11.627px;font-weight:bold;stroke:#fff;stroke-width:4}.tw-show .n{font-size:11.627px;font-weight:bold;fill:#d63346}"
SUBTITLE: float = 15.0
TITLE: float = 20.0
