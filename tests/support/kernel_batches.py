"""Many random kernels at once: as functions of the host by one C++ compilation, or as one module of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from cpu_lang import SIGNATURE, UNDEFINED, HostKernels
from random_kernels import same
from tilewright import _core
from tilewright._core import program as core
from tilewright.lang.arguments import Leaves
from tilewright.lang.compile import STATIC_SHARED
from tilewright.runtime.compiler import compile_program
from tilewright.runtime.compiler import kernel as kernel_on

TOGETHER = 200  # kernels of a compilation
NAME = "random_kernel"


class Launch(NamedTuple):
    """What the host function of a program launches."""

    arguments: list[int]  # of the kernel, as bits; those of pointers are addresses
    grid: tuple[int, ...]
    block: tuple[int, ...]


def launch_of(compiled: Any, arguments: list[Any]) -> Launch:
    """The only launch of a call; it is not run. The arguments have to live on."""
    leaves = Leaves()
    bound = compiled.signature.bind(*arguments)
    for name, form in compiled.traced.forms.items():
        if name in bound.arguments:  # constants are none
            form.read(bound.arguments[name], leaves)
    (launch,), _, _ = compiled.traced.program.evaluate(compiled.traced.host, leaves.values)
    values = [bits if base < 0 else (leaves.values[base] + bits) % (1 << 64) for bits, base in launch.arguments]
    return Launch(values, tuple(launch.grid), tuple(launch.block))


# ---- on the host ----


class HostBatches:
    """Kernels of programs, compiled for the host in batches, beside what Python does meanwhile, and compared.

    `written()` gives what was written to stderr, where the sanitizer says what C++ leaves undefined.
    """

    def __init__(self, folder: Any, written: Callable[[], str]) -> None:
        self.folder, self.written, self.count = folder, written, 0
        self.programs: list[tuple[Any, Any]] = []  # of the next batch, with what is expected
        self.compiling: list[tuple[list[tuple[Any, Any]], Future[Any]]] = []
        self.pool = ThreadPoolExecutor(1)

    def __enter__(self) -> HostBatches:
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        try:
            if kind is None:
                self._start()
                self._finish(0)
        finally:
            self.pool.shutdown(cancel_futures=True)

    def add(self, program: Any, expected: list[np.ndarray]) -> None:
        self.programs.append((program, expected))
        if len(self.programs) == TOGETHER:
            self._start()
            self._finish(1)

    def _start(self) -> None:
        if self.programs:
            self.count += 1
            folder = self.folder / str(self.count)
            folder.mkdir()
            traced = [program.compiled.program for program, _ in self.programs]
            job = self.pool.submit(HostKernels, traced, folder, numbered=True, options=("-O0", UNDEFINED))
            self.compiling.append((self.programs, job))
            self.programs = []

    def _finish(self, left: int) -> None:
        """Compare those that are compiled; wait until only so many batches are left."""
        while len(self.compiling) > left:
            batch, job = self.compiling.pop(0)
            kernels = job.result()
            for number, (program, expected) in enumerate(batch):
                arguments = program.arguments()
                launch = launch_of(program.compiled, arguments)
                bits = [np.uint64(x) for x in launch.arguments]
                kernels(f"{NAME}_{number}", *bits, grid=launch.grid, block=launch.block)
                assert "runtime error" not in (text := self.written()), f"{text}\n{program}"
                assert same(arguments[3:], expected), f"CUDA C++ on the host differs from plain Python\n{program}"


# ---- on a GPU ----


def module_of(programs: list[Any], arch: str, options: tuple[str, ...] = ()) -> tuple[Any, list[Any]]:
    """The kernels of programs as one compiled module, and where their parameters lie."""
    texts, places = [], []
    for number, program in enumerate(programs):
        traced = program.compiled.program
        index = next(i for i, function in enumerate(traced.functions) if function.is_kernel)
        source = core.cuda_source(traced, index, "none")
        texts.append(SIGNATURE.sub(lambda x, number=number: x[0].replace(f"{x[1]}(", f"{x[1]}_{number}("), source))
        places.append((*core.parameter_places(traced, index), traced.functions[index].shared_bytes))
    names = [f"{NAME}_{i}" for i in range(len(programs))]
    binary = compile_program("random_kernels", names, arch, source="\n".join(texts), options=("-fmad=false", *options))
    return binary, places


class GpuBatch:
    """The kernels of programs on a device, each launched on memory of its own."""

    def __init__(self, programs: list[Any], device: int, arch: str, options: tuple[str, ...] = ()) -> None:
        self.programs, self.device = programs, device
        self.binary, self.places = module_of(programs, arch, options)

    def run(self) -> list[list[np.ndarray]]:
        """What every kernel leaves in its tensors. Arguments are copied to pinned memory, which a device reads."""
        given = [program.arguments() for program in self.programs]
        launches = [launch_of(p.compiled, x) for p, x in zip(self.programs, given, strict=True)]
        arrays = [[x for x in arguments if isinstance(x, np.ndarray)] for arguments in given]
        sizes = [-(-x.nbytes // 256) * 256 for own in arrays for x in own]
        starts = iter(np.cumsum([0, *sizes]).tolist())
        memory = _core.cuda.allocate_pinned(self.device, sum(sizes))
        there = np.frombuffer(memory, np.uint8)
        where = [[next(starts) for _ in own] for own in arrays]
        for number, (launch, (offsets, size, shared)) in enumerate(zip(launches, self.places, strict=True)):
            moved = {}
            for x, place in zip(arrays[number], where[number], strict=True):
                there[place : place + x.nbytes] = x.ravel("K").view(np.uint8)
                moved[x.ctypes.data] = memory.address + place
            params = bytearray(size)
            for offset, end, value in zip(offsets, [*offsets[1:], size], launch.arguments, strict=True):
                bits = moved.get(value, value).to_bytes(8, "little")
                params[offset : min(end, offset + 8)] = bits[: min(end - offset, 8)]
            function = kernel_on(self.binary, f"{NAME}_{number}", self.device, offsets)
            if shared > STATIC_SHARED:
                function.set_dynamic_shared(shared)
            function.launch(launch.grid, launch.block, shared, 0, bytes(params))
        _core.cuda.synchronize(self.device)
        for own, places in zip(arrays, where, strict=True):
            for x, place in zip(own, places, strict=True):
                x.ravel("K").view(np.uint8)[:] = there[place : place + x.nbytes]
        return [arguments[3:] for arguments in given]
