"""What a launcher remembers: prepared launches, launches bound to their arguments, descriptions of tensors."""

from __future__ import annotations

import gc
import struct
import weakref

import pytest

from launches import prepared
from tilewright import _core

torch = pytest.importorskip("torch")
cuda = _core.cuda


def tensors(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pointers": [(0, 9, 0)]}, "a pointer at byte 9 does not lie in a parameter of 16 bytes"),
        ({"pointers": [(0, -1, 0)]}, "a pointer at byte -1"),
        ({"pointers": [(32, 0, 0)]}, "pointers names argument 32; arguments are 0 to 31"),
        ({"ranges": [(-1, 0, 0)]}, "ranges names argument -1"),
        ({"disjoint": [(0, 1)], "ranges": [(0, 0, 1)]}, "disjoint names ranges 0 and 1 of 1"),
        ({"result": 32}, "result names argument 32"),
    ],
)
def test_wrong_prepared(options, message):
    with pytest.raises(ValueError, match=message):
        prepared(**options)


def test_prepared_launch():
    slow, launch = prepared(ranges=[(0, 0, 8), (1, 0, 8)], disjoint=[(0, 1)], keep="plan")
    launch.launch([1000, 2000], 7)
    assert slow.recorder.last[3:] == (7, struct.pack("<QQ", 1000, 2000))
    (kernel,) = launch.kernels
    assert (kernel.grid, kernel.block, kernel.shared, kernel.parameter_bytes) == ((3, 2, 1), (64, 1, 1), 256, 16)
    assert (launch.keep, launch.result, kernel.function) == ("plan", 1, slow.recorder)
    with pytest.raises(ValueError, match="1 addresses were given, but the launch needs 2"):
        launch.launch([1000], 7)
    with pytest.raises(ValueError, match="arguments 0 and 1 overlap"):
        launch.launch([1000, 1007], 7)
    assert slow.recorder.count == 1


def test_bound():
    slow, launch = prepared()
    a, b = tensors(2)
    bound = launch.bind(a, b)
    assert bound() is None
    assert slow.recorder.last[3:] == (0, struct.pack("<QQ", a.data_ptr(), b.data_ptr()))
    bound(stream=9)
    assert slow.recorder.last[3] == 9
    launch.launch([1, 2], 0)  # leaves the bound one alone
    bound()
    assert slow.pointers == (a.data_ptr(), b.data_ptr())
    assert bound.tensors == (a, b)
    assert bound.prepared is launch
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is not None
    del bound
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1,), {}), ((1,), {"stream": 1}), ((), {"x": 1}), ((), {"stream": None})]
)
def test_bound_arguments(args, kwargs):
    bound = prepared()[1].bind(*tensors(2))
    with pytest.raises(TypeError, match="stream"):
        bound(*args, **kwargs)


def test_bind_errors():
    import numpy

    slow, launch = prepared(ranges=[(0, 0, 8), (1, 0, 8)], disjoint=[(0, 1)])
    a = torch.zeros(2)
    with pytest.raises(ValueError, match="1 tensors were given, but the launch needs 2"):
        launch.bind(a)
    with pytest.raises(ValueError, match="overlap"):
        launch.bind(a, a)
    with pytest.raises(TypeError, match=r"argument 1, a Tensor, .*gradients"):
        launch.bind(a, torch.zeros(2, requires_grad=True))
    with pytest.raises(TypeError, match="addresses="):
        launch.bind(a, numpy.zeros(2))
    x, y = numpy.zeros(2), numpy.zeros(2)
    bound = launch.bind(x, y, addresses=[x.ctypes.data, y.ctypes.data])
    with pytest.raises(TypeError, match="stream="):
        bound()
    bound(stream=3)
    assert slow.recorder.last[3:] == (3, struct.pack("<QQ", x.ctypes.data, y.ctypes.data))
    with pytest.raises(TypeError):
        cuda.Bound()


def test_describe():
    x = torch.zeros(3, 4, dtype=torch.bfloat16)[1:, ::2]
    assert cuda.describe(x) == (x.data_ptr(), (4, 16, 1), (1, 0), (2, 2), (4, 2))
    assert cuda.describe(torch.zeros(())) is not None
    assert cuda.current_stream(x) == 0
    for other in (1, "text", None, [1], object(), __import__("numpy").zeros(2)):
        assert cuda.describe(other) is None
        assert cuda.current_stream(other) is None
