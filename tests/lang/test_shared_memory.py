"""Shared memory: where allocations and the fields of structs lie, and what they hold."""

from __future__ import annotations

import inspect

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


# ---- allocations ----


@cute.kernel
def neighbours(x: cute.Tensor, how: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    first = memory.allocate_tensor(cutlass.Int32, cute.make_layout((8, 4)))
    second = memory.allocate_tensor(cutlass.Int32, cute.make_layout(32))
    first[i], second[i] = x[i], x[i]
    cute.arch.sync_threads()
    if cutlass.const_expr(how == "element"):
        x[i] = first[i + 1]  # beyond
    if cutlass.const_expr(how == "slice"):
        x[i] = first[None, i // 8 + 1][i % 8]  # beyond
    if cutlass.const_expr(how == "atomic"):
        cute.arch.atomic_add(first.iterator + (i + 1), 1)  # beyond
    if cutlass.const_expr(how == "before"):
        x[i] = second[i - 1]  # beyond
    if cutlass.const_expr(how == "over both"):
        both = cute.make_tensor(first.iterator, cute.make_layout(64))
        x[i] = both[63 - i]
    if cutlass.const_expr(how == "pointer"):
        x[i] = cute.make_tensor(first.iterator + 16, cute.make_layout(32))[i]
    if cutlass.const_expr(how == "recast"):
        halves = cute.recast_ptr(first.iterator, dtype=cutlass.Int16)
        x[i] = cute.make_tensor(halves, cute.make_layout(64))[2 * i].to(cutlass.Int32)


@pytest.mark.parametrize(("how", "byte"), [("element", 128), ("slice", 128), ("atomic", 128), ("before", -4)])
def test_who_leaves_an_allocation_for_the_next_one_is_out_of_bounds(how, byte):
    with pytest.raises(cute.KernelError) as info:
        neighbours(np.arange(32, dtype=np.int32), how).launch(block=[32, 1, 1])
    (finding,) = info.value.findings
    assert finding.kind == "out of bounds"
    assert finding.message == f"byte {byte} of an allocation of 128 bytes of shared memory"
    lines, start = inspect.getsourcelines(neighbours.function)
    assert finding.line in [n for n, line in enumerate(lines, start) if line.endswith("# beyond\n")]


@pytest.mark.parametrize("how", ["over both", "pointer", "recast"])
def test_a_tensor_may_be_laid_over_several_allocations(how):
    x = np.arange(32, dtype=np.int32)
    neighbours(x, how).launch(block=[32, 1, 1])
    expected = {
        "over both": [31 - i for i in range(32)],
        "pointer": [*range(16, 32), *range(16)],
        "recast": list(range(32)),
    }
    assert x.tolist() == expected[how]


@cute.kernel
def turned_rows_kernel(x: cute.Tensor, layout: cutlass.Constexpr, swizzle: cutlass.Constexpr):
    """Rows come back from their ends, if no tensor has bytes of another one."""
    memory = cutlass.utils.SmemAllocator()
    before, rows, after = (memory.allocate_tensor(x.element_type, layout, swizzle=swizzle) for _ in range(3))
    i, _, _ = cute.arch.thread_idx()
    for row in cutlass.range_constexpr(5):
        for one in (before, rows, after):
            one[row, i] = x[row, i]
    cute.arch.sync_threads()
    for row in cutlass.range_constexpr(5):
        x[row, 39 - i] = before[row, i] + 2 * rows[row, i] - 2 * after[row, i]


ROWS = cute.make_layout((5, 40), stride=(64, 1))
SWIZZLED_ROWS = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, ROWS)  # of cosize 296, with offsets to 319
BACKWARDS = cute.make_layout((5, 40), stride=(-64, -1))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(
    ("layout", "swizzle"),
    [
        (SWIZZLED_ROWS, None),
        (ROWS, SWIZZLED_ROWS.inner),
        (ROWS, cute.make_swizzle(3, 4, 3)),
        (ROWS, cute.make_swizzle(2, 4, -3)),
        (BACKWARDS, None),
        (BACKWARDS, cute.make_swizzle(3, 4, 3)),
    ],
)
def test_a_tensor_has_the_bytes_of_all_its_offsets(layout, swizzle, dtype):
    x = np.random.default_rng(0).integers(-100, 100, (5, 40)).astype(dtype)
    expected = x[:, ::-1].copy()
    turned_rows_kernel(x, layout, swizzle).launch(block=40)
    np.testing.assert_array_equal(x, expected)
