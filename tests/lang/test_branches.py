"""`if`, conditional expressions, `and`/`or`/`not`, comparisons: Python's meaning, or an error that says what to do."""

import dataclasses
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tilewright import const_expr
from tilewright.lang.control.branches import Predicated
from traced_numbers import F32, I32, I64, note, require_python, trace

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


@pytest.mark.parametrize("flag", [True, False])
def test_python_decides_what_it_knows(flag):
    def f(x):
        if flag:
            y = x
        else:
            y = x + 5
        if flag and 2 > 1:
            y = y + 1
        elif x is None:
            y = unknown_name
        return y if not flag else y * 2

    traced = require_python(f, SMALL)
    assert " if " not in traced.text


def test_const_expr_needs_what_python_knows():
    def f(x, limit=2):
        if const_expr(limit > 1):
            return x + 1
        return x

    assert " if " not in require_python(f, SMALL).text

    def g(x):
        return 1 if const_expr(x > 1) else 0

    with pytest.raises(TypeError, match="const_expr: the value is known only at run time"):
        trace(g, I32)


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


def test_what_functions_inside_call_their_own_is_not_read():
    def own(x):
        def double(i, *, j=1):
            k = i * j
            return sum([k for _ in range(2)])

        if x > 0:
            for i in range(x):
                j = i
            x = x + 1
        else:
            for k in range(2 - x):
                i = k
            x = double(x)
        return x

    require_python(own, SMALL)


def test_a_variable_that_a_function_of_one_branch_takes_has_no_value_behind_it():
    def taken(x):
        if x > 0:
            y = x + 1

            def more():
                return y

            x = more()
        return x

    require_python(taken, SMALL)

    def called(x):
        def more():
            return y + 1

        if x > 0:
            y = x
        return more()

    with pytest.raises(UnboundLocalError, match="y has no value behind this `if`"):
        trace(called, I32)


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

    with pytest.raises(UnboundLocalError, match="y"):
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

    with pytest.raises(TypeError, match="1099511627776 does not fit Int32: use Int64"):
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


def test_errors_that_leave_a_branch_are_not_caught():
    def f(x):
        y = x
        try:
            if x > 0:
                y = x + 1
                raise KeyError
        except KeyError:
            y = x + 2
        return y

    with pytest.raises(
        TypeError, match="this catches an error of an `if` or a loop that is decided at run time"
    ) as error:
        trace(f, I32)
    assert isinstance(error.value.__context__, KeyError)

    def static(x):
        y = x
        if x > 0:
            try:
                raise KeyError
            except KeyError:
                y = x + 2
        return y

    require_python(static, SMALL)


def test_deleted_variables():
    def f(x):
        y = 1
        z = y
        if x > 0:
            del y
            z = 2
        return z

    require_python(f, SMALL)


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


def test_the_condition_of_a_with_is_no_truth_value():
    """Each lane would be the one that is elected."""
    with pytest.raises(TypeError, match=r"write `with cute.arch.elect_one\(\):`"):
        bool(Predicated(lambda: True))
