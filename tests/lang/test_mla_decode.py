"""The example of latent attention: right beside float64, no spills, keys fetched once a cluster, each wait needed."""

from __future__ import annotations

import re
import runpy

import pytest

from changed_examples import changed
from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "mla_decode.py"
PROGRAM = runpy.run_path(str(PATH))
SCALE = 576**-0.5


def operands(*facts):
    return PROGRAM["operands"]("cpu", *facts)


def run(tensors, scale=SCALE, decode=PROGRAM["mla_decode"], check=True, seed=0):
    with cute.on_cpu(check=check, seed=seed):
        decode(*PROGRAM["arguments"](*tensors), scale)


def compare(tensors, scale=SCALE):
    """Weights are rounded before they are normed, so that errors are those of one rounding to 16 bits, or so."""
    q, cache, table, lengths, o, lse, _ = tensors
    expected, expected_lse = PROGRAM["reference"](q, cache, table, lengths, scale)
    rounding = 2**-8 if o.dtype is torch.bfloat16 else 2**-11
    assert float((o.double() - expected).norm()) <= rounding * float(expected.norm()) + 1e-9
    torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)


def test_the_workspace_has_its_types_under_any_default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        made = PROGRAM["workspace"]("cpu", 2)
    finally:
        torch.set_default_dtype(before)
    assert [x.dtype for x in made] == [torch.float32, torch.float32, torch.int32]


@pytest.mark.parametrize("seed", range(8))
def test_errors_are_those_of_one_rounding(seed):
    torch.manual_seed(seed)
    batches, queries, processors = (int(torch.randint(1, n, ())) for n in (5, 3, 9))
    lengths = [int(x) for x in torch.randint(0, 500, (batches,))]
    tensors = operands((torch.bfloat16, torch.float16)[seed % 2], lengths, queries, processors)
    run(tensors, check=seed < 4, seed=seed)
    compare(tensors)


@pytest.mark.parametrize("lengths", [(1,), (63, 65), (128, 0, 0, 64), (5, 1, 2, 3), (64 * 7,)])
@pytest.mark.parametrize("processors", [2, 14])
def test_corners_of_blocks_and_parts(lengths, processors):
    tensors = operands(torch.bfloat16, lengths, 1, processors)
    run(tensors, check=False)
    compare(tensors)


def test_queries_that_see_no_key():
    tensors = operands(torch.float16, (1, 0, 2), 2, 4)
    run(tensors)
    o, lse = tensors[4:6]
    compare(tensors)
    assert not o[0, 0].any()
    assert not o[1].any()
    assert torch.isneginf(lse[1]).all()


def test_many_sequences_of_any_length_are_found():
    """More than the 32 of a round of the search, in parts that hold several, or a part of one."""
    torch.manual_seed(0)
    tensors = operands(torch.bfloat16, [int(x) for x in torch.randint(0, 130, (40,))], 1, 18)
    run(tensors, check=False)
    compare(tensors)


def test_the_bits_are_the_same_in_any_order_of_warps():
    torch.manual_seed(1)
    tensors = operands(torch.bfloat16, (500, 200), 1, 6)
    found = []
    for seed in range(3):
        run(tensors, check=False, seed=seed)
        found.append(tensors[4].clone())
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_large_scores_do_not_overflow_and_maxima_that_grow_are_followed():
    torch.manual_seed(2)
    tensors = operands(torch.float16, (300,), 1, 4)
    q, cache, table = tensors[:3]
    q *= 40
    cache[table[0, :5].long()] *= torch.arange(1, 6)[:, None, None].half()
    run(tensors, 1.0, check=False)
    expected, _ = PROGRAM["reference"](q, cache, table, (300,), 1.0)
    torch.testing.assert_close(tensors[4], expected.half(), rtol=1e-2, atol=1e-2)
    assert torch.isfinite(tensors[5]).all()


def test_what_it_does_not_have():
    q, cache, *others = operands(torch.float16, (16,), 1, 2)
    with pytest.raises(ValueError, match=r"the cache is \(\d+, 32, 576\); expected"):
        run((q, cache[:, :32].contiguous(), *others))


def test_a_cluster_fetches_each_key_once():
    lengths = (640, 256)
    tensors = operands(torch.bfloat16, lengths, 1, 4)
    profile = cute.profile(PROGRAM["mla_decode"], *PROGRAM["arguments"](*tensors), SCALE)
    loads = [line for line in profile.lines if line.bytes and re.search(r"cute\.copy\(load_[CR],", line.text)]
    assert [line.bytes for line in loads] == [sum(lengths) * 2 * n for n in (512, 64)]  # latent ones, those that rotate


@nvrtc
def test_nothing_is_spilled_and_products_overlap():
    arguments = PROGRAM["arguments"](*operands(torch.bfloat16, (640, 256), 1, 4))
    compiled = cute.compile(PROGRAM["mla_decode"], *arguments, SCALE, options="--gpu-arch sm_90a")
    assert (compiled.spills, compiled.registers) == (0, 168)  # of 512 * 128 / 384; setmaxnreg gives the products 232
    kernel = compiled.kernels[0]
    assert ".local" not in kernel.ptx
    # The compiler waits after each wgmma where it cannot keep accumulators apart.
    assert "serialized" not in kernel.binary.log
    assert "injected" not in kernel.binary.log


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("self.stages[group][i].consumer_wait(states[group])", "pass", {"race", "not landed", "uninitialized"}),
        ("cute.arch.barrier(barrier_id=TOGETHER + group, number_of_threads=128)  # all warps", "pass  #", {"race"}),
        ("cute.arch.barrier(barrier_id=PUBLISHED + other, number_of_threads=256)", "pass",
         {"race", "missing fence", "uninitialized", "deadlock", "barrier"}),
        ('sP)\n        cute.arch.fence_proxy("async.shared", space="cta")', "sP)", {"missing fence"}),
        ('.fill(0.0)\n            cute.arch.fence_proxy("async.shared", space="cta")', ".fill(0.0)", {"missing fence"}),
        ("cute.arch.barrier(barrier_id=ALL, number_of_threads=256)\n        for r in", "for r in", {"race"}),
        ("        self.stages[other][2].consumer_release(states[other])\n", "", {"deadlock", "barrier", "early exit"}),
    ],
)  # fmt: skip
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    decode = changed("mla_decode", text, planted, tmp_path)["mla_decode"]
    with pytest.raises(KernelError) as info:
        run(operands(torch.float16, (100, 400, 90), 1, 4), decode=decode)
    assert {finding.kind for finding in info.value.findings} & kinds
