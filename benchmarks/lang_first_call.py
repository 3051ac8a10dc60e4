"""What the first call of a function written in Python costs, with an empty and a filled cache, beside Triton's.

A section of benchmarks/lang.py; every sample is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import gpu

LIMITS = {"vector add": 0.15, "softmax": 0.25, "SIMT GEMM": 0.8}  # seconds, with an empty cache
DISK = 0.05  # from disk
TRACING = {"SIMT GEMM": 0.03}  # of it, with an empty cache
BUDGET = 100.0  # seconds: no new sample after that
HERE = Path(__file__).parent


# --- in the child


def operands_of(what: str, device: str) -> list[torch.Tensor]:
    if what == "vector add":
        return [torch.rand(1 << 20, device=device) for _ in range(3)]
    if what == "softmax":
        return [torch.randn(256, 1024, device=device, dtype=torch.bfloat16) for _ in range(2)]
    a, b, c = (torch.randn(256, 256, device=device) for _ in range(3))
    return [a, b.t(), c]


def expected_of(what: str, operands: list[torch.Tensor]) -> torch.Tensor:
    if what == "vector add":
        return operands[0] + operands[1]
    return torch.softmax(operands[0].float(), 1) if what == "softmax" else operands[0] @ operands[1].t()


def call_of(library: str, what: str, operands: list[torch.Tensor]) -> Callable[[], object]:
    """The call as a user's program has it; all of the library is imported before."""
    if library == "triton":
        import triton_lang

        functions = {
            "vector add": triton_lang.add,
            "softmax": triton_lang.rows("softmax"),
            "SIMT GEMM": triton_lang.gemm,
        }
        return lambda: functions[what](*operands)
    function, given = function_of(what, operands)
    return lambda: function(*given)


def function_of(what: str, operands: list[torch.Tensor]) -> tuple[Callable[..., object], list[object]]:
    """The example's @cute.jit function and its arguments."""
    from lang_problems import example, marked

    if what == "vector add":
        return example("vector_add").add, [*operands]
    given = [marked(x) for x in operands]
    if what == "softmax":
        module = example("rows")
        return module.rows, [module.softmax, *given]
    module = example("pipelined_gemm") or example("article_gemm")
    return module.gemm, given


def timed_tracing() -> list[float]:
    """The seconds that functions are traced from now on, rewriting included."""
    from tilewright.lang.calls.jit import Jit

    seconds, trace = [], Jit.trace

    def timed(*arguments: object) -> object:
        begin = time.perf_counter()
        traced = trace(*arguments)
        seconds.append(time.perf_counter() - begin)
        return traced

    Jit.trace = timed
    return seconds


def child(order: str, dry: bool) -> int:
    """`order` is library:what. Prints the seconds until the call has returned and until its result is there."""
    library, _, what = order.partition(":")
    operands = operands_of(what, "cpu" if dry else "cuda")
    call = call_of(library, what, operands)
    tracing = timed_tracing() if library == "tilewright" else []
    expected = expected_of(what, operands)
    if not dry:
        torch.cuda.synchronize()  # the context is made, the operands are written
    begin = time.perf_counter()
    if dry:
        compile_without_gpu(what, operands)
    else:
        call()
    returned, traced = time.perf_counter() - begin, sum(tracing)
    if dry:
        call()
    else:
        torch.cuda.synchronize()
    there = time.perf_counter() - begin
    error = float((operands[-1].float() - expected).norm() / expected.norm())
    if not error <= 2e-2:
        raise AssertionError(f"{order}: relative error {error:.3g}")
    print(json.dumps({"returned": returned, "there": there, "traced": traced}))
    return 0


def compile_without_gpu(what: str, operands: list[torch.Tensor]) -> None:
    """Trace and NVRTC for sm_90a: what a first call does before it loads the kernel."""
    from tilewright import cute

    function, given = function_of(what, operands)
    compiled = cute.compile[cute.GPUArch("sm_90a")](function, *given)
    assert all(kernel.cubin for kernel in compiled.kernels)


# --- in the parent


def sample(order: str, folder: Path, dry: bool) -> dict[str, float]:
    """Of a process with its caches in this folder. The driver's, in which NVRTC has its own, is empty."""
    command = [sys.executable, str(HERE / "lang.py"), "--child", order, *(["--dry"] if dry else [])]
    with tempfile.TemporaryDirectory() as driver:
        environment = {
            **os.environ,
            "TILEWRIGHT_CACHE_DIR": str(folder / "tilewright"),
            "TRITON_CACHE_DIR": str(folder / "triton"),
            "CUDA_CACHE_PATH": driver,
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{order} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def cached(folder: Path) -> set[Path]:
    """The files in the caches but for locks, which a process makes in any case."""
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


def section(options: argparse.Namespace, report: gpu.Report) -> list[str]:
    """Measure and report; the limits missed."""
    begin = time.perf_counter()
    libraries = ["tilewright"]
    if not options.dry and gpu.version("triton") != "none":
        libraries.append("triton")
    samples: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for repeat in range(1 if options.quick or options.dry else 3):
        for library in libraries:
            if repeat and (library == "triton" or time.perf_counter() - begin > BUDGET):
                continue
            for what in LIMITS:
                with tempfile.TemporaryDirectory() as name:
                    folder = Path(name)
                    for state in ("empty", "disk"):  # the second process finds what the first one left
                        before = cached(folder)
                        found = sample(f"{library}:{what}", folder, options.dry)
                        if library == "tilewright" and (cached(folder) == before) != (state == "disk"):
                            raise RuntimeError(f"{what}: the process did not find the cache as it should be, {state}")
                        samples.setdefault((library, what, state), []).append(found)
    report.add("", "## First call", "")
    report.add(
        "Milliseconds until the call returns and until its result is there: median (range) over processes, which had",
        "imported the library, made the device's context and written the operands before. 'On disk': the process",
        "before has left the kernel in the library's own cache. In both cases nothing else has it: we tell NVRTC",
        "`--no-cache`, and the driver's cache (CUDA_CACHE_PATH) is a new folder for each process."
        + (" Dry: trace and NVRTC for sm_90a." if options.dry else ""),
        "",
        "| library | call | cache | ms until it returns | ms until the result | limit | met | of it tracing |",
        "|" + " --- |" * 8,
    )
    missed = []
    for (library, what, state), kept in samples.items():
        limit = (LIMITS[what] if state == "empty" else DISK) * 1e3 if library == "tilewright" else None
        returned, there, traced = (sorted(1e3 * s[key] for s in kept) for key in ("returned", "there", "traced"))
        median = statistics.median(returned)
        met = "" if limit is None or options.dry else "yes" if median <= limit else "**no**"
        if met == "**no**":
            missed.append(f"first call of {what}, cache {state}: {median:.0f} ms, asked {limit:g}")
        cells = [library, what, "empty" if state == "empty" else "on disk"]
        cells += [f"{statistics.median(x):.3g} ({x[0]:.3g} to {x[-1]:.3g})" for x in (returned, there)]
        cells += ["" if limit is None else f"{limit:g}", met]
        cells.append(f"{statistics.median(traced):.3g}" if library == "tilewright" else "")
        most = 1e3 * TRACING.get(what, math.inf) if state == "empty" and not options.dry else math.inf
        if statistics.median(traced) > most:
            missed.append(f"first call of {what}, tracing: {statistics.median(traced):.0f} ms, asked {most:g}")
        report.add(f"| {' | '.join(cells)} |")
    return missed
