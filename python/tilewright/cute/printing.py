"""Text forms of layouts and tensors, those of CuTe C++ and of CuTeDSL, to the byte.

`str(x)` shows what is static, and a dynamic integer as `?`; what is printed here is the run-time form, with values.
Every `print_x(...)` writes what `format_x(...)` returns to standard output.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.tensor import Pointer, Tensor, as_tensor
from tilewright.numeric import Boolean, Float32, Float64, Integer, Numeric, TFloat32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "format_latex",
    "format_layout",
    "format_printf",
    "format_tensor",
    "pretty_str",
    "print_latex",
    "print_layout",
    "print_tensor",
    "printf",
]

PRINTF_VALUES = 31  # printf shows this many values of a tensor
EDGE = 3  # print_tensor shows this many rows and columns at each end

# What stands above and below every picture in LaTeX.
LATEX_HEAD = (
    r"\documentclass[convert]{standalone}",
    r"\usepackage{tikz}",
    "",
    r"\begin{document}",
    r"\begin{tikzpicture}[x={(0cm,-1cm)},y={(1cm,0cm)},every node/.style={minimum size=1cm, outer sep=0pt}]",
    "",
)
LATEX_TAIL = (r"\end{tikzpicture}", r"\end{document}", "")


# ---- run-time text ---------------------------------------------------------------------------------------------------


def _number(x: Any) -> str:
    """`%d` of an integer, `%f` of anything else."""
    return str(int(x)) if isinstance(x, int) else f"{x:f}"


def _run_time_text(x: Any) -> str:
    """CuTe's text with the values of dynamic integers."""
    if isinstance(x, (tuple, list)):
        return "(" + ",".join(map(_run_time_text, x)) + ")"
    if isinstance(x, _core.Layout):
        return f"{_run_time_text(x.shape)}:{_run_time_text(x.stride)}"
    if isinstance(x, _core.ComposedLayout):
        inner = x.inner if isinstance(x.inner, (_core.Swizzle, _core.Layout, _core.ComposedLayout)) else "<inner>"
        return " o ".join(map(_run_time_text, (inner, x.offset, x.outer)))
    if isinstance(x, _core.ScaledBasis):
        return "@".join([_run_time_text(x.value), *map(str, x.mode)])
    if isinstance(x, Numeric):
        return _number(x._value)
    if isinstance(x, (int, float)):
        return _number(x)
    if isinstance(x, Pointer):
        return f"raw_ptr(0x{x.toint():016x}: {x.dtype.name}, {x.memspace}, align<{x.alignment}>)"
    if isinstance(x, Tensor):
        return _tensor_text(x)
    if hasattr(x, "item") and getattr(x, "shape", None) == ():  # a NumPy scalar
        return _run_time_text(x.item())
    return "_" if x is None else str(x)


def _tensor_text(x: Tensor) -> str:
    head = f"{_run_time_text(x.iterator)} o {_run_time_text(x.layout)}"
    if not _core.is_static(x.layout):
        return head
    size = int(_core.size(x.layout))
    values = [_run_time_text(x[i]) for i in range(min(size, PRINTF_VALUES))]
    if size > PRINTF_VALUES:
        values.append("[...]")
    return f"{head} = \n  ( {', '.join(values)} )"


def pretty_str(x: Any, *, loc: Any = None, ip: Any = None) -> str:
    """CuTe's text of anything: nested tuples without spaces, also around layouts; None is `_`, a dynamic integer `?`.

    Source: CuTeDSL `cute.pretty_str`.

    >>> pretty_str((None, (4, 8), _core.make_layout(12)))
    '(_,(4,8),12:1)'
    """
    if isinstance(x, (tuple, list)):
        return "(" + ",".join(map(pretty_str, x)) + ")"
    return "_" if x is None else str(x)


def format_printf(fmt: Any, *args: Any, end: str = "\n") -> str:
    """What `printf` with the same arguments writes.

    >>> from tilewright import Int32
    >>> format_printf("{} is {}", Int32(8), _core.make_layout((Int32(8), 2)), end="")
    '8 is (8,2):(1,8)'
    """
    if not isinstance(fmt, str):
        fmt, args = ", ".join(["{}"] * (1 + len(args))), (fmt, *args)
    pieces = fmt.split("{}")
    if len(pieces) - 1 != len(args):
        hint = "; the only placeholder is {}" if "{" in "".join(pieces) else ""
        raise ValueError(f"printf: {fmt!r} has {len(pieces) - 1} placeholders, but got {len(args)} arguments{hint}")
    texts = [*map(_run_time_text, args), end]
    return "".join(piece + text for piece, text in zip(pieces, texts, strict=True))


def printf(fmt: Any, *args: Any, end: str = "\n", loc: Any = None, ip: Any = None) -> None:
    """Print values as they are at run time: dynamic integers, pointers, the elements of a tensor.

    `{}` stands for the next argument; without a format the arguments are separated by commas. A tensor of static layout
    prints its first 31 elements in colexicographic order. Raises ValueError where the number of placeholders is not
    that of the arguments. Source: CuTeDSL `cute.printf`.

    >>> from tilewright import Float32, Int32
    >>> printf("{} of {}", Float32(0.5), (Int32(8), None))
    0.500000 of (8,_)
    """
    sys.stdout.write(format_printf(fmt, *args, end=end))


# ---- layouts ---------------------------------------------------------------------------------------------------------


def _cpp_text(x: Any) -> str:
    """C++ writes a swizzle as `Sw<..>` and a coordinate iterator as `ArithTuple(..)`."""
    if isinstance(x, _core.Swizzle):
        return "Sw" + str(x)[1:]
    if isinstance(x, _core.ComposedLayout) and isinstance(x.inner, _core.Swizzle):
        return " o ".join((_cpp_text(x.inner), _run_time_text(x.offset), _run_time_text(x.outer)))
    return _run_time_text(x)


def _table(layout: Any, name: str) -> tuple[Any, int, int]:
    """The layout as a matrix, a single mode as its one column; rows and columns."""
    if isinstance(layout, Tensor):
        layout = layout.layout
    if not isinstance(layout, (_core.Layout, _core.ComposedLayout)):
        raise TypeError(f"{name}: expected a Layout, but got {type(layout).__name__}")
    rank = _core.rank(layout)
    if rank not in (1, 2):
        raise ValueError(
            f"{name}: {pretty_str(layout)} has rank {rank}, and a table has rows and columns; "
            "group_modes makes two modes of more"
        )
    if rank == 1:
        layout = _core.append(layout, _core.make_layout(1, stride=0), 2)
    return layout, int(_core.size(layout, mode=[0])), int(_core.size(layout, mode=[1]))


def format_layout(layout: Any) -> str:
    """What `print_layout` with the same argument writes."""
    layout, rows, columns = _table(layout, "print_layout")
    cells = [[_run_time_text(layout((m, n))) for n in range(columns)] for m in range(rows)]
    # C++ leaves room for the cosize; negative offsets and coordinates may need more.
    cosize = "" if _core.has_scaled_basis(layout) else _run_time_text(_core.cosize(layout))
    width = max(len(cosize), *(len(cell) for row in cells for cell in row))
    rule = "    " + f"+-{'-' * width}-" * columns + "+\n"
    lines = [f"{_cpp_text(layout)}\n", "    ", *(f"  {n:{width}d} " for n in range(columns)), "\n", rule]
    for m, row in enumerate(cells):
        lines += [f"{m:2d}  ", *(f"| {cell:>{width}} " for cell in row), "|\n", rule]
    return "".join(lines)


def print_layout(layout: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Print a layout of rank 2 as a table of its offsets; one of rank 1 is a column.

    Raises ValueError for another rank. Source: CuTe C++ `cute::print_layout`, less the underscore of static integers.

    >>> print_layout(_core.make_layout((2, 3), stride=(3, 1)))  # doctest: +NORMALIZE_WHITESPACE
    (2,3):(3,1)
          0   1   2
        +---+---+---+
     0  | 0 | 1 | 2 |
        +---+---+---+
     1  | 3 | 4 | 5 |
        +---+---+---+
    """
    sys.stdout.write(format_layout(layout))


def format_latex(layout: Any) -> str:
    """What `print_latex` with the same argument writes."""
    layout, rows, columns = _table(layout, "print_latex")
    shades = ("00", "40", "20", "60", "10", "50", "30", "70")
    lines = [
        f"% Layout: {_cpp_text(layout)}",
        *LATEX_HEAD,
    ]
    for m in range(rows):
        for n in range(columns):
            offset = layout((m, n))
            shade = shades[0 if isinstance(offset, tuple) else int(offset) % len(shades)]
            lines.append(rf"\node[fill=black!{shade}] at ({m},{n}) {{{_run_time_text(offset)}}};")
    grid = rf"\draw[color=black,thick,shift={{(-0.5,-0.5)}}] (0,0) grid ({rows},{columns});"
    lines += [grid, ""]
    lines += [rf"\node at ({m},-1) {{\Large{{\texttt{{{m}}}}}}};" for m in range(rows)]
    lines += [rf"\node at (-1,{n}) {{\Large{{\texttt{{{n}}}}}}};" for n in range(columns)]
    lines += LATEX_TAIL
    return "\n".join(lines)


def print_latex(layout: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Print a LaTeX document that draws a layout of rank 1 or 2 as a table, shaded by offset.

    Raises ValueError for another rank. Source: CuTe C++ `cute::print_latex`, less the underscore of static integers.

    >>> print_latex(_core.make_layout(2))  # doctest: +ELLIPSIS
    % Layout: (2,1):(1,0)
    \\documentclass[convert]{standalone}
    ...
    """
    sys.stdout.write(format_latex(layout))


# ---- tensors ---------------------------------------------------------------------------------------------------------


def format_tensor(t: Any, verbose: bool = False, *, style: str = "dsl", print_type: bool = True) -> str:
    """What `print_tensor` with the same arguments writes."""
    tensor = as_tensor(t, "print_tensor", "t")
    if style == "cpp":
        if verbose:
            raise ValueError("print_tensor: the C++ form has no verbose form")
        return _cpp_tensor(tensor, print_type)
    if style != "dsl":
        raise ValueError(f"print_tensor: style is 'dsl' or 'cpp', but got {style!r}")
    if not print_type:
        raise ValueError("print_tensor: only the C++ form can be printed without the type")
    return _verbose_tensor(tensor) if verbose else _dsl_tensor(tensor)


def print_tensor(
    t: Any, verbose: bool = False, *, style: str = "dsl", print_type: bool = True, loc: Any = None, ip: Any = None
) -> None:
    """Print a tensor: its pointer, layout and elements, rows along mode 0 and columns along mode 1.

    With more modes, a block is printed for each of their coordinates. More than six rows or columns are shortened to
    three at each end. `verbose` prints each element with its coordinate instead. `style="cpp"` is the form of CuTe C++,
    whose first line `print_type=False` omits; it shows all elements and at most four modes.
    Sources: CuTeDSL `cute.print_tensor`, CuTe C++ `cute::print_tensor`.

    >>> tensor = Tensor(0, _core.make_layout((2, 3), stride=(3, 1)))
    >>> print_tensor(tensor)
    tensor(0 o (2,3):(3,1), data=
           [[ 0,  1,  2, ],
            [ 3,  4,  5, ]])
    >>> print_tensor(tensor, style="cpp")
    counting_iter(0) o (2,3):(3,1):
        0    1    2
        3    4    5
    """
    sys.stdout.write(format_tensor(t, verbose, style=style, print_type=print_type))


def _extents(tensor: Tensor) -> list[int]:
    return [int(_core.size(tensor.layout, mode=[i])) for i in range(_core.rank(tensor.layout))]


def _signed(x: Any) -> str:
    """A number with a blank in place of a plus sign."""
    text = _run_time_text(x)
    return f" {text}" if isinstance(x, tuple) or x >= 0 else text


def _shortened(extent: int, item: Callable[[int], str], ellipsis: str) -> str:
    """The items of a row or column, those between the first three and the last three replaced by an ellipsis."""
    pieces = []
    for i in range(extent):
        if EDGE <= i < extent - EDGE:
            pieces.append(ellipsis if i == EDGE else "")
        else:
            pieces.append(item(i))
    return "".join(pieces)


def _dsl_tensor(tensor: Tensor) -> str:
    extents = _extents(tensor)
    indent = " " * 7
    head = f"tensor({_run_time_text(tensor.iterator)} o {_run_time_text(tensor.layout)}, data=\n"

    def rows(inner: str, row: Callable[[int], str]) -> str:
        def line(m: int) -> str:
            return f"{inner if m else ''}[{row(m)}]" + (",\n" if m < extents[0] - 1 else "")

        return _shortened(extents[0], line, f"{inner}...\n")

    def blocks(tail: tuple[int, ...], inner: str) -> str:
        """The modes from the last down to mode 2 around the matrix of the first two."""
        inner += " "
        mode = len(extents) - 1 - len(tail)
        if mode == 1:
            return f"[{rows(inner, lambda m: row(m, tail))}]"
        parts = [blocks((k, *tail), inner) for k in range(extents[mode])]
        return "[" + f",\n\n{inner}".join(parts) + "]"

    def element(coord: Any) -> str:
        return f"{_signed(tensor[coord])}, "

    def row(m: int, tail: tuple[int, ...]) -> str:
        return _shortened(extents[1], lambda n: element((m, n, *tail)), "..., ")

    body = blocks((), indent) if len(extents) > 1 else rows(indent, lambda m: f"{_signed(tensor[m])}, ")
    return f"{head}{indent}{body})\n"


def _coordinates(extents: list[int]) -> Iterator[tuple[int, ...]]:
    """All coordinates, the last mode fastest."""
    if not extents:
        yield ()
        return
    for first in range(extents[0]):
        for rest in _coordinates(extents[1:]):
            yield first, *rest


def _verbose_tensor(tensor: Tensor) -> str:
    lines = [f"tensor({_run_time_text(tensor.iterator)} o {_run_time_text(tensor.layout)}, data= ("]
    for coord in _coordinates(_extents(tensor)):
        element = tensor[coord if len(coord) != 1 else coord[0]]
        lines.append(f"\t{_run_time_text(coord)}= {_run_time_text(element)}")
    return "\n".join([*lines, ")", ""])


def _cpp_cell(dtype: Any) -> Callable[[Any], str]:
    if dtype is Float64:
        return lambda x: f"{x:11.3e}"
    if dtype in (Float32, TFloat32):
        return lambda x: f"{x:10.2e}"
    if dtype is Boolean:
        return lambda x: f"{int(x):3d}"
    if dtype is None or issubclass(dtype, Integer):
        wide = dtype is None or dtype.width >= 32
        return lambda x: f"{x:5d}" if wide and not isinstance(x, tuple) else f"  {_run_time_text(x)}"
    return lambda x: f"{x:8.2f}"


def _cpp_iterator(iterator: Any) -> str:
    if isinstance(iterator, Pointer):
        space = str(iterator.memspace)
        prefix = "" if space in ("generic", "rmem") else f"{space}_"
        return f"{prefix}ptr[{iterator.dtype.bits}b](0x{iterator.toint():x})"
    text = _run_time_text(iterator)
    return f"ArithTuple{text}" if isinstance(iterator, tuple) else f"counting_iter({text})"


def _cpp_tensor(tensor: Tensor, print_type: bool) -> str:
    extents = _extents(tensor)
    if len(extents) > 4:
        raise ValueError(
            f"print_tensor: {pretty_str(tensor.layout)} has {len(extents)} modes, the C++ form shows at most 4; "
            "group_modes makes one of several"
        )
    cell = _cpp_cell(tensor.element_type)

    def block(tail: tuple[int, ...]) -> str:
        mode = len(extents) - 1 - len(tail)
        if mode <= 1:
            columns = extents[1] if len(extents) > 1 else 1
            coord = (lambda m, n: (m, n, *tail)) if len(extents) > 1 else (lambda m, n: m)
            return "".join("".join(cell(tensor[coord(m, n)]) for n in range(columns)) + "\n" for m in range(extents[0]))
        rule = ("-" if mode == 2 else "=") * 5 * extents[1] + "\n"
        return rule.join(block((k, *tail)) for k in range(extents[mode]))

    head = f"{_cpp_iterator(tensor.iterator)} o {_cpp_text(tensor.layout)}:\n" if print_type else ""
    return head + block(())
