"""What a kernel costs, line by line of its Python, without a GPU: `cute.profile`."""

from __future__ import annotations

import dataclasses
import linecache
from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright._boundary import shown
from tilewright._cells import cell_of
from tilewright._notebook import drawn, or_text
from tilewright._traceback import short
from tilewright.analysis.access import OF_MATRICES, SECTOR, warp_access
from tilewright.analysis.instructions import Analysis, MemoryInstruction
from tilewright.analysis.layouts import sass_name
from tilewright.lang.calls.compiled import Compiled
from tilewright.lang.calls.jit import Jit
from tilewright.lang.profiling import listing
from tilewright.lang.profiling.hints import excess_of, hint_of, rule_of
from tilewright.lang.profiling.launches import count, whole_memory_of
from tilewright.lang.trace import leaves_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.calls.decorated import Traced
    from tilewright.lang.profiling.launches import Counted

__all__ = ["Line", "Profile", "profile", "traced_call"]

MEMORIES = {"gmem": "global", "smem": "shared"}
LINE = 128  # bytes


# Of a Line, what is added up.
COUNTS = (
    "executed", "requests", "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts", "bytes", "flops",
    "divergent", "branches", "active_lanes", "request_lanes",
)  # fmt: skip


@drawn
@dataclasses.dataclass
class Line:
    """What a line of Python costs, summed over its operations in all launches.

    - `requests`: of warps to global and shared memory; `sectors` of 32 bytes move in global memory, `wavefronts` in
      shared memory; `ideal_sectors`, `ideal_wavefronts`: the least for the same bytes; `ways`: of the worst bank
      conflict, 1 where there is none, 0 without shared memory
    - `bytes`: that lanes ask for; `flops`: floating-point operations of all lanes, of an fma two
    - `lanes`: active ones on the mean, of 32: of the requests, where there are some
    - `divergent`: branches that lanes of one warp took differently, of `branches`
    - `instructions`: a MemoryInstruction for each kind of request; `hint`: what is wrong and what mends it, or ""

    `str()` is a table of its instructions, `cute.show(line)` draws the worst request of each.
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
    branches: int = 0
    active_lanes: int = 0
    request_lanes: int = 0
    instructions: tuple[MemoryInstruction, ...] = ()
    hint: str = ""

    @property
    def lanes(self) -> float:
        """The mean of active lanes."""
        if self.requests:
            return self.request_lanes / self.requests
        return self.active_lanes / self.executed if self.executed else 0.0

    @property
    def ways(self) -> int:
        """Of the worst bank conflict."""
        return max((x.worst.ways for x in self.instructions if x.memory == "shared" and x.worst is not None), default=0)

    @property
    def excess(self) -> int:
        """Sectors and wavefronts beyond the ideal ones."""
        return self.sectors - self.ideal_sectors + self.wavefronts - self.ideal_wavefronts

    @property
    def analysis(self) -> Analysis:
        """Its memory instructions, as `analysis.analyze` has those of a layout."""
        title = f"line {self.number}, {self.text.strip()}"
        return Analysis(self.instructions, title=title, scope="the whole launch", advice=self.hint)

    def __str__(self) -> str:
        return str(self.analysis)


class Profile:
    """What the kernels of a call cost: `lines`, a Line each, and `rows`, by operation. Its text is a listing.

    - `launches`: (kernel, grid, block) of each launch
    - `line(number)`: the Line of that number; `file=` says of which file, where there are several
    - `text(width)`: the listing in columns, which `print` shows as wide as the terminal; `!` marks lines that take
      twice the sectors or wavefronts that they could
    - `of_warp(block, warp)`: the same of one warp, so that its requests are those that `cute.show` draws
    - `worst`: the lines with sectors or wavefronts beyond the ideal ones, the worst first
    - `total`: the sum of all lines, as a Line

    A notebook shows the listing as HTML.
    """

    def __init__(
        self, launches: Sequence[Counted], again: Callable[[tuple[int, int]], Sequence[Counted]] | None = None
    ) -> None:
        """`again` counts the same launches of one warp alone, (block, warp in it)."""
        self._again = again
        self.launches = [(x.kernel, x.grid, x.block) for x in launches]
        self.rows: list[Any] = [row for launch in launches for row in launch.rows]
        of_line: dict[tuple[str, int], list[Any]] = defaultdict(list)
        for row in self.rows:
            if row.place is not None:
                of_line[row.place[:2]].append(row)
        self.lines = [_line(*place, of_line[place]) for place in sorted(of_line)]

    def line(self, number: int, file: str = "") -> Line:
        """The line of that number, of the file whose path ends so; KeyError where nothing of it was executed.

        A notebook's cell is called as IPython does: `file="In[3]"`.
        """
        of_file = [x for x in self.lines if (cell_of(x.file) or x.file).endswith(file)]
        found = [x for x in of_file if x.number == number]
        if len(found) == 1:
            return found[0]
        if found:
            files = ", ".join(cell_of(x.file) or x.file for x in found)
            raise KeyError(f"line {number} is in {files}; say file=")
        numbers = ", ".join(str(x.number) for x in of_file)
        raise KeyError(f"line {number} costs nothing; the lines that do are {numbers}")

    def of_warp(self, block: int, warp: int) -> Profile:
        """What one warp of one block costs; blocks are counted along x, then y, then z.

        It runs the launches again, with what the arguments hold now. Raises ValueError where no launch has that warp.
        """
        has = any(block < prod(grid) and 32 * warp < prod(threads) for _, grid, threads in self.launches)
        if self._again is None or block < 0 or warp < 0 or not has:
            grids = ", ".join(f"{prod(grid)} blocks of {-(-prod(size) // 32)} warps" for _, grid, size in self.launches)
            raise ValueError(f"of_warp: there is no warp {warp} of block {block}; the launches have {grids}")
        return Profile(self._again((block, warp)))

    @property
    def worst(self) -> list[Line]:
        """The lines with sectors or wavefronts beyond the ideal ones."""
        return sorted((x for x in self.lines if x.excess > 0), key=lambda x: -x.excess)

    @property
    def total(self) -> Line:
        """The sum of all lines."""
        return Line("", 0, "all lines", **{name: sum(getattr(x, name) for x in self.lines) for name in COUNTS})

    def text(self, width: int | None = None) -> str:
        """The listing, so many characters wide; by default as wide as the terminal."""
        return listing.text(self, width)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    @or_text
    def _repr_html_(self) -> str:
        return listing.html(self)


def _line(file: str, number: int, rows: Iterable[Any]) -> Line:
    """The sum of the operations of a line."""
    line = Line(file, number, linecache.getline(file, number).rstrip())
    of_kind: dict[tuple[str, str, int, str], list[Any]] = defaultdict(list)
    for row in rows:
        line.bytes += row.bytes
        line.flops += row.flops
        line.divergent += row.divergent
        if not row.width:
            line.executed += row.executed
            line.active_lanes += row.active_lanes
            line.branches += row.executed if row.operation in ("if", "for", "while") else 0
            continue
        line.requests += row.executed
        line.request_lanes += row.active_lanes
        line.sectors += row.sectors
        line.ideal_sectors += row.ideal_sectors
        line.wavefronts += row.wavefronts
        line.ideal_wavefronts += row.ideal_wavefronts
        of_kind[row.space, row.kind, row.width, row.name].append(row)
    found = [(_instruction(*kind, same), same[0].element_bits) for kind, same in of_kind.items()]
    line.instructions = tuple(x for x, _ in found)
    worst = max(found, key=lambda x: (excess_of(x[0]), -x[0].lanes), default=None)
    if worst is not None:
        line.hint = hint_of(*worst)
    return line


def _instruction(space: str, op: str, width: int, name: str, rows: Sequence[Any]) -> MemoryInstruction:
    """The requests of a kind of a line, in the words of the analysis."""
    memory = MEMORIES[space]

    def total(field: str) -> int:
        return sum(getattr(row, field) for row in rows)

    requests, lanes = total("executed"), total("active_lanes")
    made = MemoryInstruction(
        name=f"{op} {name or memory}", sass=_sass_name(memory, op, width, lanes // requests),
        memory=memory, op=op, width=width, requests=requests, lanes=lanes / requests,
        sectors=total("sectors"), ideal_sectors=total("ideal_sectors"),
        lines=total("lines"), wavefronts=total("wavefronts"), ideal_wavefronts=total("ideal_wavefronts"),
        bytes_moved=SECTOR * total("sectors") if memory == "global" else total("bytes"),
        bytes_useful=total("useful_bytes"),
    )  # fmt: skip
    reached = [row.worst for row in rows if row.worst is not None]
    if not reached:
        return made
    cost, cta, warp, mask, places = max(reached, key=lambda worst: worst[0])
    active = [i for i in range(32) if mask >> i & 1]
    # In global memory only the place in a line matters.
    base = min(places[i] for i in active) // LINE * LINE if memory == "global" else 0
    addresses = tuple(places[i] - base for i in active)
    # Of ldmatrix and stmatrix only the lanes that name rows of its matrices are looked at.
    looked_at = range(-(-(active[-1] + 1) // 8) * 8 if op in OF_MATRICES else 32)
    worst = warp_access(
        [places[i] - base if mask >> i & 1 else 0 for i in looked_at], width,
        memory=memory, op=rule_of(op), active=[bool(mask >> i & 1) for i in looked_at],
    )  # fmt: skip
    if memory == "shared" and cost > worst.wavefronts:  # of a cp.async, which waits for the cache's banks, too
        worst = worst._replace(wavefronts=cost, alone=cost)
    note = f"worst request in block {cta}, warp {warp}"
    made = made._replace(addresses=addresses, lane_ids=tuple(active), worst=worst, note=note)
    if op != "cp.async" or memory == "global":
        return made
    return made.counted_as(total("counted_wavefronts"), total("ideal_counted_wavefronts"))


def _sass_name(memory: str, op: str, width: int, lanes: int) -> str:
    if op == "wgmma":  # no lane has an address
        return "GMMA"
    if op in OF_MATRICES:  # eight lanes name the rows of a matrix
        return sass_name(memory, op, width, lanes // 8)
    if op == "atomic":
        return "RED" if memory == "global" else "ATOMS"
    return sass_name(memory, op, min(width, 16)) if op != "cp.async" or width in (4, 8, 16) else "LDGSTS"


@short
def profile(function: Callable[..., object], *args: object, **kwargs: object) -> Profile:
    """What the kernels of a @cute.jit function cost for these arguments, by line: counted on the CPU, without a GPU.

    The kernels run on copies, which begin at multiples of 256 bytes as allocations of a GPU do; only what is behind a
    pointer that was made from an address is not copied. Accesses are as wide as
    in the CUDA C++ that is emitted, sectors and wavefronts by the rules of docs/prediction.md; docs/ncu.md says where
    the compiler, or Nsight Compute, differs. A function that `cute.compile` returned is profiled, too.

    Raises: TypeError for what is neither.
    Source: tilewright.

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
    >>> found.worst[0].hint
    'load x: neighbouring lanes are 8 bytes apart but access 4: let them access neighbouring elements'
    """
    traced, leaves = traced_call("profile", function, args, kwargs)
    wholes = whole_memory_of((*args, *kwargs.values()))
    return Profile(count(traced, leaves, wholes), lambda warp: count(traced, leaves, wholes, warp=warp))


def traced_call(
    name: str, function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[Traced, Leaves]:
    """The program of a call, and the leaves of its arguments. Raises TypeError for what is no @cute.jit function."""
    if isinstance(function, Compiled):
        return function.traced, function.leaves(args, kwargs)
    if not isinstance(function, Jit):
        raise TypeError(f"{name}: expected a function decorated with @cute.jit, but got {shown(function)}")
    bound = function.bind(args, kwargs)
    bound.apply_defaults()
    forms = function.forms(bound)
    return function.trace(forms), leaves_of((form, bound.arguments[name]) for name, form in forms.items())
