"""Run traced programs on the CPU, with every access checked where a launch is small."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import threading
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright._boundary import shown
from tilewright._core import program
from tilewright._traceback import is_package, warn
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.text.printing import filled
from tilewright.lang.arguments import Memory, Static
from tilewright.lang.leaves import argument_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.calls.decorated import Traced

__all__ = ["KernelError", "is_on_cpu", "on_cpu", "run_on_cpu"]

CHECKED_THREADS = 1 << 16  # launches of so many threads are checked, where nothing else is said
_SHOWN = 8  # findings of an error
_MOST_BY_SEED = 4  # CTAs that run at once, where a seed says how many
_COOPERATIVE, _USE_PDL = 2, 3  # among the numbers of a launch


class KernelError(RuntimeError):
    """What the CPU found to be wrong with a kernel: races, reads of what was never written, accesses out of bounds.

    `findings` has all of it, each with its kind, line, threads, address, tensor and coordinate. Kinds are race, missing
    fence, not written, not landed, out of bounds, read only, misaligned, barrier, deadlock, early exit, lane, division
    by zero, assertion, trap and no end.

    >>> import numpy
    >>> from tilewright import cute
    >>> @cute.kernel
    ... def beyond(x: cute.Tensor):
    ...     i, _, _ = cute.arch.thread_idx()
    ...     x[i + 1] = x[i]
    >>> try:
    ...     beyond(numpy.zeros(32, numpy.float32)).launch(block=32)
    ... except KernelError as error:
    ...     print(sorted({finding.kind for finding in error.findings}))
    ['out of bounds', 'race']
    """

    def __init__(self, name: str, findings: list[Any]) -> None:
        lines = [f"  {finding}" for finding in findings[:_SHOWN]]
        if len(findings) > _SHOWN:
            lines.append(f"  and {len(findings) - _SHOWN} more; see .findings")
        count = "1 defect" if len(findings) == 1 else f"{len(findings)} defects"
        super().__init__("\n".join([f"{name}: {count}", *lines]))
        self.findings = findings


class _Settings(threading.local):
    is_inside = False
    check: bool | None = None
    seed = 0
    resident: int | None = None
    memory: Sequence[Any] = ()


_settings = _Settings()


@contextlib.contextmanager
def on_cpu(
    *, check: bool | None = None, seed: int = 0, resident: int | None = None, memory: Sequence[Any] = ()
) -> Iterator[None]:
    """How the CPU runs kernels inside of this `with`; kernels without tensors run there.

    check: whether every access is checked; by default launches of up to 65,536 threads are, with a warning for larger
    ones, or what the variable TILEWRIGHT_CHECK says (0 or 1). seed: the order in which CTAs begin, in which warps take
    turns and in which copies land; the same seed gives the same order. resident: how many CTAs, or clusters, checks let
    run at once; by default one to four, as the seed chooses, and with seed 0, the default, up to 256; of a cooperative
    launch all. Where those that run wait for one that has not begun, that is found as a deadlock. memory: tensors that
    kernels reach by addresses which they read from memory.

    Raises TypeError for a seed or a resident that is no integer, ValueError for a resident below 1. Source: tilewright.

    >>> with on_cpu(check=False, seed=7):
    ...     pass
    """
    for name, number in (("seed", seed), ("resident", resident)):
        if not hasattr(number, "__index__") and (number is not None or name == "seed"):
            raise TypeError(f"on_cpu: expected {name} to be an integer, but got {shown(number)}")
    if resident is not None and resident < 1:
        raise ValueError(f"on_cpu: resident is {resident}; expected at least one CTA")
    before = dict(vars(_settings))
    vars(_settings).update(check=check, seed=seed, resident=resident, memory=memory, is_inside=True)
    try:
        yield
    finally:
        vars(_settings).clear()
        vars(_settings).update(before)


def _resident(launch: Any) -> int:
    """How many clusters of a launch checks let run at once; 0: as many as the executor likes."""
    if launch.ints[_COOPERATIVE]:
        return prod(launch.grid)
    if _settings.resident is not None:
        return _settings.resident
    return 1 + random.Random(_settings.seed).randrange(_MOST_BY_SEED) if _settings.seed else 0


def is_on_cpu() -> bool:
    """Whether this is inside of `with on_cpu()`."""
    return _settings.is_inside


def _is_checked(name: str, threads: int) -> bool:
    """Whether a launch is checked; a warning where nobody said that a large one should not be."""
    if _settings.check is not None:
        return _settings.check
    said = os.environ.get("TILEWRIGHT_CHECK")
    if said is not None:
        return said not in ("0", "")
    if threads > CHECKED_THREADS and not _is_own_call():
        warn(
            f"{name} runs unchecked, since its {threads:,} threads are more than {CHECKED_THREADS:,}: races and "
            "accesses out of bounds are not found; say cute.on_cpu(check=True), or False, or set TILEWRIGHT_CHECK to "
            "1 or 0"
        )
    return threads <= CHECKED_THREADS


def _is_own_call() -> bool:
    """Whether a function of tilewright.torch launches: who calls that has no kernel to be checked."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and is_package(module := frame.f_globals.get("__name__", "")):
        if module.startswith("tilewright.torch."):
            return True
        frame = frame.f_back
    return False


def run_on_cpu(traced: Traced, leaves: Leaves) -> tuple[tuple[int, int], ...]:
    """Run the host function; the leaves of what it returns. KernelError for what is wrong with its kernels."""
    memory = {one.parameter: one for one in leaves.memory}
    functions = traced.program.functions
    if traced.program.is_thread(traced.host):
        return _run_as_thread(traced, leaves, functions[traced.host])
    launches, prints, results = traced.program.evaluate(traced.host, leaves.values)
    host_prints = HostPrints(prints)
    before: list[tuple[int, int, bool]] = []  # what the launch before touched, which need not have ended
    for number, launch in enumerate(launches):
        behind = launches[number + 1] if number + 1 < len(launches) else None
        touched: list[tuple[int, int, bool]] | None = [] if behind and behind.ints[_USE_PDL] else None
        host_prints.before(number)
        function = functions[launch.kernel]
        named = zip(function.parameters, launch.arguments, strict=True)
        given = [(memory[base], name) for name, (_, base) in named if base in memory]
        bases = {map_.address[1] for map_ in launch.maps}
        given += [(memory[base], memory[base].name) for base in sorted(bases) if base in memory]
        if _settings.memory:
            given += [(one, one.name) for one in _reached([one for one, _ in given])]
        ranges = [_range(one, name) for one, name in given]
        findings, output = _run(
            function.name,
            traced.program,
            launch.kernel,
            launch.grid,
            launch.block,
            cluster=launch.cluster,
            shared_bytes=launch.shared_bytes,
            arguments=[argument_of(leaves.values, one) for one in launch.arguments],
            memory=ranges,
            check=_is_checked(function.name, prod(launch.grid) * prod(launch.block)),
            seed=_settings.seed,
            resident=_resident(launch),
            maps=[(argument_of(leaves.values, map_.address), map_) for map_ in launch.maps],
            before=before,
            touched=touched,
        )
        before = touched or []
        _report(function.name, findings, output)
    host_prints.before(len(launches))
    return tuple(results)


def _run_as_thread(traced: Traced, leaves: Leaves, function: Any) -> tuple[tuple[int, int], ...]:
    """Run a host function that launches nothing and touches the memory of its tensors."""
    if traced.returned.key() != Static("the result", None).key():
        raise TypeError(
            f"{function.name}: a @cute.jit function that touches tensors on the host returns nothing; store what it "
            "computes in a tensor"
        )
    memory = {one.parameter: one for one in leaves.memory}
    ranges = [_range(memory[i], name) for i, name in enumerate(function.parameters) if i in memory]
    findings, output = program.run_kernel(
        traced.program,
        traced.host,
        [1],
        [1],
        arguments=leaves.values,
        memory=ranges,
        check=_is_checked(function.name, 1),
    )
    _report(function.name, findings, output)
    return ()


def _run(name: str, *given: Any, **options: Any) -> tuple[list[Any], str]:
    try:
        findings, output = program.run_kernel(*given, **options)
    except program.ProgramError as error:
        error.args = (f"{name}: {error}",)
        raise
    return findings, output


def _report(name: str, findings: list[Any], output: str) -> None:
    if output:
        sys.stdout.write(output)
    if findings:
        raise KernelError(name, findings)


class HostPrints:
    """The lines that a host function prints, each between its launches."""

    def __init__(self, prints: list[program.HostPrint]) -> None:
        self._prints = prints

    def __bool__(self) -> bool:
        return bool(self._prints)

    def before(self, launches: int) -> None:
        """Write what stands before launch number `launches`."""
        while self._prints and self._prints[0].launches <= launches:
            line = self._prints.pop(0)
            values = [getattr(numeric, s)._decode(v) for s, v in zip(line.scalars, line.values, strict=True)]
            sys.stdout.write(filled(line.text, values))


def _reached(known: list[Memory]) -> list[Memory]:
    """The memory of the tensors that on_cpu was told of, as far as no argument has it."""
    found: list[Memory] = []
    for number, given in enumerate(_settings.memory):
        tensor = given if isinstance(given, Tensor) else import_array(given, f"memory[{number}]")
        memory = tensor.iterator._memory
        if memory is None:
            raise ValueError(f"on_cpu: memory[{number}] has no memory of its own: {tensor}")
        begin, end = memory.begin, memory.end
        if any(one.begin <= begin and end <= one.begin + one.bytes for one in [*known, *found]):
            continue
        one = Memory(
            -1, begin, end - begin, memory.dlpack_device, memory.read_only, f"memory[{number}]",
            tensor.iterator.toint(), tensor.iterator.dtype.bits, tensor.layout, memory,
        )  # fmt: skip
        found.append(one)
    return found


def _range(memory: Memory, name: str) -> Any:
    """The memory behind a pointer of a kernel, with the tensor's shape where it has a plain one."""
    shape: list[int] = []
    stride: list[int] = []
    if isinstance(memory.layout, _core.Layout):
        shape = [int(x) for x in _core.flatten_to_tuple(memory.layout.shape)]
        stride = [int(x) for x in _core.flatten_to_tuple(memory.layout.stride)]
    return program.MemoryRange(
        memory.begin,
        memory.bytes,
        name,
        origin=memory.origin,
        shape=shape,
        stride=stride,
        bits=memory.bits,
        writable=not memory.read_only,
    )
