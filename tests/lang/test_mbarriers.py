"""mbarriers and clusters in kernels: what is handed over arrives, and planted defects are found on their line."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import tilewright as cutlass
from compiling import nvrtc
from tilewright import cute
from tilewright.lang.cpu import KernelError

N = 32


def line_of(function, text):
    """The line of a kernel's source where a text stands."""
    lines, first = inspect.getsourcelines(function.function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def findings_of(run, *args, seed=0):
    with cute.on_cpu(check=True, seed=seed), pytest.raises(KernelError) as error:
        run(*args)
    return error.value.findings


@cute.struct
class Storage:
    full: cute.struct.MemRange[cutlass.Int64, 2]
    empty: cute.struct.MemRange[cutlass.Int64, 2]
    data: cute.struct.MemRange[cutlass.Float32, 2 * N]


# ---- a producer and a consumer with two stages ----


@cute.kernel
def hand_over(x: cute.Tensor, y: cute.Tensor, rounds: cutlass.Constexpr, defect: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    storage = cutlass.utils.SmemAllocator().allocate(Storage)
    full, empty = storage.full.data_ptr(), storage.empty.data_ptr()
    data = storage.data.get_tensor(cute.make_layout((N, 2)))
    if tidx == 0:
        for i in range(2):
            cute.arch.mbarrier_init(full + i, N)
            cute.arch.mbarrier_init(empty + i, 1 if defect != "count" else 2)
    if defect != "no sync":
        cute.arch.sync_threads()
    if cute.arch.warp_idx() == 0:
        for i in range(rounds):
            stage = i % 2
            if defect != "no acquire":
                cute.arch.mbarrier_wait(empty + stage, (i // 2 + 1) % 2)  # acquire
            data[lane, stage] = x[lane, i]  # write
            if not (defect == "no commit" and i == 1):
                cute.arch.mbarrier_arrive(full + stage)
    else:
        for i in range(rounds):
            stage = i % 2
            if defect != "no wait":
                cute.arch.mbarrier_wait(full + stage, (i // 2 + (defect == "phase")) % 2)  # consume
            y[lane, i] = data[(lane + 1) % N, stage] * 2.0  # read
            cute.arch.sync_warp()
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(empty + stage)


@cute.jit
def run_hand_over(x: cute.Tensor, y: cute.Tensor, rounds: cutlass.Constexpr = 7, defect: cutlass.Constexpr = None):
    hand_over(x, y, rounds, defect).launch(block=[2 * N, 1, 1])


def arrays(rounds=7):
    x = np.random.default_rng(0).normal(size=(N, rounds)).astype(np.float32)
    return x, np.zeros_like(x)


@pytest.mark.parametrize("seed", range(4))
def test_stages_are_handed_over(seed):
    x, y = arrays()
    with cute.on_cpu(check=True, seed=seed):
        run_hand_over(x, y)
    np.testing.assert_array_equal(y, 2 * np.roll(x, -1, 0))


def test_unchecked_as_well():
    x, y = arrays()
    with cute.on_cpu(check=False):
        run_hand_over(x, y)
    np.testing.assert_array_equal(y, 2 * np.roll(x, -1, 0))


@pytest.mark.parametrize(
    ("defect", "kind", "text"),
    [
        ("no sync", "race", "# acquire"),
        ("no wait", "race", "# read"),
        ("no acquire", "deadlock", "# consume"),
        ("phase", "deadlock", "# acquire"),
    ],
)
def test_a_defect_is_found_on_its_line(defect, kind, text):
    found = findings_of(run_hand_over, *arrays(), 7, defect)
    assert (kind, line_of(hand_over, text)) in {(f.kind, f.line) for f in found}


@pytest.mark.parametrize("defect", ["no wait", "no acquire"])
def test_some_order_shows_the_race(defect):
    lines = {line_of(hand_over, "# write"), line_of(hand_over, "# read")}
    races = []
    for seed in range(1, 9):
        found = findings_of(run_hand_over, *arrays(), 7, defect, seed=seed)
        races += [f for f in found if f.kind == "race" and {f.line, f.other_place[1]} == lines]
    assert races


def test_a_missing_arrival_is_a_deadlock_that_says_who_waits_for_what():
    found = findings_of(run_hand_over, *arrays(), 7, "no commit")
    (deadlock,) = [f for f in found if f.kind == "deadlock"]
    waits = {line_of(hand_over, "# consume"), line_of(hand_over, "# acquire")}
    assert deadlock.line in waits
    (other,) = waits - {deadlock.line}
    assert f"waits in line {other}" in deadlock.message
    assert "phase 0 (parity 0) of the mbarrier at byte 8" in deadlock.message
    assert "0 of 32 arrivals" in deadlock.message


def test_a_wrong_count_is_a_deadlock():
    found = findings_of(run_hand_over, *arrays(), 7, "count")
    (deadlock,) = [f for f in found if f.kind == "deadlock"]
    assert "1 of 2 arrivals" in deadlock.message


@cute.kernel
def poll(y: cute.Tensor, arrives: cutlass.Constexpr, conditional: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    value = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int32, 1)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.sync_threads()
    if tidx == N:
        value.store(7)
        if cutlass.const_expr(arrives):
            cute.arch.mbarrier_arrive(barrier)
    if tidx < N:
        done = cute.arch.mbarrier_conditional_try_wait(cutlass.Boolean(not conditional), barrier, 0)
        while not done:
            done = cute.arch.mbarrier_test_wait(barrier, 0)  # poll
        if conditional:
            cute.arch.mbarrier_wait(barrier, 0)
        y[tidx] = value.load()


@cute.jit
def run_poll(y: cute.Tensor, arrives: cutlass.Constexpr = True, conditional: cutlass.Constexpr = False):
    poll(y, arrives, conditional).launch(block=[2 * N, 1, 1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("conditional", [False, True])
def test_tests_in_a_loop(seed, conditional):
    y = np.zeros(N, np.int32)
    with cute.on_cpu(check=True, seed=seed):
        run_poll(y, True, conditional)
    assert (y == 7).all()


def test_tests_that_never_succeed_are_a_deadlock():
    (deadlock,) = findings_of(run_poll, np.zeros(N, np.int32), False)
    assert (deadlock.kind, deadlock.line) == ("deadlock", line_of(poll, "# poll"))


@cute.kernel
def misuse(y: cute.Tensor, what: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    barriers = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 2)
    if tidx == 0:
        cute.arch.mbarrier_init(barriers, 1 if what != "init" else 0)
        if what == "twice":
            cute.arch.mbarrier_arrive(barriers, arrive_count=2)
        if what == "never":
            cute.arch.mbarrier_arrive(barriers + 1)
        if what == "phase":
            cute.arch.mbarrier_arrive(barriers)
            cute.arch.mbarrier_wait(barriers, 2)
        if what == "bytes":
            cute.arch.mbarrier_arrive_and_expect_tx(barriers, 1 << 20)
        if what == "rank":
            cute.arch.mbarrier_arrive(barriers, 1)
        y[0] = 1


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("init", "an mbarrier for 0 arrivals"),
        ("twice", "of which 1 lack, and 2 come at once"),
        ("never", "byte 8 of shared memory was never initialised"),
        ("phase", "waited for is 2"),
        ("bytes", "is to expect 1048576 bytes"),
        ("rank", "there is no CTA 1 in the cluster"),
    ],
)
def test_misuse_is_found(what, message):
    @cute.jit
    def run(y: cute.Tensor):
        misuse(y, what).launch(block=[N, 1, 1])

    found = findings_of(run, np.zeros(1, np.int32))
    assert any(f.kind == "barrier" and re.search(message, f.message) for f in found), found


def test_what_is_no_mbarrier_is_refused():
    @cute.kernel
    def wrong(y: cute.Tensor):
        cute.arch.mbarrier_arrive(y.iterator)

    with pytest.raises(TypeError, match="an mbarrier is 8 bytes of shared memory"):
        wrong(np.zeros(1, np.int64)).launch(block=1)


# ---- clusters ----


@cute.kernel
def cluster_signal(y: cute.Tensor, defect: cutlass.Constexpr):
    """Each CTA arrives at the mbarrier of its neighbour."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    ctas, _, _ = cute.arch.block_in_cluster_dim()
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
    if defect != "no fence":
        cute.arch.mbarrier_init_fence()
    if defect != "no wait":
        cute.arch.cluster_arrive_relaxed()
        cute.arch.cluster_wait()
    if tidx == 0:
        cute.arch.mbarrier_arrive(barrier, (rank + 1) % ctas)  # arrive
    if not (defect == "early" and rank == 1):
        cute.arch.mbarrier_wait(barrier, 0)
        y[tidx, bidx] = rank


@cute.jit
def run_cluster(y: cute.Tensor, ctas: cutlass.Constexpr, defect: cutlass.Constexpr = None):
    cluster_signal(y, defect).launch(grid=[y.shape[1], 1, 1], block=[N, 1, 1], cluster=[ctas, 1, 1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_ctas_of_a_cluster_run_side_by_side(ctas, seed):
    y = np.full((N, 8), -1, np.int32)
    with cute.on_cpu(check=True, seed=seed):
        run_cluster(y, ctas)
    np.testing.assert_array_equal(y, np.tile(np.arange(8) % ctas, (N, 1)))


@pytest.mark.parametrize("defect", ["no fence", "no wait"])
def test_an_mbarrier_that_the_cluster_does_not_know_yet(defect):
    found = findings_of(run_cluster, np.zeros((N, 2), np.int32), 2, defect)
    assert line_of(cluster_signal, "# arrive") in {f.line for f in found}


@cute.kernel
def some_leave(y: cute.Tensor):
    """A warp that has ended counts as one that has arrived."""
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < N:
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
        y[tidx] = tidx


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_threads_that_have_left_are_not_waited_for(ctas, seed):
    y = np.zeros(N, np.int32)
    with cute.on_cpu(check=ctas == 1, seed=seed):
        some_leave(y).launch(grid=[ctas, 1, 1], block=[4 * N, 1, 1], cluster=[ctas, 1, 1])
    np.testing.assert_array_equal(y, np.arange(N))


@cute.kernel
def exchange(y: cute.Tensor, defect: cutlass.Constexpr):
    """Each CTA reads what its neighbour has in shared memory."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    ctas, _, _ = cute.arch.block_in_cluster_dim()
    own = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int32, N)
    (own + tidx).store(100 * rank + tidx)  # own
    if defect != "no wait":
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    there = cute.make_tensor(cute.arch.mapa(own, (rank + 1) % ctas), N)
    y[tidx, bidx] = there[N - 1 - tidx]  # there
    if defect != "early":
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()


@cute.jit
def run_exchange(y: cute.Tensor, defect: cutlass.Constexpr = None):
    exchange(y, defect).launch(grid=[y.shape[1], 1, 1], block=[N, 1, 1], cluster=[2, 1, 1])


@pytest.mark.parametrize("seed", range(3))
def test_shared_memory_of_another_cta(seed):
    y = np.zeros((N, 4), np.int32)
    with cute.on_cpu(check=True, seed=seed):
        run_exchange(y)
    wanted = 100 * (1 - np.arange(4) % 2) + np.arange(N)[::-1, None]
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize(("defect", "kinds"), [("no wait", {"race", "not written"}), ("early", {"early exit"})])
def test_a_defect_of_the_exchange(defect, kinds):
    found = findings_of(run_exchange, np.zeros((N, 2), np.int32), defect)
    lines = {line_of(exchange, "# there"), line_of(exchange, "# own")}
    assert [f for f in found if f.kind in kinds and f.line in lines], found


def test_a_grid_of_no_whole_clusters():
    with pytest.raises(Exception, match="consists of no whole clusters"):
        run_cluster(np.zeros((N, 3), np.int32), 2)


def test_the_text_has_the_instructions():
    x, y = arrays()
    source = cute.compile(run_hand_over, x, y).source
    for call in ("barrier_init(", "barrier_wait(", "barrier_arrive("):
        assert call in source


@nvrtc
def test_it_compiles():
    x, y = arrays()
    compiled = cute.compile(run_hand_over, x, y)
    for instruction in ("mbarrier.init", "mbarrier.try_wait.parity", "mbarrier.arrive.shared::cta"):
        assert instruction in compiled.ptx
    clusters = cute.compile(run_cluster, np.zeros((N, 2), np.int32), 2)
    for instruction in (
        "mapa.shared::cluster", "fence.mbarrier_init.release.cluster", "barrier.cluster.arrive.relaxed.aligned",
        "barrier.cluster.wait.acquire.aligned",
    ):  # fmt: skip
        assert instruction in clusters.ptx
    assert "mapa" in cute.compile(run_exchange, np.zeros((N, 2), np.int32)).ptx
    assert "mbarrier.test_wait" in cute.compile(run_poll, np.zeros(N, np.int32)).ptx
