"""Tensors of other libraries, through DLPack."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright._core import LayoutError
from tilewright._imported import imported_torch
from tilewright._names import names_of
from tilewright.cute.tensors import pointer as _pointer
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.runtime_tensor import RuntimePointer, RuntimeTensor, spaced
from tilewright.numeric import Float32, Numeric, TFloat32
from tilewright.numeric.dlpack import from_dlpack_code

if TYPE_CHECKING:
    from tilewright._typing import SupportsDLPack
    from tilewright.lang.export.load import load_module
    from tilewright.lang.export.write import find_runtime_libraries
    from tilewright.lang.fake import make_fake_compact_tensor, make_fake_stream, make_fake_tensor

__all__ = [
    "Pointer",
    "find_runtime_libraries",
    "from_dlpack",
    "load_module",
    "make_fake_compact_tensor",
    "make_fake_stream",
    "make_fake_tensor",
    "make_ptr",
    "nullptr",
]

_LAZY = {
    **dict.fromkeys(("make_fake_compact_tensor", "make_fake_stream", "make_fake_tensor"), "tilewright.lang.fake"),
    "find_runtime_libraries": "tilewright.lang.export.write",
    "load_module": "tilewright.lang.export.load",
}

# DLPack devices; what they are called in memory terms.
_GLOBAL_MEMORY = (2, 10, 13)  # CUDA, ROCm, CUDA managed
_CUDA_MEMORY = (2, 13)

# DLPack type codes in words. The first seven have several widths.
_CODES = (
    *("int", "uint", "float", "opaque", "bfloat", "complex", "bool"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
    *("float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)


def from_dlpack(
    tensor: SupportsDLPack,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    *,
    enable_tvm_ffi: bool = False,
    force_tf32: bool = False,
) -> RuntimeTensor:
    """The tensor of another library, with its memory, and with its shape and strides as a static layout.

    assumed_align is the alignment in bytes to rely on, by default the element's size; the address must have it.
    use_32bit_stride says what dynamic strides become, force_tf32 sees Float32 as TFloat32; enable_tvm_ffi is ignored.
    Device memory is imported too, but its elements cannot be accessed here. The other library is told the stream of
    the kernels launched here (`work_stream`), so that they wait for what it has enqueued.

    Raises BufferError where the other library does not export the tensor or its element type has no counterpart,
    LayoutError for a tensor without elements, ValueError for a missing alignment.
    Source: CuTeDSL `cute.runtime.from_dlpack`.

    >>> import numpy
    >>> tensor = from_dlpack(numpy.arange(12, dtype=numpy.int32).reshape(3, 4))
    >>> tensor.shape, tensor.stride, tensor.element_type, tensor[1, 2]
    ((3, 4), (4, 1), Int32, 6)
    """
    return import_array(tensor, "from_dlpack: tensor", assumed_align, use_32bit_stride, force_tf32)


def import_array(
    array: Any,
    where: str,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    force_tf32: bool = False,
) -> RuntimeTensor:
    """from_dlpack, with the words that name the argument in an error."""
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{where}: expected an array with __dlpack__, but got {type(array).__name__}")
    is_fake = type(array).__name__ == "FakeTensor" and type(array).__module__.startswith("torch.")
    is_meta = getattr(array, "is_meta", False) is True and str(array.layout) == "torch.strided"
    if is_fake or is_meta:
        return _import_fake(array, where, assumed_align, use_32bit_stride)
    memory = _export(array, where)
    dtype = _element_type(memory, where)
    if force_tf32:
        if dtype is not Float32:
            raise TypeError(f"{where}: force_tf32 needs elements of type Float32, but they are {dtype}")
        dtype = TFloat32
    shape, strides = _logical(memory, dtype, where)
    if 0 in shape:
        raise LayoutError(
            f"{where}: shape {spaced(shape)} has no elements, and a layout needs positive extents; skip it"
        )
    natural = max(dtype.bits // 8, 1)
    address = memory.address
    if assumed_align is None:
        alignment = natural if address % natural == 0 else address & -address
    else:
        alignment = assumed_align
        _pointer.require_alignment(where, alignment)
        if address % alignment:
            raise ValueError(
                f"{where}: assumed_align is {alignment}, but the address 0x{address:016x} is a multiple of only "
                f"{address & -address} bytes; pass a smaller alignment"
            )
    space = AddressSpace.gmem if memory.dlpack_device[0] in _GLOBAL_MEMORY else AddressSpace.generic
    pointer = Pointer(dtype, address, space, alignment, memory)
    return RuntimeTensor._imported(pointer, _core.make_layout(shape, stride=strides), use_32bit_stride)


def _import_fake(array: Any, where: str, assumed_align: int | None, use_32bit_stride: bool) -> RuntimeTensor:
    """A tensor of torch's FakeTensorMode or device "meta": a type and a layout without memory, to compile with."""
    name = str(array.dtype).removeprefix("torch.").replace("_", "")
    known = {kind.lower(): getattr(numeric, kind) for kind in numeric.__all__} | {"bool": numeric.Boolean}
    dtype = known.get(name)
    if dtype is None:
        raise BufferError(f"{where}: elements of {array.dtype} have no counterpart; view it as another type")
    alignment = max(dtype.bits // 8, 1) if assumed_align is None else assumed_align
    _pointer.require_alignment(where, alignment)
    space = AddressSpace.gmem if array.device.type == "cuda" else AddressSpace.generic
    layout = _core.make_layout(tuple(map(int, array.shape)), stride=tuple(map(int, array.stride())))
    return RuntimeTensor._imported(Pointer(dtype, 0, space, alignment), layout, use_32bit_stride)


def work_stream(device: int) -> int:
    """The handle of the stream on which kernels for a CUDA device are launched: torch's current one.

    Without torch on that device it is CuPy's current stream, and without CuPy the legacy default stream, 1. It is
    never 0, which DLPack does not allow.

    >>> work_stream(0)
    1
    """
    torch = imported_torch()
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.current_stream(device).cuda_stream) or 1
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        with cupy.cuda.Device(device):
            return int(cupy.cuda.get_current_stream().ptr) or 1
    return 1


def current_device() -> int:
    """The CUDA device that is current: torch's where that is in use, else CuPy's; -1 without either.

    >>> current_device() >= -1
    True
    """
    torch = imported_torch()
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.current_device())
    cupy = sys.modules.get("cupy")
    return -1 if cupy is None else int(cupy.cuda.Device().id)


def _export(array: Any, where: str, stream: int | None = None, differentiable: str = "") -> Any:
    """The memory of an array, on which work of that stream, by default work_stream's, may begin.

    A versioned capsule is asked for first: it can say that the memory is read-only. `differentiable` names a function
    that does the same and of which autograd is told.
    """
    torch: Any = sys.modules.get("torch")  # whatever has that name: what is no tensor of it needs nothing of it
    is_torch = isinstance(array, getattr(torch, "Tensor", ()))
    if is_torch and array.requires_grad:
        instead = f"use {differentiable}, which is differentiable, or pass" if differentiable else "pass"
        raise BufferError(
            f"{where} requires grad, but torch's autograd is not told of what reads or writes its memory here; "
            f"{instead} {where.split()[-1]}.detach()"
        )
    if type(array).__module__.startswith("numpy.ma"):
        raise TypeError(f"{where}: a masked array has elements that do not count; pass its .data, or .filled(value)")
    options: dict[str, Any] = {}
    try:
        device = array.__dlpack_device__() if hasattr(array, "__dlpack_device__") else (1, 0)
        if is_torch:
            if array.is_neg():
                raise BufferError("torch has yet to negate this view (is_neg()); call resolve_neg() first")
            if array.is_cuda and torch.cuda.current_device() != device[1]:
                with torch.cuda.device(device[1]):  # torch exports from the current device only
                    return _export(array, where, stream)
        if device[0] in _CUDA_MEMORY:
            options["stream"] = work_stream(device[1]) if stream is None else stream or 1
        elif device[0] in _GLOBAL_MEMORY:
            options["stream"] = -1  # no kernel runs there: nothing need be waited for
        try:
            capsule = array.__dlpack__(max_version=(1, 3), **options)
        except TypeError:  # a library older than DLPack 1.0
            capsule = array.__dlpack__(**options)
        return _core.Memory.from_capsule(capsule)
    except Exception as error:
        raise BufferError(f"{where}: {error}") from error


def _element_type(memory: Any, where: str) -> type[Numeric]:
    code, bits, lanes = memory.dtype
    dtype = from_dlpack_code(code, bits)
    packed = bits == 4 and lanes == 2
    padded = memory.padded and bits % 8 != 0
    if dtype is not None and (lanes == 1 or packed) and not padded:
        return dtype
    name = _CODES[code] if code < len(_CODES) else f"type code {code}"
    if code < 7 or code >= len(_CODES):
        name += f" of {bits} bits"
    if lanes != 1:
        name += f" x {lanes} lanes"
    if padded:
        name += ", each padded to a byte"
    fix = (
        "view it as its real type, with a last dimension of 2"
        if code == 5
        else "view it as an integer type of that width"
    )
    raise BufferError(f"{where}: elements of {name} have no counterpart; {fix}")


def _logical(memory: Any, dtype: type[Numeric], where: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides in elements, where one item of the exporting library packs several."""
    shape, strides, lanes = memory.shape, memory.strides, memory.dtype[2]
    if lanes == 1:
        return shape, strides
    lead = [i for i, d in enumerate(strides) if d == 1 and (shape[i] > 1 or strides.count(1) == 1)]
    if len(lead) != 1:
        raise BufferError(
            f"{where}: packed {dtype} needs one dimension of stride 1, but shape {spaced(shape)} has the strides "
            f"{spaced(strides)}"
        )
    return (
        tuple(s * lanes if i in lead else s for i, s in enumerate(shape)),
        tuple(d if i in lead else d * lanes for i, d in enumerate(strides)),
    )


def make_ptr(
    dtype: type[Numeric],
    value: int,
    mem_space: AddressSpace = AddressSpace.generic,
    *,
    assumed_align: int | None = None,
) -> RuntimePointer:
    """A pointer to an address in bytes, as an argument for a @cute.jit function; see `cute.make_ptr`.

    >>> from tilewright import Float32
    >>> print(make_ptr(Float32, 0x1000, AddressSpace.gmem))
    Ptr<0x0000000000001000@gmem>
    """
    pointer = _pointer.make_ptr(dtype, value, mem_space, assumed_align=assumed_align)
    return RuntimePointer(dtype, pointer.toint(), mem_space, pointer.alignment)


def nullptr(
    dtype: type[Numeric], mem_space: AddressSpace = AddressSpace.generic, *, assumed_align: int | None = None
) -> RuntimePointer:
    """The null pointer as an argument for a @cute.jit function."""
    return make_ptr(dtype, 0, mem_space, assumed_align=assumed_align)


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__, _LAZY)
