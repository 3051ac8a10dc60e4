"""print_tensor of vectors, and of tensors in kernels whose extents only a launch knows; where printf ends its line."""

from __future__ import annotations

import numpy
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.runtime import from_dlpack

SHAPES = [(1,), (3,), (6,), (7,), (2, 3), (6, 7), (7, 6), (9, 1), (10, 2, 3), (2, 9, 2, 2)]


@cute.jit
def _print(t: cute.Tensor, verbose: cutlass.Constexpr[bool]):
    cute.print_tensor(t, verbose=verbose)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("verbose", [False, True])
def test_dynamic_extents_print_as_static_ones(shape, verbose, capsys):
    array = numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape) - 3
    _print(from_dlpack(array), verbose)
    expected = capsys.readouterr().out
    lead = max(i for i, extent in enumerate(array.strides) if extent == 4)
    _print(from_dlpack(array).mark_layout_dynamic(leading_dim=lead), verbose)
    assert capsys.readouterr().out == expected
    assert len(expected.splitlines()) > 1


def test_one_dynamic_extent_among_static_ones(capsys):
    array = numpy.arange(24, dtype=numpy.int32).reshape(8, 3)
    _print(from_dlpack(array), False)
    expected = capsys.readouterr().out
    assert expected.count("...") == 1
    _print(from_dlpack(array).mark_compact_shape_dynamic(mode=0), False)
    assert capsys.readouterr().out == expected


def test_a_vector_prints_as_registers(capsys):
    @cute.jit
    def show(t: cute.Tensor):
        cute.print_tensor(t.load() * 2 + 1)

    show(from_dlpack(numpy.arange(6, dtype=numpy.float32).reshape(2, 3)))
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("tensor(raw_ptr(0x")
    assert first.endswith(": f32, rmem, align<32>) o (2,3):(1,2), data=")
    assert rows == ["       [[ 1.000000,  3.000000,  5.000000, ],", "        [ 7.000000,  9.000000,  11.000000, ]])"]


def test_a_vector_at_the_prompt(capsys):
    registers = cute.make_rmem_tensor((2, 2), cutlass.Int32)
    registers.store(range(4))
    cute.print_tensor(registers.load() - 2)
    assert capsys.readouterr().out.splitlines()[1:] == ["       [[-2,  0, ],", "        [-1,  1, ]])"]


def test_where_a_line_ends(capsys):
    """After each call, but where a format of C ends it itself."""

    @cute.jit
    def lines(n: cutlass.Int32):
        cute.printf("hello")
        cute.printf("%d", n)
        cute.printf("%d!\n", n)
        cute.printf("{}", n)
        cute.printf("")
        cute.printf("a", end=" ")
        cute.printf("b")

    lines(3)
    assert capsys.readouterr().out == "hello\n3\n3!\n3\n\na b\n"
