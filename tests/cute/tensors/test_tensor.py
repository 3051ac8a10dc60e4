"""Tensors: indexing, text, what makes them, elements, and the algebra on them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright import AddressSpace, Float16, Float32, Int32, Int64, LayoutError, cute
from tilewright.cute import int_tuple
from tilewright.cute.runtime import from_dlpack

# ---- indexing --------------------------------------------------------------------------------------------------------


def nested(depth: int = 3) -> st.SearchStrategy:
    leaf = st.integers(1, 4)
    return st.recursive(leaf, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=4)


@st.composite
def layouts(draw):
    """Layouts with strides of either sign, as (layout, brute-force table of coordinate and offset)."""
    shape = draw(nested())
    stride = int_tuple.transform_leaf(lambda _: draw(st.integers(-6, 6)), shape)
    return cute.make_layout(shape, stride=stride)


def flat_coordinates(shape):
    """All natural coordinates of a shape in colexicographic order."""
    if isinstance(shape, int):
        return list(range(shape))
    modes = [flat_coordinates(mode) for mode in shape]
    return [tuple(reversed(c)) for c in product(*reversed(modes))]


def offset_of(coord, stride):
    if isinstance(coord, tuple):
        return sum(offset_of(c, d) for c, d in zip(coord, stride, strict=True))
    return coord * stride


@given(layouts())
def test_every_way_to_name_an_element(layout):
    tensor = cute.make_rmem_tensor(layout, tw.Int64)
    coordinates = flat_coordinates(layout.shape)
    for c in coordinates:
        tensor[c] = offset_of(c, layout.stride)
    expected = [offset_of(c, layout.stride) for c in coordinates]
    assert [tensor[i] for i in range(len(coordinates))] == expected
    assert [tensor[Int32(i)] for i in range(len(coordinates))] == expected
    assert list(tensor) == list(tensor.load()) == expected
    identity = cute.make_identity_tensor(layout.shape)
    assert list(identity) == [identity[c] for c in coordinates] == coordinates
    counting = cute.make_tensor(1000, layout)
    assert list(counting) == [1000 + x for x in expected]


@given(layouts(), st.data())
def test_the_alignment_that_is_known_is_true(layout, data):
    """What is known of a slice's alignment holds at its address, and for dynamic coordinates at every other one too."""
    tensor = cute.make_rmem_tensor(layout, data.draw(st.sampled_from([tw.Int8, Float32, tw.Float4E2M1FN])))
    assert tensor.iterator.toint() % tensor.iterator.alignment == 0
    fixed = int_tuple.transform_leaf(lambda s: data.draw(st.none() | st.integers(0, s - 1)), layout.shape)
    dynamic = int_tuple.transform_leaf(lambda c: c is not None and data.draw(st.booleans()), fixed)

    def coordinate():
        return int_tuple.transform_leaf(
            lambda c, d, s: Int32(data.draw(st.integers(0, s - 1))) if d else c, fixed, dynamic, layout.shape
        )

    if None in int_tuple.get_leaves(fixed):
        pointers = [tensor[coordinate()].iterator for _ in range(3)]
        assert len({pointer.alignment for pointer in pointers}) == 1
        for pointer in pointers:
            assert pointer.alignment >= 1
            assert pointer.toint() % pointer.alignment == 0


@given(layouts(), st.data())
def test_a_slice_is_the_tensor_with_a_part_of_the_coordinate_fixed(layout, data):
    tensor = cute.make_rmem_tensor(layout, tw.Int64)
    tensor.store(range(cute.size(layout)))
    fixed = int_tuple.transform_leaf(lambda s: data.draw(st.none() | st.integers(0, s - 1)), layout.shape)
    part = tensor[fixed] if cute.has_underscore(fixed) else None
    if part is None:
        return
    free = int_tuple.transform_leaf(lambda c, s: s if c is None else 1, fixed, layout.shape)
    whole = [int_tuple.transform_leaf(lambda c, f: c if f is None else f, c, fixed) for c in flat_coordinates(free)]
    assert list(part) == [tensor[c] for c in whole]
    counting = cute.make_tensor(0, layout)
    assert list(counting[fixed]) == [counting[c] for c in whole]
    identity = cute.make_identity_tensor(layout.shape)
    assert list(identity[fixed]) == whole


def test_out_of_range_is_an_error_that_names_tensor_coordinate_and_shape():
    tensor = cute.make_rmem_tensor(((2, 2), 3), Float32)
    name = r"tensor<ptr<f32, rmem, align<32>> o \(\(2,2\),3\):\(\(1,2\),4\)>"
    for coord, text in {
        12: r"\[12\]: coordinate 12 is out of range; shape \(\(2,2\),3\) allows 0 to 11 there",
        -1: r"\[-1\]: coordinate -1 is out of range; shape \(\(2,2\),3\) allows 0 to 11 there",
        (4, 0): r"\[\(4,0\)\]: coordinate 4 of mode 0 is out of range; shape \(\(2,2\),3\) allows 0 to 3 there",
        ((0, 2), 0): r"\[\(\(0,2\),0\)\]: coordinate 2 of mode 0,1 is out of range; shape .* allows 0 to 1 there",
        (Int32(0), Int32(3)): r"\[\(\?,\?\)\]: coordinate 3 of mode 1 is out of range; shape .* allows 0 to 2 there",
    }.items():
        with pytest.raises(IndexError, match=f"^{name}{text}$"):
            tensor[coord]
        with pytest.raises(IndexError, match=f"^{name}{text}$"):
            tensor[coord] = 1.0


def test_coordinates_of_computed_elements_have_no_bounds():
    assert cute.make_tensor(5, cute.make_layout((2, 2), stride=(10, 1)))[3, 4] == 39
    assert cute.make_identity_tensor((2, 2))[5, -1] == (5, -1)


def test_no_view_leaves_the_memory():
    """Whatever a layout claims, an element outside of the owner's memory is not touched."""
    array = np.arange(6, dtype=np.int32)
    tensor = from_dlpack(array[1:5])
    for view in (
        cute.make_tensor(tensor.iterator, cute.make_layout(8)),
        cute.make_tensor(tensor.iterator - 1, cute.make_layout(4)),
        cute.make_tensor(tensor.iterator, cute.make_layout(2, stride=-1)),
        cute.domain_offset(3, tensor),
    ):
        with pytest.raises(IndexError, match=r"outside the owner's memory"):
            list(view)
        with pytest.raises(IndexError, match=r"outside the owner's memory"):
            view.load()
        with pytest.raises(IndexError, match=r"outside the owner's memory"):
            view.fill(7)
    assert (array[0], array[5]) == (0, 5)


def test_wrong_kinds_of_coordinates():
    tensor = cute.make_rmem_tensor((4, 2), Float32)
    with pytest.raises(
        TypeError, match=r"^a tensor is indexed by integers and None: write t\[None, 0\] to keep mode 0"
    ):
        tensor[:, 0]
    with pytest.raises(TypeError, match=r"there is no ':' or '\.\.\.'$"):
        tensor[...]
    for wrong in ("x", (True, 0)):
        with pytest.raises(TypeError, match="a coordinate is an integer, None or a nested tuple of them"):
            tensor[wrong]
    with pytest.raises(TypeError, match=r"an index is an integer, but got float 1\.5: `//` divides to an integer"):
        tensor[1.5]
    for wrong in ((0,), (0, 0, 0), ((0, 0), 0), (0, None, 0)):
        with pytest.raises(LayoutError, match="does not fit the shape"):
            tensor[wrong]


def test_swizzled_memory():
    layout = cute.make_composed_layout(cute.make_swizzle(2, 0, 3), 0, cute.make_layout((8, 8), stride=(8, 1)))
    tensor = cute.make_rmem_tensor(layout, tw.Int32)
    assert str(tensor) == "tensor<ptr<i32, rmem, align<32>> o S<2,0,3> o 0 o (8,8):(8,1)>"
    tensor.store(range(64))
    assert list(tensor) == list(tensor.load()) == list(range(64))
    for row in range(8):
        assert list(tensor[row, None]) == [row + 8 * column for column in range(8)]
        assert list(tensor[None, row]) == [8 * row + i for i in range(8)]


# ---- text ------------------------------------------------------------------------------------------------------------


def test_text():
    dynamic = cute.make_layout((128, 32, Int32(5)), stride=(1, Int64._make(8, 8), Int64._make(256, 256)))
    pointer = cute.make_ptr(Float16, 0x1000, AddressSpace.gmem, assumed_align=16)
    tensor = cute.make_tensor(pointer, dynamic)
    assert str(tensor) == "tensor<ptr<f16, gmem, align<16>> o (128,32,?):(1,?{i64 div=8},?{i64 div=256})>"
    assert str(cute.make_identity_tensor((8, 4))) == "tensor<(0,0) o (8,4):(1@0,1@1)>"
    assert str(cute.make_identity_tensor((2, (3, 4)))) == "tensor<(0,(0,0)) o (2,(3,4)):(1@0,(1@0@1,1@1@1))>"
    assert str(cute.make_identity_tensor(4)) == "tensor<0 o 4:1>"
    assert str(cute.make_tensor(Int32(7), 4)) == "tensor<? o 4:1>"
    assert repr(tensor) == str(tensor)
    assert cute.make_tensor(pointer, cute.make_layout((64, 256), stride=(4096, 1))).type == (
        '!cute.memref<f16, gmem, align<16>, "(64,256):(4096,1)">'
    )
    assert cute.make_identity_tensor((8, 4)).type == '!cute.coord_tensor<"(0,0)", "(8,4):(1@0,1@1)">'


def test_members():
    tensor = cute.make_rmem_tensor(cute.make_layout((4, 2), stride=(2, 1)), Float32)
    assert (tensor.shape, tensor.stride, tensor.leading_dim) == ((4, 2), (2, 1), 1)
    assert (tensor.element_type, tensor.dtype, str(tensor.memspace)) == (Float32, Float32, "rmem")
    identity = cute.make_identity_tensor((4, 2))
    assert (identity.element_type, str(identity.memspace)) == (None, "generic")


# ---- make ------------------------------------------------------------------------------------------------------------


def test_make_tensor():
    assert str(cute.make_tensor(3, (2, 4))) == "tensor<3 o (2,4):(1,2)>"
    assert list(cute.make_tensor((5, 6), cute.make_identity_layout((2, 2)))) == [(5, 6), (6, 6), (5, 7), (6, 7)]
    with pytest.raises(
        TypeError,
        match=r"^make_tensor: expected the iterator to be a Pointer, an integer or a coordinate, but got ndarray .*; "
        r"from_dlpack makes a tensor of an array$",
    ):
        cute.make_tensor(np.zeros(4), 4)
    with pytest.raises(LayoutError, match=r"cannot add 2 to the coordinate \(5,6\): the profiles differ;"):
        cute.make_tensor((5, 6), 4)[2]


def test_make_rmem_tensor():
    tensor = cute.make_rmem_tensor(cute.make_layout((4, 2), stride=(-3, 1)), Float16)
    assert str(tensor) == "tensor<ptr<f16, rmem, align<32>> o (4,2):(-3,1)>"
    assert tensor.iterator._memory.address % 32 == 0
    assert list(tensor) == [0.0] * 8
    with pytest.raises(
        LayoutError, match=r"^make_rmem_tensor\(\(4,\?\):\(1,4\)\): registers need a static layout; use Python"
    ):
        cute.make_rmem_tensor((4, Int32(2)), Float32)
    with pytest.raises(TypeError, match=r"^make_rmem_tensor: expected an element type such as tilewright.Float32"):
        cute.make_rmem_tensor((4, 2), np.float32)


def test_make_like():
    source = cute.make_rmem_tensor(cute.make_layout((4, (2, 3)), stride=(0, (12, 2))), Float32)
    assert str(cute.make_rmem_tensor_like(source)) == "tensor<ptr<f32, rmem, align<32>> o (4,(2,3)):(0,(3,1))>"
    assert cute.make_rmem_tensor_like(source.layout, Float16).element_type is Float16
    assert str(cute.make_fragment_like(source.layout)) == str(cute.make_fragment_like_layout(source.layout))
    assert cute.make_fragment_like(source, tw.Boolean).layout == cute.make_fragment_like_layout(source.layout)
    assert str(cute.make_fragment_like(source, tw.Boolean).iterator) == "ptr<i8, rmem, align<32>>"
    array = np.zeros((2, 3), np.float32)
    assert str(cute.make_rmem_tensor_like(array)) == "tensor<ptr<f32, rmem, align<32>> o (2,3):(3,1)>"
    with pytest.raises(TypeError, match=r"^make_rmem_tensor_like: \(4\):\(1\) has no element type; pass dtype$"):
        cute.make_rmem_tensor_like(cute.make_layout((4,)))


def test_recast():
    tensor = from_dlpack(np.array([1.0, 2.0], np.float32))
    halves = cute.recast_tensor(tensor, tw.Uint16)
    assert str(halves.layout) == "(4):(1)"
    assert list(halves) == [0, 0x3F80, 0, 0x4000]
    assert list(cute.recast_tensor(halves, Float32)) == [1.0, 2.0]
    nibbles = cute.recast_tensor(from_dlpack(np.array([0x21, 0x43], np.uint8)), tw.Int4)
    assert list(nibbles) == [1, 2, 3, 4]
    assert list(nibbles[None]) == [1, 2, 3, 4]
    with pytest.raises(TypeError, match=r"^cannot recast tensor<.*>: its elements are computed, not stored"):
        cute.recast_tensor(cute.make_identity_tensor(4), Float32)


def test_size_in_bytes():
    assert cute.size_in_bytes(Float32, cute.make_layout((4, 8))) == 128
    assert cute.size_in_bytes(tw.Float4E2M1FN, cute.make_layout(5)) == 3
    assert cute.size_in_bytes(tw.Boolean, cute.make_layout(5)) == 5
    assert cute.size_in_bytes(Float32, None) == 0


# ---- fill, load, store -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [Float32, Float16, tw.BFloat16, tw.Float8E4M3FN, tw.Float6E2M3FN, tw.Float4E2M1FN, tw.TFloat32]
)
def test_fill_load_store_floats(dtype):
    tensor = cute.make_rmem_tensor(cute.make_layout((2, 3), stride=(3, 1)), dtype)
    numbers = [0.0, 0.5, -1.0, 2.0, 3.0, -6.0]
    tensor.store(numbers)
    assert list(tensor) == numbers == list(tensor.load())
    assert np.asarray(tensor.load()).dtype == (np.float16 if dtype is Float16 else np.float32)
    other = cute.make_rmem_tensor_like(tensor)
    other.store(tensor)
    assert list(other) == numbers
    other[None, 1] = np.array([4.0, -4.0])
    assert list(other) == [0.0, 0.5, 4.0, -4.0, 3.0, -6.0]
    other.fill(1.5)
    assert list(other) == [1.5] * 6


def test_elementwise_addition():
    a, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.full((2, 4), 0.5, np.float32)
    c = np.zeros((2, 4), np.float32)
    from_dlpack(c).store(from_dlpack(a).load() + from_dlpack(b).load())
    assert (c == a + b).all()
    from_dlpack(c)[1, None].store(np.arange(8, dtype=np.float32)[::-2])
    assert c[1].tolist() == [7, 5, 3, 1]


def test_store_errors():
    tensor = cute.make_rmem_tensor(4, tw.Int8)
    name = r"tensor<ptr<i8, rmem, align<32>> o 4:1>"
    with pytest.raises(ValueError, match=rf"^{name}\.store: expected 4 values, but got 3; fill\(x\) stores one"):
        tensor.store([1, 2, 3])
    with pytest.raises(
        ValueError, match=rf"^{name}\.store: expected 4 values, but got int 1; fill\(x\) stores one number"
    ):
        tensor[None] = 1
    with pytest.raises(OverflowError, match=r"^Int8\(300\): out of range; Int8 holds -128 to 127$"):
        tensor[0] = 300
    with pytest.raises(TypeError, match=r"^Int8\(1\.5\): not an integer"):
        tensor.fill(1.5)
    with pytest.raises(
        TypeError, match=r"^cannot store to tensor<\(0,0\) o .*>: its elements are computed, not stored; make_rm"
    ):
        cute.make_identity_tensor((2, 2))[0] = 1


# ---- algebra on tensors ----------------------------------------------------------------------------------------------


def test_algebra_keeps_the_iterator():
    tensor = cute.make_tensor(100, cute.make_layout((8, 6), stride=(6, 1)))
    divided = cute.zipped_divide(tensor, (4, 2))
    assert str(divided) == "tensor<100 o ((4,2),(2,3)):((6,1),(24,2))>"
    assert str(cute.composition(tensor, cute.make_layout((2, 2)))) == "tensor<100 o (2,2):(6,12)>"
    assert str(cute.domain_offset((1, 2), tensor)) == "tensor<108 o (8,6):(6,1)>"
    assert str(cute.slice_(tensor, (None, 2))) == "tensor<102 o (8):(6)>"
    assert str(cute.group_modes(divided, 0, 2)) == "tensor<100 o (((4,2),(2,3))):(((6,1),(24,2)))>"
    assert (cute.size(divided), cute.rank(divided), cute.cosize(tensor), cute.shape(tensor)) == (48, 2, 48, (8, 6))
    identity = cute.domain_offset((1, 2), cute.make_identity_tensor((8, 6)))
    assert str(identity) == "tensor<(1,2) o (8,6):(1@0,1@1)>"


def test_local_tile_covers_a_matrix():
    array = np.arange(48, dtype=np.int32).reshape(8, 6)
    for i, j in product(range(2), range(3)):
        tile = cute.local_tile(array, (4, 2), (i, j))
        assert list(tile.load()) == array[4 * i : 4 * i + 4, 2 * j : 2 * j + 2].T.flatten().tolist()
    a = cute.make_identity_tensor((256, 64))
    blocks = cute.local_tile(a, tiler=(128, 128, 8), coord=(1, 0, None), proj=(1, None, 1))
    assert str(blocks) == "tensor<(128,0) o (128,8,8):(1@0,1@1,8@1)>"
    assert str(cute.local_tile(a, (128, 8), (1,))) == "tensor<(128,0) o (128,8,8):(1@0,1@1,8@1)>"
    assert str(cute.local_tile(a, (128, 8), 1)) == "tensor<(128,0) o (128,8):(1@0,1@1)>"


def test_local_tile_of_one_matrix_of_a_batch():
    """A coordinate goes on behind the projection, along the mode that the tiler leaves whole."""
    batch = cute.make_identity_tensor((256, 64, 4))
    tiles = cute.local_tile(batch, (128, 128, 8), (1, 0, None, 3), proj=(1, None, 1))
    assert str(tiles) == "tensor<(128,0,3) o (128,8,8):(1@0,1@1,8@1)>"
    with pytest.raises(LayoutError, match=r"proj \(1,_,1\) needs 3 modes, but coord is \(1,0,_,3,0\)"):
        cute.local_tile(batch, (128, 128, 8), (1, 0, None, 3, 0), proj=(1, None, 1))


def test_local_partition_gives_every_thread_its_elements():
    tensor = cute.make_tensor(0, cute.make_layout((8, 6), stride=(6, 1)))
    threads = cute.make_layout((4, 2), stride=(2, 1))
    owned = [x for index in range(8) for x in cute.local_partition(tensor, threads, index)]
    assert sorted(owned) == list(range(48))
    first = cute.local_partition(tensor, threads, 3)
    assert str(first) == "tensor<7 o (2,3):(24,2)>"
    projected = cute.local_partition(tensor, cute.make_layout((4, 5, 2)), 7 + 20, proj=(1, None, 1))
    assert str(projected) == str(cute.local_partition(tensor, cute.make_layout((4, 2), stride=(1, 20)), 27))
    assert str(cute.local_partition(cute.make_identity_tensor(8), cute.make_layout(4), 2)) == "tensor<2 o (2):(4)>"


def test_partition_errors():
    tensor = cute.make_identity_tensor((8, 6))
    with pytest.raises(LayoutError, match=r"^local_tile: proj \(1,_\) needs 2 modes, but tiler is \(4,2,1\)$"):
        cute.local_tile(tensor, (4, 2, 1), (0, 0, 0), proj=(1, None))
    with pytest.raises(LayoutError, match=r"^local_tile: coordinate \(0,0,0\) has 3 modes, but shape \(2,3\) has 2$"):
        cute.local_tile(tensor, (4, 2), (0, 0, 0))
    with pytest.raises(
        LayoutError, match=r"^outer_partition: coordinate \(0,0,0\) has 3 modes, but shape \(4,2\) has 2$"
    ):
        cute.outer_partition(tensor, (4, 2), (0, 0, 0))
    with pytest.raises(TypeError, match=r"^local_partition: expected tiler to be a Layout of threads, but got tuple$"):
        cute.local_partition(tensor, (4, 2), 0)
    with pytest.raises(
        TypeError,
        match=r"^local_tile: expected tensor to be a Tensor or an array with __dlpack__, but got Layout; make_tensor "
        r"and from_dlpack make tensors$",
    ):
        cute.local_tile(cute.make_layout((8, 6)), (4, 2), (0, 0))
    with pytest.raises(BufferError, match=r"^local_tile: tensor: elements of complex of 128 bits have no counterpart"):
        cute.local_tile(np.zeros((8, 6), complex), (4, 2), (0, 0))


# ---- helpers over nested tuples --------------------------------------------------------------------------------------


def test_int_tuple_helpers():
    assert int_tuple.text((4, (None, Int32(2)), (3,))) == "(4,(_,?),(3))"
    assert cute.tuple_cat((1,), 2, (3, (4,))) == (1, 2, 3, (4,))
    assert cute.transform_leaf(max, (1, (5, 3)), (4, (2, 9))) == (4, (5, 9))
    assert cute.transform_leaf(abs, -3) == 3
    assert cute.transform_apply((1, 2), f=lambda x: x + 1, g=max) == 3
    assert cute.transform_apply(5, f=lambda x: x + 1, g=lambda x: 10 * x) == 60
    assert cute.filter_tuple((1, 2, 3), f=lambda x: (x, x) if x % 2 else ()) == (1, 1, 3, 3)
    assert (cute.find((4, (1, 8)), 8), cute.find((4, 8), 8), cute.find(3, 3), cute.find((1,), 2)) == (
        (1, 1),
        1,
        0,
        None,
    )
    assert cute.find_if((4, (1, 8)), lambda x, position: position == (1, 0)) == (1, 0)
    assert cute.find((4, (1, 8)), 8, hierarchical=False) == 2
    assert cute.get_leaves((1, (None, 2))) == [1, None, 2]
    assert cute.static((Int32(3), (Int64(4), 5))) == (3, (4, 5))
    assert type(cute.static(Int32(3))) is int


def test_int_tuple_helper_errors():
    with pytest.raises(
        TypeError, match=r"^transform_leaf: the profiles of \(1,2\) and \(1,\(2,3\)\) differ|profiles of 2 and"
    ):
        cute.transform_leaf(max, (1, 2), (1, (2, 3)))
    with pytest.raises(TypeError, match=r"^transform_leaf: expected at least one tuple$"):
        cute.transform_leaf(max)
    with pytest.raises(
        ValueError, match=r"^transform_apply: the ranks of \(1,2\) and \(1\) differ; pass tuples of one rank$"
    ):
        cute.transform_apply((1, 2), (1,), f=max, g=max)
    with pytest.raises(ValueError, match=r"^filter_tuple: the ranks of \(1,2\) and 1 differ; pass tuples of one rank$"):
        cute.filter_tuple((1, 2), 1, f=max)


# ---- the namespace ---------------------------------------------------------------------------------------------------


def test_every_public_name_exists_and_has_a_docstring():
    pytest.importorskip("torch", reason="tilewright.torch is one of the names")
    for module in (tw, cute):
        assert sorted(set(module.__all__)) == sorted(module.__all__)
        for name in module.__all__:
            value = getattr(module, name)
            assert callable(value) is False or value.__doc__, name
    assert set(cute.__all__) <= set(dir(cute))
    with pytest.raises(AttributeError, match=r"^module 'tilewright.cute' has no attribute 'nonsense'$"):
        cute.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("like", "expected"),
    [
        (cute.make_identity_layout((2, 3)), "(2,3):(1,2)"),
        (cute.make_identity_layout(((2, 4), 3)), "((2,4),3):((1,2),8)"),
        (cute.make_layout((3, 2), stride=(2 * cute.E(1), cute.E(0))), "(3,2):(1,3)"),
        (cute.make_layout((3, 2), stride=(cute.E(0), 0)), "(3,2):(1,0)"),
    ],
)
def test_registers_like_coordinates_do_not_overlap(like, expected):
    """Basis elements have no order: modes lie from left to right, each element in a register of its own."""
    assert str(cute.make_layout_like(like)) == expected
    registers = cute.make_rmem_tensor_like(like, Float32)
    assert str(registers.layout) == expected
    if "0" not in expected.split(":")[1]:
        assert cute.is_injective(registers.layout)
        fragment = cute.make_fragment_like(like, Float32)
        assert cute.is_injective(fragment.layout)
        assert cute.size(fragment) == cute.cosize(fragment.layout)
