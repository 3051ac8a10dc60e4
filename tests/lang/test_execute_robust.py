"""Launches that are too large, never end, fail or run beside each other leave the process as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kernel_programs import Kernel, found, gmem, kinds, write
from tilewright._core import program

INT32 = gmem("Int32")


def nothing(k: Kernel):
    k.line(10)


def endless(k: Kernel):
    k.line(10)
    k.while_([k.int32(0)], lambda i: [k.op("ge", i, 0), i], lambda i: [k.op("and", k.op("add", i, 1), 15)])


# ---- what a GPU does not take ----


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        ([2**31], [1], r"grid .*: expected at most \(2147483647,65535,65535\)"),
        ([1, 65536], [1], "grid .*: expected at most"),
        ([0], [1], "grid .*: expected extents above 0"),
        ([1], [1025], r"block .*: expected at most \(1024,1024,64\)"),
        ([1], [2**40, 2**40], "block .*: expected at most"),
        ([1], [1, 1, 65], "block .*: expected at most"),
        ([1], [64, 32], "at most 1024 threads"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_grids_and_blocks_that_are_too_large(grid, block, message, check):
    with pytest.raises(program.ProgramError, match=message):
        write({}, nothing).run(grid, block, check=check)


def test_shared_memory_at_the_limit():
    limit = 227 * 1024

    def body(k: Kernel):
        k.line(10)
        k.store(k.int32(1), k.at(k.shared("Int32"), k.op("add", k.thread(), limit // 4 - 32)))
        k.line(11)
        k.if_(k.op("eq", k.thread(), 31), lambda: k.store(k.int32(1), k.at(k.shared("Int32"), k.int32(limit // 4))))

    assert found(write({}, body, shared_bytes=limit).run(1, 32)[0]) == {("out of bounds", 11)}
    with pytest.raises(program.ProgramError, match="at most 232448 bytes of shared memory, not 232449"):
        write({}, body, shared_bytes=limit + 1).run(1, 32)


# ---- what does not end ----


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("grid", [(1, 1, 1), (2**31 - 1, 65535, 65535)])
def test_control_c_ends_what_would_take_years(grid, check):
    """One CTA of 32 warps that never ends, or as many CTAs as there can be."""
    kernel = write({}, endless if grid == (1, 1, 1) else nothing)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    started = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel.run(grid, 1024, check=check)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - started < 20
    b = np.zeros(32, np.int32)
    again = write({"b": INT32}, lambda k: k.store(k.thread(), k.at(k.parameters[0], k.thread())))
    assert again.run(1, 32, b, check=check)[0] == []
    assert b.tolist() == list(range(32))


def test_deadlocks_of_1024_threads():
    """Each warp waits at a barrier of its own, of those that there are, for all the others."""

    def body(k: Kernel):
        k.line(10)
        k.op("barrier", k.op("and", k.op("warp_idx"), 15), k.int32(1024))

    findings = write({}, body).run(1, 1024)[0]
    assert kinds(findings) == {"deadlock"}
    assert found(findings) == {("deadlock", 10)}
    assert "64 of 1024 threads" in findings[0].message


# ---- many findings ----


def test_a_million_findings_are_told_by_a_few():
    def body(k: Kernel):
        i = k.thread_of_grid()
        for line in range(10, 74):
            k.line(line)
            k.store(i, k.at(k.parameters[0], k.op("add", i, 1 << 20)))
            k.store(i, k.parameters[0])

    findings = write({"a": INT32}, body).run(16, 1024, np.zeros(4, np.int32))[0]
    assert sum(f.count for f in findings if f.kind == "out of bounds") == 32 * 16 * 1024
    assert len(findings) <= 64
    assert sum(f.count for f in findings) > 10**6


# ---- beside each other ----


def sums(k: Kernel):
    """Each block adds its numbers up in shared memory."""
    a, b = k.parameters
    t = k.thread()
    s = k.shared("Int32")
    k.store(k.load(k.at(a, k.thread_of_grid())), k.at(s, t))
    for half in (32, 16, 8, 4, 2, 1):
        k.sync()
        mine = k.at(s, t)
        k.if_(
            k.op("lt", t, half),
            lambda mine=mine, half=half: k.store(
                k.op("add", k.load(mine), k.load(k.at(s, k.op("add", t, half)))), mine
            ),
        )
    k.if_(k.op("eq", t, 0), lambda: k.store(k.load(s), k.at(b, k.block())))


def test_eight_python_threads():
    kernel = write({"a": INT32, "b": INT32}, sums, shared_bytes=256)
    wrong: list[object] = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for check in (True, False, True):
            a, b = rng.integers(0, 1000, 64 * 64).astype(np.int32), np.zeros(64, np.int32)
            findings, _ = kernel.run(64, 64, a, b, check=check, seed=seed)
            if findings or not np.array_equal(b, a.reshape(64, 64).sum(1)):
                wrong.append((seed, findings))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("check", [True, False])
def test_python_goes_on_while_a_kernel_runs(check):
    """The other thread ends the kernel's wait: with the GIL held nobody would."""
    flag = np.zeros(1, np.int32)

    def body(k: Kernel):
        flag = k.parameters[0]
        k.while_([k.int32(0)], lambda x: [k.op("eq", x, 0), x], lambda _: [k.load(flag)])

    def release():
        time.sleep(0.2)
        flag[0] = 1

    thread = threading.Thread(target=release)
    thread.start()
    assert write({"flag": INT32}, body).run(1, 32, flag, check=check)[0] == []
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_runs_kernels():
    program = """
import os, sys
sys.path[:0] = sys.argv[1:]
import numpy as np
from tilewright._core import program

from kernel_programs import write
from test_execute_robust import INT32, sums
kernel = write({"a": INT32, "b": INT32}, sums, shared_bytes=256)
def run(check):
    a, b = np.ones(64 * 512, np.int32), np.zeros(512, np.int32)
    return kernel.run(512, 64, a, b, check=check)[0] == [] and (b == 64).all()
assert run(True) and run(False)
child = os.fork()
if child == 0:
    os._exit(0 if run(True) and run(False) else 1)
assert os.waitpid(child, 0)[1] == 0
assert run(True) and run(False)
"""
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, "-c", program, here, os.path.join(here, "..", "support")], check=True, timeout=120)


# ---- what is told after a failure ----


def test_a_kernel_that_stopped_leaves_nothing_behind():
    """The same program after a trap, a deadlock and a race in it: what one launch has found, the next forgets."""

    def body(k: Kernel):
        b, mode = k.parameters
        t, s = k.thread(), k.shared("Int32")
        k.line(10)
        k.if_(k.op("eq", mode, 1), lambda: k.op("trap"))
        k.line(11)
        k.if_(k.op("and", k.op("eq", mode, 2), k.op("lt", t, 32)), lambda: k.op("barrier", k.int32(1), k.int32(64)))
        k.line(12)
        k.store(t, k.at(s, t))
        k.line(13)
        k.if_(k.op("ne", mode, 3), lambda: k.sync())
        k.line(14)
        k.store(k.load(k.at(s, k.op("xor", t, 32))), k.at(b, t))

    kernel = write({"b": INT32, "mode": "Int32"}, body, shared_bytes=256)
    for mode, expected in [
        (0, set()),
        (1, {"trap"}),
        (0, set()),
        (2, {"deadlock"}),
        (0, set()),
        (3, {"race"}),
        (0, set()),
    ]:
        b = np.zeros(64, np.int32)
        findings, _ = kernel.run(1, 64, b, np.int32(mode))
        assert expected <= kinds(findings)
        assert (findings == []) == (mode == 0)
