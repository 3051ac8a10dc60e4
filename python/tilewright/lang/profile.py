"""What a kernel costs, line by line of its Python, without a GPU: `cute.profile`."""

from __future__ import annotations

import ctypes
import dataclasses
import linecache
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._boundary import shown
from tilewright._core import program
from tilewright._traceback import short
from tilewright.lang.jit import Jit
from tilewright.lang.trace import leaves_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.lang.arguments import Leaves

__all__ = ["Line", "Profile", "profile"]


@dataclasses.dataclass
class Line:
    """What a line of Python costs in a launch, summed over its operations.

    requests: of warps to global and shared memory; sectors of 32 bytes move in global memory, wavefronts in shared
    memory; `ideal_` is the least for the same bytes. lanes: active ones on the mean, of 32; of requests, where
    there are some. divergent: branches that lanes of one warp took differently.
    """

    file: str
    number: int
    text: str
    executed: int = 0
    requests: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    bytes: int = 0
    flops: int = 0
    divergent: int = 0
    active_lanes: int = 0
    request_lanes: int = 0

    @property
    def lanes(self) -> float:
        """The mean of active lanes."""
        if self.requests:
            return self.request_lanes / self.requests
        return self.active_lanes / self.executed if self.executed else 0.0


class Profile:
    """The costs of the kernels of a call: `rows` by operation, `lines` by line of Python. Its text is a listing."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows
        found: dict[tuple[str, int], Line] = {}
        for row in rows:
            if row.place is None:
                continue
            file, number, _ = row.place
            line = found.get((file, number))
            if line is None:
                text = linecache.getline(file, number).rstrip()
                line = found[file, number] = Line(file, number, text)
            is_request = row.width != 0
            line.requests += row.executed if is_request else 0
            line.executed += 0 if is_request else row.executed
            line.active_lanes += 0 if is_request else row.active_lanes
            line.request_lanes += row.active_lanes if is_request else 0
            if row.space == "smem":
                line.wavefronts += row.wavefronts
                line.ideal_wavefronts += row.ideal_wavefronts
            elif is_request:
                line.sectors += row.sectors
                line.ideal_sectors += row.ideal_sectors
            line.bytes += row.bytes
            line.flops += row.flops
            line.divergent += row.divergent
        self.lines = [found[key] for key in sorted(found)]

    def __str__(self) -> str:
        head = (
            f"{'line':>5} {'lanes':>5} {'requests':>8} {'sectors':>13} {'wavefronts':>13} {'FLOPs':>9} {'diverge':>7}"
        )
        lines = [f"{head}  source"]
        for line in self.lines:
            sectors = f"{line.sectors}/{line.ideal_sectors}" if line.sectors else ""
            wavefronts = f"{line.wavefronts}/{line.ideal_wavefronts}" if line.wavefronts else ""
            lines.append(
                f"{line.number:>5} {line.lanes:>5.1f} {line.requests or '':>8} {sectors:>13} {wavefronts:>13} "
                f"{line.flops or '':>9} {line.divergent or '':>7}  {line.text}"
            )
        return "\n".join(lines)

    __repr__ = __str__


@short
def profile(function: Callable[..., object], *args: object, **kwargs: object) -> Profile:
    """What the kernels of a @cute.jit function cost for these arguments, by line: counted on the CPU, without a GPU.

    The kernels run on copies, which begin at multiples of 256 bytes as allocations of a GPU do. Sectors and wavefronts
    are by the rules of docs/prediction.md.

    >>> import numpy
    >>> from tilewright import cute
    >>> @cute.kernel
    ... def every_other_kernel(x: cute.Tensor, y: cute.Tensor):
    ...     i, _, _ = cute.arch.thread_idx()
    ...     y[i] = x[i * 2]
    >>> @cute.jit
    ... def every_other(x: cute.Tensor, y: cute.Tensor):
    ...     every_other_kernel(x, y).launch(block=[32, 1, 1])
    >>> found = profile(every_other, numpy.zeros(64, numpy.float32), numpy.zeros(32, numpy.float32))
    >>> [(line.requests, line.sectors, line.ideal_sectors) for line in found.lines if line.requests]
    [(2, 12, 8)]
    """
    if not isinstance(function, Jit):
        raise TypeError(f"profile: expected a function decorated with @cute.jit, but got {shown(function)}")
    bound = function.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    forms = function.forms(bound)
    traced = function.trace(forms)
    leaves = leaves_of((form, bound.arguments[name]) for name, form in forms.items())
    kept = _in_aligned_copies(leaves)
    launches, _, _ = traced.program.evaluate(traced.host, leaves.values)
    rows: list[Any] = []
    for launch in launches:
        arguments = [bits if base < 0 else (leaves.values[base] + bits) % (1 << 64) for bits, base in launch.arguments]
        rows += program.profile_kernel(
            traced.program,
            launch.kernel,
            launch.grid,
            launch.block,
            cluster=launch.cluster,
            shared_bytes=launch.shared_bytes,
            arguments=arguments,
        )
    del kept
    return Profile(rows)


def _in_aligned_copies(leaves: Leaves) -> list[Any]:
    """Have pointers point into copies of their memory, which are returned; arguments that share memory still do."""
    copies: dict[tuple[int, int], Any] = {}
    for one in leaves.memory:
        memory = copies.get((one.begin, one.bytes))
        if memory is None:
            memory = copies[one.begin, one.bytes] = _core.Memory.allocate(max(one.bytes, 1), 256)
            ctypes.memmove(memory.address, one.begin, one.bytes)
        leaves.values[one.parameter] = memory.address + one.origin - one.begin
    return list(copies.values())
