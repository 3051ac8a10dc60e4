"""One box by the copy engine, for a profiler to count: the host side of box.cuh."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tilewright import _core, cute, numeric
from tilewright.analysis.boxes import BoxAccess, box_access
from tilewright.runtime.compiler import compile_program, kernel

HEADERS = {"box.cuh": Path(__file__).with_name("box.cuh").read_text()}
SOURCE = '#include "box.cuh"\nusing namespace tilewright;\n'
MEMORY_BYTES = 1 << 20  # of the memory that a box's tensor lies in
SHARED_BYTES = 1 << 16
BARRIER = 16  # bytes behind the box
ELEMENTS = {1: "Uint8", 2: "BFloat16", 4: "Float32"}  # by their bytes
ROUNDED = "TFloat32"


class Box(NamedTuple):
    """A box of a matrix, modes with the contiguous one first.

    - `op`: "load" or "store"; `receivers`: CTAs that get what is loaded
    - `size`: bytes of an element; `extents` of the matrix; `pitch`: bytes from row to row; `offset`: where it begins
    - `box`: extents, and `at`: the first element; `swizzle`: 0, 32, 64 or 128 bytes
    - `rounds`: elements of 4 bytes are TFloat32

    >>> Box("load", 2, (1000, 64), 2000, 0, (64, 8), (960, 0)).predicted().sectors
    40
    """

    op: str
    size: int
    extents: tuple[int, int]
    pitch: int
    offset: int
    box: tuple[int, int]
    at: tuple[int, int]
    swizzle: int = 128
    receivers: int = 1
    rounds: bool = False

    @property
    def element(self) -> str:
        """The name of the element type."""
        return ROUNDED if self.rounds else ELEMENTS[self.size]

    def predicted(self) -> BoxAccess:
        """What analysis says of it."""
        dtype = getattr(numeric, self.element)
        layout = cute.make_layout(self.extents, stride=(1, self.pitch // self.size))
        return box_access(
            layout, dtype, self.box, self.at, address=self.offset, op=self.op, receivers=self.receivers
        )  # fmt: skip


def kernel_name(op: str, receivers: int) -> str:
    """The instantiation that moves boxes so.

    >>> kernel_name("load", 2)
    'box_probe<true, 2>'
    """
    return f"box_probe<{str(op == 'load').lower()}, {receivers}>"


def compile_box_probes(arch: str, wanted: Iterable[tuple[str, int]]) -> Any:
    """One program with the instantiations for these (op, receivers); NvrtcError where there is no compiler.

    >>> compile_box_probes("90a", [("load", 1)])
    Traceback (most recent call last):
    ValueError: compile_program: arch is '90a', which is no architecture such as sm_90a
    """
    names = [kernel_name(*one) for one in wanted]
    return compile_program("box_probe", names, arch, headers=HEADERS, source=SOURCE)


def launch(device: int, address: int, box: Box, program: Any, *, stream: int = 1) -> None:
    """Move one box; `address` is that of MEMORY_BYTES in the device's memory, a multiple of 128.

    Raises ValueError for a matrix beyond that memory and for boxes that shared memory does not hold; DriverError where
    there is no GPU.

    >>> launch(0, 4096, Box("load", 2, (64, 1 << 20), 128, 0, (64, 8), (0, 0)), None)
    Traceback (most recent call last):
    ValueError: box_probe: 1048576 rows of 128 bytes are more than the 1048576 bytes of memory
    """
    if box.offset + box.extents[1] * box.pitch > MEMORY_BYTES:
        raise ValueError(
            f"box_probe: {box.extents[1]} rows of {box.pitch} bytes are more than the {MEMORY_BYTES} bytes of memory"
        )
    size = box.box[0] * box.box[1] * box.size
    if size + BARRIER > SHARED_BYTES:
        raise ValueError(f"box_probe: a box of {size} bytes does not fit the {SHARED_BYTES} bytes of shared memory")
    tensor_map = _core.cuda.encode_tensor_map(
        address + box.offset, box.element.lower(), list(box.extents), [box.pitch], list(box.box), swizzle=box.swizzle,
    )  # fmt: skip
    function = kernel(program, kernel_name(box.op, box.receivers), device)
    function.set_dynamic_shared(SHARED_BYTES)
    params = tensor_map + struct.pack("<4i", *box.at, size, 0) + bytes(48)
    function.launch((box.receivers, 1, 1), (32, 1, 1), SHARED_BYTES, stream, params)
