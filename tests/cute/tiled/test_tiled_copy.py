"""Tiled copies: partitions against a brute-force model, published values, text, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright import AddressSpace, Float16, Float32, Int8, Int32, Int64, LayoutError, cute
from tilewright.cute.nvgpu import CopyUniversalOp, cpasync, warp

L = cute.parse


def universal(dtype, bits=None):
    return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)


def cp_async(dtype, bits):
    return cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=bits)


# ---- laws ------------------------------------------------------------------------------------------------------------

POWERS = st.sampled_from([1, 2, 4, 8])


@st.composite
def orders(draw, extents):
    """A compact layout of these extents, either mode first."""
    return cute.make_ordered_layout(extents, draw(st.sampled_from([(0, 1), (1, 0)])))


@st.composite
def tiled_copies(draw):
    """(tiled copy, thread extents, value extents): any number of threads, powers of two of values."""
    extents = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    values = draw(st.tuples(POWERS, POWERS))
    widths = [bits for bits in (8, 16, 32, 64, 128) if values[0] * values[1] % (bits // 8) == 0]
    atom = universal(Int8, draw(st.sampled_from(widths)))
    return cute.make_tiled_copy_tv(atom, draw(orders(extents)), draw(orders(values))), extents, values


@st.composite
def tensors_of_tiles(draw, tiled):
    """The extents of a tensor of whole tiles, and perhaps a mode more."""
    counts = [draw(st.integers(1, 3)) for _ in tiled.tiler_mn]
    more = draw(st.sampled_from([(), (2,)]))
    return (*(n * extent for n, extent in zip(counts, tiled.tiler_mn, strict=True)), *more)


@given(st.data())
def test_partitions_are_a_partition(data):
    """Every element belongs to one thread at one place, and a thread's values of a tile are a block."""
    tiled, threads, values = data.draw(tiled_copies())
    shape = data.draw(tensors_of_tiles(tiled))
    identity = cute.make_identity_tensor(shape)
    seen = {}
    for t in range(tiled.size):
        part = tiled.get_slice(t).partition_S(identity)
        assert part.shape == tiled.get_slice(t).partition_D(identity).shape
        assert cute.rank(part.layout) == 1 + len(shape)
        assert cute.size(part.shape, mode=[0]) == values[0] * values[1]
        for coord in part:
            assert coord not in seen
            seen[coord] = t
        first = [part[(v, *(0 for _ in shape))] for v in range(values[0] * values[1])]
        corner = tuple(min(c[i] for c in first) for i in range(2))
        assert sorted((c[0] - corner[0], c[1] - corner[1]) for c in first) == [
            (i, j) for i in range(values[0]) for j in range(values[1])
        ]
        assert corner[0] % values[0] == corner[1] % values[1] == 0
    assert len(seen) == int(np.prod(shape))
    assert threads[0] * threads[1] == tiled.size


@given(st.data())
def test_a_partition_of_a_layout_is_the_layout_of_a_partition(data):
    """partition(tensor)[i] = tensor[partition(identity)[i]], for any strides."""
    tiled, _, _ = data.draw(tiled_copies())
    shape = data.draw(tensors_of_tiles(tiled))
    tensor = cute.make_tensor(
        7, cute.make_layout(shape, stride=data.draw(st.tuples(*(st.integers(-9, 9),) * len(shape))))
    )
    thread = tiled.get_slice(data.draw(st.integers(0, tiled.size - 1)))
    coordinates = thread.partition_S(cute.make_identity_tensor(shape))
    assert list(thread.partition_S(tensor)) == [tensor[c] for c in coordinates]
    dynamic = cute.make_tensor(7, cute.make_layout(tuple(map(Int32, shape)), stride=tuple(map(Int64, tensor.stride))))
    moving = tiled.get_slice(Int32(thread.thr_idx))
    assert [int(x) for x in moving.partition_S(dynamic)] == list(thread.partition_S(tensor))
    everything = tiled.tidfrg_S(tensor)
    assert list(everything[thread.thr_idx, None, None]) == list(thread.partition_S(tensor))


@pytest.mark.parametrize("op", [warp.LdMatrix8x8x16bOp, warp.StMatrix8x8x16bOp])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("matrices", [1, 2, 4])
@pytest.mark.parametrize(("thr", "val"), [("(16,4):(4,1)", "(1,8):(0,1)"), ("(4,16):(1,4)", "(2,8):(1,2)")])
def test_both_sides_of_a_warp_operation_move_the_same_elements(op, transpose, matrices, thr, val):
    """What the instruction reads as bit x of a call it writes as bit x, for the threads and values of every call."""
    atom = cute.make_copy_atom(op(transpose, matrices), Float16)
    tiled = cute.make_tiled_copy_tv(atom, L(thr), L(val))
    src, dst = tiled.layout_src_tv_tiled, tiled.layout_dst_tv_tiled
    counts = [int(cute.size(x, mode=[1])) for x in (atom.layout_src_tv, atom.layout_dst_tv)]
    calls = int(cute.size(src, mode=[1])) // counts[0]
    for first in range(0, tiled.size, 32):
        for call in range(calls):
            read = {
                atom.layout_src_tv((t, v)): src((first + t, v + counts[0] * call))
                for t in range(32)
                for v in range(counts[0])
            }
            for t in range(32):
                for v in range(counts[1]):
                    assert dst((first + t, v + counts[1] * call)) == read[atom.layout_dst_tv((t, v))]
    reference = src if atom.layout_ref is atom.layout_src_tv else dst
    assert reference.offsets().tolist() == tiled.layout_tv_tiled.offsets().tolist()


def test_partitions_of_a_warp_operation():
    """ldmatrix.x4: thread t reads row t % 8 of matrix t / 8, and gets columns 2 (t % 4) and the next of row t / 4."""
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
    # Four matrices beside each other: 8 rows of 32.
    tiled = cute.make_tiled_copy(atom, L("((4,8),(2,4)):((16,1),(8,64))"), (8, 32))
    identity = cute.make_identity_tensor((8, 32))
    for t in range(32):
        thread = tiled.get_slice(t)
        assert list(thread.partition_S(identity)) == [(t % 8, 8 * (t // 8) + i) for i in range(8)]
        assert list(thread.partition_D(identity)) == [
            (t // 4, 8 * matrix + 2 * (t % 4) + i) for matrix in range(4) for i in range(2)
        ]


# A copy of the same tile by the same threads, for which each instruction takes fewer values.
PRODUCTS = [
    # tiler, thread-value layout, tile of one instruction, its thread-value layout, instructions along the modes
    ((16, 16), "((4,8),((2,2),2)):((32,1),((16,8),128))", (16, 8), "((4,8),(2,2)):((32,1),(16,8))", (1, 2)),
    ((32, 8), "((4,8),((2,2),2)):((64,1),((32,8),16))", (16, 8), "((4,8),(2,2)):((32,1),(16,8))", (2, 1)),
    (
        (32, 16),
        "((4,8),((2,2),(2,2))):((64,1),((32,8),(16,256)))",
        (16, 8),
        "((4,8),(2,2)):((32,1),(16,8))",
        (2, 2),
    ),
]


@pytest.mark.parametrize(("tiler", "tv", "small", "small_tv", "grid"), PRODUCTS)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("tiles", [(1, 1), (2, 3)])
def test_retile(tiler, tv, small, small_tv, grid, bits, tiles):
    """Registers of instructions on small tiles, seen by a copy of large ones: each at the place of its coordinate."""
    large = cute.make_tiled_copy(universal(Float16, bits), L(tv), tiler)
    instruction = cute.make_tiled_copy(universal(Float16, 16), L(small_tv), small)
    identity = cute.make_identity_tensor(tuple(n * t for n, t in zip(tiles, tiler, strict=True)))
    assert tuple(t // s for t, s in zip(tiler, small, strict=True)) == grid
    for t in range(32):
        held = instruction.get_slice(t).partition_D(identity)
        registers = cute.make_tensor(0, cute.make_layout(held.shape))
        seen = large.get_slice(t).retile(registers)
        wanted = large.get_slice(t).partition_S(identity)
        assert cute.product_each(seen.shape[0]) == cute.product_each(wanted.shape[0])
        assert seen.shape[1:] == wanted.shape[1:]
        assert [held[i] for i in seen] == list(wanted)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("tiles", [(1, 1), (2, 3)])
def test_retile_of_an_instruction_with_several_tiles(bits, tiles):
    """An instruction on 16 x 32 elements, copied by tiles of 16 x 8: these follow each other among its values."""
    small = cute.make_tiled_copy(universal(Float16, bits), L("((4,8),(2,2)):((32,1),(16,8))"), (16, 8))
    instruction = cute.make_tiled_copy(universal(Float16, 16), L("((4,8),(2,2,4)):((32,1),(16,8,128))"), (16, 32))
    identity = cute.make_identity_tensor((16 * tiles[0], 32 * tiles[1]))
    for t in range(32):
        held = cute.group_modes(instruction.get_slice(t).partition_D(identity), 0, 1)
        registers = cute.make_tensor(0, cute.make_layout((16, *tiles)))
        seen = small.get_slice(t).retile(registers)
        assert cute.product_each(seen.shape) == (16, *tiles)
        assert cute.size(seen.shape[0][0]) == bits // 16
        wanted = small.get_slice(t).partition_S(identity)  # ((values of a call, calls), tiles along the modes)
        for m in range(tiles[0]):
            for n in range(4 * tiles[1]):
                values = range(4 * (n % 4), 4 * (n % 4) + 4)
                assert [held[seen[v, m, n // 4]] for v in values] == [wanted[v, m, n] for v in range(4)]


def test_retile_refuses():
    large = cute.make_tiled_copy(universal(Float16, 32), L(PRODUCTS[0][1]), (16, 16))
    with pytest.raises(LayoutError, match=r"retile\(\(3,1,2\):.*mode 0 has 3 values, which do not divide the 8"):
        large.retile(cute.make_tensor(0, (3, 1, 2)))
    with pytest.raises(LayoutError, match=r"expected 1 \+ 2 modes"):
        large.retile(cute.make_tensor(0, (4, 2)))


@given(st.data())
def test_cotiled_copies_reach_the_offsets(data):
    """The tile's element of (thread, value) lies where the layout of offsets says."""
    rows, columns = data.draw(st.sampled_from([(8, 4), (16, 2), (32, 8)]))
    layout = data.draw(orders((rows, columns)))
    values = data.draw(st.sampled_from([1, 2, 4]))
    threads = data.draw(st.sampled_from([n for n in (4, 8, 16, 32) if n * values <= rows * columns]))
    atom_tv = data.draw(
        st.sampled_from([L(f"({threads},{values}):({values},1)"), L(f"({threads},{values}):(1,{threads})")])
    )
    tiled = cute.make_cotiled_copy(universal(Float16, 16 * values), atom_tv, layout)
    tile = cute.composition(layout, tiled.tiler_mn)
    assert [tile(i) for i in tiled.layout_tv_tiled.offsets().tolist()] == atom_tv.offsets().tolist()


# ---- construction ----------------------------------------------------------------------------------------------------


def test_S_and_D():
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
    tiled = cute.make_tiled_copy_tv(load, L("(16,4):(4,1)"), L("(1,8):(0,1)"))
    source = cute.make_tiled_copy_S(universal(Float16, 128), tiled)
    registers = cute.make_tiled_copy_D(universal(Float16, 32), tiled)
    assert source.layout_tv_tiled == tiled.layout_src_tv_tiled
    assert registers.layout_tv_tiled == tiled.layout_dst_tv_tiled
    assert source.tiler_mn == registers.tiler_mn == tiled.tiler_mn
    tensor = cute.make_tensor(0, tiled.tiler_mn)
    for t in (0, 1, 63):
        assert list(source.get_slice(t).partition_S(tensor)) == list(tiled.get_slice(t).partition_S(tensor))
        assert list(registers.get_slice(t).partition_D(tensor)) == list(tiled.get_slice(t).partition_D(tensor))


def test_a_tiled_copy_serves_as_atom():
    tiled = cute.make_tiled_copy_tv(universal(Float16, 64), L("(8,4):(4,1)"), L("(1,4):(0,1)"))
    assert cute.make_tiled_copy(tiled, tiled.layout_tv_tiled, tiled.tiler_mn) == tiled


def test_equality_hash_and_pickle():
    def make(bits, thr="(8,4):(4,1)"):
        return cute.make_tiled_copy_tv(universal(Float16, bits), L(thr), L("(1,4):(0,1)"))

    tiled = make(64)
    assert tiled == make(64)
    assert len({tiled, make(64), make(32), make(64, "(8,4):(1,8)"), tiled.get_slice(3), make(64).get_slice(3)}) == 4
    for x in (tiled, tiled.get_slice(3), tiled.get_slice(Int32(3))):
        again = pickle.loads(pickle.dumps(x))
        assert again == x
        assert str(again) == str(x)
        assert type(again) is type(x)
    assert tiled != tiled.get_slice(3) != tiled.get_slice(4)
    assert tiled != universal(Float16, 64)


A = universal(Float32, 128)
T = cute.make_tiled_copy_tv(A, cute.make_layout((4, 8)), cute.make_layout((4, 1)))
REFUSED = [
    (
        lambda: cute.make_tiled_copy(CopyUniversalOp(), L("(32,4):(4,1)"), (16, 8)),
        TypeError,
        "expected atom to be a CopyAtom",
    ),
    (
        lambda: cute.make_tiled_copy_tv(A, L("(4,8):(0,1)"), L("(1,2):(0,1)")),
        LayoutError,
        r"make_tiled_copy_tv\(\(4,8\):\(0,1\), \(1,2\):\(0,1\)\): the raked product",
    ),
    (lambda: cute.make_tiled_copy(A, (32, 4), (16, 8)), TypeError, "expected layout_tv to be a Layout"),
    (lambda: cute.make_tiled_copy(A, L("(32,4):(4,1)"), (16, None)), TypeError, "mode 1 of tiler_mn is None"),
    (lambda: cute.make_tiled_copy(A, L("128:1"), (16, 8)), LayoutError, "layout_tv has two modes, thread and value"),
    (
        lambda: cute.make_tiled_copy(A, cute.make_layout((Int32(32), 4)), (16, 8)),
        LayoutError,
        "tiles are static; use Python integers",
    ),
    (
        lambda: cute.make_tiled_copy(A, L("(32,2):(2,1)"), (8, 8)),
        LayoutError,
        "takes 4 values of a thread at once, but mode 1 has 2; give it a multiple of 4 or lower num_bits_per_copy",
    ),
    (
        lambda: cute.make_tiled_copy(A, L("(16,6):(6,1)"), (16, 6)),
        LayoutError,
        "takes 4 values of a thread at once, but mode 1 has 6",
    ),
    (
        lambda: cute.make_tiled_copy(A, L("(31,4):(4,1)"), (16, 8)),
        LayoutError,
        r"make_tiled_copy\(\(31,4\):\(4,1\), \(16,8\)\): element \(12,7\) of the tile \(16,8\) belongs to no thread, "
        "and 4 of 128 elements would not be copied",
    ),
    (
        lambda: cute.make_tiled_copy(A, L("(32,4):(4,1)"), (8, 8)),
        LayoutError,
        "thread 16, value 0 is element 64, but the tile has 0 to 63; enlarge the tiler",
    ),
    (
        lambda: cute.make_tiled_copy(A, L("(32,4):(1@0,1@1)"), (32, 4)),
        LayoutError,
        "layout_tv counts the elements of the tile, so its strides are integers",
    ),
    (
        lambda: cute.make_cotiled_copy(A, L("(16,4):(4,1)"), L("(8,4):(4,1)")),
        LayoutError,
        r"thread 8, value 0 lies at offset 32, where the data has no element",
    ),
    (lambda: cute.make_cotiled_copy(A, L("(8,4):(4,1)"), (8, 4)), TypeError, "expected data_layout to be a Layout"),
    (lambda: cute.make_cotiled_copy(A, L("32:1"), L("(8,4):(4,1)")), LayoutError, "atom_layout_tv has two modes"),
    (lambda: cute.make_tiled_copy_S(A, A), TypeError, "make_tiled_copy_S: expected tiled_copy to be a TiledCopy"),
    (lambda: T.get_slice(32), ValueError, r"get_slice\(32\): this tiled copy has threads 0 to 31; launch that many"),
    (lambda: T.get_slice(Int32(-1)), ValueError, r"get_slice\(-1\)"),
    (lambda: T.get_slice("0"), TypeError, "expected thr_idx to be an integer, but got '0'"),
    (lambda: T.get_slice(0).partition_S(cute.make_tensor(0, 128)), LayoutError, "partition_S.*the tiler"),
    (lambda: T.get_slice(0).partition_S(3), TypeError, "partition_S: expected tensor to be a Tensor"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_is_not_covered_has_a_counterexample():
    with pytest.raises(LayoutError) as caught:
        cute.make_tiled_copy(A, L("(31,4):(4,1)"), (16, 8))
    assert caught.value.operation == "make_tiled_copy"
    assert caught.value.operands == ("(31,4):(4,1)", "(16,8)")
    assert caught.value.counterexample[0] == 124


def test_elements_may_belong_to_several_threads():
    """As the operands of matrix multiplications do, which several warps read."""
    tiled = cute.make_tiled_copy(
        universal(Float16, 32), L("((4,8,2,2),((2,2),(2,1))):((64,1,0,8),((32,256),(16,0)))"), (32, 16)
    )
    assert tiled.size == 128


# ---- published values ------------------------------------------------------------------------------------------------


def test_seed_002_copies():
    """Block 128 x 128 x 8, 256 threads, Float32."""
    a = cute.make_tiled_copy_tv(
        cp_async(Float32, 32), cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 1))
    )
    assert a.tiler_mn == (32, 8)
    assert a.layout_tv_tiled == L("((8,32),1):((32,1),0)")
    b = cute.make_tiled_copy_tv(
        cp_async(Float32, 128), cute.make_layout((32, 8), stride=(1, 32)), cute.make_layout((4, 1))
    )
    assert b.tiler_mn == (128, 8)
    assert b.layout_tv_tiled == L("(256,4):(4,1)")
    tile = cute.make_tensor(0, (128, 8))
    assert a.get_slice(0).partition_D(tile).layout == L("((1,1),4,1):((0,0),32,0)")
    assert b.get_slice(0).partition_D(tile).layout == L("((4,1),1,1):((1,0),0,0)")
    tiles = cute.make_tensor(0, (128, 8, Int32(5)))
    assert str(a.get_slice(Int32(7)).partition_S(tiles).shape) == "((1,1),4,1,?)"
    assert str(b.get_slice(Int32(7)).partition_S(tiles).shape) == "((4,1),1,1,?)"


def test_elementwise_add():
    tiled = cute.make_tiled_copy_tv(universal(Float32), L("(4,32):(32,1)"), L("(4,4):(4,1)"))
    assert tiled.tiler_mn == (16, 128)
    assert tiled.layout_tv_tiled == L("((32,4),(4,4)):((64,4),(16,1))")
    pointer = cute.make_ptr(Float32, 4096, AddressSpace.gmem, assumed_align=16)
    a = cute.make_tensor(pointer, cute.make_layout((Int32(1024), Int32(1024)), stride=(Int64(1024), 1)))
    g_a = cute.zipped_divide(a, tiled.tiler_mn)
    assert str(g_a.layout) == "((16,128),(?,?)):((?{i64},1),(?{i64 div=16},128))"
    block = g_a[(None, None), Int32(9)]
    assert str(block.layout) == "(16,128):(?{i64},1)"
    thread = tiled.get_slice(Int32(70))
    assert str(thread.partition_S(block).layout) == "((1,(4,4)),1,1):((0,(1,?{i64})),0,0)"
    coordinates = cute.zipped_divide(cute.make_identity_tensor(a.shape), tiled.tiler_mn)
    assert str(coordinates.layout) == "((16,128),(?,?)):((1@0,1@1),(16@0,128@1))"
    block = coordinates[(None, None), Int32(9)]
    assert str(block.iterator) == "(?{div=16},?{div=128})"
    part = thread.partition_S(block)
    assert str(part.layout) == "((1,(4,4)),1,1):((0,(1@1,1@0)),0,0)"
    assert str(part.iterator) == "(?{div=4},?{div=4})"


def test_elementwise_apply():
    tiled = cute.make_tiled_copy_tv(universal(Float32), L("(4,64):(64,1)"), L("(16,4):(4,1)"))
    assert tiled.tiler_mn == (64, 256)
    assert tiled.layout_tv_tiled == L("((64,4),(4,16)):((256,16),(64,1))")
    tiles = cute.zipped_divide(cute.make_tensor(0, L("(4096,4096):(4096,1)")), tiled.tiler_mn)
    assert tiles.layout == L("((64,256),(64,16)):((4096,1),(262144,256))")
    block = tiles[(None, None), (3, 5)]
    thread = cute.composition(block, tiled.layout_tv_tiled)[17, None]
    assert thread.layout == L("((4,16)):((1,4096))")
    predicate = cute.make_rmem_tensor(thread.shape, tw.Boolean)
    assert str(predicate) == "tensor<ptr<i8, rmem, align<32>> o ((4,16)):((1,4))>"
    assert tiled.get_slice(17).partition_S(block).layout == L("((1,(4,16)),1,1):((0,(1,4096)),0,0)")


def test_sgemm():
    """M = N = 256, K = 64, smem with and without padding."""
    a = cute.make_tiled_copy_tv(cp_async(Float32, 32), L("(32,8):(8,1)"), cute.make_layout((1, 1)))
    b = cute.make_tiled_copy_tv(cp_async(Float32, 128), L("(32,8):(1,32)"), cute.make_layout((4, 1)))
    n_major = cute.make_tensor(0, cute.make_layout((256, 64)))
    g_b = cute.local_tile(n_major, (128, 8), (0, None))
    assert b.get_slice(3).partition_S(g_b).layout == L("((4,1),1,1,8):((1,0),0,0,2048)")
    k = cute.assume(Int64(64), divby=64)
    k_major = cute.make_tensor(0, cute.make_layout((256, Int32(64)), stride=(k, 1)))
    g_a = cute.local_tile(k_major, (128, 8), (0, None))
    part = a.get_slice(Int32(3)).partition_S(g_a)
    assert str(part.layout) == "((1,1),4,1,?):((0,0),?{i64 div=2048},0,8)"
    assert a.get_slice(3).partition_D(cute.make_tensor(0, L("(128,8,3):(1,132,1056)"))).layout == L(
        "((1,1),4,1,3):((0,0),32,0,1056)"
    )
    # One predicate for each row and all of k.
    rows = cute.make_layout((1, 4, 1), stride=(4, 1, 0))
    assert cute.size(rows) == cute.size(part.layout, mode=[1])


def test_tensorop_gemm():
    """Float16, block 128 x 128 x 32, 128 threads."""
    g2s = cute.make_tiled_copy_tv(cp_async(Float16, 128), L("(16,8):(1,16)"), cute.make_layout((8, 1)))
    assert g2s.layout_tv_tiled == L("(128,8):(8,1)")
    store = cute.make_tiled_copy_tv(universal(Float16, 128), L("(8,16):(16,1)"), cute.make_layout((1, 8)))
    assert store.tiler_mn == (8, 128)
    assert store.layout_tv_tiled == L("((16,8),8):((64,1),8)")
    smem = cute.make_tensor(0, L("S<3,3,3> o 0 o ((64,2),(8,4),(1,3)):((1,512),(64,1024),(0,4096))"))
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), Float16)
    tv_a = L("((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))")
    copy_a = cute.make_tiled_copy(load, tv_a, (32, 16))
    assert copy_a.layout_tv_tiled == tv_a
    for t in range(128):  # a slice of a swizzled tensor reads what the tensor has there
        part = copy_a.get_slice(t).partition_S(smem)
        place = copy_a.get_slice(t).partition_S(cute.make_identity_tensor((128, 32, 3)))
        assert list(part) == [smem[c] for c in place]
    assert cute.rank(copy_a.get_slice(Int32(3)).partition_S(smem).layout) == 4


def test_hopper_store():
    """stmatrix after warpgroup products, in a tile whose modes are layouts."""
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), Float16)
    tiler = (L("(8,4,2):(1,16,8)"), L("(4,2,2):(2,1,8)"))
    tiled = cute.make_tiled_copy(store, L("((4,8,4),(2,2,2)):((64,1,8),(256,32,512))"), tiler)
    assert str(tiled).splitlines()[1] == "  Tiler MN:        ((8,4,2):(1,16,8),(4,2,2):(2,1,8))"
    seen = [c for t in range(128) for c in tiled.get_slice(t).partition_D(cute.make_identity_tensor((64, 16)))]
    assert sorted(seen) == sorted((i, j) for i in range(64) for j in range(16))


def test_text():
    tiled = cute.make_tiled_copy_tv(universal(Float16, 128), L("(32,4):(4,1)"), cute.make_layout((1, 8)))
    facts = (
        "TV Layout tiled: ((4,32),8):((256,1),32)\nCopy Atom\n  ThrID:           1:0\n"
        "  TV Layout Src:   (1,8):(0,1)\n  TV Layout Dst:   (1,8):(0,1)\n  Value type:      f16"
    )
    assert str(tiled) == f"Tiled Copy\n  Tiler MN:        (32:1,32:1)\n  {facts}"
    assert str(tiled.get_slice(0)) == str(tiled)
    one = cute.make_tiled_copy_tv(universal(Float16, 128), L("(1,4):(4,1)"), cute.make_layout((1, 8)))
    assert "  Tiler MN:        (1:0,32:1)\n" in str(one)
    assert repr(one) == (
        "make_tiled_copy(make_copy_atom(CopyUniversalOp(), Float16, num_bits_per_copy=128), (4,8):(8,1), (1,32))"
    )
