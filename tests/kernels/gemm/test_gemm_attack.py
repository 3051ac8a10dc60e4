"""GEMMs given what they are not made for: nonsense in every field of a plan, infinities beside the tensors, torch's
transforms."""

from __future__ import annotations

import copy
import os
import pickle
import re
import threading
import time

import numpy as np
import pytest

from tilewright import BFloat16, Float16, Float32, LayoutError, cute, kernels
from tilewright.cute.nvgpu import MmaUniversalOp, warp
from tilewright.kernels.common.plan_value import kinds_of

torch = pytest.importorskip("torch")

from tilewright import torch as twt  # noqa: E402
from tilewright.torch.gemm import ACTIVATIONS  # noqa: E402

ARCHITECTURES = {"sm_75": "simt", "sm_80": "sm80", "sm_90a": "sm90"}


def plan_of(arch, size=256):
    x = torch.zeros(size, size, dtype=torch.float16)
    found = kernels.gemm.plan(x, x, arch=arch)
    assert ARCHITECTURES[arch] == found.kernel_name
    return found


# ---- plans ----

NONSENSE = (
    None, 0, -1, True, 1.5, 10**30, "x", (), (1, 2, 3), [1], {}, object(), np.int64(2), torch.zeros(2), Float32,
    cute.make_layout((3, 5)), cute.make_layout(1), cute.make_layout((64, 64, 4), stride=(-1, -64, -4096)),
)  # fmt: skip


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_field_of_a_plan_names_itself(arch):
    plan = plan_of(arch)
    for name, kind in kinds_of(type(plan)).items():
        for value in NONSENSE:
            if kind.accepts(value) and not name.startswith(("smem", "store_tv")):
                continue
            if name in ("store_tv", "smem_c") and value is None:
                continue
            with pytest.raises((TypeError, LayoutError, ValueError), match=r"^(Gemm\w+|gemm_sm90): ") as caught:
                plan.replace(**{name: value})
            if not kind.accepts(value):
                assert name in str(caught.value), caught.value


def test_a_layout_of_stores_takes_each_sum_once():
    plan = plan_of("sm_80")
    own, vector = plan.store_tv, plan.store_vector
    for store_tv, text in (
        (cute.make_layout((64, 8)), "just once"),
        (cute.make_layout(64), "two modes"),
        (cute.make_layout([own[0], cute.make_layout([own[1], cute.make_layout(2, stride=0)])]), "just once"),
        (cute.make_layout([own[1], own[0]]), "neighbours along n|threads"),
        (cute.make_layout([cute.make_layout([own[0], cute.make_layout(64, stride=0)]), own[1]]), "has 8192 threads"),
    ):
        with pytest.raises(LayoutError, match=text):
            plan.replace(store_tv=store_tv)
    for wrong in (3, 2 * vector):
        with pytest.raises(LayoutError, match=f"store_vector is {wrong}"):
            plan.replace(store_vector=wrong)
    assert plan.replace(store_vector=1).run(*[torch.ones(256, 256, dtype=torch.float16)] * 2)[0, 0] == 256


def test_shared_layouts_of_another_tile():
    with pytest.raises(LayoutError, match=re.escape("has the extents (32,8,2), but a tile and the stages are")):
        plan_of("sm_90a").replace(smem_a=cute.make_layout((32, 8, 2)))


@pytest.mark.parametrize("tiler", [(512, 512, 32), (2**20, 2**20, 32)])
def test_tiles_beyond_a_device_are_refused_at_once(tiler):
    x = torch.zeros(64, 64, dtype=torch.float16)
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1))
    start = time.monotonic()
    with pytest.raises(LayoutError, match=r"words of sums, more than its registers hold"):
        kernels.gemm(x, x, tiled_mma=mma, tiler_mnk=tiler)
    with pytest.raises(LayoutError, match=r"smem_a takes .* more shared memory than any device has"):
        kernels.gemm(x, x, tiled_mma=mma, stages=10**6)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_plans_are_copied_and_pickled(arch):
    plan = plan_of(arch)
    for same in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan)):
        assert same == plan
        assert {plan: 1}[same] == 1


# ---- atoms ----


def test_atoms():
    op = MmaUniversalOp(Float32)
    with pytest.raises(LayoutError, match="threads of its own, numbered 0 to 255"):
        cute.make_tiled_mma(op, cute.make_layout((16, 16, 1), stride=(-1, 16, 0)))
    with pytest.raises(ValueError, match="dtype_of: expected operand to be 'A', 'B' or 'C', but got 'D'"):
        cute.make_mma_atom(op).dtype_of("D")
    with pytest.raises(TypeError, match=r"get: expected a field of the atom, .* but got \[\]"):
        cute.make_mma_atom(op).get([])
    with pytest.raises(ValueError, match=r"the shape \(M,N,K\) is"):
        warp.MmaF16BF16Op(Float16, Float32, {16, 8})
    listed, given = (warp.MmaF16BF16Op(BFloat16, Float32, shape) for shape in ([16, 8, 16], (16, 8, 16)))
    assert (listed, hash(listed)) == (given, hash(given))


# ---- numbers ----


def special(rows, columns, dtype, outside):
    """A view of random numbers, with `outside` all around it."""
    memory = torch.full((rows + 9, columns + 17), outside, dtype=dtype)
    view = memory[:rows, :columns]
    view.copy_(torch.randn(rows, columns))
    return memory, view


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("m", "n", "k"), [(5, 7, 3), (17, 33, 19), (129, 130, 65)])
@pytest.mark.parametrize("turned", [False, True])
def test_what_lies_around_the_tensors_does_not_count(arch, m, n, k, turned):
    torch.manual_seed(0)
    (_, a), (_, b) = special(m, k, torch.float16, float("inf")), special(n, k, torch.float16, float("nan"))
    if turned:
        a, b = special(k, m, torch.float16, float("inf"))[1].t(), special(k, n, torch.float16, float("nan"))[1].t()
    around, c = special(m, n, torch.float32, 7.0)
    c.fill_(float("nan"))  # beta is 0: it is not read
    kernels.gemm.plan(a, b, c, arch=arch).run(a, b, c)
    torch.testing.assert_close(c.double(), a.double() @ b.double().t(), rtol=1e-3, atol=1e-3)
    assert (around[m:] == 7).all()
    assert (around[:, n:] == 7).all()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_infinities_and_nan_inside_go_where_they_belong(arch):
    torch.manual_seed(0)
    a, b = torch.randn(33, 40, dtype=torch.float16), torch.randn(50, 40, dtype=torch.float16)
    a[3, 39], a[7, 0], b[49, 20], a[32, 20] = float("inf"), float("nan"), -float("inf"), 0
    c = kernels.gemm.plan(a, b, arch=arch).run(a, b)
    torch.testing.assert_close(c.double(), a.double() @ b.double().t(), rtol=1e-2, atol=1e-2, equal_nan=True)


@pytest.mark.parametrize("name", ["relu", "gelu", "gelu_tanh", "silu"])
def test_activations_far_out(name):
    x = torch.tensor([[100.0, -100, 0, 1e4, -1e4, float("inf"), float("-inf"), float("nan"), 88, -88, -104, -5.5, 3]])
    found = kernels.gemm(x.t().contiguous(), torch.ones(1, 1), activation=name)[:, 0]
    torch.testing.assert_close(found.double(), ACTIVATIONS[name](x[0].double()), equal_nan=True, rtol=2e-6, atol=1e-7)


def test_the_ends_of_integers_and_of_float8():
    a, b = np.full((33, 999), -128, np.int8), np.full((17, 999), 255, np.uint8)
    assert (kernels.gemm(a, b) == -128 * 255 * 999).all()
    assert (kernels.gemm(b, b) == 255 * 255 * 999).all()
    for dtype, most in ((torch.float8_e4m3fn, 448), (torch.float8_e5m2, 57344)):
        x = torch.full((4, 64), 96.0).to(dtype)
        assert (kernels.gemm(x, x, out_dtype=dtype).float() == most).all()
        assert (kernels.gemm(x, x, alpha=-1, out_dtype=dtype).float() == -most).all()


def test_subnormals():
    for dtype, least in ((np.float32, 1e-45), (np.float64, 5e-324)):
        assert (kernels.gemm(np.full((3, 4), least, dtype), np.ones((5, 4), dtype)) == 4 * np.array(least, dtype)).all()


# ---- threads and processes ----


def test_threads():
    torch.manual_seed(0)
    pairs = [(torch.randn(37, 50 + i), torch.randn(61, 50 + i)) for i in range(6)]
    wrong = []

    def work(i):
        a, b = pairs[i]
        for _ in range(5):
            found = kernels.gemm(a, b, activation="relu" if i % 2 else None)
            expected = a.double() @ b.double().t()
            if not torch.allclose(found.double(), expected.relu() if i % 2 else expected, atol=1e-3):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(pairs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_process():
    a, b = np.ones((200, 300), np.float32), np.ones((100, 300), np.float32)
    kernels.gemm(a, b)
    child = os.fork()
    if child == 0:  # nothing of torch, whose own threads do not outlive a fork
        os._exit(0 if (kernels.gemm(a, b) == 300).all() else 1)
    for _ in range(200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.1)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the GEMM of a forked process hangs")


# ---- torch ----

R = torch.randn
TORCH = [
    (lambda: twt.matmul(R(2, 3, 4), R(3, 4, 5)), ValueError, "the batches (2,) and (3,) of a (2, 3, 4)"),
    (lambda: twt.addmm(R(7), R(3, 4), R(4, 5)), ValueError, "c (7,) does not broadcast to the result (3, 5)"),
    (lambda: twt.addmm(R(2, 3, 5), R(3, 4), R(4, 5)), ValueError, "c (2, 3, 5) does not broadcast"),
    (lambda: twt.addmm(R(5), R(4), R(4, 5)), ValueError, "a (4,) and b (4, 5) must be matrices"),
    (lambda: twt.addmm(R(5), R(3, 4), R(5, 5)), ValueError, "4 columns and 5 rows; they must be equal"),
    (lambda: twt.addmm(R(5), R(3, 4), R(4, 5), beta="x"), TypeError, "expected beta to be a number, but got str"),
    (lambda: twt.addmm(R(5), R(3, 4), R(4, 5), alpha=torch.ones(2)), TypeError, "alpha to be a number, but got Tensor"),
    (lambda: twt.addmm(R(3, 5) * 1j, R(3, 4), R(4, 5)), TypeError, "c has elements of torch.complex64"),
    (lambda: twt.addmm(R(5), R(3, 4), R(4, 5), activation=["x"]), ValueError, "activation is ['x']"),
    (lambda: twt.linear(R(3, 4, requires_grad=True), R(5, 4), activation="x"), ValueError, "activation is 'x'"),
    (lambda: twt.linear(R(3, 4), R(5, 4), R(3)), ValueError, "bias (3,) must be (N) with N = 5"),
    (lambda: twt.linear(R(3, 4), R(5, 4), R(3, 1)), ValueError, "bias (3, 1) must be (N) with N = 5"),
    (lambda: twt.linear(R(3, 4), R(5, 4), "x"), TypeError, "expected bias to be a torch.Tensor, but got str"),
    (lambda: twt.linear(R(3, 4), R(4)), ValueError, "x (3, 4) and weight (4,) must be (.., K) and (N, K)"),
    (lambda: twt.linear(torch.tensor(1.0), R(5, 4)), ValueError, "x is a scalar"),
    (lambda: twt.matmul(R(3, 4), R(4, 5), out_dtype="float16"), TypeError, "out_dtype to be a torch.dtype"),
    (lambda: torch.ops.tilewright.gemm(R(4), R(4, 5), None, None, 1.0, 0.0, None, None), ValueError, "matrices"),
    (lambda: torch.ops.tilewright.gemm(*(R(3, 4).to("meta"),) * 2, None, None, 1.0, 0.0, None, None), ValueError,
     "4 columns and 3 rows"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), TORCH, ids=[text for _, _, text in TORCH])
def test_errors_of_torch(call, error, text):
    with pytest.raises(error, match=re.escape(text)):
        call()


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")
def test_forward_derivatives_are_refused_not_lost():
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(R(3, 4), R(3, 4))
        with pytest.raises(NotImplementedError, match=r"tilewright.torch.matmul has no forward derivative"):
            twt.matmul(x, R(4, 5))


def test_a_bias_of_another_type_is_copied_first():
    a, b = torch.ones(3, 4), torch.ones(4, 5)
    assert (twt.addmm(torch.ones(5, dtype=torch.float64), a, b) == 5).all()
    assert (twt.addmm(torch.ones(5, dtype=torch.int32), a, b) == 5).all()


def test_matmul_is_torchs_on_random_shapes():
    random = np.random.default_rng(0)
    torch.manual_seed(0)

    def shape(rows, columns, batch, vector):
        kept = [int(x) if random.random() < 0.7 else 1 for x in batch[random.integers(len(batch) + 1) :]]
        return (vector,) if random.random() < 0.2 else (*kept, rows, columns)

    for _ in range(60):
        m, n, k = (int(random.choice([0, 1, 2, 3, 7, 17, 31])) for _ in range(3))
        batch = random.integers(1, 4, random.integers(4))
        x, y = (torch.randn(s, dtype=torch.float64) for s in (shape(m, k, batch, k), shape(k, n, batch, k)))
        expected, found = torch.matmul(x, y), twt.matmul(x, y)
        assert found.shape == expected.shape
        torch.testing.assert_close(found, expected)


def test_compiled_once_for_all_sizes():
    torch._dynamo.reset()
    compiled = torch.compile(twt.linear, dynamic=True, fullgraph=True, backend="aot_eager")
    for m, n, k in ((3, 5, 4), (7, 9, 8), (1, 1, 1), (16, 3, 2), (0, 5, 4)):
        x, w, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
        torch.testing.assert_close(compiled(x, w, bias), torch.nn.functional.linear(x, w, bias))
