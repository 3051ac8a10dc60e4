"""Constructors of the model, from their definitions."""

from __future__ import annotations

from math import gcd
from typing import Any

from .layouts import Basis, Layout, leaves


def compact(shape: Any) -> Layout:
    """Column-major; every extent steps over those before it."""
    reached = 1

    def stride(s: Any) -> Any:
        nonlocal reached
        if isinstance(s, tuple):
            return tuple(stride(e) for e in s)
        step, reached = reached, reached * s
        return step

    return Layout(shape, stride(shape))


def identity(shape: Any) -> Layout:
    """The coordinate itself: every leaf is an axis of its own."""

    def axis(s: Any, path: tuple[int, ...]) -> Any:
        if isinstance(s, tuple):
            return tuple(axis(e, (*path, i)) for i, e in enumerate(s))
        return Basis(1, path) if path else 1

    return Layout(shape, axis(shape, ()))


def round_up(a: Any, b: Any) -> Any:
    """Each leaf up to the next multiple; where b has fewer modes, a's stay."""
    if isinstance(a, tuple):
        return (*(round_up(x, y) for x, y in zip(a, b, strict=False)), *a[len(b) :])
    return -(-a // b) * b


def domain_distribute(shape: Any, count: int) -> Layout:
    """Each leaf takes as many of the `count` as divide it."""
    shares, strides, reached = [], [], 1
    for extent in leaves(shape):
        shares.append(gcd(extent, count))
        strides.append(reached)
        count //= shares[-1]
        reached *= extent
    return Layout(tuple(shares), tuple(strides))
