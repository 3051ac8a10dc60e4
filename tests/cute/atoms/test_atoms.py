"""Copy atoms: the table of instructions against what the PTX manual says, and what make_copy_atom accepts."""

from __future__ import annotations

import pickle

import pytest

import tilewright as tw
from tilewright import AddressSpace, Float16, Float32, Float64, Int8, LayoutError, cute
from tilewright.cute import nvgpu
from tilewright.cute.atoms import copy_ops
from tilewright.cute.atoms.copy_traits import TRAITS
from tilewright.cute.nvgpu import common, cpasync, warp

L = cute.parse


# ---- the table -------------------------------------------------------------------------------------------------------


def matrix_bit(matrix, row, column):
    """The place of an element of 16 bits: matrices of 8 rows of 128 bits, one after the other."""
    return 1024 * matrix + 128 * row + 16 * column


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("name", ["ldmatrix", "stmatrix"])
def test_matrices_are_as_the_manual_says(name, transpose, count):
    """Thread t gives the address of row t % 8 of matrix t / 8, and has elements (t / 4, 2 (t % 4) and the next)."""
    traits = TRAITS[f"{name}.x{count}{'.trans' if transpose else ''}"]
    rows, registers = (
        L(text) for text in ((traits.src, traits.dst) if name == "ldmatrix" else (traits.dst, traits.src))
    )
    assert traits.threads == cute.size(rows, mode=[0]) == cute.size(registers, mode=[0]) == 32
    assert traits.reference == ("dst" if name == "ldmatrix" else "src")
    for thread in range(8 * count):
        assert [rows((thread, bit)) for bit in range(128)] == [
            matrix_bit(thread // 8, thread % 8, 0) + bit for bit in range(128)
        ]
    for thread in range(32):
        for value in range(2 * count):
            i, j = thread // 4, 2 * (thread % 4) + value % 2
            expected = matrix_bit(value // 2, *((j, i) if transpose else (i, j)))
            assert [registers((thread, 16 * value + bit)) for bit in range(16)] == [expected + b for b in range(16)]


@pytest.mark.parametrize("name", TRAITS)
def test_both_sides_of_an_instruction_move_the_same_bits(name):
    traits = TRAITS[name]
    if traits.src is None:
        assert traits.dst is None
        assert traits.threads == 1
        return
    src, dst = L(traits.src), L(traits.dst)
    assert set(src.offsets().tolist()) == set(dst.offsets().tolist())
    reference = src if traits.reference == "src" else dst
    assert cute.is_bijective(reference)


def test_vectors():
    wide = {8: "sm_75", 16: "sm_75", 32: "sm_75", 64: "sm_75", 128: "sm_75", 256: "sm_100"}
    assert TRAITS["universal"].widths == TRAITS["ld.global"].widths == wide
    assert 256 not in TRAITS["ld.shared"].widths
    assert TRAITS["cp.async.ca"].widths == {32: "sm_80", 64: "sm_80", 128: "sm_80"}
    assert TRAITS["cp.async.cg"].widths == {128: "sm_80"}
    assert [name for name, traits in TRAITS.items() if traits.zero_fills] == ["cp.async.ca", "cp.async.cg"]


def test_memories():
    spaces = {name: (traits.src_spaces[0], traits.dst_spaces[0]) for name, traits in TRAITS.items()}
    gmem, smem, rmem = AddressSpace.gmem, AddressSpace.smem, AddressSpace.rmem
    assert spaces["ld.global"] == (gmem, rmem)
    assert spaces["st.global"] == (rmem, gmem)
    assert spaces["ld.shared"] == spaces["ldmatrix.x4"] == (smem, rmem)
    assert spaces["st.shared"] == spaces["stmatrix.x1.trans"] == (rmem, smem)
    assert spaces["cp.async.cg"] == spaces["cp.async.bulk.tensor.g2s"] == (gmem, smem)
    assert spaces["cp.async.bulk.tensor.s2g"] == (smem, gmem)


# ---- atoms -----------------------------------------------------------------------------------------------------------


def test_layouts_in_elements():
    vector = cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
    assert (vector.layout_src_tv, vector.layout_dst_tv, vector.thr_id) == (L("(1,8):(0,1)"), L("(1,8):(0,1)"), L("1:0"))
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
    assert (load.layout_src_tv, load.layout_dst_tv) == (L("(32,8):(8,1)"), L("(32,(2,4)):(2,(1,64))"))
    assert load.layout_ref == load.layout_dst_tv
    assert load.thr_id == L("32:1")
    words = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), Float32)
    assert words.layout_dst_tv == L("(32,(1,4)):(1,(1,32))")
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(True, 4), Float16)
    assert store.layout_ref == store.layout_src_tv == L("((4,8),(1,2,4)):((16,1),(1,8,64))")


def test_text():
    atom = cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
    assert str(atom) == (
        "Copy Atom\n  ThrID:         1:0\n  TV Layout Src: (1,8):(0,1)\n"
        "  TV Layout Dst: (1,8):(0,1)\n  Value type:    f16"
    )
    assert repr(atom) == "make_copy_atom(CopyUniversalOp(), Float16, num_bits_per_copy=128)"
    assert repr(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(), Float16)) == (
        "make_copy_atom(LdMatrix8x8x16bOp(transpose=False, num_matrices=1), Float16)"
    )


OPS = [
    nvgpu.CopyUniversalOp(),
    nvgpu.CopyG2ROp(common.CacheEvictionPriority.EVICT_FIRST),
    nvgpu.CopyG2ROp(),
    nvgpu.CopyR2GOp(memory_order=common.MemoryOrder.RELEASE, memory_scope=common.MemoryScope.GPU),
    nvgpu.CopyS2ROp(),
    nvgpu.CopyR2SOp(),
    cpasync.CopyG2SOp(),
    cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL),
    warp.LdMatrix8x8x16bOp(),
    warp.LdMatrix8x8x16bOp(True, 4),
    warp.StMatrix8x8x16bOp(True, 4),
    cpasync.CopyBulkTensorTileG2SOp((64, 8), cpasync.SwizzleMode.B128),
    cpasync.CopyBulkTensorTileS2GOp((64, 8)),
]


def test_equality_hash_and_pickle():
    made = [
        cute.make_copy_atom(op, Float16, num_bits_per_copy=128 if "cp.async.c" in op.instruction else None)
        for op in OPS
    ]
    assert len(set(OPS)) == len(set(made)) == len(OPS)
    for i, (op, atom) in enumerate(zip(OPS, made, strict=True)):
        for x in (op, atom):
            again = pickle.loads(pickle.dumps(x))
            assert again == x
            assert hash(again) == hash(x)
            assert str(again) == str(x)
        assert [i] == [j for j, other in enumerate(made) if other == atom]
    assert made[0] != cute.make_copy_atom(OPS[0], Float32)
    assert made[0] != cute.make_copy_atom(OPS[0], Float16, num_bits_per_copy=32)
    assert made[0] != 3


def test_operations_are_immutable():
    with pytest.raises(AttributeError, match="cannot be changed"):
        OPS[6].cache_mode = cpasync.LoadCacheMode.GLOBAL


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128, 256])
def test_alignment_and_architecture_of_vectors(bits):
    atom = cute.make_copy_atom(nvgpu.CopyUniversalOp(), Int8, num_bits_per_copy=bits)
    assert atom.src_alignment == atom.dst_alignment == bits // 8
    assert atom.arch == ("sm_100" if bits == 256 else "sm_75")


def test_alignment_and_architecture_of_the_others():
    load, store = (
        cute.make_copy_atom(op(num_matrices=2), Float16) for op in (warp.LdMatrix8x8x16bOp, warp.StMatrix8x8x16bOp)
    )
    assert (load.src_alignment, load.src_row, load.dst_row, load.arch) == (16, 8, 1, "sm_75")
    assert (store.dst_alignment, store.src_row, store.dst_row, store.arch) == (16, 1, 8, "sm_90")
    box = cute.make_copy_atom(cpasync.CopyBulkTensorTileG2SOp((64, 8), cpasync.SwizzleMode.B128), Float16)
    assert (box.src_alignment, box.dst_alignment, box.arch) == (16, 1024, "sm_90")
    assert cute.size(box.layout_src_tv) == 512
    assert cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=64).arch == "sm_80"


REFUSED = [
    (
        lambda: cute.make_copy_atom(nvgpu.CopyUniversalOp, Float16),
        TypeError,
        r"got <class .*; write CopyUniversalOp\(\)",
    ),
    (lambda: cute.make_copy_atom(nvgpu.CopyUniversalOp(), "f16"), TypeError, "expected an element type"),
    (
        lambda: cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=96),
        ValueError,
        r"num_bits_per_copy is 96, but universal moves 8 or 16 or 32 or 64 or 128 or 256 bits",
    ),
    (
        lambda: cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float64, num_bits_per_copy=32),
        ValueError,
        "num_bits_per_copy=32 is no multiple of the 64 bits of an element; choose one of 64 or 128 or 256",
    ),
    (
        lambda: cute.make_copy_atom(cpasync.CopyG2SOp(), Float16),
        ValueError,
        "pass num_bits_per_copy, one of 32 or 64 or 128",
    ),
    (
        lambda: cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=16),
        ValueError,
        "num_bits_per_copy is 16, but cp.async.ca moves 32 or 64 or 128 bits",
    ),
    (
        lambda: cute.make_copy_atom(cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL), Float16, num_bits_per_copy=64),
        ValueError,
        "num_bits_per_copy is 64, but cp.async.cg moves 128 bits",
    ),
    (lambda: cpasync.CopyG2SOp("global"), TypeError, "expected cache_mode to be one of LoadCacheMode.ALWAYS"),
    (lambda: warp.LdMatrix8x8x16bOp(num_matrices=3), ValueError, "1, 2 or 4 matrices, but got num_matrices=3"),
    (
        lambda: cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), Float32),
        LayoutError,
        "elements of 32 bits do not stay whole",
    ),
    (lambda: cute.make_copy_atom(cpasync.CopyBulkTensorTileG2SOp(), Float16), ValueError, r"which box\?"),
    (lambda: cpasync.CopyBulkTensorTileG2SOp((512, 8)), ValueError, r"extent 0 of the box \(512, 8\) is 512"),
    (lambda: cpasync.CopyBulkTensorTileG2SOp((1,) * 6), ValueError, "a box has 1 to 5 extents"),
    (
        lambda: cute.make_copy_atom(cpasync.CopyBulkTensorTileG2SOp((4, 8)), Float16),
        ValueError,
        "takes 8 bytes of f16, but needs a multiple of 16",
    ),
    (
        lambda: cute.make_copy_atom(cpasync.CopyBulkTensorTileS2GOp((64, 8), cpasync.SwizzleMode.B64), Float16),
        ValueError,
        "takes 128 bytes of f16, but SwizzleMode.B64 allows at most 64; copy boxes of 32 elements",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_swizzle_modes_keep_chunks_of_16_bytes():
    for mode in cpasync.SwizzleMode:
        pattern = mode.alignment
        moved = [mode.swizzle(offset) for offset in range(2 * pattern)]
        assert sorted(moved[:pattern]) == list(range(pattern))
        assert [x % 16 for x in moved] == [x % 16 for x in range(2 * pattern)]
        assert [x - pattern for x in moved[pattern:]] == moved[:pattern]
        if mode.span_bytes:
            assert all(x // mode.span_bytes == i // mode.span_bytes for i, x in enumerate(moved))


def test_names_of_the_namespaces():
    assert cute.nvgpu is nvgpu
    assert tw.cute.nvgpu.cpasync.CopyG2SOp is copy_ops.CopyG2SOp
    assert nvgpu.warp.StMatrix8x8x16bOp is copy_ops.StMatrix8x8x16bOp
    assert nvgpu.common.CopyUniversalOp is nvgpu.CopyUniversalOp


def test_a_kind_of_copies_is_no_copy():
    with pytest.raises(TypeError, match=r"CopyOp is no copy instruction; .*CopyUniversalOp"):
        cute.make_copy_atom(copy_ops.CopyOp(), Float32)
