"""Every public function says what it takes: to inspect, to help, to completion, and when it is called."""

from __future__ import annotations

import inspect
import pydoc
import types
from enum import Enum
from importlib import import_module

import pytest

import tilewright
from hostile import PLACES, public
from tilewright import _core, cute

pytest.importorskip("torch", reason="tilewright.torch is among what is looked at")
CALLABLES = dict(pair for place in (*PLACES, "tilewright.numeric", "tilewright.show") for pair in public(place))
# Instances come from functions alone.
WITHOUT_CONSTRUCTOR = {"ComposedLayout", "Layout", "DriverError"}
FUNCTIONS = {path: f for path, f in CALLABLES.items() if path.rpartition(".")[2] not in WITHOUT_CONSTRUCTOR}
COMPILED = {path: f for path, f in CALLABLES.items() if isinstance(f, type(cute.composition))}
PLAIN = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def test_walk_finds_the_functions():
    assert {"tilewright.cute.composition", "tilewright.cute.size", "tilewright.cute.copy"} <= CALLABLES.keys()
    assert {"tilewright.cute.Layout.offsets", "tilewright.Numeric.to", "tilewright.kernels.gemm"} <= CALLABLES.keys()
    assert len(COMPILED) > 100


@pytest.mark.parametrize("path", FUNCTIONS)
def test_signature(path):
    found = inspect.signature(FUNCTIONS[path])
    assert all(name.isidentifier() for name in found.parameters)


@pytest.mark.parametrize("path", COMPILED)
def test_help_begins_with_name_and_signature(path):
    function = COMPILED[path]
    name = path.rpartition(".")[2]
    text = pydoc.plain(pydoc.render_doc(function)).splitlines()[2]
    assert text.startswith(f"{name}(")
    for parameter in inspect.signature(function).parameters:
        assert parameter in text
    assert "pybind11" not in pydoc.plain(pydoc.render_doc(function))
    assert function.__doc__
    assert not function.__doc__.startswith(name + "(")


def ended(function, name):
    """The error of a call with one keyword alone, if there is one."""
    try:
        return str(function(**{name: object()}))
    except (TypeError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("path", COMPILED)
def test_every_keyword_binds(path):
    # The error for a keyword that there is not names the function; none of those in the signature is one of these.
    function = COMPILED[path]
    found = inspect.signature(function).parameters
    for name, parameter in found.items():
        if parameter.kind in PLAIN and name != "self":
            assert "no argument is called" not in ended(function, name)
    with pytest.raises(TypeError, match=r"no argument is called 'nothing'|no argument goes by keyword"):
        function(nothing=1)
    needed = [p.name for p in found.values() if p.default is p.empty and p.kind in PLAIN]
    if needed:
        with pytest.raises(TypeError, match=f"missing {needed[0]}; the signature is"):
            function()


def test_keyword_only_parameters_are_named():
    with pytest.raises(
        TypeError, match=r"^make_layout: expected 1 argument by position, but got 2: pass stride=\(8,1\)$"
    ):
        cute.make_layout((4, 8), (8, 1))
    with pytest.raises(
        TypeError, match=r"^size: expected 2 arguments by position, but got 3; the signature is size\(x, "
    ):
        cute.size((4, 8), 0, 1)
    with pytest.raises(TypeError, match=r"^coalesce: got layout by position and by keyword"):
        cute.coalesce(cute.make_layout(4), layout=cute.make_layout(4))


def test_completion_knows_the_keywords():
    from IPython.core.completer import provisionalcompleter
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns["cute"] = cute
    shell.Completer.use_jedi = False
    with provisionalcompleter():
        line = "cute.make_layout((4, 8), st"
        found = [c.text for c in shell.Completer.completions(line, len(line))]
    assert "stride=" in found


@pytest.mark.parametrize("path", COMPILED)
def test_annotations_name_kinds(path):
    signature = inspect.signature(COMPILED[path])
    for name, parameter in signature.parameters.items():
        if name not in ("self", "loc", "ip"):
            assert "Any" not in str(parameter.annotation)


def test_function_objects_are_functions():
    assert inspect.isroutine(cute.composition)
    assert cute.composition.__name__ == "composition"
    assert cute.composition.__module__ == "tilewright._core"
    assert cute.Layout.offsets.__qualname__ == "Layout.offsets"
    assert repr(cute.size[0, 1]) == "<function size[0, 1]>"
    with pytest.raises(TypeError, match="composition: nothing is given in brackets"):
        cute.composition[0]


@pytest.mark.parametrize("name", ["size", "cosize", "rank", "depth", "get", "select", "shape", "composition"])
def test_functions_are_not_iterable(name):
    with pytest.raises(TypeError, match="not iterable"):
        iter(getattr(cute, name))


def bound_types():
    kinds = [x for module in (_core, _core.cuda) for x in vars(module).values() if isinstance(x, type)]
    # The first without arguments, the others in __init__.
    made = ("unchecked", "Nvrtc", "Kernel", "HostFunction", "Prepared", "Recorder")
    return [x for x in kinds if type(x).__name__ == "pybind11_type" and x.__name__ not in made]


@pytest.mark.parametrize("kind", bound_types(), ids=lambda kind: kind.__name__)
def test_no_instance_is_without_a_value(kind):
    # One without a value would be read all the same.
    with pytest.raises(TypeError):
        str(kind.__new__(kind))


def test_what_has_no_constructor_says_so():
    with pytest.raises(TypeError, match=r"^Layout: has no constructor: functions return it$"):
        cute.Layout((4, 8))
    assert str(inspect.signature(cute.Swizzle)) == "(b, m, s)"


def test_numeric_types_and_modules_are_walked():
    for value in (tilewright.numeric, cute.arch, import_module("tilewright.kernels")):
        assert isinstance(value, types.ModuleType)
    assert not issubclass(cute.Layout, Enum)
