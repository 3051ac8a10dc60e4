"""What each thread gets: text and arrays, coverage, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import Int32, LayoutError, cute, kernels
from tilewright.cute.runtime import from_dlpack
from tv_examples import TV, VALUES, column

L = cute.parse


@pytest.fixture
def result():
    return kernels.visualize_tv(from_dlpack(column(), assumed_align=16), TV)


# ---- text and arrays ----


def test_text_of_the_article(result):
    """As seed 000's author printed it, the address apart."""
    first = result.tensor.iterator.toint()
    expected = ["TV Layout: ((2,2),(2,3)):((2,12),(1,4))"]
    for t, (offset, values) in enumerate(zip((0x0, 0x8, 0x30, 0x38), VALUES, strict=True)):
        expected.append(f"TIDX: {t}")
        expected.append(f"DATA: raw_ptr(0x{first + offset:016x}: i32, gmem, align<8>) o ((2,3)):((1,4)) = ")
        expected.append(f"  ( {', '.join(map(str, values))} )")
    assert str(result) == "\n".join(expected)


def test_arrays(result):
    assert result.values.tolist() == result.coordinates.tolist() == result.offsets.tolist() == VALUES
    assert result.values.dtype == np.int32
    assert (len(result), result[2].tolist(), [row[0] for row in result]) == (4, VALUES[2], [0, 2, 12, 14])
    assert repr(result) == "<4 threads x 6 values of (24,1):(1,1): each of 24 elements is read exactly once>"


def test_offsets_differ_from_coordinates_in_a_strided_tensor():
    result = kernels.visualize_tv(np.arange(24, dtype=np.int32).reshape(4, 6), L("(4,6):(1,4)"))
    assert result.coordinates[1].tolist() == [1, 5, 9, 13, 17, 21]
    assert result.offsets[1].tolist() == result.values[1].tolist() == [6, 7, 8, 9, 10, 11]


def test_threads(result):
    assert str(result.thread(3)) == "tensor<ptr<i32, gmem, align<8>> o ((2,3)):((1,4))>"
    assert list(result.thread(3)) == VALUES[3]
    for thread in (-1, 4):
        with pytest.raises(IndexError, match=rf"thread {thread} is out of range; there are 4 threads"):
            result.thread(thread)


def test_equality(result):
    assert result == kernels.visualize_tv(column(), TV)
    assert result != kernels.visualize_tv(column() + 1, TV)
    assert result != kernels.visualize_tv(column(), L("(4,6):(6,1)"))
    assert result != kernels.visualize_tv(np.arange(24), TV)
    assert result != str(result)
    with pytest.raises(TypeError, match="unhashable"):
        hash(result)


def test_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(24, dtype=torch.int32).reshape(24, 1)
    result = kernels.visualize_tv(tensor, TV)
    assert result.values.tolist() == VALUES
    assert f"0x{tensor.data_ptr():016x}: i32, gmem, align<4>" in str(result)
    halves = kernels.visualize_tv(tensor.to(torch.bfloat16), TV)
    assert (halves.values.dtype, halves.values.tolist()) == (np.float32, VALUES)
    assert ": bf16, gmem" in str(halves)
    assert "( 0.000000, 1.000000," in str(halves)


def test_other_tensors():
    counting = kernels.visualize_tv(cute.make_tensor(100, L("24:1")), TV)
    assert counting.values[1].tolist() == [102, 103, 106, 107, 110, 111]
    assert "DATA: 102 o ((2,3)):((1,4)) = \n  ( 102, 103," in str(counting)
    coordinates = kernels.visualize_tv(cute.make_identity_tensor((4, 6)), L("(4,6):(1,4)"))
    assert coordinates[1].tolist() == [(1, n) for n in range(6)]
    assert coordinates.offsets is None
    assert "(1,5)" in coordinates.text()


def test_dynamic_layouts_have_values():
    tensor = from_dlpack(column(), assumed_align=16).mark_layout_dynamic(leading_dim=0)
    dynamic = cute.make_layout(((Int32(2), 2), (2, 3)), stride=((2, 12), (1, 4)))
    result = kernels.visualize_tv(tensor, dynamic)
    assert result.values.tolist() == VALUES
    assert str(result).startswith("TV Layout: ((?,2),(2,3)):((2,12),(1,4))\nTIDX: 0\n")


def test_the_array_stays_alive():
    result = kernels.visualize_tv(column(), TV)  # the only other reference to the array is gone
    assert list(result.thread(0)) == VALUES[0]


def test_swizzled_tensor():
    swizzled = cute.make_composed_layout(cute.make_swizzle(2, 0, 2), 0, L("(4,4):(4,1)"))
    tensor = cute.make_tensor(from_dlpack(np.arange(16, dtype=np.int32)).iterator, swizzled)
    result = kernels.visualize_tv(tensor, L("(4,4):(4,1)"))
    assert result.values.tolist() == [[0, 5, 10, 15], [1, 4, 11, 14], [2, 7, 8, 13], [3, 6, 9, 12]]
    assert "  ( 1, 4, 11, 14 )\n" in str(result)


def test_scalar():
    assert kernels.visualize_tv(np.array(3.5), L("(1,1):(0,0)")).values.tolist() == [[3.5]]


# ---- coverage ----


def test_coverage(result):
    assert result.coverage
    assert str(result.coverage) == "each of 24 elements is read exactly once"
    part = kernels.visualize_tv(np.arange(25), TV).coverage
    assert not part
    assert (part.size, part.missing.tolist(), part.repeated.tolist()) == (25, [24], [])
    assert str(part) == "1 of 25 elements is never read (24)"
    both = kernels.visualize_tv(np.arange(30), L("((2,2),(2,4)):((2,12),(1,2))")).coverage
    assert str(both) == (
        "10 of 30 elements are never read (10, 11, 22, 23, 24, 25, 26, 27, ...), "
        "12 of 30 elements are read more than once (2, 3, 4, 5, 6, 7, 14, 15, ...)"
    )
    broadcast = kernels.visualize_tv(np.arange(4), L("(2,4):(0,1)")).coverage
    assert broadcast.repeated.tolist() == [0, 1, 2, 3]


# ---- errors ----


def test_outside_the_tensor():
    with pytest.raises(LayoutError) as error:
        kernels.visualize_tv(np.arange(23), TV)
    assert str(error.value) == (
        "visualize_tv((23):(1), ((2,2),(2,3)):((2,12),(1,4))): thread 3, value 5 reads coordinate 23, outside the "
        "tensor of 23 elements (0 to 22); size(TV) is 24 and cosize(TV) must be at most 23"
    )
    with pytest.raises(LayoutError, match="thread 1, value 0 reads coordinate -1"):
        kernels.visualize_tv(np.arange(4), L("(2,2):(-1,2)"))


def test_rank_of_the_layout():
    with pytest.raises(
        LayoutError, match=r"a thread-value layout has rank 2, \(thread, value\), but this one has rank 1"
    ):
        kernels.visualize_tv(column(), L("24:1"))
    with pytest.raises(LayoutError, match="has rank 3; group_modes"):
        kernels.visualize_tv(column(), L("(2,2,6):(2,12,1)"))


def test_layout_that_maps_to_coordinates():
    tv = cute.make_identity_layout((4, 6))
    with pytest.raises(
        LayoutError, match=r"compose it with the shape first: composition\(make_layout\(\(4,6\)\), tv_layout\)"
    ):
        kernels.visualize_tv(np.arange(24).reshape(4, 6), tv)
    composed = cute.composition(cute.make_layout((4, 6)), tv)
    assert kernels.visualize_tv(np.arange(24).reshape(4, 6), composed).values.tolist()[1] == [6, 7, 8, 9, 10, 11]


def test_kinds_of_arguments():
    with pytest.raises(TypeError, match="expected tv_layout to be a Layout, but got tuple"):
        kernels.visualize_tv(column(), (4, 6))
    with pytest.raises(TypeError, match="visualize_tv: expected tensor to be a Tensor or an array"):
        kernels.visualize_tv([1, 2, 3], TV)


def test_composition_that_is_no_layout():
    with pytest.raises(LayoutError, match="composition"):
        kernels.visualize_tv(np.zeros((4, 6), np.int32)[:, :5], L("(4,5):(5,1)"))
