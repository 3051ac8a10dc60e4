"""What benchmarks/lang.py races: the examples' kernels, and their rivals on the same operands."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import torch

import gpu
import lang_cuda
from tilewright import cute, kernels
from tilewright.utils import HardwareInfo

Call = Callable[..., object]
ALIGN = 16  # bytes
ROWS = (1024, 4096, 8192, 16384, 32768, 65536, 131072)
EXAMPLES = Path(__file__).parents[1] / "examples"
COPY = "copy"  # the fastest contiguous copy of as many bytes, which the bench adds


@dataclass
class Case:
    """One problem: its operands, the result last; what it moves or computes; who is raced, ours first.

    `limits` are the ratios of our speed to a contestant's that are asked for. `tolerance` bounds the relative
    Frobenius error; at 0 results are compared bit by bit. `compiled` is our function: its registers are shown.
    """

    name: str
    operands: list[torch.Tensor]
    expected: Callable[[], torch.Tensor]
    amount: float  # bytes, or floating-point operations
    unit: str
    calls: dict[str, Call]
    limits: dict[str, float]
    tolerance: float = 0.0
    guess: float | None = None  # seconds
    compiled: list[cute.Compiled] = field(default_factory=list)


Make = Callable[[], Case]  # a case is made when its turn comes, and its memory is given back after it


def example(name: str) -> ModuleType | None:
    """An example as a module; None where there is none of that name."""
    if not (EXAMPLES / f"{name}.py").exists():
        return None
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    return importlib.import_module(name)


def marked(x: torch.Tensor) -> object:
    return cute.runtime.from_dlpack(x, assumed_align=ALIGN)


def random(*shape: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    return torch.randn(*shape, device=device, dtype=dtype)


@dataclass(frozen=True)
class Rivals:
    """Who is there: the device, its architecture, Triton's kernels or None."""

    device: str
    arch: str
    triton: ModuleType | None

    @property
    def has_gpu(self) -> bool:
        return self.device == "cuda"

    def cuda(self, make: Callable[..., Call], *arguments: object) -> dict[str, Call]:
        """CUDA C++, compiled in any case."""
        call = make(*arguments, self.arch)
        return {"CUDA C++": call} if self.has_gpu else {}

    def of_triton(self, get: Callable[[ModuleType], Call]) -> dict[str, Call]:
        return {"Triton": get(self.triton)} if self.triton else {}

    def compiled(self, function: Callable[..., torch.Tensor]) -> dict[str, Call]:
        """torch.compile of a function of all operands but the last, into which the result goes."""
        if not self.has_gpu:
            return {}

        @torch.compile(dynamic=False)
        def into(*operands: torch.Tensor) -> None:
            operands[-1].copy_(function(*operands[:-1]))

        return {"torch.compile": into}


def elementwise(rivals: Rivals, dry: bool) -> Iterator[tuple[str, Make]]:
    count = 1000 if dry else 1 << 28
    for dtype in (torch.float32, torch.bfloat16):

        def make(dtype: torch.dtype = dtype) -> Case:
            module = example("vector_add")
            a, b = (random(count, dtype=dtype, device=rivals.device) for _ in range(2))
            c = torch.empty_like(a)
            ours = cute.compile(module.add, *(marked(x).mark_layout_dynamic() for x in (a, b, c)))
            calls = {"tilewright": ours, "torch": lambda a, b, c: torch.add(a, b, out=c)}
            calls |= rivals.compiled(torch.add) | rivals.of_triton(lambda t: t.add)
            calls |= rivals.cuda(lang_cuda.add, dtype)
            size = 3 * count * dtype.itemsize
            return Case(
                f"add {count} {dtype_name(dtype)}", [a, b, c], lambda: a + b, size, "GB/s", calls, {COPY: 0.98},
                compiled=[ours],
            )  # fmt: skip

        yield f"add {dtype_name(dtype)}", make


def transposes(rivals: Rivals, dry: bool) -> Iterator[tuple[str, Make]]:
    for shape in ((61, 67),) if dry else ((16384, 16384), (8191, 8193)):
        for dtype in (torch.float32, torch.bfloat16):

            def make(shape: tuple[int, int] = shape, dtype: torch.dtype = dtype) -> Case:
                module = example("transpose")
                src = random(*shape, dtype=dtype, device=rivals.device)
                dst = torch.empty(shape[::-1], dtype=dtype, device=rivals.device)
                ours = {
                    f"tilewright, {kind}": cute.compile(module.transpose, marked(src), marked(dst), kind)
                    for kind in reversed(module.LAYOUTS)
                }
                calls: dict[str, Call] = {**ours}
                calls["kernels.transpose"] = kernels.transpose
                calls["torch"] = lambda src, dst: dst.copy_(src.t())
                calls |= rivals.compiled(lambda x: x.t()) | rivals.of_triton(lambda t: t.transpose)
                calls |= rivals.cuda(lang_cuda.transpose, dtype)
                return Case(
                    f"{shape[0]}x{shape[1]} {dtype_name(dtype)}", [src, dst], lambda: src.t(),
                    2 * src.numel() * dtype.itemsize, "GB/s", calls, {"kernels.transpose": 0.97},
                    compiled=list(ours.values()),
                )  # fmt: skip

            yield f"{shape[0]}x{shape[1]} {dtype_name(dtype)}", make


def rows(rivals: Rivals, dry: bool) -> Iterator[tuple[str, Make]]:
    """bf16; each row length with all of 2^28 elements."""
    functions = {
        "softmax": lambda x: torch.softmax(x, 1),
        "rms_norm": lambda x: torch.nn.functional.rms_norm(x, x.shape[1:], eps=1e-6),
        "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[1:]),
    }
    lengths = (512, 1024) if dry else ROWS
    for name, function in functions.items():
        for length in lengths:

            def make(name: str = name, function: Call = function, length: int = length) -> Case:
                module = example("rows")
                src = random(
                    (1 << 13 if dry else 1 << 28) // length, length, dtype=torch.bfloat16, device=rivals.device
                )
                dst = torch.empty_like(src)
                ours = cute.compile(module.rows, getattr(module, name), marked(src), marked(dst))
                calls = {"tilewright": ours, "torch": lambda src, dst: dst.copy_(function(src))}
                if name == "softmax":  # the others have no out=
                    calls["torch"] = lambda src, dst: torch.softmax(src, 1, out=dst)
                else:
                    calls["torch"] = lambda src, dst: function(src)
                calls |= rivals.compiled(function) | rivals.of_triton(lambda t: t.rows(name))
                calls |= rivals.cuda(lang_cuda.rows, name, length)
                return Case(
                    f"{name} {length} bf16", [src, dst], lambda: module.expected(getattr(module, name), src),
                    2 * src.numel() * 2, "GB/s", calls, {COPY: 0.90}, 1e-2, compiled=[ours],
                )  # fmt: skip

            yield f"{name} {length}", make


def gemms(rivals: Rivals, dry: bool) -> Iterator[tuple[str, Make]]:
    """fp32 by FMA; C = A B^T with K contiguous in A and N in B, as the article has it."""
    torch.backends.cuda.matmul.allow_tf32 = False
    for extent in (100,) if dry else (2048, 4096, 8192):

        def make(extent: int = extent) -> Case:
            a = random(extent, extent, dtype=torch.float32, device=rivals.device)
            b = random(extent, extent, dtype=torch.float32, device=rivals.device).t()
            c = torch.empty_like(a)
            found = {"article": example("article_gemm"), "pipelined": example("pipelined_gemm")}
            ours = {
                f"tilewright, {name}": cute.compile(module.gemm, marked(a), marked(b), marked(c))
                for name, module in reversed(found.items())
                if module is not None
            }
            calls: dict[str, Call] = {**ours}
            calls["gemm_simt"] = kernels.gemm
            calls["cuBLAS"] = lambda a, b, c: torch.mm(a, b.t(), out=c)
            calls |= rivals.of_triton(lambda t: t.gemm) | rivals.cuda(lang_cuda.gemm)
            flops = 2.0 * extent**3
            return Case(
                f"{extent}^3 fp32", [a, b, c], lambda: a.double() @ b.double().t(), flops, "TFLOP/s", calls,
                {"gemm_simt": 0.95}, 1e-5, guess=flops / 45e12 + 2e-6, compiled=list(ours.values()),
            )  # fmt: skip

        yield f"{extent}^3", make


def warp_gemms(rivals: Rivals, dry: bool) -> Iterator[tuple[str, Make]]:
    """bf16 by mma.sync, beside the template with that instruction: A and B contiguous along K or not, C along N."""
    for extent in (264,) if dry else (4096, 8192):
        for along_k in ((True, True), (True, False), (False, True), (False, False)):
            orders = "".join(order[k] for order, k in zip(("mk", "nk"), along_k, strict=True))

            def make(extent: int = extent, along_k: tuple[bool, bool] = along_k, orders: str = orders) -> Case:
                a, b = (random(extent, extent, dtype=torch.bfloat16, device=rivals.device) for _ in range(2))
                a, b = (x if k else x.t() for x, k in zip((a, b), along_k, strict=True))
                c = torch.empty(extent, extent, dtype=torch.bfloat16, device=rivals.device)
                ours = cute.compile(example("gemm_mma_sync").gemm, marked(a), marked(b), marked(c))
                plan = kernels.gemm.plan(a, b, c, arch="sm_80")
                calls: dict[str, Call] = {
                    "tilewright": ours,
                    "gemm_sm80": lambda a, b, c: kernels.gemm(a, b, c, plan=plan),
                    "cuBLAS": lambda a, b, c: torch.mm(a, b.t(), out=c),
                }
                flops = 2.0 * extent**3
                return Case(
                    f"{extent}^3 bf16 {orders}", [a, b, c], lambda: a.double() @ b.double().t(), flops, "TFLOP/s",
                    calls, {"gemm_sm80": 0.97}, 1e-2, guess=flops / 400e12 + 2e-6, compiled=[ours],
                )  # fmt: skip

            yield f"{extent}^3 {orders}", make


def warpgroup_gemms(rivals: Rivals, dry: bool) -> Iterator[tuple[str, Make]]:
    """bf16 by wgmma, beside the template with that instruction: A and B contiguous along K or not, C along N."""
    for extent in (264,) if dry else (4096, 8192):
        for along_k in ((True, True), (True, False), (False, True), (False, False)):
            orders = "".join(order[k] for order, k in zip(("mk", "nk"), along_k, strict=True))

            def make(extent: int = extent, along_k: tuple[bool, bool] = along_k, orders: str = orders) -> Case:
                a, b = (random(extent, extent, dtype=torch.bfloat16, device=rivals.device) for _ in range(2))
                a, b = (x if k else x.t() for x, k in zip((a, b), along_k, strict=True))
                c = torch.empty(extent, extent, dtype=torch.bfloat16, device=rivals.device)
                example_ = example("gemm_tma_wgmma")
                # The H200 has 132 multiprocessors.
                clusters = 66 if dry else HardwareInfo().get_max_active_clusters(example_.CLUSTER[0])
                ours = cute.compile(example_.gemm, marked(a), marked(b), marked(c), clusters)
                calls: dict[str, Call] = {
                    "tilewright": ours,
                    "gemm_sm90": kernels.gemm,
                    "cuBLAS": lambda a, b, c: torch.mm(a, b.t(), out=c),
                }
                flops = 2.0 * extent**3
                return Case(
                    f"{extent}^3 bf16 {orders}", [a, b, c], lambda: a.double() @ b.double().t(), flops, "TFLOP/s",
                    calls, {"gemm_sm90": 0.97}, 1e-2, guess=flops / 700e12 + 2e-6, compiled=[ours],
                )  # fmt: skip

            yield f"{extent}^3 {orders}", make


def dtype_name(dtype: torch.dtype) -> str:
    return {torch.float32: "fp32", torch.bfloat16: "bf16"}[dtype]


SECTIONS = {
    "elementwise": elementwise,
    "transpose": transposes,
    "rows": rows,
    "gemm": gemms,
    "gemm by mma.sync": warp_gemms,
    "gemm by wgmma": warpgroup_gemms,
}


def rivals_of(dry: bool) -> Rivals:
    """Who is there; in a dry run the CPU, and CUDA C++ for sm_90a."""
    if dry:
        return Rivals("cpu", "sm_90a", None)
    from tilewright.runtime.device import arch_of

    triton = None
    if gpu.version("triton") != "none":
        import triton_lang as triton
    return Rivals("cuda", arch_of(0), triton)
