"""Tiles and partitions: what one block, or one thread, takes of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._boundary import shown
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import require_coord, text, transform_leaf
from tilewright.cute.layout_error import renamed
from tilewright.cute.tensors.tensor import Tensor, as_tensor
from tilewright.numeric import Int32, Int64

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright._typing import SupportsDLPack
    from tilewright.cute.int_tuple import Coord, Tiler

__all__ = ["inner_partition", "local_partition", "local_tile", "outer_partition"]


def inner_partition(
    tensor: SupportsDLPack, tiler: Tiler, coord: Coord, *, loc: object = None, ip: object = None
) -> Tensor:
    """The tile at a coordinate of the grid of tiles: zipped_divide(tensor, tiler)[(None, ..), coord].

    A coordinate of lower rank than the grid keeps the grid's remaining modes. Raises LayoutError where the tiler does
    not divide. Source: CuTe C++ `inner_partition`.

    >>> from tilewright import cute
    >>> print(cute.inner_partition(cute.make_identity_tensor((8, 6)), (4, 2), (1, 2)))
    tensor<(4,4) o (4,2):(1@0,1@1)>
    """
    return _tile_at("inner_partition", as_tensor(tensor, "inner_partition"), tiler, coord)


def outer_partition(
    tensor: SupportsDLPack, tiler: Tiler, coord: Coord, *, loc: object = None, ip: object = None
) -> Tensor:
    """The elements at one coordinate of every tile: zipped_divide(tensor, tiler)[coord, (None, ..)].

    Raises LayoutError as zipped_divide and for a coordinate that does not fit the tile, TypeError for other kinds.
    Source: CuTe C++ `outer_partition`.

    >>> from tilewright import cute
    >>> print(cute.outer_partition(cute.make_identity_tensor((8, 6)), (4, 2), (1, 0)))
    tensor<(1,0) o (2,3):(4@0,2@1)>
    """
    return _elements_at("outer_partition", as_tensor(tensor, "outer_partition"), tiler, coord)


def _tile_at(function: str, tensor: Tensor, tiler: Any, coord: Any) -> Tensor:
    tiled = _divided(function, tensor, tiler)
    tile, rest = tiled.shape
    return _sliced(function, tiled, coord, (_all_modes(tile), _pad(function, coord, rest)))


def _elements_at(function: str, tensor: Tensor, tiler: Any, coord: Any) -> Tensor:
    tiled = _divided(function, tensor, tiler)
    tile, rest = tiled.shape
    return _sliced(function, tiled, coord, (_pad(function, coord, tile), _all_modes(rest)))


def _sliced(function: str, tiled: Tensor, coord: Any, index: Any) -> Tensor:
    try:
        return tiled[index]  # type: ignore[no-any-return]
    except LayoutError as error:
        raise LayoutError(f"{function}: the coordinate {text(coord)}: {str(error).partition(']: ')[2]}") from None
    except TypeError:  # what claims to be an integer, as an array does
        raise TypeError(
            f"{function}: expected coord to be an integer, None or a tuple of them, but got {shown(coord)}"
        ) from None


def _divided(function: str, tensor: Tensor, tiler: Any) -> Any:
    try:
        return _core.zipped_divide(tensor, tiler)
    except LayoutError as error:
        raise renamed(error, function) from None
    except TypeError as error:
        raise TypeError(str(error).replace("zipped_divide", function, 1)) from None


def _all_modes(shape: Any) -> Any:
    rank = _core.rank(shape)
    return None if rank == 1 else (None,) * rank


def _pad(function: str, coord: Any, shape: Any) -> Any:
    """A tuple coordinate with None for the modes it leaves out; an integer is a 1-D coordinate and stays one."""
    coord = require_coord(function, "coord", coord)
    if not isinstance(coord, tuple):
        return coord
    rank = _core.rank(shape)
    if len(coord) > rank:
        raise LayoutError(
            f"{function}: coordinate {text(coord)} has {len(coord)} modes, but shape {text(shape)} has {rank}"
        )
    coord += (None,) * (rank - len(coord))
    if not _core.is_weakly_congruent(coord, shape):
        raise LayoutError(
            f"{function}: the coordinate {text(coord)} does not fit the shape {text(shape)}: each part is an integer, "
            "None or a tuple with one entry per mode"
        )
    return coord


def _project(function: str, argument: str, x: Any, proj: Any, more: int = 0) -> Any:
    """The modes of a tuple where proj is not None, and up to `more` behind those that proj speaks of."""
    proj = require_coord(function, "proj", proj, "None, an integer")
    if not isinstance(proj, tuple):
        return x
    x = tuple(x) if isinstance(x, list) else x
    if not isinstance(x, tuple) or not len(proj) <= len(x) <= len(proj) + more:
        raise LayoutError(f"{function}: proj {text(proj)} needs {len(proj)} modes, but {argument} is {text(x)}")
    kept = tuple(mode for mode, keep in zip(x, proj, strict=False) if keep is not None)
    return kept + x[len(proj) :]


def local_tile(
    tensor: SupportsDLPack, tiler: Tiler, coord: Coord, proj: Coord = None, *, loc: object = None, ip: object = None
) -> Tensor:
    """The tile of a block: the modes of the tile, then the modes of the grid where coord has None.

        local_tile(t, tiler, coord)[x.., g..] = zipped_divide(t, tiler)[(x..), coord with g for None]

    proj keeps the modes of tiler and coord where it is not None, so that one (M,N,K) tiler serves three matrices. A
    coordinate may go on behind them, along the modes that the tiler leaves whole, such as a batch.
    Raises LayoutError where the tiler does not divide the tensor. Source: CuTe C++ `local_tile`.

    >>> from tilewright import cute
    >>> a = cute.make_identity_tensor((256, 64))
    >>> print(cute.local_tile(a, (128, 128, 8), (1, 0, None), proj=(1, None, 1)))
    tensor<(128,0) o (128,8,8):(1@0,1@1,8@1)>
    """
    whole, coord = as_tensor(tensor, "local_tile"), require_coord("local_tile", "coord", coord)
    tiler = _project("local_tile", "tiler", tiler, proj)
    untiled = max(0, _core.rank(whole.layout) - len(tiler)) if isinstance(tiler, tuple) else 0
    coord = _project("local_tile", "coord", coord, proj, untiled)
    return _tile_at("local_tile", whole, tiler, coord)


def local_partition(
    target: SupportsDLPack,
    tiler: Layout,
    index: int | Int32 | Int64,
    proj: Coord = 1,
    *,
    loc: object = None,
    ip: object = None,
) -> Tensor:
    """The elements of one thread: outer_partition at the coordinate where the thread layout `tiler` is index.

        local_partition(t, tiler, index)[g] = zipped_divide(t, tiler.shape)[x, g]   where tiler(x) = index

    proj keeps the modes of the thread layout where it is not None. Raises TypeError where `tiler` is no Layout of
    threads or index no integer, LayoutError where `tiler` has more modes than the tensor, where it maps to coordinates,
    and where proj does not fit it. Source: CuTe C++ `local_partition`.

    >>> from tilewright import cute
    >>> threads = cute.make_layout((4, 2))
    >>> print(cute.local_partition(cute.make_identity_tensor((8, 6)), threads, 5))
    tensor<(1,1) o (2,3):(4@0,2@1)>
    """
    if not isinstance(tiler, _core.Layout):
        raise TypeError(f"local_partition: expected tiler to be a Layout of threads, but got {type(tiler).__name__}")
    if not _core.is_integer(index):
        raise TypeError(f"local_partition: expected index to be an integer, but got {shown(index)}")
    tensor = as_tensor(target, "local_partition", "target")
    proj = require_coord("local_partition", "proj", proj, "None, an integer")
    try:
        tiler = _core.dice(tiler, proj)
    except LayoutError:
        raise LayoutError(
            f"local_partition: proj {text(proj)} does not fit the thread layout {tiler}: it has an integer or None for "
            "each mode; None leaves the mode out"
        ) from None
    coord = tiler.get_flat_coord(index)
    tile = _core.product_each(tiler.shape) if isinstance(coord, tuple) else tiler.shape
    if isinstance(index, (Int32, Int64)):  # a dynamic index has a dynamic coordinate, except where there is only one
        coord = transform_leaf(lambda c, extent: 0 if extent == 1 else type(index)(c), coord, tile)
    if not isinstance(tile, tuple) and isinstance(tensor.shape, tuple):
        tile, coord = (tile,), (coord,)  # an integer would tile the whole tensor, not its mode 0
    return _elements_at("local_partition", tensor, tile, coord)
