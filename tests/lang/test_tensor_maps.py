"""Tensor maps that kernels change: each block copies tensors that only memory knows, and what it forgets is found."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tensor_map_kernels import COLUMNS, double
from tilewright import cute
from tilewright.cute.nvgpu import cpasync
from tilewright.utils import TensorMapManager, TensorMapUpdateMode
from tma_kernels import aligned, dynamic, numbers

MODES = list(TensorMapUpdateMode)
GROUPS, BLOCKS = 5, 2


def problem(rows=(64, 1, 40, 63, 17), stride=72):
    """Inputs and outputs as rows of larger arrays, with what says where they are."""
    inputs = [numbers((GROUPS * 64, stride), seed=i) for i in range(GROUPS)]
    outputs = [aligned((n, COLUMNS), np.float16) for n in rows]
    addresses = np.array([[x.ctypes.data, y.ctypes.data] for x, y in zip(inputs, outputs, strict=True)], np.int64)
    strides = np.array([[stride, COLUMNS]] * GROUPS, np.int32)
    maps = aligned((BLOCKS, 2, 16), np.int64)
    return inputs, outputs, addresses, np.array(rows, np.int32), strides, maps


def run(given, mode, defect="", seed=0):
    inputs, outputs, addresses, rows, strides, maps = given
    stand_in = dynamic(aligned((64, COLUMNS), np.float16))
    with cute.on_cpu(check=True, seed=seed, memory=[*inputs, *outputs]):
        double(stand_in, stand_in, addresses, rows, strides, maps, mode, defect)


def findings_of(given, mode, defect="", seed=0):
    with pytest.raises(cute.KernelError) as error:
        run(given, mode, defect, seed)
    return error.value.findings


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", MODES)
def test_each_tensor_is_copied_with_its_own_rows_and_stride(mode, seed):
    given = problem()
    run(given, mode, seed=seed)
    for x, y in zip(*given[:2], strict=True):
        assert (y == 2 * x[: len(y), :COLUMNS]).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_tensor_map_that_is_not_acquired_is_found(mode):
    found = findings_of(problem(), mode, "no acquire")
    assert {f.kind for f in found} == {"missing fence"}
    assert all("has not acquired it since: fence_tma_desc_acquire" in f.message for f in found)
    assert len(found) == 2  # the load's line and the store's


def test_a_change_that_is_not_released_is_found():
    found = findings_of(problem(), TensorMapUpdateMode.GMEM, "no release")
    assert {f.kind for f in found} == {"missing fence"}
    assert all("no fence releases that" in f.message for f in found)


def test_a_tensor_map_that_is_published_before_the_warp_has_changed_it_is_found():
    found = findings_of(problem(), TensorMapUpdateMode.SMEM, "no sync_warp")
    assert {f.kind for f in found} == {"race"}
    assert "no sync_warp is between" in found[0].message


@pytest.mark.parametrize("mode", MODES)
def test_a_change_of_what_is_no_tensor_map_is_found(mode):
    found = findings_of(problem(), mode, "no map")
    assert any(f.kind == "not written" and "copy_tensormap" in f.message for f in found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ("stride", "misaligned", "stride 1 of the tensor is 130 bytes"),
        ("rows", "out of bounds", "extent 1 of the tensor is 0; TMA takes 1 to 2^32"),
        ("address", "misaligned", "no multiple of 16 bytes"),
    ],
)
def test_a_tensor_that_tma_does_not_take_is_found(mode, what, kind, words):
    inputs, outputs, addresses, rows, strides, maps = problem()
    if what == "stride":
        strides[2, 0] = 65
    elif what == "rows":
        rows[2] = 0
    else:
        addresses[2, 0] += 2
    found = findings_of((inputs, outputs, addresses, rows, strides, maps), mode)
    assert any(f.kind == kind and words in f.message for f in found)


def test_a_tensor_of_which_the_checks_were_not_told_is_out_of_bounds():
    given = problem()
    (found, *_) = findings_of(([], *given[1:]), TensorMapUpdateMode.GMEM)
    assert found.kind == "out of bounds"
    assert "the address is in the memory of no argument" in found.message


def test_a_workspace_that_is_not_aligned_is_found():
    given = problem()
    shifted = aligned((BLOCKS * 32 + 8,), np.int64)[8:].reshape(BLOCKS, 2, 16)
    run((*given[:5], shifted), TensorMapUpdateMode.GMEM)  # memory of its own counts as aligned: a GPU's is to 256 bytes
    maps = aligned((BLOCKS, 2, 24), np.int64)[:, :, :16]
    found = findings_of((*given[:5], maps), TensorMapUpdateMode.GMEM)
    assert any(f.kind == "misaligned" and "a tensor map begins at a multiple of 128 bytes" in f.message for f in found)


@pytest.mark.parametrize("mode", MODES)
def test_the_text_compiles_for_hopper(mode):
    given = problem()
    stand_in = dynamic(aligned((64, COLUMNS), np.float16))
    compiled = cute.compile[cute.GPUArch("sm_90a")](double, stand_in, stand_in, *given[2:], mode, "")
    where = "global" if mode is TensorMapUpdateMode.GMEM else "shared::cta"
    assert compiled.spills == 0
    for field, bits in (("global_address", 64), ("global_dim", 32), ("global_stride", 64)):
        assert f"tensormap.replace.tile.{field}.{where}.b1024.b{bits}" in compiled.ptx
    assert "fence.proxy.tensormap::generic.acquire.gpu" in compiled.ptx
    published = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
    assert (published in compiled.ptx) == (mode is TensorMapUpdateMode.SMEM)
    assert ("fence.proxy.tensormap::generic.release.gpu" in compiled.ptx) == (mode is TensorMapUpdateMode.GMEM)


# ---- what is refused while a function is traced ----


def traced(body):
    @cute.kernel
    def kernel(atom: cute.CopyAtom, gX: cute.Tensor, x: cute.Tensor, maps: cute.Tensor):
        body(atom, gX, x, maps)

    @cute.jit
    def function(x: cute.Tensor, maps: cute.Tensor):
        layout = cute.make_layout((64, COLUMNS), stride=(COLUMNS, 1))
        atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, (64, COLUMNS))
        kernel(atom, gX, x, maps).launch(grid=1, block=32)

    with cute.on_cpu():
        function(dynamic(aligned((64, COLUMNS), np.float16)), aligned((1, 16), np.int64))


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (lambda atom, gX, x, maps: cpasync.copy_tensormap(x, maps.iterator), TypeError, "make_tiled_tma_atom"),
        (
            lambda atom, gX, x, maps: cpasync.copy_tensormap(atom, maps),
            TypeError,
            "tensormap_ptr to point to 128 bytes",
        ),
        (lambda atom, gX, x, maps: cpasync.update_tma_descriptor(atom, maps, maps.iterator), TypeError, "Float16"),
        (
            lambda atom, gX, x, maps: cpasync.update_tma_descriptor(
                atom, cute.make_tensor(x.iterator, cute.make_layout(64)), maps.iterator
            ),
            ValueError,
            "has 2 modes",
        ),
        (
            lambda atom, gX, x, maps: cpasync.update_tma_descriptor(
                atom, cute.make_tensor(x.iterator, cute.make_layout((64, 64), stride=(1, 64))), maps.iterator
            ),
            ValueError,
            "contiguous along mode 1",
        ),
        (
            lambda atom, gX, x, maps: cpasync.cp_fence_tma_desc_release(maps.iterator, maps.iterator),
            TypeError,
            "tma_desc_shared_ptr to point to 128 bytes of smem",
        ),
        (lambda atom, gX, x, maps: TensorMapManager("GMEM", 128), TypeError, "TensorMapUpdateMode"),
        (lambda atom, gX, x, maps: TensorMapManager(MODES[0], 64), ValueError, "a tensor map has 128"),
        (
            lambda atom, gX, x, maps: TensorMapManager(MODES[0], 128).get_tensormap_ptr(
                cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 16, 128)
            ),
            ValueError,
            "from global memory",
        ),
        (
            lambda atom, gX, x, maps: TensorMapManager(TensorMapUpdateMode.SMEM, 128).update_tensormap(
                (x,), (atom,), (maps.iterator,), 0
            ),
            ValueError,
            "needs its own tensormap_smem_ptr",
        ),
    ],
)
def test_wrong_arguments_are_named(body, error, words):
    with pytest.raises(error, match=words):
        traced(body)
