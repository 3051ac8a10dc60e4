"""The example of attention by mma.sync: as right as torch's, no spills, and each of its waits is needed."""

from __future__ import annotations

import runpy

import pytest

from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "attention_mma_sync.py"
PROGRAM = runpy.run_path(str(PATH))


def operands(dtype, batches, heads, key_heads, queries, keys, depth):
    q = torch.randn(batches, heads, queries, depth).to(dtype)
    k, v = (torch.randn(batches, key_heads, keys, depth).to(dtype) for _ in range(2))
    return q, k, v, torch.full_like(q, float("nan")), torch.full(q.shape[:3], float("nan"))


def run(tensors, scale, is_causal, attention=PROGRAM["attention"], check=True):
    with cute.on_cpu(check=check):
        attention(*map(PROGRAM["argument"], tensors), scale, is_causal)


@pytest.mark.parametrize("seed", range(12))
def test_errors_are_those_of_torch(seed):
    torch.manual_seed(seed)
    dtype = (torch.bfloat16, torch.float16)[seed % 2]
    key_heads, group = (int(x) for x in torch.randint(1, 3, (2,)))
    queries, keys = (int(x) for x in torch.randint(1, 300, (2,)))
    depth, is_causal = (64, 128)[seed // 2 % 2], bool(seed // 4 % 2)
    q, k, v, o, lse = tensors = operands(dtype, 1, key_heads * group, key_heads, queries, keys, depth)
    scale = 0.5 / depth**0.5 if seed == 5 else depth**-0.5
    run(tensors, scale, is_causal, check=seed < 4)
    expected, expected_lse = PROGRAM["reference"](q, k, v, scale, is_causal)
    theirs = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, scale=scale, is_causal=is_causal, enable_gqa=True
    )
    errors = [float((x.double() - expected).norm()) for x in (o, theirs)]
    assert errors[0] <= 1.1 * errors[1] + 1e-9
    torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)


def test_large_scores_do_not_overflow():
    q, k, v, o, lse = tensors = operands(torch.float16, 1, 1, 1, 70, 200, 64)
    q *= 300
    run(tensors, 1.0, True)
    expected, _ = PROGRAM["reference"](q, k, v, 1.0, True)
    torch.testing.assert_close(o, expected.half(), rtol=1e-2, atol=1e-2)
    assert torch.isfinite(lse).all()


def test_a_depth_that_it_does_not_have():
    with pytest.raises(ValueError, match="mQ has D = 96; expected 64 or 128"):
        run(operands(torch.float16, 1, 1, 1, 16, 16, 96), 1.0, False)


@pytest.mark.parametrize("depth", [64, 128])
def test_no_access_takes_more_than_the_least(depth):
    """Sectors of global memory and wavefronts of shared memory are as few as the bytes allow: no bank conflicts."""
    tensors = map(PROGRAM["argument"], operands(torch.bfloat16, 1, 1, 1, 256, 256, depth))
    profile = cute.profile(PROGRAM["attention"], *tensors, 1.0, True)
    assert profile.worst == []
    assert profile.total.flops > 4 * 256 * 256 * depth / 2


@nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("depth", [64, 128])
def test_nothing_is_spilled(depth, is_causal, arch):
    """All products are between registers, in both loops: the one of whole blocks of keys, and the masked one."""
    tensors = map(PROGRAM["argument"], operands(torch.bfloat16, 2, 4, 2, 512, 512, depth))
    compiled = cute.compile(PROGRAM["attention"], *tensors, 1.0, is_causal, options=f"--gpu-arch {arch}")
    assert (compiled.spills, compiled.registers <= 255) == (0, True)
    each = 128 * 64 * depth // (depth // 16) // (16 * 8 * 16)  # of a warp, of one product in one round
    ptx = compiled.ptx
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 2 * 2 * each
    assert ".local" not in ptx


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("cp_async_wait_group(0)", "cp_async_wait_group(1)", {"race", "not landed"}),
        ("wait_for_copies()  # K", "cute.arch.cp_async_wait_group(0)", {"race", "not landed"}),
        ("wait_for_copies()  # V", "cute.arch.cp_async_wait_group(0)", {"race", "not landed"}),
        ("at[0, i, 0, block][0] < tensor.shape[0]", "at[0, i, 0, block][0] <= tensor.shape[0]", {"out of bounds"}),
    ],
)  # fmt: skip
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    source = PATH.read_text()
    assert text in source
    path = tmp_path / "planted.py"
    path.write_text(source.replace(text, planted))
    attention = runpy.run_path(str(path))["attention"]
    with pytest.raises(KernelError) as info:
        run(operands(torch.float16, 1, 1, 1, 130, 130, 64), 1.0, False, attention)
    assert {finding.kind for finding in info.value.findings} & kinds
    assert all(finding.place[0] == str(path) for finding in info.value.findings)
