"""print_tensor in a kernel of a tensor whose extents only a launch knows: loops of the program that print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.text.printing import run_time_text, signed_text, write
from tilewright.numeric import Boolean, Int32
from tilewright.numeric.traced import constant, current, is_traced, symbol_of, type_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["has_dynamic_extents", "print_dynamic"]


def has_dynamic_extents(tensor: Tensor) -> bool:
    """Whether an extent is known at run time only."""
    return any(map(is_traced, _extents(tensor)))


def print_dynamic(tensor: Tensor, verbose: bool, edge: int) -> None:
    """Print what tensor_text writes, and leave out rows and columns between the first and the last `edge` ones."""
    extents = [Int32(extent) for extent in _extents(tensor)]
    head = f"tensor({{}} o {{}}, data={' (' if verbose else ''}\n"
    write(lambda: head.format(run_time_text(tensor.iterator), run_time_text(tensor.layout)))
    if verbose:
        _coordinates(extents, (), lambda coord: _line(tensor, coord))
        _put(")\n")
        return
    indent = " " * 7
    _put(indent)
    if len(extents) > 1:
        _blocks(tensor, extents, (), indent, edge)
    else:
        _rows(extents[0], indent, edge, lambda m: _put_element(tensor, m))
    _put(")\n")


def _extents(tensor: Tensor) -> list[Any]:
    return [_core.size(tensor.layout, mode=[i]) for i in range(_core.rank(tensor.layout))]


def _put(text: str) -> None:
    write(lambda: text)


def _put_element(tensor: Tensor, coord: Any) -> None:
    write(lambda: f"{signed_text(tensor[coord])}, ")


def _line(tensor: Tensor, coord: tuple[Any, ...]) -> None:
    element = tensor[coord if len(coord) != 1 else coord[0]]
    write(lambda: f"\t{run_time_text(coord)}= {run_time_text(element)}\n")


def _coordinates(extents: list[Any], coord: tuple[Any, ...], body: Callable[[tuple[Any, ...]], None]) -> None:
    """All coordinates, the last mode fastest."""
    if not extents:
        body(coord)
        return
    _loop(extents[0], lambda i: _coordinates(extents[1:], (*coord, i), body))


def _blocks(tensor: Tensor, extents: list[Any], tail: tuple[Any, ...], inner: str, edge: int) -> None:
    """The modes from the last down to mode 2 around the matrix of the first two."""
    inner += " "
    mode = len(extents) - 1 - len(tail)
    _put("[")
    if mode == 1:

        def row(m: Any) -> None:
            _shortened(extents[1], edge, lambda n: _put_element(tensor, (m, n, *tail)), "..., ")

        _rows(extents[0], inner, edge, row)
    else:

        def block(k: Any) -> None:
            _when(k > 0, lambda: _put(f",\n\n{inner}"))
            _blocks(tensor, extents, (k, *tail), inner, edge)

        _loop(extents[mode], block)
    _put("]")


def _rows(extent: Any, inner: str, edge: int, row: Callable[[Any], None]) -> None:
    def line(m: Any) -> None:
        _when(m > 0, lambda: _put(inner))
        _put("[")
        row(m)
        _put("]")
        _when(m < extent - 1, lambda: _put(",\n"))

    _shortened(extent, edge, line, f"{inner}...\n")


def _shortened(extent: Any, edge: int, item: Callable[[Any], None], ellipsis: str) -> None:
    """The items of a row or column, those between the first and the last ones replaced by an ellipsis."""

    def one(i: Any) -> None:
        is_short = Boolean(extent <= 2 * edge)
        _when(is_short | (i < edge) | (i >= extent - edge), lambda: item(i))
        _when(~is_short & (i == edge), lambda: _put(ellipsis))

    _loop(extent, one)


def _loop(extent: Any, body: Callable[[Any], None]) -> None:
    """A loop of the program over 0 to extent - 1."""
    builder = current()
    (index,) = builder.begin_block([type_of(Int32)])
    body(Int32(index))
    block = builder.end_block([])
    operands = [constant(Int32, 0), symbol_of(Int32, extent._value), constant(Int32, 1)]
    builder.op("for", operands, blocks=(block,), ints=(0,))


def _when(condition: Any, body: Callable[[], None]) -> None:
    """A branch of the program without an else."""
    builder = current()
    builder.begin_block([])
    body()
    then = builder.end_block([])
    builder.begin_block([])
    builder.op("if", [symbol_of(Boolean, Boolean(condition)._value)], blocks=(then, builder.end_block([])))
