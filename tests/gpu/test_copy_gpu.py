"""Copies on a GPU against torch's, bit for bit: any two layouts, streams, graphs, repeated launches, errors."""

from __future__ import annotations

import ctypes
import pickle
from importlib import import_module

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core, cute, kernels
from tilewright.cute.nvgpu import CopyUniversalOp, cpasync

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

from copies import DEVICE, DTYPES, Case, Side, assert_copied, assert_equal, bits, compact, noise, on_cpu, random_case  # noqa: E402

sanitized = pytest.mark.sanitized
L = cute.parse
CASES = [random_case(number) for number in range(150)]
SMALL = 40  # of them, under compute-sanitizer
SLOW = 100_000_000  # cycles: 50 ms or more


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def case_of(dtype, shape, src=None, dst=None):
    return Case(dtype, shape, src or compact(shape), dst or compact(shape)).tensors()


def pair(shape=(64, 96), dtype=torch.float32):
    src = noise(dtype, shape[0] * shape[1]).view(shape)
    return src, bits(src).bitwise_not().view(dtype)


# ---- any two layouts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(n, marks=sanitized) if n < SMALL else n for n in range(len(CASES))])
def test_any_two_layouts(number):
    assert_copied(kernels.tiled_copy, *CASES[number].tensors())


@pytest.mark.parametrize("number", range(0, len(CASES), 4))
def test_the_cpu_runs_the_same_plan(number):
    """Pickled, on copies of the same memory; torch is the third opinion."""
    src, dst, memory = CASES[number].tensors()
    plan = kernels.tiled_copy.plan(src, dst)
    here = on_cpu(dst)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    again.run(on_cpu(src), here)
    assert_copied(plan.run, src, dst, memory)
    assert_equal(dst.cpu(), here.contiguous())


@sanitized
@pytest.mark.parametrize("dtype", DTYPES)
def test_element_types(dtype):
    for shape, src, dst in (
        ((1,), None, None),
        ((10_007,), None, None),
        ((10_007,), compact((10_007,), offset=1), compact((10_007,), offset=3)),
        ((67, 131), compact((67, 131), 1, 0), None),
        ((64, 128), compact((64, 128), 1, 0), None),
        ((64, 128), None, Side((129, 1), 2, 64 * 129 + 2)),
    ):
        assert_copied(kernels.tiled_copy, *case_of(dtype, shape, src, dst))


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(8191, 8193), (8192, 8192), (3, 1_000_003), (1_000_003, 3)])
def test_large_matrices(dtype, shape):
    assert_copied(kernels.tiled_copy, *case_of(dtype, shape))
    src, dst, memory = case_of(dtype, shape, dst=compact(shape, 1, 0))
    assert_copied(lambda src, dst: kernels.transpose(src, dst.t()), src, dst, memory)


@sanitized
@pytest.mark.parametrize("src_offset", range(0, 16, 3))
@pytest.mark.parametrize("dst_offset", [0, 1, 7, 15])
def test_misaligned_slices(src_offset, dst_offset):
    """Rows that begin at any byte, in either order in memory."""
    shape = (37, 301)
    for src_order in ((0, 1), (1, 0)):
        for src_pad, dst_pad in ((0, 0), (3, 15)):
            src = compact(shape, *src_order, offset=src_offset, pad=src_pad)
            dst = compact(shape, offset=dst_offset, pad=dst_pad)
            assert_copied(kernels.tiled_copy, *case_of("uint8", shape, src, dst))


@sanitized
def test_sources_of_stride_0():
    for strides in ((0, 1), (1, 0), (0, 0)):
        for dst in (compact((63, 130)), compact((63, 130), 1, 0, offset=1)):
            src = Side(strides, 2, 200)
            assert_copied(kernels.tiled_copy, *case_of("float32", (63, 130), src, dst))
    src = noise(torch.int16, 1).view(()).expand(33, 65, 3)
    assert_equal(kernels.tiled_copy(src, torch.empty(33, 65, 3, dtype=torch.int16, device=DEVICE)), src.contiguous())


@sanitized
@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0, 3)])
def test_nothing_to_copy(shape):
    dst = torch.empty(shape, device=DEVICE)
    for _ in range(2):
        assert kernels.tiled_copy(torch.empty(shape, device=DEVICE), dst) is dst


@sanitized
def test_scalars():
    src, dst = noise(torch.int64, 1).view(()), torch.zeros((), dtype=torch.int64, device=DEVICE)
    assert kernels.tiled_copy(src, dst) is dst
    assert_equal(dst, src)


@sanitized
def test_permute_and_transpose_make_their_result():
    src = noise(torch.bfloat16, 2 * 3 * 37 * 41).view(2, 3, 37, 41)
    assert_equal(kernels.transpose(src), src.mT.contiguous())
    for dims in ((0, 2, 1, 3), (3, 2, 1, 0), (-1, 0, 2, 1), (0, 1, 2, 3)):
        result = kernels.permute(src, dims)
        assert result.is_contiguous()
        assert_equal(result, src.permute(dims).contiguous())


def test_negative_strides_of_cupy():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    generator = np.random.default_rng(0)
    for dtype in (np.uint8, np.int16, np.int32, np.int64):
        high = np.iinfo(dtype).max
        memories = [generator.integers(0, high, (40, 30, 70), dtype) for _ in range(2)]
        for cut_src, cut_dst in (
            (np.s_[::-1, ::-1, ::-1], np.s_[:, :, :]),
            (np.s_[::-1, :, ::2], np.s_[:, :, 35:]),
            (np.s_[::2, ::-1, ::-2], np.s_[19::-1, :, 1::2]),
            (np.s_[:, ::-3, ::-1], np.s_[::-1, 10:20, ::-1]),
        ):
            for order in ((0, 1, 2), (2, 1, 0)):
                src, dst = (cupy.asarray(memory) for memory in memories)
                expected = memories[1].copy()
                expected[cut_dst].transpose(order)[...] = memories[0][cut_src].transpose(order)
                kernels.tiled_copy(src[cut_src].transpose(order), dst[cut_dst].transpose(order))
                np.testing.assert_array_equal(dst.get(), expected)


def test_cupy_makes_a_transpose():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    array = np.random.default_rng(0).random((33, 65))
    result = kernels.transpose(cupy.asarray(array))
    np.testing.assert_array_equal(result.get(), array.T)


# ---- more than 2^31 elements -----------------------------------------------------------------------------------------


def needs_memory(gigabytes):
    free = torch.cuda.mem_get_info()[0] >> 30
    if free < gigabytes:
        pytest.skip(f"{gigabytes} GiB of device memory are needed, {free} are free")


def assert_copied_in_slices(copy, src, dst, length):
    """As assert_copied; torch compares a slice of the first mode at a time."""
    slices = [slice(i, i + length) for i in range(0, len(src), length)]
    for part in slices:
        dst[part].copy_(~src[part])
    copy(src, dst)
    for part in slices:
        assert bool((dst[part] == src[part]).all()), f"something in [{part.start}, {part.stop}) is wrong"


def test_contiguous_beyond_2_31():
    needs_memory(12)
    count = 2**31 + 12345
    src, dst = noise(torch.int8, count), torch.empty(count, dtype=torch.int8, device=DEVICE)
    assert_copied_in_slices(kernels.tiled_copy, src, dst, 1 << 28)
    assert_copied_in_slices(kernels.tiled_copy, src[:-1], dst[1:], 1 << 28)


def test_transpose_beyond_2_31():
    needs_memory(12)
    rows, columns = 46341, 46345
    src = noise(torch.int8, rows * columns).view(rows, columns)
    dst = torch.empty(columns, rows, dtype=torch.int8, device=DEVICE)
    assert_copied_in_slices(lambda src, dst: kernels.transpose(src, dst.t()), src, dst.t(), 4096)


def test_offsets_beyond_2_31():
    """Few elements, far from each other."""
    needs_memory(24)
    src, dst = (torch.empty(2**31 + 5000, dtype=torch.int32, device=DEVICE) for _ in range(2))
    for shape, strides in (((3, 1000), (2**30 + 8, 1)), ((1000, 3), (1, 2**30 + 7)), ((3, 5), (2**30 + 1, 999))):
        a, b = src.as_strided(shape, strides), dst.as_strided(shape, strides)
        packed = noise(torch.int32, shape[0] * shape[1]).view(shape)
        kernels.tiled_copy(packed, a)
        kernels.tiled_copy(a, b)
        assert_equal(kernels.tiled_copy(b, torch.empty_like(packed)), packed)


# ---- given TiledCopys ------------------------------------------------------------------------------------------------


def tiled(dtype, op=None, bits=None, threads="(8,16):(16,1)", values="(4,4):(4,1)"):
    atom = cute.make_copy_atom(op or CopyUniversalOp(), dtype, num_bits_per_copy=bits)
    return cute.make_tiled_copy_tv(atom, L(threads), L(values))


CACHED = cpasync.LoadCacheMode.ALWAYS
GIVEN = {
    "128 bits": (tiled(tw.Float32, None, 128), "float32", (129, 252), None, None),
    "64 bits": (tiled(tw.BFloat16, None, 64), "bfloat16", (64, 256), compact((64, 256), pad=4), None),
    "one element": (tiled(tw.Float32, None, 32), "float32", (67, 131), compact((67, 131), 1, 0), None),
    "bytes, odd": (
        tiled(tw.Int8, None, 8), "int8", (67, 131), compact((67, 131), offset=3), compact((67, 131), 1, 0)
    ),
    "columns": (
        tiled(tw.Float32, None, 128, "(16,8):(1,16)", "(4,2):(1,4)"), "float32", (132, 37), compact((132, 37), 1, 0),
        compact((132, 37), 1, 0),
    ),
    "broadcast": (tiled(tw.Float32, None, 32), "float32", (40, 70), Side((0, 1), 0, 70), None),
    "three modes": (
        tiled(tw.Float32, None, 128), "float32", (33, 68, 5), Side((68, 1, 2244), 0, 11220),
        Side((68, 1, 2244), 0, 11220),
    ),
    "strided tiler": (
        cute.make_tiled_copy(
            cute.make_copy_atom(CopyUniversalOp(), tw.Int16), L("((4,8),(2,4)):((64,1),(32,8))"),
            (L("32:2"), L("8:1")),
        ),
        "int16", (130, 50), compact((130, 50), 1, 0), None,
    ),
    **{
        f"cp.async, {bits} bits, {mode.value}": (
            tiled(tw.Float32, cpasync.CopyG2SOp(mode), bits), "float32", (129, 252), None, None
        )
        for bits, mode in ((32, CACHED), (64, CACHED), (128, CACHED), (128, cpasync.LoadCacheMode.GLOBAL))
    },
}  # fmt: skip


@sanitized
@pytest.mark.parametrize("name", GIVEN)
def test_given_tiled_copies(name):
    tiled_copy, dtype, shape, src_side, dst_side = GIVEN[name]
    src, dst, memory = case_of(dtype, shape, src_side, dst_side)
    plan = kernels.tiled_copy.plan(src, dst, tiled_copy)
    assert plan.tiled_copy == tiled_copy
    assert plan.is_async == name.startswith("cp.async")
    assert_copied(lambda src, dst: kernels.tiled_copy(src, dst, tiled_copy), src, dst, memory)
    assert_copied(lambda src, dst: kernels.tiled_copy(src, dst, plan=plan), src, dst, memory)
    here = on_cpu(dst)
    bits(here).bitwise_not_()
    plan.run(on_cpu(src), here)
    assert_equal(here.contiguous(), dst.cpu().contiguous())


# ---- launches that are repeated --------------------------------------------------------------------------------------


@pytest.fixture
def planned(monkeypatch):
    """A list with an entry for each launch that went through Python."""
    module = import_module("tilewright.kernels.copy.planned")
    seen = []
    original = module.launch

    def launch_and_note(plan, *rest):
        seen.append(plan)
        return original(plan, *rest)

    monkeypatch.setattr(module, "launch", launch_and_note)
    kernels.tiled_copy.clear()
    yield seen
    kernels.tiled_copy.clear()


@sanitized
def test_a_call_of_the_same_kind_is_not_planned_again(planned):
    for _ in range(3):
        for shape in ((64, 96), (96, 64)):
            src, dst = pair(shape)
            assert kernels.tiled_copy(src, dst) is dst
            assert_equal(dst, src)
    assert len(planned) == kernels.tiled_copy.entries == 2
    src, dst = pair()
    assert kernels.tiled_copy(dst=dst, src=src) is dst
    assert_equal(dst, src)
    src, dst = pair(dtype=torch.int32)
    kernels.tiled_copy(src, dst)
    assert_equal(dst, src)


@sanitized
def test_another_alignment_is_another_launch(planned):
    memory = noise(torch.uint8, 20_000)
    dst = torch.empty(9_000, dtype=torch.uint8, device=DEVICE)
    for round_ in range(2):
        for offset in (0, 1, 2, 4, 8, 16, 17):
            bits(dst).copy_(~memory[offset : offset + 9_000])
            kernels.tiled_copy(memory[offset : offset + 9_000], dst)
            assert_equal(dst, memory[offset : offset + 9_000].clone())
        assert len(planned) == 5, round_  # 16 is like 0, 17 like 1
    for offset in (1, 2):
        kernels.tiled_copy(memory[:5_000], dst[offset : offset + 5_000])
        assert_equal(dst[offset : offset + 5_000].clone(), memory[:5_000])


@sanitized
@pytest.mark.parametrize("remembered", [False, True])
def test_overlapping_tensors_are_refused(planned, remembered):
    memory = noise(torch.int32, 4096)
    if remembered:
        kernels.tiled_copy(memory[:1024], memory[1024:2048])
        kernels.tiled_copy(memory[:1024], memory[2048:3072])
        assert len(planned) == 1
    before = memory.clone()
    with pytest.raises(
        cute.LayoutError, match=r"src .* at coordinate \(1020\) and dst .* at coordinate \(0\) share memory"
    ):
        kernels.tiled_copy(memory[:1024], memory[1020:2044])
    assert_equal(memory, before)
    kernels.tiled_copy(memory[:1024:2], memory[1:1024:2])  # between each other, they share none
    assert_equal(memory[1:1024:2].clone(), before[:1024:2].clone())


@pytest.mark.parametrize("how", ["first", "remembered", "plan", "bound", "stream="])
def test_order_on_a_stream(planned, how):
    """The copy is behind slow work of the current stream, and does not wait for it."""
    src, dst = pair((1000, 700))
    late = bits(src).clone().view(src.dtype)
    if how != "first":
        kernels.tiled_copy(src, dst)
    plan = kernels.tiled_copy.plan(src, dst)
    side = torch.cuda.Stream()
    bound = plan.bind(src, dst)
    bits(src).bitwise_not_()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(SLOW)
        src.copy_(late)
        if how == "plan":
            plan.run(src, dst)
        elif how == "bound":
            bound()
        elif how != "stream=":
            kernels.tiled_copy(src, dst)
    if how == "stream=":
        kernels.tiled_copy(src, dst, stream=side.cuda_stream)
    assert not side.query(), "a copy must not wait"
    side.synchronize()
    assert_equal(dst, late)


@pytest.mark.parametrize("how", ["launcher", "permute", "plan", "bound"])
def test_graph(planned, how):
    src, dst = pair((300, 200))
    turned = dst.view(200, 300)
    plan = kernels.tiled_copy.plan(src, dst)
    calls = {
        "launcher": lambda: kernels.tiled_copy(src, dst),
        "permute": lambda: kernels.permute(src, (1, 0), turned),
        "plan": lambda: plan.run(src, dst),
        "bound": plan.bind(src, dst),
    }
    calls[how]()
    torch.cuda.synchronize()
    before = dst.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        calls[how]()
    for _ in range(2):
        bits(src).copy_(bits(noise(torch.float32, src.numel()).view(src.shape)))
        assert_equal(dst, before)
        graph.replay()
        before = (src.t().contiguous() if how == "permute" else src).view(dst.shape).clone()
        assert_equal(dst, before)


# ---- plans -----------------------------------------------------------------------------------------------------------


@sanitized
def test_plans_run_compile_and_are_bound():
    src, dst = pair((200, 300))
    plan = kernels.tiled_copy.plan(src.t(), dst.view(300, 200))
    assert plan.kernel == "staged"
    major, minor = torch.cuda.get_device_capability()
    program = plan.compile(f"sm_{major}{minor}" + "a" * (major >= 9))
    report = program.report[plan.name]
    assert report.spill_bytes == 0
    assert program.cubin[:4] == b"\x7fELF"
    assert plan.run(src.t(), dst.view(300, 200)) is not None
    assert_equal(dst.view(300, 200), src.t().contiguous())
    other = noise(torch.float32, 60_000).view(200, 300)
    bound = plan.bind(other.t(), dst.view(300, 200))
    bound()
    assert_equal(dst.view(300, 200), other.t().contiguous())
    with pytest.raises(ValueError, match="check=True runs on the CPU"):
        plan.run(src.t(), dst.view(300, 200), check=True)
    assert_equal(kernels.tiled_copy(src.t(), dst.view(300, 200), plan=plan), src.t().contiguous())


@sanitized
def test_a_plan_for_other_sizes():
    src, dst = pair((64, 128))
    plan = kernels.tiled_copy.plan(src.t(), dst.view(128, 64)).replace(predicated=True)
    for shape in ((100, 52), (4, 256), (260, 64)):
        src, dst, memory = case_of("float32", shape, compact(shape, 1, 0))
        assert_copied(plan.run, src, dst, memory)
    with pytest.raises(
        ValueError, match=r"src begins at 0x\w+, but the plan's accesses of 16 bytes need a multiple of 16"
    ):
        plan.run(noise(torch.float32, 4097)[1:].view(64, 64).t(), torch.empty(64, 64, device=DEVICE))


@sanitized
@pytest.mark.parametrize("tiles", [1, 3, 7])
def test_short_runs_of_tiles(tiles):
    """As where the source spans more memory than the device translates at once."""
    for order in ((0, 1), (1, 0)):
        src, dst, memory = case_of("float32", (1000, 130), compact((1000, 130), *order))
        plan = kernels.tiled_copy.plan(src, dst).replace(tiles_in_run=tiles, predicated=True)
        assert_copied(plan.run, src, dst, memory)


# ---- errors ----------------------------------------------------------------------------------------------------------


class ReadOnly:
    """A tensor whose DLPack capsule says that it must not be written."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        capsule = self.tensor.__dlpack__(**{**options, "max_version": (1, 0)})
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        flags = pointer(capsule, b"dltensor_versioned") + 24  # behind the version, the context and the deleter
        ctypes.c_uint64.from_address(flags).value |= 1
        return capsule


copy = kernels.tiled_copy
WIDE = tiled(tw.Float32, None, 128)
ASYNC = tiled(tw.Float32, cpasync.CopyG2SOp(), 128)
LARGE = tiled(tw.Float32, cpasync.CopyG2SOp(), 128, "(32,32):(32,1)", "(8,8):(8,1)")
BEYOND = tiled(tw.Float32, None, 256, values="(4,8):(8,1)")  # accesses of a newer architecture


def odd():
    return noise(torch.float32, 64 * 96 + 1)[1:].view(64, 96)


# What is called with two tensors of (64,96):(96,1), the error, and what it says.
REFUSED = {
    "source on the CPU": (lambda a, b: copy(a.cpu(), b), ValueError, "src lies on cpu and dst on cuda:0; both must be"),
    "destination on the CPU": (lambda a, b: copy(a, b.cpu()), ValueError, "src lies on cuda:0 and dst on cpu"),
    "dtype": (lambda a, b: copy(a, b.to(torch.int32)), TypeError, "src has elements of Float32 and dst of Int32"),
    "shape": (lambda a, b: copy(a, b[:63]), cute.LayoutError, "shapes differ: src = .* and dst = "),
    "read-only": (lambda a, b: copy(a, ReadOnly(b)), ValueError, "dst is read-only, and a copy writes it"),
    "stride 0": (
        lambda a, b: copy(a, b[:1].expand(64, 96)),
        cute.LayoutError,
        r"dst = .* maps the coordinates \(0,0\) and \(1,0\) to one",
    ),
    "same memory": (
        lambda a, b: copy(a.view(96, 64), a.view(64, 96).t()),
        cute.LayoutError,
        "src = .* and dst = .* share memory",
    ),
    "misaligned source": (lambda a, b: copy(odd(), b, WIDE), ValueError, r"src begins at 0x\w+, .* a multiple of 16"),
    "misaligned destination": (
        lambda a, b: copy(a, odd(), WIDE),
        ValueError,
        r"dst begins at 0x\w+, .* multiple of 16",
    ),
    "not contiguous": (
        lambda a, b: copy(a.view(96, 64).t(), b, WIDE),
        cute.LayoutError,
        "copies 128 bits at once, .* src has stride 64 there",
    ),
    "another type": (
        lambda a, b: copy(a, b, tiled(tw.Float16)),
        TypeError,
        "atom has values of 16 bits .* src has elements of 32 bits",
    ),
    "no TiledCopy": (lambda a, b: copy(a, b, 3), TypeError, "expected tiled_copy to be a TiledCopy, but got int"),
    "shared memory": (
        lambda a, b: copy(a, b, LARGE),
        cute.LayoutError,
        r"tile \(256,256\) takes 262144 bytes of shared memory .* has at most \d+; use a smaller tile",
    ),
    "architecture": (lambda a, b: copy(a, b, BEYOND), ValueError, "tiled_copy.*(256 bits|sm_100)"),
    "old architecture": (
        lambda a, b: copy.plan(a, b, ASYNC).compile("sm_75"),
        ValueError,
        "reads by cp.async, which needs sm_80 or later, but arch is sm_75",
    ),
    "gradients": (lambda a, b: copy(a.requires_grad_(), b), BufferError, "src"),
    "no array": (
        lambda a, b: copy(a, [1, 2]),
        TypeError,
        "dst: expected an array with __dlpack__, or a Tensor, but got",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, error, message = REFUSED[name]
    if name == "architecture" and torch.cuda.get_device_capability() >= (10, 0):
        pytest.skip("this GPU has accesses of 256 bits")
    for _ in range(2):
        with pytest.raises(error, match=message):
            call(*pair())
    src, dst = pair()  # the device is as well as before
    assert_equal(kernels.tiled_copy(src, dst), src)
