"""Stream-K in gemm_sm90: who has which steps of which tile, that nobody waits in vain, on the CPU and compiled."""

from __future__ import annotations

import itertools
import math
import pickle
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Int8, LayoutError, TFloat32, _core
from tilewright.devices import H200
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, _majors, plan_of
from tilewright.kernels.gemm.stream_k import StreamK
from tilewright.kernels.kernel import kernel_of
from tilewright.runtime.compiler import compile_program
from tilewright.runtime.discovery import kernels_folder
from tilewright.show.kernels.gemm_order import tiles_at_once

torch = pytest.importorskip("torch")

ALIGNED = (256, 256, 256)
TORCH = {
    BFloat16: torch.bfloat16, Float16: torch.float16, Float32: torch.float32, TFloat32: torch.float32, Int8: torch.int8,
    Float8E4M3FN: torch.float8_e4m3fn,
}  # fmt: skip
LARGE, SMALL = Config(128, 256, cluster=(2, 1)), Config(64, 64, 1)
BOTH = Epilogue(2.0, 0.5, "n", Float32, 1, "relu")


def stream_k_plan(config, m, n, k, ctas, dtype=BFloat16, **options):
    problem = problem_of(m, n, k, dtype, **options)
    plan = plan_of(config, problem, _majors(problem, ALIGNED), ALIGNED, H200)
    assert plan is not None
    return plan.replace(stream_k_ctas=ctas)


def matrix(rows, k, dtype, contiguous="k", batch=()):
    x = torch.randn(*batch, rows, k) if contiguous == "k" else torch.randn(*batch, k, rows).mT
    if dtype is Int8:
        x = (x * 30).round().clamp(-128, 127)
    return x.to(TORCH[dtype])


# ---- who has which steps ---------------------------------------------------------------------------------------------


def pieces_of_kernel(plan, worker):
    """What Sm90StreamK::Work makes of a plan's parameter: (tile, begin, end, share or None, steps behind) in order."""
    words = struct.unpack("<11I", plan.stream_k.packed())
    of_steps, of_group, (workers, shared, together, least, longer) = words[:3], words[3:6], words[6:]
    steps, tiles = of_steps[0], math.prod(plan.tiles()) * plan.problem.batches

    def divide(x, divisor=of_steps):
        _, multiplier, shift = divisor
        return x if multiplier == 0 else x * multiplier >> 32 >> shift

    def begin_of(index):
        before = divide(index, of_group)
        within = index - before * of_group[0]
        return min(before * together + within * least + min(within, longer), shared * steps)

    index = workers - 1 - worker
    at, last, whole = begin_of(index), begin_of(index + 1), shared + worker
    found = []
    while True:
        if at < last:
            tile = divide(at)
            begin = at - tile * steps
            end = min(steps, begin + last - at)
            piece = min(end - begin, last - at)
            at += piece
            share = index
        else:
            tile, begin, share = whole, 0, None
            whole += workers
            end = steps if tile < tiles else 0
        if tile >= tiles:
            return found
        later = (tiles - 1 - whole) // workers + 1 if whole < tiles else 0
        found.append((tile, begin, end, share, last - at + later * steps))


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 9), st.integers(1, 7), st.integers(1, 700), st.integers(1, 30), st.sampled_from([(), (2,), (2, 3)]),
    st.sampled_from([(1, 1), (2, 1), (1, 2), (2, 2)]),
)  # fmt: skip
def test_every_step_is_somebodys_and_sums_are_there_before(m, n, k, workers, batch, cluster):
    """By the kernel's own numbers, in the order in which clusters begin; and the CPU's work is the same."""
    k = -(-k // 8) * 8
    plan = stream_k_plan(
        Config(64, 64, 1, cluster=cluster), 64 * m, 64 * n, k, workers * math.prod(cluster), batch=batch
    )
    shares, steps = plan.stream_k, plan.stream_k.steps
    seen, left, taken = {}, {}, []
    for worker in range(shares.workers):
        pieces = pieces_of_kernel(plan, worker)
        for i, (tile, begin, end, share, behind) in enumerate(pieces):
            assert behind == sum(piece[2] - piece[1] for piece in pieces[i + 1 :])
            seen.setdefault(tile, []).append((begin, end))
            if begin > 0:
                assert i == 0, "sums are left before anything is waited for"
                left[share] = worker
            elif end < steps:
                other = share + 1
                while shares.bounds[other] < (tile + 1) * steps:
                    assert left[other] < worker, "it waits for a cluster that begins later"
                    taken.append(other)
                    other += 1
    assert sorted(taken) == sorted(left), "every flag that is raised is taken down, once"
    assert sorted(seen) == list(range(shares.tiles))
    for pieces in seen.values():
        assert list(itertools.chain(*sorted(pieces)))[::2] == [0, *(end for _, end in sorted(pieces))][:-1]
        assert sum(end - begin for begin, end in pieces) == steps
    by_tile = {}
    for *tile, first, count in plan.tables().work.tolist():
        by_tile.setdefault(tuple(tile), []).append((first, first + count))
    assert len(by_tile) == m * n * math.prod(batch)
    for (m_tile, n_tile, matrix_of), pieces in by_tile.items():
        tiles_m, tiles_n = plan.tiles()
        at = m_tile // cluster[0], n_tile // cluster[1]
        group = min(plan.tile_run, tiles_m)
        first = at[0] // group * group
        rows = min(group, tiles_m - first)
        number = matrix_of * tiles_n * tiles_m + first * tiles_n + at[1] * rows + at[0] - first
        assert pieces == sorted(seen[number])


def test_of_long_rows_many_shares_begin_at_the_same_step_and_others_are_equal():
    long = stream_k_plan(LARGE, 1536, 3072, 8192, 132)
    pieces = [pieces_of_kernel(long, worker) for worker in range(66)]
    assert max(sum(end - begin for _, begin, end, *_ in found) for found in pieces) == 144  # 72 tiles of 128 steps
    begins = [found[0][1] for found in pieces if found[0][3] is not None]
    assert len(set(begins)) <= long.stream_k.group[1] < 20
    short = stream_k_plan(LARGE, 5000, 5000, 5000, 132)
    work = [sum(end - begin for _, begin, end, *_ in pieces_of_kernel(short, worker)) for worker in range(66)]
    assert max(work) - min(work) <= 1


@given(st.integers(1, 140), st.integers(0, 900), st.integers(1, 300))
def test_groups_cover_all_shared_tiles(workers, tiles, steps):
    shares = StreamK(workers, tiles, steps, in_step=True)
    assert shares.bounds == sorted(shares.bounds)
    assert (shares.bounds[0], shares.bounds[-1]) == (0, shares.shared * steps)
    longest = max(b - a for a, b in itertools.pairwise(shares.bounds))
    assert longest == (shares.longest if shares.shared else 0)
    assert longest <= steps


# ---- on the CPU ------------------------------------------------------------------------------------------------------


def run(plan, a, b, c, bias=None, **options):
    addresses = (x.data_ptr() for x in (a, b, c))
    return run_on_host(plan, *addresses, 0 if bias is None else bias.data_ptr(), **options)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 400), st.integers(1, 400), st.integers(1, 60), st.integers(1, 12), st.integers(0, 3),
    st.sampled_from([Config(64, 64, 1), Config(128, 64), Config(64, 128, 1), Config(192, 96, 3)]),
    st.sampled_from([(1, 1), (2, 1), (1, 2), (2, 2)]), st.integers(0, 2**31),
)  # fmt: skip
def test_the_cpu_adds_the_same_whatever_its_threads(m, n, k, workers, promote, config, cluster, seed):
    torch.manual_seed(seed)
    k *= 8
    plan = stream_k_plan(config._replace(cluster=cluster), m, n, k, workers * math.prod(cluster), out=Float32).replace(
        promote=promote
    )
    A, B = matrix(m, k, BFloat16), matrix(n, k, BFloat16)
    results = []
    for threads in (1, 2, 5):
        C = torch.full((m, n), 7.0)
        run(plan, A, B, C, threads=threads)
        results.append(C)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
    reference = A.double() @ B.double().t()
    assert (results[0] - reference).norm() <= 1e-5 * reference.norm()
    report = run(plan, A, B, results[0], check=True)
    assert report, str(report)


@pytest.mark.parametrize("swapped", [False, True], ids=["C", "C transposed"])
@pytest.mark.parametrize(
    ("config", "ctas", "dtype", "options"),
    [
        (LARGE, 10, BFloat16, {"a": "m", "b": "n"}),
        (Config(128, 128, cluster=(1, 2)), 6, Float16, {"b": "n"}),
        (Config(128, 128), 5, TFloat32, {}),
        (Config(128, 128), 5, TFloat32, {"a": "m"}),
        (Config(128, 128, cluster=(2, 1)), 6, Float8E4M3FN, {}),
        (Config(128, 64), 7, Int8, {}),
        (SMALL, 132, BFloat16, {"out": Float32}),
    ],
    ids=str,
)
def test_types_and_orders(config, ctas, dtype, options, swapped):
    torch.manual_seed(0)
    m, n, k = 392, 520, 656
    plan = stream_k_plan(config, m, n, k, ctas, dtype, **options).replace(swapped=swapped)
    A, B = matrix(m, k, dtype, options.get("a", "k")), matrix(n, k, dtype, options.get("b", "k"))
    assert plan.problem.c_type in (dtype, Float32, BFloat16) or dtype is Int8
    C = torch.full((m, n), 7, dtype=TORCH.get(plan.problem.c_type, torch.int32))
    assert run(plan, A, B, C, check=True)
    reference = A.double() @ B.double().t()
    run(plan, A, B, C)
    assert (C.double() - reference).norm() <= (0 if dtype is Int8 else 3e-3) * reference.norm()
    assert pickle.loads(pickle.dumps(plan)) == plan != plan.replace(stream_k_ctas=0)
    assert f"stream-K   {ctas} CTAs share {plan.stream_k_tiles} tiles along K" in str(plan)
    assert "stream-K" not in str(plan.replace(stream_k_ctas=0))


def test_the_epilogue_finishes_all_of_a_sum():
    torch.manual_seed(0)
    m, n, k = 300, 264, 712
    plan = stream_k_plan(Config(128, 128, cluster=(2, 1)), m, n, k, 8, epilogue=BOTH)
    A, B, bias = matrix(m, k, BFloat16), matrix(n, k, BFloat16), torch.randn(n)
    before = torch.randn(m, n).bfloat16()
    C = before.clone()
    run(plan, A, B, C, bias)
    wanted = (2 * (A.double() @ B.double().t()) + 0.5 * before.double() + bias.double()).relu()
    assert (C.double() - wanted).norm() <= 4e-3 * wanted.norm()


def test_other_sizes():
    plan = stream_k_plan(Config(128, 128, cluster=(2, 1)), 700, 392, 456, 10)
    for m, n, k in ((8, 8, 8), (1000, 520, 72)):
        A, B, C = matrix(m, k, BFloat16), matrix(n, k, BFloat16), torch.zeros(m, n).bfloat16()
        other = plan.for_problem(problem_of(m, n, k, BFloat16))
        assert other.stream_k_ctas == 10
        run(other, A, B, C)
        reference = A.double() @ B.double().t()
        assert (C.double() - reference).norm() <= 3e-3 * reference.norm()
    many = plan.replace(stream_k_ctas=132)
    most = many.for_problem(problem_of(8, 8, 2**31 - 2048, BFloat16, batch=(65,)))
    assert most.stream_k_ctas == 0, "more steps than the kernel counts"
    with pytest.raises(LayoutError, match=r"66 clusters share 65 tiles of 33554400 steps.*2\^31; use stream_k_ctas=0"):
        many.replace(problem=most.problem)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stream_k_ctas": -1}, "stream_k_ctas is -1, but it must be an integer from 0 on"),
        ({"stream_k_ctas": 7}, "stream_k_ctas is 7, but whole clusters of 2 CTAs share tiles; use a multiple of 2"),
        ({"stream_k_ctas": 134}, "stream_k_ctas is 134, but CTAs that share tiles stay, which 132 do; use at most"),
        ({"split_k": 2, "cluster_mn": (1, 1), "store": "singles"}, "CTAs of a split and those in ping-pong share no"),
    ],
)
def test_what_cannot_be_shared(fields, message):
    plan = stream_k_plan(Config(128, 128, cluster=(2, 1)), 512, 512, 512, 6)
    with pytest.raises((TypeError, LayoutError), match=message):
        plan.replace(**fields)
    ping_pong = stream_k_plan(Config(128, 128, ping_pong=True), 512, 512, 512, 0)
    with pytest.raises(LayoutError, match="those in ping-pong share no tiles; use 0"):
        ping_pong.replace(stream_k_ctas=4)


# ---- launches --------------------------------------------------------------------------------------------------------


def test_a_launch_takes_flags_and_scratch(monkeypatch):
    """Of each CTA that shares a tile of sums, and of each of its consumers a flag; their addresses are in place."""
    monkeypatch.setattr(_core.cuda, "encode_tensor_map", lambda *args, **options: bytes(128))
    plan = stream_k_plan(LARGE, 1536, 3072, 8192, 132)
    assert plan.scratch == (4 * 2 * 132, 4 * 128 * 256 * 132)
    assert (plan.ctas, plan.stream_k_tiles) == (132, 12)
    assert plan.replace(stream_k_ctas=66).grid() == (66, 1, 1)
    (launch,) = plan.launches((None, None, None, None))
    assert launch.workspace == (*plan.scratch, 0)
    assert launch.grid == (132, 1, 1)
    at = {argument: offset for argument, offset, _ in launch.pointers}
    assert (at[5], at[4]) == (len(launch.params) - 64, len(launch.params) - 56)
    assert launch.params[-48:-4] == plan.stream_k.packed()
    assert stream_k_plan(LARGE, 1536, 3072, 8192, 0).scratch == (0, 0)
    whole = plan.replace(stream_k_ctas=0)
    assert [x for x in launch.pointers if x[0] < 4] == whole.pointers()
    assert launch.params[: len(whole.params())] == whole.params()


@pytest.mark.parametrize(
    ("config", "dtype", "options"),
    [
        (LARGE, BFloat16, {}),
        (Config(128, 128), TFloat32, {"a": "m", "batch": (2, 3)}),
        (Config(128, 64), Float16, {"epilogue": BOTH, "batch": (2,)}),
        (Config(64, 64, 1), Int8, {"batch": (2, 3, 4)}),
    ],
    ids=str,
)
def test_the_parameter_lies_as_the_kernel_has_it(compiler, monkeypatch, config, dtype, options):
    """Asserted by the compiler, in a program that has nothing else."""
    monkeypatch.setattr(_core.cuda, "encode_tensor_map", lambda *args, **options: bytes(128))
    for m, n in ((512, 512), (200, 264)):  # boxes of the last tiles are whole, and ragged
        plan = stream_k_plan(config, m, n, 512, 4, dtype, **options)
        template = plan.name.removeprefix("gemm_sm90<").removesuffix(">")
        size, at = len(plan.params()), plan._stream_k_at
        text = (kernels_folder() / "gemm_sm90.cuh").read_text() + (
            f"\nusing Asked = {template};\n"
            f"static_assert(sizeof(typename Asked::Params) == {size});\n"
            f"static_assert(sizeof(typename Asked::Whole) == {at});\n"
            f"static_assert(alignof(decltype(Asked::Params::stream_k)) <= 64 && sizeof(Asked::StreamK) == 64);\n"
        )
        compile_program(
            "gemm_sm90", ["probe<Asked>"], "sm_90a", source=text + "template <class T> __global__ void probe() {}\n"
        )


# ---- compiled --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "dtype", "options"),
    [
        (LARGE, BFloat16, {}),
        (Config(128, 256), BFloat16, {"epilogue": BOTH}),
        (Config(256, 128, cluster=(2, 1)), Float16, {"a": "m", "b": "n"}),
        (Config(64, 128, 1, cluster=(1, 2)), BFloat16, {"out": Float32}),
        (LARGE, TFloat32, {"a": "m", "c": "m"}),
        (Config(256, 128), TFloat32, {}),
        (Config(128, 256, cluster=(1, 2)), Int8, {}),
        (LARGE, Float8E4M3FN, {}),
        (Config(128, 32, cluster=(2, 1)), Float16, {"out": Float32, "batch": (2,)}),
    ],
    ids=str,
)
def test_instantiations_compile_without_spills(compiler, config, dtype, options):
    """And sums are moved by 16 bytes."""
    plan = stream_k_plan(config, 4096, 4096, 4096, 132, dtype, **options)
    program = plan.compile("sm_90a")
    report = program.report[plan.name]
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)
    assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"
    units = plan.tiler_mnk[0] // 64 // plan.consumers * plan.tiler_mnk[1] // 8
    assert program.ptx.count("st.global.cg.v4") == program.ptx.count("ld.global.cg.v4") == units
    for text in ("st.release.gpu", "ld.acquire.gpu"):
        assert program.ptx.count(text) == 1


def test_plans_without_shares_are_of_the_same_kernel_as_before():
    plan = stream_k_plan(LARGE, 4096, 4096, 4096, 0)
    assert plan.name.endswith(", 4, 2, false, 2, 1, 1, 0, 2, 2>>")
    assert plan.replace(stream_k_ctas=66).name.endswith(", 4, 2, false, 2, 1, 1, 0, 2, 2, 0, true>>")
    assert plan.replace(promote=3, stream_k_ctas=66).name.endswith(", 2, 2, 3, true>>")


# ---- prediction ------------------------------------------------------------------------------------------------------


def test_analysis_counts_what_shares_add():
    """Sums that are left and taken once each; nothing else is done more often."""
    plan = stream_k_plan(Config(128, 128, cluster=(2, 1)), 700, 392, 456, 10)
    found = {x.name: x for x in kernel_of(plan).accesses(plan, (0, 0, 0, 0)).instructions}
    whole = plan.replace(stream_k_ctas=0)
    before = {x.name: x for x in kernel_of(whole).accesses(whole, (0, 0, 0, 0)).instructions}
    left = 2 * sum(begin % plan.stream_k.steps > 0 for begin in plan.stream_k.bounds[:-1])  # of CTAs
    assert left > 0
    for name in ("store parts", "load parts"):
        one = found.pop(name)
        assert (one.requests, one.sectors) == (left * 128 * 128 // 128, left * 128 * 128 * 4 // 32)
        assert (one.memory, one.width) == ("global", 16)
    assert [x.requests for x in found.values()] == [x.requests for x in before.values()]


@pytest.mark.parametrize(("n", "k"), [(392, 1000), (392, 8192), (512, 8192), (640, 8192)])
def test_the_picture_shows_the_tiles_that_are_begun(n, k):
    """With equal shares, and in step: with clusters without a share, where few tiles are shared, or none."""
    plan = stream_k_plan(Config(128, 128, cluster=(2, 1)), 1400, n, k, 10)
    tiles, _ = tiles_at_once(plan)
    begun = {pieces_of_kernel(plan, worker)[0][0] for worker in range(plan.stream_k.workers)}
    assert set(tiles) == {(tile % 6 * 2 + i, tile // 6) for tile in begun for i in range(2)}
