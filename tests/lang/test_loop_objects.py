"""Structures and objects that go round loops of the program."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tilewright.lang import carry
from tilewright.lang.rewrite import rewrite
from traced_numbers import I32, note, require_python, trace

SMALL = range(-2, 4)


def test_structures_go_round():
    @dataclass
    class State:
        index: object
        phase: object
        name: str

    def f(n):
        pair = (0, (n, "text"))
        state = State(0, 1, "s")
        values = [1, 2]
        for i in range(n):
            pair = (pair[0] + i, (pair[1][0] * 2, "text"))
            state.index = state.index + 1
            if state.index == 2:
                state.index = 0
                state.phase = state.phase ^ 1
            values[0], values[1] = values[1], values[0] + i
        return pair[0], pair[1][0], state.index, state.phase, values[0], values[1]

    require_python(f, range(6))


@pytest.mark.parametrize("module", [__name__, "tilewright.examples.counter"])
def test_objects_changed_by_functions_that_the_loop_calls(module):
    """A class of the package's examples is as one of a user's."""

    class Counter:
        __module__ = module

        def __init__(self):
            self.count = 0

        def add(self, x):
            self.count = self.count + x

    def f(n):
        counter = Counter()
        for i in range(n):
            counter.add(i)
        return counter.count

    with pytest.raises(TypeError, match=r"changes counter\.count from int 0 to Int32; that happens once"):
        trace(f, I32)


def test_a_list_that_grows_in_a_loop():
    def f(n):
        values = []
        for i in range(n):
            values.append(i)
        return len(values)

    with pytest.raises(TypeError, match="changes values from 0 elements to 1 elements; that happens once"):
        trace(f, I32)


def test_the_protocol_of_values():
    class State:
        def __init__(self, stages, index, phase):
            self.stages, self.index, self.phase = stages, index, phase

        def __extract_mlir_values__(self):
            return [self.index, {"phase": self.phase}]

        def __new_from_mlir_values__(self, values):
            return State(self.stages, values[0], values[1]["phase"])

        def advance(self):
            self.index = self.index + 1
            if_last(self)

    @rewrite
    def if_last(state):
        if state.index == state.stages:
            state.index = 0
            state.phase = state.phase ^ 1

    def f(n):
        state = State(2, 0, 1)
        alias = state
        for _ in range(n):
            state.advance()
            note("{} {}", state.index, state.phase)
        while state.index == 0 and n > 3:
            state.advance()
            n -= 1
        if n > 1:
            state.advance()
        return alias.index, alias.phase

    require_python(f, range(7))


def test_registered_kinds():
    class Pipe:
        def __init__(self, index):
            self.state = {"index": index}

        def advance(self):
            self.state["index"] = self.state["index"] + 1

    def assign(pipe, parts):
        (pipe.state["index"],) = parts

    carry.register(
        Pipe, split=lambda p: ("pipe", [p.state["index"]]), build=lambda p, parts: Pipe(*parts), assign=assign
    )

    def f(n):
        pipe = Pipe(n)
        for i in range(n):
            if i > 1:
                pipe.advance()
        if n > 1:
            pipe.advance()
        return pipe.state["index"]

    require_python(f, range(6))


def test_namespaces():
    def f(n):
        ns = SimpleNamespace(a=0, b="text")
        for i in range(n):
            ns.fresh = i * 2
            ns.a = ns.a + ns.fresh
        return ns.a

    require_python(f, SMALL)

    def behind(n):
        ns = SimpleNamespace()
        for i in range(n):
            ns.fresh = i
        return ns.fresh + 1

    with pytest.raises(UnboundLocalError, match=r"ns\.fresh has no value behind this loop"):
        trace(behind, I32)


def test_errors_that_leave_a_loop_are_not_caught():
    def f(n):
        total = 0
        try:
            for i in range(n):
                total = total + i
                raise KeyError
        except KeyError:
            total = 5
        return total

    with pytest.raises(TypeError, match="this catches an error of an `if` or a loop"):
        trace(f, I32)
