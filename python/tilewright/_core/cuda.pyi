# Generated from the C++ module by `make stubs`; do not edit.
"""
The CUDA driver and NVRTC, opened at their first use.
"""

from __future__ import annotations

import collections.abc
import typing

import tilewright._core
import tilewright._core.program

__all__: list[str] = [
    "Bound",
    "CompileResult",
    "DriverError",
    "Function",
    "HostFunction",
    "Kernel",
    "Launch",
    "LaunchHook",
    "Launcher",
    "Module",
    "Nvrtc",
    "Prepared",
    "Recorder",
    "StreamMemory",
    "allocate_async",
    "allocate_pinned",
    "current_stream",
    "describe",
    "device",
    "device_count",
    "device_of_address",
    "driver_path",
    "driver_version",
    "encode_tensor_map",
    "load",
    "on_launch",
    "order",
    "pause_launchers",
    "resume_launchers",
    "stream_identity",
    "synchronize",
    "synchronize_stream",
]

class StreamMemory:
    """
    Memory of a device, in the order of a stream.
    """

    def free(self) -> None:
        """
        Give it back once what is enqueued on its stream has ended. The object does so when it goes.
        """

    def zero(self) -> None:
        """
        Enqueue that every byte becomes zero.
        """

    @property
    def address(self) -> int:
        """
        0 once it is freed.
        """

    @property
    def bytes(self) -> int: ...
    @property
    def device(self) -> int: ...
    @property
    def stream(self) -> int: ...

class DriverError(RuntimeError):
    """
    A call of the CUDA driver that failed, or no driver to call.

    Attributes: code (the driver's number) or None, name (CUDA_ERROR_...), kernel.

    >>> from tilewright import DriverError
    >>> try:
    ...     raise DriverError('no CUDA driver')
    ... except DriverError as error:
    ...     print(error, error.code, [error.name], [error.kernel])
    no CUDA driver None [''] ['']
    """

    code: typing.Any
    error_code: typing.Any
    kernel: typing.ClassVar[str]
    name: typing.ClassVar[str]

class CompileResult:
    """
    What NVRTC made of a program.
    """

    @property
    def cubin(self) -> bytes | None:
        """
        The machine code, where the options name a real architecture.
        """

    @property
    def log(self) -> str:
        """
        The compiler's words.
        """

    @property
    def lowered(self) -> dict[str, str]:
        """
        Name expression to symbol.
        """

    @property
    def ok(self) -> bool: ...
    @property
    def ptx(self) -> str | None: ...

class Nvrtc:
    """
    The run-time compiler in a library.
    """

    def __init__(self, path: str) -> None:
        """
        Open the library; OSError if that fails.
        """

    def compile(
        self,
        source: str,
        name: str,
        headers: collections.abc.Mapping[str, str],
        options: collections.abc.Sequence[str],
        names: collections.abc.Sequence[str],
    ) -> CompileResult:
        """
        Compile a program and instantiate its name expressions. Headers are {name: text}. A program that does not compile gives a result with ok False.
        """

    @property
    def path(self) -> str:
        """
        The file that was opened.
        """

    @property
    def version(self) -> tuple[int, int]:
        """
        (major, minor)
        """

class Function:
    """
    A kernel on a device.
    """

    def launch(
        self,
        grid: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"],
        block: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"],
        shared: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        params: bytes,
        *,
        cluster: typing.Annotated[
            collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"
        ] = [1, 1, 1],
        cooperative: bool = False,
        programmatic: bool = False,
        completion_event: tuple[
            typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex, bool
        ] = (0, 0, False),
        programmatic_event: tuple[
            typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex, bool
        ] = (0, 0, False),
    ) -> None:
        """
        Enqueue the kernel; params are the bytes of its parameters, each where the kernel expects it. cluster: blocks that run together; cooperative: all blocks run at once; programmatic: the kernel may begin before the one before it on the stream has ended. Events, as (handle, flags, at block start), are recorded: completion_event when all blocks have begun, programmatic_event when all let dependents begin.
        """

    def occupancy(
        self, block: typing.SupportsInt | typing.SupportsIndex, shared: typing.SupportsInt | typing.SupportsIndex = 0
    ) -> int:
        """
        Blocks that fit a multiprocessor at a time; launches with that much shared memory are allowed then.
        """

    def set_dynamic_shared(self, bytes: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Allow launches with that much dynamic shared memory.
        """

    def set_nonportable_cluster(self) -> None:
        """
        Allow clusters of more than 8 blocks, if the device has them.
        """

    @property
    def const_bytes(self) -> int: ...
    @property
    def device(self) -> int: ...
    @property
    def local_bytes(self) -> int:
        """
        Local memory of one thread: spills and arrays.
        """

    @property
    def max_threads(self) -> int:
        """
        Of a block of this kernel.
        """

    @property
    def name(self) -> str: ...
    @property
    def parameter_bytes(self) -> int | None:
        """
        Of all parameters; None before driver 12.4.
        """

    @property
    def registers(self) -> int:
        """
        Of one thread.
        """

    @property
    def static_shared(self) -> int:
        """
        Bytes of a block.
        """

class Module:
    """
    A program in the primary context of a device.
    """

    def function(
        self, symbol: str, offsets: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [0]
    ) -> Function:
        """
        The kernel with that (lowered) name; where each of its parameters begins in the bytes of a launch.
        """

    @property
    def device(self) -> int: ...

class Launch:
    """
    A kernel that was enqueued: what a callback of `runtime.on_launch` is given.
    """

    def __repr__(self) -> str: ...
    @property
    def addresses(self) -> tuple[typing.Any, ...]:
        """
        Where the plan's tensors begin, in bytes: (src, dst) of a copy, (A, B, C, bias) of a GEMM with None for no bias, then its scratch; () without a plan.
        """

    @property
    def block(self) -> tuple[typing.Any, ...]:
        """
        Threads along x, y, z.
        """

    @property
    def device(self) -> int:
        """
        The number of the CUDA device.
        """

    @property
    def grid(self) -> tuple[typing.Any, ...]:
        """
        Blocks along x, y, z.
        """

    @property
    def kernel(self) -> str:
        """
        The kernel's symbol, as profilers show it.
        """

    @property
    def plan(self) -> typing.Any:
        """
        The plan of this kernel; None for a kernel without one. Of a plan of several kernels, the one of its plans that this kernel runs.
        """

    @property
    def programmatic(self) -> bool:
        """
        Whether it may begin before the kernel before it has ended.
        """

    @property
    def shared(self) -> int:
        """
        Dynamic shared memory of a block, in bytes.
        """

    @property
    def stream(self) -> int:
        """
        The number of the CUDA stream.
        """

class LaunchHook:
    """
    A callback of `runtime.on_launch`: a context manager.
    """

    def __enter__(self) -> typing.Any: ...
    def __exit__(self, *args: typing.Any) -> None: ...
    def remove(self) -> None:
        """
        Call it no more. Removing it again does nothing.
        """

class Recorder:
    """
    Takes the place of a Function in a Kernel where there is no GPU: its tensors are on the CPU, and launches are written down. For tests.
    """

    def __init__(self, name: str = "") -> None: ...
    def occupancy(
        self, block: typing.SupportsInt | typing.SupportsIndex, shared: typing.SupportsInt | typing.SupportsIndex = 0
    ) -> int:
        """
        Blocks that have room by their threads.
        """

    @property
    def count(self) -> int:
        """
        Launches so far.
        """

    @property
    def last(self) -> tuple[tuple[typing.Any, ...], tuple[typing.Any, ...], int, int, bytes]:
        """
        The last launch: grid, block, shared, stream, params. A tensor map in params has its new address in its first 8 bytes.
        """

    @property
    def name(self) -> str: ...
    @property
    def programmatic(self) -> bool:
        """
        Whether the last launch might overlap with what was enqueued before it.
        """

class Kernel:
    """
    A kernel with everything of its launch but the addresses and the stream.
    """

    def __init__(
        self,
        function: typing.Any,
        grid: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"],
        block: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"],
        shared: typing.SupportsInt | typing.SupportsIndex,
        params: bytes,
        pointers: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ] = [],
        *,
        maps: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ] = [],
        programmatic: bool = False,
        plan: typing.Any = None,
        tensors: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex] | None
        ] = [],
    ) -> None:
        """
        pointers: (place, offset in params, bytes added to the address there), where a place from 0 on is an argument of the call, and -1 - i is buffer i of the workspace; maps: the same of tensor maps in params, whose address is replaced; shared: bytes of dynamic shared memory, which the function is allowed from then on; programmatic: the kernel may begin before the one before it on the stream has ended, and waits for its data itself, on devices from sm_90 on; plan, and tensors, (place, bytes added) or None: what callbacks of launches are shown.
        """

    @property
    def block(self) -> tuple[typing.Any, ...]: ...
    @property
    def function(self) -> typing.Any: ...
    @property
    def grid(self) -> tuple[typing.Any, ...]: ...
    @property
    def parameter_bytes(self) -> int: ...
    @property
    def plan(self) -> typing.Any: ...
    @property
    def programmatic(self) -> bool: ...
    @property
    def shared(self) -> int: ...

class Prepared:
    """
    Kernels that are launched one after another, with everything but the addresses and the stream.
    """

    def __init__(
        self,
        kernels: collections.abc.Sequence[Kernel],
        ranges: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ] = [],
        disjoint: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ] = [],
        result: typing.SupportsInt | typing.SupportsIndex | None = None,
        keep: typing.Any = None,
        *,
        workspace: typing.Any = None,
    ) -> None:
        """
        ranges: (argument, low, high) in bytes from its address; disjoint: pairs of ranges that must not overlap; result: the argument that the call returns, or None; keep: any object, kept alive; workspace: called with the stream's number before each launch, returns (owner, the addresses of the buffers), of which the owner is kept until all kernels are enqueued.
        """

    def bind(
        self,
        *args: typing.Any,
        addresses: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None,
    ) -> typing.Any:
        """
        A Bound for these tensors. Addresses are given for tensors whose library lacks DLPack's C functions.
        """

    def launch(
        self,
        addresses: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        stream: typing.SupportsInt | typing.SupportsIndex,
    ) -> None:
        """
        Enqueue the kernels at these addresses, one an argument.
        """

    @property
    def keep(self) -> typing.Any: ...
    @property
    def kernels(self) -> list[Kernel]: ...
    @property
    def result(self) -> int | None: ...

class HostFunction:
    """
    A host function of a traced program, with its kernels on a device: its launches for the arguments of one call.
    """

    def __init__(
        self,
        program: tilewright._core.program.Program,
        function: typing.SupportsInt | typing.SupportsIndex,
        sources: collections.abc.Sequence[
            tuple[
                str,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ],
        load: typing.Any,
    ) -> None:
        """
        sources: where a call has each parameter, ("address", argument, 0, alignment), ("shape" or "stride", argument, mode, divisor), ("number", argument, 0, divisor), or ("fixed", 0, 0, 1); load: called once with the index of a kernel that is launched, gives (function, offsets of the parameters, bytes of all, shared memory, plan).
        """

    def prepare(
        self,
        parameters: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        given_stream: bool = False,
    ) -> typing.Any:
        """
        A Prepared of all launches for these parameters, with everything but the addresses of arguments. None where the function returns or prints something, looks at addresses, launches nothing, or gets pointers that are no tensors' own. given_stream: the call says the stream.
        """

@typing.final
class Bound:
    """
    A Prepared with its tensors, which it keeps alive. A call launches it on the current stream of the tensors' library, or on stream=...; it is told of no change of the tensors' memory.
    """

    def __call__(self, *, stream: int = ...) -> None: ...
    @property
    def prepared(self) -> Prepared: ...
    @property
    def tensors(self) -> tuple[typing.Any, ...]: ...

class Launcher:
    """
    A callable that launches again, at the addresses of the new tensors, what slow(*args, **kwargs) prepared for arguments of the same kind: slow returns (result, Prepared or None). parameters are the names of slow's parameters; without its name there, a tensor given by keyword always goes to slow. A subclass is made with what arguments it likes, has its slow path as its method _slow, and sets its parameters. watched: None, or a tuple of a namespace (a dict, or a cell), a name in it and its value, for each name; where one means another value, all launches are forgotten.
    """

    def __init__(
        self, slow: collections.abc.Callable[..., tuple[typing.Any, Prepared | None]], parameters: tuple[str, ...] = ()
    ) -> None: ...
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any: ...
    def clear(self) -> None:
        """Forget all launches."""

    @property
    def entries(self) -> int:
        """Launches that are remembered."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the slow path's parameters."""

    @parameters.setter
    def parameters(self, names: tuple[str, ...]) -> None: ...
    @property
    def slow(self) -> collections.abc.Callable[..., tuple[typing.Any, Prepared | None]] | None: ...
    @property
    def watched(self) -> tuple[typing.Any, ...] | None: ...
    @watched.setter
    def watched(self, names: tuple[typing.Any, ...] | None) -> None: ...

def allocate_async(
    device: typing.SupportsInt | typing.SupportsIndex,
    bytes: typing.SupportsInt | typing.SupportsIndex,
    stream: typing.SupportsInt | typing.SupportsIndex,
) -> StreamMemory:
    """
    Memory for what is enqueued on the stream from now on, until it is freed. While the stream is captured, the graph allocates and frees it; free it before the capture ends.
    """

def allocate_pinned(
    device: typing.SupportsInt | typing.SupportsIndex, size: typing.SupportsInt | typing.SupportsIndex
) -> tilewright._core.Memory:
    """
    Pinned memory of the CPU, which kernels on any device reach at the same address.
    """

def current_stream(tensor: typing.Any) -> int | None:
    """
    The stream on which the tensor's library works now on the tensor's device; None where it cannot tell.
    """

def describe(tensor: typing.Any) -> typing.Any:
    """
    (address, (code, bits, lanes), (device type, id), shape, strides) of an array whose library offers DLPack's C functions, None for anything else and for what DLPack cannot express (gradients, lazy conjugates).
    """

def device(device: typing.SupportsInt | typing.SupportsIndex) -> dict[str, typing.Any]:
    """
    What the device has.
    """

def device_count() -> int:
    """
    0 where the driver finds no device.
    """

def device_of_address(address: typing.SupportsInt | typing.SupportsIndex) -> int:
    """
    The device whose memory an address is; -1 for memory of the CPU, and where there is no driver.
    """

def driver_path() -> str | None:
    """
    The file of the CUDA driver, None where it cannot be loaded.
    """

def driver_version() -> int:
    """
    13000 for 13.0.
    """

def encode_tensor_map(
    address: typing.SupportsInt | typing.SupportsIndex,
    element: typing.SupportsInt | typing.SupportsIndex | str,
    shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    box: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    element_strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None,
    swizzle: typing.SupportsInt | typing.SupportsIndex = 0,
    l2_promotion: typing.SupportsInt | typing.SupportsIndex = 128,
    fill: str = "zeros",
) -> bytes:
    """
    The 128 bytes of the tensor map of a tensor and its boxes. element: bits, or a type's name; modes with the contiguous one first; strides in bytes, without that mode's; swizzle 0, 32, 64 or 128 bytes; l2_promotion 0, 64, 128 or 256 bytes; fill 'zeros' or 'nans', for what lies outside the tensor.
    """

def load(device: typing.SupportsInt | typing.SupportsIndex, cubin: bytes) -> Module:
    """
    Load a cubin on a device. It stays there until the process ends.
    """

def on_launch(callback: typing.Any) -> LaunchHook:
    """
    Call it for every kernel launch until the LaunchHook is removed.
    """

def order(
    device: typing.SupportsInt | typing.SupportsIndex,
    earlier: typing.SupportsInt | typing.SupportsIndex,
    later: typing.SupportsInt | typing.SupportsIndex,
) -> None:
    """
    Let one stream wait for what is enqueued on another; neither is waited for here.
    """

def pause_launchers() -> None:
    """
    Let all launchers take the slow path in this thread.
    """

def resume_launchers() -> None:
    """
    Undo one pause_launchers().
    """

def stream_identity(
    device: typing.SupportsInt | typing.SupportsIndex, stream: typing.SupportsInt | typing.SupportsIndex
) -> int:
    """
    A number of a stream that no other one of the process has or will have, though its handle may be used again; 0 where the driver has none, and while the stream is captured into a graph.
    """

def synchronize(device: typing.SupportsInt | typing.SupportsIndex) -> None:
    """
    Wait until all work of the device has ended.
    """

def synchronize_stream(
    device: typing.SupportsInt | typing.SupportsIndex, stream: typing.SupportsInt | typing.SupportsIndex
) -> None:
    """
    Wait until all work of a stream has ended.
    """
