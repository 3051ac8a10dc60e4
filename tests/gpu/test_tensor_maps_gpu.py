"""On a GPU: blocks copy by tensor maps that they change, and copies by cp.async arrive at mbarriers."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import _core, cute
from tilewright.utils import TensorMapUpdateMode

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]
torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def needs_hopper():
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("tensor maps are changed by instructions of sm_90a")


@pytest.mark.parametrize(("groups", "stride", "blocks"), [(1, 64, 1), (5, 72, 2), (200, 64, 7), (333, 1024, 132)])
@pytest.mark.parametrize("mode", list(TensorMapUpdateMode))
def test_each_tensor_is_copied_with_its_own_rows_and_stride(mode, groups, stride, blocks):
    from tensor_map_kernels import COLUMNS, ROWS, double

    generator = torch.Generator().manual_seed(groups)
    rows = torch.randint(1, ROWS + 1, (groups,), generator=generator, dtype=torch.int32)
    inputs = [torch.randint(-100, 100, (n + 3, stride), generator=generator).half().cuda() for n in rows.tolist()]
    outputs = [torch.full((n + 3, COLUMNS), -1, dtype=torch.float16, device="cuda") for n in rows.tolist()]
    addresses = torch.tensor([[x.data_ptr(), y.data_ptr()] for x, y in zip(inputs, outputs, strict=True)]).cuda()
    strides = torch.tensor([[stride, COLUMNS]] * groups, dtype=torch.int32).cuda()
    maps = torch.zeros((blocks, 2, 16), dtype=torch.int64, device="cuda")
    stand_in = cute.from_dlpack(torch.zeros((ROWS, COLUMNS), dtype=torch.float16, device="cuda"), assumed_align=16)
    stand_in = stand_in.mark_layout_dynamic(leading_dim=1)
    double(stand_in, stand_in, addresses, rows.cuda(), strides, maps, mode, "")
    for x, y, n in zip(inputs, outputs, rows.tolist(), strict=True):
        assert torch.equal(y[:n], 2 * x[:n, :COLUMNS])
        assert bool((y[n:] == -1).all())


def test_copies_arrive_when_they_have_landed():
    from async_arrival_kernels import ITEMS, LANES, rows

    x = torch.randn(ITEMS, 4 * LANES, device="cuda")
    y = torch.zeros_like(x)
    rows(*(cute.from_dlpack(each.T, assumed_align=16) for each in (x, y)), LANES, "")
    assert np.array_equal(x.cpu(), y.cpu())
