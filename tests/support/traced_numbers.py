"""The least numbers that a trace needs, for tests of control flow: I32, I64, F32 and Bool hold a Python number or a symbol.

`trace` runs a function on symbols and gives its program as a Python function of numbers.
"""

import itertools
import operator
import sys

from program_text import Trapped, evaluate, parse
from tilewright import _core
from tilewright.lang import carry, control
from tilewright.lang.rewrite import advice, rewrite

program = _core.program


class Number:
    """A number of a scalar type; arithmetic on Python numbers alone wraps as the program's does."""

    def __init__(self, value=0):
        if isinstance(value, Number):
            value = value.value
        if isinstance(value, program.Symbol):
            if value.scalar != self.scalar:
                value = program.current().op("cast", (value,), type=program.number(self.scalar))
        elif self.scalar.startswith("Int"):
            half = 1 << (self.width - 1)
            value = (int(value) + half) % (2 * half) - half
        elif self.scalar == "Boolean":
            value = bool(value)
        else:
            value = float(value)
        self.value = value

    @property
    def is_dynamic(self):
        return isinstance(self.value, program.Symbol)

    def _binary(self, other, code, function, is_comparison=False, swap=False):
        kind = type(self)
        if isinstance(other, Number):
            kind = max(type(self), type(other), key=lambda t: t.rank)
        elif isinstance(other, float) and kind.rank < F32.rank:
            kind = F32
        elif not isinstance(other, (int, float)):
            return NotImplemented
        if kind is Bool and not is_comparison:
            kind = I32
        x, y = kind(self), kind(other)
        if swap:
            x, y = y, x
        result = Bool if is_comparison else kind
        if x.is_dynamic or y.is_dynamic:
            symbols = [carry.symbol_of(v, v) for v in (x, y)]
            return result(program.current().op(code, symbols))
        return result(function(x.value, y.value))

    def __neg__(self):
        return 0 - self

    def __bool__(self):
        if self.is_dynamic:
            raise TypeError(f"bool: a value known only at run time; {advice(sys._getframe(1))}")
        return bool(self.value)

    def __index__(self):
        if self.is_dynamic:
            raise TypeError(f"int: a value known only at run time; {advice(sys._getframe(1))}")
        return int(self.value)

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({self.value!r})"


def _operators():
    for name, code, is_comparison in (
        ("add", "add", False),
        ("sub", "sub", False),
        ("mul", "mul", False),
        ("floordiv", "floor_div", False),
        ("mod", "floor_mod", False),
        ("xor", "xor", False),
        ("lt", "lt", True),
        ("le", "le", True),
        ("gt", "gt", True),
        ("ge", "ge", True),
        ("eq", "eq", True),
        ("ne", "ne", True),
    ):
        function = getattr(operator, name)

        def forward(self, other, code=code, function=function, c=is_comparison):
            return self._binary(other, code, function, c)

        def backward(self, other, code=code, function=function):
            return self._binary(other, code, function, swap=True)

        setattr(Number, f"__{name}__", forward)
        if not is_comparison:
            setattr(Number, f"__r{name}__", backward)


_operators()


class Bool(Number):
    scalar, width, rank = "Boolean", 8, 0


class I32(Number):
    scalar, width, rank = "Int32", 32, 1


class I64(Number):
    scalar, width, rank = "Int64", 64, 2


class F32(Number):
    scalar, width, rank = "Float32", 32, 3


for _kind in (Bool, I32, I64, F32):  # named as the package's own
    _kind.__name__ = _kind.scalar


def register():
    carry.register_leaf(
        Number,
        is_dynamic=lambda x: x.is_dynamic,
        symbol_of=lambda x: x.value if x.is_dynamic else program.current().constant(x.scalar, x.value),
        wrap=lambda symbol, like: type(like)(symbol),
    )
    carry.register_python_numbers({bool: Bool, int: I32, float: F32})
    control.register_builtin(min, lambda x, y: control.if_expression(y < x, lambda: y, lambda: x))
    control.register_builtin(max, lambda x, y: control.if_expression(y > x, lambda: y, lambda: x))


register()


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
    return value.value if isinstance(value, Number) else value


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
        symbols = builder.begin_function("f", False, [program.number(kind.scalar) for kind in kinds], [])
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
        assert (found, notes) == expected, f"{function.__name__}{values}: {found, notes}, Python: {expected}\n{traced.text}"
    return traced


def _flatten(value, leaves):
    if isinstance(value, (tuple, list)):
        parts = [_flatten(x, leaves) for x in value]
        return lambda values: type(value)(part(values) for part in parts)
    if isinstance(value, Number) and value.is_dynamic:
        leaves.append(value.value)
        return next
    static = value.value if isinstance(value, Number) else value
    return lambda values: static
