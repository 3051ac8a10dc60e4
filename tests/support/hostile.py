"""Calls with arguments that no function takes, each under a limit of time and all under one of memory.

`python hostile.py PLACE` calls every public callable of PLACE with every hostile value at every parameter and
prints, as JSON, the count and the calls that ended in anything but a result or an error that a user can read.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import io
import itertools
import json
import os
import re
import resource
import sys
import types
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 20.0  # for one call: a limit against loops, with room for a machine that is busy
MEMORY = 3 << 30
PLACES = ("tilewright", "tilewright.cute", "tilewright.cute.arch", "tilewright.analysis", "tilewright.kernels")
# What a binding or CPython says of its own insides.
RAW = re.compile(
    r"incompatible (function|constructor) arguments|Invoked with|pybind11|unhashable type|object has no attribute"
    r"|NoneType' object|object is not (iterable|callable|subscriptable)|maximum recursion depth"
    r"|unsupported operand type|not supported between instances|takes no keyword"
    r"|object cannot be interpreted|has no len\(\)|must be (real number|str), not"
)
# `function: ...`, `function(operands): ...`, or what the brackets of a tensor say, which have no name.
NAMED = re.compile(r"^(a tensor is indexed by |[A-Za-z_][\w.]*(\[[^]]*\])?( call| \*)?[:(])")
READABLE = (TypeError, ValueError, IndexError, OverflowError, BufferError, NotImplementedError, ZeroDivisionError)


class HostileError(Exception):
    """What the hostile objects raise themselves: it goes through as it is."""


class Items:
    """Has items without end and no length."""

    def __getitem__(self, key: object) -> int:
        return 1


class Raises:
    """Raises wherever it is asked."""

    def _raise(self, *_: object) -> Any:
        raise HostileError

    __repr__ = __str__ = __index__ = __int__ = __float__ = __bool__ = __len__ = __iter__ = __eq__ = _raise
    __hash__ = _raise  # type: ignore[assignment]


class BadIndex:
    def __index__(self) -> Any:
        return "x"


def recursive() -> list[Any]:
    items: list[Any] = [1]
    items.append(items)
    return items


def hostile_values() -> dict[str, Callable[[], Any]]:
    """Makers of hostile values, by name."""
    return {
        "None": lambda: None,
        "text": lambda: "x",
        "empty text": lambda: "",
        "surrogate": lambda: "\ud800",
        "bytes": lambda: b"4",
        "float": lambda: 1.5,
        "nan": lambda: float("nan"),
        "2^63": lambda: 1 << 63,
        "-2^63": lambda: -(1 << 63),
        "2^60": lambda: 1 << 60,
        "10^5000": lambda: 10**5000,
        "-1": lambda: -1,
        "True": lambda: True,
        "()": lambda: (),
        "[]": list,
        "{}": dict,
        "set": lambda: {1, 2},
        "recursive": recursive,
        "nested": lambda: (1, (2, ["x", None])),
        "array": lambda: np.arange(4),
        "object array": lambda: np.array([None, "x"], dtype=object),
        "items": Items,
        "raises": Raises,
        "index": BadIndex,
        "object": object,
        "generator": lambda: (i for i in itertools.count()),
        "class": lambda: int,
        "function": lambda: import_module("tilewright.cute").size,
        "lambda": lambda: lambda *args: None,
        "module": lambda: types,
        "layout of 2^60": lambda: import_module("tilewright.cute").parse("(1073741824,1073741824):(1073741824,1)"),
        "layout of 2^31": lambda: import_module("tilewright.cute").make_layout(1 << 31),
        "ellipsis": lambda: ...,
        "complex": lambda: 1j,
    }


def valid_values() -> dict[str, Any]:
    """Arguments by the names of parameters, so that a hostile one gets as far as it can."""
    import tilewright as tw
    from tilewright import cute

    layout = cute.parse("(4,8):(8,1)")
    tensor = cute.make_rmem_tensor((4, 8), tw.Float32)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tw.Float32)
    mma = cute.make_mma_atom(cute.nvgpu.warp.MmaF16BF16Op(tw.Float16, tw.Float32, (16, 8, 16)))
    tiled_mma = cute.make_tiled_mma(mma)
    tiled_copy = cute.make_tiled_copy_tv(atom, cute.parse("4:1"), cute.parse("8:1"))
    names: dict[str, Any] = {}
    for words, value in (
        ("layout lhs rhs target block tiler a b x input thr_layout val_layout outer atom_layout tv_layout", layout),
        ("shape trg_shape src_shape dst_shape profile cotarget tile", (4, 8)),
        ("coord offset idx", (1, 2)),
        ("n begin i divby mode b m s y z width thr_idx new_type_bits old_type_bits", 1),
        ("tensor src dst source", tensor),
        ("atom copy_atom", atom),
        ("op mma mma_atom", mma),
        ("tiled_mma", tiled_mma),
        ("tiled_copy", tiled_copy),
        ("dtype element_type value_type target_type", tw.Float32),
        ("text", "(4,8):(8,1)"),
        ("f func function pred condition", lambda *args: True),
    ):
        names.update(dict.fromkeys(words.split(), value))
    return names


def public(place: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public callables of a module, and the public methods of its classes, by name."""
    module = import_module(place)
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) or not callable(value):
            continue
        if isinstance(value, (types.UnionType, types.GenericAlias)) or value is Any:
            continue
        if isinstance(value, type) and issubclass(value, (Enum, Exception)):
            continue  # Python's own constructors
        yield f"{place}.{name}", value
        if isinstance(value, type) and value.__module__.startswith("tilewright"):
            for key, member in vars(value).items():
                if not key.startswith("_") and callable(getattr(value, key, None)) and not isinstance(member, type):
                    yield f"{place}.{name}.{key}", getattr(value, key)


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        kind = inspect.Parameter.POSITIONAL_ONLY
        return [inspect.Parameter(f"arg{i}", kind) for i in range(2)]


def calls(place: str) -> Iterator[tuple[str, str, str, Callable[[], Any]]]:
    """Name of the callable, of the parameter and of the hostile value, and the call."""
    valid = valid_values()
    methods = {"Layout": valid["layout"], "Tensor": valid["tensor"], "TiledCopy": valid["tiled_copy"]}
    methods |= {"TiledMma": valid["tiled_mma"], "CopyAtom": valid["copy_atom"], "MmaAtom": valid["mma_atom"]}
    for path, function in public(place):
        parameters = parameters_of(function)
        needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        for parameter in parameters:
            for label, make in hostile_values().items():
                positional: list[Any] = []
                keywords: dict[str, Any] = {}
                for p in needed:
                    value = make() if p is parameter else valid.get(p.name, 4)
                    if p.name == "self" and p is not parameter:
                        value = methods.get(path.split(".")[-2], value)
                    if p.kind == p.KEYWORD_ONLY:
                        keywords[p.name] = value
                    else:
                        positional.append(value)
                if parameter.kind == parameter.VAR_POSITIONAL:
                    positional.append(make())
                elif parameter.kind == parameter.VAR_KEYWORD:
                    keywords["hostile"] = make()
                elif parameter.kind == parameter.POSITIONAL_ONLY and parameter not in needed:
                    positional.append(make())
                elif parameter not in needed:
                    keywords[parameter.name] = make()

                def call(
                    function: Callable[..., Any] = function,
                    positional: list[Any] = positional,
                    keywords: dict[str, Any] = keywords,
                ) -> Any:
                    return function(*positional, **keywords)

                yield path, parameter.name, label, call


def complaint(path: str, call: Callable[[], Any]) -> str | None:
    """What is wrong with the way the call ends; None where nothing is."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            call()
    except (HostileError, SystemExit):
        return None
    except MemoryError:
        return "MemoryError"
    except Exception as error:
        try:
            text = str(error)
        except HostileError:
            return "the error's text raises"
        if RAW.search(text) or RAW.search(repr(error.__class__)):
            return f"raw: {type(error).__name__}: {text[:200]}"
        ours = type(error).__module__.startswith("tilewright") or type(error) is RuntimeError
        if not isinstance(error, READABLE) and not ours:
            return f"kind: {type(error).__name__}: {text[:200]}"
        words = [word for word in re.split(r"[._]", path) if len(word) > 3]
        if not NAMED.match(text) and not any(word.lower() in text.lower() for word in words[1:]):
            return f"unnamed: {type(error).__name__}: {text[:200]}"
    return None


def main(place: str, first: int, progress: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    report = Path(progress).open("a")  # noqa: SIM115 - until the process ends, which may be in any call
    for index, (path, parameter, label, call) in enumerate(calls(place)):
        if index < first:
            continue
        report.write(json.dumps([index, path, parameter, label]) + "\n")
        report.flush()
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=report)
        found = complaint(path, call)
        faulthandler.cancel_dump_traceback_later()
        if found:
            report.write(json.dumps({"complaint": [path, parameter, label, found]}) + "\n")
    report.write("done\n")
    report.flush()
    os._exit(0)  # whatever a hostile call left behind


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
