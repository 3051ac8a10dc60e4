"""`return`, `break` and `continue` across branches: where they agree or Python decides, else an error."""

import pytest

from tilewright import const_expr
from tilewright.lang.rewrite import rewrite
from traced_numbers import I32, note, require_python, trace

SMALL = range(-2, 4)


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


def test_early_returns_among_static_ones():
    def f(x, mode):
        if const_expr(mode == 0):
            return x
        if const_expr(mode == 1):
            if x > 0:
                return x * 2
            else:
                x = x - 1
                return x
        if const_expr(mode == 2):
            if x > 1:
                return x * 3
        return x + 5

    g = rewrite(f)
    for mode in (0, 1, 3):
        traced = trace(lambda x, mode=mode: g(x, mode), I32)
        assert [traced.value(x) for x in SMALL] == [f(x, mode) for x in SMALL]
    with pytest.raises(TypeError, match="let all branches of the `if` end in `return`"):
        trace(lambda x: g(x, 2), I32)


def test_early_returns_beside_functions_that_yield():
    def f(x):
        def ones():
            yield 1

        if x > 2:
            return x
        first = lambda: (yield x)
        return x + sum(ones()) if first else x

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
    with pytest.raises(TypeError, match=r"test_returns\.py:\d+, in broken: .*\n    break"):
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
