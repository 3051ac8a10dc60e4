"""Fitting a cost model's numbers to times, and writing them into the text of a device's file: for fit_device.py."""

from __future__ import annotations

import ast
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    start: Values, names: Sequence[str], predict: Callable[[Values], Sequence[float]], measured: Sequence[float]
) -> Values:
    """The values with the least sum of (log(predicted / measured))^2 near `start`: Levenberg and Marquardt's method.

    The logarithms of `names` are changed, so that they stay positive. What no time depends on stays as it is.
    """
    target = np.log(measured)

    def at(x: np.ndarray) -> Values:
        return {**start, **dict(zip(names, np.exp(x).tolist(), strict=True))}

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.log(predict(at(x))) - target

    x = np.log([start[name] for name in names])
    left, damping = residuals(x), 0.01
    for _ in range(ROUNDS):
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


def section_text(source: str, name: str, values: Values, comment: str) -> str:
    """The section of a file's text with other values under a comment; each value keeps its own comment.

    >>> source = "# Old.\\nX = {\\n    'a': 1.5,  # bytes\\n    'b': (2, 3),\\n}\\n"
    >>> print(section_text(source, "X", {"a": 2.5, "b": (2, 4)}, "New."))
    # New.
    X = {
        'a': 2.5,  # bytes
        'b': (2, 4),
    }
    """
    node = next(x for x in ast.parse(source).body if isinstance(x, ast.Assign) and ast.unparse(x.targets[0]) == name)
    lines = source.splitlines()
    for place, value in reversed(_changes(node.value, values)):
        row = place.lineno - 1
        assert place.end_lineno == place.lineno
        lines[row] = f"{lines[row][: place.col_offset]}{value!r}{lines[row][place.end_col_offset :]}"
    assert node.end_lineno is not None
    return "\n".join([*(f"# {line}" for line in comment.splitlines()), *lines[node.lineno - 1 : node.end_lineno]])


def _changes(node: ast.expr, value: Any) -> list[tuple[ast.Constant, Any]]:
    """The constants of a literal that are to be others, in the order of the text."""
    if isinstance(node, ast.Dict):
        pairs = [(x, value[ast.literal_eval(key)]) for key, x in zip(node.keys, node.values, strict=True) if key]
        return [change for x, other in pairs for change in _changes(x, other)]
    if isinstance(node, ast.Tuple):
        return [change for x, other in zip(node.elts, value, strict=True) for change in _changes(x, other)]
    assert isinstance(node, ast.Constant)
    return [] if node.value == value else [(node, value)]
