"""`while`: of Python where it knows the test, of the program where it does not."""

import pytest

from traced_numbers import I32, note, require_python, trace

SMALL = range(-2, 4)


def test_while():
    def f(n, m):
        steps = 0
        while n != m and steps < 10:
            if n > m:
                n -= 1
            else:
                n += 1
            steps += 1
        else:
            steps += 100
        return n, steps

    require_python(f, SMALL, SMALL)


def test_while_that_python_decides():
    def f(x):
        k = 3
        while k > 0:
            x = x + k
            k -= 1
            if k == 1:
                continue
            if k == 5:
                break
        else:
            x = x + 1000
        while True:
            x = x + 1
            k += 1
            if k > 2:
                break
        return x

    traced = require_python(f, SMALL)
    assert "while" not in traced.text


def test_while_that_becomes_the_programs():
    def f(n):
        k = 0
        while k < 5:
            k = k + 2 if k == 0 else k + n
        return k

    require_python(f, range(1, 4))


def test_the_test_of_a_while_has_effects_once_a_trip():
    def ready(n):
        note("asked {}", n)
        return n > 0

    def f(n):
        while ready(n):
            n = n - 1
        return n

    require_python(f, SMALL)

    def waiting(n):
        while not ready(n):
            n = n + 1
        return n

    require_python(waiting, SMALL)


def test_a_static_test_with_operations():
    def ready(x, k):
        note("{}", x + k)
        return k < 2

    def f(x):
        k = 0
        while ready(x, k):
            k += 1
            x = x * 2
        return x + k

    require_python(f, SMALL)


def test_walrus_in_the_test():
    def f(n):
        total = 0
        while (left := n - total) > 0:
            total += left // 2 + 1
        return total, left

    def g(n):
        total = 0
        left = 0
        while (left := n - total) > 0:
            total += left // 2 + 1
        return total, left

    require_python(g, SMALL)
    with pytest.raises(UnboundLocalError, match="left has no value"):
        trace(f, I32)
