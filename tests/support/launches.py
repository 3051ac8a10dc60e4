"""A slow path to be called by a launcher, and arrays of a library that exists for the tests alone."""

from __future__ import annotations

import ctypes
import struct
import weakref

from tilewright import _core

cuda = _core.cuda


def one_kernel(function, grid, block, shared, params, pointers=(), *, maps=(), programmatic=False, **options):
    """The prepared launch of one kernel."""
    kernel = cuda.Kernel(function, grid, block, shared, params, pointers, maps=maps, programmatic=programmatic)
    return cuda.Prepared([kernel], **options)


class Slow:
    """A slow path that copies nothing: it counts its calls and prepares a launch on the first two arguments."""

    def __init__(self, **options) -> None:
        self.recorder = cuda.Recorder()
        self.calls = 0
        self.options = {"pointers": [(0, 0, 0), (1, 8, 0)], "result": 1} | options

    def __call__(self, src, dst, *args, **kwargs):
        self.calls += 1
        return "slow", one_kernel(self.recorder, (3, 2, 1), (64, 1, 1), 256, bytes(16), **self.options)

    @property
    def counts(self) -> tuple[int, int]:
        return self.calls, self.recorder.count

    @property
    def pointers(self) -> tuple[int, int]:
        return struct.unpack("<QQ", self.recorder.last[4])


def prepared(**options):
    slow = Slow(**options)
    return slow, slow(None, None)[1]


class Several:
    """A slow path that prepares kernels by name: kernel i has argument 0 from byte i on, and buffer i from byte 100."""

    def __init__(self, *names, workspace, **options) -> None:
        self.recorders = [cuda.Recorder(name) for name in names]
        self.workspace, self.options, self.calls = workspace, {"result": 1} | options, 0

    def __call__(self, src, dst, *args):
        self.calls += 1
        return "slow", self.prepared()

    def prepared(self):
        kernels = [
            cuda.Kernel(
                recorder, (i + 1, 1, 1), (32, 1, 1), 0, bytes(16), [(0, 0, i), (-1 - i, 8, 100)],
                plan=f"plan of {recorder.name}", tensors=[(0, i), (-1 - i, 100), None],
            )
            for i, recorder in enumerate(self.recorders)
        ]  # fmt: skip
        return cuda.Prepared(kernels, workspace=self.workspace, **self.options)

    @property
    def counts(self) -> list[int]:
        return [recorder.count for recorder in self.recorders]

    @property
    def pointers(self) -> list[tuple[int, int]]:
        return [struct.unpack("<QQ", recorder.last[4]) for recorder in self.recorders]


class Buffers:
    """A workspace: buffer i is at 1000 + 100 i, the next time at 2000 + 100 i. It notes streams, and who owns what."""

    def __init__(self, count=2) -> None:
        self.count, self.streams, self.owners = count, [], []

    def __call__(self, stream):
        owner = Owner()
        self.streams.append(stream)
        self.owners.append(weakref.ref(owner))
        return owner, tuple(1000 * len(self.streams) + 100 * i for i in range(self.count))


class Owner:
    """What can be seen to go."""


# Arrays of a library that exists for these tests alone: what torch on a CPU does not show.


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))


STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Api(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("unused", ctypes.c_void_p * 3),
        ("view", VIEW),
        ("stream", STREAM),
    ]


def array_type(version=1, previous=0, **fields):
    """A class of arrays of four floats whose fields of DLTensor can be set."""

    class Array:
        def __init__(self, **own):
            self.shape, self.strides = (ctypes.c_int64 * 1)(4), (ctypes.c_int64 * 1)(1)
            self.tensor = DLTensor(4096, 1, 0, 1, 2, 32, 1, self.shape, self.strides, 0)
            for name, value in (fields | own).items():
                setattr(self.tensor, name, value)

        def __dlpack__(self):
            raise NotImplementedError

    def view(array, out):
        ctypes.memmove(out, ctypes.byref(array.tensor), ctypes.sizeof(DLTensor))
        return 0

    def stream(device_type, device_id, out):
        out[0] = 77 + device_id
        return 0

    Array.api = Api(version, 3, previous, (ctypes.c_void_p * 3)(), VIEW(view), STREAM(stream))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    Array.__dlpack_c_exchange_api__ = new(ctypes.addressof(Array.api), b"dlpack_exchange_api", None)
    return Array
