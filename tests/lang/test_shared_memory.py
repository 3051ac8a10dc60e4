"""Shared memory: where allocations and the fields of structs lie, and what they hold."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Float16, Float32, Int8, Int32, Int64, cute
from tilewright.lang.library.struct import Struct


@cute.struct
class Inner:
    flag: Int8
    count: Int32


@cute.struct
class Storage:
    barriers: cute.struct.MemRange[Int64, 3]
    tile: cute.struct.Align[cute.struct.MemRange[Float16, 10], 128]
    inner: Inner
    nothing: cute.struct.MemRange[Float32, 0]


def test_fields_lie_as_in_c():
    assert {name: field.offset for name, field in Inner.__fields__.items()} == {"flag": 0, "count": 4}
    assert {name: field.offset for name, field in Storage.__fields__.items()} == {
        "barriers": 0, "tile": 128, "inner": 148, "nothing": 156,
    }  # fmt: skip
    assert (Storage.size_in_bytes(), Storage.__alignof__, Inner.size_in_bytes()) == (256, 128, 8)

    @cute.union
    class Either:
        a: Float32
        b: cute.struct.MemRange[Int8, 7]

    assert [field.offset for field in Either.__fields__.values()] == [0, 0]
    assert Either.size_in_bytes() == 8
    assert issubclass(Either, Struct)


@cute.kernel
def storage_kernel(out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    first = allocator.allocate(3)
    storage = cutlass.utils.SmemAllocator().allocate(Storage)
    last = allocator.allocate_tensor(Int32, cute.make_layout(4), 16)
    if i == 0:
        storage.inner.count = 7
        storage.barriers[2] = 5
        storage.tile.get_tensor(cute.make_layout(10))[9] = Float16(2.5)
        last[3] = storage.inner.count.ptr.load() + 1
    cute.arch.sync_threads()
    base = first.toint()
    out[0] = storage.inner.count.ptr.load()
    out[1] = storage.barriers[2].to(Int32)
    out[2] = last[3]
    out[3] = Int32(storage.ptr.toint() - base)
    out[4] = Int32(last.iterator.toint() - base)
    out[5] = storage.tile.data_ptr()[9].to(Int32)


@pytest.mark.parametrize("step", [False, True])
def test_allocations_of_several_allocators_follow_one_another(step):
    out = np.full(6, -1, np.int32)
    call = storage_kernel(out)
    (call.debug if step else call.launch)(block=1)
    assert out[:3].tolist() == [7, 5, 8]
    assert out[5] == 2
    if not step:
        assert out[3:5].tolist() == [128, 128 + 256]


def test_what_a_struct_refuses():
    with pytest.raises(TypeError, match=r"^struct: field Bad\.x is 3; expected a number's type"):

        @cute.struct
        class Bad:
            x: 3

    with pytest.raises(ValueError, match=r"^struct\.Align: an alignment is a power of two in bytes, but got 3"):
        cute.struct.Align[Int32, 3]
    with pytest.raises(RuntimeError, match=r"SmemAllocator\.allocate\(\)"):
        cutlass.utils.SmemAllocator().allocate(16)


def test_more_than_a_block_has_is_refused_on_the_host():
    with pytest.raises(TypeError, match=r"allocate_tensor\(\(\?\):\(1\)\): shared memory needs a static layout|"):
        cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(Int32(4)))


def test_a_copy_of_a_number_of_tiles_known_at_run_time_only_says_what_to_do():
    @cute.kernel
    def kernel(x: cute.Tensor):
        kept = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
        tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(64), cute.make_layout(1))
        mine = tiled.get_slice(cute.arch.thread_idx()[0])
        cute.copy(tiled, mine.partition_S(x), mine.partition_D(kept))

    with pytest.raises(TypeError, match=r"^copy: the size of mode 1 of src .* src\[None, k\] in a loop over k"):
        kernel(np.zeros(100, np.float32)).launch(grid=[1, 1, 1], block=[64, 1, 1])


SWIZZLED = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))


@cute.kernel
def swizzles_kernel(x: cute.Tensor, dtype: cutlass.Constexpr, layout: cutlass.Constexpr):
    """Through one layout in, by its parts out: its swizzle on the pointer."""
    i, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator().allocate_array(dtype, 512)
    whole = cute.make_tensor(memory, layout)
    parts = cute.make_tensor(cute.recast_ptr(memory, layout.inner, dtype), layout.outer)
    for j in cutlass.range_constexpr(64):
        whole[i, j] = dtype(x[i, j])
    cute.arch.sync_threads()
    for j in cutlass.range_constexpr(64):
        x[7 - i, j] = parts[7 - i, j].to(Float32)


@pytest.mark.parametrize("dtype", [Float32, Float16, Int8])
def test_the_swizzle_of_a_layout_on_a_pointer_counts_elements(dtype):
    x = np.arange(512, dtype=np.float32).reshape(8, 64) % 100
    wanted = x.copy()
    swizzles_kernel(x, dtype, SWIZZLED).launch(block=8)
    np.testing.assert_array_equal(x, wanted)


@cute.kernel
def byte_swizzle_kernel(x: cute.Tensor, swizzle: cutlass.Constexpr):
    memory = cutlass.utils.SmemAllocator().allocate_array(Float16, 512)
    parts = cute.make_tensor(cute.recast_ptr(memory, swizzle), SWIZZLED.outer)
    whole = cute.make_tensor(memory, SWIZZLED)
    for i in cutlass.range(512):
        whole[i] = Float16(i)
    for i in cutlass.range(512):
        x[i] = parts[i].to(Float32)


def test_a_swizzle_that_is_made_counts_bytes():
    found = {}
    for swizzle in (SWIZZLED.inner, cute.make_swizzle(3, 4, 3), cute.make_swizzle(3, 3, 3)):
        x = np.zeros(512, np.float32)
        byte_swizzle_kernel(x, swizzle).launch(block=1)
        found[str(type(swizzle).__name__), str(swizzle)] = np.array_equal(x, np.arange(512))
    assert found == {("LayoutSwizzle", "S<3,3,3>"): True, ("Swizzle", "S<3,4,3>"): True, ("Swizzle", "S<3,3,3>"): False}
