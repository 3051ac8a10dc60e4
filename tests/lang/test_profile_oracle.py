"""cute.profile beside the rules applied to addresses that plain Python enumerates, lane by lane."""

from __future__ import annotations

import linecache
import runpy

import numpy as np
import pytest

import tilewright as cutlass
from places import ROOT
from tilewright import cute
from tilewright.analysis import async_access, warp_access
from tilewright.cute.nvgpu import cpasync
from tilewright.cute.runtime import from_dlpack
from tilewright.lang.profiling.verify import predicted_of

torch = pytest.importorskip("torch")

SPACES = {"global": "gmem", "shared": "smem"}
FIELDS = ("sectors", "ideal_sectors", "lines", "wavefronts", "ideal_wavefronts", "useful_bytes")


def example(name):
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def rows_of(found, text, kind, memory):
    """The rows of requests of the lines that contain a text."""
    rows = [r for r in found.rows if r.kind == kind and r.space == SPACES[memory]]
    return [r for r in rows if text in linecache.getline(*r.place[:2])]


def require(found, text, kind, memory, width, requests):
    """`requests`: for each the addresses of its lanes, None of those that take no part."""
    rows = rows_of(found, text, kind, memory)
    made = [request for request in requests if any(x is not None for x in request)]
    assert {row.width for row in rows} == {width}
    assert sum(row.executed for row in rows) == len(made)
    lanes = sum(x is not None for request in made for x in request)
    assert sum(row.active_lanes for row in rows) == lanes
    assert sum(row.bytes for row in rows) == lanes * width
    costs = [
        warp_access(
            [x or 0 for x in request], width, memory=memory, op="load" if kind == "load" else "store",
            active=[x is not None for x in request],
        )
        for request in made
    ]  # fmt: skip
    expected = {field: sum(getattr(cost, field) for cost in costs) for field in FIELDS}
    assert {field: sum(getattr(row, field) for row in rows) for field in FIELDS} == expected


def by_warp(lane_address, threads, *steps):
    """The requests of a block: for each warp and step the addresses that `lane_address(thread, *step)` gives."""
    return [
        [lane_address(thread, *step) if thread < threads else None for thread in range(first, first + 32)]
        for first in range(0, threads, 32)
        for step in (steps or [()])
    ]


# ---- examples


def as_vectors(values, vector):
    """What a thread accesses, (k,) of each access: vectors of so many elements."""
    return [(k,) for k in range(0, values, vector)]


@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize("n", [1, 513, 4099])
def test_vector_add(n, vector):
    tensors = [from_dlpack(torch.ones(n), assumed_align=4 * vector) for _ in range(3)]
    found = cute.profile(example("vector_add")["add"], *tensors)
    whole, tail = [], []
    for block in range(-(-n // 512)):

        def place(t, k, block=block):
            return block * 512 + (4 * t + k if vector == 4 else t + 128 * k)

        whole += by_warp(lambda t, k, p=place: 4 * p(t, k) if p(t, 3) < n else None, 128, *as_vectors(4, vector))
        tail += by_warp(lambda t, k, p=place: 4 * p(t, k) if p(t, 3) >= n > p(t, k) else None, 128, *as_vectors(4, 1))
    for text, requests, width in (("c.store(a.load()", whole, 4 * vector), ("c[i] = a[i]", tail, 4)):
        if any(x is not None for request in requests for x in request):
            require(found, text, "load", "global", width, requests * 2)
            require(found, text, "store", "global", width, requests)


def test_stencil():
    m, n = 37, 50
    found = cute.profile(example("stencil")["stencil"], torch.ones(m, n), torch.zeros(m, n))
    loads, stores, around, results, sums = [], [], [], [], []
    for by in range(-(-m // 16)):
        for bx in range(-(-n // 16)):

            def source(t, step, by=by, bx=bx):
                i, j = divmod(t + 256 * step, 18)
                y, x = by * 16 + i - 1, bx * 16 + j - 1
                return 4 * (y * n + x) if i < 18 and 0 <= y < m and 0 <= x < n else None

            def is_inside(t, by=by, bx=bx):
                return by * 16 + t // 16 < m and bx * 16 + t % 16 < n

            def tile(t, di, dj, is_inside=is_inside):
                return 4 * ((t // 16 + 1 + di) * 18 + t % 16 + 1 + dj) if is_inside(t) else None

            def result(t, by=by, bx=bx, is_inside=is_inside):
                return 4 * ((by * 16 + t // 16) * n + bx * 16 + t % 16) if is_inside(t) else None

            loads += by_warp(source, 256, (0,), (1,))
            stores += by_warp(lambda t, s: 4 * (t + 256 * s) if t + 256 * s < 324 else None, 256, (0,), (1,))
            around += by_warp(tile, 256, (-1, 0), (1, 0), (0, -1), (0, 1))
            sums += by_warp(tile, 256, (0, 0))
            results += by_warp(result, 256)
    require(found, "tile[i, j] = src[y, x]", "load", "global", 4, loads)
    require(found, "tile[i, j] = src[y, x]", "store", "shared", 4, stores)
    require(found, "around = tile", "load", "shared", 4, around)
    require(found, "dst[row, column]", "load", "shared", 4, sums)
    require(found, "dst[row, column]", "store", "global", 4, results)


def test_histogram():
    src = torch.randint(0, 256, (5000,), dtype=torch.uint8)
    found = cute.profile(example("histogram")["histogram"], src, torch.zeros(256, dtype=torch.int32))
    loads, bins = [], []
    for block in range(4):
        for begin in range(block * 256, 5000, 1024):
            loads += by_warp(lambda t, b=begin: b + t if b + t < 5000 else None, 256)
            bins += by_warp(lambda t, b=begin: 4 * int(src[b + t]) if b + t < 5000 else None, 256)
    whole = by_warp(lambda t: 4 * t, 256) * 4
    require(found, "src[i]", "load", "global", 1, loads)
    require(found, "src[i]", "atomic", "shared", 4, bins)
    require(found, "bins[tidx] = ", "store", "shared", 4, whole)
    require(found, "dst.iterator + tidx", "load", "shared", 4, whole)
    require(found, "dst.iterator + tidx", "atomic", "global", 4, whole)


def test_scan():
    src = torch.ones(200, dtype=torch.int32)
    found = cute.profile(example("scan")["scan"], src, torch.zeros_like(src))
    require(found, "if tidx < n else", "load", "global", 4, by_warp(lambda t: 4 * t if t < 200 else None, 256))
    require(found, "dst[tidx] =", "store", "global", 4, by_warp(lambda t: 4 * t if t < 200 else None, 256))
    require(found, "sums[warp] =", "store", "shared", 4, by_warp(lambda t: t // 32 * 4 if t % 32 == 31 else None, 256))
    before = [[4 * i] * 32 for warp in range(8) for i in range(warp)]
    require(found, "before += sums[i]", "load", "shared", 4, before)


@pytest.mark.parametrize(("m", "n", "vector"), [(70, 301, 1), (9, 260, 4)])
def test_elementwise_apply(m, n, vector):
    tensors = [from_dlpack(torch.ones(m, n), assumed_align=4 * vector) for _ in range(3)]
    found = cute.profile(example("elementwise_apply")["apply"], lambda x, y: x + y, *tensors)
    # 4 x 32 threads; a thread's four values lie side by side, or below each other.
    rows, columns = (4, 128) if vector == 4 else (16, 32)
    whole, tail = [], []
    for by in range(-(-m // rows)):
        for bx in range(-(-n // columns)):

            def place(t, k, by=by, bx=bx):
                down, right = (0, k) if vector == 4 else (k, 0)
                y = by * rows + t // 32 * (rows // 4) + down
                x = bx * columns + t % 32 * (columns // 32) + right
                return 4 * (y * n + x) if y < m and x < n else None

            whole += by_warp(
                lambda t, k, p=place: p(t, k) if p(t, 3) is not None else None, 128, *as_vectors(4, vector)
            )
            tail += by_warp(lambda t, k, p=place: p(t, k) if p(t, 3) is None else None, 128, *as_vectors(4, 1))
    for text, requests, width in (("tC.store(op(", whole, 4 * vector), ("tC[i] = op(", tail, 4)):
        if any(x is not None for request in requests for x in request):
            require(found, text, "load", "global", width, requests * 2)
            require(found, text, "store", "global", width, requests)


# ---- what examples do not have


@cute.kernel
def eight_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i, None].store(x[i, None].load() * 2.0)


@cute.jit
def eight(x: cute.Tensor, y: cute.Tensor):
    eight_kernel(x, y).launch(block=[40, 1, 1])


@pytest.mark.parametrize(("align", "width"), [(4, 4), (8, 8), (16, 16)])
def test_a_vector_of_eight_floats_is_as_many_requests_as_its_alignment_makes(align, width):
    x, y = (torch.zeros(40, 8) for _ in range(2))
    x, y = (from_dlpack(t, assumed_align=align) for t in (x, y))
    found = cute.profile(eight, x, y)
    requests = by_warp(lambda t, k: 32 * t + width * k, 40, *((k,) for k in range(32 // width)))
    for kind in ("load", "store"):
        require(found, "y[i, None].store(", kind, "global", width, requests)


@cute.kernel
def rows_kernel(x: cute.Tensor, stride: cutlass.Constexpr, count: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((32, count), stride=(stride, 1))
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    own = cute.make_rmem_tensor(count, cutlass.Float32)
    own.fill(1.0)
    cute.autovec_copy(own, tile[i, None])  # as rows
    cute.arch.sync_threads()
    if i % 3 != 1:
        cute.autovec_copy(tile[i // 2, None], own)  # by halves
    x[i] = own[0]


@cute.jit
def rows(x: cute.Tensor, stride: cutlass.Constexpr, count: cutlass.Constexpr):
    rows_kernel(x, stride, count).launch(block=[32, 1, 1])


@pytest.mark.parametrize(("stride", "count", "width"), [(2, 2, 8), (4, 4, 16), (32, 4, 16), (36, 4, 16), (5, 4, 4)])
def test_shared_memory_of_8_and_16_bytes(stride, count, width):
    found = cute.profile(rows, torch.zeros(32), stride, count)
    pieces = [(k,) for k in range(4 * count // width)]
    stores = by_warp(lambda t, k: 4 * stride * t + width * k, 32, *pieces)
    loads = by_warp(lambda t, k: 4 * stride * (t // 2) + width * k if t % 3 != 1 else None, 32, *pieces)
    require(found, "# as rows", "store", "shared", width, stores)
    require(found, "# by halves", "load", "shared", width, loads)
    (branch,) = [row for row in found.rows if row.operation == "if"]
    assert (branch.executed, branch.divergent, branch.active_lanes) == (1, 1, 32)


@cute.kernel
def async_kernel(x: cute.Tensor, rows: cutlass.Int32, copy: cute.TiledCopy, layout: cute.Layout):
    i, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    part = copy.get_slice(i)
    source, target = part.partition_S(x), part.partition_D(tile)
    places = part.partition_S(cute.make_identity_tensor(x.shape))
    inside = cute.make_rmem_tensor((1, cute.size(target, mode=[1]), cute.size(target, mode=[2])), cutlass.Boolean)
    for k in cutlass.range_constexpr(cute.size(inside)):
        inside[k] = places[0, k % cute.size(target, mode=[1]), k // cute.size(target, mode=[1])][0] < rows
    cute.copy(copy, source, target, pred=inside)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)


@cute.jit
def asynchronous(x: cute.Tensor, rows: cutlass.Int32, cached: cutlass.Constexpr, width: cutlass.Constexpr,
                 stride: cutlass.Constexpr):  # fmt: skip
    mode = cpasync.LoadCacheMode.ALWAYS if cutlass.const_expr(cached) else cpasync.LoadCacheMode.GLOBAL
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=mode), cutlass.Float32, num_bits_per_copy=8 * width)
    values = width // 4
    threads = cute.make_layout((32 * values // 16, 16 // values), stride=(16 // values, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, values)))
    async_kernel(x, rows, copy, cute.make_layout((32, 16), stride=(stride, 1))).launch(block=[32, 1, 1])


@pytest.mark.parametrize("rows", [32, 21, 3])
@pytest.mark.parametrize("stride", [16, 20])
@pytest.mark.parametrize(("cached", "width"), [(False, 16), (True, 16), (True, 8), (True, 4)])
def test_cp_async(cached, width, stride, rows):
    x = from_dlpack(torch.zeros(32, 16), assumed_align=16)
    found = cute.profile(asynchronous, x, rows, cached, width, stride)
    values = width // 4
    across = 16 // values
    of_warp = 32 // across  # rows of a request
    costs = []
    for first in range(0, 32, of_warp):
        at = [(first + t // across, t % across * values) for t in range(32)]
        costs.append(
            async_access(
                [4 * (16 * i + j) for i, j in at], [4 * (stride * i + j) for i, j in at], width,
                cache="ca" if cached else "cg", reads=[i < rows for i, _ in at],
            )
        )  # fmt: skip
    text = "cute.copy(copy, source"
    (source,), (target,) = (rows_of(found, text, "cp.async", memory) for memory in ("global", "shared"))
    assert (source.width, target.width, target.executed) == (width, width, len(costs))
    assert source.active_lanes == sum(cost.source.lanes for cost in costs)
    assert source.sectors == sum(cost.source.sectors for cost in costs)
    assert source.ideal_sectors == sum(cost.source.ideal_sectors for cost in costs)
    assert target.wavefronts == sum(cost.destination.wavefronts for cost in costs)
    assert target.counted_wavefronts == sum(cost.counted for cost in costs)
    assert target.ideal_counted_wavefronts == sum(cost.ideal_counted for cost in costs)
    # What is compared with Nsight Compute is what it counts.
    of_source, of_target = predicted_of([source, target])
    assert (of_source.sectors, of_source.kind, of_target.memory) == (source.sectors, "cp.async", "shared")
    assert of_target.wavefronts == target.counted_wavefronts
    assert of_target.ideal_wavefronts == target.ideal_counted_wavefronts


@cute.kernel
def shifted_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = 1.0  # written
    cute.arch.sync_threads()
    if x[i + 8] == 1.0:  # read
        y[i] = 2.0  # seen


@cute.jit
def shifted(x: cute.Tensor, y: cute.Tensor):
    shifted_kernel(x, y).launch(block=[32, 1, 1])


@pytest.mark.parametrize("first", range(9))
def test_a_slice_begins_where_it_does_in_its_allocation(first):
    for whole in (np.zeros(96, np.float32), torch.zeros(96)):
        found = cute.profile(shifted, whole[first : first + 48], torch.zeros(32))
        require(found, "# read", "load", "global", 4, by_warp(lambda t: 4 * (first + t + 8), 32))


def test_arguments_that_overlap_still_do():
    for memory in (np.zeros(96, np.float32), torch.zeros(96)):
        found = cute.profile(shifted, memory[:64], memory[8:])
        (seen,) = rows_of(found, "# seen", "store", "global")
        assert seen.active_lanes == 32
        assert (memory == 0).all()  # it was counted on a copy
    other = cute.profile(shifted, torch.zeros(64), torch.zeros(64))
    assert not rows_of(other, "# seen", "store", "global")
