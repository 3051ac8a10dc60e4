"""Tensors for other libraries, through DLPack: what `Tensor.__dlpack__` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.runtime import work_stream
from tilewright.cute.tensors.pointer import Pointer

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor

MINOR = 3  # of the DLPack version 1.x that is written here

# DLPack device types.
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


def device_of(tensor: Tensor) -> tuple[int, int]:
    """The DLPack device of a tensor's memory; BufferError where it has none.

    >>> from tilewright import Float32, cute
    >>> device_of(cute.make_rmem_tensor(4, Float32))
    (1, 0)
    """
    kind, number = _memory(tensor).dlpack_device
    return kind, number


def export(
    tensor: Tensor,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """The capsule of `Tensor.__dlpack__`, whose text has the rules.

    >>> from tilewright import Float32, cute
    >>> export(cute.make_rmem_tensor(4, Float32), None, (1, 0), None, None)  # doctest: +ELLIPSIS
    <capsule object "dltensor_versioned" at 0x...>
    """
    memory = _memory(tensor)
    minor = _minor(max_version)
    device = _device(tensor, memory, dl_device)
    shape, strides = _shape_and_strides(tensor)
    dtype, bits = (*tensor.iterator.dtype.dlpack, 1), tensor.iterator.dtype.bits
    paired = memory.dtype == (*dtype[:2], 2)  # the owner's items are pairs, as those of torch.float4_e2m1fn_x2
    address, rest = divmod(tensor.iterator._bits, 8)
    if rest:
        raise _refused(tensor, f"its first element begins at bit {rest} of a byte; begin at an element that fills one")
    if copy:
        memory, address = _copied(tensor, memory, address, shape, strides, bits)
        device = CPU, 0
    elif memory.read_only and minor < 0:
        raise _refused(
            tensor,
            "its memory is read-only, which the older protocol cannot say; "
            "ask with max_version=(1, 0) or later, or with copy=True",
        )
    else:
        _order_work(tensor, memory, stream)
    if paired:
        lead = [i for i, d in enumerate(strides) if d == 1 and shape[i] % 2 == 0]
        if len(lead) == 1 and all(d % 2 == 0 or shape[i] == 1 for i, d in enumerate(strides) if i != lead[0]):
            shape = [s // 2 if i in lead else s for i, s in enumerate(shape)]
            strides = [d if i in lead else d // 2 for i, d in enumerate(strides)]
            dtype = (*dtype[:2], 2)
    try:
        return memory.to_capsule(
            address=address, shape=shape, strides=strides, dtype=dtype, device=device, copied=bool(copy), minor=minor
        )
    except BufferError as error:
        raise _refused(tensor, str(error)) from error


def _refused(tensor: Tensor, why: str) -> BufferError:
    return BufferError(f"__dlpack__: cannot export {tensor}: {why}")


def _memory(tensor: Tensor) -> Any:
    if not isinstance(tensor.iterator, Pointer):
        raise _refused(
            tensor, "its elements are computed, not stored; store them into a make_rmem_tensor and export that"
        )
    memory = tensor.iterator._memory
    if memory is None:
        raise _refused(
            tensor,
            "the pointer was made from an address, so nothing is known to keep its memory alive; "
            "make the tensor with from_dlpack instead",
        )
    return memory


def _minor(max_version: Any) -> int:
    """The minor version to write, -1 for the older protocol."""
    if max_version is None:
        return -1
    if not isinstance(max_version, tuple) or len(max_version) != 2 or not all(isinstance(n, int) for n in max_version):
        raise TypeError(f"__dlpack__: max_version is (major, minor) or None, but got {max_version!r}")
    major, minor = max_version
    return -1 if major < 1 else min(minor, MINOR) if major == 1 else MINOR


def _device(tensor: Tensor, memory: Any, wanted: Any) -> tuple[int, int]:
    kind, number = memory.dlpack_device
    if wanted is None or tuple(wanted) == (kind, number):
        return kind, number
    if memory.on_host and wanted[0] == CPU:
        return CPU, 0  # pinned memory is ordinary memory for the CPU
    there = _core.Memory.device_name(*wanted)
    raise _refused(tensor, f"it lies on {memory.device}, but {there} is asked for; copy it there in its own library")


def _shape_and_strides(tensor: Tensor) -> tuple[list[int], list[int]]:
    """The leaves of the layout: a nested mode becomes several dimensions."""
    layout = tensor.layout
    if isinstance(layout, _core.ComposedLayout):
        raise _refused(
            tensor,
            f"DLPack knows strides only, and {layout} is not made of strides; copy the elements into a tensor with a "
            "plain layout, or export the memory as it is: make_tensor(tensor.iterator, tensor.layout.outer)",
        )
    if _core.has_scaled_basis(layout.stride):
        raise _refused(
            tensor,
            f"the strides {text(layout.stride)} lead to coordinates, not to memory; "
            f"compose a layout of the memory with it: composition(make_layout(shape), {layout})",
        )
    return _leaves(layout.shape), _leaves(layout.stride)


def _leaves(x: Any) -> list[int]:
    return [leaf for y in x for leaf in _leaves(y)] if isinstance(x, tuple) else [int(x)]


def _copied(
    tensor: Tensor, memory: Any, address: int, shape: list[int], strides: list[int], bits: int
) -> tuple[Any, int]:
    """A copy of the bytes from the first to the last element, and where the element at offset 0 is in it."""
    if not memory.on_host:
        raise _refused(
            tensor, f"copy=True is for CPU memory, but it lies on {memory.device}; copy it in its own library"
        )
    ends = [(s - 1) * d * bits for s, d in zip(shape, strides, strict=True)]
    first = address + (sum(min(end, 0) for end in ends) >> 3)
    last = address + -(-(sum(max(end, 0) for end in ends) + bits) // 8)
    if not memory.begin <= first <= last <= memory.end:
        raise _refused(tensor, "an element lies outside the owner's memory")
    block: Any = _core.Memory.allocate(last - first, 64)
    memoryview(block)[:] = memoryview(memory)[first - memory.begin : last - memory.begin]
    return block, block.address + (address - first)


def _order_work(tensor: Tensor, memory: Any, stream: Any) -> None:
    """Let the consumer's stream wait for the work on the memory that is enqueued already."""
    kind, number = memory.dlpack_device
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int)):
        raise TypeError(f"__dlpack__: stream is a handle, an integer, or None, but got {stream!r}")
    if kind == CPU:
        if stream is not None:
            raise ValueError(f"__dlpack__: CPU memory has no streams, so stream must be None, but got {stream}")
    elif stream == -1 or (stream is None and kind == CUDA_HOST):
        pass
    elif kind not in (CUDA, CUDA_HOST, CUDA_MANAGED):
        if stream is not None:
            raise _refused(tensor, f"work on {memory.device} cannot be ordered here; synchronise and pass stream=-1")
    elif stream is not None and stream < 1:
        raise ValueError(
            f"__dlpack__: stream {stream} is not a CUDA stream; 1 is the legacy default stream, 2 the default stream "
            "of the thread, a handle any other, -1 asks for no synchronisation (0 could mean 1 or 2)"
        )
    else:
        earlier, later = work_stream(number), 1 if stream is None else stream
        if earlier != later:
            try:
                _core.cuda.order(number, earlier, later)
            except RuntimeError as error:
                raise _refused(tensor, f"stream {later} cannot wait for stream {earlier}: {error}") from error
