"""Launches on arrays of any library that has the C functions of DLPack, of several devices, and launches that fail."""

from __future__ import annotations

import ctypes

import pytest

from launches import STREAM, VIEW, Slow, array_type, prepared
from tilewright import _core

cuda = _core.cuda


@pytest.fixture
def slow():
    return Slow()


@pytest.fixture
def launcher(slow):
    return cuda.Launcher(slow, ("src", "dst", "plan"))


def repeated(launcher, slow, *args) -> bool:
    """Whether the second of two equal calls is launched without the slow path."""
    before = slow.calls
    launcher(*args)
    launcher(*args)
    assert slow.calls - before in (1, 2)
    return slow.calls - before == 1


def test_any_library_with_the_c_functions(launcher, slow):
    array = array_type()
    a, b = array(data=8192), array(data=4096, byte_offset=32)
    assert repeated(launcher, slow, a, b)
    assert slow.recorder.last[3] == 77
    assert slow.pointers == (8192, 4096 + 32)
    assert cuda.describe(b) == (4128, (2, 32, 1), (1, 0), (4,), (1,))


def test_versions_of_the_c_functions(launcher, slow):
    assert not repeated(launcher, slow, array_type(version=2)(), array_type(version=2)())
    one = array_type()
    newer = array_type(version=2, previous=ctypes.addressof(one.api))
    assert repeated(launcher, slow, newer(), newer())


@pytest.mark.parametrize(
    "fields",
    [
        {"data": None},
        {"ndim": -1},
        {"ndim": 65},
        {"strides": None},
        {"shape": (ctypes.c_int64 * 1)(0)},
        {"device_id": 300},
        {"device_type": 2},  # the recorder is on the CPU
        {"device_id": 1},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_no_launch_can_serve(launcher, slow, fields):
    array = array_type(**fields)
    assert not repeated(launcher, slow, array(), array())


def test_two_devices_go_slow(launcher, slow):
    array = array_type()
    assert repeated(launcher, slow, array(), array())
    assert not repeated(launcher, slow, array(), array(device_type=2))
    assert not repeated(launcher, slow, array(), array(device_id=1))
    assert not repeated(launcher, slow, array(device_type=2, device_id=1), array(device_type=2, device_id=0))


def test_bind_names_the_device():
    array = array_type()
    with pytest.raises(ValueError, match="argument 1 is on cuda:3, but the kernel is loaded on cpu"):
        prepared()[1].bind(array(), array(device_type=2, device_id=3))


def test_a_launch_that_fails_is_an_error_and_loses_nothing(launcher, slow):
    """The functions of a library may fail: then the slow path decides, and no Python error is left behind."""
    array = array_type()

    def fail(*args):
        raise BufferError("not now")

    a, b = array(), array()
    assert repeated(launcher, slow, a, b)
    failing = array_type()
    failing.api.stream = STREAM(lambda *args: -1)
    failing.api.view = array.api.view
    assert not repeated(launcher, slow, failing(), failing())
    failing = array_type()
    failing.api.view = VIEW(lambda *args: -1)
    assert not repeated(launcher, slow, failing(), failing())
