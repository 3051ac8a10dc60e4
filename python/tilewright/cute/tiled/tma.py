"""Tensors that TMA copies: `make_tiled_tma_atom` on the host, `tma_partition` in the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.copy_ops import MAX_BOX_RANK, BulkOp, CopyBulkG2SOp, CopyBulkTensorTileG2SMulticastOp
from tilewright.cute.atoms.tma_atom import TmaAtom, TmaTile, tma_tile
from tilewright.cute.tensors.coordinate import Coordinate
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tiled.tensor_maps import tensor_map_of
from tilewright.numeric import Int32, Int64, Numeric, TFloat32
from tilewright.numeric.traced import emit, is_traced, symbol_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.cute.atoms.copy_atom import CopyAtom

__all__ = ["copy_boxes", "copy_bytes", "make_tiled_tma_atom", "prefetch", "prefetch_descriptor", "tma_partition"]

_ALIGNED = 16  # bytes

# Elements as the encoder of tensor maps names them; others are bytes to it.
_NAMES = {
    "BFloat16": "bfloat16", "Float16": "float16", "Float32": "float32", "TFloat32": "tfloat32", "Float64": "float64",
    "Int32": "int32", "Uint32": "uint32", "Int64": "int64", "Uint64": "uint64", "Int16": "uint16", "Uint16": "uint16",
}  # fmt: skip


def make_tiled_tma_atom(
    op: BulkOp,
    gmem_tensor: Tensor,
    smem_layout: Any,
    cta_tiler: Any,
    num_multicast: int = 1,
    *,
    internal_type: type[Numeric] | None = None,
    loc: object = None,
    ip: object = None,
) -> tuple[TmaAtom, Tensor]:
    """The atom that copies tiles of a tensor by TMA, and the tensor of coordinates that stands for it in the kernel.

    It is called in the @cute.jit function: every call of that makes the tensor map anew, from the tensor's address,
    extents and strides. smem_layout is that of one tile in shared memory, whose swizzle becomes the tensor map's;
    cta_tiler has the tile's extents along the tensor's first modes; num_multicast CTAs of a cluster share each tile.
    The new tensor has the shape of gmem_tensor, and its elements are coordinates: the contiguous mode first, then the
    others of a box as shared memory has them.

    Raises ValueError where TMA cannot copy it: no contiguous mode, more than 5 modes, strides or addresses that are not
    known to be multiples of 16 bytes, a layout of shared memory with gaps or of another major mode.
    Source: CuTeDSL `cute.nvgpu.cpasync.make_tiled_tma_atom`.
    """
    name = "make_tiled_tma_atom"
    if not isinstance(op, BulkOp):
        raise TypeError(f"{name}: expected an operation of TMA such as CopyBulkTensorTileG2SOp(), but got {op!r}")
    if not isinstance(gmem_tensor, Tensor) or not is_traced(gmem_tensor.iterator):
        raise RuntimeError(
            f"{name}: {gmem_tensor} is no tensor of a function that is traced; call it in a @cute.jit function, with "
            "one of its arguments, and pass what it gives to the kernel"
        )
    is_multicast = isinstance(op, CopyBulkTensorTileG2SMulticastOp)
    if num_multicast != 1 and not is_multicast:
        raise ValueError(f"{name}: num_multicast={num_multicast} needs CopyBulkTensorTileG2SMulticastOp, not {op}")
    pointer = gmem_tensor.iterator
    dtype = pointer.dtype
    if pointer.alignment % _ALIGNED:
        raise ValueError(
            f"{name}: TMA needs the tensor aligned to {_ALIGNED} bytes, but {gmem_tensor} is known to be to "
            f"{pointer.alignment}; say so: from_dlpack(.., assumed_align={_ALIGNED})"
        )
    order, leaves = _order(name, gmem_tensor)
    tiler = cta_tiler if isinstance(cta_tiler, tuple) else (cta_tiler,)
    divided = [_leaf(name, gmem_tensor, i) for i in range(len(tiler))]

    def tile_of(order: list[int]) -> TmaTile:
        modes = tuple(order.index(leaf) for leaf in divided)
        return tma_tile(name, dtype, modes, len(order), smem_layout, tiler, num_multicast)

    # A box comes in the order of the tensor map's modes: it has those of the box as shared memory has them.
    boxed = [order[mode] for _, mode in tile_of(order).first]
    order = [*boxed, *(leaf for leaf in order if leaf not in boxed)]
    tile = tile_of(order)
    shape = [_symbol(leaves[i][0]) for i in order]
    strides = [_symbol(leaves[i][1]) for i in order[1:]]
    element = _NAMES.get(dtype.__name__, "uint8")
    if internal_type is TFloat32 and dtype.__name__ == "Float32":
        element = "tfloat32"
    symbol = emit(
        "tensor_map",
        [pointer.symbol, *shape, *strides],
        ints=(len(order), tile.swizzle.span_bytes or 0, *tile.box),
        text=element,
    )
    atom = TmaAtom(op, dtype, tile, symbol, tuple(order))
    basis = {leaf: _core.ScaledBasis(1, [mode]) for mode, leaf in enumerate(order)}
    numbers = iter(range(len(order)))
    stride = _like(gmem_tensor.layout.shape, lambda _: basis[next(numbers)])
    return atom, Tensor(Coordinate((0,) * len(order)), _core.make_layout(gmem_tensor.layout.shape, stride=stride))


def _like(shape: Any, of: Any) -> Any:
    return tuple(_like(mode, of) for mode in shape) if isinstance(shape, tuple) else of(shape)


def _order(name: str, tensor: Tensor) -> tuple[list[int], list[tuple[Any, Any]]]:
    """The leaves of the layout with the contiguous one first, and (extent, stride) of each."""
    layout = tensor.layout
    if not isinstance(layout, _core.Layout):
        raise ValueError(f"{name}: TMA copies from plain layouts, but the tensor is {tensor}")
    leaves = list(zip(_core.flatten_to_tuple(layout.shape), _core.flatten_to_tuple(layout.stride), strict=True))
    if len(leaves) > MAX_BOX_RANK:
        raise ValueError(f"{name}: TMA takes tensors of up to {MAX_BOX_RANK} modes, but {tensor} has {len(leaves)}")
    first = [i for i, (_, stride) in enumerate(leaves) if isinstance(stride, int) and stride == 1]
    if not first:
        raise ValueError(
            f"{name}: TMA needs a mode that is known to be contiguous, but {tensor} has none; import it with "
            "mark_layout_dynamic(leading_dim=..), which keeps the stride 1"
        )
    bits = tensor.iterator.dtype.bits
    for i, (_, stride) in enumerate(leaves):
        if i != first[0] and isinstance(stride, int) and stride * bits % (8 * _ALIGNED):
            raise ValueError(
                f"{name}: stride {i} of {tensor} is {stride * bits // 8} bytes, but TMA takes multiples of {_ALIGNED}; "
                "pad the rows"
            )
    return [first[0], *(i for i in range(len(leaves)) if i != first[0])], leaves


def _leaf(name: str, tensor: Tensor, mode: int) -> int:
    """Which leaf a mode of the tensor is, which the tile divides."""
    shape = tensor.layout.shape
    shapes = shape if isinstance(shape, tuple) else (shape,)
    if mode >= len(shapes) or isinstance(shapes[mode], tuple):
        raise ValueError(f"{name}: the tile divides mode {mode} of {tensor}, which has to be one extent")
    return sum(
        int(_core.rank(_core.flatten(_core.make_layout(x)))) if isinstance(x, tuple) else 1 for x in shapes[:mode]
    )


def _symbol(number: Any) -> Any:
    if isinstance(number, Numeric):
        return symbol_of(type(number), number._value)
    return symbol_of(Int32 if -(2**31) <= number < 2**31 else Int64, number)


def tma_partition(
    atom: TmaAtom,
    cta_coord: Any,
    cta_layout: Any,
    smem_tensor: Tensor,
    gmem_tensor: Tensor,
    *,
    loc: object = None,
    ip: object = None,
) -> tuple[Tensor, Tensor]:
    """Shared memory and coordinates as the boxes of an atom: (TMA, stages..) and (TMA, tiles..).

    Mode 0 of both tensors is a tile (group_modes brings its modes together). Of CTAs that share a tile by multicast,
    the one at cta_coord in cta_layout gets its part. Source: CuTeDSL `cute.nvgpu.cpasync.tma_partition`.
    """
    name = "tma_partition"
    if not isinstance(atom, TmaAtom):
        raise TypeError(f"{name}: expected an atom of make_tiled_tma_atom, but got {atom!r}")
    tile = atom.tile
    size = tile.elements * tile.boxes * tile.slices
    for what, tensor in (("smem_tensor", smem_tensor), ("gmem_tensor", gmem_tensor)):
        found = int(_core.size(tensor.layout, mode=[0]))
        if found != size:
            raise ValueError(
                f"{name}: mode 0 of {what} {tensor} has {found} elements, but the atom copies tiles of {size}; bring "
                f"the tile's modes together: group_modes({what}, 0, {len(tile.first)})"
            )
    which: Any = 0
    if tile.slices > 1:
        layout = cta_layout if isinstance(cta_layout, _core.Layout) else _core.make_layout(cta_layout)
        if int(_core.size(layout)) != tile.slices:
            raise ValueError(
                f"{name}: cta_layout {layout} has no {tile.slices} CTAs, among which the atom shares a tile"
            )
        which = layout(cta_coord)
    return _smem_part(tile, smem_tensor, which), _gmem_part(tile, gmem_tensor, which)


def _with_rest(mode: Any, layout: Any) -> Any:
    """The layout with another mode 0."""
    rest = [layout[i] for i in range(1, _core.rank(layout))]
    shape = (mode.shape, *(one.shape for one in rest))
    return _core.make_layout(shape, stride=(mode.stride, *(one.stride for one in rest)))


def _smem_part(tile: Any, tensor: Tensor, which: Any) -> Tensor:
    layout = tensor.layout
    boxes = _core.make_layout((tile.elements, tile.boxes), stride=(1, tile.elements))
    offset = which * (tile.elements * tile.boxes)
    if isinstance(layout, _core.ComposedLayout):
        made = _core.make_composed_layout(layout.inner, layout.offset + offset, _with_rest(boxes, layout.outer))
        return Tensor(tensor.iterator, made)
    return Tensor(tensor.iterator + offset, _with_rest(boxes, layout))


def _gmem_part(tile: Any, tensor: Tensor, which: Any) -> Tensor:
    box, others = tile.in_tensor()
    iterator = tensor.iterator
    if tile.slices > 1:
        parts = _core.logical_divide(others, tile.boxes)
        iterator = iterator + parts[1](which)
        others = parts[0]
    mode = _core.make_layout((box.shape, others.shape), stride=(box.stride, others.stride))
    return Tensor(iterator, _with_rest(mode, tensor.layout))


def prefetch_descriptor(tma_atom: TmaAtom, *, loc: object = None, ip: object = None) -> None:
    """Bring the tensor map into the cache of the copy engine, before it is needed."""
    if not isinstance(tma_atom, TmaAtom):
        raise TypeError(f"prefetch_descriptor: expected an atom of make_tiled_tma_atom, but got {tma_atom!r}")
    emit("tma_prefetch", [tma_atom.symbol])


def prefetch(atom: TmaAtom, src: Tensor, *, loc: object = None, ip: object = None) -> None:
    """Bring boxes of global memory into the L2 cache, before a copy of the same boxes by this atom asks for them.

    src: what `cute.copy` takes of the tensor. The warp chooses one of its threads to ask; nothing waits for it, and on
    the CPU it changes nothing. Raises TypeError for an atom that loads no boxes, ValueError for a src without
    coordinates of boxes. Source: CuTeDSL `cute.prefetch`.

    >>> import numpy
    >>> from tilewright import cute, utils
    >>> from tilewright.cute.nvgpu import cpasync
    >>> @cute.kernel
    ... def fetch_kernel(atom: cute.CopyAtom, gX: cute.Tensor):
    ...     sX = utils.SmemAllocator().allocate_tensor(atom.value_type, cute.make_layout((8, 32), stride=(32, 1)), 128)
    ...     tiles = cute.group_modes(cute.local_tile(gX, (8, 32), (None, None)), 0, 2)
    ...     _, tXgX = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(sX, 0, 2), tiles)
    ...     cute.prefetch(atom, tXgX[None, cute.arch.block_idx()[0], 0])
    >>> @cute.jit
    ... def fetch(x: cute.Tensor):
    ...     layout = cute.make_layout((8, 32), stride=(32, 1))
    ...     atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, (8, 32))
    ...     fetch_kernel(atom, gX).launch(grid=[2, 1, 1], block=[32, 1, 1])
    >>> x = cute.runtime.from_dlpack(numpy.zeros((16, 32), numpy.float32), assumed_align=16)
    >>> "cp.async.bulk.prefetch.tensor.2d.L2" in cute.compile(fetch, x).source
    True
    """
    if not isinstance(atom, TmaAtom) or not atom.op.instruction.endswith("g2s"):
        raise TypeError(f"prefetch: expected an atom of make_tiled_tma_atom that loads, but got {atom!r}")
    if not isinstance(src.iterator, Coordinate):
        raise ValueError(
            f"prefetch: src {src} has no coordinates of boxes; pass what tma_partition gives of the tensor"
        )
    for there in _calls("prefetch", atom, "src", src.layout):
        emit("tma_prefetch", [atom.symbol, *(_symbol(Int32(x)) for x in src.iterator + there)])


def copy_boxes(
    function: str, atom: TmaAtom, src: Tensor, dst: Tensor, tma_bar_ptr: Any, mcast_mask: Any, pred: Any, map_ptr: Any
) -> None:
    """Copy boxes: the warp chooses one of its threads to ask for each. map_ptr: a tensor map in global memory."""
    is_load = atom.op.instruction.endswith("g2s")
    name, tensor, coordinates = ("dst", dst, src) if is_load else ("src", src, dst)
    if pred is not None:
        raise ValueError(f"{function}: {atom.op} copies whole boxes, and nothing outside of the tensor; leave pred out")
    if not isinstance(coordinates.iterator, Coordinate) or not is_traced(tensor.iterator):
        raise ValueError(
            f"{function}: {atom.op} copies between shared memory and the coordinates that make_tiled_tma_atom gives, "
            f"but got src {src} and dst {dst}; tma_partition gives both"
        )
    if tensor.memspace is not AddressSpace.smem:
        raise ValueError(f"{function}: {name} is {tensor}, but {atom.op} copies shared memory")
    if tensor.iterator.dtype.bits != atom.value_type.bits:
        raise TypeError(f"{function}: the atom copies elements of {atom.value_type}, but {name} is {tensor}")
    if is_load and tma_bar_ptr is None:
        raise ValueError(f"{function}: {atom.op} counts its bytes at an mbarrier; pass tma_bar_ptr=")
    calls = _calls(function, atom, name, tensor.layout)
    others = _calls(function, atom, "src" if is_load else "dst", coordinates.layout)
    if len(calls) != len(others):
        raise ValueError(
            f"{function}: src {src} has {len(others if is_load else calls)} boxes and dst {dst} "
            f"{len(calls if is_load else others)}; they need the same"
        )
    pointer = tensor.iterator
    if getattr(pointer, "swizzle", None) is not None:
        pointer = pointer._recast(pointer.dtype, pointer.memspace, pointer.alignment, None)
    base = _offset_of(tensor.layout)
    has_mask = is_load and isinstance(atom.op, CopyBulkTensorTileG2SMulticastOp)
    if has_mask and mcast_mask is None:
        raise ValueError(f"{function}: {atom.op} copies to the CTAs of a mask; pass mcast_mask=")
    mask = [_symbol(Int32(mcast_mask))] if has_mask else []
    tensor_map = tensor_map_of(function, atom, map_ptr)
    for there, here in zip(others, calls, strict=True):
        coordinate = coordinates.iterator + there
        operands = [tensor_map, *(_symbol(Int32(x)) for x in coordinate), *mask]
        accesses = [(pointer + (base + here)).symbol]
        if is_load:
            emit("tma_load", operands, accesses=[*accesses, tma_bar_ptr.symbol], ints=(atom.box_bytes, int(has_mask)))
        else:
            emit("tma_store", operands, accesses=accesses, ints=(atom.box_bytes,), text=atom.op.reduction)


def copy_bytes(function: str, atom: CopyAtom, src: Tensor, dst: Tensor, mbar_ptr: Any, pred: Any) -> None:
    """Copy elements that lie side by side on both sides: the warp chooses the thread that asks, or elect_one did."""
    if pred is not None:
        raise ValueError(f"{function}: {atom.op} copies all of src; leave pred out")
    is_load = isinstance(atom.op, CopyBulkG2SOp)
    size = int(_core.size(src.layout))
    for name, tensor in (("src", src), ("dst", dst)):
        spaces = getattr(atom.traits, f"{name}_spaces")
        if tensor.memspace not in spaces or not is_traced(tensor.iterator):
            raise ValueError(f"{function}: {atom.op} copies in kernels, and {name} is {' or '.join(map(str, spaces))}")
        if int(_core.size(tensor.layout)) != size or _core.coalesce(tensor.layout) != _core.make_layout(size):
            raise ValueError(
                f"{function}: {atom.op} copies {size} elements side by side, but {name} is {tensor}; slice it to a row"
            )
        if tensor.iterator.alignment % _ALIGNED:
            raise ValueError(
                f"{function}: {atom.op} needs {name} aligned to {_ALIGNED} bytes, but {tensor} is known to be to "
                f"{tensor.iterator.alignment}"
            )
    count = size * src.iterator.dtype.bits // 8
    if src.iterator.dtype.bits != dst.iterator.dtype.bits or count % _ALIGNED:
        raise ValueError(f"{function}: {atom.op} copies multiples of {_ALIGNED} bytes, but src is {src}, dst {dst}")
    accesses = [src.iterator.symbol, dst.iterator.symbol]
    if not is_load:
        emit("bulk_store", accesses=accesses, ints=(count,))
        return
    if mbar_ptr is None:
        raise ValueError(f"{function}: {atom.op} counts its bytes at an mbarrier; pass mbar_ptr=")
    emit("bulk_load", accesses=[*accesses, mbar_ptr.symbol], ints=(count,))


def _offset_of(layout: Any) -> Any:
    return layout.offset if isinstance(layout, _core.ComposedLayout) else 0


def _calls(function: str, atom: TmaAtom, name: str, layout: Any) -> Sequence[Any]:
    """The offsets of the boxes in the order of the layout."""
    outer = layout.outer if isinstance(layout, _core.ComposedLayout) else layout
    elements = atom.tile.elements
    if not _core.is_static(outer.shape) or int(_core.size(outer)) % elements:
        raise ValueError(
            f"{function}: {name} {layout} consists of no whole boxes of {elements} elements; slice it to one tile of "
            "what tma_partition gives"
        )
    return [outer(i * elements) for i in range(int(_core.size(outer)) // elements)]
