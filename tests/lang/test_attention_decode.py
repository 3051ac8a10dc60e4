"""The example of decoding: as right as torch's, no spills, K and V read once, and each of its waits is needed."""

from __future__ import annotations

import runpy

import pytest

from changed_examples import changed
from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "attention_decode.py"
PROGRAM = runpy.run_path(str(PATH))


def operands(*facts):
    return PROGRAM["operands"]("cpu", *facts)


def run(tensors, scale, decode=PROGRAM["decode"], check=True, seed=0):
    with cute.on_cpu(check=check, seed=seed):
        decode(*PROGRAM["arguments"](*tensors), scale)


def torchs(q, k, v, table, lengths, scale):
    """The same by torch, in its own type, a sequence at a time; one without keys gives 0."""
    o = torch.zeros_like(q)
    queries = q.shape[2]
    for b, length in enumerate(lengths):
        if length:
            pages = table[b, : -(-length // k.shape[1])].long()
            keys, values = (x[pages].flatten(0, 1)[:length].transpose(0, 1)[None] for x in (k, v))
            seen = torch.ones(queries, length, dtype=torch.bool).tril(length - queries)
            o[b : b + 1] = torch.nn.functional.scaled_dot_product_attention(
                q[b : b + 1], keys, values, attn_mask=seen, scale=scale, enable_gqa=True
            ).nan_to_num()
    return o


def test_the_workspace_has_its_types_under_any_default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        made = PROGRAM["workspace"](torch.zeros(1, 1, 1, 64), 1, 2)
    finally:
        torch.set_default_dtype(before)
    assert [x.dtype for x in made] == [torch.float32, torch.float32, torch.int32]


@pytest.mark.parametrize("seed", range(12))
def test_errors_are_those_of_torch(seed):
    torch.manual_seed(seed)
    dtype, depth = (torch.bfloat16, torch.float16)[seed % 2], (64, 128)[seed // 2 % 2]
    batches, key_heads, queries, processors = (int(torch.randint(1, n, ())) for n in (6, 3, 4, 6))
    group, page_size = (1, 4, 8, 5)[seed % 4], (8, 16, 64, 128, 32)[seed % 5]
    lengths = [int(x) for x in torch.randint(0, 400, (batches,))]
    tensors = operands(dtype, lengths, page_size, group * key_heads, key_heads, queries, depth, processors)
    q, k, v, table, _, o, lse, space = tensors
    scale = 0.5 / depth**0.5 if seed == 5 else depth**-0.5
    run(tensors, scale, check=seed < 6, seed=seed)
    expected, expected_lse = PROGRAM["reference"](q, k, v, table, lengths, scale)
    theirs = torchs(q, k, v, table, lengths, scale)
    errors = [float((x.double() - expected).norm()) for x in (o, theirs)]
    assert errors[0] <= 1.1 * errors[1] + 1e-9
    torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)
    assert not space[2].any()


def test_many_sequences_of_any_length_are_found():
    """More than the 32 of a round of the search, in more parts than sequences have blocks."""
    torch.manual_seed(0)
    lengths = [int(x) for x in torch.randint(0, 130, (70,))]
    tensors = operands(torch.float16, lengths, 64, 2, 1, 1, 64, 20)
    q, k, v, table, _, o, _, space = tensors
    assert space[2].shape[0] == 40
    run(tensors, 0.125, check=False)
    expected, _ = PROGRAM["reference"](q, k, v, table, lengths, 0.125)
    torch.testing.assert_close(o, expected.half(), rtol=1e-2, atol=2e-3)


def test_the_bits_are_the_same_in_any_order_of_warps():
    torch.manual_seed(1)
    tensors = operands(torch.bfloat16, (1000, 200), 64, 8, 1, 1, 64, 5)
    found = []
    for seed in range(3):
        run(tensors, 0.125, check=False, seed=seed)
        found.append(tensors[5].clone())
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_large_scores_do_not_overflow():
    tensors = operands(torch.float16, (300,), 64, 4, 1, 2, 64, 2)
    q, k, v, table, _, o, lse, _ = tensors
    q *= 300
    run(tensors, 1.0)
    expected, _ = PROGRAM["reference"](q, k, v, table, (300,), 1.0)
    torch.testing.assert_close(o, expected.half(), rtol=1e-2, atol=1e-2)
    assert torch.isfinite(lse).all()


@pytest.mark.parametrize(
    ("depth", "page_size", "text"), [(96, 64, "mQ has D = 96; expected 64 or 128"), (64, 48, "pages of 48 keys")]
)
def test_what_it_does_not_have(depth, page_size, text):
    with pytest.raises(ValueError, match=text):
        run(operands(torch.float16, (16,), page_size, 1, 1, 1, depth, 1), 1.0)


@pytest.mark.parametrize("depth", [64, 128])
def test_keys_and_values_are_read_once(depth):
    lengths = (640, 256)
    tensors = operands(torch.bfloat16, lengths, 64, 16, 2, 1, depth, 4)
    profile = cute.profile(PROGRAM["decode"], *PROGRAM["arguments"](*tensors), 1.0)
    assert profile.worst == []
    loads = [line for line in profile.lines if "cute.copy(load_" in line.text]
    assert [line.bytes for line in loads] == [sum(lengths) * 2 * depth * 2] * 2  # of K, of V


@nvrtc
@pytest.mark.parametrize(("depth", "registers"), [(64, 138), (128, 168)])
def test_nothing_is_spilled(depth, registers):
    """Two blocks, which are three warps on a quarter of a multiprocessor, have 168 registers a thread at most."""
    tensors = operands(torch.bfloat16, (640, 256), 64, 16, 2, 1, depth, 4)
    options = "--gpu-arch sm_90a"
    compiled = cute.compile(PROGRAM["decode"], *PROGRAM["arguments"](*tensors), 1.0, options=options)
    assert (compiled.spills, compiled.registers <= registers) == (0, True), compiled.registers
    assert ".local" not in compiled.ptx


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("stages.consumer_wait(state)", "pass", {"race", "not landed", "uninitialized"}),
        ('cute.arch.fence_proxy("async.shared", space="cta")', "pass", {"missing fence"}),
        ('1, sem="acq_rel"', '1, sem="acquire"', {"missing fence", "race"}),
        ('1, sem="acq_rel"', '1, sem="release"', {"missing fence", "race"}),
    ],
)  # fmt: skip
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    decode = changed("attention_decode", text, planted, tmp_path)["decode"]
    with pytest.raises(KernelError) as info:
        run(operands(torch.float16, (100, 90, 700, 80, 300), 64, 8, 1, 1, 64, 1), 0.125, decode)
    assert {finding.kind for finding in info.value.findings} & kinds
