"""Copies on a machine with several GPUs: on any of them, whichever is current, and on several at once."""

from __future__ import annotations

import threading

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

from copies import assert_equal, bits, noise  # noqa: E402

SLOW = 100_000_000  # cycles: 50 ms or more


@pytest.fixture(autouse=True)
def first_device():
    """The first device is current, and still is at the end."""
    torch.manual_seed(0)
    torch.cuda.set_device(0)
    kernels.tiled_copy.clear()
    yield
    assert torch.cuda.current_device() == 0


def pair(device, shape=(200, 300)):
    """A matrix and what its transpose goes to, filled with something else."""
    src = noise(torch.float32, shape[0] * shape[1], device).view(shape)
    return src, bits(src).bitwise_not().view(torch.float32).view(shape[::-1])


def test_a_device_that_is_not_current():
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        for _ in range(2):  # planned, and launched again
            src, dst = pair(device)
            assert kernels.tiled_copy(src.t(), dst) is dst
            assert torch.cuda.current_device() == 0
            assert_equal(dst, src.t().contiguous())
            assert kernels.transpose(src).device == src.device
    assert kernels.tiled_copy.entries == 2


@pytest.mark.parametrize("remembered", [False, True])
def test_the_current_stream_is_that_of_the_tensors_device(remembered):
    src, dst = pair("cuda:1")
    late = src.clone()
    plan = kernels.tiled_copy.plan(src.t(), dst)
    plan.run(src.t(), dst)
    if remembered:
        kernels.tiled_copy(src.t(), dst)
    bits(src).bitwise_not_()
    side = torch.cuda.Stream("cuda:1")
    torch.cuda.synchronize("cuda:1")
    with torch.cuda.stream(side):
        torch.cuda._sleep(SLOW)
        src.copy_(late)
        with torch.cuda.device(0):
            kernels.tiled_copy(src.t(), dst)
    side.synchronize()
    assert_equal(dst, late.t().contiguous())


@pytest.mark.parametrize(("here", "there"), [(0, 1), (1, 0)])
def test_two_devices_in_one_copy_are_refused(here, there):
    src, _ = pair(f"cuda:{here}")
    _, dst = pair(f"cuda:{there}")
    message = f"src lies on cuda:{here} and dst on cuda:{there}; both must be on one device"
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            kernels.tiled_copy(src.t(), dst)
    near, plan_dst = pair(f"cuda:{here}")
    plan = kernels.tiled_copy.plan(near.t(), plan_dst)
    for call in (plan.run, plan.bind):
        with pytest.raises(ValueError, match=message):
            call(src.t(), dst)


def test_a_plan_is_compiled_once_and_runs_on_both():
    from tilewright.runtime import compiler
    from tilewright.runtime.device import arch_of

    if arch_of(0) != arch_of(1):
        pytest.skip("the devices have different architectures")
    shape = (211, 307)  # of no other test
    src, dst = pair("cuda:0", shape)
    plan = kernels.tiled_copy.plan(src.t(), dst)
    program = plan.compile(arch_of(0))
    for device in (0, 1):
        src, dst = pair(f"cuda:{device}", shape)
        plan.run(src.t(), dst)
        assert_equal(dst, src.t().contiguous())
        bits(dst).bitwise_not_()
        plan.bind(src.t(), dst)()
        assert_equal(dst, src.t().contiguous())
    assert plan.compile(arch_of(1)).from_cache == "memory"
    functions = [compiler.kernel(program, plan.name, device) for device in (0, 1)]
    assert [function.device for function in functions] == [0, 1]
    assert {device for key, device in compiler._modules if key == program.key} == {0, 1}


def test_threads_on_both_devices():
    failures = []

    def work(device):
        try:
            torch.cuda.set_device(0)
            with torch.cuda.stream(torch.cuda.Stream(device)):
                torch.cuda.set_device(0)
                for i in range(100):
                    src, dst = pair(f"cuda:{device}", (64 + i % 3, 96))
                    kernels.tiled_copy(src.t(), dst)
                    assert_equal(dst, src.t().contiguous())
                    assert torch.cuda.current_device() == 0
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
