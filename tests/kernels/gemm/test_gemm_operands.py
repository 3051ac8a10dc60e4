"""From tensors to a problem: modes that become one, strides that turn, and the bias."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import LayoutError, kernels
from tilewright.kernels.gemm.operands import gemm_operands
from tilewright.kernels.gemm.request import GemmRequest


def strided(shape, strides):
    return np.lib.stride_tricks.as_strided(np.zeros(10**5, np.float32), shape, [4 * d for d in strides])


def problem(a, b, c, **options):
    return gemm_operands("test", a, b, c, GemmRequest(**options)).problem


def zeros(*shape):
    return np.zeros(shape, np.float32)


def of_batch(rows, columns, *batch):
    """Modes (rows, columns, batch..) of an array whose batch modes are outermost."""
    order = (len(batch), len(batch) + 1, *range(len(batch)))
    return zeros(*batch, rows, columns).transpose(order)


def test_a_batch_of_one_b_is_more_rows():
    a, b, c = of_batch(5, 6, 2, 3), zeros(4, 6), of_batch(5, 4, 2, 3)
    p = problem(a, b, c)
    assert (p.m, p.n, p.batch) == (5 * 2 * 3, 4, ())
    assert (p.a_strides, p.b_strides, p.c_strides) == ((6, 1), (6, 1), (4, 1))
    assert problem(a, b, c, bias=zeros(4)).batch == ()
    assert problem(a, b, c, bias=zeros(5, 1)).batch == (6,)
    other = of_batch(4, 6, 2, 3)
    assert (problem(a, other, c).m, problem(a, other, c).batch) == (5, (6,))


def test_a_batch_of_one_a_is_more_columns():
    a, b, c = zeros(5, 6), of_batch(4, 6, 3), zeros(5, 3 * 4).reshape(5, 3, 4).transpose(0, 2, 1)
    p = problem(a, b, c)
    assert (p.m, p.n, p.batch, p.c_strides) == (5, 12, (), (12, 1))
    assert problem(a, b, c, bias=zeros(5, 1)).batch == ()
    assert problem(a, b, c, bias=zeros(4)).batch == (3,)


def test_a_batch_of_single_rows_is_a_matrix():
    a, c = strided((1, 6, 3), (77, 1, 20)), strided((1, 4, 3), (5, 1, 10))
    p = problem(a, zeros(4, 6), c)
    assert (p.m, p.batch, p.a_strides, p.c_strides) == (3, (), (20, 1), (10, 1))
    p = problem(zeros(4, 6), a, strided((4, 1, 3), (10, 5, 1)))
    assert (p.n, p.batch, p.b_strides, p.c_strides) == (3, (), (20, 1), (10, 1))
    assert problem(a, of_batch(4, 6, 3), c).batch == (3,)


def test_rows_that_do_not_go_on_stay_a_batch():
    padded = of_batch(6, 6, 3)[:5]
    assert problem(padded, zeros(4, 6), of_batch(5, 4, 3)).batch == (3,)
    assert problem(of_batch(5, 6, 3), zeros(4, 6), of_batch(6, 4, 3)[:5]).batch == (3,)


def test_batch_modes_become_one_where_all_three_allow_it():
    a, b, c = of_batch(5, 6, 2, 3), of_batch(4, 6, 2, 3), of_batch(5, 4, 2, 3)
    p = problem(a, b, c)
    assert (p.batch, p.a_strides, p.c_strides) == ((6,), (6, 1, 30), (4, 1, 20))
    turned = zeros(3, 2, 4, 6).transpose(2, 3, 1, 0)
    p = problem(a, turned, c)
    assert (p.batch, p.a_strides[2:], p.b_strides[2:], p.c_strides[2:]) == ((3, 2), (30, 90), (48, 24), (20, 60))
    p = problem(a, of_batch(4, 6, 2, 1), c)
    assert (p.batch, p.b_strides[2:]) == ((2,), (24,))  # the other one has become rows
    assert p.m == 15


def test_modes_that_run_backwards():
    a, b, c = zeros(5, 6), zeros(4, 6), zeros(5, 4)
    found = gemm_operands("test", a[::-1], b, c[::-1], GemmRequest())
    assert (found.problem.a_strides, found.problem.c_strides) == ((6, 1), (4, 1))
    assert found.shifts == (-4 * 6 * 4, 0, -4 * 4 * 4, 0)
    found = gemm_operands("test", a[:, ::-1], b[:, ::-1], c, GemmRequest())
    assert (found.problem.a_strides, found.problem.b_strides, found.shifts) == ((6, 1), (6, 1), (-20, -20, 0, 0))
    found = gemm_operands("test", a[:, ::-1], b, c, GemmRequest())
    assert (found.problem.a_strides, found.problem.b_strides, found.shifts) == ((6, -1), (6, 1), (0, 0, 0, 0))
    found = gemm_operands("test", a, b, c[:, ::-1], GemmRequest(bias=zeros(4)))
    assert (found.problem.b_strides, found.problem.epilogue.bias_stride) == ((-6, 1), -1)
    assert found.shifts == (0, 3 * 6 * 4, -12, 12)


def test_strides_of_modes_of_one_element():
    """They say nothing; what is put there keeps no kernel from loading rows."""
    p = problem(strided((1, 6), (3, 1)), strided((4, 1), (1, 7))[:, :1].repeat(6, 1), zeros(1, 4))
    assert p.a_strides == (8, 1)
    assert p.c_strides == (4, 1)
    p = problem(strided((5, 1), (1, 1)), strided((4, 1), (2, 9)), zeros(5, 4))
    assert p.a_strides == (1, 8)
    assert p.b_strides == (2, 1)
    p = problem(zeros(1, 1), zeros(1, 1), zeros(1, 1))
    assert p.a_strides == p.b_strides == p.c_strides == (4, 1)


@pytest.mark.parametrize("m", [4, 5])
def test_where_the_bias_lies(m):
    a, b, c = zeros(m, 6), zeros(4, 6), zeros(m, 4)
    for shape, side in (((4,), "n"), ((1, 4), "n"), ((m, 1), "m"), ((m,), "n" if m == 4 else "m")):
        epilogue = problem(a, b, c, bias=zeros(*shape)).epilogue
        assert (epilogue.bias, epilogue.bias_stride) == (side, 1), shape


@pytest.mark.parametrize(
    "bias",
    [
        lambda x: x[0, :20],
        lambda x: x[:20, 3],
        lambda x: x[3, 40::-2],
        lambda x: x[:1, :60:3],
        lambda x: x[30:31, ::-1][:, :20],
        lambda x: x[7:40, 5:6],
        lambda x: x[40:7:-1, 5:6],
        lambda x: np.broadcast_to(x[0, :1], (20,)),
    ],
)
def test_a_bias_of_any_strides(bias):
    rng = np.random.default_rng(0)
    a, b, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((33, 5), (20, 5), (64, 64)))
    given = bias(x)[:20] if bias(x).ndim == 1 else bias(x)
    np.testing.assert_allclose(kernels.gemm(a, b, bias=given), a @ b.T + given, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("start", range(33))
def test_elements_of_different_sizes_that_share_memory(start):
    """Single bytes of A, 4 apart, against elements of C of 4 bytes: the first halves of rows of 64 bytes are C's."""
    memory = np.zeros(1024, np.int8)
    c = memory.view(np.int32).reshape(16, 16)[:8, :8]
    a = np.lib.stride_tricks.as_strided(memory[start:], (8, 8), (64, 4))
    if start < 32:
        with pytest.raises(LayoutError, match=r"mA = .* and mC = .* share memory"):
            gemm_operands("test", a, np.zeros((8, 8), np.int8), c, GemmRequest())
    else:
        gemm_operands("test", a, np.zeros((8, 8), np.int8), c, GemmRequest())
