"""Copies by TMA, mbarriers and clusters of kernels in Python, on a GPU: what the CPU's execution gives, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import _core, cute
from tilewright.cute.nvgpu import cpasync
from tma_kernels import LAYOUTS, dynamic, numbers, padded, run_load, run_multicast, run_stages, run_store

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    pytest.mark.skipif(
        torch.cuda.is_available() and torch.cuda.get_device_capability()[0] != 9, reason="TMA is Hopper's"
    ),
]


def on_gpu(array):
    """A tensor of the GPU with the array's strides, as the host function takes it."""
    tensor = torch.empty_strided(
        array.shape,
        [stride // array.itemsize for stride in array.strides],
        dtype=torch.from_numpy(np.zeros(1, array.dtype)).dtype,
        device="cuda",
    )
    tensor.copy_(torch.from_numpy(array))
    leading = int(np.argmin(array.strides))
    return tensor, cute.from_dlpack(tensor, assumed_align=16).mark_layout_dynamic(leading_dim=leading)


def both(run, inputs, output, *rest):
    """The output of the CPU and of the GPU."""
    on_host = output.copy()
    with cute.on_cpu(check=True):
        run(*(dynamic(x) for x in inputs), dynamic(on_host), *rest)
    made, tensor = on_gpu(output)
    run(*(on_gpu(x)[1] for x in inputs), tensor, *rest)
    return on_host, made.cpu().numpy()


@pytest.mark.parametrize("shape", [(64, 64), (100, 136)])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_tile_is_loaded_with_zeros_outside(name, shape):
    tile = (64, 64)
    x = numbers((104, shape[1]), order="F") if name.startswith("mn") else numbers(shape)
    y = np.full_like(padded(x, tile), -1)
    host, device = both(run_load, [x], y, LAYOUTS[name](tile, cutlass.Float16), tile)
    np.testing.assert_array_equal(device, host)
    np.testing.assert_array_equal(device, padded(x, tile))


@pytest.mark.parametrize("op", [None, cpasync.CopyReduceBulkTensorTileS2GOp("add")], ids=["store", "add"])
@pytest.mark.parametrize("name", ["plain", "64", "128"])
def test_a_tile_is_stored_but_not_outside(name, op):
    tile, shape = (16, 64), (40, 104)
    x = numbers(tuple(padded(np.zeros(shape), tile).shape))
    host, device = both(run_store, [x], numbers(shape), LAYOUTS[name](tile, cutlass.Float16), tile, op)
    np.testing.assert_array_equal(device, host)


def test_stages_in_turn():
    host, device = both(run_stages, [numbers((8, 1600), np.float32)], np.zeros(32, np.float32))
    np.testing.assert_array_equal(device, host)


@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_multicast(ctas):
    host, device = both(run_multicast, [numbers((128, 64))], np.zeros((64, 64, 2 * ctas), np.float16), ctas)
    np.testing.assert_array_equal(device, host)


def test_sizes_and_addresses_change_from_call_to_call():
    """Each call makes the tensor map anew."""
    tile = (64, 64)
    layout = LAYOUTS["128"](tile, cutlass.Float16)
    for rows, columns in ((64, 64), (100, 136), (64, 64), (8, 200)):
        x = numbers((rows, columns), seed=rows + columns)
        y = np.full_like(padded(x, tile), -1)
        made, tensor = on_gpu(y)
        run_load(on_gpu(x)[1], tensor, layout, tile)
        np.testing.assert_array_equal(made.cpu().numpy(), padded(x, tile))
