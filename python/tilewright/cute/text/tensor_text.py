"""print_tensor: the elements of a tensor in rows and columns, as CuTeDSL writes them and as CuTe C++ does."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.rmem import make_rmem_tensor
from tilewright.cute.tensors.tensor import Tensor, as_tensor
from tilewright.cute.text.print_loops import has_dynamic_extents, print_dynamic
from tilewright.cute.text.printing import cpp_text, pretty_str, require_printable, run_time_text, signed_text, write
from tilewright.cute.vectors.tensor_ssa import TensorSSA
from tilewright.numeric import Boolean, Float32, Float64, Integer, TFloat32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilewright._typing import SupportsDLPack

__all__ = ["format_tensor", "print_tensor"]

EDGE = 3  # print_tensor shows this many rows and columns at each end


def format_tensor(t: Any, verbose: bool = False, *, style: str = "dsl", print_type: bool = True) -> str:
    """What `print_tensor` with the same arguments writes."""
    if isinstance(t, TensorSSA):
        registers = make_rmem_tensor(t.shape, t.dtype)
        registers.store(t)
        t = registers
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
    t: SupportsDLPack | TensorSSA,
    verbose: bool = False,
    *,
    style: str = "dsl",
    print_type: bool = True,
    loc: object = None,
    ip: object = None,
) -> None:
    """Print a tensor: its pointer, layout and elements, rows along mode 0 and columns along mode 1.

    With more modes, a block is printed for each of their coordinates. More than six rows or columns are shortened to
    three at each end. A vector is printed as the registers that hold it. `verbose` prints each element with its
    coordinate instead. `style="cpp"` is the form of CuTe C++, whose first line `print_type=False` omits; it shows all
    elements and at most four modes.
    Raises TypeError for what is no tensor, ValueError for an unknown style or one that lacks what is asked for, and for
    more than 2^18 elements to print; RuntimeError where the memory cannot be read.
    Source: CuTeDSL `cute.print_tensor`, CuTe C++ `cute::print_tensor`.

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
    if isinstance(t, Tensor) and style == "dsl" and print_type and has_dynamic_extents(t):
        print_dynamic(t, verbose, EDGE)
    else:
        write(lambda: format_tensor(t, verbose, style=style, print_type=print_type))


def _extents(tensor: Tensor, shortened: bool = False) -> list[int]:
    """The extents of the modes; ValueError where more elements are printed than anybody reads."""
    extents = [int(_core.size(tensor.layout, mode=[i])) for i in range(_core.rank(tensor.layout))]
    printed = [min(extent, 2 * EDGE) if shortened and i < 2 else extent for i, extent in enumerate(extents)]
    require_printable("print_tensor", tensor.layout, prod(printed))
    return extents


def _shortened(extent: int, item: Callable[[int], str], ellipsis: str) -> str:
    """The items of a row or column, those between the first three and the last three replaced by an ellipsis."""
    if extent <= 2 * EDGE:
        return "".join(map(item, range(extent)))
    return "".join([*map(item, range(EDGE)), ellipsis, *map(item, range(extent - EDGE, extent))])


def _dsl_tensor(tensor: Tensor) -> str:
    extents = _extents(tensor, shortened=True)
    indent = " " * 7
    head = f"tensor({run_time_text(tensor.iterator)} o {run_time_text(tensor.layout)}, data=\n"

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
        return f"{signed_text(tensor[coord])}, "

    def row(m: int, tail: tuple[int, ...]) -> str:
        return _shortened(extents[1], lambda n: element((m, n, *tail)), "..., ")

    body = blocks((), indent) if len(extents) > 1 else rows(indent, lambda m: f"{signed_text(tensor[m])}, ")
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
    lines = [f"tensor({run_time_text(tensor.iterator)} o {run_time_text(tensor.layout)}, data= ("]
    for coord in _coordinates(_extents(tensor)):
        element = tensor[coord if len(coord) != 1 else coord[0]]
        lines.append(f"\t{run_time_text(coord)}= {run_time_text(element)}")
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
        return lambda x: f"{x:5d}" if wide and not isinstance(x, tuple) else f"  {run_time_text(x)}"
    return lambda x: f"{x:8.2f}"


def _cpp_iterator(iterator: Any) -> str:
    if isinstance(iterator, Pointer):
        space = str(iterator.memspace)
        prefix = "" if space in ("generic", "rmem") else f"{space}_"
        return f"{prefix}ptr[{iterator.dtype.bits}b](0x{iterator.toint():x})"
    text = run_time_text(iterator)
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

    head = f"{_cpp_iterator(tensor.iterator)} o {cpp_text(tensor.layout)}:\n" if print_type else ""
    return head + block(())
