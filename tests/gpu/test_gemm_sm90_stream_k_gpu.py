"""Stream-K in the Hopper kernel: tiles shared along K, of every type, epilogue, store, cluster and number of shares."""

from __future__ import annotations

import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Int8, TFloat32, _core, kernels
from tilewright.devices import H200
from tilewright.kernels.common import workspace as scratch_memory
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, _majors, plan_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

TORCH = {
    BFloat16: torch.bfloat16, Float16: torch.float16, Float32: torch.float32, TFloat32: torch.float32, Int8: torch.int8,
    Float8E4M3FN: torch.float8_e4m3fn,
}  # fmt: skip
ALIGNED = (256, 256, 256)
WIDE = {"out": Float32}
LARGE, SMALL = Config(128, 256, cluster=(2, 1)), Config(64, 64, 1)
# name, configuration, (m, n, k), CTAs that share, type, more of the problem, fields to replace
CASES = [
    # One tile more than there are clusters, one less, as many; a share of one step, and shares of none.
    ("one-more", Config(128, 128), (128, 640, 1000), 4, BFloat16, {}, {}),
    ("one-less", Config(128, 128), (128, 384, 1000), 4, BFloat16, {}, {}),
    ("as-many", Config(128, 128), (128, 512, 1000), 4, BFloat16, {}, {}),
    ("rounds", Config(128, 128), (392, 1800, 456), 7, BFloat16, {}, {}),
    ("a-step-each", SMALL, (200, 200, 256), 64, BFloat16, {}, {}),
    ("more-shares-than-steps", SMALL, (200, 200, 64), 100, BFloat16, {}, {}),
    ("one-tile", SMALL, (64, 64, 8192), 132, BFloat16, {}, {}),
    ("one-cta", Config(128, 128), (300, 264, 328), 1, BFloat16, {}, {}),
    ("whole-device", LARGE, (1536, 3072, 2048), 132, BFloat16, {}, {}),
    ("whole-device-alone", Config(128, 256), (1720, 2968, 1096), 132, BFloat16, {}, {}),
    # Clusters, of which some have tiles outside of C, and shares that end within the stages.
    ("cluster-2-1", Config(128, 128, cluster=(2, 1)), (700, 392, 456), 10, BFloat16, {}, {}),
    ("cluster-1-2", Config(128, 256, cluster=(1, 2)), (392, 1400, 712), 10, BFloat16, {}, {}),
    ("cluster-2-2", Config(64, 128, 1, cluster=(2, 2)), (456, 392, 456), 12, BFloat16, {}, {}),
    ("cluster-few-steps", Config(64, 128, 1, cluster=(2, 1), stages=4), (1000, 264, 192), 10, BFloat16, {}, {}),
    ("cluster-many", Config(64, 128, 1, cluster=(2, 1)), (1000, 1000, 200), 22, BFloat16, {}, {}),
    ("cluster-idle", Config(64, 128, 1, cluster=(2, 1)), (128, 128, 128), 132, BFloat16, {}, {}),
    # Orders, types, promoted sums, three consumers.
    ("along-m-and-n", LARGE, (520, 1032, 520), 8, BFloat16, {"a": "m", "b": "n"}, {}),
    ("along-n", Config(256, 128), (520, 1032, 520), 5, Float16, {"b": "n"}, {}),
    ("promoted", Config(128, 64), (264, 520, 1032), 7, Float16, WIDE, {"promote": 2}),
    ("promoted-by-two", Config(128, 32, cluster=(2, 1)), (520, 200, 1032), 10, Float16, WIDE, {"promote": 1}),
    ("tf32", Config(128, 128, cluster=(2, 1)), (520, 392, 328), 10, TFloat32, {}, {}),
    ("tf32-through-registers", LARGE, (520, 1032, 328), 8, TFloat32, {"a": "m"}, {}),
    ("tf32-through-registers-along-m", Config(128, 128), (520, 392, 328), 7, TFloat32, {"a": "m", "c": "m"}, {}),
    ("float8", Config(128, 256), (520, 1032, 2064), 7, Float8E4M3FN, {}, {}),
    ("int8", LARGE, (520, 1032, 2064), 8, Int8, {}, {}),
    ("three-consumers", Config(192, 192, 3), (600, 1000, 520), 7, BFloat16, {}, {}),
    # Stores.
    ("pairs", Config(128, 128), (300, 394, 456), 7, BFloat16, {"pads": (0, 0, 2)}, {"store": "pairs"}),
    ("singles", Config(128, 128, cluster=(2, 1)), (300, 393, 456), 6, BFloat16, {}, {}),
    ("one-box", Config(128, 128), (300, 392, 456), 7, Float16, {}, {"store_buffers": 1}),
    # Batches.
    ("batch", Config(128, 128), (200, 264, 328), 7, BFloat16, {"batch": (3,)}, {}),
    ("batches-in-clusters", Config(128, 128, cluster=(2, 1)), (200, 264, 328), 8, Float16, {"batch": (2, 3)}, {}),
]  # fmt: skip
EPILOGUES = {
    "beta": (2.0, 0.5, None, None),
    "bias-n": (1.0, 0.0, "n", "relu"),
    "bias-m": (0.5, 1.0, "m", "gelu"),
}


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if _core.cuda.device(0)["compute_capability"] != (9, 0):
        pytest.skip("the device is not Hopper, and has no wgmma")


def stream_k_plan(config, extents, ctas, dtype, options=(), fields=()):
    p = problem_of(*extents, dtype, **dict(options))
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    plan = plan.replace(stream_k_ctas=ctas, **dict(fields))
    assert plan.ctas == ctas
    return plan


def matrix(rows, k, batch, dtype, contiguous):
    shape = (*batch[::-1], rows, k) if contiguous == "k" else (*batch[::-1], k, rows)
    x = torch.randn(shape, device="cuda")
    x = x if contiguous == "k" else x.mT
    if dtype is Int8:
        x = (x * 30).round().clamp(-128, 127)
    return x.to(TORCH[dtype])


def output(plan, value, pad=0):
    p = plan.problem
    along_n = p.c_strides[1] == 1
    extents = (*p.batch[::-1], p.m, p.n) if along_n else (*p.batch[::-1], p.n, p.m)
    made = torch.full((*extents[:-1], extents[-1] + pad), value, dtype=TORCH.get(p.c_type, torch.int32), device="cuda")
    made = made[..., : extents[-1]]
    return made if along_n else made.mT


def flags_are_zero():
    torch.cuda.synchronize()
    for _, flags, *_ in scratch_memory._kept.values():
        assert not flags.any(), "flags are zero behind a launch"


@pytest.mark.sanitized
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_shares(case):
    """Against float64; twice on the same scratch with the same bits, and others between."""
    _, config, extents, ctas, dtype, options, fields = case
    plan = stream_k_plan(config, extents, ctas, dtype, options, fields)
    (m, n, k), batch = extents, plan.problem.batch
    torch.manual_seed(1)
    A, other = (matrix(m, k, batch, dtype, options.get("a", "k")) for _ in range(2))
    B = matrix(n, k, batch, dtype, options.get("b", "k"))
    modes = (*range(len(batch), len(batch) + 2), *reversed(range(len(batch))))  # torch's to CuTe's order
    pad = options.get("pads", (0, 0, 0))[2]
    results = []
    for value, (X, Y) in ((7, (A, B)), (9, (other, B)), (3, (A, B))):
        C = output(plan, value, pad)
        plan.run(*(x.permute(modes) for x in (X, Y, C)))
        expected = X.double() @ Y.double().mT
        error = float((C.double() - expected).norm() / expected.norm())
        assert error <= (0 if dtype is Int8 else 3e-3), plan
        results.append(C)
    assert torch.equal(results[0], results[2])
    flags_are_zero()


@pytest.mark.sanitized
@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("store", ["boxes", "singles"])
@pytest.mark.parametrize("config", [Config(128, 128), LARGE], ids=["alone", "clusters"])
def test_epilogues(config, store, name):
    """C and the bias are fetched for the tiles that a CTA finishes, and for no others."""
    m, n, k = 520, 776, 584
    alpha, beta, along, activation = EPILOGUES[name]
    epilogue = Epilogue(alpha, beta, along, Float32 if along else None, 1, activation)
    plan = stream_k_plan(config, (m, n, k), 10, BFloat16, {"epilogue": epilogue}, {"store": store})
    torch.manual_seed(2)
    A, B = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (m, n))
    before = torch.randn(m, n, device="cuda").bfloat16()
    bias = torch.randn({"m": m, "n": n}[along], device="cuda") if along else None
    expected = alpha * (A.double() @ B.double().mT) + beta * before.double()
    if along:
        expected += bias.double()[:, None] if along == "m" else bias.double()
    if activation == "relu":
        expected = expected.relu()
    elif activation == "gelu":
        expected = torch.nn.functional.gelu(expected, approximate="tanh")
    results = []
    for _ in range(2):
        C = before.clone()
        plan.run(A, B, C, bias=bias)
        assert float((C.double() - expected).norm() / expected.norm()) <= 4e-3
        results.append(C)
    assert torch.equal(*results)
    flags_are_zero()


def test_many_launches_one_behind_the_other():
    """Short launches overlap; plans with more and fewer shares take the same flags and scratch in turn."""
    torch.manual_seed(3)
    m, n, k = 456, 520, 712
    A, B = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (m, n))
    expected = A.double() @ B.double().mT
    plans = [
        stream_k_plan(Config(128, 128), (m, n, k), 13, BFloat16),
        stream_k_plan(Config(128, 128, cluster=(2, 1)), (m, n, k), 14, BFloat16),
        stream_k_plan(Config(64, 128, 1, cluster=(1, 2)), (m, n, k), 132, BFloat16),
        stream_k_plan(SMALL, (m, n, k), 132, BFloat16),
    ]
    assert all(plan.programmatic for plan in plans)
    outputs = [torch.zeros(m, n, device="cuda").bfloat16() for _ in range(200)]
    for i, C in enumerate(outputs):
        plans[i % len(plans)].run(A, B, C)
    for i, C in enumerate(outputs):
        assert torch.equal(C, outputs[i % len(plans)]), i
    for C in outputs[: len(plans)]:
        assert float((C.double() - expected).norm() / expected.norm()) <= 3e-3
    flags_are_zero()


def test_a_chain_of_products_and_a_graph():
    """Each launch reads what the one before has written; a captured one has scratch of its own."""
    torch.manual_seed(4)
    n = 712
    plan = stream_k_plan(Config(128, 128, cluster=(2, 1)), (n, n, n), 22, BFloat16)
    order = torch.randperm(n, device="cuda")
    permutation = torch.eye(n, device="cuda").bfloat16()[order].contiguous()
    values = torch.randn(n, n, device="cuda").bfloat16()
    wanted = values
    for _ in range(30):
        result = torch.empty_like(values)
        plan.run(permutation, wanted.mT.contiguous(), result)  # C = A B^T
        wanted = wanted[order]
        assert torch.equal(result, wanted)
    C = torch.zeros(n, n, device="cuda").bfloat16()
    B = values.mT.contiguous()
    plan.run(permutation, B, C)
    expected = C.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        plan.run(permutation, B, C)
        plan.run(permutation, B, C)
    for _ in range(5):
        C.zero_()
        graph.replay()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(C, expected)


def test_streams_at_the_same_time():
    """CTAs of one launch may wait for places on the device: who waits for sums, waits for such as have begun before."""
    torch.manual_seed(5)
    m, n, k = 1536, 3072, 1024
    A, B = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (m, n))
    plan = stream_k_plan(LARGE, (m, n, k), 132, BFloat16)
    expected = torch.zeros(m, n, device="cuda").bfloat16()
    plan.run(A, B, expected)
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(3)]
    outputs = [torch.zeros(m, n, device="cuda").bfloat16() for _ in range(60)]
    for i, C in enumerate(outputs):
        with torch.cuda.stream(streams[i % 3]):
            plan.run(A, B, C)
    torch.cuda.synchronize()
    for C in outputs:
        assert torch.equal(C, expected)
    flags_are_zero()


def test_by_the_function():
    """kernels.gemm with such a plan, and for other sizes."""
    torch.manual_seed(6)
    A, B = (torch.randn(rows, 1000, device="cuda").half() for rows in (700, 900))
    C = torch.zeros(700, 900, device="cuda").half()
    plan = stream_k_plan(Config(128, 128, cluster=(2, 1)), (700, 900, 1000), 22, Float16)
    for rows in (700, 333, 8):
        kernels.gemm(A[:rows], B, C[:rows], plan=plan)
        expected = A[:rows].double() @ B.double().mT
        assert float((C[:rows].double() - expected).norm() / expected.norm()) <= 1e-3
