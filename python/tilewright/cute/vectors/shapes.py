"""Which element of one vector stands where in another: broadcasting, slices and groups as lists of indices.

A vector keeps its elements in colexicographic order of its shape, so that its elements are those of the compact layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["broadcast_shape", "groups_of", "indices_from", "kept_shape"]


def broadcast_shape(a: Any, b: Any, function: str) -> Any:
    """The shape of an operation on two vectors: modes are matched from the last one on, and 1 goes with any extent.

    Errors begin with `function`.
    """
    if a == b:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple):
        rank = max(len(a), len(b))
        modes = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
        return tuple(broadcast_shape(x, y, function) for x, y in modes)
    if _is_one(a):
        return b
    if _is_one(b):
        return a
    if isinstance(a, tuple) != isinstance(b, tuple):
        return broadcast_shape(a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,), function)
    raise ValueError(
        f"{function}: the shapes {text(a)} and {text(b)} do not go together: modes, matched from the "
        "last one on, are equal or 1"
    )


def _is_one(shape: Any) -> bool:
    return all(map(_is_one, shape)) if isinstance(shape, tuple) else bool(shape == 1)


def indices_from(source: Any, target: Any, *, pad_left: bool) -> Sequence[int] | None:
    """For each element of the target shape the element of the source shape that it repeats; None where all stay.

    A shape with fewer modes gets modes of 1, in front or behind.
    """
    if source == target:
        return None
    try:
        strides = _strides(source, target, 1, pad_left)
    except ValueError:
        raise ValueError(
            f"broadcast_to: a vector of shape {text(source)} does not broadcast to {text(target)}"
        ) from None
    offsets = _core.make_layout(target, stride=strides[0]).offsets()
    return offsets.tolist()  # type: ignore[no-any-return]


def _strides(source: Any, target: Any, step: int, pad_left: bool) -> tuple[Any, int]:
    """The strides over the target shape that read the source's compact elements, and the step behind them."""
    if _is_one(source):
        return _core.repeat_like(0, target), step
    if isinstance(target, tuple):
        source = source if isinstance(source, tuple) else (source,)
        missing = (1,) * (len(target) - len(source))
        padded = missing + source if pad_left else source + missing
        if len(padded) == len(target):
            strides = []
            for s, t in zip(padded, target, strict=True):
                stride, step = _strides(s, t, step, pad_left)
                strides.append(stride)
            return tuple(strides), step
    elif source == target:
        return step, step * int(_core.size(source))
    raise ValueError


def groups_of(shape: Any, profile: Any) -> tuple[list[int], int]:
    """For each element of a shape the number of its group where the modes that `profile` names are reduced."""
    if not isinstance(profile, tuple):
        return [0] * int(_core.size(shape)), 1
    if not isinstance(shape, tuple) or len(shape) != len(profile):
        raise ValueError(f"reduce: the profile {text(profile)} needs a mode for each of the shape {text(shape)}")
    stride, groups = _group_strides(shape, profile, 1)
    return _core.make_layout(shape, stride=stride).offsets().tolist(), groups


def _group_strides(shape: Any, profile: Any, step: int) -> tuple[Any, int]:
    if profile is None:
        layout = _core.make_layout(shape)
        stride = _core.elem_scale(layout.stride, _core.repeat_like(step, shape))
        return stride, step * int(_core.size(shape))
    if not isinstance(profile, tuple):
        return _core.repeat_like(0, shape), step
    if not isinstance(shape, tuple) or len(shape) != len(profile):
        raise ValueError(f"reduce: the profile {text(profile)} does not fit the shape {text(shape)}")
    strides = []
    for s, p in zip(shape, profile, strict=True):
        stride, step = _group_strides(s, p, step)
        strides.append(stride)
    return tuple(strides), step


def kept_shape(shape: Any, profile: Any) -> Any:
    """The modes of a shape where the profile is None; None where there are none."""
    if profile is None:
        return shape
    if not isinstance(profile, tuple):
        return None
    kept = tuple(k for s, p in zip(shape, profile, strict=True) if (k := kept_shape(s, p)) is not None)
    return kept or None
