"""Direct evaluation and ranks over F2 agree: two methods that share no code."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tilewright import Float16, Float32, Float64, Int8, _core, cute
from tilewright._core import LayoutError
from tilewright.analysis import by_rank, warp_access

L = cute.parse
WIDTHS = (1, 2, 4, 8, 16)
KINDS = [
    *(("global", op, width, 0) for op in ("load", "store") for width in WIDTHS),
    *(("shared", op, width, 0) for op in ("load", "store") for width in WIDTHS),
    *(("shared", "cp.async", width, 0) for width in (4, 8, 16)),
    *(("shared", op, 16, matrices) for op in ("ldmatrix", "stmatrix") for matrices in (1, 2, 4)),
]
CASES = 100_000


def random_columns(rng, count, bits, width):
    """Byte addresses of each bit of a lane: some small, some far, some 0 (broadcasts), some the same."""
    spans = 2 ** rng.integers(1, 13, (count, bits))
    columns = width * (rng.integers(0, 2**31, (count, bits)) % spans)
    columns[rng.random((count, bits)) < 0.15] = 0
    again = rng.random((count, bits)) < 0.1
    return np.where(again, np.roll(columns, 1, axis=1), columns)


def addresses_of(columns, constants):
    """The XOR of the columns of a lane's bits, for all lanes."""
    lanes = np.arange(2 ** columns.shape[1])
    found = np.broadcast_to(constants[:, None], (len(columns), len(lanes))).copy()
    for bit in range(columns.shape[1]):
        found ^= (lanes >> bit & 1) * columns[:, bit : bit + 1]
    return found


def test_the_methods_agree_on_random_cases():
    rng = np.random.default_rng(7)
    count = -(-CASES // len(KINDS))
    conflicts = 0
    for memory, op, width, matrices in KINDS:
        bits = {1: 3, 2: 4, 4: 5}[matrices] if matrices else 5
        columns = random_columns(rng, count, bits, width)
        addresses = addresses_of(columns, width * rng.integers(0, 2**20, count))
        keywords = {"memory": memory, "op": op, "width": width, "matrices": matrices}
        direct, fault = _core.analysis.requests(addresses, **keywords)
        assert fault == -1
        ranks = _core.analysis.requests_by_rank(columns, **keywords)
        wrong = np.flatnonzero((direct != ranks).any(axis=0))
        assert not len(wrong), (keywords, columns[wrong[0]], direct[:, wrong[0]], ranks[:, wrong[0]])
        conflicts += int((direct[4] > direct[5]).sum())
    assert conflicts > CASES // 8  # the cases are no easy ones


@pytest.mark.parametrize("bits", range(5))
def test_fewer_lanes_than_a_warp(bits):
    rng = np.random.default_rng(bits)
    for memory, op, width, _ in KINDS[:23]:
        columns = random_columns(rng, 200, bits, width)
        keywords = {"memory": memory, "op": op, "width": width}
        direct, _ = _core.analysis.requests(addresses_of(columns, np.zeros(200, np.int64)), **keywords)
        assert (direct == _core.analysis.requests_by_rank(columns, **keywords)).all(), keywords


def random_layout(rng, values):
    """A linear layout of 64 threads and some values: modes of powers of two in any order, some broadcast."""
    places = list(range((values.bit_length() - 1), 12))
    rng.shuffle(places)
    threads = [0 if rng.random() < 0.2 else 1 << places.pop() for _ in range(6)]
    return cute.make_layout(((2,) * 6, values), stride=(tuple(threads), 1))


def test_layouts_by_both_methods():
    rng = random.Random(3)
    for _ in range(200):
        dtype = rng.choice((Int8, Float16, Float32, Float64))
        size = dtype.bits // 8
        width = rng.choice([w for w in WIDTHS if w >= size])
        values = width // size
        layout = random_layout(rng, values)
        low = values.bit_length() - 1
        swizzle = cute.make_swizzle(rng.randint(0, 2), low + rng.randint(0, 2), rng.choice((-3, 2, 3, 4)))
        if rng.random() < 0.7:
            layout = cute.composition(swizzle, layout)
        memory, op = rng.choice(("global", "shared")), rng.choice(("load", "store"))
        base = rng.choice((0, 2**20))
        found = by_rank(layout, dtype, width, memory=memory, op=op, base=base)
        for warp in range(2):
            addresses = [base + size * int(layout((lane + 32 * warp, 0))) for lane in range(32)]
            assert warp_access(addresses, width, memory=memory, op=op) == found, (layout, dtype, width)


def test_columns():
    assert _core.analysis.columns(L("(4,(2,8)):(16,(1,2))")).tolist() == [16, 32, 1, 2, 4, 8]
    assert _core.analysis.columns(L("8:0")).tolist() == [0, 0, 0]
    swizzled = cute.composition(cute.make_swizzle(2, 0, 2), L("16:1"))
    assert _core.analysis.columns(swizzled).tolist() == [1, 2, 5, 10]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("(4,3):(1,4)", "extent 3 is no power of two"),
        ("(4,4):(1,1)", "adding 1 to an offset carries"),
        ("(4,4):(1,3)", "adding 3 to an offset carries"),
        ("4:-1", "stride -1 is negative"),
        ("(4,4):(1@0,1@1)", "basis strides"),
    ],
)
def test_layouts_that_are_not_linear(layout, message):
    with pytest.raises(LayoutError, match=message):
        _core.analysis.columns(L(layout))


def test_bad_arguments():
    with pytest.raises(LayoutError, match="no neighbours"):
        by_rank(L("(32,4):(1,32)"), Float32, 16)
    with pytest.raises(LayoutError, match="not aligned to the 8 bytes"):  # an odd thread exchanges its values
        by_rank(cute.composition(cute.make_swizzle(1, 0, 1), L("(4,2):(2,1)")), Float32, 8)
    with pytest.raises(ValueError, match="base = 0x40 is not aligned"):
        by_rank(L("(32,4):(4,1)"), Float32, 16, base=64)
    with pytest.raises(ValueError, match="no whole number of elements"):
        by_rank(L("32:1"), Float32, 2)
