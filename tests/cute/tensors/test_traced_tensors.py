"""Tensors of a kernel: what their loads, stores, slices and partitions become, and what the program then does."""

from __future__ import annotations

import pytest

from tilewright import AddressSpace, Boolean, Float16, Float32, Int32, Int64, LayoutError, Uint8, cute
from traced_kernels import Argument, run, trace


def test_elements_are_loaded_and_stored():
    def function(p, i):
        t = cute.make_tensor(p, cute.make_layout((2, 3), stride=(3, 1)))
        t[1, i] = t[0, i] * 2
        t[i] *= 10  # colexicographic: (0, 1) for i = 2
        return t[1, 2], t[5]

    found, (memory,) = run(function, Argument(Float32, range(6)), Int32(2))
    assert [x._value for x in found] == [4, 4]
    assert [x._value for x in memory] == [0, 10, 2, 3, 4, 4]


def test_numbers_become_the_element_type():
    def function(p, x):
        t = cute.make_tensor(p, 3)
        t[0] = 300
        t[1] = x
        t[2] = 2.75

    _, (memory,) = run(function, Argument(Uint8, [0] * 3), Int32(-1))
    assert [int(x) for x in memory] == [44, 255, 2]


def test_slices_vectors_and_fills():
    def function(p, q, i):
        a, b = (cute.make_tensor(x, cute.make_layout((2, 3), stride=(3, 1))) for x in (p, q))
        b.fill(9)
        b[None, i] = a[None, i].load() + 1
        b[0, None].store(a[0, None].load())

    _, (_, memory) = run(function, Argument(Float32, range(6)), Argument(Float32, [0] * 6), Int32(2))
    assert [x._value for x in memory] == [0, 1, 2, 9, 9, 6]


def test_dynamic_strides():
    def function(p, m, n):
        t = cute.make_tensor(p, cute.make_layout((m, n), stride=(n, 1)))
        assert str(t) == "tensor<ptr<f32, gmem, align<16>> o (?,?):(?,1)>"
        tile = cute.local_tile(t, (2, 2), (1, None))
        assert str(tile.layout) == "(2,2,?):(?,1,2)"
        return tile[None, None, 1].load()

    found, _ = run(function, Argument(Float32, range(16)), Int32(4), Int32(4))
    assert [x._value for x in found] == [10, 14, 11, 15]


def test_registers():
    def function(i):
        r = cute.make_rmem_tensor((2, 2), Float32)
        r.fill(1)
        r[i] = 5
        like = cute.make_fragment_like(r)
        like.store(r.load() * 2)
        return like[1], like.load()

    found, _ = run(function, Int32(1))
    assert found[0]._value == 10
    assert [x._value for x in found[1]] == [2, 10, 2, 2]
    with pytest.raises(LayoutError, match="registers need a static layout"):
        trace(lambda n: cute.make_rmem_tensor((n, 2), Float32), Int32(1))


def test_coordinates_and_predicates():
    def function(i, m, n):
        tile = cute.local_tile(cute.make_identity_tensor((m, n)), (4, 4), (i, 0))
        assert str(tile) == "tensor<(?{div=4},0) o (4,4):(1@0,1@1)>"
        row, column = tile[3, 2]
        return row, column, cute.elem_less(tile[3, 2], (m, n)), cute.elem_less(tile[0, 0], (m, n))

    for m, inside in ((7, (False, True)), (8, (True, True)), (4, (False, False))):
        (row, column, last, first), _ = run(function, Int32(1), Int32(m), Int32(4))
        assert (int(row), int(column)) == (7, 2)
        assert (bool(last), bool(first)) == inside


def test_elem_less_decides_what_is_known():
    def function(n):
        assert cute.elem_less((9, n), (8, n)) is False
        assert cute.elem_less((1, 2), (3, 4)) is True
        with pytest.raises(LayoutError):
            cute.elem_less((1, n), 3)

    trace(function, Int32(1))


def test_domain_offset_may_be_negative_and_dynamic():
    def function(p, n):
        t = cute.make_tensor(p, 4)
        return cute.domain_offset(n - 6, t)[3]

    found, _ = run(function, Argument(Float32, range(4)), Int32(5))
    assert found._value == 2


def test_partitions_of_a_thread():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 4), stride=(4, 1)), cute.make_layout((2, 2)))
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 4, 1))
    threads = cute.make_layout((2, 4), stride=(4, 1))
    parts = [
        lambda t, i: tiled.get_slice(i).partition_S(t),
        lambda t, i: tiled.get_slice(i).partition_D(t),
        lambda t, i: mma.get_slice(i).partition_A(t),
        lambda t, i: mma.get_slice(i).partition_C(t),
        lambda t, i: cute.local_partition(t, threads, i),
    ]
    argument = Argument(Float32, range(64))
    for part in parts:
        for i in range(8):
            expected = part(cute.make_tensor(0, (8, 8)), Int32(i))
            found, _ = run(lambda p, i, part=part: part(cute.make_tensor(p, (8, 8)), i).load(), argument, Int32(i))
            assert [int(x._value) for x in found] == [int(x) for x in expected]
            trace(
                lambda p, i, e=expected, part=part: _same_layout(part(cute.make_tensor(p, (8, 8)), i), e),
                argument,
                Int32(i),
            )


def _same_layout(found, expected):
    assert str(found.layout) == str(expected.layout)


def test_swizzled_memory():
    layout = cute.make_composed_layout(cute.make_swizzle(2, 0, 3), 0, cute.make_layout((8, 4), stride=(4, 1)))

    def function(p, i, j):
        t = cute.make_tensor(p, layout)
        return t[i, j], t[i, None].load(), t[None, j].load()

    for i, j in ((0, 0), (5, 2), (7, 3)):
        (one, row, column), _ = run(function, Argument(Float32, range(32)), Int32(i), Int32(j))
        assert int(one._value) == layout((i, j))
        assert [int(x._value) for x in row] == [layout((i, c)) for c in range(4)]
        assert [int(x._value) for x in column] == [layout((r, j)) for r in range(8)]


def test_pointers():
    def function(p, n):
        assert str(p + 2) == "ptr<f32, gmem, align<8>>"
        assert str(p + n * 4) == "ptr<f32, gmem, align<16>>"
        assert p.align(16) is p
        assert str((p + 1).align(16)) == "ptr<f32, gmem, align<16>>"
        half = cute.recast_ptr(p, dtype=Float16)
        assert str(half) == "ptr<f16, gmem, align<16>>"
        assert str(cute.recast_ptr(p, cute.make_swizzle(3, 4, 3))) == "ptr<f32, gmem, align<16>, S<3,4,3>>"
        assert str(p.toint()) == "?{i64 div=16}"
        address = cute.make_ptr(Float32, p.toint(), AddressSpace.gmem, assumed_align=16)
        assert str(address) == str(p)
        assert type(p - address) is Int64
        assert (p.max_alignment, p.type) == (16, "!cute.ptr<f32, gmem, align<16>>")
        assert p.llvm_ptr is p.ir_value() is p.symbol
        assert str(cute.recast_tensor(cute.make_tensor(p, (4, n)), Float16).layout) == "(8,?):(1,8)"
        p[1] = p[0] + 1
        return (p + n).load()

    text = str(trace(function, Argument(Float32, [0] * 8), Int32(2))[1])
    assert "recast" in text
    assert "to_pointer" in text


def test_out_of_range_where_it_is_known():
    def function(p, n):
        t = cute.make_tensor(p, (2, 3))
        with pytest.raises(IndexError, match="coordinate 2 of mode 0 is out of range"):
            t[2, n]
        cute.make_tensor(p, (n, 3))[7, 1]

    trace(function, Argument(Float32, [0] * 8), Int32(2))


def test_what_a_kernel_does_not_access():
    outside = cute.make_rmem_tensor(4, Float32)

    def function(p):
        with pytest.raises(TypeError, match=r"was made outside of the kernel; pass it as an argument"):
            cute.autovec_copy(cute.make_tensor(p, 4), outside)
        with pytest.raises(ValueError, match=r"expected a TensorSSA, but got \[1, 2\]"):
            cute.make_tensor(p, 2).store([1, 2])

    trace(function, Argument(Float32, [0] * 8))


# ---- copies and products ---------------------------------------------------------------------------------------------


def test_copy_by_an_atom():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)

    def function(p, q):
        src = cute.make_tensor(p, cute.make_layout(((2, 2), 3), stride=((1, 2), 4)))
        dst = cute.make_tensor(q, cute.make_layout(((2, 2), 3), stride=((1, 6), 2)))
        cute.copy(atom, src, dst)

    _, (_, memory) = run(function, Argument(Float32, range(12)), Argument(Float32, [0] * 12))
    assert [int(x._value) for x in memory] == [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]
    _, program = trace(function, Argument(Float32, [0] * 12), Argument(Float32, [0] * 12))
    assert "copy [%0 o (12):(1)] [%1 o (2,2,3):(1,6,2)] {64,2,0}" in str(program)


def test_predicates():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)

    def function(p, q, n):
        src, dst = cute.make_tensor(p, ((2, 2), 2)), cute.make_tensor(q, ((2, 2), 2))
        pred = cute.make_rmem_tensor((2, 2), Boolean)
        for i in range(4):
            pred[i] = n > i
        cute.copy(atom, src, dst, pred=pred)

    _, (_, memory) = run(function, Argument(Float32, range(8)), Argument(Float32, [-1] * 8), Int32(3))
    assert [int(x._value) for x in memory] == [0, 1, 2, 3, 4, 5, -1, -1]


def test_a_copy_without_a_width_is_as_wide_as_known():
    def text(src, dst, alignment=16):
        arguments = [Argument(Float32, [0] * 64, alignment=alignment), Argument(Float32, [0] * 64)]
        program = trace(lambda p, q: cute.autovec_copy(cute.make_tensor(p, src), cute.make_tensor(q, dst)), *arguments)
        return next(line.partition("//")[0].strip() for line in str(program[1]).splitlines() if "copy" in line)

    assert text((8, 2), (8, 2)).endswith("{128,4,0}")
    assert text((8, 2), (8, 2), alignment=8).endswith("{64,2,0}")
    rows = cute.make_layout((4, 4), stride=(4, 1))
    assert text(rows, rows) == "copy [%0 o (16):(1)] [%1 o (16):(1)] {128,4,0}"
    assert text(rows, (4, 4)).endswith("{32,1,0}")
    assert text((4, 3), cute.make_layout((4, 3), stride=(1, 6))).endswith("{64,2,0}")


def test_async_copies():
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    arguments = [Argument(Float32, [0] * 8), Argument(Float32, [0] * 8, AddressSpace.smem)]
    _, program = trace(lambda p, q: cute.copy(atom, *(cute.make_tensor(x, (4, 2)) for x in (p, q))), *arguments)
    assert 'copy [%0 o (8):(1)] [%2 o (8):(1)] {128,4,0} "cp.async"' in str(program)  # %2: a tensor over %1

    def wrong(p, q):
        with pytest.raises(ValueError, match=r"reads .* memory, but src is"):
            cute.copy(atom, cute.make_tensor(q, (4, 2)), cute.make_tensor(p, (4, 2)))

    trace(wrong, *arguments)


def test_vectors_need_runs_and_alignment():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)

    def function(p, q, n):
        r = cute.make_rmem_tensor((4, 2), Float32)
        with pytest.raises(ValueError, match="is not known to have them so"):
            cute.copy(atom, cute.make_tensor(p, cute.make_layout((4, 2), stride=(2, 1))), r)
        with pytest.raises(ValueError, match=r"needs src aligned to 16 bytes, .* known to be aligned to 8"):
            cute.copy(atom, cute.make_tensor(q, (4, 2)), r)
        with pytest.raises(ValueError, match="known to be aligned to 4"):
            cute.copy(atom, cute.make_tensor(p, cute.make_layout((4, 2), stride=(1, n))), r)
        cute.copy(atom, cute.make_tensor(p, cute.make_layout((4, 2), stride=(1, cute.assume(n, divby=4)))), r)

    trace(function, Argument(Float32, []), Argument(Float32, [], alignment=8), Int32(4))


def test_basic_copies_convert():
    def function(p, q):
        cute.basic_copy(cute.make_tensor(p, 4), cute.make_tensor(q, 4))

    _, (_, memory) = run(function, Argument(Float32, [1.5, -2.5, 3, 4]), Argument(Int32, [0] * 4))
    assert [int(x) for x in memory] == [1, -2, 3, 4]


def test_gemm_of_one_thread():
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32))

    def function(p, q, r):
        a, b, c = cute.make_tensor(p, (1, 2, 3)), cute.make_tensor(q, (1, 2, 3)), cute.make_tensor(r, (1, 2, 2))
        cute.gemm(mma, c, a, b, c)

    arguments = [Argument(Float32, [1, 2, 3, 4, 5, 6]), Argument(Float32, [1] * 6), Argument(Float32, [1, 2, 3, 4])]
    _, (_, _, memory) = run(function, *arguments)
    assert [int(x._value) for x in memory] == [9 + 1, 12 + 2, 9 + 3, 12 + 4]


def test_accumulation_may_be_decided_at_run_time():
    field = cute.nvgpu.warpgroup.Field.ACCUMULATE

    def function(p, q, n):
        mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32))
        mma.set(field, n != 0)
        a, c = cute.make_tensor(p, (1, 2, 1)), cute.make_tensor(q, (1, 2, 2))
        cute.gemm(mma, c, a, a, c)

    for n, start in ((0, 0), (1, 10)):
        _, (_, memory) = run(function, Argument(Float32, [2, 3]), Argument(Float32, [10] * 4), Int32(n))
        assert [int(x._value) for x in memory] == [start + 4, start + 6, start + 6, start + 9]
