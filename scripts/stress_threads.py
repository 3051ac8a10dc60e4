"""Use tilewright from several threads at once: `make tsan` runs this with the module under ThreadSanitizer.

Each kind of work runs in all threads at the same time, over the same objects, for a while; each result is compared. A
free-threaded Python runs them in parallel; another one where the module lets go of the GIL.

    scripts/stress_threads.py [--threads N] [--seconds S] [KIND ...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

if TYPE_CHECKING:
    from collections.abc import Callable

LAUNCHES = 50  # of a launcher in a row


def algebra() -> Callable[[int], object]:
    from tilewright import cute

    a, b = cute.make_layout((6, 2), stride=(8, 2)), cute.make_layout((4, 3), stride=(3, 1))

    def work(i: int) -> None:
        assert str(cute.composition(a, b)) == "((2,2),3):((24,2),8)"
        n = 2 + i % 30
        layout = cute.make_layout((n, 4), stride=(4, 1))
        assert cute.size(cute.logical_divide(layout, (2, 2))) >= 4 * n
        assert layout.offsets().sum() == sum(range(4 * n))
        assert "24" in str(cute.explain(cute.composition, a, b))
        try:
            wrong: object = cute.composition("(3,4):(4,1)", "4:2")
        except cute.LayoutError as error:
            wrong = error.counterexample
        assert wrong == (2, 1, 5)

    return work


def show() -> Callable[[int], object]:
    from tilewright import cute

    layout = cute.make_layout((8, 8), stride=(8, 1))
    expected = cute.show(layout).svg()

    def work(i: int) -> None:
        assert cute.show(layout).svg() == expected
        assert "0" in str(cute.show(cute.make_layout((2 + i % 3, 4))))

    return work


def analysis() -> Callable[[int], object]:
    from tilewright import Float32, analyze, cute

    layout = cute.make_layout(32, stride=32)

    def work(i: int) -> None:
        assert "32-way bank conflict" in str(analyze(layout, Float32, memory="shared"))

    return work


def kernels_on_the_cpu() -> Callable[[int], object]:
    from stressed_kernel import scale
    from tilewright import cute, kernels

    a = np.arange(96, dtype=np.float32).reshape(8, 12)
    expected = a @ a.T

    def work(i: int) -> None:
        x = np.arange(256 + i % 4, dtype=np.float32)
        y = np.zeros_like(x)
        scale(cute.from_dlpack(x), cute.from_dlpack(y))
        assert np.array_equal(y, 2 * x)
        assert np.array_equal(kernels.gemm(a, a), expected)
        assert np.array_equal(kernels.transpose(a, np.empty((12, 8), np.float32)), a.T)
        if i % 8 == 0:
            assert cute.profile(scale, cute.from_dlpack(x), cute.from_dlpack(y)).total.requests > 0

    return work


def tracing() -> Callable[[int], object]:
    from stressed_kernel import powers
    from tilewright import cute

    x, y = np.full(32, 2, np.float32), np.zeros(32, np.float32)
    source = {n: cute.compile[cute.GPUArch("sm_90a")](powers, x, y, n, 32).source for n in range(4)}
    assert len(set(source.values())) == 4

    def work(i: int) -> None:
        n, result = i % 4, np.zeros(32, np.float32)
        assert cute.compile[cute.GPUArch("sm_90a")](powers, x, y, n, 32).source == source[n]
        powers(cute.from_dlpack(x), cute.from_dlpack(result), n, 32, no_cache=i % 2 == 0)
        assert np.array_equal(result, np.arange(32, 0, -1) * 2**n)

    return work


def compiling() -> Callable[[int], object]:
    from tilewright.runtime.compiler import compile_program

    def work(i: int) -> None:
        text = f'extern "C" __global__ void k(int* x) {{ *x = {i}; }}'  # the same in all threads
        program = compile_program("stress", ["k"], "sm_90a", source=text)
        assert f", {i};" in program.ptx
        assert program.cubin

    return work


def cache() -> Callable[[int], object]:
    from tilewright.runtime.cache import Cache

    shared = Cache(tempfile.mkdtemp(prefix="tilewright-stress-"), limit_bytes=1 << 20)

    def work(i: int) -> None:
        key = f"{i % 16:064x}"
        found, _ = shared.get_or_make(key, lambda: {"cubin": key.encode() * 100})
        assert found == {"cubin": key.encode() * 100}
        if i % 50 == 49:
            shared.clear()

    return work


def launcher() -> Callable[[int], object]:
    """On a driver made for the tests."""
    from launches import array_type, one_kernel
    from tilewright import runtime
    from tilewright._core import cuda

    function = cuda.load(0, b"cubin").function("kernel")
    array = array_type(device_type=2)

    def slow(src: object, dst: object, number: object = 0) -> tuple[str, object]:
        return "slow", one_kernel(function, (1, 1, 1), (32, 1, 1), 0, bytes(16), [(0, 0, 0), (1, 8, 0)], result=1)

    def two_kernels(src: object, dst: object) -> tuple[str, object]:
        kernels = [cuda.Kernel(function, (1, 1, 1), (32, 1, 1), 0, bytes(16), [(0, 0, 0), (-1, 8, 0)])] * 2
        return "slow", cuda.Prepared(kernels, result=1, workspace=lambda stream: (None, (4096,)))

    shared, several = cuda.Launcher(slow, ("src", "dst", "number")), cuda.Launcher(two_kernels)

    def work(i: int) -> None:
        a, b = array(data=4096 * (i + 1)), array(data=8192)
        for number in range(LAUNCHES):
            assert shared(a, b, number % 7) in (b, "slow")
            assert several(a, b) in (b, "slow")
        if i % 16 == 0:
            shared.clear()
            told: list[object] = []
            with runtime.on_launch(told.append):
                shared(a, b)
                shared(a, b)
            assert told

    return work


KINDS = {
    "algebra": algebra,
    "show": show,
    "analysis": analysis,
    "kernels": kernels_on_the_cpu,
    "tracing": tracing,
    "compiling": compiling,
    "cache": cache,
    "launcher": launcher,
}


def stress(work: Callable[[int], object], threads: int, seconds: float) -> int:
    """How often it was done in all threads; what one of them raises is raised."""
    barrier, errors, counts = threading.Barrier(threads), [], [0] * threads

    def run(thread: int) -> None:
        barrier.wait()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end and not errors:
                work(counts[thread])
                counts[thread] += 1
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10, help="of each kind")
    given = parser.parse_args()
    if "launcher" in (given.kinds or KINDS) and "TILEWRIGHT_STRESS_DRIVER" not in os.environ:
        _start_again_with_the_driver()
    kinds, total = given.kinds or list(KINDS), 0
    with tempfile.TemporaryDirectory(prefix="tilewright-stress-") as folder:
        os.environ["TILEWRIGHT_CACHE_DIR"] = folder
        for name in kinds:
            times = stress(KINDS[name](), given.threads, given.seconds)
            print(f"{name:10} {times:>8} times", flush=True)
            total += times
    gil = "with" if getattr(sys, "_is_gil_enabled", lambda: True)() else "without"
    if sysconfig.get_config_var("Py_GIL_DISABLED") and gil == "with":
        sys.exit("the module has switched the GIL on")
    python = f"Python {sys.version.split()[0]} {gil} the GIL"
    print(f"{total:,} operations of {len(kinds)} kinds by {given.threads} threads, {python}")


def _start_again_with_the_driver() -> None:
    """The loader reads its path when a process starts."""
    folder = tempfile.mkdtemp(prefix="tilewright-driver-")
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    library = str(Path(folder, "libcuda.so.1"))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, str(ROOT / "tests/runtime/fake_driver.c")], check=True)
    path = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    os.environ.update(LD_LIBRARY_PATH=path, TILEWRIGHT_STRESS_DRIVER=library)
    os.execv(sys.executable, [sys.executable, *sys.argv])


if __name__ == "__main__":
    main()
