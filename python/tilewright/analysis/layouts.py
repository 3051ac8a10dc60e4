"""`analyze` of a layout: the accesses of threads that a thread-value layout, or a tensor of that shape, describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.analysis.access import OF_MATRICES, SECTOR, WARP, Request, Requests, accesses_of_layout
from tilewright.analysis.advice import advice_on_access
from tilewright.analysis.arguments import bools, element_bits, whole
from tilewright.analysis.instructions import Analysis, MemoryInstruction
from tilewright.analysis.swizzle_modes import mode_of_access
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.tensor import Tensor

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright._typing import AnyLayout, SupportsDLPack
    from tilewright.numeric import Numeric

    Integers = npt.NDArray[np.int64]

__all__ = ["Table", "analyze_layout", "instruction_of", "sass_name", "widest_access"]

WIDTHS = (1, 2, 4, 8, 16)  # bytes of a lane's access
WIDEST = WIDTHS[-1]
MOST = 1 << 24  # elements that are looked at, each at its own address
FARTHEST = 2**59  # no address is as great, and 8 times as much, in bits, is an int64


def sass_name(memory: str, op: str, width: int, matrices: int = 0) -> str:
    """The class of the instruction, as SASS shows it.

    >>> sass_name("global", "load", 16), sass_name("shared", "store", 2), sass_name("shared", "ldmatrix", 16, 4)
    ('LDG.E.128', 'STS.U16', 'LDSM.16.M88.4')
    """
    if op in OF_MATRICES:
        return f"{'LDSM' if op == 'ldmatrix' else 'STSM'}.16.M88" + (f".{matrices}" if matrices > 1 else "")
    if op == "cp.async":
        return {16: "LDGSTS.E.BYPASS.128", 8: "LDGSTS.E.64", 4: "LDGSTS.E"}[width]
    size = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}[width]
    return ("LD" if op == "load" else "ST") + ("G.E" if memory == "global" else "S") + size


class Table(NamedTuple):
    """Element offsets (threads, values), of elements of `bits` bits, from a byte address on."""

    offsets: Integers
    bits: int
    base: int

    def addresses(self, values: int) -> Integers:
        """Byte addresses (accesses, threads) of accesses of so many values."""
        return np.ascontiguousarray((self.base + self.offsets[:, ::values] * self.bits // 8).T)

    def requests(
        self, values: int, threads: int = 0, active: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Byte addresses (requests, 32) of accesses of so many values, and which lanes take part.

        `threads`: those that execute them, if there are more than have offsets; `active` (threads, values): a
        predicate, of an access that of its first value. Warps are filled up with lanes that take no part.
        """
        own = self.addresses(values)
        count, present = own.shape
        lanes = -(-max(threads, present) // WARP) * WARP
        addresses, mask = np.zeros((count, lanes), np.int64), np.zeros((count, lanes), bool)
        addresses[:, :present] = own
        mask[:, :present] = True if active is None else active[:, ::values].T
        return addresses.reshape(-1, WARP), mask.reshape(-1, WARP)

    def break_in(self, values: int) -> tuple[int, int, int] | None:
        """Where the values of an access are no neighbours: (thread, value, distance to the next value)."""
        threads, count = self.offsets.shape
        steps = np.diff(self.offsets.reshape(threads, count // values, values), axis=2)
        at = np.argwhere(steps != 1)
        if not len(at):
            return None
        thread, access, value = map(int, at[0])
        return thread, access * values + value, int(steps[thread, access, value])

    def fault_in(self, values: int) -> tuple[int, int] | None:
        """The first thread of which an access would be misaligned, and its byte address."""
        starts = self.base * 8 + self.offsets[:, ::values] * self.bits
        at = np.argwhere(starts % (values * self.bits))
        if not len(at):
            return None
        thread, access = map(int, at[0])
        return thread, int(starts[thread, access]) // 8


def widest_access(table: Table) -> tuple[int, str]:
    """The widest legal access in bytes, 0 where there is none; and what limits it."""
    count = table.offsets.shape[1]
    width = 0
    for wanted in WIDTHS:
        values, rest = divmod(8 * wanted, table.bits)
        if rest or not values:
            continue
        reason = _obstacle(table, values, count, wanted)
        if reason:
            return width, reason
        width = wanted
    return width, "" if width else f"elements of {table.bits} bits, of which no access takes a whole number"


def _obstacle(table: Table, values: int, count: int, wanted: int) -> str:
    """Why an access of so many values is not legal; empty where it is."""
    if count % values:
        return f"{count} value{'s' if count > 1 else ''} a thread"
    gap = table.break_in(values)
    if gap:
        thread, value, distance = gap
        return f"values {value} and {value + 1} of thread {thread}, {distance} elements apart"
    fault = table.fault_in(values)
    if fault is None:
        return ""
    if table.base % wanted:
        return f"the base {table.base:#x}, a multiple of {table.base & -table.base}"
    thread, address = fault
    return f"thread {thread}, which begins at {address:#x}, a multiple of {address & -address}"


def analyze_layout(
    x: SupportsDLPack | AnyLayout,
    dtype: type[Numeric] | None = None,
    *,
    width: int | None = None,
    memory: str | None = None,
    op: str = "load",
    base: int | None = None,
    threads: int | None = None,
    active: npt.ArrayLike | None = None,
) -> Analysis:
    """What the threads of a layout's mode 0 cost when they access the values of its other modes.

    address(t, v) = base + layout(t, v) * bytes of an element; one access takes `width` bytes of neighbouring values.

    Args:
        x: a Layout or ComposedLayout of threads, or of threads and values, to offsets in elements; or a Tensor of that
            shape, which brings its own dtype, memory and base address.
        dtype: the element type.
        width: bytes of a lane's access: 1, 2, 4, 8 or 16; None: the widest that is legal. Of ldmatrix and stmatrix each
            thread has a row of 16 bytes.
        memory: "global" (None, too) or "shared"; op: "load", "store", "cp.async", "ldmatrix" or "stmatrix".
        base: byte address of offset 0; None: 0. Addresses may be negative: from a multiple of 1024 bytes
            more on the costs are the same.
        threads: those that execute the access, at least those of mode 0, which alone take part; None: these.
        active: bools (threads) or (threads, values), of a predicate: which take part, too. That of an access is that of
            its first value.
    Returns: an Analysis with one instruction; its scope is "one warp" for up to 32 threads, else "one tile". Of a tile
        (rows, K) or (rows, K, stages) in shared memory that wgmma reads, it has the `swizzle_mode`, too.
    Raises: MisalignedError naming the first lane that would fault, LayoutError for a width whose values are no
        neighbours and for more than 2^24 elements, TypeError or ValueError for another argument.
    Source: tilewright.

    Examples:
        >>> from tilewright import Float16, cute
        >>> tile = cute.make_layout((32, 8), stride=(64, 1))  # of 32 rows of 128 bytes, the first 16
        >>> print(analyze_layout(tile, Float16, memory="shared"))
        (32,8):(64,1): memory instructions of one warp
                instruction  requests  lanes  wavefronts  ideal  ways  moved  useful
          load  LDS.128             1     32          32      4     8    512     512
        widest access: 16 bytes
        advice: 8-way bank conflict; composition with Swizzle<3,3,3> takes 4 wavefronts instead of 32
        >>> analyze_layout(cute.make_layout(12), Float16, threads=32)["load"].lanes  # 12 of 32 threads
        12.0
    """
    if width is not None and whole("analyze", "width", width) not in WIDTHS:
        raise ValueError(f"analyze: width = {width} bytes must be {', '.join(map(str, WIDTHS))}; None is the widest")
    table, memory = _table_of(x, dtype, memory, base)
    present, count = table.offsets.shape
    threads = present if threads is None else whole("analyze", "threads", threads)
    if threads > MOST:
        raise ValueError(f"analyze: threads = {threads} are more than the {MOST} that are looked at; take a CTA's")
    if threads < present:
        raise ValueError(f"analyze: threads = {threads} must be at least the {present} threads of {x}")
    widest, limit = widest_access(table)
    if width is None:
        width = 16 if op in OF_MATRICES else widest or max(1, table.bits // 8)
    values = _values_of(table, width, x)
    addresses, flags = table.requests(values, threads, _mask_of(active, present, count))
    matrices = 0
    if op in OF_MATRICES:
        if present not in (8, 16) and present % WARP:
            raise ValueError(f"analyze: {op} takes whole warps, or 8 or 16 rows, but there are {present} threads")
        matrices = present // 8 if present < WARP else 4
        addresses, flags = addresses[:, : 8 * matrices], flags[:, : 8 * matrices]
    found = accesses_of_layout(
        addresses, width, memory=memory, op=op, active=flags, matrices=matrices or None, operation="analyze"
    )
    instruction = instruction_of(op, sass_name(memory, op, width, matrices), found, addresses, flags)
    scope = "one warp" if threads <= WARP else "one tile"
    advice = advice_on_access(instruction, widest, table, addresses, flags, matrices)
    layout = getattr(x, "layout", x)
    mode = mode_of_access(layout, table.offsets, table.bits, table.base) if memory == "shared" else None
    return Analysis(
        [instruction], title=str(layout), scope=scope, widest=widest, limit=limit, advice=advice, swizzle_mode=mode
    )


def instruction_of(
    name: str, sass: str, found: Requests, addresses: Integers, mask: npt.NDArray[np.bool_]
) -> MemoryInstruction:
    """The instruction that makes these requests; those without an active lane are none."""
    made = np.flatnonzero(found.lanes)
    requests, lanes, useful = len(made), int(found.lanes.sum()), int(found.useful_bytes.sum())
    worst = found.worst if requests else 0
    chosen = addresses[worst][mask[worst]]
    in_global = found.memory == "global"
    none: Request | None = None
    return MemoryInstruction(
        name=name,
        sass=sass,
        memory=found.memory,
        op=found.op,
        width=found.width,
        requests=requests,
        lanes=lanes / requests if requests else 0.0,
        sectors=int(found.sectors.sum()),
        ideal_sectors=int(found.ideal_sectors.sum()),
        lines=int(found.lines.sum()),
        wavefronts=int(found.wavefronts.sum()),
        ideal_wavefronts=int(found.ideal_wavefronts.sum()),
        bytes_moved=SECTOR * int(found.sectors.sum()) if in_global else found.width * int(mask.sum()),
        bytes_useful=useful,
        first=found.at(int(made[0])) if requests else none,
        worst=found.at(worst) if requests else none,
        addresses=tuple(map(int, chosen)) if requests else (),
        lane_ids=tuple(np.flatnonzero(mask[worst]).tolist()) if requests else (),
    )


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _table_of(x: Any, dtype: Any, memory: str | None, base: int | None) -> tuple[Table, str]:
    layout = x
    if _is_tensor(x):
        pointer, layout = x.iterator, x.layout
        if not isinstance(pointer, Pointer):
            raise TypeError(f"analyze: expected a tensor of memory, not {x}, whose elements have no addresses")
        if pointer.memspace in (AddressSpace.rmem, AddressSpace.tmem):
            raise TypeError(f"analyze: {x} lies in {pointer.memspace}; global and shared memory are analysed")
        if dtype is not None or base is not None:
            raise ValueError("analyze: dtype and base must be left out: a tensor has its own")
        dtype, base = pointer.dtype, pointer.toint()
        memory = memory or ("shared" if pointer.memspace is AddressSpace.smem else "global")
    element_bits("analyze", dtype)
    if _core.has_scaled_basis(layout.outer.stride if isinstance(layout, _core.ComposedLayout) else layout.stride):
        raise LayoutError(
            f"analyze: {layout} gives coordinates, not offsets; compose the layout of the memory with it, "
            "composition(memory, tv), or analyse the tensor"
        )
    if not _core.rank(layout):
        raise LayoutError(f"analyze: {layout} has no mode of threads; make_layout(1) has one, of one thread")
    if int(_core.size(layout)) > MOST:
        raise LayoutError(
            f"analyze: {layout} has {int(_core.size(layout))} elements, but each is looked at, and at most {MOST} are; "
            "analyse what one CTA or one warp accesses, a tile of it, or the plan of the kernel"
        )
    threads = int(_core.size(layout, mode=[0]))
    offsets = layout.offsets().reshape(-1, threads).T
    base = whole("analyze", "base", base or 0)
    for address in (base, *(base + int(x) * dtype.bits // 8 for x in (offsets.min(), offsets.max()))):
        if abs(address) >= FARTHEST:
            raise LayoutError(f"analyze: {layout} from the base {base:#x} on reaches {address:#x}, which is no address")
    return Table(offsets, dtype.bits, base), memory or "global"


def _values_of(table: Table, width: int, x: Any) -> int:
    """The values of an access of so many bytes, which must be neighbours."""
    count = table.offsets.shape[1]
    values, rest = divmod(8 * width, table.bits)
    if rest or not values:
        raise ValueError(
            f"analyze: width = {width} bytes is no whole number of elements of {table.bits} bits; take a wider "
            "access, or the type in which they lie in memory"
        )
    if count % values:
        raise LayoutError(
            f"analyze: width = {width} bytes is {values} values, which do not divide the {count} of a thread of {x}"
        )
    gap = table.break_in(values)
    if gap:
        thread, value, distance = gap
        raise LayoutError(
            f"analyze: width = {width} bytes is {values} neighbours, but values {value} and {value + 1} of thread "
            f"{thread} of {x} are {distance} elements apart; take {table.bits // 8 or 1} bytes, or other values"
        )
    return values


def _mask_of(active: Any, threads: int, count: int) -> npt.NDArray[np.bool_]:
    if active is None:
        return np.ones((threads, count), bool)
    mask = bools("analyze", active)
    if mask.shape not in ((threads,), (threads, count)):
        raise ValueError(
            f"analyze: active has the shape {mask.shape}, but must have ({threads},) or ({threads}, {count}) "
            "bools: of the threads, or of their values"
        )
    return np.broadcast_to(mask.reshape(threads, -1), (threads, count))
