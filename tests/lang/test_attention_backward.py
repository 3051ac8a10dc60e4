"""The example of attention's backward pass: errors of torch's, the same bits always, and each wait is needed."""

from __future__ import annotations

import itertools
import runpy

import pytest

from changed_examples import changed
from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "attention_backward.py"
PROGRAM = runpy.run_path(str(PATH))
argument = PROGRAM["argument"]


def gradients(tensors, scale, left, right, program=PROGRAM, check=True, is_ordered=True, starts=()):
    """dQ, dK and dV; the workspace is full of NaN before."""
    found = [torch.full_like(x, float("nan")) for x in tensors[:3]]
    workspace = program["workspace"](tensors[0], *starts[:1])
    for x in workspace:
        x.fill_(float("nan") if x.is_floating_point() else -7)
    lengths = [int((x[1:] - x[:-1]).max()) for x in starts]
    more = [cute.runtime.from_dlpack(x, assumed_align=4).mark_layout_dynamic() for x in starts]
    with cute.on_cpu(check=check):
        program["attention_backward"](
            *map(argument, (*tensors, *found, *workspace)), scale, left, right, *more, *lengths, is_ordered=is_ordered
        )
    return found


def error(found, expected):
    return float((found.double() - expected).norm())


def theirs(tensors, scale, left, right):
    """The gradients that torch finds in the same type."""
    q, k, v = (x.clone().requires_grad_() for x in tensors[:3])
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    seen = seen if right is None else seen & (j <= i + right)
    seen = seen if left is None else seen & (j >= i - left)
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, seen, scale=scale, enable_gqa=True)
    return torch.autograd.grad(o, (q, k, v), tensors[4])


@pytest.mark.parametrize("seed", range(16))
def test_errors_are_those_of_torch(seed):
    torch.manual_seed(seed)
    dtype, depth = (torch.bfloat16, torch.float16)[seed % 2], (64, 128)[seed // 2 % 2]
    key_heads, group = (int(x) for x in torch.randint(1, 3, (2,)))
    queries = int(torch.randint(1, 300, ()))
    keys = queries + int(torch.randint(0, 100, ()))
    left, right = ((None, None), (None, 0), (int(torch.randint(0, 150, ())), int(torch.randint(0, 80, ()))))[seed % 3]
    case = (dtype, 1, key_heads * group, key_heads, queries, keys, depth, left, right)
    tensors, expected = PROGRAM["operands"](*case, "cpu")
    found = gradients(tensors, depth**-0.5, left, right, check=seed < 6)
    for ours, torchs, wanted in zip(found, theirs(tensors, depth**-0.5, left, right), expected, strict=True):
        assert error(ours, wanted) <= 1.1 * error(torchs, wanted) + 1e-6, case


@pytest.mark.parametrize("window", [(None, 0), (30, 4), (None, None)])
def test_sequences_side_by_side(window):
    """The gradients of each are those of a call of its own, where the last query sees the last key."""
    torch.manual_seed(1)
    left, right = window
    lengths = ((70, 130), (0, 40), (1, 40), (150, 210))
    parts, wanted = [], []
    for queries, keys in lengths:
        shift = keys - queries
        ends = (None if left is None else left - shift, None if right is None else right + shift)
        tensors, expected = PROGRAM["operands"](torch.bfloat16, 1, 2, 1, queries, keys, 64, *ends, "cpu")
        parts.append(tensors)
        wanted.append(expected)
    tensors = [torch.cat(x, 2) for x in zip(*parts, strict=True)]
    starts = [torch.tensor([0, *itertools.accumulate(x)]).int() for x in zip(*lengths, strict=True)]
    found = gradients(tensors, 0.125, left, right, starts=starts)
    for ours, expected in zip(found, (torch.cat(x, 2) for x in zip(*wanted, strict=True)), strict=True):
        assert error(ours, expected) <= 5e-3 * float(expected.norm())


def test_queries_and_keys_that_see_nothing():
    """Their gradients are zero, whatever the workspace had."""
    tensors, _ = PROGRAM["operands"](torch.float16, 1, 1, 1, 200, 300, 64, None, -150, "cpu")
    dq, dk, dv = gradients(tensors, 0.125, None, -150)
    assert not dq[:, :, :150].any()
    assert dq[:, :, 150:].any()
    assert not dk[:, :, 50:].any()
    assert not dv[:, :, 50:].any()


def test_blocks_in_turn_and_in_any_order_add_the_same_terms():
    case = (torch.bfloat16, 1, 2, 1, 150, 300, 64, None, None)
    tensors, _ = PROGRAM["operands"](*case, "cpu")
    in_turn, again, anyhow = (gradients(tensors, 0.125, None, None, is_ordered=x) for x in (True, True, False))
    for a, b, c in zip(in_turn, again, anyhow, strict=True):
        assert torch.equal(a, b)
        torch.testing.assert_close(a, c, rtol=2e-2, atol=1e-3)


def test_blocks_are_numbered_as_they_begin(tmp_path):
    """A device promises no order: a block that waited for one that has not begun would wait for ever."""
    text = "number, _, _ = cute.arch.block_idx()"
    source = PATH.read_text()
    assert source.count(text) == 1
    path = tmp_path / "elsewhere.py"
    path.write_text(source.replace(text, "number = -1"))
    tensors, _ = PROGRAM["operands"](torch.bfloat16, 2, 2, 1, 150, 300, 64, None, None, "cpu")
    found = gradients(tensors, 0.125, None, None, runpy.run_path(str(path)))
    assert all(map(torch.equal, found, gradients(tensors, 0.125, None, None)))


def test_a_depth_that_it_does_not_have():
    tensors = [torch.randn(1, 1, 16, 96).half() for _ in range(5)]
    with pytest.raises(ValueError, match="mQ has D = 96; expected 64 or 128"):
        gradients([*tensors, torch.zeros(1, 1, 16)], 1.0, None, None)


@nvrtc
@pytest.mark.parametrize("window", [(None, None), (None, 0), (64, 0)])
@pytest.mark.parametrize("depth", [64, 128])
def test_nothing_is_spilled_and_products_overlap(depth, window):
    tensors = [torch.empty(1, 2, 128, depth).bfloat16() for _ in range(5)]
    arguments = (*tensors, torch.empty(1, 2, 128), *tensors[:3], *PROGRAM["workspace"](tensors[0]))
    compiled = cute.compile(
        PROGRAM["attention_backward"], *map(argument, arguments), 1.0, *window, options="--gpu-arch sm_90a"
    )
    assert (compiled.spills, compiled.registers) == (0, 168)  # of 512 * 128 / 384; setmaxnreg gives the products 240
    kernel = compiled.kernels[1]
    steps = 2 * depth // 16 + 2 * 64 // 16 + 128 // 16  # S and dP, dV and dK, dQ
    assert kernel.ptx.count("wgmma.mma_async") == steps
    # The compiler waits after each wgmma where it cannot keep accumulators apart.
    assert "serialized" not in kernel.binary.log


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("warpgroup.wait_group(1)  # for S", "warpgroup.wait_group(2)  # for S", {"not landed"}),
        ("warpgroup.wait_group(1)  # for dP", "warpgroup.wait_group(2)", {"not landed"}),
        ("warpgroup.wait_group(1)  # for dQ", "warpgroup.wait_group(2)", {"not landed"}),
        ("cute.arch.barrier(barrier_id=DS_IS_THERE, number_of_threads=128 * WARPGROUPS)", "pass", {"race"}),
        ("loads_dO.consumer_wait(state)", "pass", {"race", "not landed"}),
        ('self.sums_to)\n            cute.arch.fence_proxy("async.shared", space="cta")', "self.sums_to)",
         {"missing fence"}),
        ('fence_proxy("async.shared", space="cta")\n            cute.arch.barrier(barrier_id=DS',
         "sync_warp()\n            cute.arch.barrier(barrier_id=DS", {"missing fence"}),
        ("cute.arch.cp_async_bulk_wait_group(WARPGROUPS - 1 - each, read=True)", "pass", {"race"}),
    ],
)  # fmt: skip
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    program = changed("attention_backward", text, planted, tmp_path)
    tensors, _ = PROGRAM["operands"](torch.float16, 1, 1, 1, 200, 260, 64, None, None, "cpu")
    with pytest.raises(KernelError) as info:
        gradients(tensors, 0.125, None, None, program)
    assert {finding.kind for finding in info.value.findings} & kinds


@pytest.mark.parametrize("depth", [64, 128])
def test_no_banks_conflict(depth):
    """Only the last stores take more than the least: four lanes have 16 bytes of a row, and L2 joins the halves."""
    tensors, _ = PROGRAM["operands"](torch.bfloat16, 1, 1, 1, 128, 256, depth, None, None, "cpu")
    found = [torch.empty_like(x) for x in tensors[:3]]
    arguments = map(argument, (*tensors, *found, *PROGRAM["workspace"](tensors[0])))
    profile = cute.profile(PROGRAM["attention_backward"], *arguments, 0.125, None, None)
    assert all(line.wavefronts == line.ideal_wavefronts for line in profile.worst)
    assert {line.text.strip() for line in profile.worst} == {"cute.autovec_copy(rounded[r, None], to[r, None])"}
    assert profile.total.flops >= 10 * 128 * 256 * depth
