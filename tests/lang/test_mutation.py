"""Objects and outer variables that branches change: joined, or an error."""

from collections import OrderedDict, deque
from functools import partial
from types import SimpleNamespace

import pytest

import tilewright as cutlass
from traced_numbers import I32, require_python, trace

SMALL = range(-2, 4)


def test_a_list_mutated_under_a_condition():
    def grown(x):
        values = []
        if x > 0:
            values.append(x)
        return len(values)

    with pytest.raises(TypeError, match="values is 1 element in one branch and 0 elements in the other"):
        trace(grown, I32)

    def in_an_expression(x):
        values = []
        x > 0 and values.append(x)
        return len(values)

    with pytest.raises(TypeError, match="values is 1 element"):
        trace(in_an_expression, I32)

    def in_a_condition(x):
        values = []

        def large():
            values.append(x)
            return x > 1

        return len(values) if x > 0 and large() else 0

    with pytest.raises(TypeError, match="values is 1 element"):
        trace(in_a_condition, I32)

    def of_a_caller(x):
        values = []

        def add():
            values.append(x)

        if x > 0:
            add()
        return len(values)

    with pytest.raises(TypeError, match="values is 1 element"):
        trace(of_a_caller, I32)


class Log:
    def __init__(self, values):
        self.values = values

    def add(self, x):
        self.values.append(x)


@pytest.mark.parametrize(
    "changed_by",
    [
        lambda values: values.append,
        lambda values: Log(values).add,
        lambda values: partial(list.append, values),
        lambda values: lambda x: values.append(x),
    ],
)
def test_lists_that_a_call_changes(changed_by):
    def f(x):
        values = [1]
        add = changed_by(values)
        if x > 0:
            add(x)
        return len(values)

    with pytest.raises(TypeError, match="is 2 elements in one branch and 1 element in the other"):
        trace(f, I32)


def test_objects_changed_in_a_branch_are_joined():
    class Counter:
        def __init__(self):
            self.count = 0
            self.history = [0, 0]

        def add(self, x):
            self.count = self.count + x

    def f(x):
        counter = Counter()
        alias = counter
        values = [1, 2]
        table = {"a": 1}
        seen = SimpleNamespace(last=5)
        if x > 0:
            counter.add(x)
            values[1] = x
            table["a"] = x * 2
        else:
            counter.history[0] = x
            seen.last = x
        return alias.count, values[0], values[1], table["a"], seen.last, counter.history[0], counter.history[1]

    require_python(f, SMALL)


def test_kinds_of_containers():
    def f(x):
        line, table = deque([1, 2]), OrderedDict(a=1, b=2)
        if x > 0:
            line[0] = x
            table["b"] = x
        else:
            line.rotate(1)
        return line[0], line[1], table["a"], table["b"]

    require_python(f, SMALL)


def test_the_second_branch_sees_what_was_before():
    def f(x):
        y = x
        values = [x]
        if x > 0:
            y = y + 1
            values[0] = y
        else:
            y = y + 2 * values[0]
        return y, values[0]

    require_python(f, SMALL)


def test_closures_over_loop_variables():
    def f(x):
        functions = []
        for i in (1, 2, 3):
            functions.append(lambda: i * 10)
            if x > i:
                x = x + functions[0]()
        return x + functions[0]()

    require_python(f, SMALL)


def test_functions_inside_that_assign_outer_variables():
    def f(x):
        count = 0

        def step(n):
            nonlocal count
            count = count + n

        if x > 0:
            step(x)
        step(1)
        return count

    require_python(f, SMALL)


@pytest.mark.parametrize("deep", [3, 8, 200])
def test_an_object_at_the_end_of_a_chain(deep):
    def end_of(node):
        while node.next is not None:
            node = node.next
        return node

    def f(x):
        chain = SimpleNamespace(count=0, next=None)
        for _ in cutlass.range_constexpr(deep):
            chain = SimpleNamespace(count=0, next=chain)
        if x > 0:
            end_of(chain).count += x
        return end_of(chain).count

    require_python(f, SMALL)


LAST = 0


def test_global_variables():
    global LAST

    def f(x):
        global LAST
        LAST = 1
        if x > 0:
            LAST = x
        return LAST

    require_python(f, SMALL)
    LAST = 0
