"""Pictures of partitions: what one thread, or one block, has of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor, as_tensor, make_identity_tensor
from tilewright.cute.tiled.partition import local_partition, local_tile
from tilewright.show.drawing.memory import Memory
from tilewright.show.drawing.picture import Picture
from tilewright.show.drawing.tables import ROOM, Content, Grid, arranged, grid_of, grids_for, refusal
from tilewright.show.operations.operations import layout_of
from tilewright.show.subjects.copies import tile_extents
from tilewright.show.subjects.mma import tiled_mma_picture
from tilewright.show.subjects.tv import owners_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from tilewright.cute.tiled.tiled_copy import ThrCopy
    from tilewright.cute.tiled.tiled_mma import ThrMma
    from tilewright.show.drawing.picture import Hover, Panel
    from tilewright.show.subjects.tv import Owners

__all__ = ["local_partition_picture", "local_tile_picture", "thr_copy_picture", "thr_mma_picture"]

PAIR = 44  # rows and columns of each of two large panels
FOLLOWED = 1 << 20  # elements of a part


def thr_copy_picture(thread: ThrCopy, *, tensor: Any = None) -> Picture:
    """What one thread reads, and what it writes, of a tile or of a tensor (a Layout or a shape); pale: other threads.

    The cells of the thread have their number in its partition, value first, then the tiles. Raises LayoutError where
    the tiles do not fit the tensor.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 2)), cute.make_layout((2, 1)))
    >>> print(cute.show(tiled.get_slice(1), tensor=(4, 4)).title)
    thread 1 of 4: partition_S and partition_D of (4,4)
    """
    tensor = _tensor_or_shape(tile_extents(thread) if tensor is None else tensor)
    shape, layout, memory = _shape_of(tensor), getattr(tensor, "layout", None), _memory_of(tensor)
    parts = [("S", thread.partition_S), ("D", thread.partition_D)]
    tvs = [thread.layout_src_tv_tiled, thread.layout_dst_tv_tiled]
    if tvs[0] == tvs[1]:
        parts = parts[:1]
    grid = grids_for((shape,) * len(parts), PAIR, room=ROOM)[0]
    panels = []
    for (side, partition), tv in zip(parts, tvs, strict=False):
        found = partition(_places(shape))
        name = f"partition_{side}" if len(parts) > 1 else "partition_S and partition_D"
        others = _others(owners_of(tv, tile_extents(thread)), thread.tiler_mn, shape, grid)
        panels.append(_part(f"{name}: {found.layout.shape}", grid, found, others, layout, memory))
    both = "partition_S and partition_D"
    title = f"thread {int(thread.thr_idx)} of {thread.size}: {both} of {text(shape)}"
    return Picture(title, arranged(panels), grid.note("the tensor"))


def _tensor_or_shape(x: Any) -> Any:
    """A tensor, also of an array or of a layout, or a shape; TypeError for others."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, (_core.Layout, _core.ComposedLayout)):
        return Tensor(0, x)
    if hasattr(x, "__dlpack__"):
        return as_tensor(x, "show", "tensor")
    if (_core.is_integer(x) and not isinstance(x, bool)) or (isinstance(x, tuple) and _core.is_int_tuple(x)):
        return x
    raise TypeError(
        f"show: expected tensor to be what the thread has a part of, a Tensor, a Layout or a shape, but got {x!r}; for "
        'the layout of a text, tensor=cute.parse("(16,32):(32,1)")'
    )


def _memory_of(x: Any) -> Memory | None:
    """Where the elements of a tensor lie; None where it has no address."""
    pointer = getattr(x, "iterator", None)
    return Memory(pointer.dtype.bits, pointer.toint()) if isinstance(pointer, Pointer) else None


def _offset(offset: Any, memory: Memory | None) -> Hover:
    """What pointing at an element shows of where it lies."""
    return (("offset", text(offset)), *(() if memory is None else memory.hover(offset)))


def _shape_of(x: Any) -> tuple[int, ...]:
    """The extents of the modes of a tensor, a layout or a shape."""
    shape = getattr(x, "shape", x)
    return tuple(int(_core.size(mode)) for mode in (shape if isinstance(shape, tuple) else (shape,)))


def _others(owners: Owners, tiler: tuple[Any, ...], shape: tuple[int, ...], grid: Grid) -> dict[int, int]:
    """The thread that has each element of a tensor that is drawn, tile by tile."""
    cuts = [_core.picture.cut(extent, mode) for extent, mode in zip(shape, tiler, strict=False)]
    found = {}
    for index in grid.drawn():
        rest, element, step = index, 0, 1
        for (tile, _, places), extent in zip(cuts, shape, strict=False):
            rest, at = divmod(rest, extent)
            element, step = element + places[at] % tile * step, step * tile
        if element in owners:
            found[index] = owners[element][0][0]
    return found


def _places(shape: tuple[int, ...]) -> Tensor:
    """A tensor whose offsets say the coordinate, past the end of a mode too: some bits for each mode."""
    bits = 62 // len(shape)
    return Tensor(0, _core.make_layout(shape, stride=tuple(1 << bits * mode for mode in range(len(shape)))))


def _indices(part: Tensor, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The index of each element of a part of `_places(shape)`, in the part's order; -1 outside of the shape."""
    if int(_core.size(part.layout)) > FOLLOWED:
        raise ValueError(
            f"show: a part of {_core.size(part.layout)} elements is too large to be drawn, of which each is looked at, "
            f"and at most {FOLLOWED} are; give a smaller tensor, or a coordinate without None"
        )
    offsets = part.layout.offsets() + int(part.iterator)
    bits, index, step = 62 // len(shape), np.zeros_like(offsets), 1
    inside = np.ones(len(offsets), bool)
    for mode, extent in enumerate(shape):
        at = offsets >> bits * mode & (1 << bits) - 1
        inside &= at < extent
        index, step = index + at * step, step * extent
    return np.where(inside, index, -1)


def _numbers(indices: npt.NDArray[np.int64], drawn: Iterable[int]) -> dict[int, int]:
    """The number in a part of each element of the tensor that is drawn, by its index, the first of several."""
    numbers = np.flatnonzero(np.isin(indices, list(drawn)))[::-1]
    return dict(zip(indices[numbers].tolist(), numbers.tolist(), strict=True))


def _part(title: str, grid: Grid, part: Tensor, others: dict[int, int], layout: Any, memory: Memory | None) -> Panel:
    """A tensor with one thread's part coloured by its number in the partition."""
    shape = grid.shape
    numbers = _numbers(_indices(part, shape), grid.drawn())
    values = int(_core.size(part.layout, mode=[0]))

    def content(index: int) -> Content:
        at: Hover = (("coordinate", grid.coordinate(index)),)
        if layout is not None:
            at = (*at, *_offset(layout(index), memory))
        if index in numbers:
            number = numbers[index]
            place = text(_core.idx2crd(number, part.layout.shape))
            return Content((str(number),), number // values, (*at, ("in the partition", place)), marked=True)
        owner = others.get(index)
        return Content(("" if owner is None else f"T{owner}",), owner, (*at, ("thread", str(owner))), faded=True)

    subtitle = "the number in the partition, a colour for each tile; pale: other threads"
    return grid.panel(title, subtitle, content)


def thr_mma_picture(thread: ThrMma) -> Picture:
    """What one thread has of A, B and C in the tile of a TiledMma; pale: other threads.

    >>> from tilewright import Float32, cute
    >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 4, 1))
    >>> print(cute.show(tiled.get_slice(3)).title)
    TiledMma of MmaUniversalOp, tile (M,N,K) = (2,4,1), 8 threads, thread 3
    """
    return tiled_mma_picture(thread, thread=int(thread.thr_idx))


def local_tile_picture(tensor: Any, tiler: Any, coord: Any, proj: Any = None) -> Picture:
    """The tile of a block in the tensor, and by itself; where the coordinate has None, a colour for each tile.

    >>> from tilewright import cute
    >>> print(cute.show(cute.local_tile, cute.make_layout((8, 6)), (4, 2), (1, None)).title)
    local_tile((8,6):(1,8), (4,2), (1,_)) = (4,2,3):(1,8,16)
    """
    tensor = as_tensor(tensor, "show", "tensor") if hasattr(tensor, "__dlpack__") else tensor
    target = _target("local_tile", tensor)
    operands = f"{target.layout}, {text(tiler)}, {text(coord)}" + (f", proj={text(proj)}" if proj is not None else "")
    try:
        part = local_tile(target, tiler, coord, proj)
        where = local_tile(_places(_shape_of(target)), tiler, coord, proj)
    except _core.LayoutError as error:
        return refusal(error, [_plain(target)])
    kept = tiler if proj is None or not isinstance(tiler, tuple) else _kept(tiler, proj)
    modes = len(kept) if isinstance(kept, tuple) else 1
    chosen = coord if proj is None or not isinstance(coord, tuple) else _kept(coord, proj)
    return _two(
        "local_tile",
        operands,
        target,
        part,
        where,
        modes,
        _no_tile(target.layout.shape, kept, chosen),
        _memory_of(tensor),
    )


def _no_tile(shape: Any, tiler: Any, coord: Any) -> str:
    """What is to be said of a coordinate that is none of the tiles; "" where it is one."""
    tiles = _core.zipped_divide(_core.make_layout(shape), tiler).shape[1]
    pairs = (
        zip(coord, tiles, strict=False) if isinstance(coord, tuple) and isinstance(tiles, tuple) else [(coord, tiles)]
    )
    if all(
        0 <= int(_core.crd2idx(c, mode)) < int(_core.size(mode))
        for c, mode in pairs
        if not _core.has_underscore(c) and c is not None
    ):
        return ""
    return f"the coordinate {text(coord)} is none of the {text(tiles)} tiles {text(tiler)} of {text(shape)}"


def _kept(tiler: tuple[Any, ...], proj: Any) -> tuple[Any, ...]:
    return tuple(t for t, p in zip(tiler, proj, strict=True) if p is not None)


def local_partition_picture(target: Any, tiler: Any, index: Any, proj: Any = 1) -> Picture:
    """The elements of one thread of a layout of threads, in the tensor and by themselves.

    >>> from tilewright import cute
    >>> threads = cute.make_layout((4, 2))
    >>> print(cute.show(cute.local_partition, cute.make_layout((8, 6)), threads, 5).title)
    local_partition((8,6):(1,8), (4,2):(1,4), 5) = (2,3):(4,16)
    """
    target = as_tensor(target, "show", "target") if hasattr(target, "__dlpack__") else target
    tensor = _target("local_partition", target)
    operands = f"{tensor.layout}, {text(tiler)}, {text(index)}" + (f", proj={text(proj)}" if proj != 1 else "")
    try:
        part = local_partition(tensor, tiler, index, proj)
        where = local_partition(_places(_shape_of(tensor)), tiler, index, proj)
    except _core.LayoutError as error:
        return refusal(error, [_plain(tensor)])
    return _two(
        "local_partition",
        operands,
        tensor,
        part,
        where,
        0,
        _no_thread(_core.dice(tiler, proj), index),
        _memory_of(target),
    )


def _no_thread(threads: Any, index: Any) -> str:
    """What is to be said of an index that is no thread's; "" where it is one."""
    coord = threads.get_flat_coord(int(index))
    found = int(threads(coord))
    if found == int(index) >= 0:
        return ""
    other = f", that of thread {found}" if found >= 0 else ""
    return f"{text(index)} is no thread of {threads}; CuTe takes its coordinate {text(coord)}{other}"


def _target(operation: str, x: Any) -> Tensor:
    """A tensor of offsets with the layout of a tensor, or a layout; coordinates as a tensor of coordinates."""
    layout = layout_of(operation, "the tensor", x)
    return make_identity_tensor(layout.shape) if _core.has_scaled_basis(layout) else Tensor(0, layout)


def _plain(target: Tensor) -> Panel:
    grid = grid_of(target.layout.shape, PAIR)
    return grid.panel(f"{target.layout}", "", lambda i: Content((text(target.layout(i)),)))


def _two(
    operation: str,
    operands: str,
    target: Tensor,
    part: Tensor,
    where: Tensor,
    modes: int,
    says: str,
    memory: Memory | None,
) -> Picture:
    """A tensor with a part of it in colours, and that part by itself, in which what lies outside of the tensor is grey.

    `says` is a note on the operands. A colour stands for the coordinate in the modes beyond the first `modes`, which
    are those of one tile.
    """
    layout = target.layout
    grids = grids_for((layout.shape, part.layout.shape), PAIR)
    indices = _indices(where, _shape_of(target))
    numbers = _numbers(indices, grids[0].drawn())
    outside = int((indices < 0).sum())
    block = 1
    for mode in range(modes):
        block *= int(_core.size(where.layout, mode=[mode]))

    def of_tensor(index: int) -> Content:
        hover = (("coordinate", grids[0].coordinate(index)), *_offset(layout(index), memory))
        if index not in numbers:
            return Content((text(layout(index)),), None, hover, faded=True)
        return Content((text(layout(index)),), numbers[index] // block, (*hover, ("in the part", _at(numbers[index]))))

    def _at(number: int) -> str:
        return grids[1].coordinate(number)

    def of_part(index: int) -> Content:
        offset = text(part[index])
        hover = (("coordinate", _at(index)), *_offset(part[index], memory))
        if indices[index] < 0:
            return Content((offset,), None, (*hover, ("in the tensor", "outside")), faded=True)
        return Content((offset,), index // block, hover)

    panels = [
        grids[0].panel(f"{layout}", "offsets; grey: not taken", of_tensor),
        grids[1].panel(
            f"{part.layout}",
            "the same elements by themselves" + "; grey: outside of the tensor" * bool(outside),
            of_part,
        ),
    ]
    notes = [says] if says else []
    if outside:
        notes.append(
            f"{outside} of the {len(indices)} elements of the part lie outside of the tensor {text(layout.shape)}; "
            "CuTe does not check that, and goes on with the strides"
        )
    notes += [*grids[0].note("the tensor"), *grids[1].note("the part")]
    return Picture(f"{operation}({operands}) = {part.layout}", arranged(panels), notes)
