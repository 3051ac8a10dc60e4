"""A mixture of experts: each token goes through the few networks that its router chose.

What to learn: rows of one expert have to lie side by side, so that a product of groups can take them. A CTA for each
expert reads all choices and counts: choices of experts before its own say where its rows begin, those of its own where
each row goes. Nobody waits for an atomic, rows keep the order of their tokens, and each run gives the same bits. The
two products are those of grouped_gemm; the first one multiplies values by silu of the gates before they leave the chip.

For token t with the chosen experts e of `top` largest logits: y_t = sum_e w_te W2_e (silu(G_e x_t) * (V_e x_t)), where
w_t is the softmax of the chosen logits. x and y are (T, H), logits (T, E), W1 (E, 2 F, H) has the rows of G before
those of V, W2 is (E, H, F). H and F are multiples of 8. Of equal logits the first is taken, a NaN before all.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from tilewright.examples.grouped_gemm import argument, choose_cluster, grouped_gemm

import tilewright as cutlass
from tilewright import cute

PICTURE = "(32,4):(1,32)"  # the choices that each lane of a warp looks at, at a time
ROUTERS = 4  # warps of a CTA, each with a token
COUNTERS, OWN = 1024, 4  # threads that count for an expert, and choices of each at a time
COPIERS = 128  # threads that bring a token to its experts, or their results together
VECTOR = 8  # elements of 16 bytes
LOG2_E = 1.4426950408889634


class Workspace(NamedTuple):
    """What one kernel leaves for the next. Row r of the last three is the r-th choice, by experts and then tokens."""

    chosen: cute.Tensor  # (T, top) experts
    weights: cute.Tensor  # (T, top)
    rows: cute.Tensor  # (T, top)
    ends: cute.Tensor  # (E,) the row before which each expert's end
    inputs: cute.Tensor  # (T * top, H)
    hidden: cute.Tensor  # (T * top, F)
    outputs: cute.Tensor  # (T * top, H)


# ---- who goes where ----


@cute.kernel
def route_kernel(logits: cute.Tensor, chosen: cute.Tensor, weights: cute.Tensor):
    """A warp finds a token's largest logits, one after the other."""
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    bidx, _, _ = cute.arch.block_idx()
    token = bidx * ROUTERS + warp
    experts, top = logits.shape[1], chosen.shape[1]
    if token < logits.shape[0]:
        count = -(-experts // 32)
        held = cute.make_rmem_tensor(count, cutlass.Float32)
        for i in cutlass.range_constexpr(count):
            expert = i * 32 + lane
            value = -cutlass.Float32.inf
            if expert < experts:
                value = logits[token, expert].to(cutlass.Float32)
                if value != value:
                    value = cutlass.Float32.inf
            held[i] = value
        taken = cutlass.Int32(0)  # a bit for each that this lane holds
        found = cute.make_rmem_tensor(top, cutlass.Int32)
        for j in cutlass.range_constexpr(top):
            best, index = -cutlass.Float32.inf, cutlass.Int32(experts)
            for i in cutlass.range_constexpr(count):
                expert = i * 32 + lane
                if (taken >> i & 1) == 0 and expert < experts and (held[i] > best or index == experts):
                    best, index = held[i], expert
            for step in cutlass.range_constexpr(5):
                other = cute.arch.shuffle_sync_bfly(best, 1 << step)
                its = cute.arch.shuffle_sync_bfly(index, 1 << step)
                if other > best or (other == best and its < index):
                    best, index = other, its
            found[j] = index
            if index % 32 == lane:
                taken = taken | 1 << index // 32
        if lane == 0:
            largest = [logits[token, found[j]].to(cutlass.Float32) for j in range(top)]
            powers = [cute.math.exp2((value - largest[0]) * LOG2_E, fastmath=True) for value in largest]
            total = sum(powers, cutlass.Float32(0.0))
            for j in cutlass.range_constexpr(top):
                chosen[token, j] = found[j]
                weights[token, j] = powers[j] / total


@cute.kernel
def place_kernel(chosen: cute.Tensor, rows: cute.Tensor, ends: cute.Tensor):
    """A CTA numbers the rows of an expert: behind those of the experts before it, in the order of the tokens."""
    tidx, _, _ = cute.arch.thread_idx()
    expert, _, _ = cute.arch.block_idx()
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    storage = cutlass.utils.SmemAllocator()
    partial = storage.allocate_tensor(cutlass.Int32, cute.make_layout((COUNTERS // 32, 2)))
    tokens, top = chosen.shape
    choices = tokens * top

    def choice(i):
        return (i // top, i % top)

    def added(value):
        return cute.arch.warp_reduction(value, lambda a, b: a + b)

    below = cutlass.Int32(0)
    for i in cutlass.range(tidx, choices, COUNTERS):
        below += cutlass.Int32(chosen[choice(i)] < expert)
    below = added(below)
    if lane == 0:
        partial[warp, 0] = below
    cute.arch.sync_threads()
    row = added(partial[lane, 0])
    for first in cutlass.range(0, choices, COUNTERS * OWN):
        mine = [first + warp * (32 * OWN) + i * 32 + lane for i in range(OWN)]
        is_here = [i < choices and chosen[choice(min(i, choices - 1))] == expert for i in mine]
        ballots = [cute.arch.vote_ballot_sync(x) for x in is_here]
        if lane == 0:
            partial[warp, 1] = sum(map(cute.arch.popc, ballots))
        cute.arch.sync_threads()
        of_warp = partial[lane, 1]
        at = row + added(of_warp if lane < warp else 0)
        row += added(of_warp)
        cute.arch.sync_threads()
        for i, here, ballot in zip(mine, is_here, ballots, strict=True):
            if here:
                rows[choice(i)] = at + cute.arch.popc(ballot & ((1 << lane) - 1))
            at += cute.arch.popc(ballot)
    if tidx == 0:
        ends[expert] = row


# ---- there and back ----


def vectors(tensor):
    """(row, (element, vector of the row))"""
    return cute.logical_divide(tensor, (None, VECTOR))


def own_vector():
    """The token and the vector of it that are a thread's: without a loop, since any number of CTAs fits."""
    token, part, _ = cute.arch.block_idx()
    return token, part * COPIERS + cute.arch.thread_idx()[0]


@cute.kernel
def spread_kernel(x: cute.Tensor, rows: cute.Tensor, inputs: cute.Tensor):
    """A token is read once, and written for each of its experts."""
    token, i = own_vector()
    if i < x.shape[1] // VECTOR:
        src, dst = vectors(x), vectors(inputs)
        values = src[token, (None, i)].load()
        for j in cutlass.range_constexpr(rows.shape[1]):
            dst[cutlass.Int64(rows[token, j]), (None, i)].store(values)


@cute.kernel
def combine_kernel(outputs: cute.Tensor, rows: cute.Tensor, weights: cute.Tensor, y: cute.Tensor):
    """The sum of what a token's experts say, by their weights, always in the same order."""
    token, i = own_vector()
    if i < y.shape[1] // VECTOR:
        src, dst = vectors(outputs), vectors(y)
        parts = [src[cutlass.Int64(rows[token, j]), (None, i)].load() for j in range(rows.shape[1])]
        sums = cute.full(VECTOR, 0.0, cutlass.Float32)
        for j in cutlass.range_constexpr(rows.shape[1]):
            sums = sums + parts[j].to(cutlass.Float32) * weights[token, j]
        dst[token, (None, i)].store(sums.to(y.element_type))


@cute.jit
def moe(
    x: cute.Tensor, logits: cute.Tensor, w1: cute.Tensor, w2: cute.Tensor, y: cute.Tensor, space: Workspace,
    ctas: cutlass.Constexpr, clusters: cutlass.Constexpr = ((1, 1), (1, 1)),
):  # fmt: skip
    """ctas: how many of the products' the device runs at a time. clusters: of both products, by choose_cluster."""
    tokens, experts = logits.shape
    vectors_of = [tokens, cute.ceil_div(x.shape[1], VECTOR * COPIERS), 1]
    route_kernel(logits, space.chosen, space.weights).launch(
        grid=[cute.ceil_div(tokens, ROUTERS), 1, 1], block=[32 * ROUTERS, 1, 1]
    )
    place_kernel(space.chosen, space.rows, space.ends).launch(grid=[experts, 1, 1], block=[COUNTERS, 1, 1])
    spread_kernel(x, space.rows, space.inputs).launch(grid=vectors_of, block=[COPIERS, 1, 1])
    grouped_gemm(space.inputs, w1, space.hidden, space.ends, ctas, clusters[0], True)
    grouped_gemm(space.hidden, w2, space.outputs, space.ends, ctas, clusters[1])
    combine_kernel(space.outputs, space.rows, space.weights, y).launch(grid=vectors_of, block=[COPIERS, 1, 1])


def workspace(x, logits, w2, top: int) -> Workspace:
    """Memory for what the kernels leave to each other."""
    tokens, experts = logits.shape

    def new(dtype, *shape):
        return argument(torch.empty(shape, dtype=dtype, device=x.device))

    choices = tokens * top
    return Workspace(
        new(torch.int32, tokens, top), new(torch.float32, tokens, top), new(torch.int32, tokens, top),
        new(torch.int32, experts), new(x.dtype, choices, x.shape[1]), new(x.dtype, choices, w2.shape[2]),
        new(x.dtype, choices, x.shape[1]),
    )  # fmt: skip


def arguments(x, logits, w1, w2, y, top: int, ctas: int):
    """What moe takes, of torch's tensors."""
    choices, experts = x.shape[0] * top, logits.shape[1]
    clusters = tuple(choose_cluster(choices, experts, n) for n in (w1.shape[1], w2.shape[1]))
    tensors = map(argument, (x, logits, w1, w2, y))
    return *tensors, workspace(x, logits, w2, top), ctas, clusters


def reference(x, logits, w1, w2, top: int):
    """y in float64."""
    x, logits, w1, w2 = (t.double() for t in (x, logits, w1, w2))
    order = logits.argsort(dim=1, descending=True, stable=True)[:, :top]
    weights = logits.gather(1, order).softmax(1)
    y = torch.zeros_like(x)
    for expert in range(logits.shape[1]):
        token, which = (order == expert).nonzero(as_tuple=True)
        gates, values = (x[token] @ w1[expert].T).chunk(2, 1)
        result = (torch.nn.functional.silu(gates) * values) @ w2[expert].T
        y.index_add_(0, token, result * weights[token, which, None])
    return y


# dtype, tokens, experts, top, H, F
CASES = ((torch.bfloat16, 70, 5, 2, 136, 72), (torch.float16, 1, 40, 8, 64, 136), (torch.bfloat16, 150, 1, 1, 72, 264))


def operands(dtype, tokens, experts, hidden, inner, device: str):
    x = torch.randn(tokens, hidden, device=device).to(dtype)
    logits = torch.randn(tokens, experts, device=device)
    w1 = (torch.randn(experts, 2 * inner, hidden, device=device) / hidden**0.5).to(dtype)
    w2 = (torch.randn(experts, hidden, inner, device=device) / inner**0.5).to(dtype)
    return x, logits, w1, w2


def problem(device: str):
    """A small one."""
    tensors = operands(torch.bfloat16, 64, 4, 128, 128, device)
    return moe, *arguments(*tensors, torch.empty_like(tensors[0]), 2, 4)


def check(device: str) -> None:
    for dtype, tokens, experts, top, hidden, inner in CASES:
        tensors = operands(dtype, tokens, experts, hidden, inner, device)
        y = torch.empty_like(tensors[0])
        ctas = cutlass.utils.HardwareInfo().get_max_active_clusters(1) if device == "cuda" else 4
        moe(*arguments(*tensors, y, top, ctas))
        torch.testing.assert_close(y, reference(*tensors, top).to(dtype), rtol=2e-2, atol=2e-2)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
