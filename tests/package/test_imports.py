"""Where modules import: at their top, but at the lazy boundary of a package and for libraries that may be absent."""

from __future__ import annotations

import ast
import json
from functools import cache

import pytest

from compiling import run_python
from places import ROOT

SOURCES = ROOT / "python"
OPTIONAL = {"IPython", "anywidget", "cupy", "ncu_report", "resvg_py", "torch", "tqdm", "traitlets", "tvm_ffi"}
# What runs seldom, or must not load what it does not need, imports in its functions.
LAZY = {
    "tilewright.__main__": "a command loads what it needs",
    "tilewright.explore.command": "a command loads what it needs",
    "tilewright.explore.profiling": "a command loads what it needs",
    "tilewright.explore.doctor": "what cannot be imported is a finding",
    "tilewright.runtime.cache": "a hit needs no upkeep",
    "tilewright.runtime.compiler": "a hit needs no compiler",
    "tilewright.runtime.discovery": "a hit needs no search",
    "tilewright.runtime.program": "a launch needs no report",
    "tilewright.cute.tensors.tensor": "arrays of other libraries become tensors in cute.runtime, which makes tensors",
    "tilewright.numeric.base": "a comparison of a kernel's numbers is a Boolean, which is a number",
    "tilewright.torch.gemm": "rules of DTensors are for programs that have some",
    "tilewright.show.subjects.layouts": "a layout with a tile is drawn as threads' values, which are drawn as layouts",
}
# Plans, their chooser and their launches ask for each other's modules in functions. Lower these numbers, never raise
# them.
MOST = {"tilewright.kernels": 65, "tilewright.show.kernels": 1}


def module_of(path) -> str:
    return path.relative_to(SOURCES).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


MODULES = {module_of(path): path for path in (SOURCES / "tilewright").rglob("*.py")}


@cache
def loaded(what: str) -> set[str]:
    """What an import loads."""
    return set(
        json.loads(run_python(f"import sys, {what}\nnames = [*sys.modules]\nimport json\nprint(json.dumps(names))"))
    )


def loaded_with(module: str) -> set[str] | None:
    """What `import tilewright`, or the namespace of kernels, or a first copy loads with a module; None: none has it."""
    for what in ("tilewright, tilewright.cute", "tilewright.kernels", "tilewright.kernels.copy.planned"):
        names = loaded(what)
        if module in names:
            return names
    return None


def imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The modules that a statement asks for."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    names = {f"{node.module}.{alias.name}" for alias in node.names}
    return {name if name in MODULES else node.module for name in names}


def inside_functions(source: str) -> list[tuple[int, set[str]]]:
    """The imports in functions: their lines, and what they ask for but libraries that may be absent."""
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = {
        node.lineno: {name for name in imported(node) if name.partition(".")[0] not in OPTIONAL}
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    return [(line, names) for line, names in found.items() if names]


def misplaced(module: str) -> list[str]:
    """The imports that could stand at the module's top without making `import tilewright` load more."""
    found = inside_functions(MODULES[module].read_text(encoding="utf-8"))
    light = loaded_with(module)
    return [
        f"{MODULES[module].relative_to(ROOT)}:{line} {', '.join(sorted(names))}"
        for line, names in found
        if light is None or names <= light
    ]


def package_of(module: str) -> str | None:
    return next((name for name in MOST if module == name or module.startswith(f"{name}.")), None)


def test_modules_import_at_their_top():
    checked = [module for module in MODULES if module not in LAZY and package_of(module) is None]
    assert len(checked) > 100
    assert [line for module in checked for line in misplaced(module)] == []


@pytest.mark.parametrize("module", LAZY)
def test_an_exception_is_one(module):
    assert misplaced(module), f"{module} has no import in a function: take it out of the list"


@pytest.mark.parametrize("package", MOST)
def test_there_are_no_more_than_there_were(package):
    modules = [module for module in MODULES if module not in LAZY and package_of(module) == package]
    found = [line for module in modules for line in misplaced(module)]
    assert len(found) <= MOST[package], "\n".join(found)


def test_what_counts_as_an_import_in_a_function():
    source = """
import os
if True:
    import sys
def f():
    import torch
    import numpy as np, cupy
    def g():
        from tilewright.cute import jit
        from tilewright import cute, Float32
"""
    assert inside_functions(source) == [
        (7, {"numpy"}),
        (9, {"tilewright.cute"}),
        (10, {"tilewright.cute", "tilewright"}),
    ]
