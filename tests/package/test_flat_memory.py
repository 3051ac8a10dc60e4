"""Memory stays flat, however many operations of the algebra run. tests/runtime/test_launch_memory.py has launches."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import memory
from tilewright import LayoutError, cute
from tilewright.cute.runtime import from_dlpack

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks glibc what is allocated")

L = cute.parse
A, B, TILE = L("((4,2),8):((2,1),8)"), L("(4,2):(2,16)"), L("(4,8):(8,1)")
SWIZZLED = cute.composition(cute.make_swizzle(2, 3, 3), TILE)
ARRAY = np.zeros((8, 4), np.float32)


def refused(call):
    try:
        call()
    except LayoutError as error:
        return str(error), error.counterexample
    raise AssertionError("no error")


# Some with operands of their own in every step, so that nothing that is kept for equal ones hides what is lost.
OPERATIONS = [
    lambda i: cute.make_layout((i % 97 + 1, 4), stride=(4, i)),
    lambda i: cute.composition(A, B),
    lambda i: cute.composition(cute.make_layout((4, i % 64 + 1)), cute.make_layout(4)),
    lambda i: cute.logical_divide(cute.make_layout(64 * (i % 9 + 1)), L("8:2")),
    lambda i: cute.zipped_divide(TILE, (2, 4)),
    lambda i: cute.logical_product(TILE, cute.make_layout(i % 50 + 1)),
    lambda i: cute.complement(L("(2,4):(1,8)"), 32 * (i % 9 + 1)),
    lambda i: (cute.right_inverse(TILE), cute.left_inverse(TILE)),
    lambda i: cute.coalesce(L("(2,(1,6)):(1,(6,2))")),
    lambda i: str(cute.parse(f"({i % 31 + 1},2):(2,{i})")),
    lambda i: (A(i % 64), A.shape, hash(A), TILE == A),
    lambda i: cute.make_layout_tv(TILE, cute.make_layout((2, 2))),
    lambda i: SWIZZLED(i % 32),
    lambda i: cute.composition(SWIZZLED, L("(4,4):(1,4)")),
    lambda i: refused(lambda: cute.composition("(3,4):(4,1)", "4:2")),
    lambda i: refused(lambda: cute.parse(f"({i}")),
    lambda i: bool(cute.is_disjoint(TILE, TILE, 31 + i % 3)),
    lambda i: from_dlpack(ARRAY[: i % 8 + 1]).layout,
    lambda i: np.from_dlpack(from_dlpack(ARRAY)),
    lambda i: cute.E((i % 40, 2)),
]


def operate(steps):
    return memory.growth(lambda i: OPERATIONS[i % len(OPERATIONS)](i // len(OPERATIONS)), steps)


@pytest.mark.parametrize("steps", [20_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_operations(steps, record_property):
    grown = operate(steps)
    memory.check_flat(grown, steps)
    record_property("figure", f"{steps:,} operations: {memory.text(grown)}")


def test_a_leak_is_seen():
    """The measure finds 32 bytes of one operation in twenty."""
    kept = []
    OPERATIONS.append(lambda i: kept.append(bytearray(32)))
    try:
        grown = operate(21_000)
    finally:
        OPERATIONS.pop()
    with pytest.raises(AssertionError):
        memory.check_flat(grown, 21_000)
