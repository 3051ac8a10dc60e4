"""XLA's foreign functions, written in Python: what XLA passes to them, by the structs of its C interface, version 0."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TARGET", "Frame", "register"]

MAJOR, MINOR = 0, 1  # of XLA's interface, of which this module reads what these versions have
METADATA, EXECUTE, INTERNAL = 1, 3, 13  # an extension, a stage, an error's code
PLATFORMS = ("cpu", "CUDA")
TARGET = "tilewright_call"  # of all custom calls: an exported computation names it


def _struct(name: str, *fields: tuple[str, Any]) -> Any:
    """A struct of the interface, which says its size first."""
    head = [("struct_size", c_size_t), ("extension", c_void_p)]
    return type(name, (Structure,), {"_fields_": [*head, *fields]})


class _Scalar(Structure):
    _fields_ = (("dtype", c_int), ("value", POINTER(c_int64)))


_Version = _struct("_Version", ("major", c_int), ("minor", c_int))
_Buffer = _struct("_Buffer", ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64)))
_Buffers = _struct("_Buffers", ("size", c_int64), ("kinds", c_void_p), ("buffers", POINTER(POINTER(_Buffer))))
_Attributes = _struct(
    "_Attributes", ("size", c_int64), ("kinds", c_void_p), ("names", c_void_p), ("values", POINTER(POINTER(_Scalar)))
)
_Error = _struct("_Error", ("message", c_char_p), ("code", c_int))
_Stream = _struct("_Stream", ("context", c_void_p), ("stream", c_void_p))
_MakeError = ctypes.CFUNCTYPE(c_void_p, POINTER(_Error))
_GetStream = ctypes.CFUNCTYPE(c_void_p, POINTER(_Stream))
_Interface = _struct(
    "_Interface", ("version", _Version), ("internal", c_void_p), ("make_error", _MakeError), ("message_of", c_void_p),
    ("destroy_error", c_void_p), ("register", c_void_p), ("get_stream", _GetStream),
)  # fmt: skip
_Frame = _struct(
    "_Frame", ("interface", POINTER(_Interface)), ("context", c_void_p), ("stage", c_int), ("arguments", _Buffers),
    ("results", _Buffers), ("attributes", _Attributes),
)  # fmt: skip
_Handler = ctypes.CFUNCTYPE(c_void_p, POINTER(_Frame))


class _Metadata(Structure):
    _fields_ = (("struct_size", c_size_t), ("version", _Version), ("traits", c_int))


class _Extension(Structure):
    _fields_ = (("struct_size", c_size_t), ("kind", c_int), ("next", c_void_p), ("metadata", POINTER(_Metadata)))


class Frame:
    """A call: its number, the buffers of its arguments and results, and the stream, on a GPU."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def number(self) -> int:
        """The call's only attribute."""
        return int(self._frame.attributes.values[0].contents.value[0])

    @property
    def buffers(self) -> list[tuple[int, tuple[int, ...]]]:
        """Addresses and shapes of the arguments, then of the results."""
        both = (self._frame.arguments, self._frame.results)
        found = (x.buffers[i].contents for x in both for i in range(x.size))
        return [(buffer.data or 0, tuple(buffer.dims[: buffer.rank])) for buffer in found]

    @property
    def stream(self) -> int:
        """The handle of the CUDA stream that the call belongs to."""
        asked = _Stream(ctypes.sizeof(_Stream), None, self._frame.context, None)
        if self._frame.interface.contents.get_stream(ctypes.byref(asked)):
            raise RuntimeError("XLA has no CUDA stream for this call")
        return int(asked.stream or 0)


_runs: dict[int, Callable[[Frame, str], None]] = {}
_handlers: list[Any] = []  # XLA keeps their addresses for as long as the process lives


def register(run: Callable[[Frame, str], None]) -> int:
    """Make a Python function the target of custom calls, run(frame, platform) with "cpu" or "CUDA"; their number."""
    if not _handlers:
        for platform in PLATFORMS:
            handler = _handler(platform)
            _handlers.append(handler)
            jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform=platform)
    number = len(_runs)
    _runs[number] = run
    return number


def _run(frame: Frame, platform: str) -> None:
    run = _runs.get(frame.number)
    if run is None:
        raise RuntimeError(
            "this computation was exported by another process; it runs where its cutlass_call was traced: trace it "
            "here too, or export the kernel with export_to_c"
        )
    run(frame, platform)


def _handler(platform: str) -> Any:
    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        if frame.extension:
            extension = _Extension.from_address(frame.extension)
            if extension.kind == METADATA:  # XLA asks which version this is written for
                extension.metadata.contents.version.major = MAJOR
                extension.metadata.contents.version.minor = MINOR
                return None
        if frame.stage != EXECUTE:
            return None
        try:
            _run(Frame(frame), platform)
        except BaseException as error:  # none may go through XLA's C++
            text = f"{type(error).__name__}: {error}".encode()
            made = _Error(ctypes.sizeof(_Error), None, text, INTERNAL)
            return frame.interface.contents.make_error(ctypes.byref(made))  # type: ignore[no-any-return]
        return None

    return _Handler(handle)
