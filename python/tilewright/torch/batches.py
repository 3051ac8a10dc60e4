"""The batch modes of products: views as kernels take them, and copies where there are more than a kernel reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

__all__ = ["as_modes", "with_fewer_modes"]


def as_modes(x: Tensor, batch_modes: int) -> Tensor:
    """A view (rows, columns, batch modes..) of a tensor (batch modes.., rows, columns), of which some may lack."""
    if not batch_modes:
        return x
    if x.dim() - 2 < batch_modes:
        x = x[(None,) * (batch_modes - (x.dim() - 2))]
    return x.permute(batch_modes, batch_modes + 1, *range(batch_modes))


def _compact(x: Tensor) -> Tensor:
    """Batches that lie one after the other, so that they are one mode. A matrix alone is as it is."""
    if x.dim() == 2:
        return x
    return x.mT.contiguous().mT if x.stride(-2) == 1 else x.contiguous()


def with_fewer_modes(a: Tensor, b: Tensor, batches: tuple[int, ...]) -> Iterator[tuple[Tensor, Tensor, bool]]:
    """The operands as they are, then copies that a kernel can read as fewer batch modes; and whether it is the last.

    Repeated modes become memory at last only, where both operands have some of their own.
    """
    yield a, b, False
    yield _compact(a), _compact(b), False
    a, b = (_compact(x if x.dim() == 2 else x.expand(*batches, *x.shape[-2:])) for x in (a, b))
    yield a, b, True
