"""Run random kernels on a GPU and compare with plain Python, bit for bit; without a GPU, compile them for one.

    PYTHONPATH=tests/oracles:tests/support python tests/gpu/random_programs.py --count 100000 --jobs 16

Each process takes 200 kernels at a time: it writes them, runs them in plain Python and on the CPU with all checks,
compiles one module by NVRTC, and launches every kernel. What fails is made shorter and printed; the exit status says
whether anything did.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import warnings


def batch(first: int, count: int, arch: str, runs: bool) -> tuple[list[str], float]:
    """What failed of the kernels with these seeds, and the seconds of compiling."""
    from kernel_batches import GpuBatch, module_of
    from random_kernels import Program, Random, same

    warnings.simplefilter("ignore")
    programs, expected, failures = [], [], []
    for seed in range(first, first + count):
        program = Program(Random(seed))
        try:
            values = program.computed()
            if not same(program.executed(seed=seed % 3), values):
                failures.append(f"seed {seed}: the CPU differs from plain Python\n{program}")
                continue
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{program}")
            continue
        programs.append(program)
        expected.append(values)
    begin = time.perf_counter()
    if not runs:
        module_of(programs, arch)
        return failures, time.perf_counter() - begin
    made = GpuBatch(programs, 0, arch)
    seconds = time.perf_counter() - begin
    for program, found, values in zip(programs, made.run(), expected, strict=True):
        if not same(found, values):
            failures.append(f"the GPU differs from plain Python\n{program}")
    return failures, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="how many kernels")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--together", type=int, default=200, help="kernels of a module")
    parser.add_argument("--arch", default="", help="compile for this architecture, and run nothing")
    options = parser.parse_args()
    os.environ["TILEWRIGHT_CACHE_DIR"] = "off"
    from tilewright import _core
    from tilewright.lang.gpu import arch_of

    runs = not options.arch and _core.cuda.driver_path() is not None and _core.cuda.device_count() > 0
    arch = arch_of(0) if runs else options.arch or "sm_90a"
    print(f"{options.count} kernels, {'run on the GPU' if runs else 'compiled only, no GPU'}, {arch}")
    begin, done, failures, compiling = time.perf_counter(), 0, 0, 0.0
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.jobs) as pool:
        jobs = []
        for start in range(options.first, options.first + options.count, options.together):
            count = min(options.together, options.first + options.count - start)
            jobs.append((count, pool.apply_async(batch, (start, count, arch, runs))))
        for count, job in jobs:
            found, seconds = job.get()
            done, failures, compiling = done + count, failures + len(found), compiling + seconds
            for text in found:
                print(text)
            print(f"{done} done, {failures} failed, {time.perf_counter() - begin:.0f} s, compiling {compiling:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
