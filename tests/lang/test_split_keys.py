"""Blocks of several items in equal parts: each block is in one part, and parts end with items where that is as good."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.utils.split_keys import SplitKeys

FIELDS = 8


@cute.kernel
def note_segments(counts: cute.Tensor, found: cute.Tensor, taken: cute.Tensor, joining: cutlass.Constexpr):
    """found[part, turn]: item, begin, end, blocks, first and last part, slot, and whether it is whole."""
    tidx, _, _ = cute.arch.thread_idx()
    part, _, _ = cute.arch.block_idx()
    splits = SplitKeys(lambda item: counts[item], counts.shape[0], cute.arch.grid_dim()[0], joining).measure()

    def note(segment):
        if tidx == 0:
            for i in cutlass.range_constexpr(FIELDS - 1):
                found[part, taken[part], i] = segment[i]
            if segment.is_whole:
                found[part, taken[part], FIELDS - 1] = 1
            taken[part] += 1

    splits.for_each(splits.of_part(part), note)


@cute.jit
def split(
    counts: cute.Tensor, found: cute.Tensor, taken: cute.Tensor, parts: cutlass.Int32, joining: cutlass.Constexpr
):
    note_segments(counts, found, taken, joining).launch(grid=[parts, 1, 1], block=[32, 1, 1])


def segments_of(counts, parts, joining):
    """The segments of each part."""
    found, taken = np.zeros((parts, len(counts), FIELDS), np.int32), np.zeros(parts, np.int32)
    with cute.on_cpu(check=True):
        split(np.array(counts, np.int32), found, taken, parts, joining)
    return [[tuple(map(int, row)) for row in rows[:count]] for rows, count in zip(found, taken, strict=True)]


RAGGED = tuple(1 + 37 * i % 11 for i in range(40))


@pytest.mark.parametrize("joining", [0, 3])
@pytest.mark.parametrize("parts", [1, 2, 7, 33])
@pytest.mark.parametrize("counts", [(1,), (5, 9, 1), (16,) * 4, (1,) * 70, (3,) * 40, RAGGED])
def test_each_block_is_in_one_part(counts, parts, joining):
    found = segments_of(counts, parts, joining)
    listed = [(part, *segment) for part, segments in enumerate(found) for segment in segments]
    blocks = [(item, block) for _, item, begin, end, *_ in listed for block in range(begin, end)]
    assert blocks == [(item, block) for item, count in enumerate(counts) for block in range(count)]
    for item, count in enumerate(counts):
        of_it = [segment for segment in listed if segment[1] == item]
        sharers = [segment[0] for segment in of_it]
        assert sharers == list(range(sharers[0], sharers[-1] + 1))
        assert {segment[4:7] for segment in of_it} == {(count, sharers[0], sharers[-1])}
        assert [segment[8] for segment in of_it] == [len(of_it) == 1] * len(of_it)
    shared = [(part, slot) for part, *_, slot, is_whole in listed if not is_whole]
    assert len({slot for _, slot in shared}) == len(shared)
    assert all(slot // 2 == part for part, slot in shared)


@pytest.mark.parametrize(
    ("counts", "parts", "joining", "longest", "shared"),
    [
        ((64,) * 128, 66, 4, 128, False),  # two sequences a part, on 64 of 66
        ((64,) * 128, 66, 3, 125, True),  # more than so many blocks longer than equal parts
        ((16,) * 16, 33, 1, 8, True),  # two parts a sequence
        ((3,) * 101, 66, 2, 6, False),  # the last part has one sequence less
        ((16, 17) * 8, 33, 9, 8, True),  # of different lengths
    ],
)
def test_equal_items_are_not_cut_where_that_is_as_good(counts, parts, joining, longest, shared):
    found = segments_of(counts, parts, joining)
    assert max(sum(end - begin for _, begin, end, *_ in segments) for segments in found) == longest
    assert any(not segment[7] for segments in found for segment in segments) == shared
    if longest == 8 and len(set(counts)) == 1:
        ends = [segments[-1][2] for segments in found if segments]
        assert ends == [8, 16] * len(counts)
    assert all(len(a) > 0 or len(b) == 0 for a, b in pairwise(found))
