"""Matrices in shared memory that are operands of two products, of which one has their rows along K."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import _core

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["transposed"]


def transposed(shared: Tensor) -> Tensor:
    """Matrices (rows, columns, stages..) as (columns, rows, stages..): the same elements where they are.

    transposed(x)[j, i, ..] = x[i, j, ..], for composed layouts, too: wgmma reads 16-bit operands along either mode.
    The extents are known while tracing. Raises ValueError for a tensor without two modes.

    >>> from tilewright import Float16, cute
    >>> print(transposed(cute.make_rmem_tensor((64, 32, 2), Float16)).layout)
    (32,64,2):(64,1,2048)
    """
    if _core.rank(shared.layout) < 2:
        raise ValueError(f"transposed({shared}): expected two modes or more, (rows, columns, stages..)")
    rows, columns, *more = _core.product_each(shared.shape)
    steps = [rows * columns * _core.size(tuple(more[:i])) for i in range(len(more))]
    made: Tensor = _core.composition(shared, _core.make_layout((columns, rows, *more), stride=(rows, 1, *steps)))
    return made
