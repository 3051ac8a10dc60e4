"""What a program computes, read from its text: numbers, control flow, printf, assert and trap, in plain Python."""

import re
import struct

_OP = re.compile(r"(?:(?P<results>%.*?) = )?(?P<code>\w+)(?P<rest>.*?)(?:  // line (?P<line>\d+))?$")
_VALUE = re.compile(r"%[^\s,:()]+")


class Trapped(Exception):
    """The program ran into `trap` or a failing `assert`."""


class _Op:
    def __init__(self, line):
        match = _OP.match(line)
        self.code, rest = match["code"], match["rest"]
        self.line = match["line"] and int(match["line"])
        results = match["results"] or ""
        self.results = re.findall(r"(%[^\s,:()]+): (\w+)", results)
        quote = rest.find('"')
        self.text = rest[quote + 1 : -1] if quote >= 0 else ""
        rest = rest if quote < 0 else rest[:quote]
        self.ints = [int(x) for x in re.findall(r"-?\d+", rest[rest.index("{") :])] if "{" in rest else []
        self.operands = _VALUE.findall(rest)
        self.constant = rest.strip() if self.code == "constant" else None
        self.blocks = []


class _Block:
    def __init__(self, parameters):
        self.parameters = parameters
        self.ops = []
        self.yields = []


def parse(text):
    """The body of the only function of a program's text."""
    stack = []
    for line in map(str.strip, text.splitlines()):
        if not line:
            continue
        if line == "}":
            done = stack.pop()
        elif line.endswith("{") and not stack:
            stack.append(_Block(_VALUE.findall(line)))
        elif line.endswith("{") and re.match(r"(then|else|body|before)\b", line):
            block = _Block(_VALUE.findall(line))
            stack[-1].ops[-1].blocks.append(block)
            stack.append(block)
        elif line.startswith(("yield ", "return ")):
            stack[-1].yields = _VALUE.findall(line)
        else:
            stack[-1].ops.append(_Op(line))
    return done


def evaluate(body, values):
    """(results, notes): what a parsed function returns, and the printf operations that ran with their values."""
    notes = []
    env = dict(zip(body.parameters, values, strict=True))
    _run(body, env, notes)
    return [env[x] for x in body.yields], notes


def _run(block, env, notes):
    for op in block.ops:
        found = _step(op, env, notes)
        for (name, kind), value in zip(op.results, found, strict=True):
            env[name] = _wrap(value, kind)
    return [env[x] for x in block.yields]


def _enter(block, values, env, notes):
    env.update(zip(block.parameters, values, strict=True))
    return _run(block, env, notes)


def _wrap(value, kind):
    if kind == "bool":
        return bool(value)
    if kind[0] == "i":
        half = 1 << (int(kind[1:]) - 1)
        return (value + half) % (2 * half) - half
    return struct.unpack("f", struct.pack("f", value))[0]


_BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floor_div": lambda x, y: x // y,
    "floor_mod": lambda x, y: x % y,
    "xor": lambda x, y: x ^ y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "min": min,
    "max": max,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
}


def _step(op, env, notes):
    operands = [env[x] for x in op.operands]
    if op.code == "constant":
        kind = op.results[0][1]
        return [float(op.constant) if kind[0] == "f" else int(op.constant)]
    if op.code in _BINARY:
        return [_BINARY[op.code](*operands)]
    if op.code == "not":
        return [not operands[0]]
    if op.code == "neg":
        return [-operands[0]]
    if op.code == "cast":
        return operands if op.results[0][1][0] == "f" else [int(operands[0])]
    if op.code == "printf":
        notes.append((op.text, *operands))
        return []
    if op.code == "trap" or (op.code == "assert" and not operands[0]):
        raise Trapped(op.text)
    if op.code == "assert":
        return []
    if op.code == "if":
        return _enter(op.blocks[0 if operands[0] else 1], (), env, notes)
    if op.code == "for":
        start, stop, step, *carried = operands
        while start < stop if step > 0 else start > stop:
            carried = _enter(op.blocks[0], (start, *carried), env, notes)
            start += step
        return carried
    if op.code == "while":
        carried = operands
        for _ in range(10_000):
            going, *carried = _enter(op.blocks[0], carried, env, notes)
            if not going:
                return carried
            carried = _enter(op.blocks[1], carried, env, notes)
        raise Trapped("a while of 10,000 trips")
    raise NotImplementedError(op.code)
