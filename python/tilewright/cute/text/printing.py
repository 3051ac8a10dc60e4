"""Text forms of values and layouts, those of CuTe C++ and of CuTeDSL, to the byte.

`str(x)` shows what is static, and a dynamic integer as `?`; what is printed here is the run-time form, with values.
Every `print_x(...)` writes what `format_x(...)` returns to standard output.
"""

from __future__ import annotations

import re
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric import Float32, Int32, Integer, Numeric
from tilewright.numeric.traced import emit, is_traced, is_tracing, symbol_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tilewright._typing import AnyLayout

__all__ = [
    "cpp_text",
    "filled",
    "format_latex",
    "format_layout",
    "format_printf",
    "pretty_str",
    "print_latex",
    "print_layout",
    "printf",
    "run_time_text",
    "signed_text",
    "write",
]

PRINTED = 1 << 18  # elements of one table, at most
PRINTF_VALUES = 31  # printf shows this many values of a tensor

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


# The numbers of a kernel that is traced, while a text with them is made: each has a placeholder in the text.
_placeholders: ContextVar[list[Any] | None] = ContextVar("_placeholders", default=None)


def _number(x: Any, sign: str = "") -> str:
    """`%d` of an integer, `%f` of anything else; with sign " " a blank stands for a plus."""
    if is_traced(x):
        numbers = _placeholders.get()
        if numbers is None:
            return str(x)
        numbers.append(x)
        return f"%{sign}{_specifier(x)}" if sign else "{}"
    return f"{int(x):{sign}d}" if isinstance(x, (int, Integer)) else f"{float(x):{sign}f}"


def _specifier(x: Numeric) -> str:
    if not isinstance(x, Integer):
        return "f"
    return "lld" if x.width == 64 else "d"


def traced_text(make: Callable[[], str]) -> tuple[str, list[Any]]:
    """A text that is made of numbers of a kernel: with a placeholder, `{}` or as printf of C has it, for each."""
    numbers: list[Any] = []
    token = _placeholders.set(numbers)
    try:
        return make(), numbers
    finally:
        _placeholders.reset(token)


def write(make: Callable[[], str]) -> None:
    """Write a text to standard output; in a kernel that is traced its threads will."""
    if not is_tracing():
        sys.stdout.write(make())
        return
    text, numbers = traced_text(make)
    emit_printf(text, numbers)


def emit_printf(text: str, numbers: list[Any]) -> None:
    emit("printf", [symbol_of(type(x), x._value) for x in numbers], text=text)


def run_time_text(x: Any) -> str:
    """CuTe's text with the values of dynamic integers."""
    if isinstance(x, (tuple, list)):
        return "(" + ",".join(map(run_time_text, x)) + ")"
    if isinstance(x, _core.Layout):
        return f"{run_time_text(x.shape)}:{run_time_text(x.stride)}"
    if isinstance(x, _core.ComposedLayout):
        inner = x.inner if isinstance(x.inner, (_core.Swizzle, _core.Layout, _core.ComposedLayout)) else "<inner>"
        return " o ".join(map(run_time_text, (inner, x.offset, x.outer)))
    if isinstance(x, _core.ScaledBasis):
        return "@".join([run_time_text(x.value), *map(str, x.mode)])
    if isinstance(x, Numeric):
        return _number(x if is_traced(x) else x._value)
    if isinstance(x, (int, float)):
        return _number(x)
    if isinstance(x, Pointer):
        address = _address(x)
        return f"raw_ptr({address}: {x.dtype.name}, {x.memspace}, align<{x.alignment}>)"
    if isinstance(x, Tensor):
        return _tensor_text(x)
    if hasattr(x, "item") and getattr(x, "shape", None) == ():  # a NumPy scalar
        return run_time_text(x.item())
    return "_" if x is None else str(x)


def signed_text(x: Any) -> str:
    """The same with a blank in place of a plus sign."""
    if isinstance(x, Numeric) and is_traced(x):
        return _number(x, " ")
    text = run_time_text(x)
    return f" {text}" if isinstance(x, tuple) or x >= 0 else text


def _address(x: Pointer) -> str:
    if not is_traced(x):
        return f"0x{x.toint():016x}"
    numbers = _placeholders.get()
    if numbers is not None:
        numbers.append(x.toint())
    return "0x%016llx"


def _tensor_text(x: Tensor) -> str:
    head = f"{run_time_text(x.iterator)} o {run_time_text(x.layout)}"
    if not _core.is_static(x.layout):
        return head
    size = int(_core.size(x.layout))
    values = [run_time_text(x[i]) for i in range(min(size, PRINTF_VALUES))]
    if size > PRINTF_VALUES:
        values.append("[...]")
    return f"{head} = \n  ( {', '.join(values)} )"


def pretty_str(x: object, *, loc: object = None, ip: object = None) -> str:
    """CuTe's text of anything: nested tuples without spaces, also around layouts; None is `_`, a dynamic integer `?`.

    Raises ValueError for what contains itself, or is nested too deeply. Source: CuTeDSL `cute.pretty_str`.

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
    _require_as_many(fmt, args)
    pieces = fmt.split("{}")
    texts = [*map(run_time_text, args), end]
    return "".join(piece + text for piece, text in zip(pieces, texts, strict=True))


def _require_as_many(fmt: str, args: tuple[Any, ...]) -> None:
    pieces = fmt.split("{}")
    if len(pieces) - 1 != len(args):
        hint = "; the only placeholder is {}" if "{" in "".join(pieces) else ""
        raise ValueError(f"printf: {fmt!r} has {len(pieces) - 1} placeholders, but got {len(args)} arguments{hint}")


_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d*)?(?:hh|h|ll|l|j|z|t|L)?[a-zA-Z]")  # of C


def _require_conversions(fmt: str, args: tuple[Any, ...]) -> None:
    count = len(_CONVERSION.findall(fmt.replace("%%", "")))
    if count != len(args):
        hint = "a percent sign is %%" if count > len(args) else "the placeholders are {}, and %d and the like of C"
        raise ValueError(f"printf: {fmt!r} prints {count} arguments, but got {len(args)}; {hint}")


def filled(text: str, values: Iterable[Any]) -> str:
    """The text of a printf whose placeholders are `{}` or those of C, with a number for each.

    >>> filled("%3d of {}: %.1f %%", [2, 8, 0.25])
    '  2 of 8: 0.2 %'
    """
    left = iter(values)

    def one(found: re.Match[str]) -> str:
        specifier = found[0]
        if specifier == "%%":
            return "%"
        value = next(left)
        if specifier != "{}":
            return str(re.sub("[hlqjzt]", "", specifier) % value)
        return f"{value:f}" if isinstance(value, float) else str(int(value))

    return re.sub(r"\{\}|%%|%[-+ #0]*\d*(?:\.\d+)?[hlqjzt]*[a-zA-Z]", one, text)


def _numeric(x: Any) -> Numeric:
    if isinstance(x, (bool, int)):
        return Int32(x)
    if isinstance(x, float):
        return Float32(x)
    raise TypeError(f"printf: a format such as '%d' takes numbers, but got {type(x).__name__}; use {{}} for it")


def printf(fmt: object, *args: object, end: str = "\n", loc: object = None, ip: object = None) -> None:
    """Print values as they are at run time: dynamic integers, pointers, the elements of a tensor.

    `{}` stands for the next argument; without a format the arguments are separated by commas. A format of C (`%d`)
    takes numbers, and may have a line break of its own. A tensor of static layout prints its first 31 elements in
    colexicographic order. Raises ValueError where the number of placeholders is not that of the arguments.
    Source: CuTeDSL `cute.printf`.

    >>> from tilewright import Float32, Int32
    >>> printf("{} of {}", Float32(0.5), (Int32(8), None))
    0.500000 of (8,_)
    """
    if isinstance(fmt, str) and "{}" not in fmt and (is_tracing() or (args and _CONVERSION.search(fmt))):
        _require_conversions(fmt, args)
        fmt += "" if fmt.endswith("\n") else end
        numbers = [x if isinstance(x, Numeric) else _numeric(x) for x in args]  # C's own format
        if is_tracing():
            emit_printf(fmt, numbers)
        else:  # a kernel that is stepped through, or a prompt
            sys.stdout.write(filled(fmt, [x._value for x in numbers]))
        return
    if is_tracing() and isinstance(fmt, str):
        _require_as_many(fmt, args)
        fmt = fmt.replace("%", "%%")
    write(lambda: format_printf(fmt, *args, end=end))


# ---- layouts ---------------------------------------------------------------------------------------------------------


def cpp_text(x: Any) -> str:
    """C++ writes a swizzle as `Sw<..>` and a coordinate iterator as `ArithTuple(..)`."""
    if isinstance(x, _core.Swizzle):
        return "Sw" + str(x)[1:]
    if isinstance(x, _core.ComposedLayout) and isinstance(x.inner, _core.Swizzle):
        return " o ".join((cpp_text(x.inner), run_time_text(x.offset), run_time_text(x.outer)))
    return run_time_text(x)


def require_printable(function: str, layout: Any, count: int) -> None:
    """ValueError where more is to be printed than anybody reads."""
    if count > PRINTED:
        raise ValueError(
            f"{function}: {layout} has {count} elements to print, and at most {PRINTED} are printed; print a part, "
            "such as layout((None, 0))"
        )


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
    rows, columns = int(_core.size(layout, mode=[0])), int(_core.size(layout, mode=[1]))
    require_printable(name, layout, rows * columns)
    return layout, rows, columns


def format_layout(layout: Any) -> str:
    """What `print_layout` with the same argument writes."""
    layout, rows, columns = _table(layout, "print_layout")
    cells = [[run_time_text(layout((m, n))) for n in range(columns)] for m in range(rows)]
    # C++ leaves room for the cosize; negative offsets and coordinates may need more.
    cosize = "" if _core.has_scaled_basis(layout) else run_time_text(_core.cosize(layout))
    width = max(len(cosize), *(len(cell) for row in cells for cell in row))
    rule = "    " + f"+-{'-' * width}-" * columns + "+\n"
    lines = [f"{cpp_text(layout)}\n", "    ", *(f"  {n:{width}d} " for n in range(columns)), "\n", rule]
    for m, row in enumerate(cells):
        lines += [f"{m:2d}  ", *(f"| {cell:>{width}} " for cell in row), "|\n", rule]
    return "".join(lines)


def print_layout(layout: AnyLayout, *, loc: object = None, ip: object = None) -> None:
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
        f"% Layout: {cpp_text(layout)}",
        *LATEX_HEAD,
    ]
    for m in range(rows):
        for n in range(columns):
            offset = layout((m, n))
            shade = shades[0 if isinstance(offset, tuple) else int(offset) % len(shades)]
            lines.append(rf"\node[fill=black!{shade}] at ({m},{n}) {{{run_time_text(offset)}}};")
    grid = rf"\draw[color=black,thick,shift={{(-0.5,-0.5)}}] (0,0) grid ({rows},{columns});"
    lines += [grid, ""]
    lines += [rf"\node at ({m},-1) {{\Large{{\texttt{{{m}}}}}}};" for m in range(rows)]
    lines += [rf"\node at (-1,{n}) {{\Large{{\texttt{{{n}}}}}}};" for n in range(columns)]
    lines += LATEX_TAIL
    return "\n".join(lines)


def print_latex(layout: AnyLayout, *, loc: object = None, ip: object = None) -> None:
    """Print a LaTeX document that draws a layout of rank 1 or 2 as a table, shaded by offset.

    Raises ValueError for another rank. Source: CuTe C++ `cute::print_latex`, less the underscore of static integers.

    >>> print_latex(_core.make_layout(2))  # doctest: +ELLIPSIS
    % Layout: (2,1):(1,0)
    \\documentclass[convert]{standalone}
    ...
    """
    sys.stdout.write(format_latex(layout))
