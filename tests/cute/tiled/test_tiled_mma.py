"""Tiled multiplications: the partitions of seed 002 and of real kernels, texts, values, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tilewright as tw
from tilewright import Int32, cute
from tilewright.cute.nvgpu import MmaUniversalOp, OperandMajorMode, warp, warpgroup

L = cute.parse
K, MN = OperandMajorMode.K, OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
FMA = MmaUniversalOp(tw.Float32)
F16 = warp.MmaF16BF16Op(tw.Float16, tw.Float32, (16, 8, 16))


def counting(text, offset=0):
    return cute.make_tensor(offset, L(text))


def wgmma(n=128, source=SMEM, a_major=K, b_major=K):
    return warpgroup.MmaF16BF16Op(tw.Float16, tw.Float32, (64, n, 16), source, a_major, b_major)


# ---- seed 002: blocks of 128 x 128 x 8, 256 threads ------------------------------------------------------------------


@pytest.fixture
def seed():
    return cute.make_tiled_mma(FMA, cute.make_layout((16, 16, 1), stride=(16, 1, 0)))


def test_the_threads_of_seed_002(seed):
    assert str(seed.thr_layout_vmnk) == "(1,16,16,1):(0,16,1,0)"
    assert seed.size == 256
    assert [seed.get_tile_size(mode) for mode in range(3)] == [16, 16, 1]


def test_the_partitions_of_seed_002(seed):
    thread = seed.get_slice(0)
    smem = counting("(128,8):(1,128)")
    assert str(thread.partition_A(smem).layout) == "(1,8,8):(0,16,128)"
    assert str(thread.partition_B(smem).layout) == "(1,8,8):(0,16,128)"
    assert str(thread.partition_C(counting("(128,128):(128,1)")).layout) == "(1,8,8):(0,2048,16)"
    assert str(seed.make_fragment_C(thread.partition_C(counting("(128,128):(128,1)"))).layout) == "(1,8,8):(0,1,8)"


def test_the_staged_partitions_of_seed_002(seed):
    """Thread 35 has the rows 2, 18, .. and the columns 3, 19, .. of every stage."""
    thread = seed.get_slice(35)
    a = thread.partition_A(counting("(128,8,3):(1,128,1024)"))
    assert (a.iterator, str(a.layout)) == (2, "(1,8,8,3):(0,16,128,1024)")
    b = thread.partition_B(counting("(128,8,3):(1,132,1056)"))
    assert (b.iterator, str(b.layout)) == (3, "(1,8,8,3):(0,16,132,1056)")
    assert thread.partition_C(cute.make_identity_tensor((128, 128)))[0, 1, 2] == (18, 35)


def test_the_copies_of_seed_002():
    a = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), tw.Float32, num_bits_per_copy=32)
    copy_a = cute.make_tiled_copy_tv(a, L("(32,8):(8,1)"), L("(1,1):(0,0)"))
    assert copy_a.tiler_mn == (32, 8)
    assert str(copy_a.layout_tv_tiled) == "((8,32),1):((32,1),0)"
    assert str(copy_a.get_slice(0).partition_D(counting("(128,8):(1,128)")).layout) == "((1,1),4,1):((0,0),32,0)"
    assert cute.pretty_str(copy_a.get_slice(0).partition_S(counting("(128,8,5):(40,1,8)")).shape) == "((1,1),4,1,5)"
    b = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), tw.Float32, num_bits_per_copy=128)
    copy_b = cute.make_tiled_copy_tv(b, L("(32,8):(1,32)"), L("(4,1):(1,0)"))
    assert copy_b.tiler_mn == (128, 8)
    assert str(copy_b.layout_tv_tiled) == "(256,4):(4,1)"
    assert str(copy_b.get_slice(0).partition_D(counting("(128,8):(1,128)")).layout) == "((4,1),1,1):((1,0),0,0)"
    assert cute.pretty_str(copy_b.get_slice(0).partition_S(counting("(128,8,5):(1,128,1024)")).shape) == "((4,1),1,1,5)"


# ---- kernels as compilers print them ---------------------------------------------------------------------------------


def test_the_permuted_multiplication_of_sgemm():
    order = L("(16,4):(4,1)")
    tiled = cute.make_tiled_mma(FMA, L("(16,16,1):(16,1,0)"), (order, order, None))
    thread = tiled.get_slice(0)
    assert str(thread.partition_A(counting("(128,8,3):(1,128,1024)")).layout) == "(1,(4,2),8,3):(0,(1,64),128,1024)"
    c = cute.make_layout((128, 128), stride=(Int32(256), 1))
    found = thread.partition_C(cute.make_tensor(0, c)).layout
    assert str(found) == "(1,(4,2),(4,2)):(0,(?,?{div=64}),(1,64))"
    assert "Permutation MNK: ((16,4):(4,1),(16,4):(4,1),_)" in str(tiled)


def test_the_tensor_core_gemm_of_ampere():
    tiled = cute.make_tiled_mma(F16, (2, 2, 1), permutation_mnk=(32, 32, 16))
    assert str(tiled.tv_layout_C_tiled) == "((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))"
    assert str(tiled.tv_layout_A_tiled) == "((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))"
    assert str(tiled.tv_layout_B_tiled) == "((4,8,2,2),((2,2),(2,1))):((64,1,0,8),((32,256),(16,0)))"
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4), tw.Float16)
    copy_a, copy_b = cute.make_tiled_copy_A(load, tiled), cute.make_tiled_copy_B(load, tiled)
    assert str(copy_a.layout_tv_tiled) == "((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))"
    assert str(copy_b.layout_tv_tiled) == "((4,8,2,2),((2,2),(2,1))):((64,1,0,8),((32,256),(16,0)))"
    assert (copy_a.tiler_mn, copy_b.tiler_mn) == ((32, 16), (32, 16))


def test_the_dense_gemm_of_hopper():
    tiled = cute.make_tiled_mma(wgmma())
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, tw.Float16)
    smem = cute.tile_to_shape(atom, (128, 64, 7), (0, 1, 2))
    assert str(smem) == "S<3,3,3> o 0 o ((8,16),(64,1),(1,7)):((64,512),(1,0),(0,8192))"
    part = tiled.get_slice(5).partition_A(cute.make_tensor(0, smem))
    assert str(part.layout.outer) == "((64,16),2,4,(1,7)):((64,1),4096,16,(0,8192))"
    assert tiled.make_fragment_A(part) is part
    assert str(tiled.make_fragment_C(tiled.partition_shape_C((128, 128))).layout) == "((2,2,16),2,1):((1,2,4),64,0)"
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(num_matrices=4), tw.Float16)
    epilogue = cute.make_tiled_copy_C_atom(store, tiled)
    assert str(epilogue.layout_tv_tiled) == "((4,8,4),(2,2,2)):((64,1,8),(256,32,512))"
    assert [str(mode) for mode in epilogue.tiler_mn] == ["(8,4,2):(1,16,8)", "(4,2,2):(2,1,8)"]


def test_retile_joins_the_accumulators_and_the_copy():
    """Through retile the registers of C are what the store of an atom's values expects."""
    tiled = cute.make_tiled_mma(F16, (2, 2, 1), (32, 32, 16))
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(num_matrices=4), tw.Float16)
    store = cute.make_tiled_copy_C(atom, tiled)
    c = np.arange(32 * 32, dtype=np.float16).reshape(32, 32)
    tensor = cute.from_dlpack(c)
    for t in (0, 37, 127):
        part = tiled.get_slice(t).partition_C(tensor)
        fragment = tiled.make_fragment_C(part.layout)
        fragment.store(np.asarray(part.load()).astype(np.float32))
        expected = store.get_slice(t).partition_S(tensor)
        assert list(store.retile(fragment).load()) == list(expected.load())


# ---- partitions in general -------------------------------------------------------------------------------------------


def test_dynamic_threads():
    """The index of a run-time thread is as dynamic as it is: where there is one atom, the coordinate stays static."""
    tiled = cute.make_tiled_mma(FMA, L("(16,16,1):(16,1,0)"))
    part = tiled.get_slice(Int32(35)).partition_A(cute.make_identity_tensor((128, 8)))
    assert str(part) == "tensor<(?,0) o (1,8,8):(0,16@0,1@1)>"
    assert int(part.iterator[0]) == 2
    memory = cute.make_tensor(cute.make_ptr(tw.Float32, 4096, assumed_align=16), L("(128,8):(4,512)"))
    assert str(tiled.get_slice(Int32(35)).partition_A(memory)).startswith("tensor<ptr<f32, generic, align<16>> o ")


def test_dynamic_extents():
    tensor = cute.make_tensor(0, cute.make_layout((Int32(64), Int32(32))))
    part = cute.make_tiled_mma(F16, (2, 2, 1)).get_slice(0).partition_C(tensor)
    assert cute.pretty_str(part.shape) == "((2,2),?,?)"
    assert [int(cute.size(part, mode=[mode])) for mode in range(3)] == [4, 2, 2]


def test_batches_stay():
    tiled = cute.make_tiled_mma(F16)
    assert (
        cute.pretty_str(tiled.get_slice(0).partition_B(counting("(16,32,5,3):(32,1,512,2560)")).shape)
        == "((2,2),2,2,5,3)"
    )
    assert tiled.partition_shape_A((32, 16, 4)) == ((2, 2, 2), 2, 1, 4)


def test_fragments():
    tiled = cute.make_tiled_mma(F16)
    a = tiled.make_fragment_A(tiled.get_slice(0).partition_A(counting("(32,32):(32,1)")))
    assert str(a) == "tensor<ptr<f16, rmem, align<32>> o ((2,2,2),2,2):((1,2,4),16,8)>"
    assert tiled.make_fragment_B((4, 2)).element_type is tw.Float16
    assert tiled.make_fragment_C((4, 2)).element_type is tw.Float32
    rs = cute.make_tiled_mma(wgmma(source=RMEM))
    assert str(rs.make_fragment_A(rs.partition_shape_A((64, 32))).layout) == "((2,2,2),1,2):((1,2,4),0,8)"
    with pytest.raises(TypeError, match=r"make_fragment_B: .* reads B from shared memory, .*, but got \(4,2\)"):
        rs.make_fragment_B((4, 2))


# ---- texts and values ------------------------------------------------------------------------------------------------


def test_text():
    """As CuTeDSL prints it."""
    assert str(cute.make_tiled_mma(wgmma(64))) == (
        "Tiled MMA\n"
        "  Thr Layout VMNK: (128,1,1,1):(1,0,0,0)\n"
        "  Permutation MNK: (_,_,_)\n"
        "MMA Atom\n"
        "  ThrID:           128:1\n"
        "  Shape MNK:       (64,64,16)\n"
        "  TV Layout A:     (128,(64,16)):(0,(1,64))\n"
        "  TV Layout B:     (128,(64,16)):(0,(1,64))\n"
        "  TV Layout C:     ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))"
    )


def test_values():
    """Compared by value, hashable, picklable; run-time fields are no part of it."""
    tiled = cute.make_tiled_mma(F16, (2, 2, 1), (32, L("(8,2,2):(1,16,8)"), None))
    again = cute.make_tiled_mma(F16, L("(2,2,1):(1,2,0)"), [32, L("(8,2,2):(1,16,8)"), None])
    assert tiled == again
    assert hash(tiled) == hash(again)
    for made in (tiled, tiled.get_slice(5), cute.make_mma_atom(F16), F16, FMA, wgmma(), MmaUniversalOp(tw.Int8)):
        assert pickle.loads(pickle.dumps(made)) == made
        assert copy.copy(made) == made
        assert made not in (None, tiled.with_(accum_c=False).get_slice(6))
    assert tiled != cute.make_tiled_mma(F16, (2, 2, 1))
    assert warp.MmaF16BF16Op(tw.Float16, tw.Float16, (16, 8, 16)) != F16
    assert tiled.get_slice(5) != tiled.get_slice(6)
    assert repr(tiled) == (
        "make_tiled_mma(MmaF16BF16Op(Float16, Float32, (16,8,16)), (2,2,1):(1,2,0), (32,(8,2,2):(1,16,8),_))"
    )
    with pytest.raises(AttributeError, match="operations cannot be changed"):
        F16.shape_mnk = (16, 8, 8)


def test_fields():
    tiled = cute.make_tiled_mma(F16)
    other = tiled.with_(accum_c=False)
    assert (tiled.get(warp.Field.ACCUMULATE), other.get(warp.Field.ACCUMULATE)) == (True, False)
    assert type(other) is type(tiled)
    with pytest.raises(TypeError, match="there is no field 'scale'; an MMA atom has accum_c"):
        tiled.with_(scale=2)
    with pytest.raises(TypeError, match=r"set: expected a field of the atom, Field.ACCUMULATE, but got 'accum_c'"):
        tiled.set("accum_c", True)
    thread = other.get_slice(0)
    thread.set(warp.Field.ACCUMULATE, True)
    assert other.get(warp.Field.ACCUMULATE) is False  # a thread has fields of its own


# ---- what is refused -------------------------------------------------------------------------------------------------

OPERATIONS = [
    (lambda: warp.MmaF16BF16Op(tw.Float32, tw.Float32, (16, 8, 16)), TypeError, "a_dtype is Float32, but .* Float16"),
    (lambda: warp.MmaF16BF16Op(tw.BFloat16, tw.Float16, (16, 8, 16)), TypeError, "BFloat16 is accumulated in Float32"),
    (lambda: warp.MmaF16BF16Op(tw.Float16, None, (16, 8, 16)), TypeError, "acc_dtype is None"),
    (lambda: warp.MmaF16BF16Op("f16", tw.Float32, (16, 8, 16)), TypeError, "a_dtype is 'f16'"),
    (lambda: warp.MmaF16BF16Op(tw.Float16, tw.Float32, (16, 8, 32)), ValueError, r"\(16,8,8\) or \(16,8,16\)"),
    (lambda: warp.MmaTF32Op(None), ValueError, r"is _, but the instruction has \(16,8,4\) or \(16,8,8\)"),
    (lambda: warp.MmaI8Op(tw.Int8, tw.Int32, (16, 8, 32), tw.Int4), TypeError, "b_dtype is Int4"),
    (lambda: warp.MmaFP8Op(tw.Float8E4M3FN, tw.Int32, (16, 8, 32)), TypeError, "accumulated in Float16 or Float32"),
    (lambda: MmaUniversalOp(tw.Int4), TypeError, "a_dtype is Int4, but the instruction takes Float16 or"),
    (lambda: MmaUniversalOp(tw.Float32, tw.Float64), TypeError, "Float32 is accumulated in Float32"),
    (lambda: MmaUniversalOp(tw.Float32, None, tw.Float64), TypeError, "A has Float32 and B Float64"),
    (lambda: MmaUniversalOp(tw.Int8, None, tw.Float8E5M2), TypeError, "A has Int8 and B Float8E5M2"),
    (lambda: wgmma(12), ValueError, r"is \(64,12,16\), .* where N is a multiple of 8 from 8 to 256"),
    (lambda: wgmma(264), ValueError, "a multiple of 8 from 8 to 256"),
    (lambda: wgmma(source=RMEM, a_major=MN), ValueError, "A in registers is K-major"),
    (lambda: warpgroup.MmaTF32Op((64, 64, 8), SMEM, K, MN), ValueError, "B of TFloat32 has to be K-major"),
    (lambda: warpgroup.MmaTF32Op((64, 64, 8), SMEM, "k"), TypeError, "expected a_major_mode to be one of Operand"),
    (
        lambda: warpgroup.MmaI8Op(tw.Int8, tw.Int8, tw.Int32, (64, 40, 32), SMEM),
        ValueError,
        "N is one of 8, 16, 24, 32",
    ),
]


@pytest.mark.parametrize(("make", "kind", "message"), OPERATIONS)
def test_operations_refuse(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


TILED = [
    (lambda: cute.make_tiled_mma(None), TypeError, "expected op to be a matrix multiply operation, but got None"),
    (lambda: cute.make_tiled_mma(MmaUniversalOp), TypeError, r"; write MmaUniversalOp\(\.\.\)"),
    (lambda: cute.make_mma_atom(cute.nvgpu.CopyUniversalOp()), TypeError, "but got CopyUniversalOp"),
    (lambda: cute.make_tiled_mma(F16, None), TypeError, "expected atom_layout_mnk to be a Layout or a shape"),
    (lambda: cute.make_tiled_mma(F16, (2, 2)), ValueError, r"\(2,2\):\(1,2\) has 2 modes, but needs three"),
    (lambda: cute.make_tiled_mma(F16, L("(2,2,1,1)")), ValueError, "has 4 modes, but needs three"),
    (
        lambda: cute.make_tiled_mma(F16, L("(2,2,1):(1,1,0)")),
        tw.LayoutError,
        "each of the 4 atoms needs threads of its own",
    ),
    (lambda: cute.make_tiled_mma(F16, L("(2,2,1):(1,4,0)")), tw.LayoutError, "offsets are 0, 1, 4, 5"),
    (
        lambda: cute.make_tiled_mma(F16, cute.make_layout((2, Int32(2), 1))),
        tw.LayoutError,
        "the layout of atoms is static",
    ),
    (lambda: cute.make_tiled_mma(F16, (2, 2, 1), 32), ValueError, "permutation_mnk is 32, but needs three entries"),
    (
        lambda: cute.make_tiled_mma(F16, (2, 2, 1), (32, 32)),
        ValueError,
        r"permutation_mnk is \(32,32\), but needs three",
    ),
    (lambda: cute.make_tiled_mma(F16, (2, 2, 1), ("m", 32, 16)), TypeError, "an entry .* but got 'm'"),
    (lambda: cute.make_tiled_mma(F16, (2, 2, 1), (True, 32, 16)), TypeError, "an entry .* but got True"),
    (
        lambda: cute.make_tiled_mma(F16, (2, 2, 1), (48, None, None)),
        tw.LayoutError,
        "48 elements, but .* 16 x 2 = 32 along M",
    ),
    (lambda: cute.make_tiled_mma(F16, (2, 2, 1), (None, 8, None)), tw.LayoutError, "needs a multiple of 16"),
    (
        lambda: cute.make_tiled_mma(F16, (2, 2, 1), (None, L("16:2"), None)),
        tw.LayoutError,
        "16:2 does not permute the elem",
    ),
    (lambda: cute.make_tiled_mma(F16).get_slice(32), ValueError, "threads 0 to 31"),
    (lambda: cute.make_tiled_mma(F16).get_slice(-1), ValueError, "threads 0 to 31"),
    (lambda: cute.make_tiled_mma(F16).get_slice(None), TypeError, "expected thr_idx to be an integer, but got None"),
    (lambda: cute.make_tiled_mma(F16).get_tile_size(3), ValueError, "but got 3"),
    (
        lambda: cute.make_tiled_mma(F16, (2, 2, 1)).get_slice(0).partition_C(counting("(48,32)")),
        tw.LayoutError,
        r"partition_C\(\(48,32\):\(1,48\)\): mode 0 has 48 elements, but .* tiles of 32 along M; .* a multiple of 32",
    ),
    (
        lambda: cute.make_tiled_mma(F16).partition_shape_B((8, 20)),
        tw.LayoutError,
        "mode 1 has 20 .* tiles of 16 along K",
    ),
    (
        lambda: cute.make_tiled_mma(F16).get_slice(0).partition_A(counting("64")),
        tw.LayoutError,
        "operand A has the modes M,K, but the tensor has 1",
    ),
    (lambda: cute.make_tiled_mma(F16).get_slice(0).partition_A(None), TypeError, "partition_A: expected tensor to be"),
    (lambda: cute.make_tiled_mma(F16, (1, 2, 2)).tv_layout_C_tiled, tw.LayoutError, "2 atoms lie along K"),
    (lambda: cute.make_tiled_copy_A(None, cute.make_tiled_mma(F16)), TypeError, "expected atom to be a CopyAtom"),
    (lambda: cute.make_tiled_copy_C(COPY, COPY), TypeError, "expected tiled_mma to be a TiledMma"),
    (lambda: cute.make_tiled_copy_C_atom(None, cute.make_tiled_mma(F16)), TypeError, "expected atom to be a CopyAtom"),
    (
        lambda: cute.make_tiled_copy_C_atom(COPY, cute.make_tiled_mma(F16)),
        tw.LayoutError,
        "moves 8 .* a thread has 4 of C",
    ),
    (
        lambda: cute.make_tiled_copy_B(COPY, cute.make_tiled_mma(F16)),
        tw.LayoutError,
        "takes 8 values of a thread at once",
    ),
    (lambda: warpgroup.make_smem_layout_atom("K_SW128", tw.Float16), TypeError, "expected kind to be one of"),
    (
        lambda: warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW32, tw.Float6E2M3FN),
        tw.LayoutError,
        "16 bytes do not hold a whole number of elements of 6 bits",
    ),
    (lambda: cute.print_latex_tiled_mma(COPY), TypeError, "expected a TiledMma"),
]
COPY = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tw.Float16, num_bits_per_copy=128)


@pytest.mark.parametrize(("make", "kind", "message"), TILED)
def test_tiled_multiplications_refuse(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def registers(dtype, *shape):
    return cute.make_rmem_tensor(shape, dtype)


def f32(*shape):
    return registers(tw.Float32, *shape)


GEMM = [
    (lambda: cute.gemm(None, f32(1), f32(1), f32(1), f32(1)), TypeError, "expected an MmaAtom or a TiledMma"),
    (lambda: cute.gemm(ATOM, f32(1), None, f32(1), f32(1)), TypeError, "gemm: expected a to be a Tensor"),
    (lambda: cute.gemm(ATOM, f32(1), registers(tw.Float16, 1), f32(1), f32(1)), TypeError, "takes a of Float32"),
    (lambda: cute.gemm(ATOM, f32(1, 2, 3), f32(1, 2), f32(1, 2), f32(1, 2, 2)), ValueError, "d has the extents"),
    (
        lambda: cute.gemm(ATOM, *[f32(1, 2, 2)] * 2, f32(1, 3, 2), f32(1, 2, 2)),
        ValueError,
        "b has 3 atoms along N and c has 2",
    ),
    (
        lambda: cute.gemm(ATOM, f32(1, 2, 2), f32(1, 2, 3), f32(1, 2, 4), f32(1, 2, 2)),
        ValueError,
        "along K and b has 4",
    ),
    (lambda: cute.gemm(ATOM, f32(1), f32(1, 2), f32(1), f32(1)), ValueError, "a, b and c have 2, 1 and 1 modes"),
    (lambda: cute.gemm(ATOM, *[f32(4, 1, 1)] * 4), ValueError, "mode 0 of a has 4 values, but a thread of .* has 1"),
    (lambda: cute.mma_atom_call(ATOM, *[f32(1, 1)] * 4), ValueError, "d has the layout .* of 2 modes"),
    (
        lambda: cute.gemm(WARP, f32(4), registers(tw.Float16, 8), registers(tw.Float16, 4), f32(4)),
        ValueError,
        "executed by 32 threads together, .*; gemm_threads takes the parts of all threads",
    ),
    (lambda: cute.gemm_threads(ATOM, *[f32(1, 1, 1, 1)] * 4), TypeError, "expected tiled_mma to be a TiledMma"),
    (
        lambda: cute.gemm_threads(TWO, *[f32(1, 1, 1, 1)] * 4),
        ValueError,
        r"d has the extents \(1,1,1,1\), but .* the 2 threads",
    ),
    (lambda: cute.gemm_tiled(TWO, *[f32(2, 1, 1)] * 4), ValueError, "d has 3 modes, but matrices have two"),
    (
        lambda: cute.gemm_tiled(TWO, *[f32(3, 3)] * 4),
        tw.LayoutError,
        "mode 0 has 3 elements, but .* tiles of 2 along M",
    ),
    (lambda: cute.gemm_tiled(TWO, f32(2, 4), f32(2, 3), f32(5, 3), f32(2, 4)), ValueError, "b has 5 atoms along N"),
]
ATOM, WARP = cute.make_mma_atom(FMA), cute.make_mma_atom(F16)
TWO = cute.make_tiled_mma(FMA, (2, 1, 1))


@pytest.mark.parametrize(("call", "kind", "message"), GEMM)
def test_gemm_refuses(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
