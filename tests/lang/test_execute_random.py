"""Random kernels: plain Python, thread by thread, computes the same, and nothing is found to be wrong with them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_programs import Kernel, gmem, layout, number, write

THREADS = 80  # two warps and a half
VARIABLES = 4
PLACES = 4  # of a fragment

# ---- programs as nested tuples ----

BINARY = ["add", "sub", "mul", "and", "or", "xor", "min", "max", "shl", "shr", "floor_div", "floor_mod", "div", "rem"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]
SCALARS = ["Int8", "Uint8", "Int16", "Uint32", "Int64"]

leaves = st.one_of(
    st.tuples(st.just("variable"), st.integers(0, VARIABLES - 1)),
    st.tuples(st.just("constant"), st.one_of(st.integers(-3, 9), st.integers(-(2**31), 2**31 - 1))),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.just("binary"), st.sampled_from(BINARY), inner, inner),
        st.tuples(st.just("select"), st.sampled_from(COMPARE), inner, inner, inner, inner),
        st.tuples(st.just("cast"), st.sampled_from(SCALARS), inner),
        st.tuples(st.just("unary"), st.sampled_from(["neg", "not", "abs", "popc"]), inner),
    ),
    max_leaves=6,
)
variables = st.integers(0, VARIABLES - 1)
conditions = st.tuples(st.sampled_from(COMPARE), expressions, expressions)
simple = st.one_of(
    st.tuples(st.just("set"), variables, expressions),
    st.tuples(st.just("keep"), expressions, expressions),  # fragment[index & 3] = value
    st.tuples(st.just("take"), variables, expressions),
)
statements = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.tuples(st.just("if"), conditions, st.lists(inner, max_size=3), st.lists(inner, max_size=2)),
        st.tuples(st.just("for"), variables, expressions, expressions, st.lists(inner, max_size=3)),
        st.tuples(st.just("while"), expressions, conditions, st.lists(inner, max_size=3)),
    ),
    max_leaves=5,
)
# Only where all threads are: an exchange through shared memory, by shuffles, or the maximum of all by an atomic.
together = st.one_of(
    st.tuples(st.just("exchange"), variables, st.integers(0, THREADS - 1)),
    st.tuples(st.just("shuffle"), variables, st.integers(1, 15)),
    st.tuples(st.just("most"), variables),
)
programs = st.lists(st.one_of(statements, statements, together), min_size=1, max_size=8)


# ---- plain Python ----


def wrap(value: int, bits: int = 32, signed: bool = True) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def binary(code: str, a: int, b: int) -> int:
    if code in ("floor_div", "floor_mod", "div", "rem"):
        b |= 1  # as the kernel does
        q, r = abs(a) // abs(b), abs(a) % abs(b)
        if code == "div":
            return wrap(q if (a < 0) == (b < 0) else -q)
        if code == "rem":
            return wrap(-r if a < 0 else r)
        return wrap(a // b if code == "floor_div" else a % b)
    if code in ("shl", "shr"):
        b &= 63
        return wrap(a << b if code == "shl" else a >> b) if b < 32 else (-1 if code == "shr" and a < 0 else 0)
    meanings = {"add": a + b, "sub": a - b, "mul": a * b, "and": a & b, "or": a | b, "xor": a ^ b}
    return wrap(meanings[code]) if code in meanings else min(a, b) if code == "min" else max(a, b)


def compare(code: str, a: int, b: int) -> bool:
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[code]


class Thread:
    def __init__(self, values):
        self.values = list(values)
        self.fragment = [0] * PLACES

    def value(self, e):
        kind, *rest = e
        if kind == "variable":
            return self.values[rest[0]]
        if kind == "constant":
            return rest[0]
        if kind == "binary":
            return binary(rest[0], self.value(rest[1]), self.value(rest[2]))
        if kind == "select":
            code, *four = rest
            a, b, x, y = map(self.value, four)
            return x if compare(code, a, b) else y
        if kind == "cast":
            scalar, inner = rest
            return wrap(wrap(self.value(inner), int(scalar.strip("UintI")), scalar[0] == "I"))
        x = self.value(rest[1])
        return {"neg": wrap(-x), "not": ~x, "abs": wrap(abs(x)), "popc": (x & 0xFFFFFFFF).bit_count()}[rest[0]]

    def run(self, statement):
        kind, *rest = statement
        if kind == "set":
            self.values[rest[0]] = self.value(rest[1])
        elif kind == "keep":
            self.fragment[self.value(rest[0]) & 3] = self.value(rest[1])
        elif kind == "take":
            self.values[rest[0]] = self.fragment[self.value(rest[1]) & 3]
        elif kind == "if":
            (code, a, b), then, other = rest
            for inner in then if compare(code, self.value(a), self.value(b)) else other:
                self.run(inner)
        elif kind == "for":
            variable, start, trips, body = rest
            first = self.value(start) & 7
            for i in range(first, first + (self.value(trips) & 3)):
                self.values[variable] = wrap(self.values[variable] + i)
                for inner in body:
                    self.run(inner)
        else:
            trips, (code, a, b), body = rest
            left = self.value(trips) & 3
            while left > 0 and compare(code, self.value(a), self.value(b)):
                for inner in body:
                    self.run(inner)
                left -= 1


def computed(program, inputs):
    threads = [Thread(row) for row in inputs]
    for statement in program:
        kind, *rest = statement
        if kind == "exchange":
            v, by = rest
            before = [t.values[v] for t in threads]
            for i, t in enumerate(threads):
                t.values[v] = before[(i + by) % THREADS]
        elif kind == "shuffle":
            v, by = rest
            before = [t.values[v] for t in threads]
            for i, t in enumerate(threads):
                # Of the half warp at the end, lanes 0 to 15 are there.
                t.values[v] = before[i ^ by]
        elif kind == "most":
            most = max(t.values[rest[0]] for t in threads)
            for t in threads:
                t.values[rest[0]] = most
        else:
            for t in threads:
                t.run(statement)
    return [[*t.values, *t.fragment] for t in threads]


# ---- the same as a kernel ----


class Emitter:
    def __init__(self, k: Kernel):
        self.k = k
        self.t = k.thread()
        self.fragment = k.frame("Int32", PLACES)
        k.store(k.op("splat", k.int32(0), type=number("Int32", PLACES)), self.fragment, layout(PLACES, 1))
        self.values = [
            k.load(k.at(k.parameters[0], k.op("add", k.op("mul", self.t, VARIABLES), v))) for v in range(VARIABLES)
        ]

    def value(self, e):
        k = self.k
        kind, *rest = e
        if kind == "variable":
            return self.values[rest[0]]
        if kind == "constant":
            return k.int32(rest[0])
        if kind == "binary":
            code, a, b = rest[0], self.value(rest[1]), self.value(rest[2])
            if code in ("floor_div", "floor_mod", "div", "rem"):
                b = k.op("or", b, 1)
            if code in ("shl", "shr"):
                b = k.op("and", b, 63)
            return k.op(code, a, b)
        if kind == "select":
            a, b, x, y = map(self.value, rest[1:])
            return k.op("select", k.op(rest[0], a, b), x, y)
        if kind == "cast":
            return k.cast(k.cast(self.value(rest[1]), rest[0]), "Int32")
        return k.op(rest[0], self.value(rest[1]))

    def place(self, index):
        return self.k.at(self.fragment, self.k.op("and", self.value(index), 3))

    def block(self, body):
        """The variables after these statements, which leaves them as they are."""
        before = list(self.values)
        for inner in body:
            self.run(inner)
        after, self.values = self.values, before
        return after

    def run(self, statement):
        k = self.k
        kind, *rest = statement
        if kind == "set":
            self.values[rest[0]] = self.value(rest[1])
        elif kind == "keep":
            k.store(self.value(rest[1]), self.place(rest[0]))
        elif kind == "take":
            self.values[rest[0]] = k.load(self.place(rest[1]))
        elif kind == "if":
            (code, a, b), then, other = rest
            condition = k.op(code, self.value(a), self.value(b))
            self.values = list(k.if_(condition, lambda: self.block(then), lambda: self.block(other)))
        elif kind == "for":
            variable, start, trips, body = rest
            first = k.op("and", self.value(start), 7)
            stop = k.op("add", first, k.op("and", self.value(trips), 3))

            def step(i, *carried):
                outer, self.values = self.values, list(carried)
                self.values[variable] = k.op("add", self.values[variable], i)
                after, self.values = self.block(body), outer
                return after

            self.values = list(k.for_(first, stop, 1, self.values, step))
        elif kind == "while":
            trips, (code, a, b), body = rest

            def before(left, *carried):
                outer, self.values = self.values, list(carried)
                holds = k.op("and", k.op("gt", left, 0), k.op(code, self.value(a), self.value(b)))
                self.values = outer
                return [holds, left, *carried]

            def again(left, *carried):
                outer, self.values = self.values, list(carried)
                after, self.values = self.block(body), outer
                return [k.op("sub", left, 1), *after]

            self.values = list(k.while_([k.op("and", self.value(trips), 3), *self.values], before, again))[1:]
        else:
            self.run_together(kind, *rest)

    def run_together(self, kind, v, by=0):
        k, s = self.k, self.k.shared("Int32")
        if kind == "shuffle":
            mask = k.op("select", k.op("lt", self.t, 64), k.int32(-1), k.int32(0xFFFF))
            self.values[v] = k.op("shuffle_sync", self.values[v], k.int32(by), mask, ints=[31], text="bfly")
        elif kind == "exchange":
            k.store(self.values[v], k.at(s, self.t))
            k.sync()
            self.values[v] = k.load(k.at(s, k.op("floor_mod", k.op("add", self.t, by), THREADS)))
            k.sync()
        else:
            most = k.at(s, k.int32(THREADS))
            k.if_(k.op("eq", self.t, 0), lambda: k.store(k.int32(-(2**31)), most))
            k.sync()
            k.op("atomic", self.values[v], accesses=[most], text="max")
            k.sync()
            self.values[v] = k.load(most)
            k.sync()


def written(program):
    def body(k: Kernel):
        emitter = Emitter(k)
        for statement in program:
            emitter.run(statement)
        row = VARIABLES + PLACES
        out = [*emitter.values, *(k.load(k.at(emitter.fragment, k.int32(j))) for j in range(PLACES))]
        k.store(k.op("pack", *out), k.at(k.parameters[1], k.op("mul", emitter.t, row)), layout(row, 1))

    return write({"a": gmem("Int32", 4), "b": gmem("Int32", 4)}, body, shared_bytes=4 * (THREADS + 1))


@given(programs, st.integers(0, 2**32 - 1))
@settings(max_examples=300)
def test_random_kernels(program, seed):
    rng = np.random.default_rng(seed)
    inputs = (
        rng.choice([rng.integers(-5, 100, 320), rng.integers(-(2**31), 2**31, 320)])
        .astype(np.int32)
        .reshape(-1, VARIABLES)
    )
    expected = np.array(computed(program, inputs.tolist()))
    kernel = written(program)
    for check in (True, False):
        outputs = np.zeros((THREADS, VARIABLES + PLACES), np.int32)
        findings, _ = kernel.run(1, THREADS, inputs, outputs, check=check, seed=seed % 3)
        assert not findings, findings
        np.testing.assert_array_equal(outputs, expected)
