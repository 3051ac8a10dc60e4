"""The programs of tilewright.examples that run as operations of torch, compiled for kinds of arguments.

A program is compiled once for each type, depth, and kind of mask. Extents, strides, scales and windows are arguments of
its calls, so that a new length compiles nothing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from tilewright import numeric
from tilewright._registry import load
from tilewright.lang.calls.jit import compile
from tilewright.lang.fake import make_fake_tensor, sym_int

if TYPE_CHECKING:
    from torch import Tensor

    from tilewright.lang.calls.compiled import Compiled

__all__ = [
    "aligned",
    "attention",
    "attention_backward",
    "attention_fp8",
    "attention_sm80",
    "capability",
    "contiguous_mode",
    "ctas",
    "empty_rows",
    "fp8_block_gemm",
    "grouped_fp8_gemm",
    "grouped_gemm",
    "require_sm90",
    "workspace",
]

TYPES = {
    torch.float16: numeric.Float16,
    torch.bfloat16: numeric.BFloat16,
    torch.float32: numeric.Float32,
    torch.float8_e4m3fn: numeric.Float8E4M3FN,
    torch.int32: numeric.Int32,
}


@cache
def capability(device: torch.device) -> tuple[int, int]:
    """The compute capability of a device; the CPU executes the programs of 9.0."""
    return torch.cuda.get_device_capability(device) if device.type == "cuda" else (9, 0)


@cache
def ctas(device: torch.device) -> int:
    """How many multiprocessors a device has: the CTAs that stay and take tile after tile."""
    return 2 if device.type == "cpu" else torch.cuda.get_device_properties(device).multi_processor_count


def _rows(dtype: torch.dtype, *extents: int | None) -> Any:
    """A tensor to compile with: rows of 16 bytes and more in any order, of which TMA takes boxes; None: at calls."""
    element = TYPES[dtype]
    step = 128 // element.bits
    strides = [sym_int(64, divisibility=step) for _ in extents[1:]]
    shape = [sym_int() if extent is None else extent for extent in extents]
    return make_fake_tensor(element, shape, (*strides, 1), assumed_align=16)


def _numbers(dtype: torch.dtype, rank: int) -> Any:
    """A tensor to compile with of which nothing is promised but that its last mode is contiguous."""
    shape = [sym_int() for _ in range(rank)]
    return make_fake_tensor(TYPES[dtype], shape, (*(sym_int(64) for _ in shape[1:]), 1))


def _mask(has_left: bool, has_right: bool, is_varlen: bool) -> tuple[Any, ...]:
    starts = [_numbers(torch.int32, 1) if is_varlen else None for _ in range(2)]
    return (numeric.Int32(0) if has_left else None, numeric.Int32(0) if has_right else None, *starts)


@cache
def attention_sm80(dtype: torch.dtype, depth: int, is_causal: bool) -> Compiled:
    """O and L of Q, K, V and the scale, by mma.sync."""
    q, k, v, o = (_rows(dtype, None, None, None, depth) for _ in range(4))
    program = load("tilewright.examples.attention_mma_sync:attention")
    return compile(program, q, k, v, o, _numbers(torch.float32, 3), 1.0, is_causal)


@cache
def attention(dtype: torch.dtype, depth: int, has_left: bool, has_right: bool, is_varlen: bool) -> Compiled:
    """O and L of Q, K, V, scale, window, where sequences begin, the longest one, tickets, CTAs, by TMA and wgmma."""
    q, k, v, o = (_rows(dtype, None, None, None, depth) for _ in range(4))
    program = load("tilewright.examples.attention_forward:attention")
    mask, scales = _mask(has_left, has_right, is_varlen), (None, None, None)
    last = _numbers(torch.int32, 1), 1, depth
    return compile(program, q, k, v, o, _numbers(torch.float32, 3), 1.0, *mask, 1, *scales, *last)


@cache
def attention_fp8(depth: int, has_right: bool) -> Compiled:
    """The same of Q, K, V of e4m3, with the scales of each."""
    q, k, v = (_rows(torch.float8_e4m3fn, None, None, None, depth) for _ in range(3))
    o, lse = _rows(torch.bfloat16, None, None, None, depth), _numbers(torch.float32, 3)
    program = load("tilewright.examples.attention_forward:attention")
    mask = _mask(False, has_right, False)
    scales = [make_fake_tensor(numeric.Float32, [sym_int(), sym_int()], [sym_int(64), sym_int(64)]) for _ in range(3)]
    return compile(program, q, k, v, o, lse, 1.0, *mask, 1, *scales, _numbers(torch.int32, 1), 1, depth)


_tickets: dict[tuple[torch.device, int], torch.Tensor] = {}


def tickets(device: torch.device) -> torch.Tensor:
    """Two zeros that no launch uses which may run at the same time as one on the current stream.

    Each launch leaves zeros, so those of a stream share them. What a graph captures may run beside anything.
    """
    if device.type != "cuda" or torch.cuda.is_current_stream_capturing():
        return torch.zeros(2, device=device, dtype=torch.int32)
    key = device, torch.cuda.current_stream(device).cuda_stream
    if key not in _tickets:
        _tickets[key] = torch.zeros(2, device=device, dtype=torch.int32)
    return _tickets[key]


def _backward_of(depth: int) -> str:
    return f"tilewright.examples.attention_backward{'_256' if depth == 256 else ''}"


@cache
def attention_backward(
    dtype: torch.dtype, depth: int, has_left: bool, has_right: bool, is_varlen: bool, is_ordered: bool
) -> Compiled:
    """dQ, dK, dV of Q, K, V, O, dO, L and a workspace, by TMA and wgmma."""
    q, k, v, o, d_o, dq, dk, dv = (_rows(dtype, None, None, None, depth) for _ in range(8))
    program = load(f"{_backward_of(depth)}:attention_backward")
    lse = _numbers(torch.float32, 3)
    rows = workspace(torch.empty(1, 1, 1, depth, device="meta"), None)
    kept = [_rows(x.dtype, *(None, *x.shape[1:])) if x.dim() > 1 else _numbers(x.dtype, 1) for x in rows]
    longest = [numeric.Int32(1) if is_varlen else None for _ in range(2)]
    mask = _mask(has_left, has_right, is_varlen)
    return compile(program, q, k, v, o, d_o, lse, dq, dk, dv, *kept, 1.0, *mask, *longest, is_ordered)


def contiguous_mode(x: Tensor) -> int:
    """Which of the last two modes of an operand of a product is contiguous: 1 for the last, 0 for the one before."""
    return int(x.stride(-1) == 1)


def grouped_gemm(device: torch.device, order_a: int, order_b: int, rows: int, groups: int, columns: int) -> Compiled:
    """C of A, B and the ends of groups, with the cluster that is good for these sizes."""
    cluster = load("tilewright.examples.grouped_gemm:choose_cluster")(rows, groups, columns)
    return _grouped_gemm(order_a, order_b, ctas(device), cluster)


@cache
def _grouped_gemm(order_a: int, order_b: int, ctas: int, cluster: tuple[int, int]) -> Compiled:
    a, b, c = (_matrices(torch.bfloat16, *x) for x in ((2, order_a), (3, order_b), (2, 1)))
    program = load("tilewright.examples.grouped_gemm:grouped_gemm")
    return compile(program, a, b, c, _numbers(torch.int32, 1), ctas, cluster)


def fp8_block_gemm(device: torch.device) -> Compiled:
    """C of A, the scales of its rows' blocks, B (N, K), and those of its blocks."""
    return _fp8_block_gemm(ctas(device) // 2)


@cache
def _fp8_block_gemm(clusters: int) -> Compiled:
    a, b = (_rows(torch.float8_e4m3fn, None, None) for _ in range(2))
    c = _rows(torch.bfloat16, None, None)
    program = load("tilewright.examples.fp8_block_gemm:gemm")
    return compile(program, a, _scales(2), b, _scales(2), c, clusters)


def grouped_fp8_gemm(device: torch.device, rows: int, groups: int, columns: int) -> Compiled:
    """C of A, the scales of its rows' blocks, B (G, N, K), those of its blocks, and the ends of groups."""
    cluster = load("tilewright.examples.grouped_gemm:choose_cluster")(rows, groups, columns)
    return _grouped_fp8_gemm(ctas(device), cluster)


@cache
def _grouped_fp8_gemm(ctas: int, cluster: tuple[int, int]) -> Compiled:
    a, b = (_rows(torch.float8_e4m3fn, *[None] * rank) for rank in (2, 3))
    c = _rows(torch.bfloat16, None, None)
    program = load("tilewright.examples.grouped_fp8_gemm:grouped_fp8_gemm")
    return compile(program, a, _scales(2), b, _scales(3), c, _numbers(torch.int32, 1), ctas, cluster)


def _scales(rank: int) -> Any:
    """A tensor of Float32 to compile with of which nothing is promised."""
    return make_fake_tensor(numeric.Float32, [sym_int() for _ in range(rank)], [sym_int(64) for _ in range(rank)])


def _matrices(dtype: torch.dtype, rank: int, contiguous: int) -> Any:
    """A matrix, or some, to compile with, of which either of the last two modes is contiguous."""
    element = TYPES[dtype]
    strides: list[Any] = [sym_int(64, divisibility=128 // element.bits) for _ in range(rank)]
    strides[rank - 2 + contiguous] = 1
    return make_fake_tensor(element, [sym_int() for _ in range(rank)], strides, assumed_align=16)


def require_sm90(device: torch.device, what: str) -> None:
    """Refuse what a device without wgmma is asked for."""
    found = capability(device)
    if found != (9, 0):
        raise NotImplementedError(
            f"tilewright.torch: {what} is a program of wgmma, which devices of compute capability 9.0 have; the "
            f"operands are on {device} of {found[0]}.{found[1]}"
        )


def workspace(q: Tensor, starts_q: Tensor | None) -> tuple[Tensor, ...]:
    """What the backward pass needs beside its operands, in torch's memory."""
    return load(f"{_backward_of(q.shape[-1])}:workspace")(q, starts_q)  # type: ignore[no-any-return]


def aligned(x: Tensor) -> Tensor:
    """The tensor as the programs take it: its last mode contiguous, other strides and its address of whole 16 bytes.

    Most are so already; others are copied, as are those that repeat their rows.
    """
    x = x.detach() if x.requires_grad else x
    step = 16 // x.element_size()
    strides = x.stride()
    if strides[-1] == 1 and not x.data_ptr() % 16 and all(d and not d % step for d in strides[:-1]):
        return x
    return x.clone(memory_format=torch.contiguous_format)


def empty_rows(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """New memory of the tensor's shape, with heads or rows outermost as it has them, and compact."""
    if x.dim() == 4 and x.stride(1) < x.stride(2):
        return x.new_empty((x.shape[0], x.shape[2], x.shape[1], x.shape[3]), dtype=dtype).transpose(1, 2)
    return x.new_empty(x.shape, dtype=dtype)
