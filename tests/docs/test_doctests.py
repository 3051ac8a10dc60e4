"""The examples in the docstrings, of C++ functions as of Python ones, print what they say."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

import tilewright
from tilewright import Int32, Int64, _core, cute

PARSER = doctest.DocTestParser()
NEED = {"examples": "torch", "jax": "jax", "torch": "torch"}  # what packages need that may be absent
CORE_NAMES = {"tilewright": tilewright, "cute": cute, "Int32": Int32, "Int64": Int64}


def python_tests():
    """The examples of all Python modules, and of some that only tests and benchmarks use, with their module's names."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("copy_plans", "probes.access", "probes.box"):
        yield from finder.find(import_module(name))
    for info in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
        library = NEED.get(info.name.split(".")[1])
        if library is not None and find_spec(library) is None:
            continue
        module = import_module(info.name)
        if module is not _core:
            yield from finder.find(module)
    yield from finder.find(tilewright)


def described(owner, name):
    """An object of the C++ module and what it consists of, with their names."""
    yield name, owner
    if inspect.isclass(owner):
        for key, member in vars(owner).items():
            yield f"{name}.{key}", member


def core_tests():
    """doctest's finder passes over what is not written in Python, so the texts are collected here."""
    yield PARSER.get_doctest(_core.__doc__, {}, "tilewright._core", None, 0)
    for name, owner in vars(_core).items():
        for path, item in described(owner, f"tilewright._core.{name}"):
            text = getattr(item, "__doc__", None)
            if isinstance(text, str) and not isinstance(item, ModuleType):
                yield PARSER.get_doctest(text, dict(CORE_NAMES), path, None, 0)


TESTS = [test for test in (*core_tests(), *python_tests()) if test.examples]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_examples(test):
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted
    assert not result.failed, "".join(report)


def has_example(item):
    """Its own, or that of a class above it: one of Integer serves Int8."""
    return any(">>> " in (x.__doc__ or "") for x in (item, *getattr(item, "__mro__", ())))


def test_every_public_callable_has_an_example():
    public = {name: getattr(cute, name) for name in cute.__all__}
    ours = {name: x for name, x in public.items() if callable(x) and x.__module__.startswith("tilewright")}
    missing = [name for name, x in ours.items() if not has_example(x)]
    assert missing == []
