"""Copies between tensors on the CPU: NumPy says what they give, byte for byte; and what is refused, word for word."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from copy_plans import instantiations
from cpu_device import OnDevice
from tilewright import Float16, Float32, Int4, Int8, LayoutError, cute, kernels
from tilewright.cute.nvgpu import CopyUniversalOp, cpasync
from tilewright.cute.runtime import from_dlpack
from tilewright.devices import DEVICES

torch = pytest.importorskip("torch")

L = cute.parse
POISON = 0xA5
LARGE = 20_000  # elements
DTYPES = ["i1", "u1", "i2", "f2", "i4", "f4", "i8", "f8", "c8", "c16"]
RANDOM = np.random.default_rng(0)


# ---- any two layouts ----


def extents_of(rank):
    """Extents of so many modes: few elements where there are many modes, long rows now and then where there are few."""
    small = st.sampled_from((1, 2, 3, 4, 5, 8)) if rank < 7 else st.sampled_from((1, 2, 3))
    usual = st.integers(1, (200, 40, 14, 7, 5, 4, 3, 2)[rank - 1])
    if rank > 2:
        return st.tuples(*[st.one_of(usual, usual, small)] * rank)
    longer = st.sampled_from((0, 64, 128, 700, 1024))
    return st.tuples(*[st.one_of(usual, usual, small, longer)] * rank).filter(lambda shape: math.prod(shape) <= LARGE)


SHAPES = st.integers(1, 8).flatmap(extents_of)


class Memory:
    """Bytes that begin at a multiple of 64, and an array that lies somewhere in them."""

    def __init__(self, bytes_, shape, dtype, strides, offset):
        raw = np.empty(bytes_ + 64, np.uint8)
        first = -raw.ctypes.data % 64
        self.bytes = raw[first : first + bytes_]
        self.array = np.ndarray(shape, dtype, buffer=self.bytes, offset=offset, strides=strides)


@st.composite
def memories(draw, shape, dtype, source):
    """An array of this shape: modes in any order in memory, with steps, backwards, with gaps, at any element."""
    size = np.dtype(dtype).itemsize
    strides, reached, first = [0] * len(shape), 1, draw(st.sampled_from((0, 0, 1, 2, 3, 4, 7, 8)))
    plain = draw(st.booleans())
    for mode in draw(st.permutations(range(len(shape)))):
        step = 1 if plain else draw(st.sampled_from((1, 1, 1, 2, 3, 4, -1, -2)))
        strides[mode] = reached * step
        if step < 0:
            first += (shape[mode] - 1) * reached * -step if shape[mode] else 0
        reached *= max(shape[mode], 1) * abs(step)
        reached += 0 if plain else draw(st.sampled_from((0, 0, 0, 1, 3, 8)))
        if source and draw(st.integers(0, 9)) == 0:
            strides[mode] = 0
    return Memory((first + reached + 8) * size, shape, dtype, tuple(d * size for d in strides), first * size)


@st.composite
def copies(draw, shapes=SHAPES):
    """(source, destination): random bits, and poison."""
    shape, dtype = draw(shapes), draw(st.sampled_from(DTYPES))
    src, dst = draw(memories(shape, dtype, True)), draw(memories(shape, dtype, False))
    src.bytes[...] = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 256, len(src.bytes), np.uint8)
    dst.bytes[...] = POISON
    return src, dst


def after(copy, dst):
    """The bytes of the destination when NumPy has copied: those of its elements and all around them."""
    before = dst.bytes.copy()
    copy()
    expected = dst.bytes.copy()
    dst.bytes[...] = before
    return expected


def bits(array):
    """Elements as unsigned integers, of which NumPy moves any pattern as it is."""
    return array.view({1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "V16"}[array.itemsize])


def assign(dst, src):
    bits(dst)[...] = bits(src)


def copies_as_numpy(src, dst):
    """tiled_copy does what NumPy does, and its plan is found to be sound."""
    original = src.bytes.copy()
    expected = after(lambda: assign(dst.array, src.array), dst)
    assert kernels.tiled_copy(src.array, dst.array) is dst.array
    np.testing.assert_array_equal(dst.bytes, expected)
    np.testing.assert_array_equal(src.bytes, original)
    if src.array.size:
        dst.bytes[...] = POISON
        report = kernels.tiled_copy.plan(src.array, dst.array).run(src.array, dst.array, check=True)
        assert report, report
        np.testing.assert_array_equal(dst.bytes, expected)


@given(copies())
def test_any_two_layouts(copy):
    copies_as_numpy(*copy)


@given(st.data())
def test_any_permutation(data):
    dst_shape = data.draw(SHAPES)
    dims = data.draw(st.permutations(range(len(dst_shape))))
    shape = tuple(dst_shape[dims.index(i)] for i in range(len(dims)))
    dtype = data.draw(st.sampled_from(DTYPES))
    src, dst = data.draw(memories(shape, dtype, True)), data.draw(memories(dst_shape, dtype, False))
    src.bytes[...] = RANDOM.integers(0, 256, len(src.bytes), np.uint8)
    dst.bytes[...] = POISON
    expected = after(lambda: assign(dst.array, src.array.transpose(dims)), dst)
    signs = [i - len(dims) if data.draw(st.booleans()) else i for i in dims]  # as torch counts
    assert kernels.permute(src.array, signs, dst.array) is dst.array
    np.testing.assert_array_equal(dst.bytes, expected)
    made = kernels.permute(src.array, tuple(dims))
    assert (made.shape, made.dtype, made.flags.c_contiguous) == (dst_shape, np.dtype(dtype), True)
    np.testing.assert_array_equal(bits(made), bits(src.array.transpose(dims)))


@given(copies(st.integers(2, 8).flatmap(extents_of)))
def test_any_transpose(copy):
    src, dst = copy
    view = dst.array.swapaxes(-1, -2)
    expected = after(lambda: assign(dst.array, src.array), dst)
    assert kernels.transpose(src.array, view) is view
    np.testing.assert_array_equal(dst.bytes, expected)
    made = kernels.transpose(src.array)
    assert made.flags.c_contiguous
    np.testing.assert_array_equal(bits(made), bits(src.array.swapaxes(-1, -2)))


@st.composite
def matrices(draw, shape, dtype, order, steps):
    """An array whose modes lie in memory in this order, with steps, at any pitch and address."""
    size, first = np.dtype(dtype).itemsize, draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4, 7, 8, 16, 31)))
    strides, reached = [0] * len(shape), 1
    for mode, step in zip(order, steps, strict=False):
        strides[mode] = reached * step
        reached *= shape[mode] * step
        reached += draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4, 7, 8, 16)))
    for mode in order[len(steps) :]:
        strides[mode] = 0
    return Memory((first + reached + 32) * size, shape, dtype, tuple(d * size for d in strides), first * size)


@st.composite
def copies_of_rows(draw):
    """Long rows on either side, transposed or not, at any pitch: what is realigned, taken in steps and staged."""
    extent = st.one_of(st.integers(1, 40), st.sampled_from((63, 64, 65, 100, 127, 128, 160, 257, 320)))
    shape = draw(st.one_of(st.tuples(extent, extent), st.tuples(extent, st.integers(1, 5), extent)))
    shape = draw(st.permutations(shape))
    if math.prod(shape) > LARGE:
        shape = [min(n, 100) for n in shape]
    dtype = draw(st.sampled_from(DTYPES))
    modes = range(len(shape))
    step = draw(st.sampled_from((1, 1, 1, 1, 2, 4, 8)))
    steps = [step] + [1] * (len(shape) - 1 - draw(st.sampled_from((0, 0, 0, 1))))
    src = draw(matrices(shape, dtype, draw(st.permutations(modes)), steps))
    dst = draw(matrices(shape, dtype, draw(st.permutations(modes)), [1] * len(shape)))
    src.bytes[...] = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 256, len(src.bytes), np.uint8)
    dst.bytes[...] = POISON
    return src, dst


@given(copies_of_rows())
def test_rows_at_any_address(copy):
    copies_as_numpy(*copy)


# ---- element types of torch ----

TORCH = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu),
]


def random_tensor(shape, dtype):
    count = math.prod(shape)
    raw = torch.randint(0, 2 if dtype is torch.bool else 256, (count * dtype.itemsize,), dtype=torch.uint8)
    return raw.view(dtype).reshape(shape)


def same_bits(a, b):
    return torch.equal(a.contiguous().reshape(-1).view(torch.uint8), b.contiguous().reshape(-1).view(torch.uint8))


@pytest.mark.parametrize("dtype", TORCH, ids=str)
def test_torch(dtype):
    x = random_tensor((5, 33, 70), dtype)
    dst = torch.empty_like(x)
    assert kernels.tiled_copy(x, dst) is dst
    assert same_bits(dst, x)
    made = kernels.permute(x, (2, 0, 1))
    assert (made.dtype, made.shape, made.is_contiguous()) == (dtype, (70, 5, 33), True)
    assert same_bits(made, x.permute(2, 0, 1))
    assert same_bits(kernels.transpose(x), x.transpose(1, 2))
    assert same_bits(kernels.transpose(x[:, ::3, 1::2]), x[:, ::3, 1::2].transpose(1, 2))
    row = torch.empty_like(x)
    kernels.tiled_copy(x[0, :1].expand(5, 33, 70), row)
    assert same_bits(row, x[0, :1].expand(5, 33, 70))


def test_tensors_of_the_library():
    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    b = np.zeros((4, 3), np.int32)
    src, dst = from_dlpack(a), from_dlpack(b)
    assert kernels.tiled_copy(src, cute.make_tensor(dst.iterator, L("(3,4):(1,3)"))) is not dst
    np.testing.assert_array_equal(b, a.T)
    nested = cute.make_tensor(dst.iterator, L("((3,2),2):((1,3),6)"))  # a profile is no part of a shape
    kernels.tiled_copy(cute.make_tensor(src.iterator, L("((3,2),2):((1,3),6)")), nested)
    np.testing.assert_array_equal(b.ravel(), a.ravel())


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0, 4), (0, 0)])
def test_nothing_to_copy(shape):
    src, dst = np.zeros(shape), np.zeros(shape)
    assert kernels.tiled_copy(src, dst) is dst
    assert kernels.permute(src, range(len(shape))[::-1]).shape == shape[::-1]
    with pytest.raises(ValueError, match="has no elements, so there is nothing to plan"):
        kernels.tiled_copy.plan(src, dst)
    plan = kernels.tiled_copy.plan(np.zeros((2,) * len(shape)), np.zeros((2,) * len(shape)))
    assert plan.run(src, dst) is dst
    assert plan.run(src, dst, check=True)
    assert plan.run(src, dst, check=True).size == 0


def test_scalars():
    src, dst = np.array(2.5), np.array(0.0)
    kernels.tiled_copy(src, dst)
    assert dst == 2.5
    assert kernels.permute(src, ()) == 2.5
    kernels.tiled_copy(np.full((1, 1, 1), 3.5), dst.reshape(1, 1, 1))
    assert dst == 3.5


# ---- a given TiledCopy ----


def universal(dtype, bits=None):
    return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)


def cp_async(dtype, bits):
    return cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=bits)


@st.composite
def given_copies(draw):
    """(TiledCopy, its NumPy type, elements at once along which mode)"""
    dtype, code = draw(st.sampled_from(((Int8, "i1"), (Float16, "f2"), (Float32, "f4"))))
    mode, vector = draw(st.integers(0, 1)), draw(st.sampled_from((1, 2, 4)))
    is_async = vector * dtype.bits >= 32 and draw(st.booleans())
    values = [draw(st.integers(1, 3)), draw(st.integers(1, 3))]
    values[mode] *= vector
    order = (0, 1) if mode == 0 else (1, 0)
    atom = (cp_async if is_async else universal)(dtype, vector * dtype.bits)
    threads = (draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    threads = cute.make_ordered_layout(threads, draw(st.sampled_from(((0, 1), (1, 0)))))
    tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_ordered_layout(tuple(values), order))
    return tiled, code, mode, vector


@given(given_copies(), st.data())
def test_a_given_tiled_copy(given_copy, data):
    tiled, code, mode, vector = given_copy
    shape = data.draw(
        st.tuples(st.integers(1, 40), st.integers(1, 40), *[st.integers(1, 3)] * data.draw(st.integers(0, 1)))
    )
    order = (mode, *(i for i in range(len(shape)) if i != mode))
    sides = []
    for _ in range(2):
        strides, reached = [0] * len(shape), 1
        for i in order:
            strides[i], reached = reached, reached * (shape[i] + data.draw(st.sampled_from((0, 3))))
            reached = -(-reached // vector) * vector
        size = np.dtype(code).itemsize
        sides.append(
            Memory((reached + 8 * vector) * size, shape, code, tuple(d * size for d in strides), 4 * vector * size)
        )
    src, dst = sides
    src.bytes[...] = RANDOM.integers(0, 256, len(src.bytes), np.uint8)
    dst.bytes[...] = POISON
    expected = after(lambda: assign(dst.array, src.array), dst)
    assert kernels.tiled_copy(src.array, dst.array, tiled) is dst.array
    np.testing.assert_array_equal(dst.bytes, expected)
    plan = kernels.tiled_copy.plan(src.array, dst.array, tiled)
    assert plan.run(src.array, dst.array, check=True)
    assert plan.tiled_copy is tiled
    is_async = "cp.async" in tiled.op.instruction
    assert (plan.kernel, plan.is_async) == (("staged", True) if is_async else ("direct", False))
    assert plan.load_vector == plan.store_vector == vector
    size = math.prod(cute.size(x) for x in tiled.tiler_mn)
    assert (cute.size(plan.load_tv), math.prod(plan.tile)) == (size, size)


def test_a_strided_tiler():
    """Tiles of every other row, and of pairs of columns that lie apart: threads take what is left of the block."""
    atom = universal(Float32, 32)
    tiler = (L("(8):(2)"), L("(2,2):(1,4)"))
    tiled = cute.make_tiled_copy(atom, L("(8,4):(1,8)"), tiler)
    src, dst = RANDOM.random((37, 29), np.float32), np.zeros((37, 29), np.float32)
    plan = kernels.tiled_copy.plan(src, dst, tiled)
    assert (plan.tile, cute.size(plan.load_tv)) == ((16, 8), 128)
    assert plan.run(src, dst, check=True)
    dst[...] = 0
    kernels.tiled_copy(src, dst, tiled)
    np.testing.assert_array_equal(dst, src)


def test_values_of_one_access_in_another_order():
    atom = universal(Float32, 128)
    tiled = cute.make_tiled_copy_tv(atom, L("(8,4):(4,1)"), L("(2,4):(4,1)"))
    src, dst = (np.zeros((16, 32), np.float32) for _ in range(2))
    src[...] = RANDOM.random(src.shape)
    kernels.tiled_copy(src, dst, tiled)
    np.testing.assert_array_equal(dst, src)


# ---- more than 2^31 elements ----


def test_more_than_2_to_the_31_elements():
    """Of the source there is one row, which has a stride of 0."""
    row = RANDOM.integers(0, 256, 65536, np.uint8)
    src = np.broadcast_to(row, (32769, 65536))
    dst = np.empty(src.shape, np.uint8)
    kernels.tiled_copy(src, dst)
    assert (dst[::97] == row).all()
    for i in (0, 1, 16383, 32767, 32768):
        np.testing.assert_array_equal(dst[i], row)


# ---- tensors in one memory ----


@given(st.data())
def test_what_shares_memory_is_refused(data):
    """Any two views of one array: refused where an element of one is a part of one of the other, else copied."""
    memory = np.zeros(200, np.int16)
    shape = data.draw(st.tuples(*[st.integers(1, 5)] * data.draw(st.integers(1, 3))))
    views = []
    for _ in range(2):
        strides = [data.draw(st.sampled_from((1, 2, 3, 4, 5, 8, 10, -1, -2, 16))) for _ in shape]
        ends = [(n - 1) * d for n, d in zip(shape, strides, strict=True)]
        least, most = sum(min(x, 0) for x in ends), sum(max(x, 0) for x in ends)
        first = data.draw(st.integers(-least, min(199 - most, 40 - least)))
        views.append(np.ndarray(shape, np.int16, memory, 2 * first, [2 * d for d in strides]))
    src, dst = views
    places = [
        np.ndarray(shape, np.int16, np.arange(200, dtype=np.int16), x.ctypes.data - memory.ctypes.data, x.strides)
        for x in views
    ]
    read, written = places
    twice = len(np.unique(written)) < written.size
    shared = np.intersect1d(read, written).size > 0
    memory[...] = np.arange(200)
    if not twice and not shared:
        kernels.tiled_copy(src, dst)
        np.testing.assert_array_equal(dst, src)
        return
    with pytest.raises(LayoutError) as caught:
        kernels.tiled_copy(src, dst)
    assert (memory == np.arange(200)).all()
    message = str(caught.value)
    if twice:
        found = re.search(r"maps the coordinates \((.*?)\) and \((.*?)\) to one element", message)
        one, other = (tuple(map(int, crd.split(","))) for crd in found.groups())
        assert one != other
        assert written[one] == written[other]
        return
    found = re.search(r"src = \S+ at coordinate \((.*?)\) and dst = \S+ at coordinate \((.*?)\) share memory", message)
    here, there = (tuple(map(int, crd.split(","))) for crd in found.groups())
    assert read[here] == written[there]


def test_views_that_interleave():
    x = np.arange(48, dtype=np.int32).reshape(6, 8)
    for src, dst in ((x[:, ::2], x[:, 1::2]), (x[:3], x[3:]), (x[::2], x[1::2]), (x[:, :4], x[:, 4:])):
        kernels.tiled_copy(src, dst)
        np.testing.assert_array_equal(dst, src)
    large = np.zeros((3000, 3000), np.int8)  # too many elements to compare
    large[:, 0::2] = 7
    kernels.tiled_copy(large[:, 0::2], large[:, 1::2])
    assert (large == 7).all()


# ---- what is refused ----

line = np.arange(16, dtype=np.float32)
large = np.zeros(5_000_000, np.float32)


def zeros(*shape, dtype="f4"):
    return Memory(math.prod(shape) * 16 + 64, shape, dtype, None, 0).array


def misaligned(count):
    return Memory(4 * count + 64, count, "f4", None, 1).array


def read_only(array):
    array.flags.writeable = False
    return array


def strided(shape, strides):
    return np.lib.stride_tricks.as_strided(np.zeros(10**5, np.float32), shape, [4 * d for d in strides])


def broadcast(count):
    return strided((3, count), (0, 1))


def on_device(array, device):
    return OnDevice(from_dlpack(array), device)


def swizzled():
    tensor = from_dlpack(zeros(16))
    return cute.make_tensor(tensor.iterator, cute.make_composed_layout(cute.make_swizzle(1, 0, 2), 0, L("(4,4):(4,1)")))


def turned():
    return zeros(*[2] * 9).transpose(range(9)[::-1])


def tiled(dtype, bits=None):
    values = (1, (bits or dtype.bits) // dtype.bits)
    return cute.make_tiled_copy_tv(universal(dtype, bits), L("(2,2):(2,1)"), cute.make_layout(values))


def many_threads():
    return cute.make_tiled_copy_tv(universal(Float32), L("(64,32):(32,1)"), L("(1,1):(1,1)"))


def packed(dtype, count):
    return cute.make_rmem_tensor((count,), dtype)


def gaps():
    return cute.make_tiled_copy(universal(Float32), L("(4,1):(1,1)"), (L("(2,2):(1,3)"),))


def scattered():
    return cute.make_tiled_copy(universal(Float32, 64), L("(4,2):(1,4)"), (2, 4))


def between():
    return cute.make_tiled_copy(universal(Float32, 64), L("(3,2):(1,1)"), (4,))


def plan(kind="contiguous"):
    if kind == "cp.async":
        return dict(instantiations())["cp.async, 128 bits"]
    if kind == "transpose":
        return kernels.tiled_copy.plan(zeros(64, 64), zeros(64, 64).T)
    return kernels.tiled_copy.plan(zeros(16), zeros(16))


def rows():
    return kernels.tiled_copy.plan(zeros(16, 20)[:, :16], zeros(16, 24)[:, :16])


ERRORS = Path(__file__).with_name("copy_errors.txt")
LINES = ERRORS.read_text().splitlines()
CASES = list(zip(LINES[::2], LINES[1::2], strict=True))
NAMES = {**globals(), "Int4": Int4, "DEVICES": DEVICES}


@pytest.mark.parametrize(("call", "expected"), CASES, ids=[call for call, _ in CASES])
def test_text_of_errors(call, expected, monkeypatch):
    monkeypatch.setattr(tw._core.cuda, "driver_path", lambda: None)
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        eval(call, NAMES)
    text = re.sub(r"0x[0-9a-f]+", "0x..", str(caught.value))
    assert f"    {type(caught.value).__name__}: {text}" == expected


# ---- memory ----


def test_a_layout_beyond_the_owners_memory_is_refused():
    memory = from_dlpack(np.zeros(4, np.float32))
    beyond = cute.make_tensor(memory.iterator, cute.make_layout(1 << 22))
    with pytest.raises(cute.LayoutError, match=r"src: 4194304:1 reaches from .*, beyond the owner's memory"):
        kernels.tiled_copy(beyond, np.zeros(1 << 22, np.float32))
    with pytest.raises(cute.LayoutError, match=r"dst: 4194304:1 reaches from .*, beyond the owner's memory"):
        kernels.tiled_copy(np.zeros(1 << 22, np.float32), beyond)


class Sole:
    """Exports arrays that nobody else holds."""

    def __dlpack__(self, **options):
        return np.arange(1 << 16, dtype=np.float32).__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0


def test_memory_that_only_the_capsule_holds_lives_as_long_as_the_copy():
    expected = np.arange(1 << 16, dtype=np.float32)
    dst = np.zeros(1 << 16, np.float32)
    kernels.tiled_copy(Sole(), dst)
    np.testing.assert_array_equal(dst, expected)
    bound = kernels.tiled_copy.plan(Sole(), dst).bind(Sole(), dst)
    dst[...] = 0
    noise = [np.full(1 << 16, i, np.float32) for i in range(8)]  # takes what was freed
    bound()
    np.testing.assert_array_equal(dst, expected)
    del noise


@pytest.mark.parametrize("halves", [lambda x: (x[:, :2048], x[:, 2048:]), lambda x: (x[1::2], x[::2])])
def test_disjoint_parts_of_a_large_array(halves):
    x = np.arange(4096 * 4096, dtype=np.float32).reshape(4096, 4096)
    src, dst = halves(x)
    expected = src.copy()
    kernels.tiled_copy(src, dst)
    np.testing.assert_array_equal(dst, expected)


def test_what_is_no_argument():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(TypeError, match=r"^kernels\.transpose: src: expected an array .* but got list$"):
        kernels.transpose([[1, 2]])
    with pytest.raises(
        TypeError, match=r"^kernels\.permute: expected dims to be integers, one for each mode, but got int 1$"
    ):
        kernels.permute(x, 1)
    with pytest.raises(TypeError, match=r"^kernels\.tiled_copy: expected plan to be a CopyPlan, but got int$"):
        kernels.tiled_copy(x, x.copy(), plan=5)
    with pytest.raises(TypeError, match=r"^kernels\.tiled_copy: expected stream to be the number of a CUDA stream"):
        kernels.tiled_copy(x, x.copy(), stream="a")
    with pytest.raises(TypeError, match=r"src: a masked array has elements that do not count"):
        kernels.tiled_copy(np.ma.masked_array(x, mask=x > 0), x.copy())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_complex_elements_that_begin_at_half_of_their_size(order):
    memory = np.random.default_rng(5).integers(0, 255, 16 * 61 * 47 + 8, dtype=np.uint8)
    start = 8 - memory.ctypes.data % 16
    src = memory[start % 16 : start % 16 + 16 * 60 * 47].view(np.complex128).reshape(60, 47).transpose(order)
    assert src.ctypes.data % 16 == 8
    dst = np.zeros(src.shape, np.complex128)
    kernels.tiled_copy(src, dst)
    assert dst.tobytes() == np.ascontiguousarray(src).tobytes()
    plan = kernels.tiled_copy.plan(src, dst)
    assert plan.run(src, dst, check=True)
