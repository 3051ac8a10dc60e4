"""Kernels written operation by operation with the builder of programs, and run on the CPU.

A line of a kernel is told by `line(n)`, so that tests can ask where something was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

import tilewright
from tilewright import _core, cute

program = _core.program
number, pointer = program.number, program.pointer
DTYPES = {
    "Boolean": np.bool_,
    "Int8": np.int8,
    "Int16": np.int16,
    "Int32": np.int32,
    "Int64": np.int64,
    "Uint8": np.uint8,
    "Uint16": np.uint16,
    "Uint32": np.uint32,
    "Uint64": np.uint64,
    "Float16": np.float16,
    "Float32": np.float32,
    "Float64": np.float64,
}
SCALARS = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def layout(shape: Any, stride: Any) -> cute.Layout:
    return cute.make_layout(shape, stride=stride)


@cache
def caller(line: int) -> Callable[..., Any]:
    """Calls from that line of a file kernel.py: the place of an operation is where Python stands."""
    names: dict[str, Any] = {}
    exec(compile("\n" * (line - 1) + "def kernel(f, *args, **kw): return f(*args, **kw)", "kernel.py", "exec"), names)
    return names["kernel"]


class Kernel:
    """The kernel that is being written; methods add operations."""

    def __init__(self, builder: Any, parameters: Sequence[Any]) -> None:
        self.builder = builder
        self.parameters = parameters

    def line(self, n: int) -> None:
        self.call = caller(n)

    def op(self, code: str, *operands: Any, **keywords: Any) -> Any:
        return self.call(self.builder.op, code, list(operands), **keywords)

    def constant(self, scalar: str, value: Any) -> Any:
        return self.builder.constant(scalar, value)

    def int32(self, value: int) -> Any:
        return self.builder.constant("Int32", value)

    def thread(self, dimension: int = 0) -> Any:
        return self.op("thread_idx", ints=[dimension])

    def block(self, dimension: int = 0) -> Any:
        return self.op("block_idx", ints=[dimension])

    def thread_of_grid(self) -> Any:
        return self.op("add", self.op("mul", self.block(), self.op("block_dim", ints=[0])), self.thread())

    def cast(self, x: Any, scalar: str) -> Any:
        return self.op("cast", x, type=number(scalar, x.lanes))

    def at(self, base: Any, index: Any) -> Any:
        """The pointer to element `index`."""
        kind = base.type
        return self.op(
            "offset", base, index, type=pointer(kind.scalar, kind.space, bytes_of(kind.scalar), kind.swizzle)
        )

    def load(self, base: Any, access: Any = None) -> Any:
        return self.op("load", accesses=[base if access is None else (base, access)])

    def store(self, value: Any, base: Any, access: Any = None) -> None:
        self.op("store", value, accesses=[base if access is None else (base, access)])

    def shared(self, scalar: str, offset: int = 0, align: int = 16, swizzle: Any = None) -> Any:
        return self.op("shared", ints=[offset], type=pointer(scalar, "smem", align, swizzle))

    def frame(self, scalar: str, elements: int, align: int = 16) -> Any:
        return self.op("frame", ints=[elements, align], type=pointer(scalar, "rmem", align))

    def sync(self) -> None:
        self.op("sync_threads")

    def if_(self, condition: Any, then: Callable[[], Any], other: Callable[[], Any] | None = None) -> Any:
        """Both functions give the values that the branches yield."""
        builder = self.builder
        blocks = []
        for body in (then, other or (lambda: None)):
            builder.begin_block([])
            blocks.append(builder.end_block(list(body() or ())))
        return self.op("if", condition, blocks=blocks)

    def for_(self, start: Any, stop: Any, step: Any, inits: Sequence[Any], body: Callable[..., Any]) -> Any:
        start, stop, step = (self.int32(x) if isinstance(x, int) else x for x in (start, stop, step))
        index, *carried = self.builder.begin_block([start.type, *(x.type for x in inits)])
        block = self.builder.end_block(list(body(index, *carried) or ()))
        return self.op("for", start, stop, step, *inits, blocks=[block], ints=[0])

    def while_(self, inits: Sequence[Any], before: Callable[..., Any], body: Callable[..., Any]) -> Any:
        """`before` gives the condition and what is carried."""
        types = [x.type for x in inits]
        carried = self.builder.begin_block(types)
        first = self.builder.end_block(list(before(*carried)))
        carried = self.builder.begin_block(types)
        second = self.builder.end_block(list(body(*carried) or ()))
        return self.op("while", *inits, blocks=[first, second])


def bytes_of(scalar: str) -> int:
    """Of an element; those of 4 bits count as one."""
    return 1 if scalar == "Boolean" else max(1, getattr(tilewright, scalar).width // 8)


class Written:
    """A program of one kernel."""

    def __init__(self, text: Any, names: Sequence[str], shared_bytes: int) -> None:
        self.program = text
        self.names = names
        self.shared_bytes = shared_bytes

    def run(self, grid: Any, block: Any, *arguments: Any, **options: Any) -> tuple[list[Any], str]:
        """Findings and output; arrays are arguments by their memory, and change."""
        arrays = zip(self.names, arguments, strict=True)
        options.setdefault("memory", [memory_of(name, a) for name, a in arrays if isinstance(a, np.ndarray)])
        return program.run_kernel(self.program, 0, *self.launch(grid, block), **self.given(arguments), **options)

    def profile(self, grid: Any, block: Any, *arguments: Any, **options: Any) -> list[Any]:
        return program.profile_kernel(self.program, 0, *self.launch(grid, block), **self.given(arguments), **options)

    @staticmethod
    def launch(grid: Any, block: Any) -> tuple[list[int], list[int]]:
        return [grid] if isinstance(grid, int) else list(grid), [block] if isinstance(block, int) else list(block)

    def given(self, arguments: Sequence[Any]) -> dict[str, Any]:
        patterns = []
        for argument in arguments:
            number = np.asarray(argument)
            is_memory = isinstance(argument, np.ndarray)
            bits = number.ctypes.data if is_memory else number.reshape(1).view(f"u{number.nbytes}")[0]
            patterns.append(int(bits))
        return {"arguments": patterns, "shared_bytes": self.shared_bytes}


def memory_of(name: str, array: np.ndarray) -> Any:
    return program.MemoryRange(
        array.ctypes.data,
        array.nbytes,
        name,
        shape=list(array.shape),
        stride=[s // array.itemsize for s in array.strides],
        bits=8 * array.itemsize,
    )


def write(parameters: dict[str, Any], body: Callable[[Kernel], None], *, shared_bytes: int = 0) -> Written:
    """The kernel with these parameters: the name of a scalar for a number, else a type."""
    types = [number(kind) if isinstance(kind, str) else kind for kind in parameters.values()]
    builder = program.Builder()
    with builder:
        symbols = builder.begin_function("kernel", True, types, list(parameters))
        kernel = Kernel(builder, symbols)
        kernel.line(1)
        body(kernel)
        builder.set_function(shared_bytes=shared_bytes)
        builder.end_function()
        return Written(builder.finish(), list(parameters), shared_bytes)


def gmem(scalar: str, align: int = 16) -> Any:
    return pointer(scalar, "gmem", align)


def kinds(findings: Iterable[Any]) -> set[str]:
    return {finding.kind for finding in findings}


def found(findings: Iterable[Any]) -> set[tuple[str, int]]:
    """Kinds and lines."""
    return {(finding.kind, finding.line) for finding in findings}
