"""Copies between any two layouts of one shape: `tiled_copy`, `transpose`, `permute`."""

from __future__ import annotations

import operator
from itertools import islice
from typing import TYPE_CHECKING, Any

from tilewright._boundary import shown
from tilewright._core import LayoutError
from tilewright._traceback import REFUSALS, short, shorten
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.launch import launched_again, require_stream
from tilewright.kernels.common.operands import operand

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import SupportsIndex

    from tilewright._typing import Answer, Array, SupportsDLPack
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.kernels.copy.plan import CopyPlan

__all__ = ["permute", "tiled_copy", "transpose"]

MOST_MODES = 65  # one more than DLPack's arrays have


@short
def _plan(src: SupportsDLPack, dst: SupportsDLPack, tiled_copy: TiledCopy | None = None) -> CopyPlan:
    """The plan of kernels.tiled_copy for these tensors, without running it. ValueError where they have no elements."""
    from tilewright.kernels.copy.planned import make_plan

    plan, a, _ = make_plan("kernels.tiled_copy.plan", src, dst, tiled_copy)
    if plan is None:
        raise ValueError(f"kernels.tiled_copy.plan: {a} has no elements, so there is nothing to plan")
    return plan  # type: ignore[no-any-return]


@launched_again(plan=_plan)
def tiled_copy(
    src: SupportsDLPack,
    dst: Array,
    tiled_copy: TiledCopy | None = None,
    *,
    plan: CopyPlan | None = None,
    stream: int | None = None,
) -> Answer[Array]:
    """Copy src to dst, element by element: dst[c] = src[c] for every coordinate c. Returns dst.

    src and dst are arrays of torch, CuPy, JAX, NumPy or another library with DLPack, or Tensors, of one shape, one
    element type of 1 to 16 bytes and one device, with any strides: rank 1 to 8 after merging, broadcast (stride 0) and
    reversed sources, more than 2^31 elements. With a `tiled_copy` (cute.make_tiled_copy_tv) exactly its threads and
    values are used; with a `plan` (tiled_copy.plan, plan.replace) that plan; else one is chosen. On a GPU the copy is
    enqueued on the current stream of the tensors' library, or on `stream`, and not waited for. CPU tensors are copied
    by the same plan.

    Raises TypeError for different element types, LayoutError for different shapes, for a destination that has one
    element for several coordinates or overlaps the source (with a witness), ValueError for different devices, a
    read-only destination, or a given atom whose alignment the tensors lack. A call that repeats an earlier one at other
    addresses is launched again without these checks, but for overlaps: that memory is read-only is not seen then.
    torch's autograd is not told of the write.
    Source: CuTe C++ `examples/cute/tutorial/tiled_copy.cu`, for the name and the idea.

    >>> import numpy
    >>> from tilewright import kernels
    >>> a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    >>> kernels.tiled_copy(a, numpy.empty((3, 2), numpy.float32).T)
    array([[0., 1., 2.],
           [3., 4., 5.]], dtype=float32)
    >>> print(kernels.tiled_copy.plan(a, a.copy()))
    direct copy of Float32 (6): src strides (1), dst strides (1)
      tile       (8), (1) tiles, 32 threads, predicated
      load       128 bits along mode 0: ((2),(4)):((4@0),(1@0))
      store      128 bits along mode 0: ((2),(4)):((4@0),(1@0))
    """
    from tilewright.kernels.copy.planned import make_plan, require_plan, run_plan

    try:
        require_stream("kernels.tiled_copy", stream)
        if plan is not None:
            require_plan("kernels.tiled_copy", plan)
            if tiled_copy is not None:
                raise TypeError(
                    "kernels.tiled_copy: pass a tiled_copy or a plan, not both; plan.tiled_copy "
                    "tells what it was made of"
                )
            fitted, a, b = plan.fit(src, dst, stream)
        else:
            fitted, a, b = make_plan("kernels.tiled_copy", src, dst, tiled_copy, stream)
        if a.size == 0:
            return dst, None
        return dst, run_plan(fitted, a, b, stream)
    except REFUSALS as error:
        shorten(error)
        raise


@launched_again()
def _permute(
    src: SupportsDLPack, dst: Array, dims: tuple[int, ...], function: str, stream: int | None = None
) -> Answer[Array]:
    from tilewright.kernels.copy.planned import plan_operands, run_plan

    a, b = operand(src, function, "src", stream), operand(dst, function, "dst", stream)
    order = _order(dims, len(a.shape))
    view = a._replace(
        shape=tuple(a.shape[i] for i in order),
        strides=tuple(a.strides[i] for i in order),
        name=f"src permuted by {text(order)}",
    )
    view = view._replace(shown=f"{text(view.shape)}:{text(view.strides)}")
    plan, view, b = plan_operands(function, view, b)
    return dst, None if plan is None else run_plan(plan, view, b, stream)


def _order(dims: tuple[int, ...], rank: int) -> tuple[int, ...]:
    order = tuple(i + rank if i < 0 else i for i in dims)
    if sorted(order) != list(range(rank)):
        raise LayoutError(
            f"kernels.permute: dims {text(dims)} must name each of the {rank} modes of src once, as 0 to {rank - 1}"
        )
    return order


def permute(src: Array, dims: Iterable[SupportsIndex], dst: Array | None = None, *, stream: int | None = None) -> Array:
    """Copy src to dst with its modes in another order: dst[c[dims[0]], c[dims[1]], ..] = src[c[0], c[1], ..].

    dims as in torch.permute: mode i of dst is mode dims[i] of src. Without dst, a compact row-major one of the same
    library is made. Returns dst. This is a plan of the kernel of kernels.tiled_copy.

    Raises LayoutError for dims that do not name each mode once, TypeError for dims that are no integers, and where dst
    is missing and src is no array of torch, NumPy or CuPy; else as kernels.tiled_copy. Source: torch `torch.permute`.

    >>> import numpy
    >>> from tilewright import kernels
    >>> x = numpy.arange(6, dtype=numpy.int16).reshape(1, 2, 3)
    >>> kernels.permute(x, (2, 0, 1)).tolist()
    [[[0, 3]], [[1, 4]], [[2, 5]]]
    """
    try:
        try:
            order = tuple(operator.index(i) for i in islice(dims, MOST_MODES))  # an iterable may have no end
        except TypeError:
            raise TypeError(
                f"kernels.permute: expected dims to be integers, one for each mode, but got {shown(dims)}"
            ) from None
        return _reordered("kernels.permute", src, order, dst, stream)
    except REFUSALS as error:
        shorten(error)
        raise


def _shape(src: Any, function: str) -> tuple[int, ...]:
    """The extents of an array; an error names the function."""
    if not hasattr(src, "__dlpack__"):
        raise TypeError(
            f"{function}: src: expected an array with __dlpack__, or a Tensor, but got {type(src).__name__}"
        )
    try:
        shape = tuple(operator.index(n) for n in src.shape)
    except (TypeError, RuntimeError) as error:
        raise LayoutError(f"{function}: src has no flat shape ({error}); flatten its modes first") from error
    return shape


def _reordered(function: str, src: Array, order: tuple[int, ...], dst: Array | None, stream: int | None) -> Array:
    require_stream(function, stream)
    if dst is None:
        shape = _shape(src, function)
        dst = _empty_like(src, tuple(shape[i] for i in _order(order, len(shape))), function)
    return _permute(src, dst, order, function) if stream is None else _permute(src, dst, order, function, stream=stream)


def transpose(src: Array, dst: Array | None = None, *, stream: int | None = None) -> Array:
    """Copy src to dst with its last two modes exchanged: dst[.., j, i] = src[.., i, j].

    Without dst, a compact row-major one of the same library is made. Returns dst. This is a plan of the kernel of
    kernels.tiled_copy.

    Raises LayoutError for a src of fewer than two modes, else as kernels.permute. Source: torch `torch.Tensor.mT`.

    >>> import numpy
    >>> from tilewright import kernels
    >>> kernels.transpose(numpy.arange(6, dtype=numpy.int8).reshape(2, 3)).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    try:
        shape = _shape(src, "kernels.transpose")
        rank = len(shape)
        if rank < 2:
            raise LayoutError(f"kernels.transpose: src has shape {text(shape)}, but only two modes can be exchanged")
        return _reordered("kernels.transpose", src, (*range(rank - 2), rank - 1, rank - 2), dst, stream)
    except REFUSALS as error:
        shorten(error)
        raise


def _empty_like(src: Any, shape: tuple[int, ...], function: str) -> Any:
    """A new array of the library that src comes from, on its device."""
    if hasattr(src, "new_empty"):  # torch
        return src.new_empty(shape)
    module = type(src).__module__.partition(".")[0]
    if module in ("numpy", "cupy"):
        import importlib

        return importlib.import_module(module).empty(shape, src.dtype)
    raise TypeError(f"{function}: cannot make an array like {type(src).__name__}; pass dst")
