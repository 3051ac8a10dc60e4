"""Defects that were planted in kernels: each is found, on its line, and the kernel without it is clean."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_programs import Kernel, found, gmem, kinds, layout, pointer, program, write
from test_execute import gemm

I32 = gmem("Int32")


def run(body, *, threads=64, grid=1, shared=1024, n=64, seed=0, **parameters):
    """Findings of a kernel over an array `a` of n integers and one `b` of results."""
    a, b = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    kernel = write({"a": I32, "b": I32, **parameters}, body, shared_bytes=shared)
    return kernel.run(grid, threads, a, b, seed=seed, limit=100_000)[0]


def exchange(k: Kernel, between, *, other=lambda k, t: k.op("xor", t, 32)):
    """Each thread writes its place of shared memory in line 10, and reads another one's in line 20."""
    a, b = k.parameters[:2]
    t = k.thread()
    s = k.shared("Int32")
    k.line(10)
    k.store(k.load(k.at(a, t)), k.at(s, t))
    k.line(15)
    between(k)
    k.line(20)
    value = k.load(k.at(s, other(k, t)))
    k.line(30)
    k.store(value, k.at(b, t))


# ---- races in shared memory ----


def test_a_barrier_orders_what_two_warps_do():
    assert run(lambda k: exchange(k, lambda k: k.sync())) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_missing_barrier(seed):
    findings = run(lambda k: exchange(k, lambda k: None), seed=seed)
    assert "race" in kinds(findings)
    (race,) = [f for f in findings if f.kind == "race"]
    # Whichever comes first: the other side is told, too.
    assert {race.line, race.other_place[1]} == {10, 20}
    assert race.space == "smem"
    (block, thread), (_, other) = race.thread, race.other_thread
    assert block == (0, 0, 0)
    assert thread[0] ^ other[0] == 32
    assert race.address == 4 * (thread[0] if race.line == 10 else other[0])


def neighbour(k: Kernel, t):
    return k.op("xor", t, 1)


def test_lanes_of_a_warp_need_sync_warp():
    findings = run(lambda k: exchange(k, lambda k: None, other=neighbour))
    assert found(findings) == {("race", 20)}
    assert "sync_warp" in findings[0].message
    assert run(lambda k: exchange(k, lambda k: k.op("sync_warp"), other=neighbour)) == []


def test_sync_warp_of_some_lanes_orders_those():
    def between(mask):
        return lambda k: k.op(
            "sync_warp", k.op("select", k.op("lt", k.op("lane_idx"), 16), k.int32(0xFFFF), k.int32(mask))
        )

    assert run(lambda k: exchange(k, between(-65536), other=neighbour)) == []
    across = run(lambda k: exchange(k, between(-65536), other=lambda k, t: k.op("xor", t, 16)))
    assert found(across) == {("race", 20)}


def test_shuffles_order_no_memory():
    def between(k: Kernel):
        k.op("shuffle_sync", k.thread(), k.int32(1), k.int32(-1), ints=[31], text="bfly")

    assert found(run(lambda k: exchange(k, between, other=neighbour))) == {("race", 20)}


def test_writing_again_what_others_still_read():
    def body(k: Kernel, second_barrier: bool):
        b = k.parameters[1]
        t = k.thread()
        s = k.shared("Int32")

        def step(i):
            k.line(10)
            k.store(k.op("add", t, i), k.at(s, t))
            k.line(11)
            k.sync()
            k.line(12)
            k.store(k.load(k.at(s, k.op("xor", t, 32))), k.at(b, t))
            k.line(13)
            if second_barrier:
                k.sync()

        k.for_(0, 3, 1, [], step)

    assert found(run(lambda k: body(k, False))) & {("race", 10), ("race", 12)}
    assert run(lambda k: body(k, True)) == []


@pytest.mark.parametrize(("reader", "writer"), [(1, 0), (1, 33), (34, 0)])
def test_writing_what_one_other_thread_has_read(reader, writer):
    """The reader's own warp may write, too: what counts is that nobody waits."""

    def body(k: Kernel, barrier: bool):
        b, t = k.parameters[1], k.thread()
        s = k.shared("Int32")
        k.line(5)
        k.if_(k.op("eq", t, 0), lambda: k.store(k.int32(1), s))
        k.line(6)
        k.sync()
        k.line(10)
        k.if_(k.op("eq", t, reader), lambda: k.store(k.load(s), k.at(b, t)))
        k.line(11)
        if barrier:
            k.sync()
        k.line(20)
        k.if_(k.op("eq", t, writer), lambda: k.store(k.int32(2), s))

    assert run(lambda k: body(k, True)) == []
    (race,) = run(lambda k: body(k, False))
    assert race.kind == "race"
    assert {race.line, race.other_place[1]} == {10, 20}
    assert {race.thread[1][0], race.other_thread[1][0]} == {reader, writer}


def test_two_threads_write_one_place():
    def body(k: Kernel):
        k.line(10)
        k.store(k.thread(), k.at(k.shared("Int32"), k.op("shr", k.thread(), 1)))

    (race,) = run(body)
    assert (race.kind, race.line) == ("race", 10)
    assert "in one instruction" in race.message
    assert race.thread[1][0] ^ race.other_thread[1][0] == 1


def test_atomics_race_with_others_only():
    def body(k: Kernel, plain: bool):
        b = k.parameters[1]
        s = k.shared("Int32")
        k.line(5)
        k.if_(k.op("eq", k.thread(), 0), lambda: k.store(k.int32(0), s))
        k.line(6)
        k.sync()
        k.line(10)
        k.op("atomic", k.int32(1), accesses=[s], text="add")
        k.line(11)
        if not plain:
            k.sync()
        k.line(12)
        k.store(k.load(s), k.at(b, k.thread()))

    assert run(lambda k: body(k, False)) == []
    findings = run(lambda k: body(k, True))
    assert {("race", 10), ("race", 12)} & found(findings)


@pytest.mark.parametrize("id_of_reader", [1, 2])
def test_named_barriers_order_those_who_meet(id_of_reader):
    """Warp 0 writes and arrives at barrier 1; warp 1 reads behind barrier 1, or behind one at which nobody wrote."""

    def body(k: Kernel):
        b = k.parameters[1]
        t, s = k.thread(), k.shared("Int32")

        def first():
            k.line(10)
            k.store(t, k.at(s, t))
            k.line(11)
            k.op("barrier_arrive", k.int32(1), k.int32(64))

        def other():
            k.line(20)
            k.op("barrier", k.int32(id_of_reader), k.int32(64 if id_of_reader == 1 else 32))
            k.line(21)
            k.store(k.load(k.at(s, k.op("sub", t, 32))), k.at(b, t))

        k.if_(k.op("eq", k.op("warp_idx"), 0), first, other)

    findings = run(body)
    assert ("race" in kinds(findings)) == (id_of_reader == 2)


def test_bytes_side_by_side_do_not_race():
    def body(k: Kernel):
        t = k.thread()
        k.store(k.cast(t, "Int8"), k.at(k.shared("Int8"), t))

    assert run(body) == []


# ---- races in global memory ----


def test_ctas_race():
    def body(k: Kernel):
        b = k.parameters[1]
        k.line(10)
        k.store(k.block(), k.at(b, k.thread()))

    (race,) = run(body, grid=2)
    assert (race.kind, race.line, race.space, race.tensor) == ("race", 10, "gmem", "b")
    assert race.coordinate == (race.thread[1][0],)
    assert race.thread[0] != race.other_thread[0]


def test_one_cta_reads_what_another_writes():
    def body(k: Kernel):
        a, b = k.parameters
        i, t = k.thread_of_grid(), k.thread()
        k.line(10)
        k.store(i, k.at(a, i))
        k.line(20)
        k.store(k.load(k.at(a, k.op("sub", 63, i))), k.at(b, i))
        del t

    findings = run(body, grid=2, threads=32)
    assert kinds(findings) == {"race"}
    assert {(f.line, f.other_place[1]) for f in findings} <= {(20, 10), (10, 20)}


def last_cta_sums(k: Kernel, *, fences: bool, order=()):
    """Each CTA writes; the one whose atomic comes last reads what all wrote."""
    a, b, counter = k.parameters
    block = k.block()

    def tid0():
        k.line(10)
        k.store(k.op("add", block, 5), k.at(a, block))
        k.line(11)
        if fences:
            k.op("fence", text="acq_rel.gpu")
        k.line(12)
        before = k.op("atomic", k.int32(1), accesses=[counter], text="add", ints=list(order))
        k.line(13)
        if fences:
            k.op("fence", text="acq_rel.gpu")

        def last():
            k.line(20)
            total = [k.load(k.at(a, k.int32(j))) for j in range(4)]
            k.line(21)
            k.store(k.op("reduce", k.op("pack", *total), k.int32(0), ints=[0] * 4, text="add"), b)

        k.if_(k.op("eq", before, 3), last)

    k.if_(k.op("eq", k.thread(), 0), tid0)


@pytest.mark.parametrize("order", [(), (3,)])
def test_an_atomic_needs_fences_to_hand_over(order):
    def run_with(fences):
        a, b, counter = np.zeros(4, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
        kernel = write({"a": I32, "b": I32, "counter": I32}, lambda k: last_cta_sums(k, fences=fences, order=order))
        findings = kernel.run(4, 32, a, b, counter)[0]
        assert b[0] == 26
        return findings

    assert run_with(True) == []
    without = run_with(False)
    assert found(without) == (set() if order else {("missing fence", 20)})


# ---- what was never written ----


def test_shared_memory_that_was_never_written():
    def body(k: Kernel):
        b, t = k.parameters[1], k.thread()
        k.line(10)
        value = k.load(k.at(k.shared("Int32"), t))
        k.line(20)
        k.store(k.op("mul", value, 2), k.at(b, t))

    (finding,) = run(body)
    assert (finding.kind, finding.line, finding.other_place[1]) == ("not written", 10, 20)


@pytest.mark.parametrize("use", ["store", "branch", "address", "printf"])
def test_registers_that_were_never_written(use):
    def body(k: Kernel):
        b, t = k.parameters[1], k.thread()
        r = k.frame("Int32", 4)
        k.line(5)
        k.store(k.int32(3), r)
        k.line(10)
        value = k.load(k.at(r, k.int32(1)))
        k.line(20)
        if use == "store":
            k.store(value, k.at(b, t))
        elif use == "branch":
            k.if_(k.op("eq", value, 7), lambda: k.store(k.int32(1), k.at(b, t)))
        elif use == "address":
            k.store(k.int32(1), k.at(b, k.op("and", value, 1)))
        else:
            k.op("printf", value, text="{}\n")

    findings = run(body, threads=1)
    assert ("not written", 10) in found(findings)
    assert [f.other_place[1] for f in findings if f.kind == "not written"] == [20]


def test_what_was_never_written_may_be_computed_with_as_long_as_nobody_sees_it():
    """A tile that does not fit: loads and stores are predicated, the arithmetic between them is not."""

    def body(k: Kernel):
        a, b = k.parameters
        t = k.thread()
        r, four = k.frame("Int32", 4), layout(4, 1)
        index = k.op("mul", t, 4)
        inside = [k.op("lt", k.op("add", index, j), 62) for j in range(4)]
        predicate = k.frame("Boolean", 4)
        k.store(k.op("pack", *inside), predicate, four)
        k.op("copy", accesses=[(k.at(a, index), four), (r, four), (predicate, four)], ints=[32, 1])
        doubled = k.op("mul", k.load(r, four), 2)
        chosen = k.op("select", k.op("pack", *inside), doubled, k.int32(-1))
        k.store(doubled, r, four)
        k.op("copy", accesses=[(r, four), (k.at(b, index), four), (predicate, four)], ints=[32, 1])
        total = k.op("reduce", chosen, k.int32(0), ints=[0] * 4, text="max")
        k.if_(k.op("eq", t, 15), lambda: k.store(total, k.at(b, k.int32(63))))

    assert run(body, threads=16) == []


def test_a_fragment_in_a_loop_is_fresh():
    def body(k: Kernel):
        b = k.parameters[1]

        def step(i):
            k.line(9)
            r = k.frame("Int32", 1)
            k.line(10)
            k.if_(k.op("eq", i, 0), lambda: k.store(i, r))
            k.line(11)
            value = k.load(r)
            k.line(12)
            k.store(value, k.at(b, k.thread()))

        k.for_(0, 2, 1, [], step)

    assert found(run(body)) == {("not written", 11)}


# ---- asynchronous copies ----


def asynchronous(k: Kernel, *, commit=True, wait=0, barrier=True, other=False):
    a, b = k.parameters
    t, s = k.thread(), k.shared("Int32")
    four = layout(4, 1)
    k.line(10)
    at = k.op("mul", t, 4)
    k.op("copy", accesses=[(k.at(a, at), four), (k.at(s, at), four)], ints=[128, 4], text="cp.async")
    if commit:
        k.op("cp_async_commit_group")
    k.line(12)
    if wait is not None:
        k.op("cp_async_wait_group", ints=[wait])
    k.line(13)
    if barrier:
        k.sync()
    k.line(20)
    value = k.load(k.at(s, k.op("sub", 63, t) if other else at))
    k.line(30)
    k.store(value, k.at(b, t))


def test_asynchronous_copies_land_by_commit_wait_and_barrier():
    assert run(lambda k: asynchronous(k, other=True), threads=16) == []
    assert run(lambda k: asynchronous(k, barrier=False), threads=16) == []


@pytest.mark.parametrize("lack", [{"wait": None}, {"wait": 1}, {"commit": False}])
def test_reading_what_has_not_landed(lack):
    findings = run(lambda k: asynchronous(k, other=True, **lack), threads=16)
    assert ("not landed", 20) in found(findings)
    assert findings[0].other_place[1] == 10


def test_a_wait_lets_others_see_nothing():
    findings = run(lambda k: asynchronous(k, barrier=False, other=True), threads=16)
    assert {("race", 20), ("not landed", 20)} & found(findings)
    findings = run(lambda k: asynchronous(k, barrier=False, other=True), threads=64, n=256, shared=4096)
    assert {("race", 20), ("not landed", 20)} & found(findings)


# ---- bounds, alignment ----


def test_out_of_bounds_of_an_argument():
    def body(k: Kernel):
        a, b = k.parameters
        t = k.thread()
        k.line(10)
        value = k.load(k.at(a, k.op("add", t, 1)))
        k.line(20)
        k.store(value, k.at(b, k.op("sub", t, 2)))

    read, write_ = run(body)
    assert (read.kind, read.line, read.tensor, read.coordinate, read.count) == ("out of bounds", 10, "a", (64,), 1)
    assert read.thread == ((0, 0, 0), (63, 0, 0))
    assert (write_.kind, write_.line, write_.tensor, write_.coordinate, write_.count) == (
        "out of bounds",
        20,
        "b",
        (-2,),
        2,
    )


def test_the_neighbour_in_memory_is_out_of_bounds():
    """Two arguments lie side by side: one is left where the other begins."""
    memory = np.zeros(128, np.int32)

    def body(k: Kernel):
        k.line(10)
        k.store(k.int32(1), k.at(k.parameters[0], k.op("add", k.thread(), 1)))

    kernel = write({"a": I32, "b": I32}, body)
    findings, _ = kernel.run(1, 64, memory[:64], memory[64:])
    assert [(f.kind, f.tensor, f.coordinate) for f in findings] == [("out of bounds", "a", (64,))]
    assert memory[64] == 0


def test_out_of_bounds_of_shared_memory_and_fragments():
    def body(k: Kernel):
        b, t = k.parameters[1], k.thread()
        k.line(10)
        k.store(t, k.at(k.shared("Int32"), k.op("mul", t, 5)))
        k.line(20)
        r = k.frame("Int32", 4)
        k.store(layout_value(k, 4), r, layout(4, 1))
        k.store(k.load(k.at(r, k.op("and", t, 7))), k.at(b, t))
        k.line(30)
        k.store(k.load(k.at(r, k.int32(-1))), k.at(b, t))

    def layout_value(k: Kernel, n):
        return k.op("pack", *[k.int32(j) for j in range(n)])

    findings = run(body)
    assert {("out of bounds", 10), ("out of bounds", 20), ("out of bounds", 30)} <= found(findings)
    assert kinds(findings) == {"out of bounds"}
    assert next(f for f in findings if f.line == 10).space == "smem"


def test_memory_that_is_not_to_be_written():
    a = np.zeros(32, np.int32)

    def body(k: Kernel):
        k.line(10)
        k.store(k.int32(1), k.at(k.parameters[0], k.thread()))

    memory = [program.MemoryRange(a.ctypes.data, a.nbytes, "a", writable=False)]
    findings, _ = write({"a": I32}, body).run(1, 32, a, memory=memory)
    assert found(findings) == {("read only", 10)}
    assert not a.any()


@pytest.mark.parametrize("offset", [0, 1])
def test_misaligned_vectors(offset):
    def body(k: Kernel):
        a, b = k.parameters
        t, r, four = k.thread(), k.frame("Int32", 4), layout(4, 1)
        base = k.op("offset", a, k.op("add", k.op("mul", t, 4), offset), type=gmem("Int32", 16))
        k.line(10)
        k.op("copy", accesses=[(base, four), (r, four)], ints=[128, 4])
        k.line(20)
        vector = k.load(base, four)
        k.line(30)
        k.store(k.op("add", vector, k.load(r, four)), k.at(b, k.op("mul", t, 4)), four)

    a = np.zeros(68, np.int32)
    start = (-a.ctypes.data % 16) // 4
    b = np.zeros(64, np.int32)
    findings, _ = write({"a": I32, "b": I32}, body).run(1, 8, a[start : start + 64], b)
    assert found(findings) == ({("misaligned", 10), ("misaligned", 20)} if offset else set())


def test_an_element_that_is_not_aligned():
    def body(k: Kernel):
        b = k.parameters[1]
        s = k.shared("Int8")
        word = k.op("recast", k.at(s, k.op("mul", k.thread(), 6)), type=pointer("Int32", "smem", 4))
        k.line(10)
        k.store(k.int32(1), word)
        del b

    assert found(run(body, threads=2)) == {("misaligned", 10)}


# ---- barriers ----


def test_a_barrier_in_divergent_code():
    def body(k: Kernel):
        k.line(10)
        k.if_(k.op("lt", k.thread(), 10), lambda: k.sync())

    findings = run(body, threads=32)
    assert ("barrier", 10) in found(findings)
    assert "22 threads" in findings[0].message


def test_a_barrier_that_a_warp_does_not_reach():
    def body(k: Kernel):
        k.line(10)
        k.if_(k.op("eq", k.op("warp_idx"), 0), lambda: k.sync())

    (finding,) = run(body)
    assert (finding.kind, finding.line) == ("barrier", 10)
    assert "32 of 64 threads" in finding.message
    assert finding.other_thread[1] == (32, 0, 0)


def test_deadlock_tells_who_waits_for_what():
    def body(k: Kernel):
        def wait(first, second):
            def then():
                k.line(first)
                k.op("barrier", k.int32(1 + (first == 20)), k.int32(64))
                k.line(second)
                k.op("barrier", k.int32(1 + (first == 10)), k.int32(64))

            return then

        k.if_(k.op("eq", k.op("warp_idx"), 0), wait(10, 11), wait(20, 21))

    findings = run(body)
    assert ("deadlock", 10) in found(findings)
    assert "barrier 1 is reached by 32 of 64 threads" in findings[0].message
    assert "warp 1 waits at barrier 2 of line 20" in findings[0].message


def test_barriers_for_different_numbers_of_threads():
    def body(k: Kernel):
        k.line(10)
        threads = k.op("select", k.op("eq", k.op("warp_idx"), 0), k.int32(64), k.int32(96))
        k.op("barrier", k.int32(1), threads)

    findings = run(body, threads=96)
    assert ("barrier", 10) in found(findings)
    assert any("96 threads here, and for 64 elsewhere" in f.message for f in findings)


def test_a_loop_without_end():
    def body(k: Kernel):
        k.line(10)
        k.while_([k.int32(0)], lambda i: [k.op("ge", i, 0), i], lambda i: [k.op("and", k.op("add", i, 1), 15)])

    assert found(run(body, threads=32)) == {("no end", 10)}


# ---- lanes, division ----


def test_shuffles_from_lanes_that_are_not_there():
    def body(k: Kernel):
        b, t = k.parameters[1], k.thread()

        def half():
            k.line(10)
            x = k.op("shuffle_sync", t, k.int32(16), k.int32(0xFFFF), ints=[31], text="bfly")
            k.line(11)
            k.store(x, k.at(b, t))

        k.if_(k.op("lt", k.op("lane_idx"), 16), half)

    findings = run(body, threads=32)
    assert found(findings) == {("lane", 10)}
    assert "lane 16" in findings[0].message


def test_a_mask_that_names_lanes_which_do_not_come():
    def body(k: Kernel):
        k.line(10)
        k.if_(
            k.op("lt", k.op("lane_idx"), 16),
            lambda: k.op("vote", k.op("eq", k.thread(), 0), k.int32(-1), text="any") and None,
        )

    assert found(run(body, threads=32)) == {("lane", 10)}


@pytest.mark.parametrize("code", ["div", "rem", "floor_div", "floor_mod"])
def test_division_by_zero(code):
    def body(k: Kernel):
        b, t = k.parameters[1], k.thread()
        k.line(10)
        x = k.op(code, k.int32(100), k.op("sub", t, 33))
        k.line(11)
        k.store(x, k.at(b, t))
        k.line(12)
        k.if_(k.op("ne", t, 0), lambda: k.store(k.op(code, k.int32(7), t), k.at(b, t)))

    (finding,) = run(body)
    assert (finding.kind, finding.line, finding.count) == ("division by zero", 10, 1)
    assert finding.thread == ((0, 0, 0), (33, 0, 0))


# ---- what findings are ----


def test_findings_are_sorted_capped_and_the_same_for_each_seed_and_again():
    def body(k: Kernel):
        b, t = k.parameters[1], k.thread()
        for n in range(60, 0, -1):
            k.line(n)
            k.store(t, k.at(b, k.op("add", t, 100 + n)))

    first = run(body)
    assert [f.line for f in first] == list(range(1, 33))
    assert all(f.count == 64 for f in first)
    assert [repr(f) for f in first] == [repr(f) for f in run(body)]
    assert repr(first[0]) == (
        "kernel.py:1: out of bounds: writes byte 404 of b, which has 256 bytes; b[101]; "
        "block (0,0,0) thread (0,0,0); 64 times"
    )


@pytest.mark.parametrize("events", [3, 10])
def test_few_events_at_a_time_find_nothing_wrong_with_what_is_right(events):
    """What is no longer told apart counts as long ago."""
    a, b, c = np.ones((64, 64), np.float32), np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    assert gemm().run(1, 64, a, b, c, np.int32(64), events=events)[0] == []
    a, b = np.zeros(64, np.int32), np.zeros(64, np.int32)
    kernel = write({"a": I32, "b": I32}, lambda k: asynchronous(k, other=True), shared_bytes=1024)
    assert kernel.run(1, 16, a, b, events=events)[0] == []
    kernel = write({"a": I32, "b": I32}, lambda k: asynchronous(k, other=True, wait=None), shared_bytes=1024)
    assert kernel.run(1, 16, a, b)[0] != []


def test_values_that_inline_asm_computes_of_what_was_never_written():
    def body(k: Kernel, written):
        b = k.parameters[1]
        r = k.frame("Int32", 1)
        k.line(5)
        if written:
            k.store(k.int32(1), r)
        k.line(10)
        x = k.load(r)
        y = k.op("inline_asm", x, x, type=x.type, text="add.s32 $0, $1, $2;\n=r,r,r", ints=[0])
        k.line(20)
        k.store(y, k.at(b, k.thread()))

    assert run(lambda k: body(k, True)) == []
    assert found(run(lambda k: body(k, False))) == {("not written", 10)}
