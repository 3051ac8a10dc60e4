"""Messages by flags and asynchronous copies: what a missing fence or wait leaves open is found, on its line."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_programs import Kernel, found, gmem, kinds, layout, write

INT32 = gmem("Int32")


# ---- messages: data, then a flag; whoever sees the flag reads the data ----


def fence(k: Kernel, scope: str | None):
    if scope is not None:
        k.op("fence", text=f"acq_rel.{scope}")


def send(k: Kernel, data, flag, scope):
    k.line(10)
    k.store(k.int32(7), data)
    k.line(11)
    fence(k, scope)
    k.line(12)
    k.op("atomic", k.int32(1), accesses=[flag], text="exch")


def receive(k: Kernel, data, flag, result, scope):
    def before(seen):
        return [k.op("eq", seen, 0), seen]

    k.line(18)
    k.while_([k.int32(0)], before, lambda _: [k.op("atomic", k.int32(0), accesses=[flag], text="add")])
    k.line(19)
    fence(k, scope)
    k.line(20)
    k.store(k.load(data), result)


def pass_message(sender: str | None, receiver: str | None, *, ctas: bool, seed=0):
    """Thread 0 sends to thread 0 of the other CTA, or of the other warp by shared memory."""

    def body(k: Kernel):
        a, b, flag = k.parameters
        data = a if ctas else k.shared("Int32")
        who = k.block() if ctas else k.op("warp_idx")
        first = k.op("eq", k.op("lane_idx"), 0)
        k.if_(k.op("and", first, k.op("eq", who, 0)), lambda: send(k, data, flag, sender))
        k.if_(k.op("and", first, k.op("eq", who, 1)), lambda: receive(k, data, flag, b, receiver))

    a, b, flag = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel = write({"a": INT32, "b": INT32, "flag": INT32}, body, shared_bytes=16)
    findings = kernel.run(2 if ctas else 1, 32 if ctas else 64, a, b, flag, seed=seed)[0]
    assert b[0] == 7
    return findings


SCOPES = [None, "cta", "gpu", "sys"]


@pytest.mark.parametrize("receiver", SCOPES)
@pytest.mark.parametrize("sender", SCOPES)
@pytest.mark.parametrize("ctas", [True, False])
def test_both_sides_of_a_message_need_a_fence_that_reaches_the_other(ctas, sender, receiver):
    wide = {"gpu", "sys"} if ctas else {"cta", "gpu", "sys"}
    for seed in range(3):
        findings = pass_message(sender, receiver, ctas=ctas, seed=seed)
        if {sender, receiver} <= wide:
            assert findings == []
        else:
            (missing,) = findings
            assert (missing.kind, missing.line, missing.other_place[1]) == ("missing fence", 20, 10)
            assert missing.space == ("gmem" if ctas else "smem")


def test_a_flag_that_is_stored_and_loaded_is_a_race_itself():
    def body(k: Kernel):
        a, b, flag = k.parameters

        def first():
            k.line(10)
            k.store(k.int32(7), a)
            fence(k, "gpu")
            k.line(12)
            k.store(k.int32(1), flag)

        def other():
            k.line(18)
            k.while_([k.int32(0)], lambda seen: [k.op("eq", seen, 0), seen], lambda _: [k.load(flag)])
            fence(k, "gpu")
            k.line(20)
            k.store(k.load(a), b)

        zero = k.op("eq", k.thread(), 0)
        k.if_(k.op("and", zero, k.op("eq", k.block(), 0)), first)
        k.if_(k.op("and", zero, k.op("eq", k.block(), 1)), other)

    a, b, flag = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    findings = write({"a": INT32, "b": INT32, "flag": INT32}, body).run(2, 32, a, b, flag)[0]
    pairs = {frozenset((f.line, f.other_place[1])) for f in findings}
    assert kinds(findings) == {"race"}
    assert pairs == {frozenset((12, 18)), frozenset((10, 20))}


@pytest.mark.parametrize("together", [True, False])
def test_one_thread_sends_what_its_cta_has_written(together):
    """All threads write, thread 0 sends behind a barrier; without the barrier its fence speaks for itself alone."""

    def body(k: Kernel):
        a, b, flag = k.parameters
        t = k.thread()

        def first():
            k.line(10)
            k.store(t, k.at(a, t))
            k.line(11)
            if together:
                k.sync()
            k.line(12)

            def tell():
                fence(k, "gpu")
                k.op("atomic", k.int32(1), accesses=[flag], text="exch")

            k.if_(k.op("eq", t, 0), tell)

        def other():
            def hear():
                k.while_(
                    [k.int32(0)],
                    lambda seen: [k.op("eq", seen, 0), seen],
                    lambda _: [k.op("atomic", k.int32(0), accesses=[flag], text="add")],
                )
                fence(k, "gpu")

            k.line(18)
            k.if_(k.op("eq", t, 0), hear)
            k.line(19)
            k.sync()
            k.line(20)
            k.store(k.load(k.at(a, t)), k.at(b, t))

        k.if_(k.op("eq", k.block(), 0), first, other)

    a, b, flag = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(1, np.int32)
    findings = write({"a": INT32, "b": INT32, "flag": INT32}, body).run(2, 64, a, b, flag)[0]
    assert found(findings) == (set() if together else {("race", 20)})


# ---- asynchronous copies: the source stays as it is until they have landed ----


def overwrite(k: Kernel, *, by: str, after: str):
    """Line 10 copies, line 20 writes the source: the thread that copies, or its neighbour of the other warp."""
    a, b = k.parameters
    t, s = k.thread(), k.shared("Int32")
    k.line(10)
    k.op("copy", accesses=[(k.at(a, t), layout(1, 1)), (k.at(s, t), layout(1, 1))], ints=[32, 1], text="cp.async")
    k.op("cp_async_commit_group")
    if after == "group":  # a later one may be under way
        k.line(12)
        k.op("copy", accesses=[(k.at(b, t), layout(1, 1)), (k.at(s, k.op("add", t, 64)), layout(1, 1))],
             ints=[32, 1], text="cp.async")  # fmt: skip
        k.op("cp_async_commit_group")
    k.line(15)
    if after in ("wait", "wait and barrier", "group"):
        k.op("cp_async_wait_group", ints=[1 if after == "group" else 0])
    k.line(16)
    if after in ("barrier", "wait and barrier"):
        k.sync()
    k.line(20)
    k.store(k.int32(-1), k.at(a, t if by == "itself" else k.op("xor", t, 32)))
    k.line(21)
    k.op("cp_async_wait_group", ints=[0])
    k.sync()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("by", "after", "expected"),
    [
        ("itself", "nothing", {"not landed"}),
        ("itself", "barrier", {"not landed"}),
        ("itself", "wait", set()),
        ("itself", "group", set()),
        ("another", "nothing", {"race"}),  # the warps take turns, so that one has waited when the other writes
        ("another", "barrier", {"not landed", "race"}),
        ("another", "wait", {"race"}),
        ("another", "wait and barrier", set()),
    ],
)
def test_the_source_of_a_copy_that_is_under_way(by, after, expected, seed):
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    kernel = write({"a": INT32, "b": INT32}, lambda k: overwrite(k, by=by, after=after), shared_bytes=512)
    findings = kernel.run(1, 64, a, b, seed=seed)[0]
    assert kinds(findings) == expected
    assert all({f.line, f.other_place[1]} == {10, 20} for f in findings)
    for finding in findings:
        assert (finding.space, finding.tensor) == ("gmem", "a")
        assert ("what an asynchronous copy reads" in finding.message) == (finding.kind == "not landed")


def test_copies_may_read_one_place_together():
    def body(k: Kernel):
        a, b = k.parameters
        t, s = k.thread(), k.shared("Int32")
        k.op("copy", accesses=[(a, layout(1, 1)), (k.at(s, t), layout(1, 1))], ints=[32, 1], text="cp.async")
        k.store(k.load(a), k.at(b, k.thread_of_grid()))
        k.op("cp_async_commit_group")
        k.op("cp_async_wait_group", ints=[0])
        k.sync()
        k.store(k.load(k.at(s, k.op("xor", t, 63))), k.at(b, k.thread_of_grid()))

    a, b = np.ones(1, np.int32), np.zeros(256, np.int32)
    assert write({"a": INT32, "b": INT32}, body, shared_bytes=256).run(4, 64, a, b)[0] == []


@pytest.mark.parametrize("together", [True, False])
def test_the_fence_of_a_lane_speaks_for_itself(together):
    """All lanes of a warp write, lane 0 sends behind a sync_warp; without one, of its own write alone."""

    def body(k: Kernel):
        a, b, flag = k.parameters
        t = k.thread()

        def first():
            k.line(10)
            k.store(t, k.at(a, t))
            k.line(11)
            if together:
                k.op("sync_warp")
            k.line(12)

            def tell():
                fence(k, "gpu")
                k.op("atomic", k.int32(1), accesses=[flag], text="exch")

            k.if_(k.op("eq", t, 0), tell)

        def other():
            hear(k, flag)
            k.line(19)
            k.op("sync_warp")
            k.line(20)
            k.store(k.load(k.at(a, t)), k.at(b, t))

        k.if_(k.op("eq", k.block(), 0), first, other)

    a, b, flag = np.zeros(32, np.int32), np.zeros(32, np.int32), np.zeros(1, np.int32)
    (findings, *_) = write({"a": INT32, "b": INT32, "flag": INT32}, body).run(2, 32, a, b, flag)
    assert found(findings) == (set() if together else {("race", 20)})


@pytest.mark.parametrize("together", [True, False])
def test_what_a_lane_hears_the_others_know_behind_a_sync_warp(together):
    def body(k: Kernel):
        a, b, flag = k.parameters
        t = k.thread()

        def first():
            k.line(10)
            k.store(t, k.at(a, t))
            k.op("sync_warp")

            def tell():
                fence(k, "gpu")
                k.op("atomic", k.int32(1), accesses=[flag], text="exch")

            k.if_(k.op("eq", t, 0), tell)

        def other():
            hear(k, flag)
            k.line(19)
            if together:
                k.op("sync_warp")
            k.line(20)
            k.store(k.load(k.at(a, t)), k.at(b, t))

        k.if_(k.op("eq", k.block(), 0), first, other)

    a, b, flag = np.zeros(32, np.int32), np.zeros(32, np.int32), np.zeros(1, np.int32)
    (findings, *_) = write({"a": INT32, "b": INT32, "flag": INT32}, body).run(2, 32, a, b, flag)
    assert found(findings) == (set() if together else {("race", 20)})


def hear(k: Kernel, flag):
    """Lane 0 waits for the flag, and passes a fence."""

    def wait():
        k.while_(
            [k.int32(0)],
            lambda seen: [k.op("eq", seen, 0), seen],
            lambda _: [k.op("atomic", k.int32(0), accesses=[flag], text="add")],
        )
        fence(k, "gpu")

    k.if_(k.op("eq", k.op("lane_idx"), 0), wait)
