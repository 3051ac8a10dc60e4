"""Every number of the article 002, tiling, and its kernel, thread by thread."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from seed_layouts import grid, offsets
from tilewright import Int32, cute
from tilewright.cute.runtime import from_dlpack

L = cute.parse
H = L("((2,2),(2,2)):((1,4),(2,8))")


def test_002_row_major():
    n, m = 3, 5
    layout = cute.make_layout_right((n, m))
    assert str(layout) == "(3,5):(5,1)"
    assert all(layout((i, j)) == i * m + j for i in range(n) for j in range(m))


@pytest.mark.parametrize(
    ("coordinate", "offset"),
    [
        (((0, 0), (0, 0)), 0),
        (((0, 1), (0, 0)), 4),
        (((1, 0), (0, 0)), 1),
        (((1, 1), (0, 0)), 5),
        (((0, 0), (1, 0)), 2),
        (((0, 1), (1, 0)), 6),
        (((1, 0), (1, 0)), 3),
        (((1, 1), (1, 0)), 7),
    ],
)
def test_002_interleaved_layout(coordinate, offset):
    assert H(coordinate) == offset


def test_002_interleaved_grid():
    assert offsets(H) == [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
    assert grid(H) == [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]]


def test_002_factorisation():
    for i in range(16):
        (i0, i1), (j0, j1) = cute.idx2crd(i, H.shape)
        r, c = i0 + 2 * j0, i1 + 2 * j1
        assert H(i) == r + 4 * c


def test_002_coalesce():
    assert cute.coalesce(L("(2,4):(1,2)")) == L("8:1")
    assert cute.coalesce(L("(1,8):(7,1)")) == cute.coalesce(L("(8,1):(1,7)")) == L("8:1")
    by_mode = cute.coalesce(L("((2,4),(2,4)):((1,2),(8,16))"), (1, 1))
    assert (str(by_mode), cute.rank(by_mode)) == ("(8,8):(1,8)", 2)


@pytest.mark.parametrize(
    ("coordinate", "index", "offset"),
    [((0, 0), 0, 0), ((1, 0), 1, 2), ((2, 0), 2, 4), ((0, 1), 3, 6), ((1, 1), 4, 8), ((2, 1), 5, 10)],
)
def test_002_composition_table(coordinate, index, offset):
    a, b = L("(3,2):(1,3)"), L("6:2")
    assert a(coordinate) == index
    assert b(index) == offset
    assert cute.composition(b, a)(coordinate) == offset


def test_002_composition():
    assert str(cute.composition(L("6:2"), L("(3,2):(1,3)"))) == "(3,2):(2,6)"
    assert str(cute.composition(L("(4,3):(1,8)"), L("6:2"))) == "(2,3):(2,8)"
    assert cute.composition(L("(3):(8)"), L("3:1")) == L("3:8")
    # Case 1, the stride skips the first mode: (s1,..):(d1,..) o s:d/s0.
    assert cute.composition(L("(4,8):(13,1)"), L("4:8")) == cute.composition(L("8:1"), L("4:2")) == L("4:2")


def test_002_complement():
    assert str(cute.complement(L("4:1"), 12)) == "3:4"
    # The formula (d0, d1/(s0*d0), .., M/(sn*dn)) : (1, s0*d0, .., sn*dn) of an admissible layout.
    layout, size = L("(2,3):(2,12)"), 72
    assert cute.is_admissible(layout, size)
    assert cute.complement(layout, size) == cute.coalesce(L("(2,3,2):(1,4,36)"))


def test_002_picture_of_a_complement():
    """The grey cells and their coloured copies: the layout and its complement cover [0, M) once."""
    layout = L("(2,2):(1,6)")
    rest = cute.complement(layout, 24)
    assert str(rest) == "(3,2):(2,12)"
    copies = [[x + y for x in offsets(layout)] for y in offsets(rest)]
    assert copies[0] == [0, 1, 6, 7]
    assert sorted(x for copy in copies for x in copy) == list(range(24))


def test_002_divide_in_one_dimension():
    assert cute.make_layout([L("4:1"), L("3:4")]) == L("(4,3):(1,4)")
    tiles = cute.logical_divide(L("12:1"), L("4:1"))
    assert str(tiles) == "(4,3):(1,4)"
    assert [tiles((None, k)) for k in range(3)] == [L("(4):(1)")] * 3
    assert offsets(tiles((0, None))) == [0, 4, 8]
    assert [[tiles((i, k)) for i in range(4)] for k in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_002_divide_in_two_dimensions():
    matrix = L("(4,6):(1,4)")
    assert str(cute.logical_divide(L("4:1"), 2)) == "(2,2):(1,2)"
    assert str(cute.logical_divide(L("6:4"), 3)) == "(3,2):(4,12)"
    assert str(cute.logical_divide(matrix, (2, 3))) == "((2,2),(3,2)):((1,2),(4,12))"
    assert str(cute.zipped_divide(matrix, (2, 3))) == "((2,3),(2,2)):((1,4),(2,12))"
    assert str(cute.tiled_divide(matrix, (2, 3))) == "((2,3),2,2):((1,4),2,12)"
    assert str(cute.flat_divide(matrix, (2, 3))) == "(2,3,2,2):(1,4,2,12)"


@pytest.mark.parametrize(
    ("form", "divided", "multiplied"),
    [
        ("logical", "((2,4),(3,5),7)", "((2,4),(3,5),7)"),
        ("zipped", "((2,3),(4,5,7))", "((2,3),(4,5,7))"),
        ("tiled", "((2,3),4,5,7)", "((2,3),4,5,7)"),
        ("flat", "(2,3,4,5,7)", "(2,3,4,5,7)"),
    ],
)
def test_002_forms(form, divided, multiplied):
    """(m,n,l) by (tm,tn), and the products of (m,n,l) and (tm,tn): the modes of each form."""
    whole, tile = cute.make_layout((8, 15, 7)), (2, 3)
    assert cute.pretty_str(getattr(cute, f"{form}_divide")(whole, tile).shape) == divided
    block, copies = cute.make_layout((2, 3, 7), stride=(1, 1, 1)), (4, 5)
    assert cute.pretty_str(getattr(cute, f"{form}_product")(block, copies).shape) == multiplied


def test_002_product():
    assert str(cute.complement(L("4:1"), 12)) == "3:4"
    assert cute.composition(L("3:4"), L("3:1")) == L("3:4")
    assert cute.logical_product(L("4:1"), L("3:1")) == cute.logical_divide(L("12:1"), L("4:1")) == L("(4,3):(1,4)")


def test_002_threads_and_values():
    assert str(cute.complement(L("4:1"), 8)) == "2:4"
    assert cute.composition(L("2:4"), L("2:1")) == L("2:4")
    product = cute.logical_product(L("4:1"), L("2:1"))
    assert str(product) == "(4,2):(1,4)"
    assert [[product((t, v)) for v in range(2)] for t in range(4)] == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_002_what_make_layout_tv_builds_instead():
    tiler, tv = cute.make_layout_tv(L("4:1"), L("2:1"))
    assert (tiler, str(tv)) == ((8,), "(4,2):(2,1)")
    assert [[tv((t, v)) for v in range(2)] for t in range(4)] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_002_blocked_and_raked():
    threads, values = L("4:1"), L("2:1")
    assert str(cute.blocked_product(threads, values)) == "((4,2)):((1,4))"
    assert str(cute.raked_product(threads, values)) == "((2,4)):((4,1))"
    assert str(cute.blocked_product(values, threads)) == "((2,4)):((1,2))"
    assert str(cute.raked_product(values, threads)) == "((4,2)):((2,1))"
    a, b = L("(2,5):(5,1)"), L("(3,4):(1,3)")
    assert cute.pretty_str(cute.blocked_product(a, b).shape) == "((2,3),(5,4))"
    assert cute.pretty_str(cute.raked_product(a, b).shape) == "((3,2),(4,5))"
    assert str(cute.zipped_product(a, b)) == "((2,5),(3,4)):((5,1),(10,30))"
    assert str(cute.tiled_product(a, b)) == "((2,5),3,4):((5,1),10,30)"
    assert str(cute.flat_product(a, b)) == "(2,5,3,4):(5,1,10,30)"


def test_002_layouts_of_the_kernel():
    """Those that need no copy and no MMA: shared memory, thread layouts, and the tiles of a thread block."""
    b_m, b_n, b_k, threads = 128, 128, 8, 256
    assert str(cute.make_layout((b_m, b_k))) == "(128,8):(1,128)"
    assert str(cute.make_layout((threads // b_k, b_k), stride=(b_k, 1))) == "(32,8):(8,1)"
    major = b_n // 4
    assert str(cute.make_layout((major, threads // major), stride=(1, major))) == "(32,8):(1,32)"
    assert str(cute.make_layout((threads // 16, 16, 1), stride=(16, 1, 0))) == "(16,16,1):(16,1,0)"
    a, c = cute.make_tensor(0, cute.make_layout((256, 64))), cute.make_tensor(0, cute.make_layout((256, 384)))
    tiler, coordinates = (b_m, b_n, b_k), (1, 2, None)
    assert str(cute.local_tile(a, tiler, coordinates, proj=(1, None, 1))) == "tensor<128 o (128,8,8):(1,256,2048)>"
    assert str(cute.local_tile(c, tiler, coordinates, proj=(1, 1, None))) == "tensor<65664 o (128,128):(1,256)>"


def test_002_tiles_of_the_kernels_copies():
    """Tile and thread-value layout of the two copies of the kernel."""
    copy_a = cute.make_layout_tv(L("(32,8):(8,1)"), cute.make_layout((1, 1)))
    assert (copy_a[0], str(copy_a[1])) == ((32, 8), "((8,32),1):((32,1),0)")
    copy_b = cute.make_layout_tv(L("(32,8):(1,32)"), cute.make_layout((4, 1)))
    assert (copy_b[0], str(copy_b[1])) == ((128, 8), "(256,4):(4,1)")


def kernels_copies():
    """The two tiled copies of the kernel, spelled as the article does."""
    b_n, b_k, num_threads, dtype = 128, 8, 256, cutlass.Float32
    t_a = cute.make_layout((num_threads // b_k, b_k), stride=(b_k, 1))
    copy_atom_a = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), dtype, num_bits_per_copy=dtype.width)
    tiled_copy_a = cute.make_tiled_copy_tv(copy_atom_a, thr_layout=t_a, val_layout=cute.make_layout((1, 1)))
    num_vectorized = 4
    copy_atom_b = cute.make_copy_atom(
        cute.nvgpu.cpasync.CopyG2SOp(), dtype, num_bits_per_copy=dtype.width * num_vectorized
    )
    major_mode_size = b_n // num_vectorized
    t_b = cute.make_layout((major_mode_size, num_threads // major_mode_size), stride=(1, major_mode_size))
    tiled_copy_b = cute.make_tiled_copy_tv(
        copy_atom_b, thr_layout=t_b, val_layout=cute.make_layout((num_vectorized, 1))
    )
    return tiled_copy_a, tiled_copy_b


def test_002_partitions_of_the_kernels_copies():
    """(cpy, cpy_m, cpy_k, k_tiles) in global, (cpy, cpy_m, cpy_k) in shared memory."""
    copy_a, copy_b = kernels_copies()
    assert (copy_a.tiler_mn, str(copy_a.layout_tv_tiled)) == ((32, 8), "((8,32),1):((32,1),0)")
    assert (copy_b.tiler_mn, str(copy_b.layout_tv_tiled)) == ((128, 8), "(256,4):(4,1)")
    smem = cute.make_tensor(0, cute.make_layout((128, 8)))
    assert str(copy_a.get_slice(0).partition_D(smem)) == "tensor<0 o ((1,1),4,1):((0,0),32,0)>"
    assert str(copy_b.get_slice(0).partition_D(smem)) == "tensor<0 o ((4,1),1,1):((1,0),0,0)>"
    tidx = Int32(9)
    for tiled, shape in ((copy_a, "((1,1),4,1,?)"), (copy_b, "((4,1),1,1,?)")):
        tiles = cute.local_tile(cute.make_tensor(0, cute.make_layout((256, Int32(64)))), (128, 8), (1, None))
        assert str(tiled.get_slice(tidx).partition_S(tiles).shape) == shape


@pytest.mark.parametrize(("rows", "columns", "k"), [(256, 256, 16), (200, 132, 13)])
def test_002_copies_of_a_block(rows, columns, k):
    """All threads of a block copy a tile of A (row-major) and of B (column-major), zeros where there is nothing."""
    copy_a, copy_b = kernels_copies()
    a = np.arange(1, rows * k + 1, dtype=np.float32).reshape(rows, k)
    b = np.asfortranarray(np.arange(1, columns * k + 1, dtype=np.float32).reshape(columns, k))
    for array, tiled, align in ((a, copy_a, 4), (b, copy_b, 16)):
        extents = array.shape
        source = cute.local_tile(from_dlpack(array, assumed_align=align), (128, 8), (1, None))
        places = cute.local_tile(cute.make_identity_tensor(extents), (128, 8), (1, None))
        stage = np.full((8, 128), -1, np.float32)
        smem = from_dlpack(stage.T, assumed_align=16)
        k_tile = -(-k // 8) - 1
        for tidx in range(tiled.size):
            thread = tiled.get_slice(tidx)
            gmem, coordinates = (thread.partition_S(x)[None, None, None, k_tile] for x in (source, places))
            pred = cute.make_rmem_tensor(tuple(cute.size(gmem, mode=[m]) for m in (1, 2)), cutlass.Boolean)
            for m in range(pred.shape[0]):
                pred[m, 0] = cute.elem_less(coordinates[0, m, 0], extents)  # the first element of each vector
            cute.copy(tiled, gmem, thread.partition_D(smem), pred=pred)
        expected = np.zeros((128, 8), np.float32)
        piece = array[128:256, 8 * k_tile : 8 * k_tile + 8]
        expected[: piece.shape[0], : piece.shape[1]] = piece
        assert (expected == stage.T).all()


def test_002_predicates_of_the_epilogue():
    coordinates = cute.make_identity_tensor((4, 4))
    residue = (10 - 4 * 2, 7 - 4 * 1)  # mC.shape[0] - b_m * bidx, mC.shape[1] - b_n * bidy
    inside = [bool(cute.elem_less(coordinates[i], residue)) for i in range(cute.size(coordinates.shape))]
    assert inside == [m < 2 and n < 3 for n in range(4) for m in range(4)]
    predicates = cute.make_rmem_tensor(coordinates.shape, cutlass.Boolean)
    predicates.store(inside)
    assert list(predicates) == inside


def kernels_multiplication():
    """The tiled multiplication of the kernel, spelled as the article does."""
    num_threads, acc_dtype = 256, cutlass.Float32
    atoms_layout_mnk = cute.make_layout((num_threads // 16, 16, 1), stride=(16, 1, 0))
    return cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(abacc_dtype=acc_dtype), atom_layout_mnk=atoms_layout_mnk)


def test_002_partitions_of_the_kernels_multiplication():
    """(mma, mma_m, mma_k), (mma, mma_n, mma_k) and (mma, mma_m, mma_n) of a thread."""
    tiled_mma = kernels_multiplication()
    assert str(tiled_mma.thr_layout_vmnk) == "(1,16,16,1):(0,16,1,0)"
    thr_mma = tiled_mma.get_slice(0)
    smem = cute.make_tensor(0, cute.make_layout((128, 8)))
    assert str(thr_mma.partition_A(smem)) == "tensor<0 o (1,8,8):(0,16,128)>"
    assert str(thr_mma.partition_B(smem)) == "tensor<0 o (1,8,8):(0,16,128)>"
    row_major = cute.make_tensor(0, cute.make_layout((128, 128), stride=(128, 1)))
    assert str(thr_mma.partition_C(row_major)) == "tensor<0 o (1,8,8):(0,2048,16)>"
    assert str(tiled_mma.make_fragment_C(thr_mma.partition_C(row_major)).shape) == "(1,8,8)"


def tile_copies(tiled, tensor, extents, coordinate, stage):
    """For each thread: (its tiles, its part of shared memory, the predicates of a k tile)."""
    source = cute.local_tile(tensor, (128, 8), (coordinate, None))
    places = cute.local_tile(cute.make_identity_tensor(extents), (128, 8), (coordinate, None))
    for tidx in range(tiled.size):
        thread = tiled.get_slice(tidx)
        gmem, inside = thread.partition_S(source), thread.partition_S(places)

        def predicates(k, inside=inside):
            pred = cute.make_rmem_tensor(tuple(cute.size(inside, mode=[m]) for m in (1, 2)), cutlass.Boolean)
            for m in range(pred.shape[0]):
                pred[m, 0] = cute.elem_less(inside[0, m, 0, k], extents)
            return pred

        yield gmem, thread.partition_D(stage), predicates


def test_002_the_kernel():
    """The article's kernel, its threads one after the other between two barriers; ragged M, N and K."""
    m, n, k = 100, 120, 13
    copy_a, copy_b = kernels_copies()
    tiled_mma = kernels_multiplication()
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (x, k)).astype(np.float32) for x in (m, n))
    b = np.asfortranarray(b)
    c = np.full((m, n), -1, np.float32)
    m_a, m_b, m_c = from_dlpack(a), from_dlpack(b, assumed_align=16), from_dlpack(c)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), m_c.element_type)
    for bidx, bidy in np.ndindex(-(-m // 128), -(-n // 128)):
        stages = [from_dlpack(np.full((8, 128), np.nan, np.float32).T, assumed_align=16) for _ in range(2)]
        copies = [
            (tiled, *parts)
            for tiled, tensor, extents, coordinate, stage in (
                (copy_a, m_a, (m, k), bidx, stages[0]),
                (copy_b, m_b, (n, k), bidy, stages[1]),
            )
            for parts in tile_copies(tiled, tensor, extents, coordinate, stage)
        ]
        threads = [tiled_mma.get_slice(tidx) for tidx in range(tiled_mma.size)]
        operands = [(thread.partition_A(stages[0]), thread.partition_B(stages[1])) for thread in threads]
        sums = [tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((128, 128))) for _ in threads]
        for k_tile in range(-(-k // 8)):
            for tiled, gmem, smem, predicates in copies:
                cute.copy(tiled, gmem[None, None, None, k_tile], smem, pred=predicates(k_tile))
            for total, (part_a, part_b) in zip(sums, operands, strict=True):
                cute.gemm(tiled_mma, total, part_a, part_b, total)
        g_c = cute.local_tile(m_c, (128, 128), (bidx, bidy))
        for thread, total in zip(threads, sums, strict=True):
            coordinates = thread.partition_C(cute.make_identity_tensor(g_c.shape))
            pred = cute.make_rmem_tensor(total.layout, cutlass.Boolean)
            residue = (m - 128 * bidx, n - 128 * bidy)
            pred.store([cute.elem_less(coordinates[i], residue) for i in range(cute.size(total.shape))])
            cute.copy(atom, total, thread.partition_C(g_c), pred=pred)
    assert (c == a @ b.T).all()
