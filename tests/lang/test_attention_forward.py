"""The example of attention by wgmma: as right as torch's, no spills, and each of its waits is needed."""

from __future__ import annotations

import math
import runpy

import numpy
import pytest

from changed_examples import changed
from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "attention_forward.py"
PROGRAM = runpy.run_path(str(PATH))


def operands(dtype, batches, heads, key_heads, queries, keys, depth):
    q = torch.randn(batches, heads, queries, depth).to(dtype)
    k, v = (torch.randn(batches, key_heads, keys, depth).to(dtype) for _ in range(2))
    return q, k, v, torch.full_like(q, math.nan), torch.full(q.shape[:3], math.nan)


def run(tensors, scale, *options, attention=PROGRAM["attention"], check=True):
    with cute.on_cpu(check=check):
        attention(*PROGRAM["arguments"](*tensors, scale, *options))


def torchs(q, k, v, scale, left, right):
    """Torch's SDPA in the type of the operands, 0 for queries that see no key."""
    distance = torch.arange(k.shape[2]) - torch.arange(q.shape[2])[:, None]
    seen = torch.ones_like(distance, dtype=torch.bool)
    if left is not None:
        seen &= distance >= -left
    if right is not None:
        seen &= distance <= right
    found = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale, enable_gqa=True)
    return found.nan_to_num()


def assert_as_right(tensors, scale, left, right):
    q, k, v, o, lse = tensors
    expected, expected_lse = PROGRAM["reference"](q, k, v, scale, left, right)
    errors = [float((x.double() - expected).norm()) for x in (o, torchs(q, k, v, scale, left, right))]
    assert errors[0] <= 1.1 * errors[1] + 1e-9
    torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(24))
def test_errors_are_those_of_torch(seed):
    torch.manual_seed(seed)
    dtype, depth = (torch.bfloat16, torch.float16)[seed % 2], (64, 128, 256)[seed % 3]
    left, right = ((None, None), (None, 0), (50, 20), (30, None))[seed // 6]
    key_heads, group = (int(x) for x in torch.randint(1, 3, (2,)))
    queries, keys = (int(x) for x in torch.randint(1, 400, (2,)))
    tensors = operands(dtype, 1, key_heads * group, key_heads, queries, keys, depth)
    scale = 0.5 / depth**0.5 if seed == 5 else depth**-0.5
    run(tensors, scale, left, right, check=seed % 2 == 0)
    assert_as_right(tensors, scale, left, right)


def quantized(x):
    """x as e4m3, and what a batch and head is to be multiplied by: the largest of it becomes 448."""
    scales = x.abs().amax((2, 3)) / 448
    return (x / scales[..., None, None]).to(torch.float8_e4m3fn), scales


def plain_fp8(q, k, v, scale, right):
    """Attention whose weights, up to 256, are rounded to e4m3, else in float64."""
    scores = scale * q @ k.mT
    if right is not None:
        distance = torch.arange(k.shape[2]) - torch.arange(q.shape[2])[:, None]
        scores = scores.masked_fill(distance > right, -math.inf)
    weights = 256 * (scores - scores.amax(-1, keepdim=True)).exp()
    return weights.to(torch.float8_e4m3fn).double() @ v / weights.sum(-1, keepdim=True)


def fp8_operands(heads, key_heads, queries, keys, depth):
    """Operands of attention with their scales, and what they stand for, in float64."""
    shapes = (2, heads, queries, depth), (2, key_heads, keys, depth), (2, key_heads, keys, depth)
    given = [quantized(torch.randn(shape)) for shape in shapes]
    scales = [given[0][1][:, :key_heads].contiguous(), given[1][1], given[2][1]]
    values = []
    for (x, _), of_x in zip(given, scales, strict=True):
        wide = x.double() * of_x.repeat_interleave(x.shape[1] // key_heads, 1)[..., None, None].double()
        values.append(wide.repeat_interleave(heads // wide.shape[1], 1))
    shape = shapes[0]
    return (
        [x for x, _ in given] + [torch.full(shape, math.nan).bfloat16(), torch.full(shape[:3], math.nan)],
        scales,
        values,
    )


@pytest.mark.parametrize(("queries", "keys", "right"), [(200, 330, None), (300, 300, 0)])
@pytest.mark.parametrize("depth", [64, 128, 256])
def test_fp8_errs_as_its_weights_do(depth, queries, keys, right):
    torch.manual_seed(depth + keys)
    tensors, scales, values = fp8_operands(2, 1, queries, keys, depth)
    with cute.on_cpu(check=True):
        PROGRAM["attention"](*PROGRAM["arguments"](*tensors, depth**-0.5, None, right, scales=scales))
    expected, expected_lse = PROGRAM["reference"](*values, depth**-0.5, None, right)
    found = tensors[3], plain_fp8(*values, depth**-0.5, right)
    errors = [float((x.double() - expected).norm() / expected.norm()) for x in found]
    assert errors[0] <= 1.1 * errors[1] < 0.04
    torch.testing.assert_close(tensors[4], expected_lse.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("left", "right"), [(None, None), (None, 0), (20, 3)])
@pytest.mark.parametrize("depth", [64, 128, 256])
def test_sequences_of_several_lengths(depth, left, right):
    """Some without queries, or with more queries than keys; the last query sees the last key."""
    torch.manual_seed(depth)
    queries, keys = (70, 0, 200, 128), (150, 20, 60, 128)
    starts_q, starts_k = (torch.tensor((0, *x)).cumsum(0).int() for x in (queries, keys))
    q, k, v, o, lse = tensors = operands(torch.bfloat16, 1, 2, 1, sum(queries), sum(keys), depth)
    run(tensors, depth**-0.5, left, right, starts_q, starts_k, max(queries))
    for i in range(len(queries)):
        x, y = slice(int(starts_q[i]), int(starts_q[i + 1])), slice(int(starts_k[i]), int(starts_k[i + 1]))
        offset = keys[i] - queries[i]
        window = None if left is None else left - offset, None if right is None else right + offset
        assert_as_right((q[:, :, x], k[:, :, y], v[:, :, y], o[:, :, x], lse[:, :, x]), depth**-0.5, *window)


@pytest.mark.parametrize("depth", [64, 128, 256])
def test_a_query_that_sees_no_key_has_zeros(depth):
    _, _, _, o, lse = tensors = operands(torch.float16, 1, 1, 1, 300, 100, depth)
    run(tensors, 1.0, 10, 0)
    assert torch.equal(o[:, :, 110:], torch.zeros_like(o[:, :, 110:]))
    assert (lse[:, :, 110:] == -math.inf).all()
    assert torch.isfinite(lse[:, :, :110]).all()


def test_large_scores_do_not_overflow():
    q, k, v, o, lse = tensors = operands(torch.float16, 1, 1, 1, 70, 200, 64)
    q *= 300
    run(tensors, 1.0, None, 0)
    expected, _ = PROGRAM["reference"](q, k, v, 1.0, None, 0)
    torch.testing.assert_close(o, expected.half(), rtol=1e-2, atol=1e-2)
    assert torch.isfinite(lse).all()


def test_any_strides_of_16_bytes():
    """Heads beside each other, as linear layers give them."""
    q, k, v = (torch.randn(2, 140, 2, 64).half().transpose(1, 2) for _ in range(3))
    tensors = q, k, v, torch.full((2, 140, 2, 64), math.nan).half().transpose(1, 2), torch.zeros(2, 2, 140)
    run(tensors, 0.125, None, 0)
    assert_as_right(tensors, 0.125, None, 0)


def test_a_depth_that_it_does_not_have():
    with pytest.raises(ValueError, match="depth is 96; expected one of 64, 128, 256"):
        run(operands(torch.float16, 1, 1, 1, 16, 16, 96), 1.0)


def arguments(depth, bits, left=None, right=None):
    """Of a small problem."""
    if bits == 16:
        return PROGRAM["arguments"](*operands(torch.bfloat16, 1, 1, 1, 256, 256, depth), 1.0, left, right)
    tensors, scales, _ = fp8_operands(1, 1, 256, 256, depth)
    return PROGRAM["arguments"](*(x[:1] for x in tensors), 1.0, left, right, scales=[x[:1] for x in scales])


@pytest.mark.parametrize(("depth", "bits"), [(64, 16), (128, 16), (256, 16), (64, 8), (128, 8), (256, 8)])
def test_no_access_takes_more_than_the_least(depth, bits):
    """Wavefronts of shared memory are as few as the bytes allow: no bank conflicts."""
    profile = cute.profile(PROGRAM["attention"], *arguments(depth, bits, None, 0))
    assert profile.worst == []
    assert profile.total.flops > 4 * 256 * 256 * depth / 2


@nvrtc
@pytest.mark.parametrize(
    ("depth", "bits", "left", "right", "registers"),
    [
        (64, 16, None, None, 128), (64, 16, None, 0, 128), (64, 16, 100, 0, 128),
        (128, 16, None, None, 168), (128, 16, None, 0, 168), (128, 16, 100, 0, 168),
        (256, 16, None, None, 168), (256, 16, None, 0, 168), (256, 16, 100, 0, 168),
        (64, 8, None, 0, 128), (128, 8, None, None, 168), (128, 8, None, 0, 168), (256, 8, None, 0, 168),
    ],
)  # fmt: skip
def test_nothing_is_spilled(depth, bits, left, right, registers):
    """ptxas neither spills nor waits after each wgmma. The registers are those of the launch, 65,536 / threads."""
    given = arguments(depth, bits, left, right)
    compiled = cute.compile(PROGRAM["attention"], *given, options="--gpu-arch sm_90a")
    assert (compiled.spills, compiled.registers) == (0, registers)
    assert ".local" not in compiled.ptx
    (kernel,) = compiled.kernels
    assert "serialized" not in kernel.binary.log


@nvrtc
@pytest.mark.parametrize(("depth", "bits"), [(128, 16), (256, 16), (256, 8)])
def test_exponentials_stand_before_the_wait_for_o(depth, bits):
    """In the main loop: S is waited for, the softmax follows, then a branch, which ptxas moves no wait over, then O."""
    ptx = cute.compile(PROGRAM["attention"], *arguments(depth, bits), options="--gpu-arch sm_90a").ptx
    loop = ptx[ptx.index("wgmma.wait_group.sync.aligned 1") :]
    softmax = loop[: loop.index("wgmma.wait_group.sync.aligned 0")]
    columns = PROGRAM["PLANS"][depth, bits].keys // 4
    assert softmax.count("ex2.approx") == 2 * (columns + 1)
    assert "mbarrier.try_wait" in softmax[softmax.rindex("ex2.approx") :]


def test_a_cta_takes_tiles_until_none_is_left():
    """Tickets are zeros again at the end. One CTA alone, or more than there are tiles, compute the same."""
    tensors = operands(torch.bfloat16, 2, 2, 1, 500, 300, 64)
    found = []
    for ctas in (1, 2, 5, 100):
        *given, tickets, _, depth = PROGRAM["arguments"](*tensors, 0.125, None, 0)
        with cute.on_cpu(check=True):
            PROGRAM["attention"](*given, tickets, ctas, depth)
        assert list(numpy.from_dlpack(tickets)) == [0, 0]
        found.append(tensors[3].clone())
    assert_as_right(tensors, 0.125, None, 0)
    assert all(torch.equal(found[0], x) for x in found)


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("warpgroup.wait_group(1)", "warpgroup.wait_group(2)", {"not landed"}),
        ("        warpgroup.wait_group(0)\n        self.V.release()", "        self.V.release()", {"not landed"}),
        ("    warpgroup.fence()\n", "", {"missing fence"}),
        ('buffer)\n        cute.arch.fence_proxy("async.shared", space="cta")', "buffer)", {"missing fence"}),
        ("self.K.wait()\n        self.turns.take()", "self.turns.take()", {"race", "not landed"}),
    ],
)  # fmt: skip
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    found = findings_of(text, planted, tmp_path, operands(torch.float16, 1, 1, 1, 130, 400, 64), {})
    assert {finding.kind for finding in found} & kinds


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ('V)\n            cute.arch.fence_proxy("async.shared", space="cta")', "V)", {"missing fence"}),
        ("            stages_T.producer_acquire(turned)\n", "", {"race"}),
        ("release(stages_V, state_V)\n", "stages_V.consumer_wait(state_V)\n", {"deadlock"}),
    ],
)  # fmt: skip
def test_a_planted_defect_of_the_transpose_is_found(text, planted, kinds, tmp_path):
    tensors, scales, _ = fp8_operands(1, 1, 130, 700, 64)
    found = findings_of(text, planted, tmp_path, tensors, {"scales": scales})
    assert {finding.kind for finding in found} & kinds


def findings_of(text, planted, tmp_path, tensors, options):
    """What the checks find in the example with one change: in lines of the example's, or of its parts'."""
    program = changed("attention_forward", text, planted, tmp_path)
    with pytest.raises(KernelError) as info, cute.on_cpu(check=True):
        program["attention"](*program["arguments"](*tensors, 1.0, **options))
    files = [tmp_path / "attention_forward.py", *(tmp_path / "attention").glob("*.py")]
    assert {finding.place[0] for finding in info.value.findings} <= set(map(str, files))
    return info.value.findings
