"""A quick look at a GPU machine: does the package load there, compile, launch and copy right? Seconds, not minutes.

python scripts/gpu_smoke.py [--dry]
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable

import torch

from tilewright import kernels

DRY = "--dry" in sys.argv[1:]
DEVICE = "cpu" if DRY else "cuda"
DTYPES = [torch.uint8, torch.bfloat16, torch.float32, torch.float64, torch.complex128, torch.bool]


def random_tensor(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    data = torch.randint(0, 2 if dtype == torch.bool else 256, (*shape, dtype.itemsize), device=DEVICE)
    return data.to(torch.uint8).view(dtype).reshape(shape)


def bits(t: torch.Tensor) -> torch.Tensor:
    """The elements as integers: NaNs compare equal to themselves."""
    t = torch.view_as_real(t) if t.is_complex() else t
    return t.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()])


def expect(what: str, dst: torch.Tensor, src: torch.Tensor) -> None:
    a, b = bits(dst), bits(src)
    if not torch.equal(a, b):
        raise AssertionError(f"{what}: {int((a != b).sum())} elements of {a.numel()} are wrong")


def any_strides() -> None:
    """Random shapes and orders of the modes, a slice of a larger tensor on either side; what lies around stays."""
    choose = random.Random(0)
    for k in range(12 if DRY else 60):
        rank, dtype = choose.randint(1, 5), choose.choice(DTYPES)
        limit = {1: 3000, 2: 90, 3: 24, 4: 12, 5: 8}[rank]
        shape = tuple(choose.randint(1, limit) for _ in range(rank))
        sides = []
        for _ in range(2):
            order = choose.sample(range(rank), rank)
            whole = random_tensor(tuple(shape[m] + choose.randint(0, 3) for m in order), dtype)
            inner = whole[tuple(slice(0, shape[m]) for m in order)]
            sides.append((whole, inner.permute([order.index(m) for m in range(rank)])))
        (_, src), (whole, dst) = sides
        expected = whole.clone()
        expected.as_strided(dst.shape, dst.stride()).copy_(src)
        kernels.tiled_copy(src, dst)
        expect(f"copy {k}, {dtype}, shape {shape}, {src.stride()} to {dst.stride()}", whole, expected)


def transposes() -> None:
    for shape in [(64, 64), (61, 67), (1, 300), (300, 1)] + ([] if DRY else [(1024, 1024), (1023, 1025), (4097, 513)]):
        for dtype in DTYPES[:5]:
            src = random_tensor(shape, dtype)
            dst = torch.empty(shape[::-1], dtype=dtype, device=DEVICE)
            kernels.transpose(src, dst)
            expect(f"transpose {shape} {dtype}", dst, src.t())


def permutes() -> None:
    src = random_tensor((3, 17, 8, 33), torch.bfloat16)
    for axes in [(0, 2, 1, 3), (3, 2, 1, 0), (2, 0, 3, 1)]:
        dst = torch.empty([src.shape[a] for a in axes], dtype=src.dtype, device=DEVICE)
        kernels.permute(src, axes, dst)
        expect(f"permute {axes}", dst, src.permute(axes))


def broadcast() -> None:
    src = random_tensor((1, 257), torch.float32).expand(33, 257)
    dst = torch.empty(33, 257, device=DEVICE)
    kernels.tiled_copy(src, dst)
    expect("stride 0", dst, src)


def bound() -> None:
    src, dst = random_tensor((1000, 300), torch.float32), torch.zeros(300, 1000, device=DEVICE).t()
    plan = kernels.tiled_copy.plan(src, dst)
    plan.run(src, dst)
    expect("plan.run", dst, src)
    if not DRY:
        dst.zero_()
        plan.bind(src, dst)()
        expect("plan.bind", dst, src)


def streams_and_graphs() -> None:
    """The launch is on the current stream: behind slow work on that stream, and inside a captured graph."""
    src, dst = random_tensor((4096, 4096), torch.float32), torch.zeros(4096, 4096, device=DEVICE)
    late = torch.zeros_like(src)
    kernels.tiled_copy(late, dst)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late.copy_(src)
        kernels.tiled_copy(late, dst)
    stream.synchronize()
    expect("side stream", dst, src)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernels.tiled_copy(src, dst)
    dst.zero_()
    graph.replay()
    torch.cuda.synchronize()
    expect("graph", dst, src)


def past_2_31() -> None:
    """More than 2^31 elements, in offsets and in size: the ends tell."""
    rows, columns = (1 << 16) + 1, (1 << 15) + 1
    src = torch.empty(rows, columns, dtype=torch.uint8, device=DEVICE).random_(0, 256)
    dst = torch.empty_like(src)
    kernels.tiled_copy(src, dst)
    expect("copy of 2^31 elements", dst, src)
    turned = torch.empty(columns, rows, dtype=torch.uint8, device=DEVICE)
    kernels.transpose(src, turned)
    expect("transpose of 2^31 elements", turned, src.t())


def refusals() -> None:
    """A wrong call ends in an error before anything is launched."""
    a, b = torch.zeros(8, 8, device=DEVICE), torch.zeros(8, 9, device=DEVICE)
    cases = [("shape", a, b), ("dtype", a, a.to(torch.float64)), ("overlap", a.view(-1)[:60], a.view(-1)[4:])]
    cases.append(("stride 0 destination", a, torch.zeros(1, 8, device=DEVICE).expand(8, 8)))
    for what, src, dst in cases:
        try:
            kernels.tiled_copy(src, dst)
        except (ValueError, TypeError):
            continue
        raise AssertionError(f"{what}: not refused")


def main() -> int:
    checks: list[Callable[[], None]] = [any_strides, transposes, permutes, broadcast, bound, refusals]
    if not DRY:
        checks += [streams_and_graphs, past_2_31]
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    results = []
    for check in checks:
        begin = time.perf_counter()
        try:
            check()
            if not DRY:
                torch.cuda.synchronize()
            verdict = "ok"
        except Exception as error:
            traceback.print_exc()
            verdict = f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
        results.append((check.__name__, time.perf_counter() - begin, verdict))
    for name, seconds, verdict in results:
        print(f"{name:20} {seconds:6.1f} s  {verdict}")
    return int(any(verdict != "ok" for *_, verdict in results))


if __name__ == "__main__":
    raise SystemExit(main())
