"""GEMM tables for the CPU made by hand, index by index as the hardware's manuals say them, and what to compare with."""

from __future__ import annotations

import numpy as np

from tilewright import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, TFloat32, Uint8
from tilewright._core import host
from tilewright.cute.atoms.wgmma_layout import descriptor_offsets, matrix_descriptor, tma_offsets
from tilewright.kernels.gemm.epilogue import compute_type
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.report import GemmReport
from tilewright.kernels.gemm.tables import GemmTables, LoadTable, MmaTable, OperandTable, Pipeline, StoreTable

# ---- element types ----

STORED = {
    Float16: np.float16, BFloat16: np.uint16, Float32: np.float32, TFloat32: np.float32, Float64: np.float64,
    Float8E4M3FN: np.uint8, Float8E5M2: np.uint8, Int8: np.int8, Uint8: np.uint8, Int32: np.int32,
}  # fmt: skip


def fp8_values(exponent, mantissa):
    """The numbers of all 256 codes, by the definition of the format; infinities and NaNs are NaN."""
    code = np.arange(256)
    sign, e, f = np.where(code >> 7, -1.0, 1.0), code >> mantissa & (1 << exponent) - 1, code & (1 << mantissa) - 1
    bias = (1 << exponent - 1) - 1
    value = np.where(e == 0, f * 2.0 ** (1 - bias - mantissa), (1 + f / 2.0**mantissa) * 2.0 ** (e - bias))
    ones = e == (1 << exponent) - 1
    return np.where(ones & (f == (1 << mantissa) - 1 if exponent == 4 else True), np.nan, sign * value)


FP8 = {Float8E4M3FN: fp8_values(4, 3), Float8E5M2: fp8_values(5, 2)}
# In ascending order, each with the least of its codes: of the zeros the positive one.
SORTED = {dtype: np.unique(np.where(np.isnan(x), np.inf, x), return_index=True) for dtype, x in FP8.items()}


def encoded(values, dtype):
    """Numbers that the type holds exactly, as they lie in memory."""
    if dtype in FP8:
        numbers, codes = SORTED[dtype]
        place = np.searchsorted(numbers, values)
        assert (numbers[place] == values).all()
        return codes[place].astype(np.uint8)
    if dtype is BFloat16:
        return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.asarray(values).astype(STORED[dtype])


def decoded(memory, dtype):
    if dtype in FP8:
        return FP8[dtype][memory]
    if dtype is BFloat16:
        return (memory.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return memory.astype(np.float64)


# ---- three kernels ----


def array(values):
    return np.ascontiguousarray(np.stack(values) if isinstance(values, list) else values, dtype=np.int32)


def grid(*extents):
    return np.meshgrid(*map(np.arange, extents), indexing="ij")


def rows_loads(threads, rows, k, width, place, **options):
    """Threads take accesses along k, in row-major order; place(row, k) is the offset in shared memory."""
    access = np.arange(rows * k // width).reshape(-1, threads).T
    row, first = access // (k // width), access % (k // width) * width
    return LoadTable(
        array(np.stack([row, first], -1)),
        array(place(row[..., None], first[..., None] + np.arange(width))),
        1,
        **options,
    )


def direct_store(c_coord, mode=1):
    threads, values = len(c_coord), int(np.prod(c_coord.shape[1:-1]))
    value = np.broadcast_to(np.arange(values)[None, :, None], (threads, values, 1))
    return StoreTable(array(c_coord.reshape(threads, values, 2)), mode, value=array(value))


def simt(stages=3, **options):
    """A tile (32,16,8), 32 threads of 4 x 4 FMAs as in an SGEMM: rows t div 4 + 8 i, columns t mod 4 + 4 j."""
    t, i, j = grid(32, 4, 4)
    c_coord = array(np.stack([t // 4 + 8 * i, t % 4 + 4 * j], -1)[:, :, :, None])
    thread = array(np.stack([0 * np.arange(32), np.arange(32) // 4, np.arange(32) % 4, 0 * np.arange(32)], -1))
    mma = MmaTable((1, 1, 1), thread, array([[0]]), c_coord, array([[0]]), array([[0]]))
    options.setdefault("kind", "registers")
    t, i, k = grid(32, 4, 8)
    a = OperandTable(
        rows_loads(32, 32, 8, 1, lambda row, k: row + 33 * k, **options),
        33 * 8,
        array((t // 4 + 8 * i + 33 * k)[..., None]),
    )
    b = OperandTable(
        rows_loads(32, 16, 8, 1, lambda row, k: row + 16 * k, **options),
        16 * 8,
        array((t % 4 + 4 * i + 16 * k)[..., None]),
    )
    return GemmTables((32, 16, 8), a, b, mma, direct_store(c_coord), Pipeline(stages, stages - 1))


def sliced():
    """A tile (8,4,12), 3 slices of 32 threads: thread t of slice s has row t div 4, column t mod 4 and k s, s + 3, ...

    Slice s puts its sums at 32 s + t in the image; thread t of slice 0 adds those of slices 1 and 2 to its own.
    """
    t, s = np.arange(96) % 32, np.arange(96) // 32
    c_coord = array(np.stack([t // 4, t % 4], -1)[:, None, None, None])
    thread = array(np.stack([0 * t, t // 4, t % 4, s], -1))
    mma = MmaTable((1, 1, 1), thread, array([[0]]), c_coord, array([[0]]), array([[0]]))
    k = s[:, None] + np.arange(0, 12, 3)
    a, b = (
        OperandTable(
            rows_loads(rows, rows, 12, 1, lambda row, k: 12 * row + k, kind="registers"),
            12 * rows,
            array((12 * of_thread[:, None] + k)[:, None, :, None]),
        )
        for rows, of_thread in ((8, t // 4), (4, t % 4))
    )
    own = np.arange(32)
    store = StoreTable(
        coord=array(np.stack([own // 4, own % 4], -1)[:, None]),
        mode=1,
        smem_write=array(np.arange(96)[:, None]),
        smem_read=array(own[:, None, None]),
        smem_added=array(own[:, None, None, None] + [32, 64]),
        image_elements=96,
        kind="shared",
    )
    return GemmTables((8, 4, 12), a, b, mma, store, Pipeline(2, 1))


def ldmatrix(addresses):
    """(matrices, 8) addresses of rows of 8 elements of 16 bits -> (32 lanes, 2 elements for each matrix)."""
    lane = np.arange(32)
    return np.concatenate([np.stack([m[lane // 4] + 2 * (lane % 4) + e for e in (0, 1)], -1) for m in addresses], -1)


def sm80(stages=3, width=8, **options):
    """A tile (32,16,32) of f16 by two warps of mma.sync 16x8x16, one above the other; rows of 64 swizzled bytes.

    The epilogue goes through an image of 32 x 8 elements in two rounds, columns 0 to 7 and 8 to 15.
    """

    def place(row, k):
        return row * 32 + (k // 8 ^ row // 2 % 4) * 8 + k % 8

    lane, value = grid(32, 8)
    g, t = lane // 4, lane % 4
    a_tv = (g + 8 * (value // 2 % 2)) + 16 * (2 * t + value % 2 + 8 * (value // 4))
    lane, value = grid(32, 4)
    g, t = lane // 4, lane % 4
    b_tv = g + 8 * (2 * t + value % 2 + 8 * (value // 2))
    c_tv = (g + 8 * (value // 2)) + 16 * (2 * t + value % 2)
    eight = np.arange(8)
    a_fragment = [  # warp, k block: matrices rows 0-7 and 8-15 at k 0, then at k 8
        [[ldmatrix([place(16 * w + 8 * (j % 2) + eight, 16 * kb + 8 * (j // 2)) for j in range(4)]) for kb in (0, 1)]]
        for w in (0, 1)
    ]
    a_fragment = np.array(a_fragment).transpose(0, 3, 1, 2, 4).reshape(64, 1, 2, 8)
    b_fragment = [  # atom along n, k block
        [ldmatrix([place(8 * n + eight, 16 * kb + 8 * j) for j in range(2)]) for kb in (0, 1)] for n in (0, 1)
    ]
    b_fragment = np.tile(np.array(b_fragment).transpose(2, 0, 1, 3), (2, 1, 1, 1))
    thread = np.arange(64)
    place_of_thread = array(np.stack([thread % 32, thread // 32, 0 * thread, 0 * thread], -1))
    t, _, n, v = grid(64, 1, 2, 4)
    c_coord = array(np.stack([16 * (t // 32) + t % 32 // 4 + 8 * (v // 2), 8 * n + 2 * (t % 4) + v % 2], -1))
    mma = MmaTable((16, 8, 16), place_of_thread, array(c_tv), c_coord, array(a_tv), array(b_tv))
    flat = c_coord.reshape(64, 8, 2)
    access, e = grid(128, 4)  # 32 rows x 2 rounds x 2 accesses of 4
    store = StoreTable(
        coord=array(
            np.stack([access[:, 0] // 2 % 32, 8 * (access[:, 0] // 64) + 4 * (access[:, 0] % 2)], -1).reshape(64, 2, 2)
        ),
        mode=1,
        smem_write=array(flat[..., 0] * 9 + flat[..., 1] % 8),
        smem_read=array((access // 2 % 32 * 9 + 4 * (access % 2) + e).reshape(64, 2, 4)),
        image_elements=32 * 9,
        round_write=array(flat[..., 1] // 8),
        round_read=array((access[:, 0] // 64).reshape(64, 2)),
        kind="shared",
    )
    options = {"kind": "cp.async", **options}
    a = OperandTable(rows_loads(64, 32, 32, width, place, **options), 32 * 32, array(a_fragment))
    b = OperandTable(rows_loads(64, 16, 32, min(width, 4), place, **options), 16 * 32, array(b_fragment))
    return GemmTables((32, 16, 32), a, b, mma, store, Pipeline(stages, stages - 1))


def tma_load(boxes, mode):
    """Boxes: (row, k) of the first element, offsets (rows of the box, inner); its rows lie along the other mode."""
    coord, smem = [], []
    for (row, k), offsets in boxes:
        for r, place in enumerate(offsets):
            coord.append((row, k + r) if mode == 0 else (row + r, k))
            smem.append(place)
    return LoadTable(array([np.array(coord)]), array([np.stack(smem)]), mode, kind="tma")


def sm90(element_bytes=2, majors="kk", span=128, n=16, stages=4):
    """A tile (64, n, 128 bytes) by one warpgroup of wgmma 64 x n x 32 bytes; TMA brings A and B and takes C."""
    bk, atom_k = 128 // element_bytes, 32 // element_bytes
    inner = span // element_bytes if span else 16 // element_bytes

    def operand(rows, major):
        boxes, matrices = [], []
        if major == "k":  # boxes of all rows and `span` bytes of k
            step = rows * inner
            boxes = [
                ((0, k), tma_offsets(inner, rows, element_bytes, span, k // inner * step * element_bytes))
                for k in range(0, bk, inner)
            ]
            for k in range(0, bk, atom_k):
                start = (k // inner * step + k % inner) * element_bytes
                descriptor = matrix_descriptor(start, step * element_bytes, 8 * inner * element_bytes, span)
                matrices.append(descriptor_offsets(descriptor, (rows, atom_k), element_bytes, "k"))
        else:  # boxes of `span` bytes of rows and all k
            step = inner * bk
            boxes = [
                ((row, 0), tma_offsets(inner, bk, element_bytes, span, row // inner * step * element_bytes))
                for row in range(0, rows, inner)
            ]
            leading, stride = step * element_bytes, 8 * inner * element_bytes
            if not span:
                leading, stride = stride, leading
            for k in range(0, bk, atom_k):
                descriptor = matrix_descriptor(k * inner * element_bytes, leading, stride, span)
                matrices.append(descriptor_offsets(descriptor, (rows, atom_k), element_bytes, "mn"))
        return OperandTable(
            tma_load(boxes, 1 if major == "k" else 0), rows * bk, matrix=array(np.stack(matrices)[None, None])
        )

    t, v = grid(128, n // 2)
    row, column = 16 * (t // 32) + t % 32 // 4 + 8 * (v // 2 % 2), 2 * (t % 4) + v % 2 + 8 * (v // 4)
    thread = np.arange(128)
    place = array(np.stack([thread, 0 * thread, 0 * thread, 0 * thread], -1))
    mma = MmaTable((64, n, atom_k), place, array(row + 64 * column), array(np.stack([row, column], -1)[:, None, None]))
    r = np.arange(64)
    store = StoreTable(
        coord=array(np.stack([r, 0 * r], -1)[None]),
        mode=1,
        smem_write=array(row * n + column),
        smem_read=array(np.arange(64 * n).reshape(1, 64, n)),
        image_elements=64 * n,
        kind="tma",
    )
    return GemmTables(
        (64, n, bk), operand(64, majors[0]), operand(n, majors[1]), mma, store, Pipeline(stages, stages - 2, 0, -1)
    )


# ---- running ----


class Gemm:
    """Tensors for a problem, filled with small whole numbers, so that all sums are exact."""

    def __init__(self, m, n, k, dtype=Float32, *, seed=0, most=4, **options):
        self.problem = p = problem_of(m, n, k, dtype, **options)
        rng = np.random.default_rng(seed)
        low = 0 if Uint8 in p[:2] else -most

        def tensor(extents, strides, kind, values=None):
            extents = (*extents, *p.batch)
            # A free stride may be anything where the extent is 1, and nothing lies behind the last element.
            reach = 1 + sum((e - 1) * s for e, s in zip(extents, strides, strict=True) if e > 1)
            memory = np.zeros(max(reach, 1) + 16, STORED[kind])
            start = -memory.ctypes.data % 16 // memory.itemsize  # aligned as a GPU's memory is
            memory = memory[start:]
            view = np.lib.stride_tricks.as_strided(memory, extents, [s * memory.itemsize for s in strides])
            view[...] = encoded(rng.integers(low, most + 1, extents) if values is None else values, kind)
            return view

        self.a = tensor((m, k), p.a_strides, p.a_type)
        self.b = tensor((n, k), p.b_strides, p.b_type)
        self.c = tensor((m, n), p.c_strides, p.c_type)
        bias = p.epilogue.bias
        self.bias = None
        if bias is not None:
            extent = m if bias == "m" else n
            self.bias = encoded(rng.integers(low, most + 1, extent * p.epilogue.bias_stride), p.epilogue.bias_type)
        self.before = decoded(self.c, p.c_type)

    def arguments(self):
        addresses = [0 if x is None else x.ctypes.data for x in (self.a, self.b, self.c, self.bias)]
        return self.problem, compute_type(self.problem), *addresses

    def sums(self):
        a, b = decoded(self.a, self.problem.a_type), decoded(self.b, self.problem.b_type)
        return np.einsum("mk...,nk...->mn...", a, b)

    def expected(self):
        e, p = self.problem.epilogue, self.problem
        x = e.alpha * self.sums() + e.beta * self.before
        if self.bias is not None:
            bias = decoded(self.bias, e.bias_type)[:: e.bias_stride]
            shape = [1] * x.ndim
            shape[0 if e.bias == "m" else 1] = len(bias)
            x = x + bias.reshape(shape)
        if e.activation == "relu":
            x = np.maximum(x, 0)
        assert e.activation in (None, "relu"), p
        return x

    def run(self, tables, threads=0):
        host.GemmProgram(tables).run(*self.arguments(), threads=threads)
        return decoded(self.c, self.problem.c_type)

    def check(self, tables, move=True):
        p = self.problem
        return GemmReport(p.m * p.n * p.batches, host.GemmProgram(tables).check(*self.arguments(), move=move))

    def assert_computes(self, tables):
        """Both ways give the right result, the same bits, and nothing is wrong."""
        results = []
        for function in (self.run, self.check):
            self.c[...] = encoded(self.before, self.problem.c_type)
            report = function(tables)
            results.append(self.c.copy())
            np.testing.assert_array_equal(decoded(self.c, self.problem.c_type), self.expected())
        assert report, report
        assert (results[0] == results[1]).all()
