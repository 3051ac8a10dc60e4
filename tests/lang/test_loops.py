"""Loops of the program: what goes round them keeps its type, trips may be zero, and Python's own loops stay."""

import builtins
import io

import pytest

from tilewright.lang import control
from tilewright.lang.control.loops import Range
from tilewright.lang.rewrite import rewrite
from traced_numbers import F32, I32, I64, note, require_python, trace, trap

SMALL = range(-2, 4)


@control.mark_range
def hinted(*args, **hints):
    """Stands for cutlass.range."""
    return builtins.range(*args)


def constexpr(*args):
    """Stands for cutlass.range_constexpr."""
    return builtins.range(*args)


def test_bounds_of_all_kinds():
    def f(a, b):
        total = 0
        for i in range(b):
            total += i
        for i in range(a, b):
            total += 10 * i
        for i in range(b, a, -1):
            total += 100 * i
        for i in range(0, 7, 3):
            total = total * 2 + i
        return total

    require_python(f, SMALL, SMALL)


def test_dynamic_steps():
    def f(step):
        total = 0
        for i in range(0, 6 * (1 if step > 0 else -1), step):
            total = total * 3 + i
        return total

    require_python(f, [-3, -2, 1, 2, 4])


def test_zero_trips_leave_everything():
    def f(n):
        x, y = 7, n
        for i in range(n):
            x = y + i
            y = x
        return x, y

    require_python(f, [-1, 0, 2])

    def static(x):
        for _ in range(0):
            x = undefined_name
        else:
            x = x + 1
        return x

    require_python(static, SMALL)


def test_ranges_while_tracing_are_loops_of_the_program():
    def f(x):
        for i in range(3):
            x = x + i
        for i in constexpr(3):
            x = x + i
        for i in (1, 2):
            x = x * i
        return x

    traced = require_python(f, SMALL)
    assert traced.text.count(" for ") == 1
    assert rewrite(f)(1) == f(1)


def test_hints():
    def f(x):
        for i in hinted(4, unroll=2):
            x = x + i
        for i in range(4, unroll_full=True):
            x = x + i
        for i in hinted(1, 4, 1, prefetch_stages=2, vectorize=True):
            x = x + i
        return x

    traced = trace(f, I32)
    assert [line.split("{")[1].split("}")[0] for line in traced.text.splitlines() if " for " in line] == [
        "2",
        "-1",
        "0",
    ]
    assert traced.value(1) == 1 + 6 + 6 + 6
    assert rewrite(f)(1) == 19


KINDS = io.StringIO()  # what the loop does not see to change


def record(x):
    print(type(x), file=KINDS)


def test_the_index_and_its_type():
    def f(n, wide):
        last = 0
        for i in range(n):
            record(i)
            last = i
        for i in range(wide):
            record(i)
        return last

    g = rewrite(f)
    trace(lambda n: g(n, I64(n)), I32)
    assert KINDS.getvalue().split() == ["Int32", "Int64"]


def test_the_index_behind_the_loop():
    def unbound(n):
        for i in range(n):
            note("{}", i)
        return i

    with pytest.raises(UnboundLocalError, match="i has no value behind this loop, which may make no trip at run time"):
        trace(unbound, I32)

    def bound(n):
        i = 100
        for i in range(n):
            note("{}", i)
        return i

    require_python(bound, SMALL)

    def changed(n):
        i = 9
        for i in range(n):
            i = i * 2
        return i

    require_python(changed, SMALL)


def test_variables_of_the_body():
    def used(n):
        for i in range(n):
            t = i
        return t

    with pytest.raises(UnboundLocalError, match="t has no value behind this loop") as caught:
        trace(used, I32)
    assert "for i in range(n):" in str(caught.value)

    def first_trip(n):
        s = 0
        for i in range(n):
            if i > 0:
                s = s + t
            t = i
        return s

    with pytest.raises(UnboundLocalError, match="t has no value in the first trip"):
        trace(first_trip, I32)

    def fine(n):
        s = 0
        for i in range(n):
            t = i * 2
            s = s + t
        t = "text"
        for i in range(n):
            t = i + 1
            s = s + t
        return s

    require_python(fine, SMALL)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (0, 0.5, "x from Int32 to float 0.5"),
        (0, F32(1), "x from Int32 to Float32"),
        (I32(0), I64(1), "x from Int32 to Int64"),
        (None, I32(1), "x from None to Int32"),
        ((0, 1), (0, 1, 2), r"x from tuple\(int 0, int 1\) to tuple\(int 0, int 1, int 2\)"),
        ((0, (1, 2)), (0, (1, 2.5)), r"x\[1\]\[1\] from Int32 to float 2.5"),
        ([0], [0, 1], r"x from list\(int 0\) to list"),
        ({"a": 1}, {"b": 1}, "x from dict"),
        (True, 1, "x from Boolean to int 1"),
        ("a", "b", "x from str 'a' to str 'b'"),
    ],
)
def test_a_loop_that_changes_a_type(before, after, shown):
    def f(n):
        x = before
        for _ in range(n):
            x = after
        return x

    with pytest.raises(TypeError, match=f"the loop runs at run time and changes {shown}"):
        trace(f, I32)

    def g(n):
        x = before
        while n > 0:
            n -= 1
            x = after
        return x

    with pytest.raises(TypeError, match=f"changes {shown}"):
        trace(g, I32)


def test_python_numbers_become_the_programs():
    def f(n):
        count, flag, half = 0, False, 0.5
        for i in range(n):
            count = count + 1
            flag = i > 1
            half = half * 2
        return count, 1 if flag else 0, 1 if half > 3 else 0

    require_python(f, SMALL)


def test_numbers_too_large_for_32_bits():
    def f(n):
        x = 2**31
        for _ in range(n):
            x = x + 1
        return x

    with pytest.raises(TypeError, match="x from int 2147483648 to Int32; 2147483648 does not fit Int32: use Int64"):
        trace(f, I32)

    def bound(n):
        for i in range(2**40):
            n = n + i
        return n

    with pytest.raises(TypeError, match="1099511627776 does not fit Int32: use Int64"):
        trace(bound, I32)

    def wide(n):
        x = I64(2**31)
        for _ in range(n):
            x = x + 1
        return x

    assert trace(wide, I32).value(3) == 2**31 + 3


def test_nested_loops_and_branches():
    def f(n, m):
        total, best = 0, 0
        for i in range(n):
            row = 0
            for j in range(i, m):
                if (i + j) % 2 == 0:
                    row += i * j
                elif j > i:
                    row -= 1
                else:
                    continue_ = i
                    row += continue_
            if row > best:
                best = row
            total += row
        return total, best

    require_python(f, range(5), range(5))


def test_a_static_continue_ends_the_trip():
    def f(n, skip):
        total = 0
        for i in range(n):
            total += i
            if skip:
                continue
            total += 100
        while n > 0:
            n -= 1
            if skip:
                continue
            total += 1000
        return total

    for skip in (True, False):
        g = rewrite(f)
        traced = trace(lambda n, skip=skip: g(n, skip), I32)
        assert [traced.value(n) for n in SMALL] == [f(n, skip) for n in SMALL]


def test_jumps_out_of_loops_of_the_program():
    def broken(n):
        for i in range(n):
            n = n + i
            break
        return n

    def returned(n):
        while n > 0:
            return n
        return 0

    def inner(n):
        for i in range(n):
            for k in (1, 2):
                if k == 2:
                    break
                n = n + i
        return n

    with pytest.raises(TypeError, match="`break` leaves an `if` or a loop that is decided at run time"):
        trace(broken, I32)
    with pytest.raises(TypeError, match="`return` leaves"):
        trace(returned, I32)
    require_python(inner, SMALL)


def test_else_of_a_loop():
    def f(n):
        for i in range(n):
            n = n + i
        else:
            n = n + 100
        return n

    require_python(f, SMALL)


def test_what_goes_round_is_named():
    def f(n):
        total = 0
        for index in range(n):
            total += index
        return total

    assert "(%index.3: i32, %total.4: i32)" in trace(f, I32).text


def test_only_what_is_read_goes_round():
    def f(n):
        t = 5
        total = 0
        for i in range(n):
            t = i * 2
            total = total + t
        return total

    (line,) = [x for x in require_python(f, SMALL).text.splitlines() if "body(" in x]
    assert line.count("i32") == 2


def test_a_trap_in_a_loop_that_makes_no_trip():
    def f(n):
        for i in range(n, 0):
            trap(i)
        return n

    require_python(f, range(3))


def test_range_as_an_object():
    assert list(Range(3)) == [0, 1, 2]
    assert Range(5, 5).is_empty
    with pytest.raises(ValueError, match="must not be zero"):
        Range(0, 4, 0)
    with pytest.raises(TypeError, match=r"range: expected integers, but got float 2\.5"):
        Range(2.5)


def test_bounds_that_are_no_integers():
    def f(n):
        for i in range(F32(n)):
            note("{}", i)

    with pytest.raises(TypeError, match="range: expected integers, but got Float32"):
        trace(f, I32)

    def g(n):
        for i in range(0, n, 0):
            note("{}", i)

    with pytest.raises(ValueError, match="must not be zero"):
        trace(g, I32)
