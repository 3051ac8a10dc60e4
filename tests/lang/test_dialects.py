"""What programs take from CuTeDSL's compiler beside inline assembly: instructions, functions, elements of vectors."""

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Boolean, Float32, Int32, Int64, cute
from tilewright._mlir._mlir_libs._cutlass_ir._mlir.ir import IntegerType
from tilewright._mlir.dialects import math, nvvm, vector
from tilewright.cute.runtime import from_dlpack
from tilewright.cutlass_dsl import T, if_generate, not_, while_generate, yield_out


def wait_by_hand(barrier, phase):
    """Ask twice, and then in a loop, as a wait that is written out does."""

    def ask():
        return nvvm.mbarrier_try_wait_parity_timelimit(barrier.llvm_ptr, Int32(phase).ir_value(), Int32(99).ir_value())

    def loop():
        with while_generate([Boolean(False).ir_value()], lambda done: not_(done)):
            yield_out([Boolean(ask())])
        return Boolean(True).ir_value()

    if_generate(Boolean(ask()), lambda: Boolean(True).ir_value(), loop, None, [Boolean])


@cute.kernel
def handing_kernel(x: cute.Tensor, waits: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(Int64, 1)
    shared = smem.allocate_tensor(Int32, cute.make_layout(64))
    if lane == 0:
        cute.arch.mbarrier_init(barrier, 32)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if lane < 32:
        shared[lane] = lane * lane
        cute.arch.mbarrier_arrive(barrier)
    else:
        if cutlass.const_expr(waits):
            wait_by_hand(barrier, 0)
        x[lane - 32] = shared[63 - lane]


@pytest.mark.parametrize("seed", range(4))
def test_a_wait_that_is_written_out(seed):
    x = np.zeros(32, np.int32)
    with cute.on_cpu(check=True, seed=seed):
        handing_kernel(x, True).launch(block=64)
        assert x.tolist() == [(31 - i) ** 2 for i in range(32)]
        with pytest.raises(cute.KernelError, match=r"race|not written"):
            handing_kernel(x, False).launch(block=64)


def test_its_type():
    assert IntegerType.get_signless(1) == T.bool()


@cute.kernel
def elected_kernel(x: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    if Boolean(nvvm.elect_sync()):
        x[lane // 32] = x[lane // 32] + 1


def test_one_lane_of_a_warp_is_elected():
    x = np.zeros(2, np.int32)
    elected_kernel(x).launch(block=64)
    assert x.tolist() == [1, 1]


@cute.kernel
def elements_kernel(x: cute.Tensor, y: cute.Tensor):
    values = x.load()
    y[0] = Float32(vector.extract(values, [], [2]))
    y[1] = math.log(vector.extract(values, [], [1])) + 1
    y[2] = vector.extract(values, [Int32(x.shape[0] - 1)], [])


def test_elements_of_a_vector_and_their_logarithm():
    x, y = np.array([1, np.e, 5, 9], np.float32), np.zeros(3, np.float32)
    elements_kernel(from_dlpack(x), y).launch(block=1)
    np.testing.assert_allclose(y, [5, 2, 9], rtol=1e-6)


def test_what_is_no_vector_or_position():
    @cute.kernel
    def wrong(x: cute.Tensor, positions: cutlass.Constexpr):
        vector.extract(x.load() if positions else x, [], positions)

    x = from_dlpack(np.zeros(4, np.float32))
    with pytest.raises(ValueError, match=r"a vector has one mode, but the positions are \[1, 2\]"):
        wrong(x, [1, 2]).launch(block=1)
    with pytest.raises(TypeError, match=r"vector.extract: expected a TensorSSA"):
        wrong(x, []).launch(block=1)


@pytest.mark.parametrize("operation", [nvvm.elect_sync, lambda: nvvm.mbarrier_try_wait_parity_timelimit(None, 0, 0)])
def test_outside_of_a_kernel(operation):
    with pytest.raises(RuntimeError, match=r"nvvm\."):
        operation()
