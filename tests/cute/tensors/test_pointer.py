"""Pointers: text, arithmetic, access, and the alignment that is known of them and of parts of tensors."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import AddressSpace, Float16, Float32, Int32, cute
from tilewright.cute import runtime

# ---- pointers --------------------------------------------------------------------------------------------------------


def test_pointer_text_and_alignment():
    pointer = cute.make_ptr(Float32, 0x1000, AddressSpace.gmem, assumed_align=16)
    assert str(pointer) == "ptr<f32, gmem, align<16>>"
    steps = {0: 16, 1: 4, 2: 8, 3: 4, 4: 16, 6: 8, 64: 16}
    assert {n: (pointer + n).alignment for n in steps} == steps
    assert str(pointer + 1) == "ptr<f32, gmem>"
    assert [(pointer + Int32._make(x, d)).alignment for x, d in ((0, 1), (4, 2), (8, 4), (64, 64))] == [4, 8, 16, 16]
    packed = cute.make_ptr(tw.Float4E2M1FN, 0x1000, assumed_align=16)
    assert [(packed + n).alignment for n in (0, 1, 2, 8, 32)] == [16, 1, 1, 4, 16]


def test_pointer_arithmetic():
    pointer = cute.make_ptr(Float32, 0x1000)
    assert (pointer + 3).toint() == (3 + pointer).toint() == 0x100C
    assert (pointer - 3).toint() == 0xFF4
    assert (pointer + 5) - (pointer + 2) == 3
    assert pointer + 3 - 3 == pointer
    assert hash(pointer + 0) == hash(pointer)
    assert pointer != cute.make_ptr(Float16, 0x1000)
    assert (cute.make_ptr(tw.Int4, 0x10) + 3).toint() == 0x11
    assert (cute.make_ptr(Float32, 0x1004).align(16).toint(), cute.make_ptr(Float32, 0x1000).align(16).toint()) == (
        *(0x1010, 0x1000),
    )
    assert pointer.value_type is Float32
    with pytest.raises(TypeError):
        pointer + 1.5


def test_pointer_access():
    tensor = cute.make_rmem_tensor(4, Float32)
    pointer = tensor.iterator
    pointer[2] = 1.5
    (pointer + 3).store(Float32(2.5))
    assert (pointer[2], (pointer + 3).load(), list(tensor)) == (1.5, 2.5, [0, 0, 1.5, 2.5])


def test_pointer_errors():
    with pytest.raises(
        ValueError, match=r"^make_ptr: the address 0x0000000000001002 is not a multiple of the alignment 4$"
    ):
        cute.make_ptr(Float32, 0x1002)
    with pytest.raises(ValueError, match=r"^make_ptr: an alignment is a power of two in bytes, but got 12$"):
        cute.make_ptr(Float32, 0, assumed_align=12)
    with pytest.raises(
        TypeError, match=r"^make_ptr: expected an element type such as tilewright.Float32, but got 'f32'$"
    ):
        cute.make_ptr("f32", 0)
    text = (
        r"ptr<f32, gmem> at 0x0000000000001000: the pointer was made from an address, so the size of its memory is not"
    )
    with pytest.raises(
        RuntimeError, match=rf"^cannot load from {text} known; make the tensor with from_dlpack instead$"
    ):
        cute.make_ptr(Float32, 0x1000, AddressSpace.gmem).load()
    with pytest.raises(RuntimeError, match=rf"^cannot store to {text} known"):
        cute.make_tensor(cute.make_ptr(Float32, 0x1000, AddressSpace.gmem), 4)[0] = 1
    with pytest.raises(
        TypeError, match=r"^recast_ptr: pointers carry no swizzle; use make_composed_layout\(S<3,4,3>, 0, l"
    ):
        cute.recast_ptr(cute.make_ptr(Float32, 0), cute.make_swizzle(3, 4, 3))


def test_runtime_pointers():
    pointer = runtime.make_ptr(Float16, 0x1000, AddressSpace.gmem, assumed_align=32)
    assert str(pointer) == repr(pointer) == "Ptr<0x0000000000001000@gmem>"
    assert str(pointer.traced()) == "ptr<f16, gmem, align<32>>"
    assert str(runtime.nullptr(Float32)) == "Ptr<0x0000000000000000@generic>"


# ---- alignment of slices and partitions ------------------------------------------------------------------------------


def test_alignment_of_a_slice_is_static():
    """Seed 000: 16 bytes assumed, thread strides of 2*4 and 12*4 bytes: every thread has align<8>."""
    tensor = cute.make_tensor(cute.make_ptr(Int32, 0x1000, AddressSpace.gmem, assumed_align=16), (24, 1))
    tv = cute.composition(tensor, cute.make_layout(((2, 2), (2, 3)), stride=((2, 12), (1, 4))))
    for thread in range(4):
        assert str(tv[Int32(thread), None]) == "tensor<ptr<i32, gmem, align<8>> o ((2,3)):((1,4))>"
    assert [tv[thread, None].iterator.alignment for thread in range(4)] == [16, 8, 16, 8]  # known coordinates
    assert str(tv[Int32(0), (None, Int32(2))].iterator) == "ptr<i32, gmem, align<8>>"
    assert str(tv[Int32(0), (Int32(0), None)].iterator) == "ptr<i32, gmem>"


def test_dynamic_block_coordinates_keep_their_divisor():
    tiles = cute.local_tile(cute.make_identity_tensor((256, 1024)), (16, 128), (Int32(3), Int32(2)))
    assert str(tiles) == "tensor<(?{div=16},?{div=128}) o (16,128):(1@0,1@1)>"
    assert tiles[0] == (48, 256)
    part = cute.local_partition(cute.make_identity_tensor((8, 6)), cute.make_layout((4, 1, 2))[0], Int32(3))
    assert str(part) == "tensor<(?,0) o (2,6):(4@0,1@1)>"
