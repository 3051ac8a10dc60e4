"""analysis.verify_with_ncu on a GPU: what Nsight Compute counts of copies and GEMMs is what was predicted."""

from __future__ import annotations

import pytest

from tilewright import _core, kernels
from tilewright.analysis import verify_with_ncu
from tilewright.analysis.ncu import run as ncu

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

SCRIPT = """
import torch
from tilewright import kernels

x = torch.randn(96, 200, device="cuda")
kernels.transpose(x)
torch.relu(x)
"""


@pytest.fixture(scope="module", autouse=True)
def counters():
    """ncu, and the permission to read the counters; or a skip that says which of the two is missing."""
    try:
        ncu.find_ncu()
    except ncu.NcuError as missing:
        pytest.skip(str(missing))


def copies_and_gemms():
    """Run by verify_with_ncu in another process."""
    torch.manual_seed(0)
    x = torch.randn(130, 257, device="cuda")
    kernels.transpose(x)
    kernels.tiled_copy(x[:, 1:], torch.empty(130, 256, device="cuda"))
    kernels.gemm(x, torch.randn(65, 257, device="cuda"))
    turned = torch.randn(128, 200, device="cuda").t()
    for a in (turned, torch.randn(260, 128, device="cuda")):  # both go through registers, the second one swapped
        kernels.gemm(a, torch.randn(128, 136, device="cuda").t(), allow_tf32=True)
    for dtype in (torch.float16, torch.float64):
        a, b = (torch.randn(extent, 192, device="cuda").to(dtype) for extent in (200, 136))
        kernels.gemm(a, b)


def test_function():
    result = verify_with_ncu(copies_and_gemms)
    assert result, str(result)
    kernels_seen = {c.kernel for c in result.comparisons}
    assert {"simt", "sm80"} <= kernels_seen, str(result)
    assert {c.metric for c in result.comparisons} >= {"sectors", "lines", "wavefronts"}, str(result)


def ragged_and_moved():
    """Run by verify_with_ncu in another process: rows that begin within sectors, ends within boxes."""
    torch.manual_seed(0)
    for m, n, k in ((1000, 1000, 1000), (200, 264, 136)):
        for dtype in (torch.bfloat16, torch.float32):
            a, b = (torch.randn(extent, k + 8, device="cuda").to(dtype)[:, 8:] for extent in (m, n))
            kernels.gemm(a, b, allow_tf32=True)


def test_boxes_and_tensor_cores():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("gemm_sm90 is for compute capability 9.0")
    result = verify_with_ncu(ragged_and_moved)
    assert result, str(result)
    seen = {(c.sass, c.metric) for c in result.comparisons if c.kernel == "sm90"}
    assert {("UTMALDG", "requests"), ("UTMALDG", "sectors"), ("GMMA", "wavefronts")} <= seen, str(result)
    assert ("UTMASTG", "sectors") in seen, str(result)


def test_script(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)
    result = verify_with_ncu(path)
    assert result, str(result)


def test_other_predictions_differ(monkeypatch):
    """The comparison can fail: a prediction for tensors 16 bytes further on is not what is counted."""
    from tilewright.kernels.analyze import verify

    predicted = verify.classes_predicted
    monkeypatch.setattr(
        verify, "classes_predicted", lambda plan, addresses: predicted(plan, [(x or 0) + 16 for x in addresses])
    )
    result = verify_with_ncu(copies_and_gemms)
    assert not result
    assert "differs" in str(result)


def test_function_that_fails_is_an_error(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("raise RuntimeError('no such luck')\n")
    with pytest.raises(ncu.NcuError, match="no such luck"):
        verify_with_ncu(path)
