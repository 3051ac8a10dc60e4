"""Layouts as arrays of values, one column for each entry of the codomain, and whether an array is a layout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model import layouts as m
from model.layouts import Layout

Values = NDArray[np.int64]
Axes = list[tuple[int, ...]]


def axes_of(layout: Layout) -> Axes:
    """The entries of the codomain that the strides name; (): plain integers."""
    found = {d.path if isinstance(d, m.Basis) else () for _, d in m.pairs(layout) if d != 0}
    return sorted(found) or [()]


def stride_along(stride: object, axes: Axes) -> list[int]:
    row = [0] * len(axes)
    if isinstance(stride, m.Basis):
        row[axes.index(stride.path)] = stride.value
    elif stride != 0:
        row[axes.index(())] = stride
    return row


def at(layout: Layout, x: Values, axes: Axes) -> Values:
    """A(x) for an array of 1-D coordinates; the last mode does not wrap, and A(-x) = -A(x)."""
    rest, digits = np.abs(x), []
    modes = m.pairs(layout)
    for extent, _ in modes[:-1]:
        rest, digit = np.divmod(rest, extent)
        digits.append(digit)
    strides = np.array([stride_along(stride, axes) for _, stride in modes])
    return (np.sign(x) * np.array([*digits, rest])).T @ strides


def values(layout: Layout, axes: Axes) -> Values:
    """All values in the order of the 1-D coordinate."""
    total = np.zeros((1, len(axes)), np.int64)
    for extent, stride in m.pairs(layout):
        steps = np.arange(extent)[:, None] * np.array(stride_along(stride, axes))
        total = (steps[:, None, :] + total[None, :, :]).reshape(-1, len(axes))
    return total


def coarsest(f: Values) -> list[tuple[int, Values]] | None:
    """The modes of the coarsest layout with these values, each stride with one entry; None where there is none."""
    size = len(f)
    if size == 1:
        return []
    step = f[1]
    if np.count_nonzero(step) > 1:
        return None
    other = (f != np.arange(size)[:, None] * step).any(axis=1)
    run = int(other.argmax()) or size
    if size % run:
        return None
    blocks = f.reshape(size // run, run, -1)
    if (blocks - blocks[:, :1] != blocks[:1] - blocks[:1, :1]).any():
        return None
    rest = coarsest(blocks[:, 0])
    return None if rest is None else [(run, step), *rest]


def part_at(layout: Layout, path: Sequence[int]) -> Layout:
    """The mode of a layout at a path, outermost first."""
    for i in path:
        layout = m.modes(layout)[i]
    return layout


def composed(a: Layout, b: Layout, axes: Axes) -> tuple[Values, bool]:
    """A(B(i)) for all i, and whether that is a layout whose shape refines B's."""
    leaves = m.pairs(b)
    paths = [d.path if isinstance(d, m.Basis) else () for _, d in leaves]
    steps = [d.value if isinstance(d, m.Basis) else d for _, d in leaves]
    exists = all(
        coarsest(at(part_at(a, path), np.arange(s) * d, axes)) is not None
        for (s, _), d, path in zip(leaves, steps, paths, strict=True)
    )
    total = np.zeros((1, len(axes)), np.int64)
    for path in sorted(set(paths)):
        part = part_at(a, path)
        x, sums = np.zeros(1, np.int64), np.zeros((1, len(axes)), np.int64)
        for (s, _), d, own in zip(leaves, steps, paths, strict=True):
            i = np.arange(s) * (d if own == path else 0)
            x = (i[:, None] + x[None, :]).reshape(-1)
            added = at(part, i, axes)
            sums = (added[:, None, :] + sums[None, :, :]).reshape(-1, len(axes))
        one = at(part, x, axes)
        exists = exists and bool((one == sums).all())
        total = total + one
    return total, exists
