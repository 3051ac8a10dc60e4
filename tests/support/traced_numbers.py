"""Functions traced on numbers, for tests of control flow: what the program computes beside what Python does."""

import itertools

from program_text import Trapped, evaluate, parse
from tilewright import Boolean, Float32, Int32, Int64, _core
from tilewright.lang import carry
from tilewright.lang.rewrite import rewrite
from tilewright.numeric import Numeric

program = _core.program
I32, I64, F32, Bool = Int32, Int64, Float32, Boolean

noted = []


def note(text, *values):
    """A side effect: an operation of the program, which `evaluate` collects, or at the prompt an entry of `noted`."""
    if program.current() is None:
        noted.append((text, *map(_plain, values)))
        return
    symbols = [carry.symbol_of(v, v) for v in values]
    program.current().op("printf", symbols, text=text)


def trap(value=0):
    """What must not be evaluated."""
    if program.current() is None:
        raise Trapped
    program.current().op("trap", ())
    return value


def _plain(value):
    return value._value if isinstance(value, Numeric) else value


class Traced:
    """A program of one function."""

    def __init__(self, text, results):
        self.text = text
        self._body = parse(text)
        self.rebuild = results

    def __call__(self, *values):
        """The results for values of the parameters, and what was noted."""
        return evaluate(self._body, values)

    def value(self, *values):
        return self.rebuild(self(*values)[0])


def trace(function, *kinds, rewritten=True):
    """The program of a function of parameters of these types; its results are the numbers in what it returns."""
    function = rewrite(function) if rewritten else function
    builder = program.Builder()
    with builder:
        symbols = builder.begin_function("f", False, [program.number(kind.__name__) for kind in kinds], [])
        result = function(*(kind(symbol) for kind, symbol in zip(kinds, symbols, strict=True)))
        leaves = []
        rebuild = _flatten(result, leaves)
        builder.end_function(leaves)
        text = str(builder.finish())
    return Traced(text, lambda values: rebuild(iter(values)))


def plain(value):
    """Numbers in a result as Python's."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    return _plain(value)


def require_python(function, *ranges, kinds=None):
    """Trace a function, and compare with Python for all arguments in these ranges: results and notes in order."""
    traced = trace(function, *(kinds or [I32] * len(ranges)))
    for values in itertools.product(*ranges):
        noted.clear()
        expected = plain(function(*values)), list(noted)
        results, notes = traced(*values)
        found = traced.rebuild(results)
        shown = f"{function.__name__}{values}: {found, notes}, Python: {expected}\n{traced.text}"
        assert (found, notes) == expected, shown
    return traced


def _flatten(value, leaves):
    if isinstance(value, (tuple, list)):
        parts = [_flatten(x, leaves) for x in value]
        return lambda values: type(value)(part(values) for part in parts)
    if isinstance(value, Numeric) and value.is_traced:
        leaves.append(value._value)
        return next
    static = _plain(value)
    return lambda values: static
