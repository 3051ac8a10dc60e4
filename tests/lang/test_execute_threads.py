"""What threads do together in kernels that the CPU executes, and what they print."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

from kernel_programs import Kernel, gmem, layout, number, write
from test_execute import CHECKS, clean

# ---- between threads ----


@CHECKS
def test_sum_by_shuffles_and_an_atomic(check):
    def body(k: Kernel):
        a, total = k.parameters
        x = k.load(k.at(a, k.thread_of_grid()))
        for offset in (16, 8, 4, 2, 1):
            x = k.op("add", x, k.op("shuffle_sync", x, k.int32(offset), k.int32(-1), ints=[31], text="bfly"))
        first = k.op("eq", k.op("lane_idx"), 0)
        k.if_(first, lambda: k.op("atomic", x, accesses=[total], text="add") and None)

    a = np.arange(1024, dtype=np.int32)
    total = np.zeros(1, np.int32)
    clean(write({"a": gmem("Int32"), "total": gmem("Int32")}, body).run(4, 256, a, total, check=check))
    assert total[0] == a.sum()


@pytest.mark.parametrize(
    ("how", "clamp", "amount", "source"),
    [
        ("idx", 31, 5, lambda lane: 5),
        ("up", 0, 3, lambda lane: lane - 3 if lane >= 3 else lane),
        ("down", 31, 3, lambda lane: lane + 3 if lane + 3 < 32 else lane),
        ("bfly", 31, 9, lambda lane: lane ^ 9),
        ("down", 31 | 24 << 8, 3, lambda lane: lane + 3 if (lane & 7) + 3 < 8 else lane),
        ("idx", 31 | 16 << 8, 3, lambda lane: (lane & 16) + 3),
    ],
)
def test_shuffles(how, clamp, amount, source):
    def body(k: Kernel):
        (b,) = k.parameters
        lane = k.op("lane_idx")
        value = k.op("mul", lane, 10)
        k.store(k.op("shuffle_sync", value, k.int32(amount), k.int32(-1), ints=[clamp], text=how), k.at(b, lane))

    b = np.zeros(32, np.int32)
    clean(write({"b": gmem("Int32")}, body).run(1, 32, b))
    assert b.tolist() == [10 * source(lane) for lane in range(32)]


def test_votes_match_redux_and_election():
    def body(k: Kernel):
        (b,) = k.parameters
        lane = k.op("lane_idx")
        odd = k.op("eq", k.op("and", lane, 1), 1)
        low = k.op("lt", lane, 40)
        row = [
            k.cast(k.op("vote", odd, k.int32(-1), text="ballot"), "Int32"),
            k.cast(k.op("vote", odd, k.int32(-1), text="any"), "Int32"),
            k.cast(k.op("vote", low, k.int32(-1), text="all"), "Int32"),
            k.cast(k.op("vote", odd, k.int32(-1), text="uni"), "Int32"),
            k.cast(k.op("match", k.op("and", lane, 3), k.int32(-1), text="any"), "Int32"),
            k.op("redux_sync", lane, k.int32(-1), text="max"),
            k.cast(k.op("elect_one"), "Int32"),
            k.op("make_warp_uniform", k.op("add", lane, 7)),
        ]
        k.store(k.op("pack", *row), k.at(b, k.op("mul", lane, 8)), layout(8, 1))

    b = np.zeros((32, 8), np.int32)
    clean(write({"b": gmem("Int32")}, body).run(1, 32, b))
    for lane in range(32):
        among = sum(1 << other for other in range(32) if other % 4 == lane % 4)
        expected = [0xAAAAAAAA, 1, 1, 0, among, 31, int(lane == 0), 7]
        assert b[lane].astype(np.uint32).tolist() == expected


@CHECKS
def test_named_barriers_hand_over(check):
    """Warps 0 and 1 fill two buffers; each of warps 2 and 3 waits for one of them."""

    def body(k: Kernel):
        (b,) = k.parameters
        t, warp = k.thread(), k.op("warp_idx")
        s = k.shared("Int32")
        produces = k.op("lt", warp, 2)

        def produce():
            k.store(k.op("mul", t, t), k.at(s, t))
            k.op("barrier_arrive", k.op("add", warp, 1), k.int32(64))

        def consume():
            k.op("barrier", k.op("sub", warp, 1), k.int32(64))
            k.store(k.load(k.at(s, k.op("sub", t, 64))), k.at(b, k.op("sub", t, 64)))

        k.if_(produces, produce, consume)

    b = np.zeros(64, np.int32)
    clean(write({"b": gmem("Int32")}, body, shared_bytes=256).run(1, 128, b, check=check))
    assert b.tolist() == [t * t for t in range(64)]


@pytest.mark.parametrize("how", ["add", "min", "max", "and", "or", "xor", "exch"])
def test_atomics(how):
    def body(k: Kernel):
        a, b, old = k.parameters
        t = k.thread()
        k.store(k.op("atomic", k.load(k.at(a, t)), accesses=[k.at(b, k.op("and", t, 3))], text=how), k.at(old, t))

    functions = {
        "add": lambda x, y: x + y,
        "min": min,
        "max": max,
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
        "exch": lambda x, y: y,
    }
    a = np.random.default_rng(5).integers(-100, 100, 64).astype(np.int32)
    b, old = np.full(4, 12, np.int32), np.zeros(64, np.int32)
    clean(write({"a": gmem("Int32"), "b": gmem("Int32"), "old": gmem("Int32")}, body).run(1, 64, a, b, old))
    expected, before = [12] * 4, []
    for t in range(64):
        before.append(expected[t & 3])
        expected[t & 3] = functions[how](expected[t & 3], int(a[t]))
    assert b.tolist() == expected
    assert old.tolist() == before


def test_compare_and_swap():
    def body(k: Kernel):
        (b,) = k.parameters
        t = k.thread()
        k.op("atomic", k.op("add", t, 1), t, accesses=[b], text="cas")

    b = np.zeros(1, np.int32)
    clean(write({"b": gmem("Int32")}, body).run(1, 96, b))
    assert b[0] == 96


def test_threads_do_not_change_results():
    """Which of many atomics comes first does not depend on how many threads the CPU uses."""

    def body(k: Kernel):
        a, b = k.parameters
        i = k.thread_of_grid()
        k.op("atomic", k.load(k.at(a, i)), accesses=[b], text="add")

    a = np.random.default_rng(6).random(4096, np.float32)
    kernel = write({"a": gmem("Float32"), "b": gmem("Float32")}, body)
    results = set()
    for threads in (1, 2, 3):
        b = np.zeros(1, np.float32)
        clean(kernel.run(32, 128, a, b, check=False, threads=threads))
        results.add(float(b[0]))
    assert len(results) == 1


# ---- the rest ----


@pytest.mark.parametrize("threads", [1, 3])
def test_printf(threads):
    def body(k: Kernel):
        x = k.op("mul", k.constant("Float32", 1.57), 2.0)
        k.if_(
            k.op("eq", k.thread(), 33),
            lambda: k.op("printf", k.block(), x, k.thread(), text="block {}: {} %5d|%% {}\n") and None,
        )

    output = clean(write({}, body).run(3, 64, check=False, threads=threads))
    assert output == "".join(f"block {block}: 3.140000    33|% {{}}\n" for block in range(3))


def test_assertion_and_trap_stop_their_cta():
    def body(k: Kernel):
        (b,) = k.parameters
        k.line(5)
        k.op("assert", k.op("ne", k.thread(), 40), text="not 40")
        k.line(6)
        k.if_(k.op("eq", k.block(), 1), lambda: k.op("trap"))
        k.line(7)
        k.store(k.int32(1), k.at(b, k.block()))

    kernel = write({"b": gmem("Int32")}, body)
    b = np.zeros(3, np.int32)
    findings, _ = kernel.run(3, 64, b, check=False)
    assert [(f.kind, f.line, f.count) for f in findings] == [("assertion", 5, 2), ("trap", 6, 32)]
    assert "not 40" in findings[0].message
    assert findings[0].thread == ((0, 0, 0), (40, 0, 0))


def test_inline_asm_that_is_known_and_that_is_not():
    def body(k: Kernel, text="fma.rn.f32 $0, $1, $2, $3;\n=f,f,f,f"):
        (b,) = k.parameters
        x = k.load(b)
        y = k.op("inline_asm", x, x, x, type=number("Float32"), text=text, ints=[0])
        k.store(y, b)

    b = np.array([3], np.float32)
    clean(write({"b": gmem("Float32")}, body).run(1, 1, b))
    assert b[0] == 12
    for text in ("mma.sync $0, $1, $2, $3;", "add.f32 $0, $1, $4;", "st.shared.f32 [$1], $2;", "fma.f32 $0, $2, $1;"):
        kernel = write({"b": gmem("Float32")}, lambda k, text=text: body(k, text + "\n=f,f,f,f"))
        with pytest.raises(RuntimeError, match=r"kernel\.py:1: inline_asm cannot be executed by the CPU: it knows no"):
            kernel.run(1, 1, b)


def test_bad_launches_are_refused():
    kernel = write({"b": gmem("Int32")}, lambda k: None)
    b = np.zeros(1, np.int32)
    with pytest.raises(RuntimeError, match=r"grid \(0,1,1\): expected extents above 0"):
        kernel.run(0, 1, b)
    with pytest.raises(RuntimeError, match="at most 1024 threads, not 2048"):
        kernel.run(1, (32, 64), b)


def test_where_a_thread_stands():
    names = ["thread_idx", "block_idx", "block_dim", "grid_dim", "cluster_idx", "cluster_dim", "block_in_cluster_idx"]

    def body(k: Kernel):
        (b,) = k.parameters
        of_three = [k.op(name, ints=[d]) for name in names for d in range(3)]
        of_one = [k.op(name) for name in ("lane_idx", "warp_idx", "block_idx_in_cluster", "dynamic_smem_size")]
        linear = k.op("add", k.block(0), k.op("mul", k.block(1), 4))
        thread = k.op("add", k.thread(0), k.op("mul", k.thread(1), 8))
        place = k.op("mul", k.op("add", k.op("mul", linear, 40), thread), 25)
        k.store(k.op("pack", *of_three, *of_one), k.at(b, place), layout(25, 1))

    b = np.zeros((2, 4, 5, 8, 25), np.int32)
    kernel = write({"b": gmem("Int32", 4)}, body, shared_bytes=64)
    clean(kernel.run((4, 2), (8, 5), b, cluster=[2, 2, 1]))
    for y, x, ty, tx in np.ndindex(2, 4, 5, 8):
        thread = tx + 8 * ty
        expected = [tx, ty, 0, x, y, 0, 8, 5, 1, 4, 2, 1, x // 2, y // 2, 0, 2, 2, 1, x % 2, y % 2, 0]
        assert b[y, x, ty, tx].tolist() == [*expected, thread % 32, thread // 32, x % 2 + 2 * (y % 2), 64]


def test_control_c_ends_a_loop_without_end():
    def body(k: Kernel):
        k.while_([k.int32(0)], lambda i: [k.op("ge", i, 0), i], lambda i: [k.op("and", k.op("add", i, 1), 15)])

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            write({}, body).run(1, 32, limit=10**9)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
