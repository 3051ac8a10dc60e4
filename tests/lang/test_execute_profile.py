"""What the CPU counts while it executes a kernel: the numbers of the rules, line by line."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_programs import Kernel, gmem, layout, program, write
from test_execute import elementwise, gemm


def aligned(n, dtype=np.int32):
    """n numbers that begin where a line of the cache does."""
    memory = np.zeros(n * np.dtype(dtype).itemsize + 128, np.uint8)
    start = -memory.ctypes.data % 128
    return memory[start : start + n * np.dtype(dtype).itemsize].view(dtype)


def access(stride, width=1, *, store=False, offset=0, space="gmem"):
    """Each lane accesses `width` integers side by side, `stride` integers from lane to lane."""

    def body(k: Kernel):
        a = k.parameters[0] if space == "gmem" else k.shared("Int32")
        align = 4 * width
        at = k.op("add", k.op("mul", k.thread(), stride), offset)
        place = k.op("offset", a, at, type=type_of(a, align))
        k.line(10)
        how = layout(width, 1)
        if store:
            k.store(k.int32(1), place, how)
        else:
            k.op("copy", accesses=[(place, how), (k.frame("Int32", width), how)], ints=[32 * width, width])

    def type_of(pointer, align):
        make = program.pointer

        return make("Int32", pointer.type.space, align)

    return write({"a": gmem("Int32")}, body, shared_bytes=32 * 4 * 40)


@pytest.mark.parametrize(
    ("stride", "width", "offset", "sectors", "ideal"),
    [
        (1, 1, 0, 4, 4),
        (1, 1, 1, 5, 4),
        (2, 1, 0, 8, 4),
        (4, 4, 0, 16, 16),
        (4, 4, 4, 17, 16),
        (0, 1, 0, 1, 1),
        (32, 1, 0, 32, 4),
    ],
)
@pytest.mark.parametrize("store", [False, True])
def test_sectors(stride, width, offset, sectors, ideal, store):
    rows = access(stride, width, store=store, offset=offset).profile(1, 32, aligned(2048))
    (row,) = [r for r in rows if r.space == "gmem"]
    assert (row.line, row.width, row.kind, row.executed) == (10, 4 * width, "store" if store else "load", 1)
    assert row.active_lanes == 32
    assert (row.sectors, row.ideal_sectors, row.bytes) == (sectors, ideal, 128 * width)


@pytest.mark.parametrize(
    ("stride", "width", "wavefronts", "ideal"),
    [
        (1, 1, 1, 1),
        (2, 1, 2, 1),
        (33, 1, 1, 1),
        (32, 1, 32, 1),
        (2, 2, 2, 2),
        (4, 4, 4, 4),
        (32, 4, 32, 4),
        (0, 4, 2, 2),
    ],
)
def test_wavefronts(stride, width, wavefronts, ideal):
    rows = access(stride, width, space="smem").profile(1, 32, aligned(32))
    (row,) = [r for r in rows if r.space == "smem"]
    assert (row.wavefronts, row.ideal_wavefronts, row.executed) == (wavefronts, ideal, 1)
    cost, cta, warp, mask, addresses = row.worst
    assert (cost, cta, warp, mask) == (wavefronts, 0, 0, 0xFFFFFFFF)
    assert addresses == [4 * stride * lane for lane in range(32)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_launch_of_many_warps(threads):
    n = 1000
    x, y, z = (aligned(1024, np.float32) for _ in range(3))
    kernel = elementwise("Float32", lambda k, a, b: k.op("add", a, b))
    rows = kernel.profile(8, 128, x, y, z, np.int32(n), threads=threads)
    loads = [r for r in rows if r.space == "gmem" and r.kind == "load"]
    (store,) = [r for r in rows if r.kind == "store"]
    for row in (*loads, store):
        assert (row.executed, row.active_lanes, row.sectors, row.bytes) == (32, n, n * 4 // 32, n * 4)
    assert sum(r.flops for r in rows) == n
    (branch,) = [r for r in rows if r.operation == "if"]
    assert (branch.executed, branch.active_lanes, branch.divergent) == (32, 1024, 1)


def test_divergent_loops_and_flops():
    def body(k: Kernel):
        b = k.parameters[0]
        t = k.thread()
        x = k.cast(t, "Float32")
        k.line(10)

        def step(i, s):
            k.line(11)
            return [k.op("fma", s, x, x)]

        (s,) = k.for_(0, t, 1, [x], step)
        k.line(12)
        k.store(s, k.at(b, t))

    rows = write({"b": gmem("Float32")}, body).profile(1, 32, aligned(32, np.float32))
    (loop,) = [r for r in rows if r.operation == "for"]
    # Lane t leaves at look t; the last one finds nobody left.
    assert (loop.executed, loop.active_lanes, loop.divergent) == (32, sum(range(1, 33)), 31)
    (fma,) = [r for r in rows if r.operation == "fma"]
    assert (fma.line, fma.executed, fma.active_lanes, fma.flops) == (11, 31, sum(range(32)), 2 * sum(range(32)))


def test_a_gemm_counts_its_flops():
    n = 64
    a, b, c = (aligned(n * n, np.float32) for _ in range(3))
    rows = gemm().profile((1, 1), 64, a, b, c, np.int32(n))
    assert sum(r.flops for r in rows if r.operation == "fma_tile") == 2 * n**3
    assert sum(r.bytes for r in rows if r.space == "gmem" and r.kind == "store") == 4 * n * n


def test_cp_async_costs_on_both_sides():
    def body(k: Kernel):
        a, four = k.parameters[0], layout(4, 1)
        at = k.op("mul", k.thread(), 4)
        k.op(
            "copy", accesses=[(k.at(a, at), four), (k.at(k.shared("Int32"), at), four)], ints=[128, 4], text="cp.async"
        )

    rows = write({"a": gmem("Int32")}, body, shared_bytes=512).profile(1, 32, aligned(128))
    assert {(r.space, r.sectors, r.wavefronts) for r in rows if r.space} == {("gmem", 16, 0), ("smem", 0, 4)}


def accesses_of_copy(layouts, bits, count, align=16):
    """The requests of a copy from global memory to registers: (width, how many, sectors)."""

    def body(k: Kernel):
        a = k.parameters[0]
        kind = program.pointer("Int32", a.type.space, align)
        place = k.op("offset", a, k.op("mul", k.thread(), 8), type=kind)
        k.op("copy", accesses=[(place, layouts[0]), (k.frame("Int32", 32), layouts[1])], ints=[bits, count])

    rows = write({"a": gmem("Int32")}, body).profile(1, 32, aligned(512))
    (row,) = [r for r in rows if r.space == "gmem"]
    assert (row.kind, row.active_lanes) == ("load", 32 * row.executed)
    return row.width, row.executed, row.sectors


@pytest.mark.parametrize(
    ("layouts", "bits", "count", "expected"),
    [
        ((layout(8, 1), layout(8, 1)), 128, 4, (16, 2, 64)),
        ((layout(8, 1), layout(8, 2)), 128, 4, (16, 2, 64)),  # spread over registers
        ((layout(8, 1), layout(8, 1)), 64, 2, (8, 4, 128)),
        ((layout(8, 2), layout(8, 1)), 64, 2, (4, 8, 8 * 32)),  # not side by side
        ((layout(8, 1), layout(8, 1)), 256, 8, (4, 8, 8 * 32)),  # wider than an instruction
        ((layout((2, 4), (1, 8)), layout(8, 1)), 128, 4, (4, 8, 8 * 32)),  # two and two
    ],
)
def test_a_copy_moves_in_an_instruction_what_lies_together(layouts, bits, count, expected):
    assert accesses_of_copy(layouts, bits, count) == expected


def test_what_is_less_aligned_is_copied_element_by_element():
    assert accesses_of_copy((layout(8, 1), layout(8, 1)), 128, 4, align=8) == (4, 8, 256)


def test_atomics_are_a_kind_of_their_own():
    def body(k: Kernel):
        a = k.parameters[0]
        k.op("atomic", k.int32(1), accesses=[k.at(a, k.op("and", k.thread(), 7))], text="add")
        k.op("atomic", k.int32(1), accesses=[k.at(k.shared("Int32"), k.op("mul", k.thread(), 2))], text="add")

    rows = write({"a": gmem("Int32")}, body, shared_bytes=256).profile(1, 32, aligned(32))
    found = {r.space: (r.kind, r.width, r.executed, r.active_lanes) for r in rows if r.width}
    assert found == dict.fromkeys(("gmem", "smem"), ("atomic", 4, 1, 32))
    assert [(r.sectors, r.wavefronts) for r in rows if r.space == "gmem"] == [(1, 0)]
    assert [(r.sectors, r.wavefronts) for r in rows if r.space == "smem"] == [(0, 2)]


def test_half_a_byte_is_stored_into_the_byte_that_was_read():
    def body(k: Kernel):
        c = k.parameters[0]
        k.store(k.cast(k.constant("Float32", 1.0), "Float4E2M1FN"), k.at(c, k.thread()))

    rows = write({"c": gmem("Float4E2M1FN")}, body).profile(1, 32, aligned(32, np.uint8))
    found = {(r.kind, r.width, r.executed, r.sectors, r.bytes, r.useful_bytes) for r in rows if r.width}
    assert found == {("load", 1, 1, 1, 32, 16), ("store", 1, 1, 1, 32, 16)}
