"""Random Python functions of small integers, as source: nested control flow over variables and parts of objects.

Every variable has a value before it is used and stays an integer, so that Python and the program have to agree.
"""

import linecache
import random
from types import SimpleNamespace

VARIABLES = ("a", "b", "c")
TARGETS = (*VARIABLES, "v[0]", "v[1]", "o.p", "t[1]['k']")
NAMES = (*TARGETS, "x", "y")
RESULTS = "a, b, c, v[0], v[1], o.p, t[1]['k']"


class _Writer:
    """Writes one function; `numbers` decides."""

    def __init__(self, numbers):
        self._choice = numbers.choice
        self._loops = 0

    def _expression(self, depth):
        kind = self._choice(["leaf", "leaf", "op", "op", "if", "extreme", "divided", "seen"]) if depth else "leaf"
        if kind == "op":
            return f"({self._expression(depth - 1)} {self._choice('+-*')} {self._expression(depth - 1)})"
        if kind == "if":
            chosen, other = self._expression(depth - 1), self._expression(depth - 1)
            return f"({chosen} if {self._condition(depth - 1)} else {other})"
        if kind == "extreme":
            function = self._choice(["min", "max"])
            return f"{function}({self._expression(depth - 1)}, {self._expression(depth - 1)})"
        if kind == "divided":
            return f"({self._expression(depth - 1)} {self._choice(['//', '%'])} {self._choice([1, 2, 3])})"
        if kind == "seen":
            return f"seen({self._expression(depth - 1)})"
        return self._choice([*NAMES, "(-2)", "1", "3"])

    def _condition(self, depth):
        kinds = ["compare", "compare", "connected", "negated", "chained", "static"]
        kind = self._choice(kinds) if depth else "compare"
        if kind == "connected":
            return f"({self._condition(depth - 1)} {self._choice(['and', 'or'])} {self._condition(depth - 1)})"
        if kind == "negated":
            return f"(not {self._condition(depth - 1)})"
        inner = [self._expression(max(depth - 1, 0)) for _ in range(3)]
        if kind == "chained":
            return f"({inner[0]} <= {inner[1]} < {inner[2]})"
        if kind == "static":
            return self._choice(["True", "False", "FLAG", "(FLAG and x > 0)", "(x > 0 or FLAG)"])
        return f"{inner[0]} {self._choice(['<', '<=', '==', '!=', '>'])} {inner[1]}"

    def _assignment(self):
        kind = self._choice(["plain", "plain", "augmented", "swapped", "noted"])
        target = self._choice(TARGETS)
        if kind == "plain":
            return [f"{target} = ({self._expression(2)}) % 7"]
        if kind == "augmented":
            return [f"{target} {self._choice('+-')}= {self._expression(1)}", f"{target} %= 11"]
        return ["a, b = b, a"] if kind == "swapped" else [f"note('n {{}}', {self._expression(1)})"]

    def _statement(self, depth):
        kinds = ["assign", "if", "if", "for", "index", "while", "python", "call"]
        kind = self._choice(kinds) if depth else "assign"
        if kind == "if":
            lines = [f"if {self._condition(2)}:", *self._inside(depth)]
            if self._choice([True, False]):
                lines += [f"elif {self._condition(1)}:", *self._inside(depth)]
            return [*lines, "else:", *self._inside(depth)] if self._choice([True, False]) else lines
        self._loops += 1
        index = f"i{self._loops}"
        if kind == "for":
            start, stop = self._choice(["", "y, ", "-1, "]), self._choice(["x", "y", "a % 4", "3"])
            return [f"for {index} in range({start}{stop}):", f"    a = (a + {index}) % 5", *self._inside(depth)]
        if kind == "index":  # a variable that has a value before is the index
            lines = [f"for {self._choice(VARIABLES)} in range({self._choice(['x', 'y', '2'])}):", *self._inside(depth)]
            return [*lines, "else:", *self._inside(1)] if self._choice([True, False]) else lines
        if kind == "call":  # a function inside that assigns a variable outside
            head = [f"def g{self._loops}(z):", f"    nonlocal {self._choice(['b', 'c'])}"]
            name = head[1].split()[-1]
            return [
                *head,
                f"    {name} = ({name} + z * {self._choice(NAMES)}) % 7",
                f"g{self._loops}({self._expression(1)})",
            ]
        if kind == "while":
            stop = self._choice(["x", "3", "b % 3"])
            head = f"while {index} < {stop} and {self._condition(1)} and {index} < 4:"
            return [f"{index} = 0", head, f"    {index} += 1", *self._inside(depth)]
        if kind == "python":
            jump = self._choice([[], ["    continue"], ["    break"]])
            jumps = [f"    if {index} == 1:", *("    " + line for line in jump)] if jump else []
            return [f"for {index} in (0, 1, 2):", f"    b = (b + {index}) % 5", *jumps, *self._inside(depth)]
        return self._assignment()

    def _inside(self, depth):
        return ["    " + line for line in self._block(depth - 1)]

    def _block(self, depth):
        return [line for _ in range(self._choice([1, 2, 3])) for line in self._statement(depth)]

    def function(self):
        lines = ["a, b, c = 1, x, y", "v = [0, x]", "o = SimpleNamespace(p=2)", "t = (0, {'k': y})", *self._block(3)]
        for _ in range(self._choice([0, 1, 2])):
            early = [*self._assignment(), f"return {RESULTS}"]
            if self._choice([True, False]):
                early = [
                    f"if {self._condition(1)}:",
                    *("    " + line for line in early),
                    "else:",
                    f"    return {RESULTS}",
                ]
            lines += [f"if {self._condition(1)}:", *("    " + line for line in early), *self._block(1)]
        lines.append(f"return {RESULTS}")
        return "\n".join(["def f(x, y):", *("    " + line for line in lines), ""])


def source(seed):
    """The source of a function f(x, y) of two integers; it calls `note` and `seen`, and reads the static FLAG."""
    return _Writer(random.Random(seed)).function()


def define(source, **scope):
    """The function of a source, which Python finds again."""
    name = f"<random {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope := {**scope, "SimpleNamespace": SimpleNamespace})
    return scope["f"]
