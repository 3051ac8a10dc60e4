"""GEMMs on a GPU against float64, with cuBLAS's error as the measure: any shapes, types and orders in memory, batches,
epilogues, streams, graphs, torch.compile."""

from __future__ import annotations

import random

import pytest

from tilewright import _core, cute, kernels

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

from compile_plans import SANITIZED, compile_all  # noqa: E402
from copies import DEVICE, on_cpu  # noqa: E402
from gemm_samples import KINDS, Sample, assert_right, bound, error, exact, numbers, pattern, sample  # noqa: E402

sanitized = pytest.mark.sanitized
gemm = kernels.gemm
SAMPLES = [sample(number) for number in range(540)]
ALIGNED = [
    Sample(kind, *shape, (a, b, "n"))
    for kind in KINDS
    for shape in ((256, 512, 384), (1024, 2048, 512), (4096, 4096, 1024))
    for a in "km"
    for b in "kn"
]
SMALL = [s for s in SAMPLES if s.m * s.n * s.k <= 300**3][:40]  # under compute-sanitizer
SLOW = 100_000_000  # cycles: 50 ms or more
STEMS = ("gemm_simt", "gemm_sm80", "gemm_sm90")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def normal(*shape, dtype=torch.bfloat16):
    return numbers(dtype, torch.Size(shape).numel()).view(shape)


# ---- any shapes, types and orders ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled():
    """All kernels of the samples are in the cache."""
    plans = []
    for one in (*SAMPLES, *ALIGNED):
        a, b, c, _ = one.operands(filled=False)
        plan = gemm.plan(a, b, c, **one.of.keywords)
        plans.append(plan)
    compile_all(plans)


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_any_gemm(compiled, number):
    one = SAMPLES[number]
    assert_right(one, lambda a, b, c: gemm(a, b, c, **one.of.keywords))


@sanitized
@pytest.mark.parametrize("number", range(len(SMALL)))
def test_small_gemms(number):
    one = SMALL[number]
    assert_right(one, lambda a, b, c: gemm(a, b, c, **one.of.keywords))


@pytest.mark.parametrize("number", range(len(ALIGNED)))
def test_aligned_matrices(compiled, number):
    """What the fastest kernels are made for."""
    one = ALIGNED[number]
    assert_right(one, lambda a, b, c: gemm(a, b, c, **one.of.keywords))


def plans_of(stem, one, *, many):
    """The plans of a kernel for a sample: the one that it chooses, or some of those that tuning tries."""
    from tilewright.kernels.common.launch import facts_of
    from tilewright.kernels.gemm.operands import gemm_operands
    from tilewright.kernels.gemm.request import GemmRequest
    from tilewright.kernels.kernel import registered

    a, b, c, _ = one.operands(filled=False)
    operands = gemm_operands("test", a, b, c, GemmRequest(allow_tf32=one.of.tf32))
    kernel = next(kernel for kernel in registered() if kernel.stem == stem)
    if not many:
        plan = kernel.choose(operands.problem, operands.alignments, facts_of(0))
        return [plan] if plan else []
    found = list(kernel.variants(operands.problem, operands.alignments))
    return random.Random(0).sample(found, min(6, len(found)))


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("many", [False, True], ids=["chosen", "variants"])
def test_each_kernel(stem, many):
    """Also those that are not chosen here, on what they take."""
    tried = [s for s in SAMPLES if s.m * s.n * s.k <= 1000**3]
    aligned = [Sample(kind, 384, 512, 320) for kind in KINDS]
    pairs = [
        (one, plan)
        for one in (*aligned, *([] if many else tried[: 3 * 40 : 3]))
        for plan in plans_of(stem, one, many=many)
    ]
    compile_all([plan for _, plan in pairs])
    for one, plan in pairs:
        assert_right(one, lambda a, b, c, plan=plan: plan.run(a, b, c), in_order=many)
    if stem != "gemm_sm90" or torch.cuda.get_device_capability() == (9, 0):
        assert len(pairs) >= 4


def test_float64_is_rounded_as_well_as_by_cublas():
    """Against sums in 80-bit floats, which show the errors of both."""
    numpy = pytest.importorskip("numpy")
    for m, n, k in ((64, 48, 1000), (33, 17, 4097), (1, 4096, 4096), (200, 300, 500)):
        a, b = (torch.randn(rows, k, dtype=torch.float64, device=DEVICE) for rows in (m, n))
        wide = [x.cpu().numpy().astype(numpy.longdouble) for x in (a, b)]
        expected = wide[0] @ wide[1].T
        found = [numpy.linalg.norm((x.cpu().numpy() - expected).astype(float)) for x in (gemm(a, b), a @ b.t())]
        assert found[0] <= 1.1 * found[1], (m, n, k)


@sanitized
def test_empty_and_k_0():
    for m, n in ((0, 5), (5, 0), (0, 0)):
        c = torch.empty(m, n, dtype=torch.bfloat16, device=DEVICE)
        assert gemm(normal(m, 8), normal(n, 8), c) is c
    c = normal(40, 24, dtype=torch.float32)
    a, b = (torch.empty(rows, 0, dtype=torch.float32, device=DEVICE) for rows in (40, 24))
    before = c.clone()
    gemm(a, b, c, beta=0.5, bias=torch.ones(24, device=DEVICE))
    torch.testing.assert_close(c, 0.5 * before + 1)
    assert not gemm(a, b, c).any()


# ---- memory ----------------------------------------------------------------------------------------------------------


def needs_memory(gigabytes):
    free = torch.cuda.mem_get_info()[0] >> 30
    if free < gigabytes:
        pytest.skip(f"{gigabytes} GiB of device memory are needed, {free} are free")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int8])
def test_offsets_beyond_2_31(dtype):
    """Few elements, far from each other: rows, columns, or both operands; and a result."""
    needs_memory(24)
    far = torch.empty(2**31 + 9000, dtype=dtype, device=DEVICE)
    out = torch.int32 if dtype == torch.int8 else dtype
    for rows, k, strides in ((3, 1000, (2**30 + 16, 1)), (1000, 3, (1, 2**30 + 16)), (3, 77, (2**30 + 1, 7))):
        a, b = far.as_strided((rows, k), strides), normal(64, k, dtype=dtype)
        a.copy_(normal(rows, k, dtype=dtype))
        close = a.contiguous()
        assert error(gemm(a, b), exact(close, b)) < 0.01
        assert error(gemm(b, a), exact(b, close)) < 0.01
    if out == dtype:
        a, b = normal(3, 256, dtype=dtype), normal(1000, 256, dtype=dtype)
        for c in (far.as_strided((3, 1000), (2**30 + 16, 1)), far.as_strided((3, 1000), (2**30 + 1, 5))):
            gemm(a, b, c)
            assert error(c, exact(a, b)) < 0.01


def test_a_result_of_more_than_2_31_elements():
    needs_memory(16)
    m, n, k = 46344, 46352, 64
    a, b = normal(m, k), normal(n, k)
    c = torch.empty(m, n, dtype=torch.bfloat16, device=DEVICE)
    gemm(a, b, c)
    for begin in range(0, m, 8192):
        rows = slice(begin, begin + 8192)
        theirs = a[rows] @ b.t()
        assert error(c[rows], theirs.double()) < 0.005, begin


def test_a_bias_along_more_than_2_31_rows():
    needs_memory(24)
    m, k = 2**31 + 1000, 1
    a = torch.empty(m, dtype=torch.float16, device=DEVICE).normal_()
    bias = torch.empty(m, dtype=torch.float16, device=DEVICE).normal_()
    b = normal(1, k, dtype=torch.float16)
    c = torch.empty(m, 1, dtype=torch.float16, device=DEVICE)
    gemm(a.view(m, 1), b, c, bias=bias.view(m, 1))
    for begin in (0, 2**31 - 1000):
        rows = slice(begin, begin + 2000)
        expected = a[rows, None].double() * b.double() + bias[rows, None].double()
        assert error(c[rows], expected) < 2e-3, begin


@sanitized
@pytest.mark.parametrize("kind", ["bf16", "fp32", "e4m3", "int8"])
@pytest.mark.parametrize("start", [1, 2, 4, 8, 15])
def test_misaligned_slices(kind, start):
    one = Sample(kind, 130, 70, 100)
    a, b, c, _ = Sample(kind, 160, 100, 140).operands()
    parts = a[start : start + 130, start : start + 100], b[3:73, start : start + 100]
    c = c[start : start + 130, start : start + 70]
    gemm(*parts, c)
    expected = exact(*parts)
    assert error(c, expected) <= bound(one.of, *parts, expected)


def test_negative_strides_of_cupy():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    a, b = cupy.random.standard_normal((70, 50)), cupy.random.standard_normal((30, 50))
    c = cupy.zeros((70, 30))
    gemm(a[::-1, ::-1], b[:, ::-1], c[::-1])
    cupy.testing.assert_allclose(c, a @ b.T, rtol=1e-12, atol=1e-12)


# ---- batches ---------------------------------------------------------------------------------------------------------

# Extents (M,N,K) and batch modes; those of A and B, of which some are 1 or missing.
BATCHES = {
    "one mode": ((64, 96, 80), (5,), (5,), (5,)),
    "two modes": ((33, 65, 40), (3, 4), (3, 4), (3, 4)),
    "three modes": ((16, 32, 24), (2, 3, 4), (2, 3, 4), (2, 3, 4)),
    "A for all": ((64, 96, 80), (6,), (1,), (6,)),
    "B for all": ((64, 96, 80), (6,), (6,), ()),
    "A and B cross": ((40, 56, 72), (3, 5), (3, 1), (1, 5)),
    "many": ((17, 31, 64), (300,), (300,), (300,)),
}


@sanitized
@pytest.mark.parametrize("kind", ["bf16", "fp32", "int8"])
@pytest.mark.parametrize("name", BATCHES)
def test_batches(kind, name):
    (m, n, k), batch, of_a, of_b = BATCHES[name]
    types = KINDS[kind]

    def side(rows, columns, modes, dtype):
        """(rows, columns, batch modes), which lie outside in memory."""
        return normal(*modes, rows, columns, dtype=dtype).permute(len(modes), len(modes) + 1, *range(len(modes)))

    a, b = side(m, k, of_a, types.a), side(n, k, of_b, types.b)
    c = pattern(types.c, m * n * torch.Size(batch).numel()).view(*batch, m, n)
    c = c.permute(len(batch), len(batch) + 1, *range(len(batch)))
    assert gemm(a, b, c) is c

    def outside(x):
        x = x.reshape(*x.shape, *(1,) * (2 + len(batch) - x.dim()))
        return x.permute(*range(2, x.dim()), 0, 1)

    expected = exact(outside(a), outside(b))
    assert error(outside(c), expected) <= {"bf16": 2**-8, "fp32": 1e-6, "int8": 0}[kind]


@sanitized
def test_broadcast_strides():
    a, b = normal(1, 64).expand(96, 64), normal(48, 1).expand(48, 64)
    assert error(gemm(a, b), exact(a, b)) < 0.005
    a = normal(1, 64, 80).expand(7, 64, 80).permute(1, 2, 0)
    b = normal(7, 32, 80).permute(1, 2, 0)
    c = torch.ones(7, 64, 32, dtype=torch.bfloat16, device=DEVICE).permute(1, 2, 0)  # initcheck misses TMA's writes
    gemm(a, b, c)
    assert error(c.permute(2, 0, 1), exact(a.permute(2, 0, 1), b.permute(2, 0, 1))) < 0.005


# ---- epilogues -------------------------------------------------------------------------------------------------------

ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}


# alpha, beta, and what the shape of the bias is for M and N.
SCALES = [(0.125, 0, None), (1, 1, None), (-0.5, 2, lambda m, n: (n,)), (1, 0, lambda m, n: (m, 1)),
          (0.25, 0.5, lambda m, n: (1, n))]  # fmt: skip
SHAPES = [((256, 128, 64), "n"), ((100, 75, 33), "n"), ((128, 64, 96), "m")]


@sanitized
@pytest.mark.parametrize("kind", ["bf16", "bf16 to fp32", "fp32", "fp64", "e4m3"])
def test_epilogues(kind):
    """Each activation with two of the scales and biases, on any of the shapes."""
    types = KINDS[kind]
    calls = []
    for number, activation in enumerate(ACTIVATIONS):
        for alpha, beta, bias_of in (SCALES[number], SCALES[(number + 2) % len(SCALES)]):
            shape, order = SHAPES[len(calls) % len(SHAPES)]
            a, b, c, _ = Sample(kind, *shape, ("k", "k", order)).operands()
            if beta:
                c.copy_(normal(*c.shape, dtype=torch.float32))
            bias = None if bias_of is None else normal(*bias_of(*c.shape), dtype=types.c)
            told = {"alpha": alpha, "beta": beta, "bias": bias, "activation": activation}
            calls.append((a, b, c, told))
    plans = [gemm.plan(a, b, c, **told) for a, b, c, told in calls]
    compile_all(plans)
    for a, b, c, told in calls:
        expected = told["alpha"] * exact(a, b)
        if told["beta"]:
            expected += told["beta"] * c.double()
        if told["bias"] is not None:
            expected += told["bias"].double()
        expected = ACTIVATIONS[told["activation"]](expected)
        gemm(a, b, c, **told)
        rounding = error(expected.to(types.c), expected)
        slack = 1e-11 if kind == "fp64" else 2e-4 if kind == "e4m3" else 4e-6
        assert error(c, expected) <= 1.1 * rounding + slack, told


def test_output_types():
    for kind, outs in (
        ("bf16", (torch.float32, torch.float16)),
        ("e4m3", (torch.float32, torch.float8_e4m3fn)),
        ("int8", (torch.float32,)),
    ):
        a, b, _, _ = Sample(kind, 128, 192, 64).operands()
        for out in outs:
            found, expected = gemm(a, b, out_dtype=out), exact(a, b)
            assert found.dtype == out
            assert error(found, expected) <= 1.1 * error(expected.to(out), expected) + 1e-4, (kind, out)


# ---- tiles that are shared along K -----------------------------------------------------------------------------------


def shared(a, b, c, tile, stream_k_ctas, **keywords):
    """The plan of gemm_simt in a tile for these, with so many shares."""
    from tilewright.kernels.common.launch import facts_of
    from tilewright.kernels.gemm.operands import gemm_operands
    from tilewright.kernels.gemm.request import GemmRequest
    from tilewright.kernels.gemm.simt.build import plan_of_tile
    from tilewright.kernels.gemm.simt.tiles import SimtTiles

    operands = gemm_operands("test", a, b, c, GemmRequest(**keywords))
    facts = facts_of(0)
    return plan_of_tile(operands.problem, operands.alignments, SimtTiles.of(facts).tiles[tile], facts, stream_k_ctas)


@pytest.mark.parametrize("how", ["launches", "graph"])
@pytest.mark.parametrize(
    ("shape", "tile", "stream_k_ctas"),
    [
        ((2048, 2048, 512), 0, 200),
        pytest.param((130, 70, 1000), 5, 60, marks=sanitized),
        pytest.param((200, 140, 99), 0, 3, marks=sanitized),
        ((1024, 1536, 2000), 3, 792),
        ((64, 64, 8192), 6, 264),
        ((300, 300, 4096), 7, 132),
    ],
    ids=str,
)
def test_shares_of_tiles_wait_for_each_other(shape, tile, stream_k_ctas, how):
    """All bits, many times: those of the same pieces of K, one after the other, added up."""
    if SANITIZED and how == "graph":
        pytest.skip("without its cache torch's allocator makes no memory while a graph is captured")
    m, n, k = shape
    a, b = normal(m, k, dtype=torch.float32), normal(n, k, dtype=torch.float32)
    c = torch.full((m, n), float("nan"), device=DEVICE)
    plan = shared(a, b, c, tile, stream_k_ctas).replace(promote=0)
    assert plan.stream_k_tiles
    plan.run(a, b, c)
    expected = c.clone()
    assert error(c, exact(a, b)) < 1e-6
    if plan.sliced_k == 1:
        (bm, bn, step), alone = plan.tiler_mnk, plan.replace(stream_k_ctas=0)
        pieces = {}
        for tile_m, tile_n, _, first, count in plan.tables().work.tolist():
            pieces.setdefault((tile_m, tile_n), []).append((first, count))
        for (i, j), own in [*pieces.items()][:: max(len(pieces) // 8, 1)]:
            rows, columns = slice(i * bm, (i + 1) * bm), slice(j * bn, (j + 1) * bn)
            sums = 0
            for first, count in own:
                depth = slice(first * step, (first + count) * step)
                x, y = a[rows, depth], b[columns, depth]
                part = torch.empty(x.shape[0], y.shape[0], device=DEVICE)
                alone.run(x, y, part)
                sums = sums + part
            assert torch.equal(c[rows, columns], sums)
    bound = plan.bind(a, b, c)
    if how == "graph":
        bound()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            bound()
        bound = graph.replay
    for _ in range(30):
        c.fill_(float("nan"))
        bound()
        assert torch.equal(c, expected)
    bias, before = normal(n, dtype=torch.float32), normal(m, n, dtype=torch.float32)
    keywords = {"alpha": 0.5, "beta": 2, "bias": bias, "activation": "relu"}
    c.copy_(before)
    shared(a, b, c, tile, stream_k_ctas, **keywords).run(a, b, c, bias=bias)
    right = torch.relu(0.5 * exact(a, b) + 2 * before.double() + bias.double())
    assert error(c, right) < 1e-6


@pytest.mark.parametrize(
    "shape", [pytest.param((132, 140, 44), marks=sanitized), (133, 131, 45), (300, 260, 16)], ids=str
)
def test_totals_in_shared_memory(shape):
    """Those of threads of 8 x 16 sums; C by 16 bytes, and by way of the same shared memory."""
    from tilewright.devices import H200
    from tilewright.kernels.gemm.operands import gemm_operands
    from tilewright.kernels.gemm.request import GemmRequest
    from tilewright.kernels.gemm.simt import build
    from tilewright.kernels.gemm.simt.tiles import SimtTiles

    m, n, k = shape
    a, b = normal(k, m, dtype=torch.float32).T, normal(k, n, dtype=torch.float32).T
    c = torch.full((m, n), float("nan"), device=DEVICE)
    operands = gemm_operands("test", a, b, c, GemmRequest())
    tile = SimtTiles.of(H200).tiles[0]
    plan = build._plan(operands.problem, operands.alignments, tile).replace(promote=2)
    assert plan.totals == 128
    plan.run(a, b, c)
    assert error(c, exact(a, b)) < 1e-6
    assert torch.equal(plan.run(a, b), c)


@pytest.mark.parametrize("order", "kn")
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((1, 520, 516), marks=sanitized),
        pytest.param((4, 100, 8192), marks=sanitized),  # shares
        (1, 4096, 4096),
        (2, 1024, 1024),
        (3, 14336, 516),
        (4, 512, 16384),
    ],
    ids=str,
)
def test_few_rows_of_float32(shape, order):
    """Tiles of 1, 2 and 4 columns, and with long sums errors as small as those of cuBLAS."""
    m, n, k = shape
    a = normal(m, k, dtype=torch.float32)
    b = normal(n, k, dtype=torch.float32) if order == "k" else normal(k, n, dtype=torch.float32).T
    plan = kernels.gemm.plan(a, b)
    assert plan.sliced_k == 16
    assert plan.tiler_mnk[1] == {1: 1, 2: 2, 3: 4, 4: 4}[m]
    right = exact(a, b)
    c = kernels.gemm(a, b, plan=plan)
    assert error(c, right) < 2e-7
    if k >= 1024 and not SANITIZED:
        assert error(c, right) <= 1.1 * error(a @ b.T, right)
    assert torch.equal(kernels.gemm(a, b, plan=plan), c)


# ---- streams, graphs, torch ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["first", "remembered", "plan", "bound", "stream=", "ragged"])
def test_order_on_a_stream(how):
    """The GEMM is behind slow work of the current stream, and does not wait for it."""
    k = 515 if how == "ragged" else 512
    a, b, late = normal(256, k), normal(384, k), normal(256, k)
    c = torch.empty(256, 384, dtype=torch.bfloat16, device=DEVICE)
    gemm.clear()
    plan = gemm.plan(a, b, c)
    plan.run(a, b, c)
    if how in ("remembered", "ragged"):
        gemm(a, b, c)
    bound = plan.bind(a, b, c)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(SLOW)
        a.copy_(late)
        if how == "plan":
            plan.run(a, b, c)
        elif how == "bound":
            bound()
        elif how != "stream=":
            gemm(a, b, c)
    if how == "stream=":
        gemm(a, b, c, stream=side.cuda_stream)
    assert not side.query(), "a GEMM must not wait"
    side.synchronize()
    assert error(c, exact(late, b)) < 0.005


@pytest.mark.parametrize("how", ["launcher", "plan", "bound", "ragged", "new result"])
def test_graph(how):
    k = 515 if how == "ragged" else 512
    a, b = normal(256, k), normal(384, k)
    c = torch.empty(256, 384, dtype=torch.bfloat16, device=DEVICE)
    plan = gemm.plan(a, b, c)
    made = []
    calls = {
        "plan": lambda: plan.run(a, b, c),
        "bound": plan.bind(a, b, c),
        "new result": lambda: made.append(gemm(a, b)),
    }
    call = calls.get(how, lambda: gemm(a, b, c))
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    result = made[-1] if made else c
    for _ in range(3):
        a.copy_(normal(256, k))
        result.fill_(float("nan"))
        graph.replay()
        assert error(result, exact(a, b)) < 0.005


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own compiler
def test_torch_matmul_is_compiled_and_differentiated():
    from tilewright.torch import matmul

    a, b = normal(64, 96).requires_grad_(), normal(96, 128).requires_grad_()
    step = torch.compile(lambda x, y: matmul(x, y).relu() * 2, fullgraph=True)
    result = step(a, b)
    expected = (a @ b).relu() * 2
    torch.testing.assert_close(result, expected, rtol=0.02, atol=0.1)
    weights = normal(64, 128)
    found = torch.autograd.grad((result * weights).sum(), (a, b))
    theirs = torch.autograd.grad((expected * weights).sum(), (a, b))
    for x, y in zip(found, theirs, strict=True):
        assert float((x - y).norm() / y.norm()) < 0.02


def test_tuning_finds_a_plan_and_keeps_it():
    m, n, k = (random.randrange(200, 400) * 8 for _ in range(3))
    a, b, c = normal(m, k), normal(n, k), normal(m, n)
    plan = gemm.tune(a, b, c)
    assert gemm.tune(a, b, c) == plan
    assert gemm.plan(a, b, c) == plan
    gemm(a, b, c)
    assert error(c, exact(a, b)) < 0.005


@sanitized
def test_torch_conventions():
    from tilewright.torch import matmul

    for first, second in (((5, 6), (6, 7)), ((6,), (6,)), ((6,), (6, 7)), ((5, 6), (6,)), ((3, 5, 6), (6, 7)),
                          ((3, 1, 5, 6), (4, 6, 7))):  # fmt: skip
        x, y = normal(*first, dtype=torch.float32), normal(*second, dtype=torch.float32)
        torch.testing.assert_close(matmul(x, y), torch.matmul(x.double(), y.double()).float())


@sanitized
def test_the_cpu_runs_the_same_plan():
    for kind in ("bf16", "fp32", "int8"):
        for shape in ((96, 80, 64), (33, 17, 129)):
            one = Sample(kind, *shape)
            a, b, c, _ = one.operands()
            plan = gemm.plan(a, b, c)
            plan.run(a, b, c)
            here = on_cpu(c)
            plan.run(on_cpu(a), on_cpu(b), here)
            assert error(here.to(DEVICE), exact(a, b)) <= 2**-8
            assert error(here, c.cpu().double()) <= (0 if kind == "int8" else 2**-8)


@sanitized
def test_overlap_is_refused():
    memory = normal(3 * 64, 64)
    a, b = memory[:64], memory[64:128]
    gemm(a, b, memory[128:])
    with pytest.raises(cute.LayoutError, match="share memory"):
        gemm(a, b, memory[100:164])
    with pytest.raises(cute.LayoutError, match="share memory"):
        gemm(a, b, a)
