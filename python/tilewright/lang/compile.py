"""Kernels of traced programs on a GPU: their text as CUDA C++, compiled, found again by their text, launched."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tilewright._core import program as core
from tilewright.devices import SHARED_BYTES
from tilewright.lang.collection import Uncollected
from tilewright.runtime.compiler import compile_program
from tilewright.runtime.compiler import kernel as kernel_on
from tilewright.runtime.disassembler import disassembled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright._core import cuda
    from tilewright.runtime.program import Program as Binary
    from tilewright.runtime.ptxas import Report

__all__ = ["OPTIONS", "CompiledKernel"]

# A product and a sum are two roundings, as Python's are; machine code says which line of Python it is of.
OPTIONS = ("-fmad=false", "-lineinfo")
STATIC_SHARED = 48 * 1024  # bytes of shared memory that a block has unasked


class CompiledKernel:
    """A kernel of a traced program for an architecture; it is compiled when that is first needed.

    `function` is its index among the program's functions, `options` are given to NVRTC beside OPTIONS.

    >>> from tilewright._core import program as core
    >>> builder = core.Builder()
    >>> with builder:
    ...     (n,) = builder.begin_function("nothing", True, [core.number("Int32")], ["n"])
    ...     index = builder.end_function()
    >>> print(CompiledKernel(builder.finish(), index, "sm_90a").source)
    #include "tilewright/lang.cuh"
    <BLANKLINE>
    using namespace tilewright;
    <BLANKLINE>
    extern "C" __global__ void nothing(int n) {
    }
    <BLANKLINE>
    """

    def __init__(self, program: Any, function: int, arch: str, options: Sequence[str] = ()) -> None:
        self.program = program
        self.index = function
        self.arch = arch
        self.options = (*OPTIONS, *options)
        self.name: str = core.cuda_name(program, function)
        self.shared_bytes: int = program.functions[function].shared_bytes
        self.offsets, self.parameter_bytes = core.parameter_places(program, function)
        self._functions: dict[int, cuda.Function] = {}

    # ---- looking at it ----

    @functools.cached_property
    def source(self) -> str:
        """CUDA C++ over the device library. What is compiled has the place in Python before every line, too."""
        return core.cuda_source(self.program, self.index, "changes")

    @property
    def ptx(self) -> str:
        """The PTX."""
        return self.binary.ptx

    @property
    def cubin(self) -> bytes:
        """The machine code."""
        return self.binary.cubin

    @functools.cached_property
    def sass(self) -> str:
        """The machine code as text; it needs nvdisasm or cuobjdump, which come with CUDA."""
        return disassembled(self.binary.cubin)

    @property
    def report(self) -> Report:
        """What the kernel takes: registers, spills, shared memory, stack and constants."""
        return self.binary.report[self.name]

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return self.report.registers

    @property
    def spills(self) -> int:
        """Bytes that a thread stores and loads because it lacks registers."""
        return self.report.spill_bytes

    # ---- compiling and launching ----

    def _require_architecture(self) -> None:
        """ValueError where the architecture lacks an instruction, or the shared memory."""
        most = SHARED_BYTES.get(self.arch.rstrip("af"), self.shared_bytes)
        if self.shared_bytes > most:
            raise ValueError(
                f"{self.name}: its shared memory has {self.shared_bytes} bytes, but a block has at most {most} on "
                f"{self.arch}; take smaller tiles or fewer stages"
            )
        needed, what, file, line = core.most_needed(self.program, self.index)
        if needed > int(self.arch.removeprefix("sm_").rstrip("af")):
            raise ValueError(
                f"{self.name}: {what} ({file}:{line}) needs sm_{needed} or later, but the kernel is compiled for "
                f"{self.arch}; run it on a newer device, or choose an instruction that this one has"
            )

    @functools.cached_property
    def binary(self) -> Binary:
        """The compiled program; CompileError names the line of Python that the compiler refuses.

        ValueError for an instruction, or shared memory, that the architecture lacks.
        """
        self._require_architecture()
        with Uncollected():
            source = core.cuda_source(self.program, self.index, "every")
            return compile_program(self.name, [self.name], self.arch, source=source, options=self.options)

    def function(self, device: int) -> cuda.Function:
        """The kernel on a device, loaded there once, with as much shared memory as it allocates."""
        function = self._functions.get(device)
        if function is None:
            function = kernel_on(self.binary, self.name, device, self.offsets)
            if self.shared_bytes > STATIC_SHARED:
                function.set_dynamic_shared(self.shared_bytes)
            self._functions[device] = function
        return function

    def launch(
        self,
        device: int,
        grid: Sequence[int],
        block: Sequence[int],
        params: bytes,
        *,
        stream: int = 0,
        shared: int | None = None,
        cluster: Sequence[int] = (1, 1, 1),
        cooperative: bool = False,
        programmatic: bool = False,
        **events: tuple[int, int, bool],
    ) -> None:
        """Enqueue the kernel; `params` are its parameters as `offsets` places them.

        `events`: completion_event and programmatic_event, each as (handle, flags, at block start). `shared` is the
        dynamic shared memory, by default what the kernel allocates.
        """
        function = self.function(device)
        dynamic = max(self.shared_bytes, shared or 0)
        if dynamic > STATIC_SHARED:
            function.set_dynamic_shared(dynamic)
        if cluster[0] * cluster[1] * cluster[2] > 8:
            function.set_nonportable_cluster()
        function.launch(
            grid, block, dynamic, stream, params, cluster=cluster, cooperative=cooperative, programmatic=programmatic,
            **events,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"CompiledKernel({self.name}, {self.arch})"
