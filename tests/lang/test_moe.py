"""The example of a mixture of experts: tokens find their experts, and their results are those of torch."""

from __future__ import annotations

import runpy

import pytest

from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "moe.py"
PROGRAM = runpy.run_path(str(PATH))
CTAS = 4


def run(x, logits, w1, w2, top, *, check=True, seed=0, moe=PROGRAM["moe"]):
    """y, and the workspace as torch's tensors: its first four."""
    y = torch.full_like(x, float("nan"))
    arguments = PROGRAM["arguments"](x, logits, w1, w2, y, top, CTAS)
    with cute.on_cpu(check=check, seed=seed):
        moe(*arguments)
    return y, [torch.from_dlpack(part) for part in arguments[5][:4]]


def route(logits, top, **options):
    """What chooses and counts alone, of small tokens."""
    experts = logits.shape[1]
    shapes = ((logits.shape[0], 8), (experts, 16, 8), (experts, 8, 8))
    x, w1, w2 = (torch.randn(shape).bfloat16() for shape in shapes)
    return run(x, logits, w1, w2, top, **options)[1]


def theirs(x, logits, w1, w2, top):
    """The same in the elements' type, step by step as torch would."""
    weights, order = logits.float().topk(top)
    weights = weights.softmax(1)
    y = torch.zeros(x.shape)
    for expert in range(logits.shape[1]):
        token, which = (order == expert).nonzero(as_tuple=True)
        gates, values = (x[token] @ w1[expert].T).chunk(2, 1)
        result = (torch.nn.functional.silu(gates) * values) @ w2[expert].T
        y.index_add_(0, token, result.float() * weights[token, which, None])
    return y.to(x.dtype)


@pytest.mark.parametrize("seed", range(8))
def test_errors_are_those_of_torch(seed):
    torch.manual_seed(seed)
    experts = int(torch.randint(1, 20, (1,)))
    top = int(torch.randint(1, min(experts, 8) + 1, (1,)))
    tokens, hidden, inner = int(torch.randint(1, 150, (1,))), *(8 * int(n) for n in torch.randint(1, 30, (2,)))
    dtype = (torch.bfloat16, torch.float16)[seed % 2]
    x, logits, w1, w2 = PROGRAM["operands"](dtype, tokens, experts, hidden, inner, "cpu")
    logits = logits.to((torch.float32, torch.bfloat16)[seed % 3 == 0]) if top == experts else logits
    y, _ = run(x, logits, w1, w2, top, check=seed < 4, seed=seed)
    expected = PROGRAM["reference"](x, logits, w1, w2, top)
    errors = [float((result.double() - expected).norm()) for result in (y, theirs(x, logits, w1, w2, top))]
    assert errors[0] <= 1.1 * errors[1] + 1e-9


@pytest.mark.parametrize(
    ("tokens", "experts", "top"), [(1, 1, 1), (5, 33, 33), (37, 64, 8), (700, 3, 2), (1500, 7, 3), (40, 300, 4)]
)
def test_choices_stand_by_experts_and_then_by_tokens(tokens, experts, top):
    torch.manual_seed(tokens)
    logits = torch.randn(tokens, experts)
    chosen, weights, rows, ends = route(logits, top, check=tokens < 100)
    values, order = logits.topk(top)
    assert torch.equal(chosen.long(), order)
    torch.testing.assert_close(weights, values.softmax(1), rtol=1e-5, atol=1e-6)
    assert torch.equal(ends.long(), order.flatten().bincount(minlength=experts).cumsum(0))
    in_order = order.flatten().argsort(stable=True)
    assert torch.equal(rows.flatten()[in_order].long(), torch.arange(tokens * top))


def test_all_tokens_may_choose_one_expert():
    logits = torch.full((130, 6), -1.0)
    logits[:, 4] = 2.0
    _, _, rows, ends = route(logits, 1)
    assert ends.tolist() == [0, 0, 0, 0, 130, 130]
    assert torch.equal(rows.flatten(), torch.arange(130, dtype=torch.int32))


def test_equal_logits_infinite_ones_and_nan():
    inf, nan = float("inf"), float("nan")
    logits = torch.tensor([[1.0, 1, 1, 1], [-inf, -inf, -inf, 0], [-inf, 2, -inf, -inf], [0, 1, nan, 3]])
    logits = torch.cat([torch.full((4, 32), -inf), logits], 1)  # the second that each lane has
    chosen, weights, _, ends = route(logits, 2)
    assert chosen.tolist() == [[32, 33], [35, 0], [33, 0], [34, 35]]
    assert weights[:3].tolist() == [[0.5, 0.5], [1, 0], [1, 0]]
    assert weights[3].isnan().all()
    assert int(ends[-1]) == 8


def test_bits_do_not_depend_on_the_order_of_ctas():
    torch.manual_seed(0)
    tensors = PROGRAM["operands"](torch.bfloat16, 90, 6, 64, 72, "cpu")
    results = [run(*tensors, 3, check=False, seed=seed)[0] for seed in range(3)]
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@nvrtc
@pytest.mark.parametrize("top", [2, 8])
def test_nothing_is_spilled(top):
    tensors = PROGRAM["operands"](torch.bfloat16, 256, 64, 1024, 512, "cpu")
    arguments = PROGRAM["arguments"](*tensors, torch.empty_like(tensors[0]), top, 132)
    compiled = cute.compile(PROGRAM["moe"], *arguments, options="--gpu-arch sm_90a")
    assert compiled.spills == 0
    assert len(compiled.kernels) == 6
    assert all("serialized" not in kernel.binary.log for kernel in compiled.kernels)
    spread, combine = (next(k.ptx for k in compiled.kernels if name in k.name) for name in ("spread", "combine"))
    assert [ptx.count("ld.global.v4") for ptx in (spread, combine)] == [1, top]
    assert [ptx.count("st.global.v4") for ptx in (spread, combine)] == [top, 1]


@pytest.mark.parametrize("barrier", [0, 1, 2])
def test_each_barrier_of_the_count_is_needed(barrier, tmp_path):
    parts = PATH.read_text().split("cute.arch.sync_threads()")
    assert len(parts) == 4
    parts[barrier] += "pass" + parts.pop(barrier + 1)
    path = tmp_path / "planted.py"
    path.write_text("cute.arch.sync_threads()".join(parts))
    with pytest.raises(KernelError) as info:
        route(torch.randn(3000, 2), 2, moe=runpy.run_path(str(path))["moe"])
    assert {finding.kind for finding in info.value.findings} & {"race", "not written"}
