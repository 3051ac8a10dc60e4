"""Runs the text of a traced function for one thread, by the numbers of the prompt: what tests compare traces with."""

from __future__ import annotations

import operator
import re
from itertools import product
from math import prod

import tilewright as tw

SCALARS = {
    "bool": tw.Boolean,
    "f16": tw.Float16,
    "bf16": tw.BFloat16,
    "f32": tw.Float32,
    "f64": tw.Float64,
    **{f"i{n}": getattr(tw, f"Int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": getattr(tw, f"Uint{n}") for n in (8, 16, 32, 64)},
    "f8E4M3FN": tw.Float8E4M3FN,
    "f8E5M2": tw.Float8E5M2,
}
BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floor_div": operator.floordiv,
    "floor_mod": operator.mod,
    "pow": operator.pow,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "min": tw.min,
    "max": tw.max,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
LINE = re.compile(r"^\s*(?:(%\S+): ([^=]+) = )?(\w+)([^\[\{\"/]*)((?:\[[^\]]*\] ?)*)(?:\{([^}]*)\})?(?: ?\"(.*)\")?")


class Memory:
    """A pointer: a list of elements and a place in it."""

    def __init__(self, elements, place=0):
        self.elements, self.place = elements, place


def truncated(a, b):
    """C's division and remainder."""
    quotient = abs(int(a)) // abs(int(b)) * (1 if (int(a) < 0) == (int(b) < 0) else -1)
    return quotient, int(a) - quotient * int(b)


def kind_of(text):
    scalar, _, lanes = text.strip().partition("x") if re.match(r"\w+x\d+$", text.strip()) else (text.strip(), "", "1")
    return SCALARS[scalar], int(lanes)


def each(function, *operands):
    """Element by element; a scalar is repeated."""
    lengths = {len(x) for x in operands if isinstance(x, list)}
    if not lengths:
        return function(*operands)
    (length,) = lengths
    return [function(*(x[i] if isinstance(x, list) else x for x in operands)) for i in range(length)]


def evaluate(program, values):
    """The values of a program's one function by their names, from those of its parameters."""
    lines = str(program).splitlines()
    names = [name.split(":")[0] for name in re.findall(r"%[^:,]+: ", lines[0])]
    known = dict(zip(names, values, strict=True))
    for line in lines[1:]:
        if line.strip() in ("", "}"):
            continue
        result, kind, code, operands, accesses, ints, text = LINE.match(line).groups()
        numbers = [int(x) for x in ints.split(",")] if ints else []
        places = [access(a, known) for a in re.findall(r"\[([^\]]*)\]", accesses)]
        found = operation(code, kind, operands.split("//")[0], places, numbers, text, known)
        if result:
            known[result] = found
    return known


def access(text, known):
    """The places of an access: (memory, offset) of each element."""
    parts = text.split(" o ")
    memory = known[parts[0]]
    swizzle, extents, strides = (0, 0, 0), [], []
    start = 0
    for part in parts[1:]:
        if part.startswith("S<"):
            swizzle = tuple(int(x) for x in part[2:-1].split(","))
        elif part.startswith("("):
            shape, stride = part.split(":")
            extents = [int(x) for x in shape.strip("()").split(",")]
            strides = [number(x, known) for x in stride.strip("()").split(",")]
        else:
            start = sum(number(x, known) for x in part.split(" + "))
    places = []
    for digits in product(*(range(n) for n in reversed(extents))):
        offset = start + sum(d * s for d, s in zip(reversed(digits), strides, strict=True))
        if swizzle[0]:
            offset = tw.cute.make_swizzle(*swizzle)(offset)
        places.append((memory.elements, memory.place + offset))
    return places


def number(text, known):
    return int(known[text]) if text.startswith("%") else int(text)


def operation(code, kind, operands, places, ints, text, known):
    if code == "constant":
        dtype, _ = kind_of(kind)
        words = operands.split()
        if words[0] == "bits":
            return dtype._of(dtype._decode(int(words[1])))
        return dtype(float(words[0]) if "." in words[0] or not words[0].lstrip("-").isdigit() else int(words[0]))
    x = [known[name.strip()] for name in operands.split(",") if name.strip()]
    if code in BINARY:
        return each(lambda a, b: as_boolean(BINARY[code](a, b)), *x)
    match code:
        case "div" | "rem":
            return each(lambda a, b: divide(code, a, b), *x)
        case "neg" | "abs":
            return each(operator.neg if code == "neg" else abs, x[0])
        case "not":
            return each(operator.invert, x[0])
        case "select":
            return each(lambda c, a, b: a if c else b, *x)
        case "cast":
            return each(lambda a: a.to(kind_of(kind)[0]), x[0])
        case "splat":
            return [x[0]] * kind_of(kind)[1]
        case "pack":
            return x
        case "extract":
            return x[0][int(x[1]) if len(x) > 1 else ints[0]]
        case "shuffle":
            return [x[0][i] for i in ints]
        case "reduce":
            totals = list(x[1]) if isinstance(x[1], list) else [x[1]]
            for element, group in zip(x[0], ints, strict=True):
                totals[group] = BINARY[text](totals[group], element)
            return totals if isinstance(x[1], list) else totals[0]
        case "frame":
            return Memory([None] * ints[0])
        case "offset":
            return Memory(x[0].elements, x[0].place + int(x[1]))
        case "load":
            found = [elements[place] for elements, place in places[0]]
            return found if len(found) > 1 else found[0]
        case "store" | "fill":
            for i, (elements, place) in enumerate(places[0]):
                elements[place] = x[0][i] if isinstance(x[0], list) else x[0]
        case "copy":
            found = [elements[place] for elements, place in places[0]]
            for i, (elements, place) in enumerate(places[1]):
                chosen = len(places) < 3 or places[2][i // ints[1]]
                if chosen is True or (chosen is not False and bool(chosen[0][chosen[1]])):
                    elements[place] = found[i]
        case "fma_tile":
            multiply(places, ints)
        case _ if hasattr(tw.cute.math, code):
            return each(getattr(tw.cute.math, code), *x)
        case _:
            raise NotImplementedError(code)
    return None


def as_boolean(x):
    return tw.Boolean(x) if isinstance(x, bool) else x


def divide(code, a, b):
    if isinstance(a, tw.numeric.Integer):
        return type(a)(truncated(a, b)[code == "rem"])
    return a / b


def multiply(places, ints):
    (d, a, b, c), (_, rows, columns, depth) = places, ints
    assert len(d) == prod((rows, columns))
    for n, m in product(range(columns), range(rows)):
        total = c[m + rows * n][0][c[m + rows * n][1]]
        for k in range(depth):
            left, right = a[m + rows * k], b[n + columns * k]
            total = total + left[0][left[1]] * right[0][right[1]]
        d[m + rows * n][0][d[m + rows * n][1]] = total
