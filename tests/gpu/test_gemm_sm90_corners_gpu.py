"""Corners of the Hopper kernel: few tiles a CTA, ragged clusters, more splits than steps, one box of C."""

from __future__ import annotations

import pytest

from tilewright import BFloat16, Float32, TFloat32, _core
from tilewright.devices import H200
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.sm90.choose import Config, _majors, plan_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

ALIGNED = (256, 256, 256)
PING_PONG = Config(64, 128, ping_pong=True)
# name, configuration, (m, n, k), fields to replace
CORNERS = [
    ("pingpong-1-tile", PING_PONG, (64, 128, 192), {"workers": 1}),
    ("pingpong-2-tiles", PING_PONG, (128, 128, 192), {"workers": 1}),
    ("pingpong-3-tiles", PING_PONG, (192, 128, 192), {"workers": 1}),
    ("pingpong-5-tiles-of-2", PING_PONG, (320, 128, 192), {"workers": 2}),
    ("pingpong-clusters", Config(128, 128, ping_pong=True, cluster=(2, 1)), (520, 264, 72), {"workers": 2}),
    ("cluster-2-2", Config(64, 128, 1, cluster=(2, 2)), (72, 136, 328), {}),
    ("cluster-2-2-many", Config(64, 128, 1, cluster=(2, 2)), (456, 392, 72), {"workers": 4}),
    # Steps behind a tile: fewer than stages, as many, more; in the CTA's later tiles or in the same one.
    ("cluster-few-steps", Config(64, 128, 1, cluster=(2, 1), stages=4), (300, 264, 72), {"workers": 2}),
    ("cluster-a-step-a-tile", Config(64, 128, 1, cluster=(2, 1), stages=4), (1000, 264, 64), {"workers": 2}),
    ("cluster-as-many-steps", Config(64, 128, 1, cluster=(2, 1), stages=4), (136, 264, 192), {"workers": 2}),
    ("cluster-more-steps", Config(64, 128, 1, cluster=(2, 1), stages=4), (300, 264, 712), {"workers": 4}),
    ("pingpong-clusters-1-2", Config(128, 128, ping_pong=True, cluster=(1, 2)), (392, 520, 584), {"workers": 4}),
    ("pingpong-clusters-2-tiles", Config(128, 128, ping_pong=True, cluster=(2, 1)), (512, 128, 64), {"workers": 2}),
    ("cluster-1-2", Config(128, 256, cluster=(1, 2)), (136, 264, 200), {}),
    ("splits-8-of-3", Config(64, 64, 1, split_k=2), (72, 72, 192), {"split_k": 8, "store": "pairs"}),
    ("splits-2-of-3", Config(128, 64, split_k=2), (200, 136, 192), {}),
    ("splits-4", Config(64, 32, 1, split_k=4, resident=2, stages=6), (16, 520, 1032), {}),
    ("splits-in-boxes", Config(128, 128, split_k=2, buffers=1), (200, 136, 192), {}),
    ("splits-2-stages", Config(128, 128, split_k=2, stages=2, buffers=1), (200, 136, 1032), {}),
    ("splits-3-stages", Config(128, 128, split_k=2, stages=3, buffers=1), (1000, 1000, 1000), {}),
    ("splits-two-blocks", Config(128, 128, 1, split_k=2, buffers=1), (520, 264, 456), {}),
    ("splits-4-of-a-stage", Config(64, 128, 1, split_k=4), (200, 520, 1032), {}),
    ("splits-of-one-step", Config(64, 64, 1, split_k=2), (72, 72, 128), {}),
    # The last tile along M or N has few rows, or none; boxes of it are smaller.
    ("last-rows", Config(128, 128), (132, 264, 328), {}),
    ("last-columns", Config(128, 128), (136, 137, 328), {"store": "singles"}),
    ("last-rows-shared", Config(128, 256, cluster=(1, 2)), (132, 520, 328), {}),
    ("last-rows-shared-by-2-of-8", Config(128, 128, cluster=(1, 2)), (140, 264, 328), {}),
    ("last-tile-empty", Config(128, 128, cluster=(2, 1)), (384, 264, 328), {}),
    ("last-tiles-empty", Config(64, 128, 1, cluster=(2, 2)), (320, 384, 328), {"workers": 8}),
    ("last-tile-empty-and-rows", Config(64, 128, 1, cluster=(2, 1), stages=4), (260, 264, 712), {"workers": 4}),
    ("last-rows-pingpong", Config(128, 128, ping_pong=True, cluster=(2, 1)), (396, 520, 328), {"workers": 2}),
    ("last-columns-split", Config(64, 160, 1, split_k=2), (200, 129, 1032), {"store": "singles"}),
    ("last-rows-three", Config(192, 96, 3, cluster=(1, 2)), (200, 264, 328), {}),
    # Boxes that begin inside of a group of eight rows, and of the last tile's as well.
    ("shares-of-20-rows", Config(128, 80, cluster=(4, 1)), (520, 240, 328), {}),
    ("last-shares-of-20-rows", Config(128, 80, cluster=(4, 1)), (520, 144, 328), {}),
    ("shares-of-13-rows", Config(64, 104, 1, cluster=(8, 1)), (520, 208, 328), {}),
    ("last-shares-of-13-rows", Config(64, 104, 1, cluster=(8, 1)), (392, 168, 328), {}),
    ("shares-of-52-rows", Config(128, 104, cluster=(2, 1)), (392, 200, 328), {}),
    # More rows than a box has.
    ("boxes-of-192-rows", Config(384, 48), (776, 136, 328), {}),
    ("last-boxes-of-384-rows", Config(384, 48), (520, 136, 328), {}),
    ("shares-of-384-rows", Config(384, 48, cluster=(2, 2)), (520, 136, 328), {}),
    ("one-box", Config(128, 128), (136, 264, 72), {"store_buffers": 1}),
    ("pairs", Config(128, 128), (136, 264, 72), {"store": "pairs"}),
    ("singles", Config(128, 128), (136, 264, 72), {"store": "singles"}),
]


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if _core.cuda.device(0)["compute_capability"] != (9, 0):
        pytest.skip("the device is not Hopper, and has no wgmma")


@pytest.mark.sanitized
@pytest.mark.parametrize("out", [BFloat16, Float32], ids=str)
@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner[0])
def test_corner(corner, out):
    _, config, (m, n, k), fields = corner
    p = problem_of(m, n, k, BFloat16, out=out)
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    plan = plan.replace(**fields)
    torch.manual_seed(1)
    A, B = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (m, n))
    expected = A.double() @ B.double().mT
    results = []
    for poison in (7, 9):
        C = torch.full((m, n), poison, dtype=torch.bfloat16 if out is BFloat16 else torch.float32, device="cuda")
        plan.run(A, B, C)
        results.append(C)
    assert torch.equal(*results)
    assert float((results[0].double() - expected).norm() / expected.norm()) <= 3e-3


@pytest.mark.sanitized
@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner[0])
def test_corner_through_registers(corner):
    """A of TFloat32 along M, C along M where the plan does not say how it is stored."""
    _, config, (m, n, k), fields = corner
    along = "n" if "store" in fields else "m"
    p = problem_of(m, n, k, TFloat32, a="m", c=along)
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    plan = plan.replace(**fields)
    torch.manual_seed(1)
    A, B = torch.randn(k, m, device="cuda").t(), torch.randn(n, k, device="cuda")
    expected = A.double() @ B.double().mT
    results = []
    for poison in (7.0, 9.0):
        C = torch.full((m, n) if along == "n" else (n, m), poison, device="cuda")
        C = C if along == "n" else C.t()
        plan.run(A, B, C)
        results.append(C)
    assert torch.equal(*results)
    assert float((results[0].double() - expected).norm() / expected.norm()) <= 1e-3


@pytest.mark.sanitized
@pytest.mark.parametrize("corner", [c for c in CORNERS if c[0].startswith("last")], ids=lambda corner: corner[0])
def test_what_lies_in_a_stage_behind_the_last_row_is_not_stored(corner):
    """Most of shared memory is NaN before: of a product of the same kernel with whole tiles."""
    _, config, (m, n, k), fields = corner
    p, whole = problem_of(m, n, k, BFloat16), problem_of(1536, 1536, 1024, BFloat16)
    before = plan_of(config._replace(cluster=(1, 1)), whole, _majors(whole, ALIGNED), ALIGNED, H200)
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert before is not None
    assert plan is not None
    plan = plan.replace(**fields)
    assert any(plan.ragged)
    torch.manual_seed(1)
    nothing = torch.full((1536, 1024), float("nan"), device="cuda").bfloat16()
    A, B = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (m, n))
    C, D = torch.zeros(m, n, device="cuda").bfloat16(), torch.zeros(1536, 1536, device="cuda").bfloat16()
    for _ in range(3):
        before.run(nothing, nothing, D)
        plan.run(A, B, C)
        expected = A.double() @ B.double().mT
        assert float((C.double() - expected).norm() / expected.norm()) <= 3e-3
    assert D.isnan().all()


@pytest.mark.parametrize("side", [0, 1], ids=["A", "B"])
@pytest.mark.parametrize("cluster", [(2, 1), (1, 2), (2, 2)], ids=str)
def test_clusters_wait_for_the_kernel_before(cluster, side):
    """Launches overlap, but nothing is fetched before the kernel that writes it has ended: columns are permuted."""
    n, count = 520, 40
    torch.manual_seed(2)
    p = problem_of(n, n, n, BFloat16)
    plan = plan_of(Config(64, 128, 1, cluster=cluster), p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    assert plan.programmatic
    order = torch.randperm(n, device="cuda")
    permutation = torch.eye(n, device="cuda").bfloat16()[order].contiguous()
    values = torch.randn(n, n, device="cuda").bfloat16()
    buffers = [values.clone(), torch.zeros_like(values)]
    for i in range(count):
        read, written = buffers[i % 2], buffers[1 - i % 2]
        plan.run(*((read, permutation) if side == 0 else (permutation, read)), written)
    expected = values
    for _ in range(count):
        expected = expected[:, order] if side == 0 else expected.mT[order]
    assert torch.equal(buffers[count % 2], expected)
