"""The value protocol as functions: the program's values in an object, and the object with others in their place."""

from __future__ import annotations

from typing import Any

from tilewright._boundary import shown
from tilewright.lang.carry.registry import leaf_of, parts_of

__all__ = ["extract_mlir_values", "new_from_mlir_values"]


def extract_mlir_values(value: Any, *, structured: bool = False) -> Any:
    """The numbers and pointers in a value, a list of handles: to be counted, cut, and given to new_from_mlir_values.

    With `structured` a tree: a handle for a number, what an object's own __extract_mlir_values__ gives, lists and dicts
    of those. What is fixed while tracing has none.

    >>> from tilewright import Int32
    >>> [int(x) for x in extract_mlir_values((Int32(3), [Int32(4), None]))]
    [3, 4]
    >>> extract_mlir_values({"n": Int32(3)}, structured=True)
    {'n': Int32(?)}
    """
    own = getattr(value, "__extract_mlir_values__", None)
    if leaf_of(type(value)) is not None:
        return value if structured else [value]
    if own is not None and not isinstance(value, type):
        return own() if structured else _flat(own())
    if structured:
        if isinstance(value, dict):
            return {key: extract_mlir_values(part, structured=True) for key, part in value.items()}
        parts = _parts(value)
        return [] if parts is None else [extract_mlir_values(part, structured=True) for part in parts]
    return [handle for part in _parts(value) or () for handle in extract_mlir_values(part)]


def new_from_mlir_values(value: Any, values: Any, *, structured: bool = False) -> Any:
    """A value such as the one given, with other handles in the order in which extract_mlir_values gives them.

    ValueError for another number of them.

    >>> from tilewright import Int32
    >>> first, text, (second,) = new_from_mlir_values((Int32(3), "x", [Int32(4)]), [Int32(5), Int32(6)])
    >>> int(first), text, int(second)
    (5, 'x', 6)
    """
    handles = iter(_flat(values) if structured else values)
    missing = object()
    try:
        made = _made(value, handles)
    except StopIteration:
        made = missing
    if made is missing or next(handles, missing) is not missing:
        given = len(_flat(values))
        raise ValueError(
            f"new_from_mlir_values: {shown(value)} has {len(extract_mlir_values(value))} values, but {given} are given"
        )
    return made


def _made(value: Any, handles: Any) -> Any:
    leaf = leaf_of(type(value))
    if leaf is not None:
        handle = next(handles)
        if isinstance(handle, type(value)):
            return handle
        is_leaf = leaf_of(type(handle))
        return leaf.wrap(is_leaf.symbol_of(handle), value) if is_leaf is not None else type(value)(handle)
    if hasattr(value, "__extract_mlir_values__") and not isinstance(value, type):
        tree = value.__extract_mlir_values__()
        return value.__new_from_mlir_values__(_filled(tree, handles))
    parts = parts_of(type(value))
    if parts is None:
        return value
    return parts.build(value, [_made(part, handles) for part in parts.split(value)[1]])


def _filled(tree: Any, handles: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _filled(part, handles) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_filled(part, handles) for part in tree]
    return next(handles)


def _parts(value: Any) -> Any:
    parts = parts_of(type(value))
    return None if parts is None else parts.split(value)[1]


def _flat(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [handle for part in tree.values() for handle in _flat(part)]
    if isinstance(tree, (list, tuple)):
        return [handle for part in tree for handle in _flat(part)]
    return [tree]
