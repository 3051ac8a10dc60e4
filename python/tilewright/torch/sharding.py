"""How the GEMM of torch's tensors is sharded: DTensor's rules of `torch.ops.tilewright.gemm`.

Importing this module registers them. `tilewright.torch.sharded` does, which `gemm` imports when it is first given a
DTensor, so that `import tilewright.torch` does not import torch's distributed tensors.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.distributed.tensor.placement_types import Placement

    Rule = tuple[list[Placement], list[Placement | None]]


def _gemm_rules(
    a: Any, b: Any, c: Any, bias: Any, alpha: float, beta: float, activation: str | None, out_dtype: Any
) -> list[Rule]:
    """The placements over one dimension of the mesh that need no communication; torch takes the cheapest."""
    return list(rules([a, b, c, bias], activation is None))


def rules(operands: list[Any], is_linear: bool) -> Iterator[Rule]:
    """All replicated; a mode of the result sharded; or K sharded, which gives sums that are still to be added up.

    The latter needs a linear epilogue: C and the bias then are sums of the ranks' parts, as the product is.
    """
    a, b, _, bias = operands
    rank = max(len(a.shape), len(b.shape))

    def rule(result: Placement, place: Callable[[Any, int], Placement]) -> Rule:
        # One entry for an operand, where it is there, and none for the four options.
        return [result], [None if x is None else place(x, i) for i, x in enumerate(operands)] + [None] * 4

    def of_mode(x: Any, operand: int, mode: int) -> Placement:
        """`mode` counts from the end of the result: -1 is N, -2 is M, and what is before are batches."""
        lacks = (operand, mode) in ((0, -1), (1, -2)) or (x is bias and mode != -1)
        at = len(x.shape) + mode
        return Replicate() if lacks or at < 0 or x.shape[at] == 1 else Shard(at)

    yield rule(Replicate(), lambda x, operand: Replicate())
    for mode in range(-1, -1 - rank, -1):
        if any(of_mode(x, i, mode) != Replicate() for i, x in enumerate((a, b))):  # else its extent is 1
            yield rule(Shard(rank + mode), partial(of_mode, mode=mode))
    if is_linear:
        yield rule(Partial(), lambda x, operand: Shard(len(x.shape) - 1 - operand) if operand < 2 else Partial())


register_sharding(torch.ops.tilewright.gemm.default)(_gemm_rules)
