"""Copies by TMA in kernels: boxes, swizzles, zeros outside, reductions, multicast; and planted defects, each found."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as cutlass
from compiling import nvrtc
from tilewright import cute
from tilewright.cute.nvgpu import cpasync
from tilewright.lang.cpu import KernelError
from tma_kernels import (
    ALONE,
    LAYOUTS,
    aligned,
    dynamic,
    multicast_kernel,
    numbers,
    padded,
    run_load,
    run_multicast,
    run_stages,
    run_store,
    stages_kernel,
    store_kernel,
)


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.function)
    return first + next(i for i, line in enumerate(lines) if f"# {text}" in line)


def findings_of(run, *args, seed=0):
    with cute.on_cpu(check=True, seed=seed), pytest.raises(KernelError) as error:
        run(*args)
    return error.value.findings


def at(findings, kind):
    return {f.line for f in findings if f.kind == kind}


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("shape", [(64, 64), (100, 136)])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_tile_is_loaded_with_zeros_outside(name, shape, seed):
    tile = (64, 64)
    x = numbers(shape, order="F" if name.startswith("mn") else "C")
    if name.startswith("mn"):
        x = numbers((104, shape[1]), order="F")
    y = np.full_like(padded(x, tile), -1)
    with cute.on_cpu(check=True, seed=seed):
        run_load(dynamic(x), dynamic(y), LAYOUTS[name](tile, cutlass.Float16), tile)
    np.testing.assert_array_equal(y, padded(x, tile))


@pytest.mark.parametrize(
    ("numpy", "dtype", "tile"),
    [
        (np.uint8, cutlass.Uint8, (32, 128)),
        (np.int32, cutlass.Int32, (16, 32)),
        (np.float32, cutlass.Float32, (8, 64)),
        (np.float64, cutlass.Float64, (8, 16)),
    ],
)
def test_other_elements(numpy, dtype, tile):
    x = numbers((50, 80), np.int8).astype(numpy) if numpy is not np.uint8 else numbers((50, 80), np.uint8)
    kept = aligned(x.shape, numpy)
    kept[...] = x
    y = np.full_like(padded(kept, tile), 1)
    with cute.on_cpu(check=True):
        run_load(dynamic(kept), dynamic(y), LAYOUTS["128"](tile, dtype), tile)
    np.testing.assert_array_equal(y, padded(kept, tile))


@given(
    rows=st.integers(1, 90), columns=st.integers(1, 20),
    tile=st.sampled_from([(8, 64), (64, 64), (16, 128), (24, 192)]),
    name=st.sampled_from(["plain", "none", "32", "64", "128"]), seed=st.integers(0, 100),
)  # fmt: skip
def test_random_tiles(rows, columns, tile, name, seed):
    x = numbers((rows, 8 * columns), seed=seed)
    y = np.full_like(padded(x, tile), -1)
    with cute.on_cpu(check=True, seed=seed):
        run_load(dynamic(x), dynamic(y), LAYOUTS[name](tile, cutlass.Float16), tile)
    np.testing.assert_array_equal(y, padded(x, tile))


@pytest.mark.parametrize("name", ["plain", "64", "128"])
def test_a_tile_is_stored_but_not_outside(name):
    tile, shape = (16, 64), (40, 104)
    x = numbers(tuple(padded(np.zeros(shape), tile).shape))
    y = numbers(shape)
    with cute.on_cpu(check=True):
        run_store(dynamic(x), dynamic(y), LAYOUTS[name](tile, cutlass.Float16), tile)
    np.testing.assert_array_equal(y, (x + np.float16(1))[: shape[0], : shape[1]])


@pytest.mark.parametrize("numpy", [np.float32, np.int32, np.float16])
@pytest.mark.parametrize("kind", ["add", "min", "max"])
def test_reductions(kind, numpy):
    tile = (8, 32)
    dtype = {np.float32: cutlass.Float32, np.int32: cutlass.Int32, np.float16: cutlass.Float16}[numpy]
    x, y = numbers((16, 64), numpy), numbers((16, 64), numpy, seed=1)
    join = {"add": np.add, "min": np.minimum, "max": np.maximum}[kind]
    wanted = join(join(y, x), x + numpy(1))
    op = cpasync.CopyReduceBulkTensorTileS2GOp(kind)
    with cute.on_cpu(check=True):
        run_store(dynamic(x), dynamic(y), LAYOUTS["plain"](tile, dtype), tile, op)
    np.testing.assert_array_equal(y, wanted)


def test_three_modes():
    """A batch is a mode of the tensor map; the tile goes along the others."""

    @cute.kernel
    def kernel(atom: cute.CopyAtom, gX: cute.Tensor, y: cute.Tensor):
        tidx, _, _ = cute.arch.thread_idx()
        _, _, batch = cute.arch.block_idx()
        smem = cutlass.utils.SmemAllocator()
        shared = smem.allocate_tensor(cutlass.Float16, cute.make_ordered_layout((8, 16, 2), order=(1, 0, 2)), 1024)
        barrier = smem.allocate_array(cutlass.Int64)
        if tidx == 0:
            cute.arch.mbarrier_init(barrier, 1)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        x = cute.local_tile(gX, (8, 16), (None, None, None))
        tXs, tXg = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(shared, 0, 2), cute.group_modes(x, 0, 2))
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, 2 * 256)
        for stage in cutlass.range_constexpr(2):
            cute.copy(atom, tXg[None, 1, stage, batch], tXs[None, stage], tma_bar_ptr=barrier)
        cute.arch.mbarrier_wait(barrier, 0)
        for i in range(tidx, 256, 32):
            y[i % 8, i // 8, batch] = shared[i % 8, i // 8 % 16, i // 128]

    @cute.jit
    def run(x: cute.Tensor, y: cute.Tensor):
        layout = cute.make_ordered_layout((8, 16), order=(1, 0))
        atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, (8, 16))
        kernel(atom, gX, y).launch(grid=[1, 1, x.shape[2]], block=[32, 1, 1])

    x = numbers((3, 16, 32)).transpose(1, 2, 0)
    y = np.zeros((8, 32, 3), np.float16)
    with cute.on_cpu(check=True):
        run(dynamic(x, 1), dynamic(y, 2))
    np.testing.assert_array_equal(y, x[8:16])


@cute.kernel
def bytes_kernel(x: cute.Tensor, y: cute.Tensor, fence: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    shared = smem.allocate_tensor(cutlass.Int32, 64, 128)
    barrier = smem.allocate_array(cutlass.Int64)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 256)
    cute.arch.sync_warp()
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Int32)
    store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Int32)
    cute.copy(load, cute.local_tile(x, (64,), (1,)), shared, mbar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    shared[tidx] += 1
    if fence:
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(store, shared, y)  # bytes
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def run_bytes(x: cute.Tensor, y: cute.Tensor, fence: cutlass.Constexpr = True):
    bytes_kernel(x, y, fence).launch(block=[32, 1, 1])


def test_bytes_in_bulk():
    x, y = numbers((128,), np.int32), numbers((64,), np.int32, seed=1)
    args = [cute.from_dlpack(a, assumed_align=16) for a in (x, y)]
    with cute.on_cpu(check=True):
        run_bytes(*args)
    np.testing.assert_array_equal(y, x[64:] + (np.arange(64) < 32))
    assert at(findings_of(run_bytes, *args, False), "missing fence") == {line_of(bytes_kernel, "bytes")}


@cute.kernel
def elected_kernel(x: cute.Tensor, y: cute.Tensor, form: cutlass.Constexpr):
    """Copies in bulk as programs write them that elect a thread themselves."""
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    shared = smem.allocate_tensor(cutlass.Int32, 64, 128)
    barrier = smem.allocate_array(cutlass.Int64)
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Int32)
    store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Int32)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 256)
        for i in cutlass.range(2):
            part = cute.local_tile(x, (32,), (2 + i,))
            cute.copy(load, part, cute.local_tile(shared, (32,), (i,)), mbar_ptr=barrier)
    cute.arch.sync_warp()
    cute.arch.mbarrier_wait(barrier, 0)
    shared[tidx] += 1
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    if cutlass.const_expr(form == "elected"):
        with cute.arch.elect_one():
            cute.copy(store, shared, y)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)
    elif tidx == 0:
        cute.copy(store, shared, y)  # one thread
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def run_elected(x: cute.Tensor, y: cute.Tensor, form: cutlass.Constexpr = "elected"):
    elected_kernel(x, y, form).launch(block=[32, 1, 1])


def test_bytes_in_bulk_by_a_thread_that_was_elected():
    """Not again inside of elect_one, where the others do not come; a thread that was merely chosen is found."""
    x, y = numbers((128,), np.int32), numbers((64,), np.int32, seed=1)
    args = [cute.from_dlpack(a, assumed_align=16) for a in (x, y)]
    with cute.on_cpu(check=True):
        run_elected(*args)
    np.testing.assert_array_equal(y, x[64:] + (np.arange(64) < 32))
    assert at(findings_of(run_elected, *args, "one thread"), "lane") == {line_of(elected_kernel, "one thread")}
    sources = [cute.compile(run_elected, *args, form).source for form in ("elected", "one thread")]
    assert [source.count("if (elect_one()) asm") for source in sources] == [0, 1]


# ---- defects ----


@pytest.mark.parametrize(
    ("defect", "kind", "where"),
    [
        ("no fence", "missing fence", "store"),
        ("no barrier", "race", "store"),
        ("no wait", "not landed", "write"),
        ("no commit", "not landed", "write"),
    ],
)
def test_a_store_without(defect, kind, where):
    tile = (16, 64)
    x, y = numbers((16, 64)), numbers((16, 64))
    found = findings_of(run_store, dynamic(x), dynamic(y), LAYOUTS["128"](tile, cutlass.Float16), tile, None, defect)
    assert line_of(store_kernel, where) in at(found, kind), found


def test_the_missing_fence_names_the_writer_and_the_call():
    tile = (16, 64)
    args = dynamic(numbers((16, 64))), dynamic(numbers((16, 64))), LAYOUTS["plain"](tile, cutlass.Float16), tile
    (fence,) = [f for f in findings_of(run_store, *args, None, "no fence") if f.kind == "missing fence"]
    assert fence.other_place[1] == line_of(store_kernel, "write")
    assert 'fence_proxy("async.shared", space="cta")' in fence.message


@pytest.mark.parametrize("seed", range(4))
def test_stages_in_turn(seed):
    x, y = numbers((8, 160), np.float32), np.zeros(32, np.float32)
    with cute.on_cpu(check=True, seed=seed):
        run_stages(dynamic(x), dynamic(y))
    np.testing.assert_array_equal(y, x.reshape(8, 5, 32).sum((0, 1)))


def test_stages_in_turn_unchecked():
    x, y = numbers((8, 160), np.float32), np.zeros(32, np.float32)
    with cute.on_cpu(check=False):
        run_stages(dynamic(x), dynamic(y))
    np.testing.assert_array_equal(y, x.reshape(8, 5, 32).sum((0, 1)))


@pytest.mark.parametrize(
    ("defect", "kinds", "where"),
    [
        ("no wait", {"not landed", "race", "not written"}, {"read"}),
        ("phase", {"not landed", "race", "not written", "deadlock"}, {"read", "wait"}),
        ("refill", {"not landed", "race"}, {"load", "read"}),
        ("no init fence", {"missing fence"}, {"load"}),
        ("too many", {"deadlock"}, {"wait"}),
        ("too few", {"deadlock"}, {"wait"}),
        ("no expect", {"deadlock"}, {"wait"}),
    ],
)
def test_a_defect_of_the_stages(defect, kinds, where):
    x, y = numbers((8, 160), np.float32), np.zeros(32, np.float32)
    found = findings_of(run_stages, dynamic(x), dynamic(y), defect)
    lines = {line_of(stages_kernel, text) for text in where}
    assert [f for f in found if f.kind in kinds and f.line in lines], found


def test_a_copy_inside_of_elect_one():
    """The instruction chooses the thread; where one alone comes, a GPU would wait for the others."""

    @cute.kernel
    def kernel(atom: cute.CopyAtom, gY: cute.Tensor):
        smem = cutlass.utils.SmemAllocator()
        shared = smem.allocate_tensor(cutlass.Float16, cute.make_ordered_layout((8, 64), order=(1, 0)), 128)
        shared.fill(0)
        y = cute.local_tile(gY, (8, 64), (0, 0))
        tYs, tYg = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(shared, 0, 2), cute.group_modes(y, 0, 2))
        with cute.arch.elect_one():
            cute.copy(atom, tYs, tYg)  # alone

    @cute.jit
    def run(y: cute.Tensor):
        layout = cute.make_ordered_layout((8, 64), order=(1, 0))
        atom, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, layout, (8, 64))
        kernel(atom, gY).launch(block=[32, 1, 1])

    assert line_of(kernel, "alone") in at(findings_of(run, dynamic(numbers((8, 64)))), "lane")


def test_profile_counts_boxes():
    tile = (16, 64)
    x, y = numbers((16, 64)), numbers((16, 64))
    profile = cute.profile(run_store, dynamic(x), dynamic(y), LAYOUTS["128"](tile, cutlass.Float16), tile)
    line = profile.line(line_of(store_kernel, "store"))
    assert (line.requests, line.sectors, line.bytes) == (2, 2 * 16 * 128 // 32, 2 * 16 * 128)


def test_a_wrong_count_of_bytes_is_explained():
    x, y = numbers((8, 160), np.float32), np.zeros(32, np.float32)
    (deadlock,) = [f for f in findings_of(run_stages, dynamic(x), dynamic(y), "too many") if f.kind == "deadlock"]
    assert "1 of 1 arrival and 1024 of 2048 bytes have come" in deadlock.message
    assert f"which line {line_of(stages_kernel, 'expect')} expects" in deadlock.message


@cute.kernel
def leaving_kernel(atom: cute.CopyAtom, gY: cute.Tensor, x: cute.Tensor, layout: cutlass.Constexpr):
    """A store that nobody waits for: the CTA leaves."""
    tidx, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(x.element_type, layout, 1024)
    tile = cute.local_tile(gY, (4, 8), (0, 0))
    to, boxes = cute.nvgpu.cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(tile, 0, 2)
    )
    shared[tidx // 8, tidx % 8] = x[tidx // 8, tidx % 8]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(atom, to, boxes)


@cute.jit
def run_leaving(x: cute.Tensor, y: cute.Tensor, layout: cutlass.Constexpr):
    atom, gY = cute.nvgpu.cpasync.make_tiled_tma_atom(cute.nvgpu.cpasync.CopyBulkTensorTileS2GOp(), y, layout, (4, 8))
    leaving_kernel(atom, gY, x, layout).launch(block=[32, 1, 1])


def test_a_store_that_nobody_waits_for_is_found_by_the_checks_alone():
    x, y = numbers((4, 8)), np.zeros((4, 8), np.float16)
    layout = cute.make_ordered_layout((4, 8), order=(1, 0))
    assert {f.kind for f in findings_of(run_leaving, dynamic(x), dynamic(y), layout)} == {"not landed"}
    y[:] = 0
    with cute.on_cpu(check=False):
        run_leaving(dynamic(x), dynamic(y), layout)
    np.testing.assert_array_equal(y, x)


# ---- clusters ----


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_multicast(ctas, seed):
    x, y = numbers((128, 64)), np.zeros((64, 64, 2 * ctas), np.float16)
    with cute.on_cpu(check=True, seed=seed):
        run_multicast(dynamic(x), dynamic(y), ctas)
    for i in range(2 * ctas):
        np.testing.assert_array_equal(y[:, :, i], x[64 * (i // ctas) :][:64])


@pytest.mark.parametrize("seed", range(3))
def test_a_cta_that_leaves_before_its_copies_have_come(seed):
    x, y = numbers((64, 64)), np.zeros((64, 64, 2), np.float16)
    found = findings_of(run_multicast, dynamic(x), dynamic(y), 2, "early", seed=seed)
    assert line_of(multicast_kernel, "load") in at(found, "early exit"), found


def test_a_copy_to_a_cta_that_may_not_have_begun():
    x, y = numbers((64, 64)), np.zeros((64, 64, 2), np.float16)
    found = findings_of(run_multicast, dynamic(x), dynamic(y), 2, "no cluster")
    assert line_of(multicast_kernel, "load") in {f.line for f in found}, found
    assert any("cluster_arrive() and cluster_wait(), since sync_threads()" in f.message for f in found), found


# ---- what cannot be copied ----


def refused(tensor, layout, tile, op=None, **options):
    @cute.jit
    def run(x: cute.Tensor):
        cpasync.make_tiled_tma_atom(op or cpasync.CopyBulkTensorTileG2SOp(), x, layout, tile, **options)

    with cute.on_cpu(), pytest.raises((ValueError, RuntimeError)) as error:
        run(tensor)
    return str(error.value)


def test_what_tma_cannot_copy_is_refused():
    row = cute.make_ordered_layout((8, 64), order=(1, 0))
    x = dynamic(numbers((16, 64)))
    assert "aligned to 16 bytes" in refused(cute.from_dlpack(numbers((16, 64))).mark_layout_dynamic(1), row, (8, 64))
    assert "is contiguous along mode 0" in refused(x, cute.make_layout((8, 64)), (8, 64))
    assert "is not compact" in refused(x, cute.make_layout((8, 64), stride=(72, 1)), (8, 64))
    assert "multiples of 16" in refused(x, cute.make_ordered_layout((8, 4), order=(1, 0)), (8, 4))
    assert "they need the same" in refused(x, row, (8, 32))
    assert "needs CopyBulkTensorTileG2SMulticastOp" in refused(x, row, (8, 64), num_multicast=2)
    wrong = cute.make_composed_layout(cute.make_swizzle(2, 3, 2), 0, row)
    assert "TMA has no swizzle" in refused(x, wrong, (8, 64))


def test_strides_are_looked_at_at_each_call():
    tile = (8, 64)
    layout = LAYOUTS["plain"](tile, cutlass.Float16)
    y = np.zeros((16, 64), np.float16)
    with cute.on_cpu(check=True):
        run_load(dynamic(numbers((16, 64))), dynamic(y), layout, tile)
        with pytest.raises(RuntimeError, match="stride 1 of the tensor is 140 bytes"):
            run_load(dynamic(numbers((16, 70))), dynamic(y), layout, tile)


# ---- text ----


@nvrtc
def test_it_compiles_to_the_instructions():
    x, y = dynamic(numbers((64, 64))), dynamic(numbers((64, 64)))
    layout = LAYOUTS["128"]((64, 64), cutlass.Float16)
    load = cute.compile(run_load, x, y, layout, (64, 64))
    assert "cp.async.bulk.tensor.2d.shared::cluster.global" in load.ptx
    assert "mbarrier::complete_tx::bytes" in load.ptx
    store = cute.compile(run_store, x, y, layout, (64, 64))
    for text in (
        "cp.async.bulk.tensor.2d.global.shared::cta", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read",
        "fence.proxy.async.shared::cta",
    ):  # fmt: skip
        assert text in store.ptx
    reduce = cute.compile(run_store, x, y, layout, (64, 64), cpasync.CopyReduceBulkTensorTileS2GOp("add"))
    assert "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add" in reduce.ptx
    multicast = cute.compile(run_multicast, x, dynamic(np.zeros((64, 64, 2), np.float16)), 2)
    assert ".multicast::cluster" in multicast.ptx
    bulk = cute.compile(run_bytes, *[cute.from_dlpack(numbers((n,), np.int32), assumed_align=16) for n in (128, 64)])
    assert "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" in bulk.ptx
    assert "cp.async.bulk.global.shared::cta.bulk_group" in bulk.ptx
    assert load.spills == store.spills == multicast.spills == 0


@cute.kernel
def fetch_ahead_kernel(atom: cute.CopyAtom, gX: cute.Tensor, sX: cutlass.Constexpr, tile: cutlass.Constexpr):
    shared = cutlass.utils.SmemAllocator().allocate_tensor(atom.value_type, sX, 128)
    tiles = cute.group_modes(cute.local_tile(gX, tile, (None, None)), 0, 2)
    _, tXgX = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(shared, 0, 2), tiles)
    cute.prefetch(atom, tXgX[None, cute.arch.block_idx()[0], 1])


@cute.jit
def fetch_ahead(x: cute.Tensor, layout: cutlass.Constexpr, tile: cutlass.Constexpr):
    atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, tile)
    fetch_ahead_kernel(atom, gX, layout, tile).launch(grid=[2, 1, 1], block=[32, 1, 1])


def test_boxes_are_fetched_to_the_cache():
    """Each of a tile's boxes, by one thread, and without an mbarrier; the CPU executes it as nothing."""
    tile = (16, 128)
    arguments = dynamic(numbers((32, 256))), LAYOUTS["128"](tile, cutlass.Float16), tile
    with cute.on_cpu(check=True):
        fetch_ahead(*arguments)
    source = cute.compile(fetch_ahead, *arguments).source
    assert (
        source.count('if (elect_one()) asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}]')
        == 2
    )
    with pytest.raises(TypeError, match=r"prefetch: expected an atom of make_tiled_tma_atom that loads"):
        cute.prefetch(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16), dynamic(numbers((32, 256))))
