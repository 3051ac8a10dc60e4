"""The array that a GEMM makes for its result where none is given."""

from __future__ import annotations

import importlib
import operator
from typing import Any

from tilewright._core import LayoutError
from tilewright.kernels.gemm.operands import batch_of, modes_text
from tilewright.kernels.gemm.problem import default_output
from tilewright.kernels.gemm.types import ARRAY_NAMES, type_named

_dtypes: dict[Any, Any] = {}  # by kind of array, its dtype and out_dtype


def empty_output(function: str, mA: Any, mB: Any, out_dtype: Any) -> Any:
    """A new array (M,N,L..) of mA's library, on its device: rows are contiguous, batches outermost."""
    a, b = _shape(function, "mA", mA), _shape(function, "mB", mB)
    key = type(mA), mA.dtype, out_dtype if out_dtype.__hash__ else str(out_dtype)
    dtype = _dtypes.get(key)
    if dtype is None:
        dtype = _dtypes[key] = _dtype(function, mA, out_dtype)
    if len(a) == len(b) == 2:
        return _empty(mA, (a[0], b[0]), dtype)
    batch = batch_of(function, a[2:], b[2:])
    made = _empty(mA, (*batch, a[0], b[0]), dtype)
    order = (len(batch), len(batch) + 1, *range(len(batch)))
    return made.permute(order) if hasattr(made, "permute") else made.transpose(order)


def _shape(function: str, name: str, x: Any) -> tuple[int, ...]:
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"{function}: {name}: expected an array with __dlpack__, or a Tensor, but got {type(x).__name__}"
        )
    try:
        shape = tuple(map(operator.index, x.shape))
    except (TypeError, RuntimeError) as error:
        raise LayoutError(f"{function}: {name} has no flat shape ({error}); flatten its modes first") from error
    if len(shape) < 2:
        raise LayoutError(
            f"{function}: {name} has {modes_text(len(shape))}, but it needs two, and behind them those of a batch"
        )
    return shape


def _library(x: Any) -> str:
    """The library whose arrays can be made: torch, numpy, cupy, or nothing."""
    module = type(x).__module__.partition(".")[0]
    return "torch" if hasattr(x, "new_empty") else module if module in ("numpy", "cupy") else ""


def _dtype(function: str, like: Any, out_dtype: Any) -> Any:
    """The dtype of the result, as the library of the array has it."""
    if out_dtype is None:
        wanted = default_output(type_named(function, "the dtype of mA", like.dtype))
    else:
        wanted = type_named(function, "out_dtype", out_dtype)
    library = _library(like)
    if not library:
        raise TypeError(f"{function}: cannot make an array like {type(like).__name__}; pass mC")
    name = ARRAY_NAMES.get(wanted, "")
    found = getattr(importlib.import_module(library), name, None) if name else None
    if found is None:
        mend = "pass out_dtype" if out_dtype is None else "pass another out_dtype"
        raise TypeError(f"{function}: {library} has no {wanted}; {mend}, or an mC")
    return found


def _empty(like: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    if hasattr(like, "new_empty"):  # torch
        return like.new_empty(shape, dtype=dtype)
    return importlib.import_module(_library(like)).empty(shape, dtype)
