"""Each kind of view in each type of element, from NumPy and from torch: the elements, and back without a copy."""

from __future__ import annotations

import numpy as np
import pytest

from dlpack_capsules import needs_torch, torch
from tilewright import cute
from tilewright.cute.runtime import from_dlpack

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
# Views of an array (4, 6, 5).
VIEWS = {
    "whole": lambda x: x,
    "one element": lambda x: x[1:2, 2:3, 3:4],
    "no modes": lambda x: x[1, 2, 3:4].reshape(()),
    "a row": lambda x: x[1, 2],
    "a column": lambda x: x[:, 2, 1],
    "from an offset": lambda x: x[1:, 2:, 3:],
    "every second": lambda x: x[::2, 1::2],
    "the last first": lambda x: x[::-1],
    "all backwards": lambda x: x[::-1, ::-1, ::-1],
    "every second backwards": lambda x: x[:, ::-2],
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.transpose(1, 2, 0),
    "a diagonal": lambda x: x[0, :5].diagonal(),
    "a mode of one": lambda x: x[:, None, 2:3],
    "flat": lambda x: x.reshape(-1),
    "repeated": lambda x: np.broadcast_to(x[:, :1], (4, 6, 5)),
    "overlapping": lambda x: np.lib.stride_tricks.sliding_window_view(x[0, 0], 3),
    "five modes": lambda x: x.reshape(2, 2, 3, 2, 5),
}


def elements(tensor):
    """As NumPy lists them, the last mode fastest."""
    extents = cute.flatten(tensor.shape) if tensor.shape != () else ()
    extents = (extents,) if isinstance(extents, int) else extents
    return [tensor[index] for index in np.ndindex(*extents)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("view", VIEWS)
def test_numpy(dtype, view):
    whole = (np.arange(120) % 2 if dtype == "?" else np.arange(120)).astype(dtype).reshape(4, 6, 5)
    array = VIEWS[view](whole)
    tensor = from_dlpack(array)
    assert elements(tensor) == array.ravel().tolist()
    again = np.from_dlpack(tensor)
    assert (again == array).all()
    assert again.ctypes.data == array.ctypes.data
    assert again.strides == array.strides or array.size == 1
    if array.flags.writeable:
        array[(0,) * array.ndim] = 1
        assert again[(0,) * array.ndim] == 1 == tensor[(0,) * array.ndim]


@needs_torch
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("view", [name for name in VIEWS if "back" not in name and "last" not in name])
def test_torch(dtype, view):
    """torch has no negative strides, and takes what it gave."""
    whole = np.arange(120).reshape(4, 6, 5)
    numbers = VIEWS[view](whole)
    base = torch.arange(120).to(getattr(torch, dtype))
    steps = [stride // whole.itemsize for stride in numbers.strides]
    offset = (numbers.ctypes.data - whole.ctypes.data) // whole.itemsize
    array = base.as_strided(numbers.shape, steps, offset)
    tensor = from_dlpack(array)
    assert elements(tensor) == array.flatten().tolist()
    again = torch.from_dlpack(tensor)
    assert torch.equal(again, array)
    assert (again.data_ptr(), again.dtype) == (array.data_ptr(), array.dtype)
