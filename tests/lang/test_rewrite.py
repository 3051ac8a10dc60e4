"""A rewritten function is the function: closure, defaults, names, lines, super(), wherever it was written."""

import linecache
import subprocess
import sys
import textwrap
import traceback
from functools import wraps

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from tilewright.lang.rewrite import advice, rewrite
from traced_numbers import I32, require_python, trace

LIMIT = 3


def increment(x, by=2, *rest, scale=1, **more: int) -> int:
    """Adds."""
    return (x + by) * scale if x < LIMIT else len(rest) + len(more)


def test_attributes_are_the_functions():
    increment.mark = "marked"
    new = rewrite(increment)
    assert new is not increment
    for name in (
        "__name__",
        "__qualname__",
        "__module__",
        "__doc__",
        "__defaults__",
        "__kwdefaults__",
        "__annotations__",
    ):
        assert getattr(new, name) == getattr(increment, name)
    assert new.mark == "marked"
    assert new.__globals__ is globals()
    assert new.__code__.co_filename == __file__
    assert new(1, scale=5) == 15
    assert new(7, 1, 2, 3, a=1) == 3


def test_source_is_read_once_for_all_closures():
    def make(n):
        def add(x):
            return x + n if x > 0 else n

        return add

    first, second = rewrite(make(1)), rewrite(make(10))
    assert first.__code__ is second.__code__
    assert (first(1), second(1), second(-1)) == (2, 11, 10)


def test_closure_cells_are_shared():
    count = 0

    def step(x):
        nonlocal count
        if x:
            count += x
        return count

    new = rewrite(step)
    new(3)
    assert count == 3
    count = 10
    assert new(1) == 11


def test_recursion_finds_the_name_as_before():
    def down(x):
        return 0 if x == 0 else down(x - 1) + 1

    original, calls = down, []

    def down(x):
        calls.append(x)
        return original(x)

    assert rewrite(original)(2) == 2
    assert calls == [1, 0]


class Base:
    def size(self):
        return 3


class Derived(Base):
    __factor = 2

    def size(self, flag=True):
        return super().size() * self.__factor if flag else super().size()

    def name(self):
        return Derived.__name__ if self.__factor else __class__.__name__

    @staticmethod
    def twice(x):
        return x * 2 if x > 0 else 0


@pytest.mark.parametrize("flag", [True, False])
def test_methods_keep_super_and_private_names(flag):
    assert rewrite(Derived.size)(Derived(), flag) == (6 if flag else 3)
    assert rewrite(Derived.name)(Derived()) == "Derived"
    assert rewrite(Derived.twice)(3) == 6


class Private:
    def __init__(self):
        self.__total = 0

    def run(self, n):
        __last = n
        for i in range(n):
            self.__total = self.__total + i
            if i > 1:
                __last = i
        return self.__total, __last


def test_private_names_go_round():
    require_python(lambda n: rewrite(Private.run)(Private(), n), range(-1, 5))


def test_super_in_a_branch_of_the_program():
    class Inner(Base):
        def pick(self, x):
            return super().size() + x if x > 0 else super().size() * 2

    inner = Inner()
    require_python(lambda x: rewrite(Inner.pick)(inner, x), range(-2, 3))


def test_decorators_are_left_out():
    calls = []

    def note(function):
        calls.append(function.__name__)

        @wraps(function)
        def call(*args):
            calls.append("call")
            return function(*args)

        return call

    @note
    def half(x):
        return x // 2 if x else 0

    assert rewrite(half.__wrapped__)(8) == 4
    assert calls == ["half"]


def test_functions_inside_are_rewritten_with_the_one_around():
    def outer(x):
        def sign(y):
            if y > 0:
                return 1
            return -1

        choose = lambda y: y if y > 1 else 0
        return rewrite(sign)(x) + choose(x)

    require_python(outer, range(-3, 4))


def test_lambdas():
    one = lambda x: x if x > 0 else -x
    require_python(one, range(-2, 3))
    both = (lambda x: x + 1 if x > 0 else x, lambda x: x - 1 if x > 0 else x)
    if sys.version_info >= (3, 11):
        require_python(both[0], range(-2, 3))
        require_python(both[1], range(-2, 3))


def test_lines_of_errors_are_the_users():
    def fail(x):
        if x > 0:
            y = x
            raise KeyError(y)
        return x

    with pytest.raises(KeyError) as caught:
        rewrite(fail)(1)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].filename == __file__
    assert frames[-1].line == "raise KeyError(y)"
    assert frames[-1].name == "fail"
    assert len(frames) == 2


def test_decorator_over_several_lines_and_strings_at_the_margin():
    def mark(*args):
        return lambda function: function

    @mark(
        1,
        2,
    )
    def text(x):
        return (
            """
a: 1
b"""
            if x > 0
            else "c"
        )

    assert rewrite(text)(1) == "\na: 1\nb"
    assert rewrite(text)(0) == "c"
    assert rewrite(text).__code__ is not text.__code__


def test_a_function_without_source_runs_as_python():
    scope = {}
    exec("def f(x):\n    return x + 1 if x > 0 else 0", scope)
    assert rewrite(scope["f"]) is scope["f"]
    with pytest.raises(
        TypeError, match=r"the control flow of f is Python's, for its source is not found \(Python keeps"
    ):
        trace(scope["f"], I32)


def test_a_function_that_is_not_decorated_says_so():
    def helper(x):
        return 1 if x > 0 else 0

    with pytest.raises(TypeError, match=r"decorate it with @cute.jit"):
        trace(lambda x: helper(x), I32)
    assert "tilewright" not in advice()


def test_exec_with_source_in_linecache():
    source = "def f(x):\n    if x > 0:\n        x = x * 2\n    return x\n"
    linecache.cache["<cell 7>"] = (len(source), None, source.splitlines(True), "<cell 7>")
    scope = {}
    exec(compile(source, "<cell 7>", "exec"), scope)
    traced = require_python(scope["f"], range(-2, 3))
    assert "// line 2" in traced.text


def test_a_file_that_changed_is_not_read(tmp_path):
    source = "def f(x):\n    return 1 if x else 2\n"
    scope = {}
    path = tmp_path / "changed.py"
    path.write_text("def g(y):\n    return 3 if y else 4\n")
    exec(compile(source, str(path), "exec"), scope)
    assert rewrite(scope["f"]) is scope["f"]
    with pytest.raises(TypeError, match="no longer the function that runs"):
        trace(scope["f"], I32)


def test_future_annotations_and_python_without_asserts(tmp_path):
    (tmp_path / "m.py").write_text(
        textwrap.dedent("""
        from __future__ import annotations
        from tilewright.lang.rewrite import rewrite
        def f(x: Unknown) -> Other:
            y: Missing = x
            assert x > 5
            return y if x > 0 else 0
        g = rewrite(f)
        print(g(3), g.__annotations__)
        """)
    )
    run = subprocess.run([sys.executable, "-O", str(tmp_path / "m.py")], capture_output=True, text=True, check=True)
    assert run.stdout == "3 {'x': 'Unknown', 'return': 'Other'}\n"


def nested(depth):
    """A function of so many branches, one in another, of which each may be the program's."""
    lines = ["def deep(x):", "    y = 0"]
    lines += [f"    {'    ' * i}if x != {100 + i}:" for i in range(depth)]
    lines += ["    " * (depth + 1) + "y = x", "    return y"]
    source, name = "\n".join(lines), f"<deep {depth}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {}
    exec(compile(source, name, "exec"), scope)
    return scope["deep"]


def test_branches_nested_deeper_than_python_nests_loops():
    assert rewrite(nested(30))(3) == 3
    require_python(nested(15), range(99, 103))
    with pytest.raises(TypeError, match="stands in too many others: Python nests at most 20"):
        trace(nested(30), I32)


def test_cells_of_a_notebook():
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.run_cell("limit = 2\n\ndef f(x):\n    if x > limit:\n        return x\n    return -x\n").raise_error()
    traced = require_python(shell.user_ns["f"], range(5))
    assert "// line 4" in traced.text
