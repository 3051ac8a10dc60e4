"""The example of attention's backward pass for D 256: errors of torch's, the same bits always, each wait is needed."""

from __future__ import annotations

import runpy

import pytest

from changed_examples import changed
from compiling import nvrtc
from places import ROOT
from test_attention_backward import error, gradients, theirs
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "attention_backward_256.py"
PROGRAM = runpy.run_path(str(PATH))
argument, operands = PROGRAM["argument"], PROGRAM["operands"]


@pytest.mark.parametrize("seed", range(3))
def test_errors_are_those_of_torch(seed):
    torch.manual_seed(seed)
    key_heads, group = (int(x) for x in torch.randint(1, 3, (2,)))
    queries = int(torch.randint(1, 200, ()))
    keys = queries + int(torch.randint(0, 200, ()))
    left, right = ((None, None), (None, 0), (int(torch.randint(0, 150, ())), int(torch.randint(0, 80, ()))))[seed % 3]
    dtype = (torch.bfloat16, torch.float16)[seed % 2]
    case = (dtype, 1, key_heads * group, key_heads, queries, keys, 256, left, right)
    tensors, expected = operands(*case, "cpu")
    found = gradients(tensors, 1 / 16, left, right, PROGRAM, check=seed < 2)
    for ours, torchs, wanted in zip(found, theirs(tensors, 1 / 16, left, right), expected, strict=True):
        assert error(ours, wanted) <= 1.1 * error(torchs, wanted) + 1e-6, case


def test_sequences_side_by_side():
    """The gradients of each are those of a call of its own, where the last query sees the last key."""
    torch.manual_seed(1)
    left, right = 30, 4
    parts, wanted = [], []
    for queries, keys in ((70, 130), (0, 40), (1, 40), (90, 210)):
        shift = keys - queries
        ends = (left - shift, right + shift)
        tensors, expected = operands(torch.bfloat16, 1, 2, 1, queries, keys, 256, *ends, "cpu")
        parts.append(tensors)
        wanted.append(expected)
    tensors = [torch.cat(x, 2) for x in zip(*parts, strict=True)]
    starts = [torch.tensor(x).int() for x in ([0, 70, 70, 71, 161], [0, 130, 170, 210, 420])]
    found = gradients(tensors, 1 / 16, left, right, PROGRAM, starts=starts)
    for ours, expected in zip(found, (torch.cat(x, 2) for x in zip(*wanted, strict=True)), strict=True):
        assert error(ours, expected) <= 5e-3 * float(expected.norm())


def test_queries_and_keys_that_see_nothing():
    """Their gradients are zero, whatever the workspace had."""
    tensors, _ = operands(torch.float16, 1, 1, 1, 200, 300, 256, None, -150, "cpu")
    dq, dk, dv = gradients(tensors, 1 / 16, None, -150, PROGRAM)
    assert not dq[:, :, :150].any()
    assert dq[:, :, 150:].any()
    assert not dk[:, :, 50:].any()
    assert not dv[:, :, 50:].any()


def test_blocks_in_turn_and_in_any_order_add_the_same_terms(tmp_path):
    """Clusters are numbered as they begin: one that waited for one that has not begun would wait for ever."""
    text = "number, _, _ = cute.arch.cluster_idx()"
    source = PATH.read_text()
    assert source.count(text) == 1
    path = tmp_path / "elsewhere.py"
    path.write_text(source.replace(text, "number = cutlass.Int32(-1)"))
    tensors, _ = operands(torch.bfloat16, 1, 2, 1, 150, 300, 256, None, None, "cpu")
    in_turn, anyhow = (gradients(tensors, 1 / 16, None, None, PROGRAM, is_ordered=x) for x in (True, False))
    again = gradients(tensors, 1 / 16, None, None, runpy.run_path(str(path)))
    for a, b, c in zip(in_turn, again, anyhow, strict=True):
        assert torch.equal(a, b)
        torch.testing.assert_close(a, c, rtol=2e-2, atol=1e-3)


def test_another_depth():
    tensors = [torch.randn(1, 1, 16, 128).half() for _ in range(5)]
    with pytest.raises(ValueError, match="mQ has D = 128; expected 256"):
        gradients([*tensors, torch.zeros(1, 1, 16)], 1.0, None, None, PROGRAM)


@nvrtc
@pytest.mark.parametrize("window", [(None, None), (64, 0)])
def test_nothing_is_spilled_and_products_overlap(window):
    tensors = [torch.empty(1, 2, 128, 256).bfloat16() for _ in range(5)]
    arguments = (*tensors, torch.empty(1, 2, 128), *tensors[:3], *PROGRAM["workspace"](tensors[0]))
    compiled = cute.compile(
        PROGRAM["attention_backward"], *map(argument, arguments), 1.0, *window, options="--gpu-arch sm_90a"
    )
    assert (compiled.spills, compiled.registers) == (0, 128)  # setmaxnreg gives the products 216 and 208
    # The compiler waits after each wgmma where it cannot keep accumulators apart.
    assert "serialized" not in compiled.kernels[1].binary.log


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("warpgroup.wait_group(1)  # for the scores", "warpgroup.wait_group(2)", {"not landed"}),
        ("warpgroup.wait_group(0)  # for the sums", "warpgroup.wait_group(1)", {"not landed"}),
        ("hands_P.consumer_wait(visit(1, i))", "pass", {"race"}),
        ("            self.hands_dS.consumer_wait(state)", "            pass", {"not written"}),
        ('cute.arch.fence_proxy("async.shared", space="cta")', "pass", {"missing fence"}),
        ("            self.turns.consumer_wait(visit(TURNS, i))\n", "", {"race", "not landed"}),
        ("wait_group(0, read=True)\n            cute.arch.sync_warp()\n", "wait_group(9)\n", {"race", "not landed"}),
        ("cute.arch.cp_async_bulk_wait_group(later)", "pass", {"race"}),
        ("    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()\n", "", {"early exit"}),
    ],
)
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    program = changed("attention_backward_256", text, planted, tmp_path)
    tensors, _ = operands(torch.float16, 1, 1, 1, 140, 150, 256, None, None, "cpu")
    with pytest.raises(KernelError) as info:
        gradients(tensors, 1 / 16, None, None, program)
    assert {finding.kind for finding in info.value.findings} & kinds, info.value


def test_no_banks_conflict():
    """Only the last stores take more than the least: four lanes have 16 bytes of a row, and L2 joins the halves."""
    tensors, _ = operands(torch.bfloat16, 1, 1, 1, 64, 128, 256, None, None, "cpu")
    found = [torch.empty_like(x) for x in tensors[:3]]
    arguments = map(argument, (*tensors, *found, *PROGRAM["workspace"](tensors[0])))
    profile = cute.profile(PROGRAM["attention_backward"], *arguments, 1 / 16, None, None)
    assert all(line.wavefronts == line.ideal_wavefronts for line in profile.worst)
    assert {line.text.strip() for line in profile.worst} == {"cute.autovec_copy(rounded[r, None], to[r, None])"}
