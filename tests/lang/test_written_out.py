"""What programs write out: if_generate, while_generate, packed arithmetic, native structs, adapters, convert."""

import math
from fractions import Fraction

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Boolean, Float32, Int32, cute
from tilewright.cute.runtime import from_dlpack
from tilewright.cutlass_dsl import if_generate, not_, while_generate, yield_out


@cute.kernel(preprocessor=False)
def branch_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    chosen = if_generate(i < 2, lambda: i.ir_value(), lambda: Int32(7).ir_value(), None, [Int32])
    both = if_generate(chosen == 7, lambda n: (n + 1, 0.5), lambda n: [n, 2], [chosen], [Int32, Float32])
    x[i] = both[0] * 10 + (both[1] * 2).to(Int32)


def test_if_generate():
    x = np.zeros(4, np.int32)
    branch_kernel(x).launch(block=4)
    assert x.tolist() == [4, 14, 81, 81]


@cute.kernel(preprocessor=False)
def halving_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    done = Boolean(False).ir_value()
    loop = while_generate([done, x[i], Int32(0)], lambda done, n, trips: not_(done))
    with loop as (_, n, trips):
        yield_out([n // 2 <= 1, n // 2, trips + 1])
    x[i] = loop.results[2]


def test_while_generate():
    x = np.array([1, 2, 8, 1000], np.int32)
    halving_kernel(x).launch(block=4)
    assert x.tolist() == [1, 1, 3, 9]


def test_what_is_written_out_wrongly():
    @cute.jit(preprocessor=False)
    def no_end(n: Int32):
        with while_generate([n], lambda n: n > 0):
            pass

    with pytest.raises(RuntimeError, match=r"while_generate: the body has to end with yield_out"):
        no_end(3)

    @cute.jit(preprocessor=False)
    def too_many(n: Int32):
        with while_generate([n], lambda n: n > 0) as (m,):
            yield_out([m, m])

    with pytest.raises(TypeError, match=r"yield_out: 2 values, but the loop carries 1"):
        too_many(3)

    @cute.jit(preprocessor=False)
    def too_few(n: Int32):
        return if_generate(n > 2, lambda: (n, n), lambda: n, None, [Int32, Int32])

    with pytest.raises(TypeError, match=r"if_generate: else_body gives 1 values, but there are 2 types"):
        too_few(3)

    @cute.jit(preprocessor=False)
    def no_else(n: Int32):
        return if_generate(n > 2, lambda: n, None, None, [Int32])

    with pytest.raises(TypeError, match=r"if_generate: a branch that gives values needs else_body"):
        no_else(3)


def rounded(exact: Fraction, rnd: str) -> np.float32:
    """The Float32 that an exact value is rounded to."""
    nearest = np.float32(float(exact))
    below = nearest if Fraction(float(nearest)) <= exact else np.nextafter(nearest, np.float32(-np.inf))
    above = nearest if Fraction(float(nearest)) >= exact else np.nextafter(nearest, np.float32(np.inf))
    return {"rm": below, "rp": above, "rz": below if exact > 0 else above}[rnd]


@cute.kernel
def packed_kernel(x: cute.Tensor, y: cute.Tensor, rnd: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    a, b, c = ((x[i, j], x[i, j + 1]) for j in (0, 1, 2))
    for k, found in enumerate(
        (
            cute.arch.add_packed_f32x2(a, b, rnd=rnd),
            cute.arch.sub_packed_f32x2(a, b, rnd=rnd),
            cute.arch.mul_packed_f32x2(a, b, rnd=rnd),
            cute.arch.fma_packed_f32x2(a, b, c, rnd=rnd),
        )
    ):
        y[i, k, 0], y[i, k, 1] = found


@pytest.mark.parametrize("rnd", ["rn", "rm", "rp", "rz"])
def test_packed_arithmetic(rnd):
    random = np.random.default_rng(3)
    x = (random.standard_normal((256, 4)) * 2.0 ** random.integers(-20, 20, (256, 4))).astype(np.float32)
    x[0] = [1, 1, 1, 1]
    x[1] = [1, 2**-24, 2**-60, 1]
    x[2] = [3, -3, 9, 9]
    y = np.zeros((256, 4, 2), np.float32)
    packed_kernel(x, y, rnd).launch(block=256)
    for row, found in zip(x.tolist(), y, strict=True):
        exact = [Fraction(v) for v in row]
        for j in (0, 1):
            a, b, c = exact[j : j + 3]
            for k, value in enumerate((a + b, a - b, a * b, a * b + c)):
                if rnd != "rn" and value != 0:
                    assert found[k, j] == rounded(value, rnd), (row, k, rnd)
                elif k < 3:
                    assert found[k, j] == np.float32(float(value))
    if rnd == "rn":
        assert math.isclose(y[1, 3, 0], 2**-24 + 2**-60, rel_tol=2**-24)


def test_packed_arithmetic_refuses():
    @cute.jit
    def f(x: Float32):
        return cute.arch.add_packed_f32x2((x, x), (x, x), rnd="up")

    with pytest.raises(ValueError, match=r"add_packed_f32x2: rnd is 'up'; expected one of 'rn', 'rm', 'rp', 'rz'"):
        f(1.0)

    @cute.jit
    def g(x: Float32):
        return cute.arch.add_packed_f32x2(x, (x, x))

    with pytest.raises(TypeError, match=r"add_packed_f32x2: expected pairs of Float32"):
        g(1.0)


@cute.native_struct
class Mean:
    total: Float32
    count: Int32 = 0


@cute.kernel
def mean_kernel(x: cute.Tensor, mean: Mean):
    for i in range(cute.size(x)):
        if x[i] > 0:
            mean.total += x[i]
            mean.count = mean.count + 1
    x[0] = mean.total / mean.count


@cute.jit
def mean_of(x: cute.Tensor, mean: Mean):
    mean_kernel(x, mean).launch()


def test_native_structs_go_round_loops():
    x = np.array([1, -5, 2, 6], np.float32)
    mean_of(x, Mean(total=0))
    assert x[0] == 3
    x[0] = 1
    mean_of(x, Mean(total=9, count=3))
    assert x[0] == 3


class Metres:
    def __init__(self, n):
        self.n = n


@cutlass.register_jit_arg_adapter(Metres)
class MetresArgument:
    made = 0

    def __init__(self, metres):
        MetresArgument.made += 1
        self.n = metres.n

    def __extract_mlir_values__(self):
        return [Int32(self.n)]

    def __new_from_mlir_values__(self, values):
        return values[0]


def test_adapters():
    traced = []

    @cutlass.register_jit_arg_adapter(set)
    def total(values):
        return Int32(sum(values))

    @cute.jit
    def add(a, b):
        traced.append(None)
        return a + b

    assert int(add({1, 2}, {3})) == 6
    assert int(add({1, 5}, {4})) == 10
    assert len(traced) == 1

    @cute.jit
    def twice(metres):
        return metres * 2

    assert int(twice(Metres(4))) == 8


@pytest.mark.parametrize("of", [np.int32, np.float16, np.float64, np.uint8])
@pytest.mark.parametrize("to", [np.float32, np.int8])
def test_convert(of, to):
    x = np.arange(3 * 5 * 7).reshape(3, 5, 7).astype(of)
    y = np.zeros((7, 5, 3), to).transpose(2, 1, 0)
    cute.testing.convert(from_dlpack(x), from_dlpack(y))
    assert (y == x.astype(to)).all()
    y[:] = 0
    cute.testing.convert(from_dlpack(x).mark_layout_dynamic(), from_dlpack(y))
    assert (y == x.astype(to)).all()


def test_convert_refuses():
    with pytest.raises(ValueError, match=r"convert: src has shape \(2, 3\) and dst \(3, 2\); they have to be one"):
        cute.testing.convert(np.zeros((2, 3), np.int32), np.zeros((3, 2), np.int32))
