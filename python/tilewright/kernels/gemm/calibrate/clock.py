"""Seconds of a plan on a GPU: over operands that are random and not in the L2, without waiting for the CPU.

Memory is torch's where the program has imported it, else the driver's. Operands are filled by a kernel of copies from
random numbers in pinned memory: how fast a device multiplies depends on the bits that it multiplies, and it is the
fastest with zeros.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright._imported import imported_torch
from tilewright.cute.runtime import work_stream
from tilewright.kernels.common.launch import addresses_of, prepare
from tilewright.kernels.common.operands import CUDA, Operand, Operands
from tilewright.kernels.common.workspace import Workspace, workspace
from tilewright.kernels.copy.choose import choose_copy
from tilewright.kernels.copy.problem import CopyProblem
from tilewright.kernels.gemm.calibrate.samples import ALIGNED, problem_bytes
from tilewright.kernels.gemm.choose.tune import SAMPLE, clock_of
from tilewright.kernels.gemm.operands import GemmOperands
from tilewright.runtime.device import properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tilewright.kernels.gemm.calibrate.samples import Sample

__all__ = ["DeviceClock"]

BLOCK = 8 << 20  # random elements of two bytes
PAST = 5  # times the L2 lie between two uses of an operand
ALONE = 8  # times the L2: operands that evict themselves
LEAD = 1.5e-3  # seconds that the device is busy before what is measured, while the CPU enqueues that
ROUNDS = 3
MOST = 200  # launches of a measurement
ALIGNMENT = 512  # bytes of whose multiple each operand begins


class KeptWorkspace(Workspace):
    """Buffers that stay from launch to launch, as torch's do: to allocate them is no part of a plan's time."""

    def __init__(self, device: int, sizes: tuple[int, int, int], library: str) -> None:
        super().__init__(device, sizes, library)
        self.kept: tuple[Any, tuple[int, int, int]] | None = None

    def __call__(self, stream: int) -> tuple[Any, tuple[int, int, int]]:
        if self.kept is None:
            made = [
                workspace(self.device, size, stream, self.library, is_zero=i == 0) if size else (None, 0)
                for i, size in enumerate(self.sizes)
            ]
            flags, scratch, padded = (address for _, address in made)
            self.kept = [memory for memory, _ in made], (flags, scratch, padded)
        return self.kept


class DeviceClock:
    """Measures samples on a device, whose memory it holds: what the largest of them needs, and its operands again."""

    def __init__(self, device: int, samples: Iterable[Sample]) -> None:
        self.device, self.stream = device, work_stream(device)
        self.clock = clock_of(device, self.stream)
        torch = imported_torch()
        self.library = "torch" if torch is not None and torch.cuda.is_available() else ""
        problems = dict.fromkeys(sample.problem for sample in samples)
        read, written = (max(need) for need in zip(*(self._needs(problem) for problem in problems), strict=True))
        # What is written is not read: sums of sums would grow beyond all numbers.
        (self.inputs, self.read), (self.outputs, self.written) = (
            workspace(device, size, self.stream, self.library) for size in (read, written)
        )
        self._fill(read)
        self._lead = self._copy(min(read, written) // 2 * 2, self.read, self.written)
        once = max(min(self.clock(self._lead) for _ in range(ROUNDS)), 1e-6)
        self.leads = max(math.ceil(LEAD / once), 1)

    def __call__(self, sample: Sample) -> float | None:
        """The median seconds of a launch; None where the device does not take the plan."""
        try:
            launch = self._launches(sample)
        except ValueError:
            return None
        launch()  # the first one loads the kernel
        once = max(self.clock(launch), 1e-6)
        count = max(min(int(SAMPLE / once), MOST), 1)

        def alone() -> None:
            for _ in range(self.leads):
                self._lead()

        def behind() -> None:
            alone()
            for _ in range(count):
                launch()

        found = [self.clock(behind) - self.clock(alone) for _ in range(ROUNDS)]
        return max(statistics.median(found) / count, 1e-9)

    def _sets(self, problem: Any) -> int:
        """The operands of a problem that are taken in turn, so that none is still in the L2 when its turn comes."""
        moved, cache = sum(problem_bytes(problem)), int(properties(self.device)["l2_bytes"])
        return max(1 if moved > ALONE * cache else 2, -(-PAST * cache // moved))

    def _needs(self, problem: Any) -> tuple[int, int]:
        """The bytes of all sets of operands that are read, and of those that are written."""
        read, written = problem_bytes(problem)
        sets = self._sets(problem)
        return sets * (read + 2 * ALIGNMENT), sets * (written + ALIGNMENT)

    def _operand(self, name: str, address: int, dtype: str, size: int, extents: Any, strides: Any) -> Operand:
        owner = self.inputs  # says whose memory a workspace is
        return Operand(name, address, dtype, size, extents, strides, (CUDA, self.device), False, name, owner)

    def _launches(self, sample: Sample) -> Callable[[], None]:
        """A function that launches the plan on the next set of operands."""
        problem, places, plan = sample.problem, [], sample.plan
        read, written = self.read, self.written
        for _ in range(self._sets(problem)):
            operands, read, written = self._operands(problem, read, written)
            places.append(addresses_of(operands))
            if len(places) == 1:
                prepared = prepare(plan, operands, workspace=KeptWorkspace)
        turn = 0

        def launch() -> None:
            nonlocal turn
            prepared.launch(places[turn], self.stream)
            turn = (turn + 1) % len(places)

        return launch

    def _operands(self, problem: Any, read: int, written: int) -> tuple[Any, int, int]:
        """The operands that begin at these addresses, and the addresses behind them."""

        def behind(address: int, extents: tuple[int, ...], size: int) -> int:
            return -(-(address + math.prod(extents) * size) // ALIGNMENT) * ALIGNMENT

        if isinstance(problem, CopyProblem):
            p, size = problem, problem.element_bytes
            src = self._operand("src", read, p.element_type, size, p.extents, p.src_strides)
            dst = self._operand("dst", written, p.element_type, size, p.extents, p.dst_strides)
            return Operands((src, dst)), behind(read, p.extents, size), behind(written, p.extents, size)
        a, b, c = ((problem.m, problem.k), (problem.n, problem.k), (problem.m, problem.n))
        sides = (a, problem.a_strides, problem.a_type), (b, problem.b_strides, problem.b_type)
        found = []
        for name, (extents, strides, dtype) in zip("AB", sides, strict=True):
            size = int(dtype.bits) // 8
            found.append(self._operand(name, read, str(dtype), size, extents, strides))
            read = behind(read, extents, size)
        size = int(problem.c_type.bits) // 8
        out = self._operand("C", written, str(problem.c_type), size, c, problem.c_strides)
        return GemmOperands(problem, found[0], found[1], out, None, (0, 0, 0, 0)), read, behind(written, c, size)

    def _copy(self, size: int, src: int, dst: int) -> Callable[[], None]:
        """A function that copies bytes, multiples of two, from one address to another one."""
        problem = CopyProblem("BFloat16", 2, (size // 2,), (1,), (1,), 0, 0)
        operands, _, _ = self._operands(problem, src, dst)
        prepared = prepare(choose_copy(problem, *ALIGNED[:2]), operands)
        addresses = addresses_of(operands)
        return lambda: prepared.launch(addresses, self.stream)

    def _fill(self, size: int) -> None:
        """Normal numbers of BFloat16, two of which are a number of Float32 that is normal up to its last bits."""
        pinned = _core.cuda.allocate_pinned(self.device, 2 * BLOCK)
        normal = np.random.default_rng(0).standard_normal(BLOCK, np.float32)
        np.frombuffer(pinned, np.uint16)[:] = normal.view(np.uint32) >> 16  # type: ignore[call-overload]
        for begin in range(0, size, 2 * BLOCK):
            rest = min(2 * BLOCK, size - begin) // 2 * 2
            self._copy(rest, int(pinned.address), self.read + begin)()
        _core.cuda.synchronize_stream(self.device, self.stream)
