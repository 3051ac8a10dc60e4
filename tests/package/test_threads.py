"""Eight threads do the same things at once, and each gets what one thread alone gets."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from random import Random

import numpy as np
import pytest

from tilewright import Float32, Int32, LayoutError, analyze, cute, kernels
from tilewright.cute.runtime import from_dlpack

THREADS = 8


@cute.kernel
def _add_kernel(x: cute.Tensor, y: cute.Tensor, n: Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        y[i] = x[i] + y[i]


@cute.jit
def _add(x: cute.Tensor, y: cute.Tensor, n: Int32):
    _add_kernel(x, y, n).launch(block=[32, 1, 1])


def composed(random):
    a = cute.make_layout((random.choice((2, 3, 4, 6)), 4, 3), stride=(random.randint(0, 9), random.randint(1, 40), 64))
    b = cute.make_layout((random.choice((2, 3, 4)), 2), stride=(random.randint(1, 6), random.randint(1, 6)))
    try:
        return str(cute.composition(a, b))
    except LayoutError as error:
        return str(error)


def divided(random):
    return str(cute.zipped_divide(cute.make_layout((16 * random.randint(1, 4), 8)), (4, random.choice((2, 4)))))


def basis(random):
    return str(cute.make_identity_layout((random.randint(2, 9), random.randint(2, 9))))


def multiplied(random):
    m, k = random.randint(1, 12), random.randint(1, 24)
    return kernels.gemm(np.full((m, k), 2, np.float32), np.ones((3, k), np.float32)).tolist()


def moved(random):
    return kernels.transpose(np.arange(6 * random.randint(1, 9), dtype=np.int16).reshape(6, -1)).tolist()


def planned(random):
    x = np.empty((8 * random.randint(1, 6), 64), np.float16)
    return str(kernels.gemm.plan(x, np.empty((16, 64), np.float16), arch=random.choice(("sm_80", "sm_90a"))))


def launched(random):
    x, y, n = np.arange(32, dtype=np.float32), np.ones(32, np.float32), random.randint(1, 32)
    _add(x, y, n)
    return y.tolist()


def predicted(random):
    return str(analyze(cute.make_layout(32, stride=random.choice((1, 2, 32, 33))), Float32, memory="shared"))


def imported(random):
    array = np.arange(40, dtype=np.int32)[random.randint(0, 9) :: random.randint(1, 3)]
    tensor = from_dlpack(array)
    return str(tensor.layout), np.from_dlpack(tensor).tolist()


WORK = [composed, divided, basis, multiplied, moved, planned, launched, predicted, imported]


def done(seed, steps):
    """What the steps of a seed give."""
    random = Random(seed)
    return [random.choice(WORK)(random) for _ in range(steps)]


@pytest.mark.parametrize("steps", [60, pytest.param(3000, marks=pytest.mark.nightly)])
def test_8_threads(steps, record_property):
    expected = done(1, steps)
    found: dict[int, object] = {}
    start = threading.Barrier(THREADS)

    def work(number):
        start.wait()
        try:
            found[number] = done(1, steps)
        except BaseException as error:
            found[number] = error

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == THREADS
    for result in found.values():
        assert result == expected
    record_property("figure", f"{THREADS * steps:,} operations by {THREADS} threads")


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has its GIL")
def test_importing_leaves_the_gil_off():
    """Python says so by a warning where a module switches it on."""
    text = "import sys, tilewright; print(tilewright.cute.make_layout(4), sys._is_gil_enabled())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], text=True, capture_output=True)
    assert (done.stdout, done.stderr) == ("4:1 False\n", "")
