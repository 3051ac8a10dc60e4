"""ldmatrix and stmatrix in kernels: beside the atoms at the prompt; defects, costs and what is refused."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest

import tilewright as cutlass
import warp_gemms
from compiling import nvrtc
from tilewright import cute
from tilewright.cute.nvgpu import warp
from tilewright.lang.cpu import KernelError
from warp_gemms import FORMS, PLAIN, SWIZZLED, copies, elements, tensor


@pytest.mark.parametrize(("matrices", "transpose"), FORMS)
@pytest.mark.parametrize("swizzle", [PLAIN, SWIZZLED], ids=str)
def test_what_is_loaded_is_stored_again(matrices, transpose, swizzle):
    load, store = copies(matrices, transpose)
    shape = (16, 8 * matrices)
    outer = cute.make_layout(shape) if transpose else cute.make_layout(shape, stride=(shape[1], 1))
    layout = cute.make_composed_layout(swizzle, 0, outer)
    src = np.arange(16 * 8 * matrices, dtype=np.float16).reshape(shape)
    dst = np.zeros_like(src)
    with cute.on_cpu(check=True):
        warp_gemms.through_matrices(cute.from_dlpack(src), cute.from_dlpack(dst), layout, load, store)
    np.testing.assert_array_equal(src, dst)


@cute.kernel
def registers_kernel(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, layout: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(src.element_type, layout, 128)
    for i in cutlass.range(tidx, cute.size(src), load.size):
        shared[i] = src[i]
    cute.arch.sync_threads()
    mine = dst[tidx, None]
    registers = cute.make_rmem_tensor((mine.shape[0], 1, 1), src.element_type)
    cute.copy(load, load.get_slice(tidx).partition_S(shared), registers)
    cute.autovec_copy(registers, cute.make_tensor(mine.iterator, cute.make_layout(registers.shape)))


@cute.jit
def registers_of(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, layout: cute.Layout):
    registers_kernel(src, dst, load, layout).launch(block=[load.size, 1, 1])


@pytest.mark.parametrize(("matrices", "transpose"), FORMS)
def test_registers_hold_what_the_atom_says(matrices, transpose):
    """As copy_threads executes the atom at the prompt."""
    load, _ = copies(matrices, transpose)
    shape = (16, 8 * matrices)
    layout = cute.make_layout(shape) if transpose else cute.make_layout(shape, stride=(shape[1], 1))
    src = np.arange(16 * 8 * matrices, dtype=np.float16).reshape(shape)
    dst = np.zeros((64, 2 * matrices), np.float16)
    with cute.on_cpu(check=True):
        registers_of(cute.from_dlpack(src), cute.from_dlpack(dst, assumed_align=4), load, layout)
    order = np.ascontiguousarray(src.T).reshape(-1) if transpose else src.reshape(-1).copy()
    rows = cute.make_tensor(cute.from_dlpack(order, assumed_align=16).iterator, layout)
    wanted = cute.make_rmem_tensor((64, (2 * matrices, 1), (1, 1)), cutlass.Float16)
    cute.copy_threads(load, load.tidfrg_S(rows), wanted)
    np.testing.assert_array_equal(dst.ravel("F"), list(wanted))


# ---- a product through shared memory ---------------------------------------------------------------------------------


def staged(defect="", swizzle=SWIZZLED, seed=0, tiles=3, check=True):
    rng = np.random.default_rng(seed)
    (kept_a, a), (kept_b, b) = (elements(rng, (32, 32 * tiles), cutlass.BFloat16) for _ in range(2))
    c = np.zeros((32, 32), np.float32)
    arguments = (*(tensor(x, cutlass.BFloat16) for x in (kept_a, kept_b)), tensor(c, cutlass.Float32))
    with cute.on_cpu(check=check, seed=seed):
        warp_gemms.staged(*arguments, swizzle, defect)
    return c, a @ b.T


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("swizzle", [PLAIN, SWIZZLED], ids=str)
def test_a_product_by_cp_async_and_ldmatrix(swizzle, seed, check):
    found, wanted = staged(swizzle=swizzle, seed=seed, check=check)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


LOAD_A, LOAD_B = "cute.copy(load_A, load_A", "cute.copy(load_B, load_B"
FILL_A = "cute.copy(copy, copy.partition_S(cute.local_tile(mA"


@pytest.mark.parametrize(
    ("defect", "kind", "text", "words"),
    [
        ("no wait", "not landed", LOAD_A, "reads what an asynchronous copy writes, before a wait"),
        # Of two accesses the later one is told, whichever that is between two warps that nothing orders.
        ("no barrier before", "race", LOAD_A, "what another one (writes|reads), and no barrier is between"),
        ("no barrier behind", "race", FILL_A, "what another one (writes|reads), and no barrier is between"),
        ("divergent ldmatrix", "lane", LOAD_B, "ldmatrix is executed by the 32 lanes of a warp"),
        ("divergent mma", "lane", "cute.gemm(tiled_mma, rC, rA, rB, rC)", "mma.sync is executed by the 32 lanes"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_planted_defects_are_found_on_their_line(defect, kind, text, words, seed):
    with pytest.raises(KernelError) as error:
        staged(defect, seed=seed)
    there = [x for x in error.value.findings if x.kind == kind and is_told(x, text)]
    assert there, str(error.value)
    assert any(re.search(words, x.message) for x in there), [x.message for x in there]


def is_told(finding, text):
    """Whether the finding, or the other side of a race, is on the line with this text."""
    lines = [finding.line, *([finding.other_place[1]] if finding.other_place else [])]
    return any(text in linecache.getline(warp_gemms.__file__, line) for line in lines)


@cute.kernel
def misaligned_kernel(dst: cute.Tensor, step: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float16, 2048)
    whole = cute.make_tensor(memory, cute.make_layout(2048))
    for i in cutlass.range(tidx, 2048, 32):
        whole[i] = cutlass.Float16(1)
    cute.arch.sync_threads()
    rows = cute.make_tensor(memory, cute.make_layout((8, 32), stride=(1, cute.assume(step, divby=8))))
    registers = cute.make_rmem_tensor((8, 1), cutlass.Float16)
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), cutlass.Float16)
    row = cute.make_tensor(rows[None, tidx].iterator, cute.make_layout((8, 1)))
    cute.copy(atom, row, registers)
    dst[tidx] = registers[0]


@cute.jit
def misaligned(dst: cute.Tensor, step: cutlass.Int32):
    misaligned_kernel(dst, step).launch(block=[32, 1, 1])


def test_a_broken_promise_of_alignment_is_found():
    with cute.on_cpu(check=True):
        misaligned(np.zeros(32, np.float16), 16)
        with pytest.raises(KernelError) as error:
            misaligned(np.zeros(32, np.float16), 12)
    (found,) = [x for x in error.value.findings if x.kind == "misaligned"]
    assert "cute.copy(atom, row" in linecache.getline(__file__, found.line)


# ---- what is refused -------------------------------------------------------------------------------------------------


@cute.kernel
def wrong_kernel(src: cute.Tensor, what: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=2), cutlass.Float16)
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((8, 9)), 16)
    rows, registers, pred = shared[None, None], cute.make_rmem_tensor((4, 9), cutlass.Float16), None
    if cutlass.const_expr(what == "global"):
        rows = cute.make_tensor(src.iterator, rows.layout)
    if cutlass.const_expr(what == "strided"):
        rows = cute.make_tensor(shared.iterator, cute.make_layout((8, 9), stride=(9, 1)))
    if cutlass.const_expr(what == "unaligned"):
        rows = cute.make_tensor(shared.iterator + tidx, rows.layout)
    if cutlass.const_expr(what == "values"):
        registers = cute.make_rmem_tensor((3, 9), cutlass.Float16)
    if cutlass.const_expr(what == "calls"):
        registers = cute.make_rmem_tensor((4, 8), cutlass.Float16)
    if cutlass.const_expr(what == "apart"):
        registers = cute.make_rmem_tensor(cute.make_layout((4, 9), stride=(9, 1)), cutlass.Float16)
    if cutlass.const_expr(what == "predicate"):
        pred = cute.make_rmem_tensor((1, 9), cutlass.Boolean)
    cute.copy(atom, rows, registers, pred=pred)


@cute.jit
def wrong(src: cute.Tensor, what: cutlass.Constexpr):
    wrong_kernel(src, what).launch(block=[32, 1, 1])


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("global", r"copy: LdMatrix8x8x16bOp.* reads smem or generic memory, but src is tensor<ptr<f16, gmem"),
        ("strided", r"accesses 8 elements of src side by side, but .* is not known to have them so"),
        ("unaligned", r"needs src aligned to 16 bytes, but the vectors of .* are known to be aligned to 2"),
        ("values", r"moves 4 elements of a thread's dst at once, but mode 0 of .* has 3"),
        ("calls", r"is called \(1,9\) times by the modes of src .*, and \(1,8\) times by those of dst"),
        ("apart", r"takes 2 elements of dst from each register, but .* side by side"),
        ("predicate", r"executed by the 32 threads of a warp together, so none of its calls can be left out"),
    ],
)
def test_tensors_that_do_not_fit_are_named(what, words):
    with pytest.raises(ValueError, match=words):
        wrong(np.zeros(128, np.float16), what)


def test_bytes_are_not_transposed():
    with pytest.raises(ValueError, match="ldmatrix transposes elements of 16 bits alone"):
        warp.LdMatrix8x16x8bOp(transpose=True, num_matrices=4)


# ---- costs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("swizzle", "passes"), [(PLAIN, 4), (SWIZZLED, 1)], ids=["plain", "swizzled"])
def test_phases_and_flops_are_counted(swizzle, passes):
    """Rows of 64 bytes: without a swizzle four of a matrix begin in one bank."""
    a, c = np.zeros((32, 64), np.uint16), np.zeros((32, 32), np.float32)
    arguments = (tensor(a, cutlass.BFloat16), tensor(a, cutlass.BFloat16), tensor(c, cutlass.Float32))
    found = cute.profile(warp_gemms.staged, *arguments, swizzle, "")
    (load,) = [line for line in found.lines if LOAD_A in line.text]
    (mma,) = [line for line in found.lines if "cute.gemm" in line.text and line.executed]
    (ldsm,) = load.instructions
    assert (ldsm.sass, ldsm.requests) == ("LDSM.16.M88.4", 2 * 2 * 2)  # warps, tiles, steps along K
    assert ldsm.wavefronts == passes * 4 * ldsm.requests  # a phase for each matrix
    assert ldsm.bytes_moved == 512 * ldsm.requests
    assert mma.flops == 2 * 32 * 32 * 64


# ---- text ------------------------------------------------------------------------------------------------------------


def compiled_matrices(matrices, transpose, arch):
    load, store = copies(matrices, transpose)
    shape = (16, 8 * matrices)
    layout = cute.make_layout(shape) if transpose else cute.make_layout(shape, stride=(shape[1], 1))
    x = np.zeros(shape, np.float16)
    return cute.compile(warp_gemms.through_matrices, x, x, layout, load, store, options=f"--gpu-arch {arch}")


@nvrtc
@pytest.mark.parametrize(("matrices", "transpose"), FORMS)
def test_the_instructions_are_compiled(matrices, transpose):
    compiled = compiled_matrices(matrices, transpose, "sm_90a")
    form = f"m8n8.x{matrices}{'.trans' if transpose else ''}.shared"
    assert (
        compiled.ptx.count(f"ldmatrix.sync.aligned.{form}") == compiled.ptx.count(f"stmatrix.sync.aligned.{form}") == 1
    )
    assert compiled.spills == 0


@nvrtc
def test_stmatrix_is_refused_by_its_line_where_the_device_lacks_it():
    with pytest.raises(ValueError, match=r"stmatrix.* \(.*warp_gemms\.py:\d+\) needs sm_90 or later, but .* for sm_80"):
        compiled_matrices(4, False, "sm_80").ptx  # noqa: B018


def test_addresses_are_a_base_and_distances():
    """In 32 bits, of one variable: the compiler then has constant distances in the instructions, not in registers."""
    x = tensor(np.zeros((32, 96), np.uint16), cutlass.BFloat16)
    compiled = cute.compile(
        warp_gemms.staged, x, x, cute.from_dlpack(np.zeros((32, 32), np.float32)), SWIZZLED, "",
        options="--gpu-arch sm_90a",
    )  # fmt: skip
    addresses = re.findall(r"shared_address\(.*?\)[ ,)]", compiled.source)
    assert len(addresses) == 4
    assert compiled.source.count(") + 2u * uint32(") == 7
    assert all(re.fullmatch(r"shared_address\(\w+\) ", address) for address in addresses)
