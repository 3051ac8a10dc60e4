"""`analyze` of a TiledCopy: both sides of a copy between two tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.analysis.access import Request, Requests, accesses_of_layout
from tilewright.analysis.advice import advice_on_access
from tilewright.analysis.cp_async import AsyncAccess, async_access
from tilewright.analysis.instructions import Analysis, MemoryInstruction
from tilewright.analysis.layouts import MOST, Table, instruction_of, sass_name, widest_access
from tilewright.cute.int_tuple import text as _text
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.tensor import as_tensor
from tilewright.cute.tiled.tiled_copy import TiledCopy

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.cute.tensors.tensor import Tensor

    Integers = npt.NDArray[np.int64]

__all__ = ["analyze_tiled_copy"]

WIDEST, LINE = 16, 128  # bytes


def analyze_tiled_copy(tiled_copy: TiledCopy, src: Tensor, dst: Tensor) -> Analysis:
    """What all threads of a TiledCopy do when they copy one tensor to another, all of both.

    A side in registers has no memory instruction; cp.async and ldmatrix have one for what they read and one for what
    they write. What each side of a cp.async costs the other is counted as by `async_access`; the advice is about one.
    The bytes of an access are the atom's; where its values do not lie side by side in a tensor, they are accessed one
    by one.

    Args:
        tiled_copy: the copy. src, dst: Tensors, or arrays with `__dlpack__`, in global, shared or register memory;
            generic memory is taken as global.
    Returns: an Analysis with an instruction for each side that is in memory; its scope is "one tile".
    Raises: MisalignedError naming the first lane that would fault, LayoutError for tensors that it does not divide or
        whose extents differ, TypeError for elements that the atom does not copy.
    Source: tilewright.

    Examples:
        >>> from tilewright import Float32, cute
        >>> atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
        >>> seed = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 1)))
        >>> gmem = cute.make_ptr(Float32, 0, cute.AddressSpace.gmem, assumed_align=16)
        >>> smem = cute.make_ptr(Float32, 0, cute.AddressSpace.smem, assumed_align=16)
        >>> tile = cute.make_tensor(gmem, cute.make_layout((128, 8), stride=(1024, 1)))
        >>> print(analyze_tiled_copy(seed, tile, cute.make_tensor(smem, cute.make_layout((128, 8)))))
        cp.async.ca: memory instructions of one tile
                 instruction  requests  lanes  sectors  ideal  lines  wavefronts  ideal  ways  moved  useful
          read   LDGSTS.E           32     32      128    128    128                            4096    4096
          write  LDGSTS.E           32     32                                352     32     8   4096    4096
        widest access: 4 bytes, limited by values 0 and 1 of thread 0, 32768 elements apart
        advice: write: 8-way bank conflict; composition with Swizzle<3,2,5> takes 32 wavefronts instead of 256
    """
    if not isinstance(tiled_copy, TiledCopy):
        raise TypeError(f"analyze: expected a TiledCopy, not {type(tiled_copy).__name__}")
    found: list[MemoryInstruction] = []
    sides: list[Side] = []
    widest, limit, advice = WIDEST, "", ""
    src, dst = as_tensor(src, "analyze", "src"), as_tensor(dst, "analyze", "dst")
    _check(tiled_copy, src, dst)
    for name, tensor, parts in (("read", src, tiled_copy.tidfrg_S), ("write", dst, tiled_copy.tidfrg_D)):
        space = tensor.iterator.memspace
        if space in (AddressSpace.rmem, AddressSpace.tmem):
            continue
        memory = "shared" if space is AddressSpace.smem else "global"
        side = _side(name, tiled_copy, tensor, parts(tensor.layout), memory)
        sides.append(side)
        found.append(side.instruction)
        if side.legal < widest:
            widest, limit = side.legal, side.limit
        advice = advice or (f"{name}: {side.advice}" if side.advice else "")
    if all(x.instruction.op == "cp.async" for x in sides) and [x.memory for x in found] == ["global", "shared"]:
        found = _both(tiled_copy.op.instruction, sides[0], sides[1])
    return Analysis(found, title=tiled_copy.op.instruction, scope="one tile", widest=widest, limit=limit, advice=advice)


def _check(tiled_copy: TiledCopy, src: Tensor, dst: Tensor) -> None:
    """Whether the copy can be made of these tensors at all: as `cute.copy` would refuse, for all threads."""
    extents: list[tuple[int, ...]] = []
    for name, tensor in (("src", src), ("dst", dst)):
        if not isinstance(tensor.iterator, Pointer):
            raise TypeError(f"analyze: expected {name} to be a tensor of memory, not {tensor}, which has no addresses")
        if tensor.iterator.memspace in (AddressSpace.rmem, AddressSpace.tmem):
            continue
        if tensor.iterator.dtype.bits != tiled_copy.value_type.bits:
            raise TypeError(
                f"analyze: the atom copies elements of {tiled_copy.value_type.bits} bits, but {name} has elements of "
                f"{tensor.iterator.dtype.bits}; make the atom for that type or recast the tensor"
            )
        if int(_core.size(tensor.layout)) > MOST:
            raise LayoutError(
                f"analyze: {name} = {tensor.layout} has {int(_core.size(tensor.layout))} elements, but each is looked "
                f"at, and at most {MOST} are; analyse the tile of one CTA, or the plan of the kernel"
            )
        extents.append(tuple(int(_core.size(tensor.layout, mode=[i])) for i in range(_core.rank(tensor.layout))))
        tiler = tuple(int(_core.size(mode)) for mode in tiled_copy.tiler_mn)
        for mode, (extent, tile) in enumerate(zip(extents[-1], tiler, strict=False)):
            if extent % tile:
                raise LayoutError(
                    f"analyze: the tiler {_text(tiled_copy.tiler_mn)} does not divide mode {mode} of {name} = "
                    f"{tensor.layout}: {extent} is no multiple of {tile}, so some threads would reach outside; "
                    "analyse the part that it divides"
                )
    if len(extents) == 2 and extents[0] != extents[1]:
        raise LayoutError(
            f"analyze: src = {src.layout} and dst = {dst.layout} must have the same extents, but have "
            f"{_text(extents[0])} and {_text(extents[1])}"
        )


class Side(NamedTuple):
    """One side of a copy, by itself: the widest legal access and what limits it, and what to change.

    `table`: None of a box that the copy engine moves.
    """

    instruction: MemoryInstruction
    legal: int
    limit: str
    advice: str
    table: Table | None = None


def _both(instruction: str, source: Side, destination: Side) -> list[MemoryInstruction]:
    """The two sides of a cp.async, by what each costs the other: the rules of `async_access`."""
    assert source.table is not None
    assert destination.table is not None
    width = min(x.instruction.width for x in (source, destination))
    cache = "cg" if instruction.endswith(".cg") and width == WIDEST else "ca"
    values = width * 8 // source.table.bits
    (read, mask), (written, _) = (side.requests(values) for side in (source.table, destination.table))
    made = mask.any(axis=1)
    read, written, mask = read[made], written[made], mask[made]
    known: dict[bytes, AsyncAccess] = {}
    found = []
    for lanes, *at in zip(mask, read, written, strict=True):
        moved = [np.where(lanes, x - (x[lanes].min() & -LINE), 0) for x in at]
        key = lanes.tobytes() + moved[0].tobytes() + moved[1].tobytes()
        if key not in known:
            sources, destinations = (x.tolist() for x in moved)
            known[key] = async_access(sources, destinations, width, cache=cache, active=lanes.tolist())
        found.append(known[key])
    sass = "LDGSTS.E.128" if cache == "ca" and width == WIDEST else sass_name("global", "cp.async", width)
    reads, writes = (
        _of_requests(x.instruction, sass, [getattr(one, side) for one in found], addresses, mask)
        for x, side, addresses in ((source, "source", read), (destination, "destination", written))
    )
    return [reads, writes.counted_as(sum(x.counted for x in found), sum(x.ideal_counted for x in found))]


def _of_requests(
    like: MemoryInstruction, sass: str, requests: list[Request], addresses: Integers, mask: npt.NDArray[np.bool_]
) -> MemoryInstruction:
    """The instruction of one side that makes these requests."""
    counts = [np.array([x[3 + i] for x in requests], np.int64) for i in range(7)]
    made = instruction_of(like.name, sass, Requests(like.memory, like.op, requests[0].width, *counts), addresses, mask)
    worst = max(range(len(requests)), key=lambda i: (requests[i].sectors - requests[i].ideal_sectors, requests[i].ways))
    lanes = mask[worst]
    return made._replace(
        first=requests[0], worst=requests[worst], addresses=tuple(addresses[worst][lanes].tolist()),
        lane_ids=tuple(np.flatnonzero(lanes).tolist()),
    )  # fmt: skip


def _side(name: str, tiled_copy: TiledCopy, tensor: Tensor, parts: Any, memory: str) -> Side:
    """One side, as if it had nothing to do with the other."""
    bits, base = tensor.iterator.dtype.bits, tensor.iterator.toint()
    threads, call = int(_core.size(parts, mode=[0])), int(_core.size(parts, mode=[1, 0]))
    offsets: Integers = parts.offsets().reshape(-1, threads).T
    instruction = tiled_copy.op.instruction
    matrices, op = 0, "load" if name == "read" else "store"
    if instruction.startswith(("ldmatrix", "stmatrix")):
        matrices, op = getattr(tiled_copy.op, "num_matrices", 1), instruction.split(".")[0]
    elif instruction.startswith("cp.async"):
        op = "cp.async"
    if instruction.startswith("cp.async.bulk"):
        total = offsets.size * bits // 8
        sass = "UTMALDG" if memory == "global" and name == "read" else "UTMASTG"
        return Side(MemoryInstruction.of_engine(name, sass, "tma", total, memory=memory), WIDEST, "", "")
    table = Table(offsets, bits, base)
    legal, why = widest_access(table)
    values = call
    while values > 1 and (table.break_in(values) is not None or values * bits // 8 > WIDEST):
        values //= 2
    width = WIDEST if matrices else max(values * bits // 8, 1)
    addresses, mask = table.requests(values)
    if matrices:
        addresses, mask = addresses[:, : 8 * matrices], mask[:, : 8 * matrices]
    counts = accesses_of_layout(
        addresses, width, memory=memory, op=op, active=mask, matrices=matrices or None, operation="analyze"
    )
    made = instruction_of(name, sass_name(memory, op, width, matrices), counts, addresses, mask)
    return Side(made, legal, why, advice_on_access(made, legal, table, addresses, mask, matrices), table)
