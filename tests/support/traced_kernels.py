"""Traces a function of numbers and pointers, and runs its program for one thread."""

from __future__ import annotations

from program_evaluator import Memory, evaluate
from tilewright import AddressSpace, Int32, Int64, _core
from tilewright.cute.tensors.traced_pointer import TracedPointer, pointer_type

program = _core.program


class Argument:
    """Memory of a kernel: elements of a type behind a pointer."""

    def __init__(self, dtype, values, memspace=AddressSpace.gmem, alignment=16):
        self.dtype, self.values, self.memspace, self.alignment = dtype, list(values), memspace, alignment

    @property
    def type(self):
        return pointer_type(self.dtype, self.memspace, self.alignment)

    def wrap(self, symbol):
        return TracedPointer(self.dtype, symbol, self.memspace, self.alignment)

    def memory(self):
        return Memory([self.dtype(x) for x in self.values])


def _type_of(x):
    return x.type if isinstance(x, Argument) else program.number(type(x).__name__)


def _wrapped(x, symbol):
    if isinstance(x, Argument):
        return x.wrap(symbol)
    if isinstance(x, (Int32, Int64)):
        return type(x)._make(symbol, x._div)
    return type(x)._of(symbol)


def trace(function, *arguments):
    """What the function gives for symbols in place of the arguments, and the program."""
    with program.Builder() as builder:
        symbols = builder.begin_function("f", True, [_type_of(x) for x in arguments], [])
        result = function(*(_wrapped(x, s) for x, s in zip(arguments, symbols, strict=True)))
        builder.end_function()
        return result, builder.finish()


def run(function, *arguments):
    """Trace and run: the value of what the function gives (numbers, vectors, or a tuple of them), and the memory."""
    memories = [x.memory() if isinstance(x, Argument) else x for x in arguments]
    keys = []

    def traced(*operands):
        result = function(*operands)
        keys.append(_keys(result))
        return result

    _, text = trace(traced, *arguments)
    known = evaluate(text, memories)
    values = _looked_up(keys[0], known)
    return values, [m.elements for m in memories if isinstance(m, Memory)]


def _keys(x):
    if isinstance(x, tuple):
        return tuple(map(_keys, x))
    symbol = getattr(x, "symbol", getattr(x, "_value", None))
    return f"%{symbol.id}" if isinstance(symbol, program.Symbol) else ("known", x)


def _looked_up(x, known):
    if isinstance(x, tuple):
        return x[1] if x and x[0] == "known" else tuple(_looked_up(y, known) for y in x)
    return known[x]
