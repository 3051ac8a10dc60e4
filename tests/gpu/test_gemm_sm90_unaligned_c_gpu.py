"""C that TMA cannot store, by lines: rows of every alignment, in memory whose other bytes must stay as they are."""

from __future__ import annotations

import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Int8, TFloat32, _core
from tilewright.devices import H200
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, _majors, plan_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

ALIGNED = (256, 256, 256)
TORCH = {
    BFloat16: torch.bfloat16, Float16: torch.float16, Float32: torch.float32, TFloat32: torch.float32,
    Float8E4M3FN: torch.float8_e4m3fn, Int8: torch.int8,
}  # fmt: skip
CONFIGS = {
    "one": Config(64, 128, 1),
    "two": Config(128, 256),
    "cluster": Config(128, 256, cluster=(2, 1)),
    "two CTAs of a multiprocessor": Config(64, 64, 1, resident=2, stages=4),
    "part of a box": Config(128, 80),
    "odd units": Config(64, 24, 1),
    "blocks": Config(256, 128),
    "ping-pong": Config(128, 128, ping_pong=True, cluster=(2, 1)),
    "small ping-pong": Config(64, 128, ping_pong=True),
    "split": Config(128, 128, split_k=2, stages=4, buffers=1),
    "split-4": Config(64, 128, 1, split_k=4),
    "split blocks": Config(128, 128, 1, split_k=2, stages=4),
}
EPILOGUES = {
    "plain": Epilogue(),
    "beta": Epilogue(beta=0.5),
    "bias m, relu": Epilogue(2.0, bias="m", bias_type=Float32, bias_stride=3, activation="relu"),
    "all, gelu_tanh": Epilogue(0.5, -1.5, "n", Float32, 2, "gelu_tanh"),
}
ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}
SHAPES = [(456, 583, 264, 0, 1), (200, 301, 264, 4, 3), (130, 126, 264, 2, 0), (65, 9, 264, 0, 5)]  # .., pad, shift
MANY = ("two", "cluster", "blocks", "ping-pong")  # so many sums of a thread that C of 32 bits is not read beside them
GUARD = 4096  # bytes before and behind C


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if _core.cuda.device(0)["compute_capability"] != (9, 0):
        pytest.skip("the device is not Hopper, and has no wgmma")


class Guarded:
    """C (batch, m, n) of rows `pad` elements longer, from `shift` elements behind a multiple of 256 bytes."""

    def __init__(self, batch, m, n, pad, shift, dtype):
        size = dtype.itemsize
        self.bytes = torch.randint(0, 256, (batch * m * (n + pad) * size + shift * size + 2 * GUARD,),
                                   dtype=torch.uint8, device="cuda")  # fmt: skip
        self.first, self.shape = GUARD + shift * size, (batch, m, n)
        self.inside = torch.zeros_like(self.bytes, dtype=torch.bool)
        count = batch * m * (n + pad) * size
        self._rows(self.inside[self.first : self.first + count].view(batch, m, (n + pad) * size), n * size).fill_(True)
        whole = self.bytes[self.first : self.first + count]
        # A view of another type begins at a multiple of its elements, which GUARD and the shift are.
        self.c = self._rows(whole.view(dtype).view(batch, m, n + pad), n)

    @staticmethod
    def _rows(x, n):
        return x[:, :, :n]

    def set(self, values):
        self.c.copy_(values)
        self.before = self.bytes.clone()

    def kept(self):
        """Whether all bytes beside C are as they were."""
        return bool(((self.bytes == self.before) | self.inside).all())


def factors(m, n, k, dtype):
    if dtype is Int8:
        return (torch.randint(-5, 6, (rows, k), dtype=torch.int8, device="cuda") for rows in (m, n))
    return (torch.randn(rows, k, device="cuda").to(TORCH[dtype]) for rows in (m, n))


def check(plan, e, guarded, A, B, tolerance):
    batch, m, n = guarded.shape
    bias = torch.randn((m if e.bias == "m" else n) * max(e.bias_stride, 1), device="cuda")[:: e.bias_stride or 1]
    given = (torch.randn(batch, m, n, device="cuda") * 4).to(guarded.c.dtype)
    guarded.set(given)
    expected = e.alpha * (A.double() @ B.double().mT) + e.beta * given.double()
    if e.bias:
        expected += bias.double()[:, None] if e.bias == "m" else bias.double()
    expected = ACTIVATIONS[e.activation](expected)
    c = guarded.c.permute(1, 2, 0) if plan.problem.batch else guarded.c[0]
    a, b = (x.permute(1, 2, 0) if plan.problem.batch else x for x in (A, B))
    found = []
    for _ in range(2):
        guarded.c.copy_(given)
        plan.run(a, b, c, bias=bias if e.bias else None)
        assert guarded.kept(), plan
        found.append(guarded.c.clone())
    assert torch.equal(*(x.contiguous().view(torch.uint8) for x in found))
    error = float((found[0].double() - expected).norm() / expected.norm())
    assert error <= tolerance, (plan, error)


TOLERANCE = {BFloat16: 3e-3, Float16: 5e-4, Float32: 2e-6, Float8E4M3FN: 4e-2}


def lines_of(config, p):
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    return plan.replace(store="lines", workers=4)


@pytest.mark.sanitized
@pytest.mark.parametrize("out", [BFloat16, Float16, Float32, Float8E4M3FN], ids=str)
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("name", CONFIGS)
def test_rows_of_any_alignment(name, epilogue, out):
    if name in MANY and out is Float32 and EPILOGUES[epilogue].beta:
        pytest.skip("such a plan stores from registers")
    torch.manual_seed(4)
    for m, n, k, pad, shift in SHAPES:
        p = problem_of(m, n, k, Float16, out=out, epilogue=EPILOGUES[epilogue], pads=(0, 0, pad))
        A, B = factors(m, n, k, Float16)
        check(lines_of(CONFIGS[name], p), EPILOGUES[epilogue], Guarded(1, m, n, pad, shift, TORCH[out]), A, B,
              TOLERANCE[out])  # fmt: skip


@pytest.mark.parametrize("shift", range(16))
@pytest.mark.parametrize("out", [BFloat16, Float32, Float8E4M3FN], ids=str)
def test_every_beginning_of_a_row(out, shift):
    torch.manual_seed(5)
    for n in range(65, 81):
        p = problem_of(70, n, 72, Float16, out=out, epilogue=EPILOGUES["beta"])
        A, B = factors(70, n, 72, Float16)
        check(lines_of(CONFIGS["one"], p), EPILOGUES["beta"], Guarded(1, 70, n, 0, shift, TORCH[out]), A, B,
              TOLERANCE[out])  # fmt: skip


@pytest.mark.parametrize("dtype", [BFloat16, TFloat32, Float8E4M3FN], ids=str)
@pytest.mark.parametrize("name", ["part of a box", "small ping-pong", "one"])
def test_types_and_batches(name, dtype):
    torch.manual_seed(6)
    e, out = EPILOGUES["all, gelu_tanh"], {TFloat32: Float32, Float8E4M3FN: Float32}.get(dtype, dtype)
    m, n, k = 201, 333, 256
    p = problem_of(m, n, k, dtype, out=out, batch=(3,), epilogue=e)
    A, B = (torch.randn(3, rows, k, device="cuda").to(TORCH[dtype]) for rows in (m, n))
    if dtype is TFloat32:  # of whole numbers, which TF32 has
        A, B = (x.mul(4).round() for x in (A, B))
    tolerance = 3e-3 if dtype is Float8E4M3FN else 2 * TOLERANCE[out]  # their products are added with fewer bits
    check(lines_of(CONFIGS[name], p), e, Guarded(3, m, n, 0, 1, TORCH[out]), A, B, tolerance)


@pytest.mark.parametrize("name", CONFIGS)
def test_integers(name):
    torch.manual_seed(7)
    m, n, k = 301, 207, 528
    p = problem_of(m, n, k, Int8)
    A, B = factors(m, n, k, Int8)
    guarded = Guarded(1, m, n, 0, 1, torch.int32)
    guarded.set(torch.zeros(1, m, n, dtype=torch.int32, device="cuda"))
    lines_of(CONFIGS[name], p).run(A, B, guarded.c[0])
    assert guarded.kept()
    assert torch.equal(guarded.c[0].double(), A.double() @ B.double().mT)


def test_the_bits_are_those_of_the_store_from_registers():
    torch.manual_seed(8)
    m, n, k = 456, 583, 264
    for e in (EPILOGUES["plain"], EPILOGUES["all, gelu_tanh"]):
        p = problem_of(m, n, k, BFloat16, epilogue=e)
        plan = lines_of(CONFIGS["two"], p)
        A, B = factors(m, n, k, BFloat16)
        bias = torch.randn(2 * n, device="cuda")[::2]
        given = torch.randn(m, n, device="cuda").bfloat16()
        found = []
        for way in ("lines", "singles"):
            C = given.clone()
            plan.replace(store=way).run(A, B, C, bias=bias if e.bias else None)
            found.append(C)
        assert torch.equal(*found)
