"""Run random kernels on a GPU and compare with plain Python, bit for bit; without a GPU, compile them for one.

    PYTHONPATH=tests/oracles:tests/support python tests/gpu/random_programs.py --count 100000 --jobs 16 --quick

Each process takes 200 kernels at a time: it writes them, runs them in plain Python and on the CPU with all checks,
and compiles one module by NVRTC. When all of its share are compiled it launches them. What fails is printed, and the
exit status says whether anything did. A kernel takes about 20 ms of one core for Python and the CPU, and 110 ms for
NVRTC, or 50 with --quick, by which it optimizes less; the launches take little. `--after FILE` leaves the GPU to
others until that file is there; then what is compiled is launched, and the last line says which seeds are left.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import queue
import sys
import time
import warnings
from pathlib import Path
from typing import Any


def compiled_batch(
    first: int, count: int, arch: str, runs: bool, options: tuple[str, ...]
) -> tuple[Any, list[Any], list[str]]:
    """A module of the kernels with these seeds, what they are to give, and what failed already."""
    from kernel_batches import GpuBatch, module_of
    from random_kernels import Program, Random, same

    programs, expected, failures = [], [], []
    for seed in range(first, first + count):
        program = None
        try:
            program = Program(Random(seed))
            values = program.computed()
            if not same(program.executed(seed=seed % 3), values):
                failures.append(f"seed {seed}: the CPU differs from plain Python\n{program}")
                continue
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{program}")
            continue
        programs.append(program)
        expected.append(values)
    if runs:
        return GpuBatch(programs, 0, arch, options), expected, failures
    module_of(programs, arch, options)
    return None, expected, failures


def launched_batch(made: Any, expected: list[Any]) -> list[str]:
    """Which of a module's kernels give something else."""
    from random_kernels import same

    return [
        f"the GPU differs from plain Python\n{program}"
        for program, found, values in zip(made.programs, made.run(), expected, strict=True)
        if not same(found, values)
    ]


def share(
    taken: Any, last: int, together: int, arch: str, runs: bool, options: tuple[str, ...], after: str, said: Any
) -> None:
    """A process's part: batches are taken and compiled, then launched. Each says how many kernels, and what failed."""
    warnings.simplefilter("ignore")
    compiled = []
    while not (after and Path(after).exists()):
        with taken.get_lock():
            start, taken.value = taken.value, min(taken.value + together, last)
        if start == last:
            break
        count = min(together, last - start)
        made, expected, failures = compiled_batch(start, count, arch, runs, options)
        compiled.append((made, expected))
        said.put(("compiled", count, failures))
    while after and not Path(after).exists():
        time.sleep(0.1)
    for made, expected in compiled if runs else []:
        said.put(("launched", len(expected), launched_batch(made, expected)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="how many kernels")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--together", type=int, default=200, help="kernels of a module")
    parser.add_argument("--arch", default="", help="compile for this architecture, and run nothing")
    parser.add_argument("--quick", action="store_true", help="let NVRTC compile quickly")
    parser.add_argument("--after", default="", metavar="FILE", help="launch nothing before this file is there")
    options = parser.parse_args()
    compiling_options = ("--Ofast-compile=mid",) if options.quick else ()
    os.environ["TILEWRIGHT_CACHE_DIR"] = "off"
    from tilewright import _core
    from tilewright.lang.gpu import arch_of

    runs = not options.arch and _core.cuda.driver_path() is not None and _core.cuda.device_count() > 0
    arch = arch_of(0) if runs else options.arch or "sm_90a"
    print(f"{options.count} kernels, {'run on the GPU' if runs else 'compiled only, no GPU'}, {arch}", flush=True)
    last = options.first + options.count
    context = multiprocessing.get_context("spawn")
    said, taken = context.Queue(), context.Value("q", options.first)
    given = (taken, last, options.together, arch, runs, compiling_options, options.after, said)
    processes = [context.Process(target=share, args=given) for _ in range(options.jobs)]
    for process in processes:
        process.start()
    begin, done, failed = time.perf_counter(), {"compiled": 0, "launched": 0}, 0
    while any(process.is_alive() for process in processes) or not said.empty():
        try:
            step, count, failures = said.get(timeout=1)
        except queue.Empty:
            continue
        done[step] += count
        failed += len(failures)
        print(*failures, sep="\n", end="\n" if failures else "")
        counts = ", ".join(f"{number} {name}" for name, number in done.items())
        print(f"{counts}, {failed} failed, {time.perf_counter() - begin:.0f} s", flush=True)
    died = [process.exitcode for process in processes if process.exitcode != 0]
    if died:
        print(f"{len(died)} processes ended with {died}")
    if taken.value < last:
        print(f"left: --first {taken.value} --count {last - taken.value}")
    return int(failed > 0 or bool(died))


if __name__ == "__main__":
    sys.exit(main())
