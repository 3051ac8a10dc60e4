"""The model by which plans of copies are compared, beside what an H200 took, and what it says of a plan's layouts."""

from __future__ import annotations

import math

import pytest

from copy_plans import plan_of_layouts, row_major
from tilewright import _core
from tilewright.kernels.copy.choose import choose_copy, copy_by_rows
from tilewright.kernels.copy.cost import in_turn, lack
from tilewright.kernels.copy.packing import choose_packing
from tilewright.kernels.copy.rows_cost import cost_of_rows

# Bytes of an element, shape, axes, the microseconds of the plan by rows and of the best packed one: medians on an H200,
# 2026-11-29, operands rotated past the L2, of copies of benchmarks/copy_random.py 7.
MEASURED = [
    (2, (138, 88, 737), (2, 1, 0), 81.7, 20.0),  # 32 threads read all
    (4, (138, 88, 737), (2, 1, 0), 52.1, 30.5),
    (2, (5, 43, 98, 32, 23), (2, 0, 4, 3, 1), 583.0, 24.4),  # 12 threads, whose registers do not hold 43 accesses
    (1, (124, 35, 12, 60, 24), (2, 4, 0, 3, 1), 141.8, 68.0),  # bytes that are stored alone
    (4, (124, 35, 12, 60, 24), (2, 4, 0, 3, 1), 277.1, 209.1),
    (1, (31, 16, 16, 8, 26, 11), (5, 3, 0, 1, 4, 2), 41.4, 20.4),  # 16 lanes meet in a bank
    (1, (211, 46699), (1, 0), 23.9, 12.3),
    (4, (1028, 128, 18), (2, 1, 0), 12.4, 9.3),
    (2, (25536, 2624), (1, 0), 73.3, 95.3),
    (2, (868, 1336, 51), (1, 2, 0), 67.4, 95.4),
    (4, (461, 21, 16, 392), (3, 0, 1, 2), 134.6, 158.0),
    (1, (48, 136, 150, 36), (3, 0, 1, 2), 20.0, 28.5),
    (4, (12, 16, 7, 24, 32, 40), (0, 2, 5, 3, 1, 4), 81.6, 121.1),
    (2, (44, 16, 14, 6, 16, 16), (3, 4, 1, 0, 5, 2), 18.1, 26.8),
    (2, (176, 8, 62, 59), (2, 0, 3, 1), 10.4, 12.0),
    (1, (137, 390, 305), (1, 0, 2), 14.1, 20.4),
]


def reordered(size, shape, axes, rule=choose_copy):
    strides = row_major(shape)
    return plan_of_layouts(size, tuple(shape[i] for i in axes), tuple(strides[i] for i in axes), rule=rule)


@pytest.mark.parametrize(("size", "shape", "axes", "rows", "packed"), MEASURED)
def test_what_was_faster_is_chosen(size, shape, axes, rows, packed):
    by_rows = reordered(size, shape, axes, copy_by_rows)
    chosen = reordered(size, shape, axes)
    assert (chosen.kernel == "packed") == (packed < rows)
    for cost, measured in (
        (cost_of_rows(by_rows), rows),
        (choose_packing(by_rows.problem, 256, 256).cost, packed),
    ):
        assert 1 / 1.75 < 1e6 * cost.seconds / measured < 1.4


@pytest.mark.parametrize("size", [1, 2, 4])
def test_narrow_accesses_are_several_of_a_thread(size):
    """Whatever the elements, a CTA has about the bytes that its threads would move by two accesses of 16."""
    plan = reordered(size, (53, 57, 42, 12, 44), (1, 2, 3, 0, 4), copy_by_rows)
    assert (plan.kernel, plan.store_vector * size) == ("direct", min(4 * size, 16))
    assert 2048 <= math.prod(plan.tile) * size <= 4096
    assert int(_core.size(plan.load_tv, mode=[0])) > 64


def test_few_threads_that_read_all_wait_longer():
    """46 is divided by 2 and 23: 16 lanes of a row leave 2 threads to 46 rows, and 23 accesses to each."""
    slow = cost_of_rows(reordered(2, (138, 88, 737), (2, 1, 0), copy_by_rows))
    even = cost_of_rows(reordered(2, (144, 88, 737), (2, 1, 0), copy_by_rows))
    assert slow.waits > 4 * even.waits
    assert slow.bound == "waiting"


def test_elements_at_an_end_wait_for_each_other():
    """Rows of 47 elements, read by 16: fifteen are left, which are read one by one, where other threads read 16."""
    odd, even = (cost_of_rows(plan_of_layouts(1, (40, n, 4000), (64, 1, 64 * 40), rule=copy_by_rows)) for n in (47, 48))
    assert odd.waits > 2 * even.waits


def test_conflicts_in_shared_memory_are_counted():
    plan = reordered(1, (31, 16, 16, 8, 26, 11), (5, 3, 0, 1, 4, 2), copy_by_rows)
    assert plan.kernel == "staged"
    moved = 2 * math.prod(plan.problem.extents) / 128  # without any, of both sides: wavefronts of 128 bytes
    assert cost_of_rows(plan).wavefronts > 6 * moved


def test_ctas_follow_each_other():
    assert in_turn(132 * 3, 4, 100) == in_turn(1, 4, 100) == 100
    assert in_turn(132 * 4 + 1, 4, 100) == 200
    assert in_turn(132 * 32, 4, 100) == 800


def test_short_pieces_take_a_line():
    """64 bytes of each row of the destination take the memory as long as 128 would."""
    plan = reordered(1, (25536, 2624), (1, 0), copy_by_rows)
    bytes_copied = math.prod(plan.problem.extents)
    assert plan.tile[0] == 64
    assert cost_of_rows(plan).sectors == pytest.approx(3 * bytes_copied, rel=0.02)
    assert [lack(n) for n in (1, 127, 128, 500)] == [127, 1, 0, 0]
