"""Stream-K in gemm_simt: who has which steps of which tile, that nobody waits in vain, and when tiles are shared."""

from __future__ import annotations

import itertools
import math
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import BFloat16, Float32, Float64, LayoutError, _core, cute, kernels
from tilewright.devices import H200
from tilewright.kernels.common import launch
from tilewright.kernels.common import plan as common_plan
from tilewright.kernels.common import workspace as scratch_memory
from tilewright.kernels.gemm import run as gemm_run
from tilewright.kernels.gemm.choose import tune as gemm_tune
from tilewright.kernels.gemm.choose.choose import choose_gemm, choose_whole
from tilewright.kernels.gemm.choose.short_sums import has_short_sums, parts_of_cublas, terms_allowed
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.simt.build import plan_of_tile
from tilewright.kernels.gemm.simt.cost import Choice, choice_cost, fastest, weighed
from tilewright.kernels.gemm.simt.stream_k import stream_k_work
from tilewright.kernels.gemm.simt.tiles import SimtTiles
from tilewright.runtime.discovery import kernels_folder

ALIGNED = (16, 16, 16)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def stream_k_plan(m, n, k, stream_k_ctas, tile=5, **options):
    return plan_of_tile(
        problem_of(m, n, k, Float32, **options), ALIGNED, SimtTiles.of(H200).tiles[tile], H200, stream_k_ctas
    )


def shares_of_kernel(plan):
    """What simt_stream_k.cuh makes of a plan's parameter: each CTA's share, its number, its begin and its end."""
    words = struct.unpack_from("<11I", plan.params(), plan._stream_k_at + 16)
    steps, group, (ctas, tiles, together, least, longer) = words[0], words[3], words[6:]
    assert (steps, group, together) == (plan.steps, ctas, tiles * steps)

    def begin(index):
        return index * least + min(index, longer)

    found = []
    for cta in range(plan.ctas):
        if cta < ctas:
            index = ctas - 1 - cta
            found.append((index, begin(index), begin(index + 1)))
        else:
            tile = tiles + cta - ctas
            found.append((None, tile * steps, (tile + 1) * steps))
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 9), st.integers(1, 5), st.integers(1, 300), st.integers(1, 40), st.sampled_from([(), (2,), (2, 3)])
)
def test_every_step_is_somebodys_and_sums_are_there_before(m, n, k, stream_k_ctas, batch):
    """By the kernel's own numbers, in the order in which CTAs begin; and the CPU's work is the same."""
    plan = stream_k_plan(32 * m, 32 * n, k, stream_k_ctas, batch=batch)
    steps, seen = plan.steps, {}
    left = {}  # of a share: the CTA that leaves sums
    for cta, (index, begin, end) in enumerate(shares_of_kernel(plan)):
        while begin < end:
            tile, first = divmod(begin, steps)
            count = min(steps - first, end - begin)
            seen.setdefault(tile, []).append((first, count))
            if first > 0:
                assert index is not None
                left[index] = cta
            elif count < steps:  # this CTA adds what the next shares have
                other = index + 1
                while (cut := plan.stream_k.bounds[other]) < (tile + 1) * steps:
                    assert left[other] < cta, "it waits for a CTA that begins later"
                    assert cut > tile * steps or cut == plan.stream_k.bounds[other + 1]
                    other += 1
            begin += count
    assert sorted(seen) == list(range(math.prod(plan.tiles) * plan.problem.batches))
    for pieces in seen.values():
        pieces.sort()
        assert [first for first, _ in pieces] == [0, *itertools.accumulate(count for _, count in pieces)][:-1]
        assert sum(count for _, count in pieces) == steps
    work = stream_k_work(plan)
    assert work[:, 4].sum() == len(seen) * steps
    by_tile = {}
    for *tile, first, count in work.tolist():
        by_tile.setdefault(tuple(tile), []).append((first, count))
    assert sorted(by_tile.values()) == sorted(seen.values())
    assert len(by_tile) == len(seen)


@pytest.mark.parametrize("swapped", [False, True], ids=["C", "C transposed"])
@pytest.mark.parametrize(
    ("tile", "stream_k_ctas", "k"), [(0, 3, 70), (0, 40, 203), (3, 5, 70), (6, 7, 300), (7, 4, 300), (9, 64, 515)]
)
def test_the_cpu_adds_the_same(tile, stream_k_ctas, k, swapped):
    m, n = 200, 140
    a, b, bias, before = numbers(m, k), numbers(n, k, seed=1), numbers(n, seed=2), numbers(m, n, seed=3)
    c = np.asfortranarray(before) if swapped else before.copy()
    base = kernels.gemm.plan(a, b, c, alpha=0.5, beta=2, bias=bias, activation="relu")
    assert base.swapped == swapped
    plan = plan_of_tile(base.problem, (4, 4, 4), SimtTiles.of(H200).tiles[tile], H200, stream_k_ctas).replace(
        swapped=swapped
    )
    plan.run(a, b, c, bias=bias)
    expected = np.maximum(0.5 * (a.astype(np.float64) @ b.T) + 2 * before + bias, 0)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)
    c[...] = before
    report = plan.run(a, b, c, bias=bias, check=True)
    assert report, str(report)
    assert pickle.loads(pickle.dumps(plan)) == plan != plan.replace(stream_k_ctas=0)
    assert f"stream-K   {stream_k_ctas} CTAs share {plan.stream_k_tiles} tiles along K" in str(plan)


def test_other_sizes():
    plan = stream_k_plan(640, 96, 64, 7)
    a, b = numbers(37 * 32, 52), numbers(20, 52, seed=1)
    np.testing.assert_allclose(plan.run(a, b), a @ b.T, rtol=1e-4, atol=1e-4)
    none = np.ones((4, 0), np.float32)
    np.testing.assert_array_equal(plan.run(none, none), 0)
    assert plan.for_problem(problem_of(37 * 32, 96, 64, Float32)).group == 37


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stream_k_ctas": -1}, "stream_k_ctas is -1, but it must be an integer from 0 on"),
        ({"stream_k_ctas": 3, "group": 4}, "5 tiles along M are no whole runs of 3; use a group .* such as group=5"),
        ({"stream_k_ctas": 2**30}, r"5 tiles of 4 steps, but the kernel counts steps of all tiles up to 2\^31"),
        ({"stream_k_ctas": 3, "problem": problem_of(160, 32, 0, Float32)}, "stream_k_ctas is 3, but K is 0"),
    ],
)
def test_what_cannot_be_shared(fields, message):
    plan = stream_k_plan(160, 32, 64, 0)
    with pytest.raises((TypeError, LayoutError), match=message):
        plan.replace(**{"group": 5, **fields})


@pytest.fixture
def launches(monkeypatch):
    """What launches with scratch do without a GPU: the last launch, and the memory that was made, (bytes, zero, where).

    The stream is `identity[0]`; 0: none that memory is kept for.
    """
    recorder, made, identity = _core.cuda.Recorder(), [], [7]

    def workspace(device, size, stream, library, *, is_zero=False):
        made.append((size, is_zero, 4096 * (len(made) + 1)))
        return object(), made[-1][2]

    monkeypatch.setattr(gemm_run, "CPU", -1)
    monkeypatch.setattr(common_plan, "CPU", -1)
    monkeypatch.setattr(launch, "functions_of", lambda plans, device: [recorder] * len(plans))
    monkeypatch.setattr(launch, "facts_of", lambda device: H200)
    monkeypatch.setattr(scratch_memory, "workspace", workspace)
    monkeypatch.setattr(scratch_memory, "_kept", {})
    monkeypatch.setattr(_core.cuda, "stream_identity", lambda device, stream: identity[0])
    return recorder, made, identity


def in_stream_k(a, b, c, stream_k_ctas):
    plan = kernels.gemm.plan(a, b, c)
    return plan_of_tile(plan.problem, ALIGNED, SimtTiles.of(H200).tiles[5], H200, stream_k_ctas).replace(
        swapped=plan.swapped
    )


def test_launches_take_the_scratch_of_their_stream(launches, monkeypatch):
    """Flags that are zero, and sums; again without planning; more of it for a larger plan."""
    torch = pytest.importorskip("torch")
    recorder, made, identity = launches
    a, b, c = torch.zeros(256, 64), torch.zeros(96, 64), torch.zeros(256, 96)
    plan = in_stream_k(a, b, c, 5)
    kernels.gemm(a, b, c, plan=plan)
    zeros, others = plan.scratch
    assert (zeros, others) == (4 * 5, 5 * 32 * 32 * 4)
    assert made == [(zeros, True, 4096), (others, False, 8192)]
    params = recorder.last[4]
    found = {argument: int.from_bytes(params[at : at + 8], "little") for argument, at, _ in plan.pointers()}
    assert (found[4], found[5]) == (4096, 8192)
    assert {found[0], found[1], found[2]} == {a.data_ptr(), b.data_ptr(), c.data_ptr()}
    with monkeypatch.context() as unplanned:
        unplanned.setattr(gemm_run, "execute", None)
        kernels.gemm(a, b, c, plan=plan)
    plan.bind(a, b, c)()
    assert (recorder.count, len(made)) == (3, 2)
    kernels.gemm(a, b, c, plan=in_stream_k(a, b, c, 6))
    kernels.gemm(a, b, c, plan=plan)
    assert (recorder.count, len(made)) == (5, 4)
    identity[0] = 8
    kernels.gemm(a, b, c, plan=plan)
    assert len(made) == 6
    for identity[0] in range(9, 40):
        kernels.gemm(a, b, c, plan=plan)
    assert len(scratch_memory._kept) == scratch_memory.MOST


def test_launches_of_graphs_have_scratch_of_their_own(launches):
    """And so have those for tensors of other libraries, whose memory is not torch's."""
    torch = pytest.importorskip("torch")
    _, made, identity = launches
    a, b, c = torch.zeros(256, 64), torch.zeros(96, 64), torch.zeros(256, 96)
    plan = in_stream_k(a, b, c, 5)
    identity[0] = 0
    for count in (2, 4):
        kernels.gemm(a, b, c, plan=plan)
        assert len(made) == count
    identity[0] = 7
    for count in (6, 8):
        kernels.gemm(*(x.numpy() for x in (a, b, c)), plan=plan)
        assert len(made) == count
    assert not scratch_memory._kept


def test_tune_launches_them(launches):
    torch = pytest.importorskip("torch")
    recorder, made, _ = launches
    a, b, c = torch.zeros(256, 64), torch.zeros(96, 64), torch.zeros(256, 96)
    plan = in_stream_k(a, b, c, 5)
    gemm_tune._launch_of(plan, gemm_run._operands("test", plan, a, b, c, None, None), 0)()
    assert (recorder.count, len(made)) == (1, 2)


def test_more_steps_than_are_counted_are_not_shared():
    """The kernel numbers the steps of all tiles, also of those that have a CTA each."""
    most = problem_of(131072, 131072, 32768, Float32)
    plan = stream_k_plan(4096, 4096, 4096, 264, tile=0)
    assert plan.for_problem(most).stream_k_ctas == 0
    with pytest.raises(LayoutError, match=r"the kernel counts steps of all tiles up to 2\^31"):
        plan.replace(problem=most)
    for problem in (problem_of(64, 64, 100_000_000, Float32), problem_of(65536, 65536, 65536, Float32)):
        for one in gemm_simt.variants(problem, ALIGNED):
            assert one.stream_k_ctas == 0 or (one.places + one.stream_k_ctas) * one.steps < 1 << 31


def test_a_warp_alone_waits_for_one_share_at_a_time():
    """It has no thread that would wait for the other; only its text can be looked at here."""
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), cute.make_layout((8, 4, 1)))
    given = gemm_simt.given(problem_of(128, 64, 512, Float32), mma, tiler_mnk=(32, 16, 8))
    plan = given.replace(stream_k_ctas=64, group=4)
    assert plan.threads == 32
    text = (kernels_folder() / "tilewright/simt_stream_k.cuh").read_text()
    assert "kSums <= 16 && kThreads > 32 ? 2 : 1" in text
    a, b = numbers(128, 512), numbers(64, 512, seed=1)
    np.testing.assert_allclose(plan.run(a, b), a @ b.T, rtol=1e-4, atol=1e-3)


# ---- the choice ------------------------------------------------------------------------------------------------------


def shared(m, n, k, facts=H200, **options):
    plan = choose_whole(problem_of(m, n, k, Float32, **options), ALIGNED, facts)
    assert plan.stream_k_ctas in (0, facts.multiprocessors * plan.ctas_per_sm) or plan.stream_k_ctas % plan.places == 0
    return plan


def test_which_problems_are_shared():
    """Those whose tiles do not come in whole rounds, and few tiles with long sums; not where a launch costs more."""
    for plan in (
        shared(4096, 4096, 4096),
        shared(3000, 3000, 3000),
        shared(1500, 1500, 4096),
        shared(8192, 8192, 8192, a="m", b="n"),
        shared(4096, 4096, 4096, out=BFloat16),
        shared(4096, 4096, 4096, facts=H200._replace(multiprocessors=100)),
    ):
        assert plan.stream_k_ctas > 0
        assert plan.places % plan.stream_k_ctas
    whole = shared(4224, 4096, 4096)  # 33 x 32 tiles are four rounds of 264
    assert whole.stream_k_ctas == 0
    assert whole.places % (H200.multiprocessors * whole.ctas_per_sm) == 0
    for few in ((512, 512, 512), (16, 4096, 4096), (64, 64, 64)):
        assert shared(*few).stream_k_ctas == 0
    one = shared(64, 64, 4096)
    assert one.stream_k_ctas > one.places
    assert shared(64, 64, 4096, batch=(1000,)).stream_k_ctas != one.stream_k_ctas
    assert shared(1, 1, 1 << 34).stream_k_ctas == 0  # more steps than are counted
    assert choose_gemm(problem_of(4096, 4096, 4096, Float64), ALIGNED, H200).kernel_name == "sm80"


def test_the_time_of_shares_is_that_of_the_work():
    """Half a round more takes half a round's time, not a whole one's."""
    tile = SimtTiles.of(H200).tiles[0]

    def time(tiles, stream_k_ctas):
        problem = problem_of(128 * tiles, 128, 4096, Float32)
        return choice_cost(problem, Choice(tile, stream_k_ctas), H200).without("launch")

    one, some, two = (time(tiles, 264) for tiles in (264, 330, 528))
    assert some == pytest.approx(one + (two - one) / 4, rel=0.01)
    assert time(330, 0) == pytest.approx((one + two) / 2, rel=0.02)
    assert fastest(problem_of(128 * 330, 128, 4096, Float32), ALIGNED, H200) == Choice(tile, 264)


def test_sums_are_short_where_those_of_cublas_are():
    """Few tiles, or K shared by cuBLAS: promoted, or in a tile where it is not needed."""
    extents = (256, 768, 1536, 2560), (512, 1792), (1024, 2048, 5000)
    for m, n, k, orders in itertools.product(*extents, ("kk", "mn", "kn")):
        problem = problem_of(m, n, k, Float32, a=orders[0], b=orders[1])
        plan = choose_gemm(problem, ALIGNED, H200).kernel_plan
        assert has_short_sums(plan, problem, H200)
        terms = plan.promote * plan.tiler_mnk[2] or plan.longest_sum
        assert terms / plan.sliced_k <= min(terms_allowed(problem, H200), k), (m, n, k, orders, plan)
    for name in ("kk", "mk", "kn"):  # 1024 tiles fill four rounds
        problem = problem_of(4096, 4096, 4096, Float32, a=name[0], b=name[1])
        assert choose_gemm(problem, ALIGNED, H200).promote == 0
    for n in (3000, 4096, 8192):
        plan = choose_gemm(problem_of(n, n, n, Float32, a="m", b="n"), ALIGNED, H200)
        assert 0 < plan.promote * plan.tiler_mnk[2] <= n * 0.6


@pytest.mark.parametrize(
    ("shape", "orders", "parts"),
    [
        ((4096, 4096, 4096), "kk", 1),
        ((4096, 4096, 4096), "kn", 1),
        ((5000, 5000, 5000), "kn", 3),  # 1600 tiles leave the last round half empty
        ((4096, 4096, 4096), "mn", 2),
        ((683, 4096, 14336), "kk", 16),
        ((512, 512, 8192), "kn", 15),
        ((784, 128, 4533), "kn", 10),
        ((3, 4096, 14336), "kk", 150),
        ((1024, 1024, 256), "kk", 1),
    ],
)
def test_parts_of_fp32_whose_errors_were_measured(shape, orders, parts):
    """cuBLAS had so many on an H200, by its errors; where these are as large, ours are not promoted."""
    found = parts_of_cublas(problem_of(*shape, Float32, a=orders[0], b=orders[1]), H200)
    assert 0.8 * parts <= found <= 3 * parts
    assert (found == 1) == (parts == 1)


@pytest.mark.parametrize(
    ("shape", "b", "tile"),
    [
        ((64, 4096, 14336), "k", (128, 64)),  # 200 us; without a copy of the rows 219, 64 by 64 in four slices 201
        ((312, 4096, 4096), "k", (64, 128)),  # 246 us; without a copy of the rows 252, 128 by 128 273
        ((64, 8192, 8192), "k", (128, 64)),  # 207 us; without a copy of the rows 214, 64 by 64 in four slices 227
    ],
)
def test_few_rows_are_shared_in_tiles_of_threads_with_many_sums(shape, b, tile):
    """On an H200. Such tiles are for shares alone: without, 44328x64x288 takes 53 us in them, in others 47."""
    chosen = choose_gemm(problem_of(*shape, Float32, b=b), ALIGNED, H200)
    plan = chosen.kernel_plan
    assert (plan.tiler_mnk[:2], plan.threads, plan.stream_k_ctas) == (tile, 64, 4 * H200.multiprocessors)
    assert chosen.sides == (True, False)  # turned, so that the kernel need not
    shared = {x.extents(4) for x in SimtTiles.of(H200).shared}
    for m, n, k, at in ((44328, 64, 288, 16), (64, 14336, 4096, 4)):
        weigh = weighed(problem_of(m, n, k, Float32, b="n"), (at, at, at), H200)
        found = [x for x, _ in weigh if x.tile.extents(4) in shared and x.tile.threads == 64]
        assert all(x.stream_k_ctas for x in found)
        assert (found == []) == (at == 4), "accesses of 16 bytes bring A and B"


def test_all_tiles_have_the_banks_of_their_stages_alike():
    """Where a share begins in another stage than a tile would, accesses conflict as before."""
    numbers = SimtTiles.of(H200)
    for tile in (*numbers.tiles, *numbers.shared, *numbers.loose):
        for orders in ("kk", "mn"):
            plan = plan_of_tile(problem_of(512, 512, 4096, Float32, a=orders[0], b=orders[1]), ALIGNED, tile, H200)
            assert int(plan.smem_a.stride[2]) * 4 % 128 == int(plan.smem_b.stride[2]) * 4 % 128 == 0


# ---- prediction ------------------------------------------------------------------------------------------------------


def test_analysis_counts_what_shares_add():
    """Sums that are left and taken once each, and the first step of every piece read ahead once more."""
    plan = stream_k_plan(300, 100, 70, 7, tile=0)
    whole = {x.name: x for x in plan.replace(stream_k_ctas=0).analyze()}
    found = {x.name: x for x in plan.analyze()}
    left = sum(begin % plan.steps > 0 for begin in plan.stream_k.bounds[:-1])
    assert left > 0
    warps, sums = plan.threads // 32, 128
    for name in ("store parts", "load parts"):
        one = found[name]
        assert (one.requests, one.sectors, one.lines) == (left * warps * sums, left * warps * sums * 4, one.requests)
        assert (one.memory, one.width) == ("global", 4)
    assert found["load A"].requests == whole["load A"].requests
    assert found["store C"].requests == whole["store C"].requests
    assert found["read A"].requests == whole["read A"].requests + left * warps * 2
    assert found["read B"].requests == whole["read B"].requests + left * warps * 4
    assert plan.replace(promote=2).analyze()["load totals"].requests > 0
    assert "store parts" not in whole
