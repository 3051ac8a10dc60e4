"""What a first call costs: cold, from the disk cache, from memory; every sample in a process of its own.

python benchmarks/jit.py [--quick] [--dry] [--out FOLDER]

--dry compiles for sm_90a without a device: NVRTC and the disk cache are measured, loading and launching are not.
"""

from __future__ import annotations

import json
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

LIMITS = {"cold": 80.0, "disk": 2.0}
BUDGET = 50.0  # seconds: no new sample after that


def timed(call: Callable[[], object]) -> float:
    """Milliseconds until the call returns."""
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e3


# --- in the child


def child(order: str, dry: bool) -> dict[str, float]:
    """`order` is library:first,second. Times each call, then again with another shape, then exactly again."""
    library, _, names = order.partition(":")
    device = "cpu" if dry else "cuda"
    rows = {shape: torch.rand(shape, device=device) for shape in ((1024, 1024), (2048, 1024))}
    if not dry:
        torch.cuda.synchronize()  # the context is made, the operands are written
    if library == "tilewright":
        from tilewright import kernels

        calls = {"copy": kernels.tiled_copy, "transpose": kernels.transpose}
    else:
        import triton_rivals

        calls = {"copy": triton_rivals.copy, "transpose": triton_rivals.transpose}

    def bound(name: str, shape: tuple[int, int]) -> tuple[Callable[[], object], torch.Tensor, torch.Tensor]:
        src = rows[shape]
        expected = src if name == "copy" else src.t()
        dst = torch.full(expected.shape, -1.0, device=device)
        if dry:
            plan = kernels.tiled_copy.plan(expected, dst)
            return lambda: plan.compile(arch="sm_90a"), dst, dst
        return lambda: calls[name](src, dst), dst, expected

    result = {}
    for position, name in enumerate(names.split(",")):
        first, dst, expected = bound(name, (1024, 1024))
        other, *_ = bound(name, (2048, 1024))
        if not dry:
            torch.cuda.synchronize()
        place = "first" if position == 0 else "next"
        result[f"{name} {place}"] = timed(first)
        result[f"{name} other shape"] = timed(other)
        result[f"{name} again"] = timed(first)
        if not torch.equal(dst, expected):
            raise AssertionError(f"{library} {name}: the result is wrong")
    return result


# --- in the parent


def sample(order: str, folder: Path, dry: bool) -> dict[str, float]:
    environment = {
        **os.environ,
        "TILEWRIGHT_CACHE_DIR": str(folder / "ours"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }
    command = [sys.executable, __file__, "--child", order, *(["--dry"] if dry else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{order} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    options = gpu.arguments("Time of a first call")
    if options.child:
        print(json.dumps(child(options.child, options.dry)))
        return 0
    begin = time.perf_counter()
    samples: dict[tuple[str, str, str], list[float]] = {}
    orders = ["tilewright:copy,transpose", "tilewright:transpose,copy"]
    if not options.dry and gpu.version("triton") != "none":
        orders.append("triton:copy,transpose")
    errors = []
    for repeat in range(1 if options.quick else 4):
        for order in orders:
            library = order.partition(":")[0]
            if (library == "triton" and repeat > 0) or time.perf_counter() - begin > BUDGET:
                continue
            with tempfile.TemporaryDirectory() as folder:
                for state in ("cold", "disk"):  # the second process finds what the first one left
                    try:
                        found = sample(order, Path(folder), options.dry)
                    except RuntimeError as error:
                        print(error, file=sys.stderr)
                        errors.append(str(error).splitlines()[0])
                        break
                    for what, milliseconds in found.items():
                        samples.setdefault((library, state, what), []).append(milliseconds)
    with gpu.Report("jit", options) as report:
        report.add("# Time of a first call", "", *gpu.machine(options))
        report.add(
            "Milliseconds until the call returns: median (range) over processes, which had imported the library, made",
            "the device's context and written the operands before. 'First' is the first call of the process: it also",
            "loads NVRTC and what else is loaded late; 'next' is another kernel's first call in that process. fp32,",
            "1024 x 1024; the other shape is 2048 x 1024.",
            "",
            "| library | cache | call | ms | limit | met |",
            "| --- | --- | --- | --- | --- | --- |",
        )
        for (library, state, what), kept in samples.items():
            if state == "disk" and what.endswith(("other shape", "again")):
                continue  # the memory's doing, as after a cold call
            first = what.endswith(("first", "next"))
            limit = LIMITS[state] if first and library == "tilewright" else None
            median = statistics.median(kept)
            met = "" if limit is None else "yes" if median <= limit else "**no**"
            figures = f"{median:.3g} ({min(kept):.3g} to {max(kept):.3g})"
            cache = {"cold": "empty", "disk": "on disk"}[state] if first else "in memory"
            report.add(
                f"| {library} | {cache} | {what} | {figures} | {'' if limit is None else f'{limit:g}'} | {met} |"
            )
        for error in errors:
            report.add("", error)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
