"""Accumulators as rows and columns and as operand A: the same registers, named as the next step needs them."""

from __future__ import annotations

import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, cute
from tilewright.cute.nvgpu import warp, warpgroup
from tilewright.utils.accumulators import as_operand_a, rows_and_columns

K, SMEM, RMEM = warpgroup.OperandMajorMode.K, warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
TILE = (64, 96)


def mmas(source):
    yield cute.make_tiled_mma(warpgroup.MmaF16BF16Op(BFloat16, Float32, (64, 96, 16), source, K, K), (1, 1, 1))
    op = warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    yield cute.make_tiled_mma(op, (2, 1, 1), permutation_mnk=(32, 16, 16))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("thread", [0, 5, 63])
def test_they_are_the_registers_of_these_coordinates(which, thread):
    mma = list(mmas(SMEM))[which]
    left = list(mmas(RMEM))[which].get_slice(thread)
    identity = cute.make_identity_tensor(TILE)
    coords = mma.get_slice(thread).partition_C(identity)
    rows = rows_and_columns(coords)
    for r in range(cute.size(rows, mode=[0])):
        for c in range(cute.size(rows, mode=[1])):
            assert rows[r, c] == (rows[r, 0][0], rows[0, c][1])
    given, wanted = as_operand_a(coords), left.partition_A(identity)
    assert given.shape == wanted.shape
    assert [given[i] for i in range(cute.size(given))] == [wanted[i] for i in range(cute.size(wanted))]


@pytest.mark.parametrize("thread", [0, 5, 63])
def test_operands_of_8_bits_have_columns_in_another_order(thread):
    """Within 32 of K, 16 a + 4 t + 2 b + e is column 16 a + 8 b + 2 t + e, a, b, e < 2, t < 4."""
    product, left = (
        cute.make_tiled_mma(warpgroup.MmaF8Op(Float8E4M3FN, Float8E4M3FN, Float32, (64, 96, 32), source, K, K))
        for source in (SMEM, RMEM)
    )
    identity = cute.make_identity_tensor(TILE)
    given = as_operand_a(product.get_slice(thread).partition_C(identity), Float8E4M3FN)
    wanted = left.get_slice(thread).partition_A(identity)
    assert cute.size(given) == cute.size(wanted) == 48
    for i in range(48):
        row, j = wanted[i]
        assert given[i] == (row, j // 16 * 16 + j // 2 % 2 * 8 + j // 4 % 4 * 2 + j % 2)


def test_other_tensors_are_refused():
    with pytest.raises(ValueError, match=r"rows_and_columns.*expected accumulators of mma.sync"):
        rows_and_columns(cute.make_rmem_tensor((4, 4), Float32))
    with pytest.raises(ValueError, match="3 tiles of 8 columns; expected an even number"):
        as_operand_a(cute.make_rmem_tensor(((2, 2, 3), 1, 1), Float32))
    with pytest.raises(ValueError, match="6 tiles of 8 columns; expected a multiple of 4"):
        as_operand_a(cute.make_rmem_tensor(((2, 2, 6), 1, 1), Float32), Float8E4M3FN)
    with pytest.raises(ValueError, match="operands of 8 or 16 bits, but got 32"):
        as_operand_a(cute.make_rmem_tensor(((2, 2, 4), 1, 1), Float32), Float32)
