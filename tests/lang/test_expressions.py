"""Conditional expressions, `and`/`or`/`not`, comparisons, min, max, any, all, assert: Python's meaning."""

import operator

import pytest

from tilewright.lang.rewrite import rewrite
from traced_numbers import I32, Bool, note, require_python, trace, trap

SMALL = range(-2, 4)


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
        a = all([x > 0, y > 0])
        b = any(v > 1 for v in (x, y))
        return min(x, y, 1), max(x, y), max([x, 2]), 1 if a else 0, 1 if b else 0

    require_python(f, SMALL, SMALL)
    g = rewrite(lambda v: (min(v), max(v, key=abs), min(3, 1), any(v), all([]), max([], default=4)))
    assert g([2, -5, 1]) == (-5, -5, 1, True, True, 4)


def test_shadowed_builtins_are_the_users():
    def f(x):
        min = operator.add
        range = lambda n: [n, n]
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
    with pytest.raises(AssertionError, match="x has to be positive") as caught:
        rewrite(f)(0)
    assert caught.traceback[-1].path.name == "test_expressions.py"


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


def test_boolean_flags_change_in_branches():
    def f(x):
        flag = False
        if x > 0:
            flag = x > 2
        other = not flag
        return 1 if flag else (2 if other else 3)

    require_python(f, SMALL)
    assert Bool(True)


def test_lists_and_tuples_are_equal_by_their_items():
    def f(x, y):
        expected = (1, (2, y))
        pair = [x, 3]
        if pair == [2, 3]:
            return 10
        elif (x, (2, 3)) == expected:
            return 20
        if (x, y) != (y, x) and [x] != [7, y] and (x, y) != [x, y]:
            return 30
        return 40 if pair == pair else 50

    require_python(f, SMALL, SMALL)


def test_equality_of_what_python_knows_stays_pythons():
    class Loud:
        def __eq__(self, other):
            return "mine"

        __hash__ = None

    loud = Loud()

    def f(x):
        return loud == x, [1, "a"] == [1, "a"], (1, None) != (1, None), x == loud, [x] == (x,), [] == []

    assert trace(lambda x: rewrite(f)(x)[0], I32).value(1) == "mine"
    g = rewrite(f)
    assert trace(lambda x: (g(x)[1:3], g(x)[4:]), I32).value(1) == ((True, False), (False, True))
