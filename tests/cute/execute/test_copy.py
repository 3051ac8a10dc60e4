"""Copies on the CPU: of one thread, of all threads, with predicates."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from gpu_tensors import LOAD, memory, numbered, universal
from tilewright import AddressSpace, Boolean, Float16, Float32, Float64, Int4, Int8, Int32, Int128, cute
from tilewright.cute.nvgpu import (
    CopyG2ROp,
    CopyR2GOp,
    CopyR2SOp,
    CopyS2ROp,
    cpasync,
    warp,
)
from tilewright.cute.runtime import from_dlpack

L = cute.parse


# ---- one thread ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [Int4, Int8, Boolean, Float16, tw.BFloat16, Int32, Float64, Int128, tw.Float8E4M3FN])
@pytest.mark.parametrize("bits", [None, 128])
def test_bits_of_every_type(dtype, bits):
    values = [i % 2 for i in range(64)] if dtype is Boolean else [i % 8 for i in range(64)]
    src, dst = (memory("(32,2):(1,32)", dtype) for _ in range(2))
    for i, value in enumerate(values):
        src[i] = value
    cute.copy(universal(dtype, bits), src, dst)
    assert list(dst) == list(src) == values


def test_nan_payloads_survive():
    src, dst = (memory("4:1", Int32) for _ in range(2))
    src.store([0x7F800001, 0x7FC12345, -1, 0])
    views = [cute.recast_tensor(t, Float32) for t in (src, dst)]
    cute.copy(universal(Float32, 128), *views)
    assert list(dst) == list(src)


@given(st.data())
def test_all_threads_one_after_another(data):
    """partition_S and partition_D of the same tensor: each thread's copy, together the whole."""
    shape = data.draw(st.sampled_from([(8, 16), (16, 32), (32, 8)]))
    src, dst = (
        memory(cute.make_ordered_layout(shape, data.draw(st.sampled_from([(0, 1), (1, 0)]))), Int32) for _ in range(2)
    )
    src.store(range(cute.size(src.layout)))
    tiled = cute.make_tiled_copy_tv(universal(Int32), cute.make_layout((4, 2)), cute.make_layout((2, 4)))
    for t in range(tiled.size):
        thread = tiled.get_slice(t)
        registers = cute.make_fragment_like(thread.partition_S(src))
        cute.copy(tiled, thread.partition_S(src), registers)
        cute.copy(thread, registers, thread.partition_D(dst))
    assert list(dst) == list(src)


def test_copy_reads_before_it_writes():
    tensor = memory("8:1", Int32)
    tensor.store(range(8))
    shifted = cute.make_tensor(tensor.iterator + 1, L("7:1"))
    cute.copy(universal(Int32), cute.make_tensor(tensor.iterator, L("7:1")), shifted)
    assert list(tensor) == [0, 0, 1, 2, 3, 4, 5, 6]


def test_predicates_of_calls():
    src, dst = numbered("((2,2),3):((1,2),4)", Float32), memory("((2,2),3):((1,2),4)", Float32)
    dst.fill(-1)
    pred = cute.make_rmem_tensor((2, 3), Boolean)  # two calls in mode 0, three along mode 1
    pred.store([True, False, False, True, True, True])
    cute.copy(universal(Float32, 64), src, dst, pred=pred)
    assert list(dst) == [0, 1, -1, -1, -1, -1, 6, 7, 8, 9, 10, 11]


def test_predicates_of_single_calls_need_no_mode():
    src, dst = numbered("(4,3):(1,4)", Float32), memory("(4,3):(1,4)", Float32)
    pred = cute.make_rmem_tensor(cute.make_layout((1, 3)), Boolean)
    pred.store([True, False, True])
    flat = cute.make_rmem_tensor(cute.make_layout((3,)), Boolean)
    flat.store([True, False, True])
    for p in (pred, flat):
        dst.fill(-1)
        cute.copy(universal(Float32, 128), src, dst, pred=p)
        assert list(dst) == [0, 1, 2, 3, -1, -1, -1, -1, 8, 9, 10, 11]


def test_a_predicate_may_have_stride_0():
    """One row's predicate for all of k."""
    src, dst = numbered("(1,4,2):(0,1,4)", Float32), memory("(1,4,2):(0,1,4)", Float32)
    pred = cute.make_rmem_tensor(cute.make_layout((1, 4, 2), stride=(4, 1, 0)), Boolean)
    for row in range(4):
        pred[0, row, 0] = row != 2
    cute.copy(universal(Float32), src, dst, pred=pred)
    assert list(dst) == [0, 1, 0, 3, 4, 5, 0, 7]


@pytest.mark.parametrize("predicate", [True, False])
def test_what_a_false_predicate_does(predicate):
    """cp.async writes zeros, other copies leave the destination alone."""
    src = numbered("(4,2):(1,4)", Float32, AddressSpace.gmem)
    pred = cute.make_rmem_tensor((1, 2), Boolean)
    pred.store([predicate, True])
    cp_async = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    for atom, skipped in ((cp_async, 0), (universal(Float32, 128), 9)):
        dst = memory("(4,2):(1,4)", Float32)
        dst.fill(9)
        cute.copy(atom, src, dst, pred=pred)
        assert list(dst) == ([0, 1, 2, 3] if predicate else [skipped] * 4) + [4, 5, 6, 7]


def test_what_is_predicated_away_may_lie_outside():
    array, out = np.arange(6, dtype=np.int32), np.zeros(6, np.int32)
    src, dst = (cute.make_tensor(from_dlpack(x).iterator, L("(1,8):(0,1)")) for x in (array, out))
    pred = cute.make_rmem_tensor((1, 8), Boolean)
    pred.store([i < 6 for i in range(8)])
    cute.copy(universal(Int32), src, dst, pred=pred)
    assert out.tolist() == array.tolist()
    with pytest.raises(
        IndexError, match=r"copy: offset 6 of .* outside the owner's memory, which has 6 elements; predic"
    ):
        cute.copy(universal(Int32), src, dst)


def test_swizzled_shared_memory():
    """What is written through a swizzle is read through it."""
    smem = memory("S<3,3,3> o 0 o (8,64):(64,1)", Float16)
    src, dst = (memory("(8,64):(64,1)", Float16, AddressSpace.gmem) for _ in range(2))
    src.store(range(512))
    load = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(load, L("(8,8):(8,1)"), cute.make_layout((1, 8)))
    for t in range(64):
        thread = tiled.get_slice(t)
        cute.copy(tiled, thread.partition_S(src), thread.partition_D(smem))
    raw = cute.make_tensor(smem.iterator, L("512:1"))
    assert list(raw)[64:80] == [src[1, 8 + i] for i in range(8)] + [src[1, i] for i in range(8)]
    cute.copy_tiled(cute.make_tiled_copy_tv(universal(Float16, 128), L("(8,8):(8,1)"), L("(1,8):(0,1)")), smem, dst)
    assert list(dst) == list(src)


def test_memories_of_the_operations():
    g, s, r = (memory("4:1", Float32, space) for space in (AddressSpace.gmem, AddressSpace.smem, AddressSpace.rmem))
    fitting = [(CopyG2ROp(), g, r), (CopyR2GOp(), r, g), (CopyS2ROp(), s, r), (CopyR2SOp(), r, s)]
    fitting.append((cpasync.CopyG2SOp(), g, s))
    for op, src, dst in fitting:
        atom = cute.make_copy_atom(op, Float32, num_bits_per_copy=128)
        src.store(range(4))
        dst.fill(0)
        cute.copy(atom, src, dst)
        assert list(dst) == [0, 1, 2, 3]
        with pytest.raises(ValueError, match=re.escape(f"{op} reads ")):
            cute.copy(atom, dst, dst)
        with pytest.raises(ValueError, match=re.escape(f"{op} writes ")):
            cute.copy(atom, src, src)


@cute.kernel
def add(g_a, g_b, g_c, coordinates, extents, tiled: tw.Constexpr):
    """CuTeDSL's example of an elementwise kernel."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    block = ((None, None), bidx)
    thread = tiled.get_slice(tidx)
    a, b, c = (thread.partition_S(g[block]) for g in (g_a, g_b, g_c))
    places = thread.partition_S(coordinates[block])
    r_a, r_b, r_c = (cute.make_fragment_like(x) for x in (a, b, c))
    pred = cute.make_rmem_tensor(places.shape, Boolean)
    for i in range(cute.size(pred)):
        pred[i] = cute.elem_less(places[i], extents)
    cute.copy(tiled, a, r_a, pred=pred)
    cute.copy(tiled, b, r_b, pred=pred)
    r_c.store(r_a.load() + r_b.load())
    cute.copy(tiled, r_c, c, pred=pred)


@pytest.mark.parametrize("shape", [(16, 32), (13, 37), (1, 1)])
def test_elementwise_kernel(shape):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, np.float32) for _ in range(2))
    c = np.zeros(shape, np.float32)
    tiled = cute.make_tiled_copy_tv(universal(Float32), L("(4,8):(8,1)"), L("(2,4):(4,1)"))
    tensors = [
        cute.zipped_divide(from_dlpack(x).mark_layout_dynamic(leading_dim=1).traced(), tiled.tiler_mn)
        for x in (a, b, c)
    ]
    coordinates = cute.zipped_divide(cute.make_identity_tensor(shape), tiled.tiler_mn)
    add(*tensors, coordinates, shape, tiled).launch(grid=cute.size(tensors[2], mode=[1]), block=tiled.size)
    assert (c == a + b).all()


# ---- all threads -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("matrices", [1, 2, 4])
@pytest.mark.parametrize("transpose", [False, True])
def test_ldmatrix_and_stmatrix_move_what_the_manual_says(matrices, transpose):
    """Matrices below each other in shared memory, in any registers; and back."""
    smem = numbered(cute.make_layout((8 * matrices, 8), stride=(8, 1)))
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, matrices), Float16)

    # (thread, value) to the element of the tile, by the manual: rows 8 m .. 8 m + 7 are matrix m.
    def element(t, v):
        i, j = t // 4, 2 * (t % 4) + v % 2
        return (8 * (v // 2) + j, i) if transpose else (8 * (v // 2) + i, j)

    rows = 8 * matrices
    modes = [4, 8, 2, matrices]
    units = [element(1, 0), element(4, 0), element(0, 1), element(0, 2) if matrices > 1 else (0, 0)]
    strides = [m + rows * n for m, n in units]
    tv = cute.make_layout(
        ((modes[0], modes[1]), (modes[2], modes[3])), stride=((strides[0], strides[1]), (strides[2], strides[3]))
    )
    tiled = cute.make_tiled_copy(load, tv, (rows, 8))
    registers = cute.make_rmem_tensor((32, (2 * matrices, 1), 1), Float16)
    cute.copy_threads(tiled, tiled.tidfrg_S(smem), registers)
    for t in range(32):
        assert list(registers[t, None, 0]) == [smem[element(t, v)] for v in range(2 * matrices)]
    back = memory(smem.layout, Float16)
    store = cute.make_tiled_copy(
        cute.make_copy_atom(warp.StMatrix8x8x16bOp(transpose, matrices), Float16), tv, (rows, 8)
    )
    cute.copy_threads(store, registers, store.tidfrg_D(back))
    assert list(back) == list(smem)
    whole = memory(smem.layout, Float16, AddressSpace.rmem)
    cute.copy_tiled(tiled, smem, whole)
    assert list(whole) == list(smem)


def test_ldmatrix_reads_the_rows_that_threads_name():
    """The rows may lie anywhere: the source's layout of threads says where."""
    smem = numbered("(32,8):(24,1)")
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
    tiled = cute.make_tiled_copy(load, L("((4,8),(2,4)):((64,1),(32,8))"), (32, 8))
    reversed_rows = cute.make_tensor(smem.iterator + 31 * 24, L("(32,(8,1),(1,1)):(-24,(1,0),(0,0))"))
    registers = cute.make_rmem_tensor((32, (8, 1), 1), Float16)
    cute.copy_threads(tiled, reversed_rows, registers)
    for t in range(32):
        assert list(registers[t, None, 0]) == [
            smem[31 - (8 * m + t // 4), 2 * (t % 4) + i] for m in range(4) for i in range(2)
        ]


@pytest.mark.parametrize("matrices", [1, 2])
def test_addresses_of_threads_without_a_row_are_not_looked_at(matrices):
    """ldmatrix and stmatrix of less than four matrices: 8 threads for each name rows, the others name anything."""
    tv = L("((4,8),2):((16,1),8)") if matrices == 1 else L("((4,8),(2,2)):((32,1),(16,8))")
    rows = 8 * matrices
    used, unused = numbered(f"({rows},8):(8,1)"), L(f"(({rows},{32 // rows}),(8,1),1):((8,{8 * rows + 1}),(1,0),0)")
    smem = cute.make_tensor(used.iterator, unused)  # beyond the memory and not aligned from row 8 or 16 on
    fragments = cute.make_rmem_tensor((32, (2 * matrices, 1), 1), Float16)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=matrices), Float16)
    cute.copy_threads(cute.make_tiled_copy(load, tv, (rows, 8)), smem, fragments)
    for t in range(32):
        assert list(fragments[t, None, 0]) == [
            used[8 * m + t // 4, 2 * (t % 4) + i] for m in range(matrices) for i in range(2)
        ]
    out = memory("256:1", Float16)
    out.fill(-1)
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(num_matrices=matrices), Float16)
    cute.copy_threads(cute.make_tiled_copy(store, tv, (rows, 8)), fragments, cute.make_tensor(out.iterator, unused))
    assert list(out)[64 * matrices :] == [-1] * (256 - 64 * matrices)
    assert list(out)[: 64 * matrices] == [used[i, j] for i in range(rows) for j in range(8)]


def test_rows_of_matrices_are_aligned():
    tiled = cute.make_tiled_copy(LOAD, L("((4,8),(2,4)):((64,1),(32,8))"), (32, 8))
    out = cute.make_rmem_tensor((32, 8), Float16)
    with pytest.raises(
        ValueError, match=r"accesses 16 bytes of src at a multiple of 16, but .* a vector at offset 12,"
    ):
        cute.copy_tiled(tiled, memory("(32,8):(12,1)", Float16), out)
    last = cute.make_tensor(memory("512:1", Float16).iterator, L("((16,2),(8,1),(1,1)):((8,129),(1,0),(0,0))"))
    with pytest.raises(ValueError, match=r"src at a multiple of 16, but .* a vector at offset 129,"):
        cute.copy_threads(tiled, last, cute.make_rmem_tensor((32, (8, 1), 1), Float16))
    with pytest.raises(ValueError, match=r"needs src aligned to 16 bytes, but the pointer of .* has align<8>"):
        cute.copy_tiled(tiled, memory("(32,8):(16,1)", Float16, alignment=8), out)


def test_several_warps_and_tiles():
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=2), Float16)
    tiled = cute.make_tiled_copy(load, L("((4,16),(2,2,2)):((32,1),(16,128,256))"), (16, 32))
    smem, out = numbered("(32,64):(72,1)"), memory("(32,64):(64,1)", Float16, AddressSpace.generic)
    registers = cute.make_rmem_tensor((tiled.size, (4, 2), 4), Float16)
    cute.copy_threads(tiled, tiled.tidfrg_S(smem), registers)
    for t in range(tiled.size):
        thread = tiled.get_slice(t)
        assert list(registers[t, None, None]) == list(thread.partition_D(smem))
    cute.copy_tiled(tiled, smem, out)
    assert list(out) == list(smem)


@given(st.data())
def test_whole_tensors_of_any_extents(data):
    shape = data.draw(st.tuples(st.integers(1, 19), st.integers(1, 19)))
    src, dst = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape), np.zeros(shape, np.int32)
    tiled = cute.make_tiled_copy_tv(
        universal(Int32),
        cute.make_ordered_layout((4, 2), data.draw(st.sampled_from([(0, 1), (1, 0)]))),
        L("(1,2):(0,1)"),
    )
    cute.copy_tiled(tiled, from_dlpack(src), from_dlpack(dst))
    assert (dst == src).all()


def test_whole_tensors_of_which_some_elements_are_wanted():
    src, dst = np.arange(60, dtype=np.int32).reshape(6, 10), np.zeros((6, 10), np.int32)
    wanted = np.random.default_rng(0).random((6, 10)) < 0.5
    tiled = cute.make_tiled_copy_tv(universal(Int32), L("(4,2):(2,1)"), L("(1,2):(0,1)"))
    cute.copy_tiled(tiled, from_dlpack(src), from_dlpack(dst), pred=from_dlpack(wanted))
    assert (dst == np.where(wanted, src, 0)).all()


def test_a_vector_is_copied_whole_or_not_at_all():
    src, dst = (from_dlpack(np.zeros((6, 12), np.int32), assumed_align=16) for _ in range(2))
    wide = cute.make_tiled_copy_tv(universal(Int32, 128), L("(4,2):(2,1)"), L("(1,4):(0,1)"))
    cute.copy_tiled(wide, src, dst)
    odd = [from_dlpack(np.zeros((6, 10), np.int32), assumed_align=8) for _ in range(2)]
    with pytest.raises(ValueError, match=r"one of thread 0's vectors is only partly inside the extents \(6,10\)"):
        cute.copy_tiled(wide, *odd)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(), Float16)
    tiled = cute.make_tiled_copy_tv(load, L("(8,4):(4,1)"), L("(1,2):(0,1)"))
    with pytest.raises(
        ValueError, match="executed by the 32 threads of a warp together, so none of them can be left out"
    ):
        cute.copy_tiled(tiled, memory("(7,8):(8,1)", Float16), memory("(7,8):(8,1)", Float16))


def test_predicates_of_threads():
    tiled = cute.make_tiled_copy_tv(universal(Int32, 64), L("(4,2):(2,1)"), L("(1,4):(0,1)"))
    src, dst = numbered("(8,8):(8,1)", Int32), memory("(8,8):(8,1)", Int32)
    pred = cute.make_rmem_tensor((8, 2, 2), Boolean)  # (thread, call, tile)
    for t in range(8):
        pred[t, 1, 0] = True
    cute.copy_threads(tiled, tiled.tidfrg_S(src), tiled.tidfrg_D(dst), pred=pred)
    expected = [[src[i, j] if i < 4 and j % 4 >= 2 else 0 for j in range(8)] for i in range(8)]
    assert [[dst[i, j] for j in range(8)] for i in range(8)] == expected


def test_boxes():
    """The tensor memory accelerator's box is one call by one thread, swizzled by the layout of shared memory."""
    op = cpasync.CopyBulkTensorTileG2SOp((64, 8), cpasync.SwizzleMode.B128)
    atom = cute.make_copy_atom(op, Float16)
    src = memory("((64,8),1):((1,256),0)", Float16, AddressSpace.gmem)
    for i in range(512):
        src[i] = i
    smem = memory("S<3,3,3> o 0 o ((64,8),1):((1,64),0)", Float16, alignment=1024)
    cute.copy(atom, src, smem)
    assert list(smem) == list(src)
    out = memory("((64,8),1):((1,64),0)", Float16, AddressSpace.gmem)
    back = cute.make_copy_atom(cpasync.CopyBulkTensorTileS2GOp((64, 8), cpasync.SwizzleMode.B128), Float16)
    cute.copy(back, smem, out)
    assert list(out) == list(src)
    with pytest.raises(ValueError, match=r"needs dst aligned to 1024 bytes, but the pointer of .* has align<128>"):
        cute.copy(atom, src, memory("S<3,3,3> o 0 o ((64,8),1):((1,64),0)", Float16))


# ---- plain copies ----------------------------------------------------------------------------------------------------


def test_basic_copy_converts():
    src, dst = cute.make_rmem_tensor((2, 3), Float32), cute.make_rmem_tensor((3, 2), Int8)
    src.store([0, 1.5, -2.5, 127, 3, 4])
    cute.basic_copy(src, dst)
    assert list(dst) == [0, 1, -2, 127, 3, 4]
    cute.basic_copy(dst, src)
    assert list(src) == [0, 1, -2, 127, 3, 4]


def test_basic_copy_if():
    src, dst = cute.make_rmem_tensor(4, Float32), cute.make_rmem_tensor(4, Float16)
    src.fill(2)
    pred = cute.make_rmem_tensor(4, Boolean)
    pred.store([0, 1, 1, 0])
    cute.basic_copy_if(pred, src, dst)
    assert list(dst) == [0, 2, 2, 0]


def test_autovec_copy():
    src, dst = numbered("(4,3):(3,1)", Int32), memory("(4,3):(1,4)", Int32)
    cute.autovec_copy(src, dst)
    assert list(dst) == list(src)
