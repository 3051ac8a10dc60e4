"""Fitting the numbers of a cost model to times, by least squares."""

from __future__ import annotations

import math
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Values", "error_of", "fitted", "rounded"]

ROUNDS = 60
STEP = 0.02  # of a number's logarithm, by which a slope is taken
MOST = 0.3  # by which it changes in a round, at most
TRIES = 10
GAIN = 1e-5  # of the sum of squares, that is worth another round

Values = dict[str, Any]


def error_of(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """The root of the mean of (log(predicted / measured))^2: about the relative error of a time.

    >>> round(error_of([1.1, 1.1], [1.0, 1.0]), 3)
    0.095
    """
    return math.sqrt(statistics.fmean(math.log(p / m) ** 2 for p, m in zip(predicted, measured, strict=True)))


def fitted(
    start: Values,
    names: Sequence[str],
    predict: Callable[[Values], Sequence[float]],
    measured: Sequence[float],
    until: float = math.inf,
) -> Values:
    """The values with the least sum of (log(predicted / measured))^2 near `start`: Levenberg and Marquardt's method.

    The logarithms of `names` are changed, so that they stay positive. What no time depends on stays as it is.
    Each round is nearer than the one before; none begins after the time.monotonic() `until`.
    """
    target = np.log(measured)

    def at(x: np.ndarray) -> Values:
        return {**start, **dict(zip(names, np.exp(x).tolist(), strict=True))}

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.log(predict(at(x))) - target

    x = np.log([start[name] for name in names])
    left, damping = residuals(x), 0.01
    for _ in range(ROUNDS):
        if time.monotonic() >= until:
            break
        slopes = np.stack([(residuals(x + STEP * one) - left) / STEP for one in np.eye(len(x))], axis=1)
        normal, before = slopes.T @ slopes, left @ left
        for _ in range(TRIES):
            damped = normal + damping * np.diag(np.diag(normal)) + 1e-12 * np.eye(len(x))
            trial = x - np.clip(np.linalg.solve(damped, slopes.T @ left), -MOST, MOST)
            found = residuals(trial)
            if found @ found < before:
                x, left, damping = trial, found, damping / 3
                break
            damping *= 4
        if left @ left >= before * (1 - GAIN):
            break
    return at(x)


def rounded(value: Any) -> Any:
    """Numbers with four digits: more were not measured."""
    if isinstance(value, dict):
        return {name: rounded(x) for name, x in value.items()}
    if isinstance(value, tuple):
        return tuple(map(rounded, value))
    return float(f"{value:.4g}") if isinstance(value, float) else value
