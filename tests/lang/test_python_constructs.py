"""What Python has beside `if` and loops: in a function of a program it means the same, or it is an error that says why.

Each construct is a function of two numbers that are known at run time only, compared with Python for some of them.
"""

from __future__ import annotations

import array
import collections
import contextlib
import functools
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Int32, cute
from traced_numbers import note, require_python

RANGES = (-1, 0, 3), (0, 1, 2)
counter, table = 0, []


class Total:
    value = 0


# ---- what means Python ----


def generators_and_comprehensions(x, y):
    pairs = {k: v + 1 for k, v in (("a", x), ("b", y))}
    values = [v if v > 0 else -v for v in (x, y)]
    if x > y:
        pairs["a"] = 7
    return pairs["a"], pairs["b"], values[0], values[1], sum(v * v for v in (x, y, 3))


def walrus(x, y):
    if (z := x + y) > 1:
        z += 10
    values = [(last := v) for v in (x, y)]
    return z, last, values[0]


def functions_that_assign_in_a_ternary(x, y):
    c = x

    def set_it(value):
        nonlocal c
        c = value
        return value

    a = set_it(5) if x < y else 7
    return a, c


def functions_that_assign_behind_and_or(x, y):
    c = x

    def set_it(value):
        nonlocal c
        c = value
        return value > 0

    if x < y and set_it(5):
        c += 1
    if x > y or set_it(y):
        c += 10
    return c


def functions_that_assign_in_chained_comparisons(x, y):
    c, calls = x, [0]

    def step(value):
        nonlocal c
        c += 10
        calls[0] += 1
        return value

    holds = x < y < step(3) < step(y)
    return c, calls[0], 1 if holds else 0


def functions_that_call_functions_that_assign(x, y):
    c = x

    def inner():
        nonlocal c
        c = 5

    def outer(value):
        if value > 0:
            inner()

    outer(x)
    outer(y)
    return c


def functions_that_assign_in_loops(x, y):
    c = x

    def step():
        nonlocal c
        c = c * 2 + 1
        return c

    for _ in range(y):
        step()
    k = 0
    while k < 3 and step() < 10:
        k += 1
    return c, k


def module_variables_that_a_call_assigns(x, y):
    global counter
    counter = x

    def there(value):
        return assign_counter(value)

    if x < y:
        there(7)
    a = assign_counter(y) if x == 3 else 1
    return counter, a


def assign_counter(value):
    global counter
    counter = value
    return value


def class_attributes_that_a_call_assigns(x, y):
    Total.value = x
    if x < y:
        assign_total(7)
    return Total.value


def assign_total(value):
    Total.value = value


def defaults_are_made_once(x, y):
    def add(value, total=[0]):  # noqa: B006 - that is what is tested
        total[0] = total[0] + value
        return total[0]

    if x > 0:
        add(x)
    a = add(1) if x > y else 0
    return add(y), a


def lambda_defaults(x, y):
    functions = [lambda k, i=i: k + i for i in range(3)]
    c = x
    kept = lambda z, c=c: z + c if z > 0 else c
    c = 100
    return functions[0](x), functions[2](y), kept(y), c


def attributes_of_functions(x, y):
    def f():
        pass

    f.n = 0
    if x > y:
        f.n = 5
    return f.n


def properties_and_operators_with_effects(x, y):
    class Counting:
        def __init__(self):
            self.n = x

        @property
        def up(self):
            self.n = self.n + 1
            return self.n

        def __getitem__(self, key):
            self.n = self.n + key
            return self.n

        def __add__(self, other):
            self.n = self.n * other
            return self.n

    one = Counting()
    a = one.up if x > y else 0
    b = one[5] if x < y else 0
    c = one + 2 if x == y else 0
    return a, b, c, one.n


def classes_inside(x, y):
    class Point:
        k = y

        def larger(self):
            return x if x > self.k else self.k

    if x > y:
        Point.k = 9
    return Point().larger()


def slots(x, y):
    class Pair:
        __slots__ = ("a", "b")

    pair = Pair()
    pair.a, pair.b = x, y
    if x > y:
        pair.a = 7
    for _ in range(y):
        pair.b = pair.b + 1
    return pair.a, pair.b


def augmented_parts(x, y):
    o, calls = SimpleNamespace(a=x, values=[x, y]), [0]

    def first():
        calls[0] += 1
        return 0

    o.values[first()] += 5
    if x > y:
        o.a += 1
        o.values[0] -= 2
    for i in range(y):
        o.a *= 2
        o.values[1] += i
    return o.a, o.values[0], o.values[1], calls[0]


def unpacking(x, y):
    a, *rest = (x, y, 3)
    if x > y:
        rest[0] = 7
    return a, rest[0], rest[1], variadic(*(x, y), c=3)


def variadic(*values, **named):
    return values[0] + values[1] * 2 + named["c"]


def loops_with_else(x, y):
    a = 0
    for _ in range(y):
        a += 1
    else:
        a += 10
    while a < x + 11:
        a += 1
    else:
        a += 100
    return a


def decorators(x, y):
    def plus_one(function):
        @functools.wraps(function)
        def inner(*values):
            return function(*values) + 1

        return inner

    @plus_one
    def positive(z):
        if z > 0:
            return z
        return 0

    return positive(x) + positive(y)


def finally_and_with(x, y):
    @contextlib.contextmanager
    def noted():
        note("in")
        yield 3
        note("out")

    a = 0
    if x > y:
        try:
            a = 1
        finally:
            a += 10
    with noted() as value:
        if x < y:
            a = value
    return a


def and_or_of_numbers(x, y):
    a = x or 5
    b = x and y
    c = x or y or 7
    return a, b, c, (x and 2) + 1


def static_match(x, y):
    match ("a", 2):
        case ("a", n) if n > 1:
            r = x if x > y else n
        case _:
            r = y
    return r


def recursion_that_python_ends(x, y):
    def down(n, value):
        return value if n == 0 else down(n - 1, value + 1 if value > y else value - 1)

    return down(3, x)


SAME = [
    and_or_of_numbers, attributes_of_functions, augmented_parts, class_attributes_that_a_call_assigns, classes_inside,
    decorators, defaults_are_made_once, finally_and_with, functions_that_assign_behind_and_or,
    functions_that_assign_in_a_ternary, functions_that_assign_in_chained_comparisons, functions_that_assign_in_loops,
    functions_that_call_functions_that_assign, generators_and_comprehensions, lambda_defaults, loops_with_else,
    module_variables_that_a_call_assigns, properties_and_operators_with_effects, recursion_that_python_ends, slots,
    static_match, unpacking, walrus,
]  # fmt: skip


@pytest.mark.parametrize("function", SAME, ids=lambda f: f.__name__)
def test_means_python(function):
    require_python(function, *RANGES)


# ---- what is an error ----


def a_comprehension_that_filters(x, y):
    return len([v for v in (x, y) if v > 0])


def a_walrus_behind_and(x, y):
    z = 5
    return z if x > 0 and (z := y) > 0 else 1


def membership(x, y):
    return 1 if x in (0, y) else 2


def match_on_a_number(x, y):
    match x:
        case 0:
            return 1
        case _:
            return y


def a_list_that_grows_in_a_ternary(x, y):
    values = [0]
    _ = values.append(1) if x > y else None
    return len(values)


def a_key_of_one_branch(x, y):
    found = {"a": 0}
    if x > y:
        found["b"] = 1
    return 1 if "b" in found else 2


def a_key_of_a_loop(x, y):
    found = {"a": x}
    for _ in range(y):
        found["b"] = 1
    return len(found)


def an_iterator_that_moves(x, y):
    values = iter([1, 2, 3])
    a = 0
    if x > y:
        a = next(values)
    return a, next(values)


def a_generator_that_moves(x, y):
    def numbers():
        yield 1
        yield 2

    values = numbers()
    for _ in range(y):
        next(values)
    return next(values)


def a_yield_in_a_branch(x, y):
    def numbers():
        if x > y:
            yield 1
        yield 2

    return sum(numbers())


def a_yield_in_a_loop(x, y):
    def numbers():
        for i in range(y):
            yield i + x

    return sum(numbers())


def a_buffer_that_changes(x, y):
    values = bytearray(2)
    if x > y:
        values[0] = 7
    return values[0]


def an_array_that_changes(x, y):
    values = array.array("i", [0])
    if x > y:
        values[0] = 7
    return values[0]


def an_array_of_numpy_that_changes(x, y):
    values = np.zeros(2, int)
    if x > y:
        values[0] = 7
    return int(values[0])


def a_queue_that_grows(x, y):
    values = collections.deque([x])
    if x > y:
        values.append(1)
    return len(values)


def a_module_list_that_grows(x, y):
    if x > y:
        grow_table()
    return len(table)


def grow_table():
    table.append(1)


def a_loop_in_a_function_that_calls_one_that_assigns(x, y):
    c = x

    def step():
        nonlocal c
        c += 1

    def steps():
        for _ in range(y):
            step()

    steps()
    return c


def an_error_that_a_manager_stops(x, y):
    a = 0
    with contextlib.suppress(ValueError):
        if x > y:
            raise ValueError
        a = 2
    return a


def a_caught_error(x, y):
    try:
        if x > y:
            raise ValueError
    except ValueError:
        return 1
    return 2


def a_deleted_variable(x, y):
    a = x
    if x > y:
        del a
    return a


def recursion_without_end(x, y):
    def down(n):
        return 0 if n <= 0 else down(n - 1) + 1

    return down(y)


def a_dynamic_index_of_a_list(x, y):
    return [5, 6, 7][y]


def a_dynamic_key(x, y):
    return {0: 1}.get(x, y)


def sorting(x, y):
    return sorted([x, y])[0]


def conversion_to_int(x, y):
    return int(x) + y


def a_loop_over_a_dynamic_range_object(x, y):
    total = 0
    for i in reversed(range(y)):
        total += i
    return total


ERRORS = {
    a_buffer_that_changes: "values is bytes .* in one branch",
    a_caught_error: "this catches an error of an `if` or a loop that is decided at run time",
    a_comprehension_that_filters: "a comprehension, `in`, `match`, `sorted`, int\\(\\) and bool\\(\\) need a value",
    a_deleted_variable: "a has no value behind this `if`",
    a_dynamic_index_of_a_list: "index\\(Int32\\): the value is known only at run time",
    a_dynamic_key: "a dict or set is looked up while tracing",
    a_generator_that_moves: "changes values from where it stood to further on",
    a_key_of_a_loop: "changes found from 1 elements to 2 elements",
    a_key_of_one_branch: "found is a dict with 'a', 'b' in one branch and a dict with 'a' in the other",
    a_list_that_grows_in_a_ternary: "values is 2 elements in one branch and 1 element in the other",
    a_loop_in_a_function_that_calls_one_that_assigns: "changes c from Int32 to Int32; that happens once",
    a_loop_over_a_dynamic_range_object: "a loop over cutlass.range",
    a_module_list_that_grows: "table is 1 element in one branch and 0 elements in the other",
    a_queue_that_grows: "values is 2 elements in one branch",
    a_walrus_behind_and: "use an `if` statement",
    a_yield_in_a_branch: "`yield` leaves an `if` or a loop that is decided at run time",
    a_yield_in_a_loop: "`yield` leaves an `if` or a loop that is decided at run time",
    an_array_of_numpy_that_changes: "values is bytes .* in one branch",
    an_array_that_changes: "values is bytes .* in one branch",
    an_error_that_a_manager_stops: "this catches an error of an `if`",
    an_iterator_that_moves: "values is where it stood in one branch and further on in the other",
    conversion_to_int: "int\\(Int32\\): the value is known only at run time",
    match_on_a_number: "use an `if` statement",
    membership: "use an `if` statement",
    recursion_without_end: "a recursion ends by a condition known only at run time; while tracing it has no end",
    sorting: "use an `if` statement",
}


@pytest.mark.parametrize("function", ERRORS, ids=lambda f: f.__name__)
def test_is_an_error(function):
    table.clear()
    with pytest.raises((TypeError, UnboundLocalError), match=ERRORS[function]):
        require_python(function, *RANGES)


# ---- functions that never run, and what looking at objects does ----


@pytest.mark.parametrize("decorator", [cute.jit, cute.kernel])
def test_functions_that_calling_does_not_run(decorator):
    with pytest.raises(TypeError, match="waits: calling it runs nothing, for it is async or has a `yield`"):

        @decorator
        async def waits(x):
            return x

    with pytest.raises(TypeError, match="yields: calling it runs nothing"):

        @decorator
        def yields(x):
            yield x


@cute.kernel
def doubled_kernel(x: cute.Tensor, n: Int32):
    t, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(Int32, 4)
    for _ in range(n):
        if t == 0:
            shared[1] = 21
        cute.arch.sync_threads()
        x[t] = (shared[1] * 2).to(Int32) + shared[1].to(Int32)
        cute.arch.sync_threads()


def test_a_loop_does_not_load_what_its_body_loads():
    """`shared[1].to(..)` calls a method of what is loaded: it was loaded in front of the loop, too."""
    x = np.zeros(8, np.int32)
    doubled_kernel(x, 2).launch(block=8)
    assert (x == 63).all()


def test_a_decorated_function_inside_assigns():
    @cute.jit
    def chosen(x: Int32, y: Int32):
        c = x

        @cute.jit
        def set_it(value):
            nonlocal c
            c = 5
            return value

        a = set_it(y) if x < y else x
        return a, c

    assert [[int(v) for v in chosen(*pair)] for pair in ((1, 2), (2, 1))] == [[2, 5], [2, 2]]


def test_a_number_divides_a_vector_as_it_divides_a_number():
    vector = cute.full(2, 5, cutlass.Uint8)
    assert list(vector / -3) == [(cutlass.Uint8(5) / -3).to(float)] * 2
