"""wgmma in kernels: every instruction beside float64, its layouts in shared memory, and what is found about it."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as cutlass
import warpgroup_gemms
from compiling import nvrtc
from counts import one_in
from tilewright import cute
from tilewright.cute.nvgpu import warpgroup
from tilewright.lang.cpu import KernelError
from warp_gemms import KEPT, elements, tensor
from warpgroup_operations import BF16, F16, F32, MN, OPERATIONS, RMEM, SMEM, K


def multiplied(op, atoms, repeats, seed, *, span=None, accumulate=True, defect="", check=True):
    """(D of a kernel, what it is in float64 or exact integers, the sum of magnitudes, findings) for a random tile."""
    rng = np.random.default_rng(seed)
    m, n, k = (x * a * r for x, a, r in zip(op.shape_mnk, (*atoms, 1), repeats, strict=True))
    tiled_mma = cute.make_tiled_mma(op, (*atoms, 1))
    (kept_a, a), (kept_b, b) = elements(rng, (m, k), op.a_dtype), elements(rng, (n, k), op.b_dtype)
    kept_c, c = elements(rng, (m, n), op.acc_dtype)
    kept_d = np.zeros_like(kept_c)
    a_type, b_type = (F32 if t is cutlass.TFloat32 else t for t in (op.a_dtype, op.b_dtype))
    with cute.on_cpu(check=check):
        warpgroup_gemms.tile(
            tensor(kept_a, a_type), tensor(kept_b, b_type), tensor(kept_c, op.acc_dtype),
            tensor(kept_d, op.acc_dtype), *warpgroup_gemms.smem_layouts(op, m, n, k, span), tiled_mma, accumulate,
            defect,
        )  # fmt: skip
    if not accumulate:
        c = c * 0
    return kept_d, a @ b.T + c, np.abs(a) @ np.abs(b).T + np.abs(c)


def assert_product(op, found, wanted, size):
    if op.acc_dtype is cutlass.Int32:
        np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(np.uint32).view(np.int32))
        return
    epsilon = {F16: 2**-10, F32: 2**-22}[op.acc_dtype]
    assert (np.abs(found - wanted) <= 4 * epsilon * size).all()


@pytest.mark.parametrize("op", OPERATIONS, ids=str)
def test_every_kind_multiplies(op):
    assert_product(op, *multiplied(op, (1, 1), (1, 1, 2), 7))


@pytest.mark.parametrize("accumulate", [True, False])
def test_accumulate_false_begins_anew(accumulate):
    op = OPERATIONS[0]
    assert_product(op, *multiplied(op, (2, 1), (2, 2, 3), 3, accumulate=accumulate))


@one_in(2)  # each is a kernel of its own, which takes 0.02 s to trace and to run
@given(
    op=st.sampled_from(OPERATIONS),
    atoms=st.sampled_from([(1, 1), (2, 1)]),
    repeats=st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 4)),
    seed=st.integers(0, 1000),
)
def test_random_arrangements(op, atoms, repeats, seed):
    assert_product(op, *multiplied(op, atoms, repeats, seed))


@pytest.mark.parametrize("span", [16, 32, 64, 128])
@pytest.mark.parametrize(("a", "b"), [(K, K), (MN, MN), (K, MN)])
def test_every_swizzle(span, a, b):
    op = warpgroup.MmaF16BF16Op(F16, F32, (64, 128, 16), SMEM, a, b)
    assert_product(op, *multiplied(op, (1, 1), (2, 1, 4), 1, span=span))


# ---- what is found ---------------------------------------------------------------------------------------------------

GEMM = "cute.gemm(tiled_mma, rC"


@pytest.mark.parametrize(
    ("defect", "kind", "text", "words"),
    [
        ("touched in between", "not landed", "rC[0] = rC[0]", "reads registers of a wgmma, before a wait_group"),
        ("waits too little", "not landed", "cute.autovec_copy(rC, tD)", "reads registers of a wgmma, before a wait_gr"),
        ("no commit", "not landed", "cute.autovec_copy(rC, tD)", "reads registers of a wgmma, before a wait_group"),
        ("overwritten", "not landed", "sB[tidx] = mB[tidx]", "writes what a wgmma reads, before a wait_group"),
        ("no fence", "missing fence", GEMM, "touched since the last warpgroup.fence()"),
        ("no second fence", "missing fence", GEMM, "touched since the last warpgroup.fence()"),
        ("no proxy fence", "missing fence", GEMM, "the asynchronous proxy reads what a thread wrote"),
        # Of two accesses the later one is told, whichever that is between two warps that nothing orders.
        ("no barrier", "race", GEMM, "what another one (writes|reads), and no barrier is between"),
    ],
)  # fmt: skip
def test_planted_defects_are_found_on_their_line(defect, kind, text, words):
    with pytest.raises(KernelError) as error:
        multiplied(OPERATIONS[0], (1, 1), (1, 1, 2), 7, defect=defect)
    there = [x for x in error.value.findings if x.kind == kind and is_told(x, text)]
    assert there, str(error.value)
    pattern = words if kind == "race" else re.escape(words)
    assert any(re.search(pattern, x.message) for x in there), [x.message for x in there]


def is_told(finding, text):
    """Whether the finding, or the other side of a race, is on the line with this text."""
    lines = [finding.line, *([finding.other_place[1]] if finding.other_place else [])]
    return any(text in linecache.getline(warpgroup_gemms.__file__, line) for line in lines)


def test_registers_of_a_are_owned_until_waited_for():
    op = warpgroup.MmaF16BF16Op(BF16, F32, (64, 64, 16), RMEM, K, K)
    with pytest.raises(KernelError) as error:
        multiplied(op, (1, 1), (1, 1, 2), 7, defect="a touched")
    assert any(
        x.kind == "not landed" and "reads registers of a wgmma" in x.message and is_told(x, "rA[0] = rA[0]")
        for x in error.value.findings
    ), str(error.value)


# ---- as text ---------------------------------------------------------------------------------------------------------


def compiled_for(op, arch="sm_90a", atoms=(1, 1, 1)):
    m, n, k = (x * y for x, y in zip(op.shape_mnk, (atoms[0], 2, 2), strict=True))
    a, b = (np.zeros((x, k), KEPT.get(op.a_dtype, op.a_dtype.numpy)) for x in (m, n))
    c = np.zeros((m, n), op.acc_dtype.numpy)
    a_type, b_type = (F32 if t is cutlass.TFloat32 else t for t in (op.a_dtype, op.b_dtype))
    arguments = (tensor(a, a_type), tensor(b, b_type), tensor(c, op.acc_dtype), tensor(c, op.acc_dtype))
    layouts = warpgroup_gemms.smem_layouts(op, m, n, k)
    tiled_mma = cute.make_tiled_mma(op, atoms)
    return cute.compile(warpgroup_gemms.tile, *arguments, *layouts, tiled_mma, True, "", options=f"--gpu-arch {arch}")


@nvrtc
@pytest.mark.parametrize("op", OPERATIONS, ids=str)
def test_every_kind_compiles_without_spills(op):
    compiled = compiled_for(op)
    assert compiled.spills == 0
    assert compiled.ptx.count(op.instruction) == 4  # two columns, two steps along K


def test_the_text_moves_descriptors():
    source = compiled_for(OPERATIONS[0]).source
    assert "wgmma_m64n64k16_f32_bf16_bf16_ss(rC + n * 32, matrix_a, moved(matrix_b, n * " in source
    assert source.count("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16") == 1
    # The form: a swizzle of 64 bytes, groups of 8 rows 512 bytes apart.
    assert f"matrix_descriptor<{2 << 62 | 512 >> 4 << 32}u>" in source


@nvrtc
def test_an_older_device_is_refused_by_its_line():
    with pytest.raises(
        ValueError, match=r"wgmma\.mma_async\S+ of .* \(.*\.py:\d+\) needs sm_90 or later, but .* sm_80"
    ):
        compiled_for(OPERATIONS[0], "sm_80").ptx  # noqa: B018


# ---- what is refused -------------------------------------------------------------------------------------------------


@cute.kernel
def wrong_kernel(what: cutlass.Constexpr):
    op = warpgroup.MmaF16BF16Op(BF16, F32, (64, 64, 16), SMEM, K, K)
    tiled_mma = cute.make_tiled_mma(op)
    storage = cutlass.utils.SmemAllocator()
    layouts = warpgroup_gemms.smem_layouts(op, 64, 64, 64)
    storage.allocate(128)
    if cutlass.const_expr(what == "layout"):
        layouts[0] = cute.make_layout((64, 64), stride=(64, 1))
    sA = storage.allocate_tensor(BF16, layouts[0], 128 if cutlass.const_expr(what == "alignment") else 1024)
    sB = storage.allocate_tensor(BF16, layouts[1], 1024)
    thread = tiled_mma.get_slice(0)
    rA, rB = (tiled_mma.make_fragment_A(thread.partition_A(sA)), tiled_mma.make_fragment_B(thread.partition_B(sB)))
    rC = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((64, 64)))
    rD = cute.make_fragment_like(rC)
    if cutlass.const_expr(what == "wait"):
        warpgroup.wait_group(cute.arch.thread_idx()[0])
    cute.gemm(tiled_mma, rD if cutlass.const_expr(what == "other registers") else rC, rA, rB, rC)


@cute.jit
def wrong(what: cutlass.Constexpr):
    wrong_kernel(what).launch(block=[128, 1, 1])


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("layout", r"gemm: MmaF16BF16Op\(.*\) cannot read a as tensor<.* lies; make its layout by tile_to_shape"),
        ("alignment", r"gemm: .* pattern repeats after 1024 bytes, but .* is known to be aligned to 128"),
        ("other registers", r"gemm: .* adds to the registers that it writes; pass d"),
        ("wait", r"wait_group: expected the number of groups as a Python integer"),
    ],
)
def test_what_cannot_be_multiplied_is_refused(what, words):
    with cute.on_cpu(check=True), pytest.raises((TypeError, ValueError), match=words):
        wrong(what)


def test_outside_of_kernels_there_is_no_warpgroup():
    with pytest.raises(RuntimeError, match=r"warpgroup\.fence: it is an instruction of a kernel"):
        warpgroup.fence()


@pytest.mark.parametrize("count", [20, 26, 264])
def test_registers_are_multiples_of_8(count):
    with pytest.raises(ValueError, match=rf"setmaxregister_increase\({count}\): expected a multiple of 8"):
        cute.arch.setmaxregister_increase(count)
