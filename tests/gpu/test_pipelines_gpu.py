"""Pipelines in kernels on a GPU: what the CPU's execution gives."""

from __future__ import annotations

import pytest

from pipeline_kernels import KERNELS, launch, run_in_turn, run_release
from tilewright import _core, cute, utils
from tma_pipeline_kernels import double, spread

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]
needs_sm_90 = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] < 9, reason="no clusters, no try_wait"
)


@needs_sm_90
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(("stages", "items"), [(2, 7), (3, 3), (4, 2), (5, 1000)])
def test_what_is_produced_is_consumed(kernel, stages, items):
    x = torch.randn(32, items, device="cuda")
    y = torch.zeros_like(x)
    launch(x, y, kernel, stages, None)
    assert torch.equal(y, x.flip(0))


@needs_sm_90
@pytest.mark.parametrize("depth", [1, 2])
def test_groups_pass_in_turn(depth):
    order = torch.full((600, 3), -1, dtype=torch.int32, device="cuda")
    run_in_turn(order, depth, True)
    for place in range(depth):
        assert order[place::depth].flatten().tolist() == list(range(1800 // depth))


@needs_sm_90
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 2), (2, 2), (4, 2)])
def test_consumers_release_the_stages_of_the_blocks_that_multicast_to_them(shape):
    out = torch.zeros(shape[0] * shape[1], 3, dtype=torch.int32, device="cuda")
    run_release(out, shape, (shape[0] + shape[1] - 1) * 2)
    assert (out[:, 1:] == 5).all()


def dynamic(x):
    return cute.from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=1)


@needs_sm_90
@pytest.mark.parametrize("shape", [(64, 64), (200, 328), (4000, 4096)])
@pytest.mark.parametrize("ctas", [1, 100])
def test_ctas_double_one_tile_after_another(shape, ctas):
    x = torch.randn(shape, device="cuda").half()
    y = torch.zeros_like(x)
    double(dynamic(x), dynamic(y), ctas)
    assert torch.equal(y, 2 * x)


@needs_sm_90
@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_a_cluster_shares_its_loads(ctas):
    x = torch.randint(-9, 9, (64, 64 * 100), device="cuda").half()
    y = torch.zeros(64, ctas, device="cuda")
    spread(dynamic(x), cute.from_dlpack(y))
    assert torch.equal(y, x.float().sum(1, keepdim=True).expand(64, ctas))


def test_a_device_runs_clusters():
    info = utils.HardwareInfo()
    assert info.get_device_multiprocessor_count() == torch.cuda.get_device_properties(0).multi_processor_count
    assert info.get_max_active_clusters(2) == info.get_device_multiprocessor_count() // 2
