"""Kernels of programs made by hand, on a GPU: every operation on every type, memory, control flow, warps."""

from __future__ import annotations

import numpy as np
import pytest

import lang_cases
import lang_numbers
from lang_programs import Maker, number, pointer
from tilewright import _core

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

I32, F32, U32 = pointer("Int32"), pointer("Float32"), pointer("Uint32")


def gpu_kernels(program):
    from gpu_lang import GpuKernels

    return GpuKernels([program])


@pytest.fixture(scope="module")
def numbers():
    return gpu_kernels(lang_numbers.program())


@pytest.fixture(scope="module")
def cases():
    return gpu_kernels(lang_cases.program())


@pytest.mark.parametrize("name", lang_cases.CASES)
def test_case(cases, name):
    lang_cases.check(cases, name)


@pytest.mark.parametrize("scalar", lang_numbers.INTEGERS)
def test_integers(numbers, scalar):
    lang_numbers.check_integers(numbers, scalar)


@pytest.mark.parametrize("scalar", lang_numbers.FLOATS)
def test_floats(numbers, scalar):
    lang_numbers.check_floats(numbers, scalar)


@pytest.mark.parametrize("scalar", lang_numbers.NARROW)
def test_narrow_floats(numbers, scalar):
    lang_numbers.check_narrow_floats(numbers, scalar)


@pytest.mark.parametrize("scalar", lang_numbers.NARROW)
def test_narrow_fma(numbers, scalar):
    lang_numbers.check_narrow_fma(numbers, scalar)


@pytest.mark.parametrize("source", lang_numbers.STORED)
def test_casts(numbers, source):
    lang_numbers.check_casts(numbers, source)


@pytest.mark.parametrize("target", lang_numbers.TOGETHER)
def test_casts_of_vectors(numbers, target):
    lang_numbers.check_casts_together(numbers, target)


def test_special_formats(numbers):
    lang_numbers.check_special_formats(numbers)


def warps(make):
    """Every exchange between the threads of a warp."""
    types = {"out": I32, "floats": F32, "words": U32, "halves": pointer("Float16")}
    with make.kernel("warps", (64, 1, 1), **types) as (out, floats, words, halves):
        t = make.thread()
        lane = make.builder.op("lane_idx")
        mask = make.constant("Uint32", 0xFFFFFFFF)
        total = make.cast(t, type=number("Float32"))
        for step in (16, 8, 4, 2, 1):
            other = make.builder.op("shuffle_sync", [total, make.constant("Int32", step), mask], text="bfly")
            total = make.add(total, other)
        make.store(total, make.at(floats, t, 4))
        narrow = make.cast(total, type=number("Float16"))
        up = make.builder.op("shuffle_sync", [narrow, make.constant("Int32", 1), mask], text="up")
        make.store(up, make.at(halves, t, 2))
        results = [
            make.builder.op("shuffle_sync", [t, make.constant("Int32", 3), mask], text="idx"),
            make.builder.op("shuffle_sync", [t, make.constant("Int32", 2), mask], text="down", ints=[31 + 256 * 24]),
            make.builder.op("redux_sync", [t, mask], text="max"),
            make.builder.op("make_warp_uniform", [t]),
            make.cast(make.builder.op("vote", [make.lt(lane, 40), mask], text="all"), type=number("Int32")),
            make.cast(make.builder.op("vote", [make.eq(lane, 40), mask], text="any"), type=number("Int32")),
            make.cast(make.builder.op("elect_one"), type=number("Int32")),
            make.builder.op("warp_idx"),
        ]
        for k, result in enumerate(results):
            make.store(result, make.at(out, make.add(make.mul(t, len(results)), k), 4))
        votes = [
            make.builder.op("vote", [make.eq(make.rem(lane, 3), 0), mask], text="ballot"),
            make.builder.op("match", [make.rem(lane, 4), mask], text="any"),
        ]
        for k, result in enumerate(votes):
            make.store(result, make.at(words, make.add(make.mul(t, 2), k), 4))


def test_warps():
    with Maker() as make:
        warps(make)
        kernels = gpu_kernels(make.finish())
    out, floats = np.zeros((64, 8), np.int32), np.zeros(64, np.float32)
    words, halves = np.zeros((64, 2), np.uint32), np.zeros(64, np.float16)
    kernels("warps", out, floats, words, halves, block=(64,))
    t = np.arange(64)
    warp, lane = t // 32, t % 32
    assert (floats == np.where(warp == 0, 496, 1520)).all()
    assert (halves == floats).all()
    down = np.where(lane % 8 + 2 < 8, t + 2, t)
    expected = np.stack([32 * warp + 3, down, 32 * warp + 31, 32 * warp, t * 0 + 1, t * 0, t * 0, warp], 1)
    elected = out[:, 6].reshape(2, 32).sum(1)
    out[:, 6] = 0
    assert (out == expected).all()
    assert elected.tolist() == [1, 1]
    assert (words[:, 0] == sum(1 << i for i in range(0, 32, 3))).all()
    assert (words[:, 1] == [sum(1 << i for i in range(32) if i % 4 == one % 4) for one in lane]).all()


def test_clusters_and_large_shared_memory():
    """A launch with a cluster, more than 48 KiB of shared memory, a named barrier and programmatic order."""
    with Maker() as make:
        with make.kernel("clustered", (128, 1, 1), shared=100 * 1024, out=I32) as out:
            t = make.thread()
            far = make.shared(type=pointer("Int32", "smem", 16), ints=[99 * 1024])
            make.store(t, make.at(far, t, 4))
            make.builder.op("barrier", [make.constant("Int32", 1), make.constant("Int32", 128)])
            value = make.load(make.at(far, make.sub(127, t), 4))
            make.builder.op("griddepcontrol", text="wait")
            rank = make.builder.op("block_idx_in_cluster")
            place = make.add(make.mul(make.block_index(), 128), t)
            make.store(make.add(make.mul(rank, 1000), value), make.at(out, place, 4))
        kernels = gpu_kernels(make.finish())
    for cluster, programmatic in (((2, 1, 1), False), ((4, 1, 1), True), ((1, 1, 1), True)):
        out = np.zeros((4, 128), np.int32)
        kernels("clustered", out, grid=(4,), block=(128,), cluster=cluster, programmatic=programmatic)
        ranks = np.arange(4) % cluster[0]
        assert (out == ranks[:, None] * 1000 + np.arange(127, -1, -1)).all()


def test_inline_ptx_and_clock():
    with Maker() as make:
        with make.kernel("inlined", (32, 1, 1), out=I32) as out:
            t = make.thread()
            total = make.builder.op("inline_asm", [t, make.constant("Int32", 5)], type=number("Int32"), ints=[0],
                                    text="{ .reg .b32 x; add.s32 x, $1, $2; mov.b32 $0, x; }\n=r,r,r")  # fmt: skip
            start, end = make.builder.op("clock", text="clock64"), make.builder.op("clock", text="globaltimer")
            later = make.and_(make.gt(start, 0), make.gt(end, 0))
            make.store(make.add(total, make.cast(later, type=number("Int32"))), make.at(out, t, 4))
        kernels = gpu_kernels(make.finish())
    out = np.zeros(32, np.int32)
    kernels("inlined", out, block=(32,))
    assert (out == np.arange(32) + 6).all()


def test_printf(capfd):
    with Maker() as make:
        with make.kernel("printing", (1, 1, 1), x=F32) as x:
            value = make.load(x)
            whole = make.constant("Int64", 1 << 40)
            make.printf(value, whole, make.thread(), text="{} of {} is %d%, 50%\n")
        kernels = gpu_kernels(make.finish())
    kernels("printing", np.array([3.25], np.float32))
    assert "3.250000 of 1099511627776 is 0%, 50%\n" in capfd.readouterr().out


def test_errors_of_launches():
    with Maker() as make:
        with make.kernel("checked", (32, 1, 1), out=I32):
            pass
        kernels = gpu_kernels(make.finish())
    out = np.zeros(1, np.int32)
    for options, text in (
        ({"grid": (0,)}, "0 along x"),
        ({"block": (64,)}, "at most 32"),
        ({"grid": (3,), "cluster": (2, 1, 1)}, "clusters of 2 do not divide"),
        ({"shared": 1 << 20}, "bytes"),
    ):
        with pytest.raises(ValueError, match=text):
            kernels("checked", out, **{"block": (32,), **options})
