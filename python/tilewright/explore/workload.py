"""The GEMMs that somebody will run, from words, from the sizes of a model or from a file: what `cache build` plans."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright._names import did_you_mean
from tilewright.explore.operands import element_type
from tilewright.kernels.gemm.problem import ACTIVATIONS, SUMS, Epilogue, GemmProblem, problem_of
from tilewright.numeric import TFloat32

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["plans_of_file", "problem_from", "problems_of_word"]

FIELDS = ("m", "n", "k", "dtype", "a", "b", "c", "batch", "out", "alpha", "beta", "bias", "activation")
MODEL = ("hidden", "intermediate", "heads", "kv_heads", "head_dim", "vocab", "tokens", "dtype", "training")
TOKENS = "1..16384"
ORDERS = {"a": "km", "b": "kn", "c": "nm"}  # modes that may be contiguous, the usual one first


def problems_of_word(word: str) -> list[GemmProblem]:
    """The GEMMs of a word of --for: MxNxK,TYPE or sizes of a model, each with more behind commas.

    >>> [(p.m, p.n, p.k) for p in problems_of_word("1..4x4096x512,bf16")]
    [(1, 4096, 512), (2, 4096, 512), (4, 4096, 512)]
    >>> len(problems_of_word("hidden=4096,intermediate=14336,bf16,tokens=1..16384"))
    45
    """
    first, *rest = word.split(",")
    if "x" in first and "=" not in first:
        given = _pairs(word, rest, FIELDS)
        extents = first.split("x")
        if len(extents) != 3:
            raise ValueError(f"--for {word}: {first!r} is no M x N x K; write three extents, such as 4096x4096x4096")
        every = [_range(word, extent) for extent in extents]
        return [problem_from({**given, "m": m, "n": n, "k": k}, f"--for {word}") for m in every[0] for n in every[1]
                for k in every[2]]  # fmt: skip
    given = _pairs(word, [first, *rest], MODEL)
    return list(_model(word, given))


def _pairs(word: str, parts: list[str], known: tuple[str, ...]) -> dict[str, Any]:
    """The values by name; a part without one is the type."""
    found: dict[str, Any] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals:
            name, value = ("training", "yes") if part == "training" else ("dtype", part)
        if name not in known:
            raise ValueError(
                f"--for {word}: there is no {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}"
            )
        found[name] = value
    return found


def _range(word: str, text: str) -> list[int]:
    """A number, or `low..high`: low, and then each double of it up to high."""
    low, dots, high = text.partition("..")
    if not low.isdecimal() or (dots and not high.isdecimal()) or int(low) < 1:
        raise ValueError(f"--for {word}: {text!r} is no extent; write a number, or a range such as 1..4096, of doubles")
    found = [int(low)]
    while dots and 2 * found[-1] <= int(high):
        found.append(2 * found[-1])
    return found


def _model(word: str, given: dict[str, Any]) -> Iterator[GemmProblem]:
    """The products of a transformer's layers, y = x W^T, for all numbers of tokens; with their gradients if wanted."""
    sizes = {name: _range(word, given[name])[0] for name in MODEL[:6] if name in given}
    if "hidden" not in sizes:
        raise ValueError(f"--for {word}: a model has a size hidden=..., or write MxNxK,TYPE")
    hidden, layers = sizes["hidden"], []
    if "heads" in sizes:
        dim = sizes.get("head_dim", hidden // sizes["heads"])
        queries, keys = sizes["heads"] * dim, sizes.get("kv_heads", sizes["heads"]) * dim
        layers += [(queries + 2 * keys, hidden), (queries, hidden), (keys, hidden), (hidden, queries)]
    if "intermediate" in sizes:
        wide = sizes["intermediate"]
        layers += [(wide, hidden), (2 * wide, hidden), (hidden, wide)]
    if "vocab" in sizes:
        layers.append((sizes["vocab"], hidden))
    if not layers:
        raise ValueError(f"--for {word}: hidden alone makes no product; add intermediate=..., heads=... or vocab=...")
    for tokens in _range(word, given.get("tokens", TOKENS)):
        for outputs, inputs in dict.fromkeys(layers):
            of = {"dtype": given.get("dtype")}
            yield problem_from({**of, "m": tokens, "n": outputs, "k": inputs}, f"--for {word}")
            if "training" in given:
                yield problem_from({**of, "m": tokens, "n": inputs, "k": outputs, "b": "n"}, f"--for {word}")
                yield problem_from({**of, "m": outputs, "n": inputs, "k": tokens, "a": "m", "b": "n"}, f"--for {word}")


def problem_from(given: dict[str, Any], where: str) -> GemmProblem:
    """The GEMM of values by FIELDS; ValueError, which begins with `where`, for what is none.

    `a`, `b` and `c` name the mode that is contiguous: "k" or "m", "k" or "n", "n" or "m". `dtype` is of A and B, "tf32"
    for float32 that is multiplied in TF32; `out` of C. `bias` is "n" or "m", the mode along which it lies.

    >>> print(problem_from({"m": 64, "n": 32, "k": 16, "dtype": "f16", "b": "n"}, "here"))
    C (64,32):(32,1) = A (64,16):(16,1) B (32,16):(1,32), Float16, summed in Float32
    """
    unknown = [name for name in given if name not in FIELDS]
    if unknown:
        meant = did_you_mean(unknown[0], FIELDS)
        raise ValueError(f"{where}: there is no {unknown[0]!r}; there are {', '.join(FIELDS)}{meant}")
    if lacking := [name for name in FIELDS[:4] if given.get(name) is None]:
        raise ValueError(f"{where}: {lacking[0]} is missing" + (", such as bf16" if lacking[0] == "dtype" else ""))
    m, n, k = given["m"], given["n"], given["k"]
    batch = given.get("batch", 0)
    batch = int(batch) if isinstance(batch, str) and batch.isdecimal() else batch
    if not all(type(x) is int and x > 0 for x in (m, n, k)) or type(batch) is not int or batch < 0:
        raise ValueError(f"{where}: m, n, k and batch are {(m, n, k, batch)}, but they must be positive integers")
    orders = {name: given.get(name, known[0]) for name, known in ORDERS.items()}
    for name, value in orders.items():
        if value not in tuple(ORDERS[name]):
            raise ValueError(f"{where}: {name} is {value!r}, but it must be {' or '.join(map(repr, ORDERS[name]))}")
    try:
        dtype = TFloat32 if given["dtype"] == "tf32" else element_type(given["dtype"])
        out = element_type(given["out"]) if "out" in given else None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if dtype not in SUMS:
        raise ValueError(f"{where}: no GEMM multiplies elements of {dtype}; there are {', '.join(map(str, SUMS))}")
    problem = problem_of(m, n, k, dtype, **orders, batch=(batch,) if batch > 1 else (), out=out)
    return problem._replace(epilogue=_epilogue(given, problem, where))


def _epilogue(given: dict[str, Any], problem: GemmProblem, where: str) -> Epilogue:
    bias, activation = given.get("bias"), given.get("activation")
    if bias not in (None, "m", "n"):
        raise ValueError(f"{where}: bias is {bias!r}, but it must be 'n' or 'm', the mode along which it lies")
    if activation not in (None, *ACTIVATIONS):
        raise ValueError(f"{where}: activation is {activation!r}, but it must be one of {', '.join(ACTIVATIONS)}")
    alpha, beta = (float(given.get(name, default)) for name, default in (("alpha", 1), ("beta", 0)))
    dtype = problem.c_type if bias else None
    return Epilogue(alpha, beta, bias, dtype, 1 if bias else 0, activation)


def plans_of_file(path: str) -> tuple[list[GemmProblem], list[Any]]:
    """The problems and plans of a file of --plans.

    A .json file is a list of objects by FIELDS. Any other is a Python file, whose `plans` is a list of plans of any
    kernel. ValueError for what is neither, OSError where it cannot be read.
    """
    if path.endswith(".json"):
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"--plans {path}: {error}") from None
        if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
            raise ValueError(
                f'--plans {path}: it must be a list of objects, such as {{"m": 64, "n": 64, "k": 64, ...}}'
            )
        return [problem_from(x, f"--plans {path}, entry {i}") for i, x in enumerate(found)], []
    Path(path).stat()
    plans = runpy.run_path(path).get("plans")
    if not isinstance(plans, (list, tuple)) or not all(hasattr(x, "compile") for x in plans):
        raise ValueError(f"--plans {path}: the file must define plans, a list such as [kernels.gemm.plan(a, b)]")
    return [], list(plans)
