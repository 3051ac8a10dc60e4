"""Accumulators of a multiplication, as the rows of a matrix and as operand A of the next multiplication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import _core
from tilewright.cute.tensors.tensor import make_tensor

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor
    from tilewright.numeric import Numeric

__all__ = ["as_operand_a", "rows_and_columns"]


def _modes(function: str, acc: Tensor) -> tuple[_core.Layout, _core.Layout, _core.Layout, _core.Layout, _core.Layout]:
    """(pair of columns, rows of 8 apart, tiles of 8 columns in an instruction, instructions along M, along N)."""
    layout = acc.layout
    if isinstance(layout, _core.Layout) and _core.rank(layout) == 3 and layout.shape[:1]:
        values = layout[0]
        if _core.rank(values) in (2, 3) and values.shape[:2] == (2, 2):
            tiles = values[2] if _core.rank(values) == 3 else _core.make_layout(1, stride=0)
            return values[0], values[1], tiles, layout[1], layout[2]
    raise ValueError(
        f"{function}({acc}): expected accumulators of mma.sync, ((2,2),M,N), or of wgmma, ((2,2,N/8),M,N); pass what "
        "make_fragment_C has made"
    )


def rows_and_columns(acc: Tensor) -> Tensor:
    """The accumulators of a thread as a matrix (rows, columns): tile by tile along M, and along N.

    The columns are (pair, tiles of 8 columns): (e,t) of a thread is column 8t + 2 (lane mod 4) + e of the product.
    Raises ValueError for other tensors than accumulators of mma.sync or wgmma.

    >>> from tilewright import Float32, cute
    >>> print(rows_and_columns(cute.make_rmem_tensor(((2, 2, 4), 1, 1), Float32)).layout)
    ((2,1),(2,(4,1))):((2,0),(1,(4,0)))
    """
    pair, down, across, m, n = _modes("rows_and_columns", acc)
    rows = _core.make_layout((down.shape, m.shape), stride=(down.stride, m.stride))
    tiles = (across.shape, n.shape), (across.stride, n.stride)
    columns = _core.make_layout((pair.shape, tiles[0]), stride=(pair.stride, tiles[1]))
    return make_tensor(acc.iterator, _core.make_layout([rows, columns]))


def as_operand_a(acc: Tensor, dtype: type[Numeric] | None = None) -> Tensor:
    """Accumulators as operand A of the next product, converted or before: ((2,2,2),M,K), of 8 bits ((4,2,2),M,K).

    A step along K has two neighbouring tiles of 8 columns, or four where dtype, the operand's, has 8 bits. K has the
    order of the columns; of 8 bits, it is within each step that of `transpose_bytes`. Raises ValueError for other
    tensors than accumulators of mma.sync or wgmma, for elements of other widths, and for tiles that are no whole steps.

    >>> from tilewright import Float8E4M3FN, Float16, Float32, cute
    >>> print(as_operand_a(cute.make_rmem_tensor(((2, 2, 4), 1, 1), Float16)).layout)
    ((2,2,2),1,2):((1,2,4),0,8)
    >>> print(as_operand_a(cute.make_rmem_tensor(((2, 2, 8), 1, 1), Float32), Float8E4M3FN).layout)
    (((2,2),2,2),1,2):(((1,4),2,8),0,16)
    """
    bits = 16 if dtype is None else dtype.bits
    pair, down, across, m, n = _modes("as_operand_a", acc)
    if bits not in (8, 16):
        raise ValueError(f"as_operand_a({acc}): expected operands of 8 or 16 bits, but got {bits}")
    tiles, count = _core.coalesce(_core.make_layout([across, n])), 32 // bits  # of a step, which has 32 bytes
    if _core.size(tiles) % count:
        wanted = "an even number" if count == 2 else f"a multiple of {count}"
        raise ValueError(f"as_operand_a({acc}): {_core.size(tiles)} tiles of 8 columns; expected {wanted}")
    # A register has the pairs of count / 2 neighbouring tiles.
    step, steps = _core.logical_divide(tiles, count)
    together, halves = _core.logical_divide(step, count // 2)
    neighbours = _core.coalesce(_core.make_layout([pair, together]))
    return make_tensor(acc.iterator, _core.make_layout([_core.make_layout([neighbours, down, halves]), m, steps]))
