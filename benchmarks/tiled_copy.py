"""Copies, transposes and permutes on the GPU, beside torch, Triton and C++ memcpy in one run.

python benchmarks/tiled_copy.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

(Not copy.py: a script's folder comes first on the path, and `import copy` of any library would find that file.)
"""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

import gpu
from gpu import GIB, MIB, Arena, Contestant, Timing, rotating
from tilewright import kernels

DTYPES = {
    "uint8": torch.uint8,
    "int8": torch.int8,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "complex128": torch.complex128,
}
Call = Callable[[torch.Tensor, torch.Tensor], object]


@dataclass(frozen=True)
class Case:
    """dst = view(src), where src is a contiguous tensor of shape `shape`; what each contestant calls on (src, dst)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    view: Callable[[torch.Tensor], torch.Tensor]
    ours: Call
    copy_limit: float | None
    torch_limit: float | None = None
    triton: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name} {self.dtype}"


def torch_copy_kernel(src: torch.Tensor, dst: torch.Tensor) -> None:
    """torch's elementwise copy kernel on contiguous tensors of one dtype.

    `dst.copy_(src)` is a memcpy there, and so are `clone` and `contiguous`: torch takes its copy kernel only where
    dtypes or strides differ, and then not the vectorised one. `conj_physical(src, out=dst)` of a real dtype has
    nothing to conjugate and runs that same kernel (`direct_copy_kernel_cuda`) on whatever it is given: vectorised, and
    without a memcpy. complex128 would be conjugated: it is copied as twice as many float64. The kernel's name, as the
    profiler saw it in this run, stands at the end of the results.
    """
    if src.is_complex():
        src, dst = torch.view_as_real(src), torch.view_as_real(dst)
    torch.conj_physical(src, out=dst)


# --- cases


def contiguous(options: argparse.Namespace) -> Iterator[Case]:
    sizes = [MIB, 16 * MIB, 256 * MIB, GIB, 4 * GIB]
    if options.quick:
        sizes = [MIB, 16 * MIB, GIB]
    if options.dry:
        sizes = [4096, 65536]
    for dtype in ("uint8", "bf16", "fp32", "fp64", "complex128"):
        for size in sizes:
            name = f"{size // GIB} GiB" if size >= GIB else f"{size // MIB} MiB" if size >= MIB else f"{size} B"
            shape = (size // DTYPES[dtype].itemsize,)
            limit = 0.95 if size < 16 * MIB else 0.98
            yield Case(name, dtype, shape, lambda x: x, kernels.tiled_copy, limit)


def transposes(options: argparse.Namespace) -> Iterator[Case]:
    even = {"fp32": 0.93, "bf16": 0.93, "int8": 0.93, "fp64": 0.93}
    odd = {"fp32": 0.75, "bf16": 0.6, "int8": 0.6}
    groups = [((16384, 16384), even), ((8192, 8192), even), ((8191, 8193), odd)]
    if options.quick:
        groups = groups[1:]
    if options.dry:
        groups = [((128, 64), even), ((61, 67), odd)]
    for shape, limits in groups:
        for dtype, limit in limits.items():
            name = "x".join(map(str, shape))
            yield Case(name, dtype, shape, lambda x: x.t(), kernels.transpose, limit, 1.5, "transpose")


# Shape of the source, axes of the destination. The last one has rows of 3 elements on one side.
PERMUTES = {
    "BSHD to BHSD": ((8, 4096, 32, 128), (0, 2, 1, 3)),
    "BS3HD to 3BHSD": ((8, 4096, 3, 16, 128), (2, 0, 3, 1, 4)),
    "NCHW to NHWC": ((64, 256, 112, 112), (0, 2, 3, 1)),
    "NHWC to NCHW": ((64, 112, 112, 256), (0, 3, 1, 2)),
    "ABCDE to EDCBA": ((64, 48, 40, 32, 64), (4, 3, 2, 1, 0)),
    "NCHW to NHWC, C=3": ((128, 3, 512, 512), (0, 2, 3, 1)),
}
DRY_PERMUTES = [(2, 5, 4, 8), (2, 5, 3, 2, 8), (2, 16, 6, 6), (2, 6, 6, 16), (8, 3, 5, 4, 16), (2, 3, 8, 8)]


def permutes(options: argparse.Namespace) -> Iterator[Case]:
    for k, (name, (shape, axes)) in enumerate(PERMUTES.items()):
        shape = DRY_PERMUTES[k] if options.dry else shape
        limit = None if "C=3" in name else 0.85
        for dtype in ("bf16", "fp32"):
            yield Case(
                name,
                dtype,
                shape,
                lambda x, axes=axes: x.permute(axes),
                lambda src, dst, axes=axes: kernels.permute(src, axes, dst),
                limit,
                1.5,
            )


def slices(options: argparse.Namespace) -> Iterator[Case]:
    # Of `x[:, ::2]` every sector is read for half of its bytes: no share of the copy's speed is asked of it.
    rows, columns, wide = (8, 64, 80) if options.dry else (16384, 16384, 16512)
    views: list[tuple[str, tuple[int, int], Callable[[torch.Tensor], torch.Tensor], float | None]] = [
        ("x[:, ::2]", (rows // 2, 2 * columns), lambda x: x[:, ::2], None),
        ("x[::2]", (rows, columns), lambda x: x[::2], 0.85),
        ("padded to packed", (rows, wide), lambda x: x[:, :columns], 0.85),
    ]
    for name, shape, view, limit in views:
        for dtype in ("bf16", "fp32"):
            yield Case(
                name, dtype, shape, view, lambda src, dst, view=view: kernels.tiled_copy(view(src), dst), limit, 1.5
            )


# --- one case


class Bench:
    def __init__(self, options: argparse.Namespace, report: gpu.Report) -> None:
        self.options = options
        self.report = report
        self.missed: list[str] = []
        self.failed: list[str] = []
        room = MIB if options.dry else 4 * GIB + 64 * MIB
        device = "cpu" if options.dry else "cuda"
        self.source = Arena(gpu.random_bytes(room, device))
        self.target = Arena(torch.empty(room, dtype=torch.uint8, device=device))
        self.bare = None if options.dry else gpu.Bare()
        if self.bare:
            self.bare.open()
        self.triton = None if options.dry else gpu.triton_rivals()

    def run(self, case: Case) -> tuple[dict[str, Timing], int]:
        """The timings of all contestants, after their results were found right; and the bytes read and written."""
        dtype = DTYPES[case.dtype]
        like = case.view(torch.empty(case.shape, dtype=dtype, device="meta"))
        size = like.numel() * dtype.itemsize
        moved = 2 * size
        sets = gpu.sets_past_cache(moved, self.options)
        sources = self.source.tensors(sets, case.shape, dtype)
        targets = self.target.tensors(sets, tuple(like.shape), dtype)
        flat = [self.source.tensors(sets, (like.numel(),), dtype), self.target.tensors(sets, (like.numel(),), dtype)]

        calls: dict[str, tuple[Call, list[list[torch.Tensor]]]] = {"tilewright": (case.ours, [sources, targets])}
        if case.torch_limit is not None:
            calls["torch"] = (lambda src, dst: dst.copy_(case.view(src)), [sources, targets])
        if case.triton and self.triton:
            calls["Triton"] = (getattr(self.triton, case.triton), [sources, targets])
        for name, (call, operands) in calls.items():
            self.check(f"{name}, {case.label}", call, case.view, *operands)
        calls["torch kernel"] = (torch_copy_kernel, flat)
        self.check(f"torch kernel, {case.label}", torch_copy_kernel, lambda x: x, *flat)

        field = [Contestant(name, rotating(call, *operands)) for name, (call, operands) in calls.items()]
        if self.bare:
            field.append(Contestant("memcpy", self.bare.copier(*flat), graph=False))
            if size <= 16 * MIB:  # small copies wait for the host when C++ issues them one by one
                field.append(Contestant("memcpy, graph", self.bare.copier(*flat)))
        return gpu.race(field, sets, moved, self.options), moved

    def check(
        self,
        what: str,
        call: Call,
        view: Callable[[torch.Tensor], torch.Tensor],
        sources: list[torch.Tensor],
        targets: list[torch.Tensor],
    ) -> None:
        """Every bit of the first and of the last set, over memory that held something else."""
        for src, dst in ((sources[0], targets[0]), (sources[-1], targets[-1])):
            gpu.bits(dst).fill_(0x5A)
            call(src, dst)
            if not gpu.same(dst, view(src)):
                raise AssertionError(f"{what}: the result is wrong")

    def table(self, title: str, cases: Iterator[Case], rivals: tuple[str, ...]) -> None:
        """One row a case. The copy that ours is measured against is the fastest of torch's kernel and C++ memcpy."""
        heads = ["case", "dtype", "tilewright GB/s", *(f"{r} GB/s" for r in rivals), "copy GB/s"]
        heads += ["ratio to copy", "limit"] + (["ratio to torch", "limit"] if "torch" in rivals else []) + ["met"]
        self.report.add("", f"## {title}", "", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads))
        for case in cases:
            if not self.options.pattern.search(f"{title}: {case.label}"):
                continue
            try:
                timings, moved = self.run(case)
            except Exception as error:  # one broken case must not cost the figures of the others
                traceback.print_exc()
                self.failed.append(case.label)
                reason = " ".join(str(error).split())[:120]
                self.report.add(f"| {case.name} | {case.dtype} | failed: {type(error).__name__}: {reason} |")
                continue
            self.report.add(self.row(case, timings, moved, rivals))

    def row(self, case: Case, timings: dict[str, Timing], moved: int, rivals: tuple[str, ...]) -> str:
        ours = timings["tilewright"]
        copies = [t for name, t in timings.items() if name.startswith(("torch kernel", "memcpy"))]
        copy = min(copies, key=lambda t: t.median)
        cells = [case.name, case.dtype, gpu.text(ours.rate(moved / 1e9))]
        cells += [f"{moved / 1e9 / timings[r].median:.0f}" if r in timings else "" for r in rivals]
        cells.append(f"{moved / 1e9 / copy.median:.0f}")
        met = True
        pairs = [(copy, case.copy_limit)]
        if "torch" in rivals:
            pairs.append((timings["torch"], case.torch_limit))
        for other, limit in pairs:
            ratio = ours.over(other)
            met = met and (limit is None or ratio[0] >= limit)
            cells += [gpu.text(ratio, ".3f"), "" if limit is None else f"{limit:g}"]
        if not met and not self.options.dry:
            self.missed.append(case.label)
        cells.append("" if self.options.dry else "yes" if met else "**no**")
        return f"| {' | '.join(cells)} |"

    def kernel_name(self) -> str:
        """The kernel behind `torch_copy_kernel`. Comes last: a profiler slows what follows."""
        src = self.source.tensors(1, (MIB,), torch.float32)[0]
        dst = self.target.tensors(1, (MIB,), torch.float32)[0]
        try:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
                torch_copy_kernel(src, dst)
                torch.cuda.synchronize()
            names = {e.name for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA}
        except RuntimeError as error:  # a machine may forbid profiling
            return f"not seen: {error}"
        return "; ".join(sorted(names)) or "not seen"


def main() -> int:
    options = gpu.arguments("Copies, transposes and permutes beside their rivals")
    with gpu.Report("copy", options) as report:
        bench = Bench(options, report)
        memcpy = bench.bare.memcpy_name if bench.bare else "memcpy"
        report.add("# Copies, transposes and permutes", "", *gpu.machine(options))
        report.add(
            "GB/s read and written: median (10th to 90th percentile) of the samples, contestants in turn; a sample is",
            "about 2.5 ms of launches, a graph's replay between two events, over operands rotated past the L2; random",
            "bits; every result compared first, bit by bit. 'Copy' is the fastest contiguous copy of as many bytes in",
            f"the same rounds: torch's elementwise copy kernel, or {memcpy} called by C++ (to 16 MiB also in a graph).",
            "Ratios say how many times faster tilewright is: median (10th to 90th percentile) over the rounds.",
        )
        copies = ("torch kernel", "memcpy", "memcpy, graph")
        bench.table("Contiguous copy, bytes of one tensor", contiguous(options), copies)
        bench.table("Transposes", transposes(options), ("torch", "Triton"))
        bench.table("Permutes", permutes(options), ("torch",))
        bench.table("Slices", slices(options), ("torch",))
        report.add("", f"Limits missed: {', '.join(bench.missed) or 'none'}.")
        report.add(f"Cases failed: {', '.join(bench.failed) or 'none'}.")
        if not options.dry:
            report.add(f"torch's elementwise copy kernel here: `{bench.kernel_name()}`.")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
