"""GEMMs of DTensors at once on their parts, where it is known that no rank needs another's.

torch's dispatch of DTensors to an operation with gradients takes the host more time than few tokens take the GPU. So it
is asked once for operands of a kind. Where it sent nothing, later calls go to the parts and take the placements that it
gave. What is traced, is no DTensor, or has to be sent goes to torch each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from tilewright.torch.gradients import gradient_type, reduced
from tilewright.torch.sharding import rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.distributed.tensor.placement_types import Placement

__all__ = ["again", "gemm"]

KINDS = (Replicate, Shard, Partial)
MOST_KNOWN = 4096  # kinds of operands that are remembered, so that ever new shapes do not fill the memory
# torch has no public name for these; of a torch without them every DTensor goes to its dispatch.
HAS_PARTS = hasattr(DTensor, "_spec") and hasattr(DTensor, "_local_tensor")
# The same; without it, every call may have transforms.
has_transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
FULL, FORWARD = torch.ops.tilewright.gemm.default, torch.ops.tilewright.gemm_forward.default

Transposed = tuple[bool, bool]  # whether a and b stand for their transposes

# What torch knows of the result, for what it knows of the operands; None where something is sent.
_known: dict[Any, Any] = {}


def again(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    bias: Tensor | None,
    alpha: float,
    beta: float,
    activation: str | None,
    out_dtype: torch.dtype | None,
    transposed: Transposed,
) -> Any:
    """What `gemm` gives for operands like some before, which passed every check; None for others and for gradients."""
    if not _is_direct(a, b, c, bias) or _asks_gradients(a, b, c, bias):
        return None
    spec = _known.get(_key(a, b, c, bias, activation, out_dtype, transposed))
    if spec is None:
        return None
    x, y = a._local_tensor, b._local_tensor
    part = FORWARD(
        x.mT if transposed[0] else x,
        y.mT if transposed[1] else y,
        None if c is None else c._local_tensor,
        None if bias is None else bias._local_tensor,
        alpha,
        beta,
        activation,
        out_dtype,
    )
    return _whole(part, spec)


def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    bias: Tensor | None,
    alpha: float,
    beta: float,
    activation: str | None,
    out_dtype: torch.dtype | None,
    transposed: Transposed,
) -> Any:
    """`torch.ops.tilewright.gemm` of a or a^T and b or b^T: its result, placements and gradients."""
    rest = (alpha, beta, activation, out_dtype, transposed)
    if not _is_direct(a, b, c, bias):
        return _dispatched(a, b, c, bias, *rest)
    if _asks_gradients(a, b, c, bias):
        if has_transforms():  # of torch.func, which take no gradient of this kind
            return _dispatched(a, b, c, bias, *rest)
        return _Gemm.apply(a, b, c, bias, alpha, beta, out_dtype, transposed)
    found = again(a, b, c, bias, *rest)
    if found is None:
        found = _dispatched(a, b, c, bias, *rest)
        key = _key(a, b, c, bias, activation, out_dtype, transposed)
        if key not in _known:
            if len(_known) >= MOST_KNOWN:
                _known.clear()
            _known[key] = found._spec if _stays(found, (a, b, c, bias), activation, transposed) else None
    return found


def _is_direct(*operands: Tensor | None) -> bool:
    return not torch.compiler.is_compiling() and all(x is None or _has_plain_part(x) for x in operands)


def _has_plain_part(x: Tensor) -> bool:
    """Whether it is a DTensor whose part is here: not a fake one, and not still under way."""
    return HAS_PARTS and type(x) is DTensor and type(x._local_tensor) is Tensor


def _asks_gradients(*operands: Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in operands)


def _key(a: Any, b: Any, c: Any, bias: Any, *options: Any) -> Any:
    """What torch's dispatch decides by."""
    return (a._spec, b._spec, None if c is None else c._spec, None if bias is None else bias._spec, *options)


def _dispatched(a: Any, b: Any, *rest: Any) -> Any:
    *options, (is_a_transposed, is_b_transposed) = rest
    return FULL(a.mT if is_a_transposed else a, b.mT if is_b_transposed else b, *options)


def _whole(part: Tensor, spec: Any) -> Any:
    """A DTensor as torch's dispatch makes one; the public from_local takes longer than all the rest of a call."""
    return DTensor.__new__(DTensor, part, spec, requires_grad=False)


class _Operand(NamedTuple):
    """A DTensor as the operation sees it."""

    shape: tuple[int, ...]
    placements: tuple[Placement, ...]


def _operand(x: Any, is_transposed: bool) -> _Operand:
    if not is_transposed:
        return _Operand(tuple(x.shape), x.placements)
    *modes, rows, columns = range(x.dim())
    order = [*modes, columns, rows]  # its own inverse
    places = (Shard(order[place.dim]) if isinstance(place, Shard) else place for place in x.placements)
    return _Operand(tuple(x.shape[mode] for mode in order), tuple(places))


def _is_plain(x: Any) -> bool:
    """Whether its placements tell all of where its parts are: those of a strided shard or another order do not."""
    spec = x._spec
    return (
        _has_plain_part(x)
        and all(type(place) in KINDS for place in x.placements)
        and type(spec)(x.device_mesh, x.placements, tensor_meta=spec.tensor_meta) == spec
    )


def _stays(result: Any, operands: Sequence[Any], activation: str | None, transposed: Transposed) -> bool:
    """Whether torch sent nothing: over each dimension of the mesh the operands lie as the rule of the result has them.

    No two rules place a result alike, so that the one with its placement is the one that torch took.
    """
    given = [x for x in (result, *operands) if x is not None]
    try:
        _whole(result._local_tensor, result._spec)
    except (AttributeError, TypeError):  # another torch makes them in another way
        return False
    if result.device_mesh.get_coordinate() is None or not all(_is_plain(x) for x in given):
        return False
    seen = [None if x is None else _operand(x, i < 2 and transposed[i]) for i, x in enumerate(operands)]
    known = list(rules(seen, activation is None))
    return all(
        any(
            gives == [place] and all(x is None or x.placements[i] == wanted[k] for k, x in enumerate(seen))
            for gives, wanted in known
        )
        for i, place in enumerate(result.placements)
    )


class _Gemm(torch.autograd.Function):  # type: ignore[misc]
    """The same with gradients, which are products of DTensors themselves. An activation has none."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        b: Tensor,
        c: Tensor | None,
        bias: Tensor | None,
        alpha: float,
        beta: float,
        out_dtype: torch.dtype | None,
        transposed: Transposed,
    ) -> Any:
        ctx.alpha, ctx.beta, ctx.transposed = alpha, beta, transposed
        ctx.save_for_backward(a, b)
        ctx.c = None if c is None else (c.shape, c.dtype)
        ctx.bias = None if bias is None else (bias.shape, bias.dtype)
        return gemm(a, b, c, bias, alpha, beta, None, out_dtype, transposed)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        a, b = ctx.saved_tensors
        is_a, is_b = ctx.transposed
        wanted = ctx.needs_input_grad

        def product(x: Any, y: Any, transposed: Transposed, like: Any) -> Any:
            wide = gradient_type(grad.dtype, like.dtype)
            found = gemm(x.to(wide), y.to(wide), None, None, ctx.alpha, 0.0, None, None, transposed)
            return (found if found.shape == like.shape else found.sum_to_size(like.shape)).to(like.dtype)

        grad_a = grad_b = None
        if wanted[0]:  # with A and B for the operands as they are multiplied: G B^T, or its transpose
            grad_a = product(b, grad, (is_b, True), a) if is_a else product(grad, b, (False, not is_b), a)
        if wanted[1]:  # A^T G, or its transpose
            grad_b = product(grad, a, (True, is_a), b) if is_b else product(a, grad, (not is_a, False), b)
        return (
            grad_a,
            grad_b,
            reduced(grad, ctx.c, ctx.beta) if wanted[2] else None,
            reduced(grad, ctx.bias, 1) if wanted[3] else None,
            None,
            None,
            None,
            None,
        )
