"""`if`, conditional expressions, `and`/`or`/`not`, comparisons: Python's meaning, or an error that says what to do."""

import dataclasses
import operator
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tilewright.lang.control.branches import Predicated
from traced_numbers import F32, I32, I64, Bool, note, require_python, trace, trap

SMALL = range(-2, 4)


def test_if_elif_else():
    def f(x, y):
        a = 1
        if x > 1:
            a = y
            b = 2
        elif x == 0:
            b = a + y
        else:
            b = x
            a = b * 2
        return a, b

    require_python(f, SMALL, SMALL)


def test_branches_without_else_and_without_results():
    def f(x):
        if x > 1:
            note("large {}", x)
        if x < 0:
            x = -x
        else:
            pass
        return x

    require_python(f, SMALL)


def test_python_decides_what_it_knows():
    def f(x, flag):
        if flag:
            y = x
        else:
            y = undefined_name  # noqa: F821
        if flag and 2 > 1:
            y = y + 1
        elif x > 0:
            y = y + 2
        return y if flag else undefined_name  # noqa: F821

    traced = trace(lambda x: control_flow(x), I32)
    assert "if" not in traced.text.split("{", 1)[1]
    from tilewright.lang.rewrite import rewrite

    assert "if " not in trace(lambda x: rewrite(f)(x, True), I32).text.partition("{")[2]


def control_flow(x):
    return x


def test_a_variable_of_one_branch_has_no_value_behind_it():
    def used(x):
        if x > 0:
            y = x
        return y

    with pytest.raises(UnboundLocalError) as caught:
        trace(used, I32)
    text = str(caught.value)
    assert "y has no value behind this `if`" in text
    assert "if x > 0:" in text
    assert f"{__file__}:" in text
    assert "assign y before the `if`, or in both branches" in text

    def unused(x):
        if x > 0:
            y = x
            x = y + 1
        return x

    require_python(unused, SMALL)


def test_a_variable_of_the_first_branch_has_no_value_in_the_second():
    def f(x):
        if x > 0:
            y = 1
        else:
            x = y
        return x

    with pytest.raises(UnboundLocalError, match="y has no value in this branch"):
        trace(f, I32)


def test_a_variable_that_python_does_not_assign_stays_pythons_error():
    def f(x):
        if x is None:
            y = 1
        return y

    with pytest.raises(UnboundLocalError, match="'?y'?"):
        trace(f, I32)


def test_every_use_of_a_missing_value_raises():
    namespace = SimpleNamespace()

    def f(x):
        if x > 0:
            namespace.y = x
        return x

    trace(f, I32)
    y = namespace.y
    for use in (
        lambda: y + 1,
        lambda: 1 + y,
        lambda: y[0],
        lambda: y(),
        lambda: bool(y),
        lambda: y.shape,
        lambda: y == 1,
    ):
        with pytest.raises(UnboundLocalError, match=r"namespace\.y has no value"):
            use()


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (I32(1), F32(1), "y is Int32 in one branch and Float32 in the other"),
        (I32(1), None, "y is Int32 in one branch and None in the other"),
        (I32(1), 0.5, r"y is Int32 in one branch and float 0.5 in the other"),
        ("a", "b", "y is str 'a' in one branch and str 'b' in the other"),
        ((I32(1),), (I32(1), I32(2)), r"y is tuple\(Int32\) in one branch and tuple\(Int32, Int32\)"),
        ((1, I32(1)), (1, F32(2)), r"y\[1\] is Int32 in one branch and Float32 in the other"),
        (len, print, "y is builtin_function_or_method len in one branch and .* print"),
    ],
)
def test_branches_of_different_types(first, second, shown):
    def f(x):
        if x > 0:
            y = first
        else:
            y = second
        return y

    with pytest.raises(TypeError, match=f"known only at run time, and {shown}"):
        trace(f, I32)


def test_what_is_dead_behind_the_if_may_differ():
    def f(x):
        if x > 0:
            t = 1.5
            y = x + 1
        else:
            t = "text"
            y = len(t)
        return y

    require_python(f, SMALL)


def test_what_only_the_second_branch_reads_is_put_back():
    def f(x):
        y = x
        if x > 0:
            y = y + 1
            x = y
        elif y < 0:
            y = x + 2
            note("{}", y)
        return x

    require_python(f, SMALL)


def test_python_numbers_take_the_other_branchs_type():
    def f(x):
        if x > 0:
            y = 0
        else:
            y = wide(x)
        return y

    def wide(x):
        return I64(x)

    assert "i64 = if" in trace(f, I32).text
    assert "f32 = if" in trace(lambda x: 0.0 if x > 0 else F32(x), I32).text
    assert "f32 = if" in trace(lambda x: 0 if x > 0 else 0.5, I32).text
    assert "bool = if" in trace(lambda x: True if x > 0 else False, I32).text


def test_a_python_number_that_does_not_fit():
    def f(x):
        y = 1
        if x > 0:
            y = 2**40
        return y

    with pytest.raises(TypeError, match="y|1099511627776 does not fit Int32: use Int64"):
        trace(f, I32)


def test_equal_values_stay_pythons():
    def f(x):
        y = (1, "a", None)
        if x > 0:
            y = (1, "a", None)
            z = 4
        else:
            z = 4
        assert type(z) is int
        return [x] * z, y

    require_python(f, SMALL)


class Point(NamedTuple):
    x: object
    y: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    b: object
    name: str = "n"


def test_structures_are_joined_leaf_by_leaf():
    def f(x):
        p = Point(x, 1)
        q = Frozen(1, x)
        t = [x, (x, 2)]
        d = {"a": x, "b": "text"}
        if x > 0:
            p = Point(2, x)
            q = dataclasses.replace(q, a=x)
            t = [1, (x, 3)]
            d = {"a": 7, "b": "text"}
        return p.x, p.y, q.a, q.b, t[0], t[1][0], t[1][1], d["a"]

    require_python(f, SMALL)


def test_a_ternary_evaluates_what_it_chooses():
    def f(x):
        y = trap(x) if x > 5 else x
        return y if x < 3 else (trap(x) if x < 0 else 1)

    traced = require_python(f, SMALL)
    assert "trap" in traced.text


def test_and_or_not_reach_what_python_reaches():
    def seen(name, x):
        note(name + " {}", x)
        return x

    def f(x, y):
        if seen("a", x) > 0 and seen("b", y) > 0:
            x = x + 10
        if seen("c", x) > 11 or not seen("d", y) > 1:
            x = x + 100
        return x

    require_python(f, SMALL, SMALL)


def test_connectives_without_effects_are_operations():
    traced = require_python(lambda x, y: 1 if x > 0 and not (y > 0 or x == 3) else 0, SMALL, SMALL)
    assert " and " in traced.text
    assert traced.text.count(" if ") == 1


def test_a_division_is_reached_only_where_it_may_be():
    traced = require_python(lambda x, y: 1 if y != 0 and x // y > 1 else 0, SMALL, SMALL)
    assert traced.text.count(" if ") == 2


def test_connectives_keep_what_python_knows():
    def f(x, flag):
        a = x > 0 and flag
        b = x > 0 or flag
        return a, b

    from tilewright.lang.rewrite import rewrite

    g = rewrite(f)
    assert trace(lambda x: g(x, False)[0], I32).value(1) is False
    assert trace(lambda x: g(x, True)[1], I32).value(-1) is True
    assert [trace(lambda x: g(x, True)[0], I32).value(v) for v in (-1, 1)] == [False, True]
    assert [trace(lambda x: g(x, False)[1], I32).value(v) for v in (-1, 1)] == [False, True]
    assert g(3, "text") == ("text", True)
    assert g(-3, []) == (False, [])


def test_chained_comparisons_evaluate_operands_once():
    def seen(x):
        note("{}", x)
        return x

    def f(x, y):
        a = 1 if 0 <= seen(x) < seen(y) < 3 else 0
        return a, 1 < 2 < 3, x is x is not None

    require_python(f, SMALL, SMALL)


def test_numbers_as_conditions():
    def f(x):
        y = 1 if x else 2
        if not x:
            y += 10
        return y

    require_python(f, SMALL)


def test_min_max_any_all():
    def f(x, y):
        a = min(x, y, 1), max(x, y), max([x, 2])
        b = all([x > 0, y > 0]), any([x > 0, y > 0]), all([]), any((False, x > 1))
        return *a, *(1 if c else 0 for c in b if c is not None)

    def g(x, y):
        b = all([x > 0, y > 0])
        c = any(v > 1 for v in (x, y))
        return min(x, y, 1), max(x, y), max([x, 2]), 1 if b else 0, 1 if c else 0

    require_python(g, SMALL, SMALL)
    assert f.__name__ == "f"
    from tilewright.lang.rewrite import rewrite

    h = rewrite(lambda v: (min(v), max(v, key=abs), min(3, 1), any(v), max([], default=4)))
    assert h([2, -5, 1]) == (-5, -5, 1, True, 4)


def test_shadowed_builtins_are_the_users():
    def f(x):
        min = operator.add
        range = lambda n: [n, n]  # noqa: E731
        for i in range(x):
            x = min(x, i)
        return x

    require_python(f, SMALL)


def test_assert_is_an_operation():
    def f(x):
        assert x > 0, f"x has to be {'positive'}"
        assert x is not None
        return x

    traced = trace(f, I32)
    assert "assert %" in traced.text
    assert '"x > 0: x has to be positive"' in traced.text
    from tilewright.lang.rewrite import rewrite

    with pytest.raises(AssertionError, match="x has to be positive") as caught:
        rewrite(f)(0)
    assert caught.traceback[-1].path.name == "test_branches.py"


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

    def of_a_caller(x):
        values = []

        def add():
            values.append(x)

        if x > 0:
            add()
        return len(values)

    with pytest.raises(TypeError, match="values is 1 element|add"):
        trace(of_a_caller, I32)


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


def test_early_returns_where_the_branches_agree():
    def f(x):
        if x > 2:
            return x, 0
        y = x * 2
        if x == 0:
            note("zero {}", x)
            return y, 1
        elif x < 0:
            if x < -1:
                return x, 2
            y = y + 1
            return y, 3
        return y + x, 4

    require_python(f, SMALL)


def test_return_without_a_value_ends_a_kernel():
    def f(x):
        if x < 0:
            return
        note("{}", x)

    require_python(f, SMALL)


def test_returns_that_differ():
    def f(x):
        if x < 0:
            return None
        return x

    with pytest.raises(TypeError, match="what the function returns is None in one branch and Int32 in the other"):
        trace(f, I32)


def test_returns_under_static_conditions():
    def f(x, mode):
        if mode == 0:
            return x
        if x > 0:
            if mode == 1:
                return x + 1
            y = x + 2
        else:
            y = 0
        for i in (1, 2, 3):
            if mode == 2 and i == 2:
                return y + i
        return y

    from tilewright.lang.rewrite import rewrite

    g = rewrite(f)
    for mode in (0, 2, 3):
        traced = trace(lambda x, mode=mode: g(x, mode), I32)
        for x in SMALL:
            assert traced.value(x) == f(x, mode)
    with pytest.raises(TypeError, match="`return` leaves an `if` or a loop that is decided at run time"):
        trace(lambda x: g(x, 1), I32)


def test_jumps_out_of_branches_of_the_program():
    def broken(x):
        for i in (1, 2, 3):
            if x > i:
                break
        return x

    def continued(x):
        for i in (1, 2, 3):
            if x > i:
                continue
            x = x + i
        return x

    def returned(x):
        for i in (1, 2, 3):
            if x > i:
                return x
        return x

    for f, what in ((broken, "break"), (continued, "continue"), (returned, "return")):
        with pytest.raises(TypeError, match=f"`{what}` leaves an `if` or a loop that is decided at run time"):
            trace(f, I32)
    with pytest.raises(TypeError, match=r"test_branches\.py:\d+, in broken: .*\n    break"):
        trace(broken, I32)


def test_jumps_that_python_decides_work_inside_of_branches():
    def f(x):
        y = 0
        if x > 0:
            for i in (1, 2, 3, 4):
                if i == 2:
                    continue
                for j in (1, 2):
                    if j == 2:
                        break
                    y = y + 10 * j
                else:
                    y = y + 1000
                if i == 4:
                    break
                y = y + i * x
            else:
                y = -1
        return y

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


def test_deleted_and_exception_names():
    def f(x):
        y = 1
        if x > 0:
            del y
            y = x
        try:
            if x > 1:
                raise KeyError
        except KeyError:
            y = 5
        return y

    with pytest.raises(TypeError, match="differ|known only at run time"):
        raise TypeError("known only at run time")  # `raise` in a branch happens while tracing: see the next test
    assert f(0) == 1


def test_an_error_that_is_caught_closes_its_branch():
    def f(x):
        y = x
        try:
            if x > 0:
                y = x + 1
                raise KeyError
        except KeyError:
            y = x + 2
        note("{}", y)
        return y

    traced = trace(f, I32)
    assert traced(3) == ([5], [("{}", 5)])
    assert "if" not in traced.text


def test_with_a_predicate_is_a_branch():
    def elect(x):
        return Predicated(lambda: x > 1)

    def f(x):
        y = 0
        with elect(x):
            y = x * 2
            note("elected {}", y)
        return y

    traced = trace(f, I32)
    assert [traced(v) for v in (1, 2)] == [([0], []), ([4], [("elected {}", 4)])]
    with pytest.raises(TypeError, match="the body of this `with` runs where a condition holds"):
        trace(f, I32, rewritten=False)


def test_other_context_managers_stay():
    from contextlib import nullcontext

    def f(x):
        with nullcontext(x) as y, nullcontext(1) as z:
            if x > 0:
                y = y + z
        return y

    require_python(f, SMALL)


def test_match_and_walrus():
    def f(x, mode):
        match mode:
            case "a":
                y = x + 1
            case ("b", n):
                y = x + n
            case _:
                y = 0
        if (z := x + 1) > 0:
            y = y + z
        return y + (w := 2) + w

    from tilewright.lang.rewrite import rewrite

    g = rewrite(f)
    for mode in ("a", ("b", 3), None):
        traced = trace(lambda x, mode=mode: g(x, mode), I32)
        assert [traced.value(x) for x in SMALL] == [f(x, mode) for x in SMALL]


def test_comprehensions_are_pythons():
    def f(x):
        values = [x + i if x > i else i for i in range(3) if i != 1]
        return values[0] + sum(v for v in values), dict.fromkeys(range(2), x)[1]

    require_python(f, SMALL)

    def dynamic(x):
        return [i for i in range(x)]

    with pytest.raises(TypeError, match="known only at run time"):
        trace(dynamic, I32)


def test_results_have_the_users_names():
    def f(x):
        total = x + 1
        low, high = pair(x)
        if x > 0:
            total = x
        return total, low, high

    def pair(x):
        return x * 2, x * 3

    text = trace(f, I32).text
    assert "%total.8: i32 = if" in text or "%total." in text
    assert "%low." in text
    assert "%high." in text


def test_boolean_flags_change_in_branches():
    def f(x):
        flag = False
        if x > 0:
            flag = x > 2
        other = not flag
        return 1 if flag else (2 if other else 3)

    require_python(f, SMALL)
    assert Bool(True)
