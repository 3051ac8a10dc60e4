"""visualize_tv on a GPU: the host side of kernels/visualize_tv.cuh."""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright.cute.runtime import work_stream
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.tensor import Tensor, offset_range
from tilewright.cute.text.printing import PRINTF_VALUES, format_printf
from tilewright.kernels.common.device_types import device_type
from tilewright.kernels.visualize.kernel import VISUALIZE_TV
from tilewright.numeric import BFloat16, Boolean, Float16, Float32, Float64, Int4, Integer, Numeric, TFloat32
from tilewright.runtime.compiler import compile_program, kernel
from tilewright.runtime.device import arch_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tilewright.kernels.visualize.tv import ThreadValues

BLOCK = 1024  # threads of a block
TURNS = 128  # threads that print in one launch: the device's buffer for printf holds 1 MiB
CUDA_MEMORY = (2, 13)  # DLPack device types: CUDA, CUDA managed
NUMBERS = {
    Boolean: "kBoolean",
    Float64: "kFloat64",
    Float32: "kFloat32",
    TFloat32: "kTFloat32",
    BFloat16: "kBFloat16",
    Float16: "kFloat16",
}


class Seen(NamedTuple):
    """What the threads wrote down: the bits of value v of thread t, and its offset, are number t + v * threads."""

    dtype: type[Numeric]
    bits: NDArray[np.uint8]  # one row an element; one that is smaller than a byte has a byte
    values: NDArray[Any]
    offsets: NDArray[np.int64]

    def element(self, index: int) -> Any:
        """The Python number that one of them is."""
        return self.dtype._decode(int.from_bytes(self.bits[index].tobytes(), "little"))


def element_type(pointer: Pointer) -> str:
    """The device type as which the elements behind a pointer are read: bytes, with the alignment that they have.

    >>> from tilewright import Float6E2M3FN, Float32
    >>> [element_type(Pointer(dtype, address)) for dtype, address in ((Float32, 8), (Float32, 9), (Float6E2M3FN, 9))]
    ['Bytes<4, 4>', 'Bytes<4, 1>', 'Packed<6>']
    """
    size, rest = divmod(pointer.dtype.bits, 8)
    return f"Packed<{pointer.dtype.bits}>" if rest else f"Bytes<{size}, {math.gcd(pointer.toint(), size)}>"


def kernel_name(composed: Tensor) -> str:
    """The instantiation that reads a tensor, composed with a thread-value layout.

    >>> from tilewright import Int32, cute
    >>> tensor = cute.make_tensor(cute.make_ptr(Int32, 64), cute.make_layout((4, 6)))
    >>> kernel_name(tensor)
    'visualize_tv<Bytes<4, 4>, Layout<Shape<Int<4>, Int<6>>, Stride<Int<1>, Int<4>>>>'
    """
    return f"visualize_tv<{element_type(composed.iterator)}, {device_type(composed.layout)}>"


def print_name(composed: Tensor) -> str:
    """The instantiation that prints a tensor, composed with a thread-value layout.

    >>> from tilewright import Float16, cute
    >>> print_name(cute.make_tensor(cute.make_ptr(Float16, 64), cute.make_layout((4, 6))))
    'print_tv<Bytes<2, 2>, Layout<Shape<Int<4>, Int<6>>, Stride<Int<1>, Int<4>>>, Number::kFloat16, 16, true>'
    """
    dtype = composed.iterator.dtype
    number = NUMBERS.get(dtype, "kTable")
    if issubclass(dtype, Integer) and dtype is not Boolean:
        number = "kSigned" if dtype.signed else "kUnsigned"
    with_pointer = "true" if isinstance(composed.layout, _core.Layout) else "false"
    arguments = (
        element_type(composed.iterator),
        device_type(composed.layout),
        f"Number::{number}",
        f"{dtype.bits}",
        with_pointer,
    )
    return f"print_tv<{', '.join(arguments)}>"


def see(composed: Tensor, threads: int, values: int) -> Seen:
    """Run the kernel on a tensor in CUDA memory, composed with a thread-value layout, and wait for it.

    Raises ValueError for other memory, IndexError where an element lies outside the owner's memory, DriverError and
    NvrtcError where the driver or the compiler is missing.

    >>> from tilewright import Float32, cute
    >>> see(cute.make_rmem_tensor((4, 6), Float32), 4, 6)
    Traceback (most recent call last):
    ValueError: visualize_tv: the tensor lies in memory of cpu, where no kernel reads it; copy it to CUDA memory
    """
    pointer: Pointer = composed.iterator
    dtype, memory, count = pointer.dtype, pointer._memory, threads * values
    _check_readable(composed)
    device = memory.dlpack_device[1]
    size = -(-dtype.bits // 8)
    offsets_at = -(-size * count // 16) * 16
    buffer: Any = _core.cuda.allocate_pinned(device, offsets_at + 8 * count)
    block = min(threads, BLOCK)
    where = pointer.toint(), buffer.address, buffer.address + offsets_at
    params = struct.pack("<3Q3i4x", *where, threads, values, pointer._bits % 8)
    _launch(kernel_name(composed), device, -(-threads // block), block, params)
    raw = np.frombuffer(buffer, np.uint8)
    bits = raw[: size * count].reshape(count, size).copy()
    offsets = raw[offsets_at:].view(np.int64).copy()
    if dtype.bits % 8:
        table = np.array([dtype._decode(i) for i in range(1 << dtype.bits)], np.int8 if dtype is Int4 else np.float32)
        return Seen(dtype, bits, table[bits[:, 0]], offsets)
    seen = Tensor(Pointer(dtype, buffer.address, AddressSpace.gmem, memory=buffer), _core.make_layout(count))
    return Seen(dtype, bits, np.asarray(seen.load()), offsets)


def print_from_device(result: ThreadValues) -> None:
    """Let the threads print what `str(result)` shows, in thread order."""
    composed = result.composed
    threads, values = result.values.shape
    pointer: Pointer = composed.iterator
    dtype, device = pointer.dtype, pointer._memory.dlpack_device[1]
    if dtype.bits > 64:
        raise ValueError(
            f"visualize_tv: printf=True prints numbers of at most 64 bits, but the elements are {dtype}; print the "
            "result instead, which has all of them"
        )
    texts = [_text(result, t) for t in range(1 if isinstance(composed.layout, _core.Layout) else threads)]
    step = max(map(len, texts)) + 1
    # 256 numbers for the types of up to 8 bits, then the texts, each ended by zeros.
    buffer: Any = _core.cuda.allocate_pinned(device, 2048 + step * len(texts))
    raw = np.frombuffer(buffer, np.uint8)
    name = print_name(composed)
    if "kTable" in name:
        raw[:2048].view(np.float64)[: 1 << dtype.bits] = [dtype._decode(i) for i in range(1 << dtype.bits)]
    raw[2048:] = np.frombuffer(b"".join(text.encode().ljust(step, b"\0") for text in texts), np.uint8)
    where = pointer.toint(), buffer.address, buffer.address + 2048
    sys.stdout.write(f"TV Layout: {result.tv_layout}\n")
    sys.stdout.flush()
    for first in range(0, threads, TURNS):
        numbers = (step if len(texts) > 1 else 0, first, threads, values, min(values, PRINTF_VALUES), pointer._bits % 8)
        _launch(name, device, 1, min(threads - first, TURNS), struct.pack("<3Q6i", *where, *numbers))
    ctypes.CDLL(None).fflush(None)  # the driver writes through the C library, whose buffer is not Python's


def _text(result: ThreadValues, thread: int) -> str:
    """The tensor of a thread; where the thread prints its pointer itself, what comes after that."""
    tensor = result.thread(thread)
    text = format_printf("{} o {}", tensor.iterator, tensor.layout, end="")
    return text.partition(": ")[2] if isinstance(result.composed.layout, _core.Layout) else text


def _check_readable(composed: Tensor) -> None:
    """Raise where the kernel must not run: there is no such thing as an IndexError on the device."""
    pointer: Pointer = composed.iterator
    memory, bits = pointer._memory, pointer.dtype.bits
    if memory.dlpack_device[0] not in CUDA_MEMORY:
        raise ValueError(
            f"visualize_tv: the tensor lies in memory of {memory.device}, where no kernel reads it; copy it to "
            "CUDA memory" + ("" if memory.on_host else " or to the CPU")
        )
    if bits % 8 == 0 and pointer._bits % 8:
        raise ValueError(f"visualize_tv: {composed} begins at bit {pointer._bits % 8} of a byte; begin at a whole byte")
    least, greatest = offset_range(composed.layout)
    if pointer._bits + least * bits < 8 * memory.begin or pointer._bits + (greatest + 1) * bits > 8 * memory.end:
        raise IndexError(
            f"visualize_tv: an element of {composed} lies outside the owner's memory "
            f"[0x{memory.begin:016x}, 0x{memory.end:016x})"
        )
    if _core.cuda.driver_path() is None:
        raise _core.cuda.DriverError(
            f"visualize_tv: the tensor lies in memory of {memory.device}, but libcuda.so.1, the CUDA driver that is to "
            "read it, cannot be loaded; install NVIDIA's driver, or copy the tensor to the CPU"
        )


def _launch(name: str, device: int, blocks: int, threads: int, params: bytes) -> None:
    """Run a kernel on the current stream of the device and wait for it."""
    program = compile_program(VISUALIZE_TV.stem, [name], arch_of(device), source=VISUALIZE_TV.text)
    stream = work_stream(device)
    kernel(program, name, device).launch((blocks, 1, 1), (threads, 1, 1), 0, stream, params)
    _core.cuda.synchronize_stream(device, stream)
