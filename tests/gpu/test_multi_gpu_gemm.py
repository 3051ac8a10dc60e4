"""GEMMs on a machine with several GPUs: on any of them, whichever is current, with their workspaces and streams."""

from __future__ import annotations

import pytest

from tilewright import _core, kernels

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    pytest.mark.skipif(
        not _core.cuda.driver_path() or _core.cuda.device_count() < 2, reason="fewer than two CUDA devices"
    ),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

SLOW = 100_000_000  # cycles: 50 ms or more

# What goes by each kernel: type, the extents, whether in TF32. Rows of 1023 elements are copied first.
PROBLEMS = {
    "simt": (torch.float32, (200, 136, 96), False),
    "sm80": (torch.float64, (200, 136, 96), False),
    "sm90": (torch.float16, (200, 136, 96), False),
    "sm90, tf32": (torch.float32, (200, 136, 96), True),
    "padded": (torch.float16, (1024, 1024, 1023), False),
}


@pytest.fixture(autouse=True)
def first_device():
    """The first device is current, and still is at the end."""
    torch.manual_seed(0)
    torch.cuda.set_device(0)
    kernels.gemm.clear()
    yield
    assert torch.cuda.current_device() == 0


def right(c, a, b):
    expected = a.double() @ b.double().t()
    return float((c.double() - expected).norm() / expected.norm()) < 2e-3


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_device_that_is_not_current(name):
    dtype, (m, n, k), tf32 = PROBLEMS[name]
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        for _ in range(2):  # planned, and launched again
            a, b = torch.randn(m, k, device=device).to(dtype), torch.randn(n, k, device=device).to(dtype)
            c = kernels.gemm(a, b, allow_tf32=tf32)
            assert c.device == a.device
            assert torch.cuda.current_device() == 0
            assert right(c, a, b)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_current_stream_is_that_of_the_tensors_device(name):
    dtype, (m, n, k), tf32 = PROBLEMS[name]
    a, b = torch.randn(m, k, device="cuda:1").to(dtype), torch.randn(n, k, device="cuda:1").to(dtype)
    c = kernels.gemm(a, b, allow_tf32=tf32)
    late = a.clone()
    a.zero_()
    side = torch.cuda.Stream("cuda:1")
    torch.cuda.synchronize("cuda:1")
    with torch.cuda.stream(side):
        torch.cuda._sleep(SLOW)
        a.copy_(late)
        with torch.cuda.device(0):
            kernels.gemm(a, b, c, allow_tf32=tf32)
    side.synchronize()
    assert right(c, late, b)


def test_two_devices_in_one_gemm_are_refused():
    a, b = torch.randn(64, 32, device="cuda:1"), torch.randn(64, 32, device="cuda:0")
    with pytest.raises(ValueError, match="mA lies on cuda:1 and mB on cuda:0; all must be on one device"):
        kernels.gemm(a, b)


def test_torch_matmul_on_the_second_device():
    from tilewright.torch import matmul

    a, b = torch.randn(130, 70, device="cuda:1", requires_grad=True), torch.randn(70, 90, device="cuda:1")
    c = matmul(a, b)
    c.sum().backward()
    assert c.device == a.device == a.grad.device
    assert right(c.detach(), a.detach(), b.t())
