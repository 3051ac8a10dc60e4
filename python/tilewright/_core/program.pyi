# Generated from the C++ module by `make stubs`; do not edit.
"""
Programs that tracing gives: types, values, operations.
"""

from __future__ import annotations

import collections.abc
import typing

__all__: list[str] = [
    "Block",
    "Builder",
    "Finding",
    "Function",
    "HostPrint",
    "Launched",
    "MapOfTensor",
    "MemoryRange",
    "ProfileRow",
    "Program",
    "ProgramError",
    "Symbol",
    "Type",
    "cuda_name",
    "cuda_source",
    "current",
    "host_c_source",
    "most_needed",
    "number",
    "parameter_places",
    "pointer",
    "profile_kernel",
    "run_kernel",
    "tensor_map",
    "timeline_kernel",
    "written_parameters",
]

class ProgramError(RuntimeError):
    pass

class Type:
    """
    The type of a value: a number, a vector of numbers, a pointer, or a tensor map.
    """

    def __eq__(self, arg0: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    @property
    def align(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def lanes(self) -> int: ...
    @property
    def scalar(self) -> str: ...
    @property
    def space(self) -> str: ...
    @property
    def swizzle(self) -> typing.Any: ...

class Function:
    """
    A kernel or host function of a program.
    """

    @property
    def cluster(self) -> tuple[int, int, int]: ...
    @property
    def is_kernel(self) -> bool: ...
    @property
    def min_blocks(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> list[str]:
        """
        The user's names of the flattened arguments.
        """

    @property
    def shared_bytes(self) -> int: ...
    @property
    def threads(self) -> tuple[int, int, int]: ...

class MapOfTensor:
    """
    What TMA is told of a tensor; the fastest mode comes first.
    """

    @property
    def address(self) -> tuple[int, int]:
        """
        (bytes, i) behind parameter i of the host function.
        """

    @property
    def box(self) -> list[int]: ...
    @property
    def element(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def strides(self) -> list[int]:
        """
        In bytes, of all modes but the first.
        """

    @property
    def swizzle(self) -> int:
        """
        Bytes that it spans, 0 for none.
        """

class Launched:
    """
    What a host function launches a kernel with.
    """

    @property
    def arguments(self) -> tuple[typing.Any, ...]:
        """
        (bits, -1) of a number, (bytes, i) of a pointer that lies so far behind parameter i of the host function, (i, -1) of tensor map i.
        """

    @property
    def block(self) -> typing.Annotated[list[int], "FixedSize(3)"]: ...
    @property
    def cluster(self) -> typing.Annotated[list[int], "FixedSize(3)"]: ...
    @property
    def grid(self) -> typing.Annotated[list[int], "FixedSize(3)"]: ...
    @property
    def ints(self) -> list[int]: ...
    @property
    def kernel(self) -> int: ...
    @property
    def maps(self) -> list[MapOfTensor]:
        """
        Tensor maps.
        """

    @property
    def shared_bytes(self) -> int: ...

class HostPrint:
    """
    What a host function prints.
    """

    @property
    def launches(self) -> int:
        """
        How many kernels are launched before it.
        """

    @property
    def scalars(self) -> list[str]:
        """
        The types of its values.
        """

    @property
    def text(self) -> str:
        """
        The format.
        """

    @property
    def values(self) -> list[int]:
        """
        The patterns of its values.
        """

class Program:
    """
    A traced program.
    """

    @staticmethod
    def from_bytes(bytes: bytes) -> Program:
        """
        The program that to_bytes gave; ProgramError where the bytes are none.
        """

    def __str__(self) -> str: ...
    def evaluate(
        self,
        function: typing.SupportsInt | typing.SupportsIndex,
        parameters: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    ) -> tuple[list[Launched], list[HostPrint], tuple[typing.Any, ...]]:
        """
        (launches, prints, results) of a host function for the patterns of its parameters.
        """

    def is_thread(self, function: typing.SupportsInt | typing.SupportsIndex) -> bool:
        """
        Whether a host function launches nothing and does what only a thread does, such as touching memory.
        """

    def parameter_types(self, function: typing.SupportsInt | typing.SupportsIndex) -> list[Type]:
        """
        The types of a function's parameters.
        """

    def to_bytes(self) -> bytes:
        """
        The program for a file; see from_bytes.
        """

    @property
    def functions(self) -> list[Function]: ...

class Symbol:
    """
    A value of the program that is being traced.
    """

    def __eq__(self, arg0: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    @property
    def constant(self) -> int | None:
        """
        The integer that the value is known to be, or None.
        """

    @property
    def id(self) -> int: ...
    @property
    def is_visible(self) -> bool: ...
    @property
    def lanes(self) -> int: ...
    @property
    def scalar(self) -> str: ...
    @property
    def type(self) -> Type: ...

class Block:
    """
    A closed block, for an operation of control.
    """

class Builder:
    """
    Collects the operations of one trace.
    """

    def __enter__(self) -> Builder: ...
    def __exit__(self, *args: typing.Any) -> None: ...
    def __init__(self) -> None: ...
    def abandon(self, depth: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Close blocks until so many are open, after an error.
        """

    def begin_block(self, types: collections.abc.Sequence[Type]) -> typing.Any:
        """
        Open a block; its parameters.
        """

    def begin_function(
        self, name: str, is_kernel: bool, types: collections.abc.Sequence[Type], names: collections.abc.Sequence[str]
    ) -> typing.Any:
        """
        Open a function; its parameters.
        """

    def constant(self, scalar: str, value: typing.Any) -> typing.Any:
        """
        A constant; integers wrap.
        """

    def constant_bits(self, scalar: str, bits: typing.SupportsInt | typing.SupportsIndex) -> typing.Any:
        """
        A constant by its pattern.
        """

    def end_block(self, yields: typing.Any) -> Block:
        """
        Close the innermost block.
        """

    def end_function(self, results: typing.Any = ()) -> int:
        """
        Close the function; its index.
        """

    def finish(self) -> Program:
        """
        The program; the builder is empty afterwards.
        """

    def inline_block(self) -> None:
        """
        Close the innermost block, which has no parameters, as a part of the one around it.
        """

    def name(self, symbol: Symbol, name: str) -> None:
        """
        The user's name of a value; the first one stays.
        """

    def op(
        self,
        code: str,
        operands: typing.Any = (),
        *,
        type: typing.Any = None,
        blocks: typing.Any = (),
        accesses: typing.Any = (),
        ints: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
        text: str = "",
    ) -> typing.Any:
        """
        Add an operation: its result, a tuple of results where it has blocks or several, None where it has none.
        """

    def place(self, file: str, line: typing.SupportsInt | typing.SupportsIndex, function: str) -> None:
        """
        The place of the operations that follow, in place of where Python is.
        """

    def set_function(
        self,
        *,
        shared_bytes: typing.SupportsInt | typing.SupportsIndex = 0,
        threads: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
        cluster: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
        min_blocks: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None:
        """
        Facts of the function that is open.
        """

    def set_yields(self, block: Block, yields: typing.Any) -> None:
        """
        Other yields for a closed block that no operation has taken yet.
        """

    @property
    def can_speculate(self) -> bool:
        """
        Whether the innermost block may run where it was not asked to: no effects, and nothing that can fail.
        """

    @property
    def depth(self) -> int: ...

class Finding:
    """
    What the execution of a kernel found to be wrong.
    """

    def __repr__(self) -> typing.Any: ...
    @property
    def address(self) -> int | None: ...
    @property
    def coordinate(self) -> tuple[typing.Any, ...]:
        """
        In the tensor's flat modes; () where there is none.
        """

    @property
    def count(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def message(self) -> str: ...
    @property
    def other_place(self) -> typing.Any:
        """
        Where the other side is, or None.
        """

    @property
    def other_thread(self) -> typing.Any:
        """
        (block, thread) of the other side, or None.
        """

    @property
    def place(self) -> typing.Any:
        """
        (file, line, function), or None.
        """

    @property
    def space(self) -> str: ...
    @property
    def tensor(self) -> str: ...
    @property
    def thread(self) -> typing.Any:
        """
        (block, thread) of the first one, or None.
        """

class ProfileRow:
    """
    What one operation, or its requests to one memory, cost in a launch.
    """

    @property
    def active_lanes(self) -> int:
        """
        Of all, summed.
        """

    @property
    def bytes(self) -> int: ...
    @property
    def counted_wavefronts(self) -> int:
        """
        What Nsight Compute says of the instruction: of cp.async around L1 other wavefronts.
        """

    @property
    def divergent(self) -> int:
        """
        Of branches: those that lanes of one warp took differently.
        """

    @property
    def element_bits(self) -> int: ...
    @property
    def executed(self) -> int:
        """
        By warps; of requests their number.
        """

    @property
    def flops(self) -> int: ...
    @property
    def ideal_counted_wavefronts(self) -> int: ...
    @property
    def ideal_sectors(self) -> int: ...
    @property
    def ideal_wavefronts(self) -> int: ...
    @property
    def kind(self) -> str:
        """
        load, store, atomic, cp.async, ldmatrix or stmatrix of a row about requests, else empty.
        """

    @property
    def line(self) -> int: ...
    @property
    def lines(self) -> int: ...
    @property
    def name(self) -> str:
        """
        Of the parameter or allocation, where it has one.
        """

    @property
    def operation(self) -> str: ...
    @property
    def place(self) -> typing.Any: ...
    @property
    def sectors(self) -> int: ...
    @property
    def space(self) -> str:
        """
        gmem or smem of a row about requests, else empty.
        """

    @property
    def useful_bytes(self) -> int: ...
    @property
    def wavefronts(self) -> int: ...
    @property
    def width(self) -> int:
        """
        Bytes of a lane in one request; 0 in a row about the operation as such.
        """

    @property
    def worst(self) -> typing.Any:
        """
        (sectors or wavefronts, CTA, warp, mask, addresses of its lanes) of the request that costs most, or None.
        """

class MemoryRange:
    """
    Memory that belongs to an argument of a kernel.
    """

    def __init__(
        self,
        address: typing.SupportsInt | typing.SupportsIndex,
        bytes: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        *,
        origin: typing.SupportsInt | typing.SupportsIndex | None = None,
        shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
        stride: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
        bits: typing.SupportsInt | typing.SupportsIndex = 8,
        writable: bool = True,
    ) -> None:
        """
        `bytes` from `address` on; the tensor's flat shape and strides count elements of `bits` from `origin` on. A name that is a parameter's of the kernel, or the beginning of one, bounds what is reached from it.
        """

def cuda_name(program: Program, function: typing.SupportsInt | typing.SupportsIndex) -> str:
    """
    The name of a kernel in its CUDA C++.
    """

def cuda_source(program: Program, function: typing.SupportsInt | typing.SupportsIndex, marks: str = "changes") -> str:
    """
    A kernel as CUDA C++; its lines of Python are marked at changes, every line or none.
    """

def current() -> typing.Any:
    """
    The builder of this thread's trace, or None.
    """

def host_c_source(program: Program, function: typing.SupportsInt | typing.SupportsIndex, name: str) -> str:
    """
    A host function as C: static int name(name_Module *module, CUstream stream, its parameters).
    """

def most_needed(program: Program, function: typing.SupportsInt | typing.SupportsIndex) -> tuple[int, str, str, int]:
    """
    (least architecture, as 80 of sm_80, instruction, file, line) of what of a kernel needs the most; 0: nothing does.
    """

def number(scalar: str, lanes: typing.SupportsInt | typing.SupportsIndex = 1) -> Type:
    """
    The type of a number, or of a vector of `lanes` numbers.
    """

def parameter_places(program: Program, function: typing.SupportsInt | typing.SupportsIndex) -> tuple[list[int], int]:
    """
    (where each parameter of a kernel begins, the bytes of all) in the memory that a launch is given.
    """

def pointer(
    scalar: str,
    space: str,
    align: typing.SupportsInt | typing.SupportsIndex,
    swizzle: tuple[
        typing.SupportsInt | typing.SupportsIndex,
        typing.SupportsInt | typing.SupportsIndex,
        typing.SupportsInt | typing.SupportsIndex,
    ]
    | None = None,
) -> Type:
    """
    The type of a pointer; align and the swizzle count bytes.
    """

def profile_kernel(
    program: Program,
    kernel: typing.SupportsInt | typing.SupportsIndex,
    grid: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    block: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    *,
    cluster: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
    shared_bytes: typing.SupportsInt | typing.SupportsIndex = 0,
    arguments: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
    threads: typing.SupportsInt | typing.SupportsIndex = 0,
    warp: tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex] | None = None,
    maps: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, MapOfTensor]] = [],
) -> typing.Any:
    """
    Run a kernel on the CPU and count what it costs: rows of operations and requests, sorted by line. `warp`: (block, warp in it) that alone is counted.
    """

def run_kernel(
    program: Program,
    kernel: typing.SupportsInt | typing.SupportsIndex,
    grid: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    block: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    *,
    cluster: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
    shared_bytes: typing.SupportsInt | typing.SupportsIndex = 0,
    arguments: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
    memory: collections.abc.Sequence[MemoryRange] = [],
    check: bool = True,
    seed: typing.SupportsInt | typing.SupportsIndex = 0,
    threads: typing.SupportsInt | typing.SupportsIndex = 0,
    limit: typing.SupportsInt | typing.SupportsIndex = 0,
    events: typing.SupportsInt | typing.SupportsIndex = 8388608,
    maps: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, MapOfTensor]] = [],
    resident: typing.SupportsInt | typing.SupportsIndex = 0,
    before: collections.abc.Sequence[
        tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex, bool]
    ] = [],
    touched: typing.Any = None,
) -> typing.Any:
    """
    Run a kernel on the CPU: (findings, what printf wrote). `arguments`: a pattern of 64 bits for each parameter; `limit`: iterations after which a loop is said to have no end, 0 for none; `events`: accesses of warps that the checks tell apart at a time; `maps`: each tensor map that is an argument, with the tensor's address; `resident`: clusters, or CTAs without clusters, that checks let run at once, 0 for many; `before`: (first byte, the byte behind the last, whether it was written) of what the launch before touched, which may not have ended; `touched`: a list to which the same of this launch is added.
    """

def tensor_map() -> Type:
    """
    The type of a tensor map: which boxes of a tensor TMA copies.
    """

def timeline_kernel(
    program: Program,
    kernel: typing.SupportsInt | typing.SupportsIndex,
    grid: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    block: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    *,
    cluster: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
    shared_bytes: typing.SupportsInt | typing.SupportsIndex = 0,
    arguments: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
    cta: typing.SupportsInt | typing.SupportsIndex = 0,
    maps: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, MapOfTensor]] = [],
) -> typing.Any:
    """
    Run a kernel on the CPU and note what the warps of one block do when: (warp, what, first step, the step after the last, line, barrier or -1). A warp executes one instruction of the executor a step.
    """

def written_parameters(
    program: Program, function: typing.SupportsInt | typing.SupportsIndex
) -> dict[str, tuple[str, int]]:
    """
    {name: (file, line)} of the pointers and tensor maps of a function that memory is written through, and where first.
    """
