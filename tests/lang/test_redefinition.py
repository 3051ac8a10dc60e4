"""A kernel that is defined again, as a notebook's cell does: who uses its name means the new one."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute

HEAD = """
import tilewright as cutlass
from tilewright import cute
"""
HELPER = """
@cute.jit
def step(x):
    return x + {}
"""
KERNEL = """
@cute.kernel
def add_kernel(x: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    x[tidx] = step(x[tidx])
"""
HOST = """
@cute.jit
def add(x: cute.Tensor):
    add_kernel(x).launch(block=[4, 1, 1])

@cute.jit
def add_twice(x: cute.Tensor):
    add(x)
    add(x)
"""


def cell(names, text):
    exec(compile(text, "<cell>", "exec"), names)


@pytest.fixture
def names():
    names = {"__name__": "a_notebook"}
    for text in (HEAD, HELPER.format(1), KERNEL, HOST):
        cell(names, text)
    return names


def added(names, function="add"):
    x = np.zeros(4, np.int32)
    names[function](x)
    (value,) = set(x.tolist())
    return value


def test_a_kernel_that_is_defined_again_runs(names):
    assert added(names) == 1
    cell(names, KERNEL.replace("step(x[tidx])", "step(x[tidx]) * 10"))
    assert added(names) == 10


def test_a_helper_that_is_defined_again_runs(names):
    assert (added(names), added(names, "add_twice")) == (1, 2)
    cell(names, HELPER.format(5))
    assert (added(names), added(names, "add_twice")) == (5, 10)


def test_a_kernel_launched_alone_is_traced_again_for_its_helper(names):
    launch = "add_kernel(x).launch(block=[4, 1, 1])"
    x = names["x"] = cute.runtime.from_dlpack(np.zeros(4, np.int32))
    cell(names, launch)
    cell(names, HELPER.format(7))
    cell(names, launch)
    assert x[0] == 8


def test_other_functions_keep_their_programs(names):
    added(names)
    program = next(iter(names["add"]._programs.values()))
    cell(names, "@cute.jit\ndef other(x):\n    return x")
    cell({"__name__": "another_notebook"}, HEAD + HELPER.format(2))
    added(names)
    assert next(iter(names["add"]._programs.values())) is program


def test_functions_made_by_a_function_stay_what_they_are():
    def make(value):
        @cute.jit
        def inner(x: cutlass.Int32):
            return x + value

        @cute.jit
        def outer(x: cutlass.Int32):
            return inner(x)

        return outer

    first, second = make(1), make(2)
    assert (int(first(1)), int(second(1)), int(first(1))) == (2, 3, 2)
    assert len(first._programs) == 1


# ---- names of plain values ----


SCALE = """
import enum

FACTOR, KIND, TILE = 2, cutlass.Float32, (4, 1)

class Mode(enum.Enum):
    ADD = 0
    SUB = 1

MODE = Mode.ADD

def helper(x):
    return x * FACTOR if MODE is Mode.ADD else -x

@cute.kernel
def scale_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = helper(x[i].to(KIND)).to(x.element_type)

@cute.jit
def scale(x: cute.Tensor):
    scale_kernel(x).launch(block=[TILE[0], 1, 1])
"""


@pytest.mark.parametrize("launch", ["scale(x)", "scale_kernel(x).launch(block=[TILE[0], 1, 1])"])
def test_a_value_that_a_name_gets_is_the_one_that_kernels_use(launch):
    names = {"__name__": "a_notebook"}
    cell(names, HEAD + SCALE)

    def run(change=""):
        x = names["x"] = np.full(4, 3, np.int32)
        cell(names, change)
        cell(names, launch)
        return x.tolist()

    assert run() == [6] * 4
    assert run("FACTOR = 5") == [15] * 4
    assert run("FACTOR = 1.5") == [4] * 4
    assert run("KIND = cutlass.Int32; FACTOR = 2.9") == [8] * 4
    assert run("MODE = Mode.SUB") == [-3] * 4
    assert run("def helper(x):\n    return x + FACTOR * 10") == [32] * 4
    assert run("TILE = (2, 1)") == [32, 32, 3, 3]


def test_a_closure_sees_its_variables_as_they_are():
    value = 1

    @cute.kernel
    def add_value_kernel(x: cute.Tensor, more: cutlass.Constexpr):
        i, _, _ = cute.arch.thread_idx()
        x[i] = x[i] + value + more(0)

    @cute.jit
    def add_value(x: cute.Tensor, more: cutlass.Constexpr):
        add_value_kernel(x, more).launch(block=[4, 1, 1])

    other = 10

    def more(x):
        return x + other

    x = np.zeros(4, np.int32)
    add_value(x, more)
    value = 2
    add_value(x, more)
    other = 100
    add_value(x, more)
    assert x.tolist() == [11 + 12 + 102] * 4


def test_other_names_change_nothing():
    names = {"__name__": "a_notebook"}
    cell(names, HEAD + SCALE + "launches = 0\n")
    x = names["x"] = np.full(4, 3, np.int32)
    cell(names, "scale(x)")
    program = next(iter(names["scale"]._programs.values()))
    for _ in range(3):
        cell(names, "i = 3; element_type = None; launches += 1; scale(x)")
    assert list(names["scale"]._programs.values()) == [program]
