"""Both ends of DLPack made by hand, in ctypes: a producer of capsules that no library makes, and a consumer."""

from __future__ import annotations

import ctypes
from typing import ClassVar

import numpy as np
import pytest

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype = ctypes.c_char_p
capsule_name.argtypes = [ctypes.py_object]

READ_ONLY, COPIED, PADDED = 1, 2, 4


# A callback must outlive the memory that it frees, also where a failed test keeps that memory.
CALLBACKS = []


class Producer:
    """An object with __dlpack__ over a buffer of bytes; counts the calls of its deleter."""

    alive: ClassVar[list[Producer]] = []  # no producer goes before its tensors

    def __init__(self, data=b"", *, shape=(), strides=(), dtype=(1, 8, 1), versioned=True, version=(1, 0), flags=0,
                 byte_offset=0, device=(1, 0), null_data=False, null_deleter=False, name=None):  # fmt: skip
        self.alive.append(self)
        self.buffer = ctypes.create_string_buffer(bytes(data), max(len(data), 1))
        self.deleted = 0
        self.capsules = []
        self.calls = []
        self.device = device
        self.versioned = versioned
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.managed = managed = ManagedVersioned() if versioned else Managed()
        self.name = name or (b"dltensor_versioned" if versioned else b"dltensor")

        def delete(pointer):
            assert pointer == ctypes.addressof(managed)
            self.deleted += 1

        managed.deleter = self.deleter = Deleter() if null_deleter else Deleter(delete)
        CALLBACKS.append(self.deleter)
        if versioned:
            managed.major, managed.minor, managed.flags = *version, flags
        tensor = managed.tensor
        tensor.data = None if null_data else ctypes.addressof(self.buffer)
        tensor.device, tensor.ndim, tensor.dtype = Device(*device), len(shape), DataType(*dtype)
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = byte_offset

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.calls.append(options)
        if not self.versioned and "max_version" in options:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.capsules.append(new_capsule(ctypes.addressof(self.managed), self.name, None))
        return self.capsules[-1]


def bytes_of(*numbers, kind="i"):
    return np.array(numbers, kind).tobytes()


INT32 = (0, 32, 1)


set_name = ctypes.pythonapi.PyCapsule_SetName
set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Consumer:
    """Takes a capsule as C code does; `delete` calls the deleter, without the GIL."""

    def __init__(self, capsule):
        self.name = capsule_name(capsule)
        self.address = get_pointer(capsule, self.name)
        self.managed = (ManagedVersioned if self.name == b"dltensor_versioned" else Managed).from_address(self.address)
        assert set_name(capsule, b"used_" + self.name) == 0

    @property
    def deleter(self):
        return ctypes.cast(self.managed.deleter, ctypes.c_void_p).value

    def delete(self):
        self.managed.deleter(self.address)

    @property
    def fields(self):
        tensor = self.managed.tensor
        shape, strides = (list(array[: tensor.ndim]) for array in (tensor.shape, tensor.strides))
        dtype = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        return shape, strides, dtype, (tensor.device.type, tensor.device.id)


class FakeTorch:
    """As much of torch as is looked at."""

    Tensor = type("Tensor", (), {})

    def __init__(self, initialized, handles):
        self.cuda = self
        self.is_initialized = lambda: initialized
        self.current_stream = lambda device: type("Stream", (), {"cuda_stream": handles[device]})
