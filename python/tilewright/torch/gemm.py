"""GEMMs as operations of torch: `matmul`, `addmm`, `linear`, with autograd, torch.compile and CUDA graphs.

All are the one operation `torch.ops.tilewright.gemm`, which runs `tilewright.kernels.gemm` on the current stream. Of
DTensors it runs on the parts of each rank, by the rules in `sharding` and the shorter way in `sharded`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from tilewright import kernels
from tilewright._core import LayoutError
from tilewright._names import names_of
from tilewright.kernels.gemm.operands import number
from tilewright.kernels.gemm.problem import MAX_BATCH
from tilewright.torch.batches import as_modes, with_fewer_modes
from tilewright.torch.gradients import FLOAT8, gradient_type, reduced, require_no_float8

__all__ = ["addmm", "linear", "matmul"]

ACTIVATIONS: dict[str, Any] = {
    "relu": torch.nn.functional.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}
INTEGERS = (torch.int8, torch.uint8)
PLAIN = (Tensor, torch.nn.Parameter)
BIASES = (torch.float16, torch.bfloat16, torch.float32)  # that are added to any sums
MOST = 2**1023  # smaller integers have a float
RESULTS = (*BIASES, torch.float64, *FLOAT8)  # that store any sums
FACTORS = (*RESULTS, *INTEGERS)  # types of elements that are multiplied

# The second has no gradient, whose machinery costs the host time in each call, asked for or not. It is for calls that
# ask for none, and for the parts of DTensors: gradients are those of the whole.
NAMES = ("tilewright::gemm", "tilewright::gemm_forward")
for name in NAMES:
    torch.library.define(
        name,
        "(Tensor a, Tensor b, Tensor? c, Tensor? bias, float alpha, float beta, str? activation, ScalarType? out_dtype)"
        " -> Tensor",
        tags=(torch.Tag.pt2_compliant_tag,),
    )


# torch raises where its older function is asked after its newer names were set. Theirs, from torch 2.9 on, takes four
# times as long as what it calls.
_precision_of = getattr(torch._C, "_get_fp32_precision_getter", None)


def _takes_tf32() -> bool:
    """Whether torch allows TF32 in products of float32 on CUDA devices."""
    if _precision_of is None:
        return bool(torch.get_float32_matmul_precision() != "highest")
    return bool(_precision_of("cuda", "matmul") == "tf32")


def _out_type(a: Tensor, out_dtype: torch.dtype | None) -> torch.dtype:
    if out_dtype is not None:
        return out_dtype
    return torch.int32 if a.dtype in INTEGERS else torch.bfloat16 if a.dtype in FLOAT8 else a.dtype


def _shape(a: Tensor, b: Tensor, c: Tensor | None, bias: Tensor | None) -> tuple[Any, ...]:
    """The shape of the result; ValueError where those of the operands do not agree."""
    left, right = a.shape, b.shape
    if len(left) < 2 or len(right) < 2 or left[-1] != right[-2]:
        shown = f"a {tuple(left)} and b {tuple(right)}"
        if len(left) < 2 or len(right) < 2:
            raise ValueError(f"tilewright.torch: {shown} must be matrices (M, K) and (K, N), or batches of them")
        raise ValueError(f"tilewright.torch: {shown} have {left[-1]} columns and {right[-2]} rows; they must be equal")
    batches: tuple[Any, ...] = left[:-2]
    if batches != right[:-2]:  # which takes torch some time
        try:
            batches = torch.broadcast_shapes(batches, right[:-2])
        except RuntimeError:
            raise ValueError(
                f"tilewright.torch: the batches {tuple(batches)} and {tuple(right[:-2])} of a {tuple(left)} and b "
                f"{tuple(right)} do not broadcast; each extent must be equal, or 1 in one of them"
            ) from None
    shape = (*batches, left[-2], right[-1])
    if bias is not None and tuple(bias.shape) != shape[-1:]:
        raise ValueError(f"tilewright.torch: bias {tuple(bias.shape)} must be (N) with N = {shape[-1]}")
    if c is not None:
        missing = len(shape) - c.dim()
        if missing < 0 or any(n not in (1, shape[missing + i]) for i, n in enumerate(c.shape)):
            raise ValueError(f"tilewright.torch: c {tuple(c.shape)} does not broadcast to the result {shape}")
    return shape


def _gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    bias: Tensor | None,
    alpha: float,
    beta: float,
    activation: str | None,
    out_dtype: torch.dtype | None,
) -> Tensor:
    """activation(alpha a b + beta c + bias): a (.., M, K), b (.., K, N), c broadcasts to the result, bias is (N)."""
    shape = _shape(a, b, c, bias)
    out = a.new_empty(shape, dtype=_out_type(a, out_dtype))
    options: dict[str, Any] = {}
    if c is not None and beta != 0:
        if not torch.can_cast(c.dtype, out.dtype):
            raise TypeError(f"tilewright.torch: c has elements of {c.dtype}, which {out.dtype} does not hold")
        out.copy_(c)
        options["beta"] = beta
    if alpha != 1:
        options["alpha"] = alpha
    if activation is not None:
        options["activation"] = activation
    if bias is not None:
        options["bias"] = bias.detach()
    if a.dtype == torch.float32 and _takes_tf32():
        options["allow_tf32"] = True
    modes = len(shape) - 2
    # DLPack refuses what has gradients.
    x, y = a.detach() if a.requires_grad else a, b.detach() if b.requires_grad else b
    if modes <= MAX_BATCH:
        kernels.gemm(as_modes(x, modes), as_modes(y.mT, modes), as_modes(out, modes), **options)
        return out
    for left, right, is_last in with_fewer_modes(x, y, shape[:-2]):
        try:
            kernels.gemm(as_modes(left, modes), as_modes(right.mT, modes), as_modes(out, modes), **options)
            break
        except LayoutError:  # before anything was written
            if is_last:
                raise
    return out


def _fake(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    bias: Tensor | None,
    alpha: float,
    beta: float,
    activation: str | None,
    out_dtype: torch.dtype | None,
) -> Tensor:
    for name, x in (("b", b), ("bias", bias)):
        if x is not None and x.device != a.device:
            raise ValueError(f"tilewright.torch: {name} is on {x.device}, but a is on {a.device}; move one of them")
    return a.new_empty(_shape(a, b, c, bias), dtype=_out_type(a, out_dtype))


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, c, bias, ctx.alpha, ctx.beta, activation, _ = inputs
    if activation is not None:
        raise NotImplementedError("tilewright::gemm with an activation has no gradient; apply it afterwards")
    require_no_float8("tilewright::gemm", a=a, b=b)
    ctx.save_for_backward(a, b)
    ctx.c = None if c is None else (c.shape, c.dtype)
    ctx.bias = None if bias is None else (bias.shape, bias.dtype)


def _backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    a, b = ctx.saved_tensors
    wanted = ctx.needs_input_grad

    def product(x: Tensor, y: Tensor, like: Tensor) -> Tensor:
        wide = gradient_type(grad.dtype, like.dtype)
        found = torch.ops.tilewright.gemm(x.to(wide), y.to(wide), None, None, ctx.alpha, 0.0, None, None)
        summed: Tensor = found.sum_to_size(like.shape).to(like.dtype)
        return summed

    return (
        product(grad, b.mT, a) if wanted[0] else None,
        product(a.mT, grad, b) if wanted[1] else None,
        reduced(grad, ctx.c, ctx.beta) if wanted[2] else None,
        reduced(grad, ctx.bias, 1) if wanted[3] else None,
        None,
        None,
        None,
        None,
    )


for name in NAMES:
    torch.library.impl(name, ("cpu", "cuda"))(_gemm)
    torch.library.register_fake(name)(_fake)
torch.library.register_autograd("tilewright::gemm", _backward, setup_context=_setup)
FULL, FORWARD = torch.ops.tilewright.gemm.default, torch.ops.tilewright.gemm_forward.default


def _sums_over_ranks(a: Any, b: Any, is_transposed: bool) -> bool:
    """Whether K of a DTensor is sharded, so that each rank may have a part of every sum.

    Those must not meet an activation: torch may take the rule that it has remembered for a call without one.
    """
    modes = ((a, -1), (b, -1 if is_transposed else -2))
    return any(place.is_shard(x.dim() + k) for x, k in modes for place in getattr(x, "placements", ()))


def _run(
    function: str,
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    activation: str | None = None,
    out_dtype: torch.dtype | None = None,
    is_transposed: bool = False,
) -> Tensor:
    """The operation, of b or b^T. An activation is fused, but where its argument is needed: by gradients, or to sum up.

    Transposed here, a DTensor is spared an operation of its own.
    """
    if activation is not None and not (isinstance(activation, str) and activation in ACTIVATIONS):
        known = ", ".join(map(repr, ACTIVATIONS))
        raise ValueError(f"{function}: activation is {activation!r}, but it must be None or one of {known}")
    if out_dtype is not None:
        _require_result(function, a.dtype, out_dtype)
    given = [x for x in (a, b, c, bias) if x is not None]
    # Without a word the operation would drop tangents.
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(x).tangent is not None for x in given):
        raise NotImplementedError(f"{function} has no forward derivative; use backward(), or torch.matmul")
    wants_gradient = torch.is_grad_enabled() and any(x.requires_grad for x in given)
    if wants_gradient:
        require_no_float8(function, **({"x": a, "weight": b} if is_transposed else {"a": a, "b": b}))
    fused = None if wants_gradient else activation
    # A program with DTensors has imported them; others are spared their import, which takes as long as torch's.
    if any(type(x) not in PLAIN for x in given) and "torch.distributed.tensor" in sys.modules:
        from tilewright.torch import sharded

        if fused is not None and _sums_over_ranks(a, b, is_transposed):
            fused = None
        result = sharded.gemm(a, b, c, bias, alpha, beta, fused, out_dtype, (False, is_transposed))
    else:
        right = b.mT if is_transposed else b
        is_traced = torch.compiler.is_compiling()  # what is compiled is to show one operation
        operation = FULL if wants_gradient or is_traced or any(type(x) not in PLAIN for x in given) else FORWARD
        result = operation(a, right, c, bias, alpha, beta, fused, out_dtype)
    return result if fused == activation else ACTIVATIONS[str(activation)](result)


def _again(
    a: Tensor, b: Tensor, bias: Tensor | None, activation: Any, out_dtype: Any, transposed: tuple[bool, bool]
) -> Any:
    """The product of DTensors like some before, without the checks that those passed; None for all else."""
    if torch.compiler.is_compiling() or forward_ad._current_level >= 0:
        return None
    sharded = sys.modules.get("tilewright.torch.sharded")  # which torch.compile does not trace
    if sharded is None or not isinstance(activation, str | None) or not isinstance(out_dtype, torch.dtype | None):
        return None
    return sharded.again(a, b, None, bias, 1.0, 1.0, activation, out_dtype, transposed)


def _require(function: str, added: Any = None, **factors: Any) -> None:
    """TypeError or ValueError where the two `factors` are no tensors to be multiplied, or `added` none at all."""
    for name, x in (*factors.items(), *(() if added is None else added.items())):
        if not isinstance(x, Tensor):
            raise TypeError(f"{function}: expected {name} to be a torch.Tensor, but got {type(x).__name__}")
    for name, x in factors.items():
        if x.dim() == 0:
            raise ValueError(f"{function}: {name} is a scalar, but it needs at least one mode")
        if x.dtype not in FACTORS:
            raise TypeError(
                f"{function}: {name} has elements of {x.dtype}, which no kernel multiplies; convert them to one of "
                f"{', '.join(map(str, FACTORS))}"
            )
    (name, x), (other, y) = factors.items()
    if x.dtype != y.dtype and not any(x.dtype in mixed and y.dtype in mixed for mixed in (FLOAT8, INTEGERS)):
        raise TypeError(
            f"{function}: {name} has elements of {x.dtype} and {other} of {y.dtype}, which no kernel multiplies; "
            "convert one of them"
        )


def _require_result(function: str, factors: torch.dtype, out_dtype: Any) -> None:
    """TypeError for an out_dtype as which sums of such factors are not stored."""
    if not isinstance(out_dtype, torch.dtype):
        raise TypeError(f"{function}: expected out_dtype to be a torch.dtype, but got {out_dtype!r}")
    allowed = (*RESULTS, torch.int32) if factors in INTEGERS else RESULTS
    if out_dtype not in allowed:
        raise TypeError(
            f"{function}: out_dtype is {out_dtype}, as which no kernel stores products of {factors}; pass one of "
            f"{', '.join(map(str, allowed))}"
        )


def matmul(a: Tensor, b: Tensor, *, out_dtype: torch.dtype | None = None) -> Tensor:
    """The product of two tensors by torch.matmul's rules: matrices, vectors, and batches that broadcast.

    out[.., i, j] = sum over k of a[.., i, k] b[.., k, j]; a 1-d operand is a row or a column that the result lacks.
    Any strides are read as they are. Only operands with batches of more than three modes are copied, where these cannot
    be read as three.

    Elements of both have one type: float16, bfloat16, float32 (in TF32 where torch.backends.cuda.matmul allows it, or
    torch.set_float32_matmul_precision), float64, float8 (result bfloat16) or int8 and uint8 (result int32), unless
    `out_dtype` says another. Traced by torch.compile and differentiable, but for operands of float8. Gradients of
    float16 are multiplied in float32 where `out_dtype` holds more than float16. torch.autocast changes no types
    here, and torch.func.grad is not supported: use torch.autograd.

    Raises TypeError for what is no torch.Tensor, ValueError for scalars, and for shapes and devices that do not agree;
    NotImplementedError for forward derivatives, and for float8 that requires a gradient; else as kernels.gemm. Source:
    torch `torch.matmul`.

    >>> import torch
    >>> matmul(torch.arange(6.0).reshape(2, 3), torch.ones(3))
    tensor([ 3., 12.])
    """
    found = None if type(a) in PLAIN else _again(a, b, None, None, out_dtype, (False, False))
    if found is not None:
        return found
    function = "tilewright.torch.matmul"
    _require(function, a=a, b=b)
    left, right = a.shape, b.shape  # a DTensor takes some time to answer
    is_row, is_column = len(left) == 1, len(right) == 1
    columns, rows = left[-1], right[-1 if is_column else -2]
    if columns != rows:
        raise ValueError(
            f"{function}: a {tuple(left)} has {columns} columns and b {tuple(right)} has {rows} rows; "
            "they must be equal"
        )
    result = _run(function, a[None] if is_row else a, b[:, None] if is_column else b, out_dtype=out_dtype)
    if is_column:
        result = result[..., 0]
    return result[..., 0, :] if is_row and not is_column else result[..., 0] if is_row else result


def addmm(
    c: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    activation: str | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """activation(beta c + alpha a b), in one kernel, for matrices or batches of them; c broadcasts to the result.

    A c of one mode and beta of 1 are added as a bias; else c is first copied into the result. See torch.addmm, and
    `matmul` for types.

    Raises ValueError for an unknown activation and for a c that does not broadcast, TypeError for an alpha or a beta
    that is no number; else as `matmul`. Source: torch `torch.addmm`.

    >>> import torch
    >>> addmm(torch.tensor([1.0, 2.0]), torch.eye(2), torch.ones(2, 2), activation="relu")
    tensor([[2., 3.],
            [2., 3.]])
    """
    function = "tilewright.torch.addmm"
    _require(function, {"c": c}, a=a, b=b)
    scales = [
        float(x if type(x) is float or (type(x) is int and -MOST < x < MOST) else number(function, name, x))
        for name, x in (("alpha", alpha), ("beta", beta))
    ]
    sums = torch.int32 if a.dtype in INTEGERS else torch.float32 if a.dtype in FLOAT8 else a.dtype
    is_bias = scales[1] == 1 and c.shape == b.shape[-1:] and c.dtype in (*BIASES, sums)
    sides = (None, c) if is_bias else (c, None)
    return _run(function, a, b, *sides, alpha=scales[0], beta=scales[1], activation=activation, out_dtype=out_dtype)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, activation: str | None = None) -> Tensor:
    """activation(x weight^T + bias), in one kernel: x (.., K), weight (N, K), bias (N). See torch.nn.functional.linear.

    Raises ValueError for a weight or a bias of another shape, and for an unknown activation; else as `matmul`. Source:
    torch `torch.nn.functional.linear`.

    >>> import torch
    >>> linear(torch.ones(3), torch.arange(6.0).reshape(2, 3), torch.tensor([0.5, -20.0]), activation="relu")
    tensor([3.5000, 0.0000])
    """
    found = None if type(x) in PLAIN else _again(x, weight, bias, activation, None, (False, True))
    if found is not None and weight.dim() == 2:  # more only gradients of batches have
        return found
    function = "tilewright.torch.linear"
    if bias is None:
        _require(function, x=x, weight=weight)
    else:
        _require(function, {"bias": bias}, x=x, weight=weight)
    left, right = x.shape, weight.shape
    if len(right) != 2 or left[-1] != right[1]:
        raise ValueError(
            f"{function}: x {tuple(left)} and weight {tuple(right)} must be (.., K) and (N, K) of the same K"
        )
    if bias is not None and bias.shape != right[:1]:
        raise ValueError(f"{function}: bias {tuple(bias.shape)} must be (N) with N = {right[0]}, the rows of weight")
    is_vector = len(left) == 1
    rows = x[None] if is_vector else x
    result = _run(function, rows, weight, None, bias, activation=activation, is_transposed=True)
    return result[0] if is_vector else result


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
