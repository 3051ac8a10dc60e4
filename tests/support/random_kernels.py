"""Random kernels, each with plain Python beside it: sources, arguments, what Python computes, and what the CPU does."""

from __future__ import annotations

import functools
import linecache
import math
import random
import re
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

import plain_numbers
import tilewright as cutlass
from drawing import integers
from kernel_exchanges import Exchanges
from kernel_statements import fragment_text
from kernel_terms import Expression, Fragment
from plain_numbers import FLOATS, TYPES, converted, is_float
from plain_threads import run_grid
from tilewright import cute

STORED = ("Int32", "Float32", "Int8", "Int16", "Int64", "Uint8", "Uint16", "Uint32", "Uint64", "Float16", "Float64")
SHAPES = ((8,), (2, 4), (4, 2), (2, 2, 2))
BLOCKS = ((4, 1), (2, 2), (1, 1), (7, 1), (32, 1), (8, 4), (33, 1), (64, 1))
SIZE = 8  # elements of a fragment


class Random:
    """Choices by a generator of random numbers."""

    def __init__(self, seed: int) -> None:
        self.below = random.Random(seed).randrange


class Drawn:
    """Choices that Hypothesis makes, and shrinks."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def below(self, n: int) -> int:
        return int(self.draw(integers(0, n - 1)))


@dataclass
class State:
    """What kernels carry round as an object."""

    p: Any
    q: Any


class Program:
    """A kernel as source, and as plain Python."""

    def __init__(self, choices: Any) -> None:
        self.writer = writer = Exchanges(choices)
        pick = writer.pick
        self.block = pick(BLOCKS)
        writer.threads = self.threads = self.block[0] * self.block[1]
        writer.blocks = self.blocks = pick((1, 2))
        self.seed = writer.below(1 << 16)
        self.flag = bool(writer.below(2))
        self.rows = writer.rows = max(self.threads * self.blocks, 4)
        writer.inputs = [(f"x{i}", pick(STORED)) for i in range(pick((1, 2, 3)))]
        self.inputs = list(writer.inputs)
        self.orders = [pick("CF") for _ in self.inputs]
        self._helpers()
        self._body()
        self.source, self.plain = self._texts()

    # ---- writing ----

    def _helpers(self) -> None:
        """Functions under @cute.jit with early returns, of numbers."""
        writer = self.writer
        known, inputs, writer.inputs = writer.variables, writer.inputs, []
        for _ in range(writer.below(3)):
            name, types, result = writer.fresh("h"), tuple(writer.pick(TYPES) for _ in "pq"), writer.pick(TYPES)
            writer.variables = [Expression(x, x, kind) for x, kind in zip("pq", types, strict=True)]
            writer.variables.append(Expression("yes", "yes", "Boolean"))
            writer.line("@cute.jit", "")
            writer.line(f"def {name}(p, q, yes):")
            writer.indent += 1
            for _ in range(writer.below(3)):
                test = writer.condition(2)
                writer.line(f"if {test.kernel}:", f"if {test.plain}:")
                x = writer.of_type(result, 2)
                writer.indent += 1
                writer.line(f"return {x.kernel}", f"return {x.plain}")
                writer.indent -= 1
            x = writer.of_type(result, 2)
            writer.line(f"return {x.kernel}", f"return {x.plain}")
            writer.indent -= 1
            writer.calls.append((name, (*types, "Boolean"), result))
        writer.variables, writer.inputs = known, inputs
        self.helpers, writer.lines = writer.lines, []

    def _body(self) -> None:
        writer = self.writer
        writer.indent = 1
        variables = writer.variables
        for name, scalar in (("n", "Int32"), ("m", "Int64"), ("h", "Float32"), ("t", "Int32"), ("b", "Int32")):
            variables.append(Expression(name, name, scalar))
        before = list(variables)
        for name in "acde":
            x = writer.of_type(writer.pick(TYPES), 1)
            writer.line(f"{name} = {x.kernel}", f"{name} = {x.plain}")
            writer.targets.append(Expression(name, name, x.type))
        first, second, third = (writer.pick(TYPES) for _ in range(3))
        if writer.below(2) == 1:
            x, y = writer.of_type(first, 1), writer.of_type(second, 1)
            writer.line(f"li = [{x.kernel}, {y.kernel}]", f"li = [{x.plain}, {y.plain}]")
            writer.targets += [Expression("li[0]", "li[0]", first), Expression("li[1]", "li[1]", second)]
            x, y = writer.of_type(second, 1), writer.of_type(third, 1)
            writer.line(f"st = State({x.kernel}, {y.kernel})", f"st = State({x.plain}, {y.plain})")
            writer.targets += [Expression("st.p", "st.p", second), Expression("st.q", "st.q", third)]
            x = writer.of_type(third, 1)
            writer.line(f"ob = SimpleNamespace(d={{'k': {x.kernel}}})", f"ob = SimpleNamespace(d={{'k': {x.plain}}})")
            writer.targets.append(Expression("ob.d['k']", "ob.d['k']", third))
        x, y = writer.of_type(first, 1), writer.of_type(third, 1)
        writer.line(f"pr = ({x.kernel}, {y.kernel})", f"pr = ({x.plain}, {y.plain})")
        writer.pairs.append(("pr", first, third))
        parts = [Expression("pr[0]", "pr[0]", first), Expression("pr[1]", "pr[1]", third)]
        variables[:] = [*before, *writer.targets, *parts]
        variables += [Expression(name, name, "Int32") for name in ("lane", "warp", "wide", "many")]
        self._fragments()
        self._closures()
        for _ in range(1 + writer.below(4)):
            for _ in range(writer.below(3)):
                writer.statement(3)
            writer.together() if writer.chance(60) else writer.statement(3)
        if writer.chance(20):
            test = writer.condition(1)
            writer.line(f"if {test.kernel}:", f"if {test.plain}:")
            writer.indent += 1
            writer.line("return")
            writer.indent -= 1
        self._results(parts)

    def _fragments(self) -> None:
        writer = self.writer
        shape = writer.pick(SHAPES)
        for i in range(1 + writer.below(2)):
            fragment = Fragment(f"f{i}", writer.pick(TYPES), shape)
            x = writer.of_type(fragment.type, 1)
            writer.line(fragment_text(fragment), "")
            writer.line(f"{fragment.name}.fill({x.kernel})", f"{fragment.name} = [{x.plain}] * {SIZE}")
            writer.fragments.append(fragment)
        first = writer.fragments[0]
        writer.line(f"v = {first.name}.load()", f"v = list({first.name})")
        writer.vectors.append(("v", first.type))

    def _closures(self) -> None:
        """Functions inside the kernel that assign its variables."""
        writer = self.writer
        for _ in range(writer.below(3)):
            name, scalar, result = writer.fresh("g"), writer.pick(TYPES), writer.pick(TYPES)
            target = writer.pick([x for x in writer.targets if x.kernel.isidentifier()])
            writer.line(f"def {name}(z):")
            writer.indent += 1
            writer.line(f"nonlocal {target.kernel}")
            writer.variables.append(Expression("z", "z", scalar))
            x = writer.of_type(target.type, 2)
            writer.line(f"{target.kernel} = {x.kernel}", f"{target.plain} = {x.plain}")
            x = writer.of_type(result, 1)
            writer.line(f"return {x.kernel}", f"return {x.plain}")
            writer.variables.pop()
            writer.indent -= 1
            writer.calls.append((name, (scalar,), result))

    def _results(self, parts: list[Expression]) -> None:
        """Integers go to one tensor, floats to another, both wide; vectors likewise; the first fragment as it is."""
        writer = self.writer
        counts = {"Int64": 0, "Float64": 0}

        def store(x: Expression) -> None:
            wide = "Float64" if is_float(x.type) else "Int64"
            out = {"Int64": "oi", "Float64": "of"}[wide]
            writer.line(
                f"{out}[row, {counts[wide]}] = {wide}({x.kernel})",
                f"{out}[row, {counts[wide]}] = {converted(x.plain, x.type, wide)}",
            )
            counts[wide] += 1

        for x in [*writer.targets, *parts]:
            store(x)
        tiles = {"Int64": 0, "Float64": 0}
        vectors = [(f"{x.name}.load()", x.name, x.type) for x in writer.fragments]
        for kernel, plain, scalar in [*vectors, *((name, name, scalar) for name, scalar in writer.vectors)]:
            wide = "Float64" if is_float(scalar) else "Int64"
            out, at = {"Int64": "vi", "Float64": "vf"}[wide], tiles[wide]
            row = f"cute.local_tile({out}, (1, {SIZE}), (row, {at}))[0, None]"
            writer.line(
                f"{row}.store(({kernel}).to({wide}).reshape({SIZE}))",
                f"{out}[row, {at * SIZE}:{at * SIZE + SIZE}] = [{converted('x', scalar, wide)} for x in {plain}]",
            )
            tiles[wide] += 1
        fragment = writer.fragments[0]
        self.stored = fragment.type if fragment.type in STORED else None
        if self.stored:
            flat = f"cute.make_tensor({fragment.name}.iterator, cute.make_layout({SIZE}))"
            writer.line(
                f"cute.autovec_copy({flat}, cute.local_tile(y, (1, {SIZE}), (row, 0))[0, None])",
                f"y[row, :] = {fragment.name}",
            )
        self.columns = [max(1, x) for x in counts.values()] + [SIZE * max(1, x) for x in tiles.values()]

    def _texts(self) -> tuple[str, str]:
        writer, x = self.writer, [name for name, _ in self.inputs]
        names = ["n", "m", "h", *x, "total", "oi", "of", "vi", "vf", *(["y"] if self.stored else [])]
        types = {"n": "Int32", "m": "Int64", "h": "Float32"}
        taken = ", ".join(f"{name}: {types.get(name, 'cute.Tensor')}" for name in names)
        kernel = [line for line, _ in self.helpers if line]
        kernel += ["@cute.kernel", f"def random_kernel({taken}):"]
        if self.block[1] == 1:
            kernel += ["    t, _, _ = cute.arch.thread_idx()"]
        else:
            kernel += ["    tx, ty, _ = cute.arch.thread_idx()", f"    t = tx + ty * {self.block[0]}"]
        kernel += ["    b, _, _ = cute.arch.block_idx()", f"    row = b * {self.threads} + t", "    yes = n >= 0"]
        kernel += ["    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()"]
        kernel += ["    wide, many = cute.arch.block_dim()[0], cute.arch.grid_dim()[0]"]
        if writer.memory:
            kernel += ["    smem = cutlass.utils.SmemAllocator()", *(f"    {line}" for line, _ in writer.memory)]
        kernel += [line for line, _ in writer.lines if line]
        kernel += ["@cute.jit", f"def launch({taken}):"]
        grid = f"grid=[{self.blocks}, 1, 1], block=[{self.block[0]}, {self.block[1]}, 1]"
        kernel += [f"    random_kernel({', '.join(names)}).launch({grid})"]
        plain = [line for _, line in self.helpers if line]
        plain += [f"def thread(b, t, shared, {', '.join(names)}):", f"    row, yes = b * {self.threads} + t, True"]
        plain += [f"    lane, warp, wide, many = t % 32, t // 32, {self.block[0]}, {self.blocks}"]
        plain += [f"    {line}" for _, line in writer.memory]
        plain += [line for _, line in writer.lines if line] + ["    return", "    yield"]
        return "\n".join([*kernel, ""]), "\n".join([*plain, ""])

    # ---- running ----

    @functools.cached_property
    def launch(self) -> Any:
        """The host function of the kernel."""
        name = f"<random kernel {hash(self.source)}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        scope = {**vars(cutlass), "cute": cute, "cutlass": cutlass, "State": State, "FLAG": self.flag}
        scope["SimpleNamespace"] = SimpleNamespace
        exec(compile(self.source, name, "exec"), scope)
        return scope["launch"]

    @functools.cached_property
    def compiled(self) -> Any:
        return cute.compile(self.launch, *self.arguments())

    def arguments(self) -> list[Any]:
        """New arguments, the same each time."""
        rng = np.random.default_rng(self.seed)
        found: list[Any] = [int(rng.integers(0, 5)), int(rng.integers(-(2**40), 2**40)), float(rng.choice(REALS))]
        for (_, scalar), order in zip(self.inputs, self.orders, strict=True):
            found.append(np.asarray(_values(rng, scalar, (self.rows, 4)), order=order))
        found.append(np.zeros(8, np.int32))
        kinds = (np.int64, np.float64) * 2
        found += [np.full((self.rows, count), -7, kind) for count, kind in zip(self.columns, kinds, strict=True)]
        if self.stored:
            found.append(np.full((self.rows, SIZE), 77, self.stored.lower()))
        return found

    def computed(self) -> list[np.ndarray]:
        """What plain Python leaves in the tensors."""
        scope = {**vars(plain_numbers), "State": State, "SimpleNamespace": SimpleNamespace, "FLAG": self.flag}
        scope |= {"functools": functools, "math": math, **REDUCED}
        exec(compile(self.plain, "<plain>", "exec"), scope)
        arguments = self.arguments()
        arguments[2] = plain_numbers.Float32(arguments[2])
        start, results = scope["thread"], arguments[3:]
        totals = results[len(self.inputs)].tolist()
        results[len(self.inputs)] = totals
        run_grid(self.blocks, self.threads, lambda b, t, shared: start(b, t, shared, *arguments[:3], *results))
        results[len(self.inputs)] = np.array(totals, np.int32)
        return results

    def executed(self, *, check: bool = True, seed: int = 0) -> list[np.ndarray]:
        """What the CPU's execution leaves in the tensors; KernelError for what it finds to be wrong."""
        arguments = self.arguments()
        with cute.on_cpu(check=check, seed=seed):
            self.compiled(*arguments)
        return arguments[3:]

    def __str__(self) -> str:
        return f"# FLAG = {self.flag}, block {self.block}, blocks {self.blocks}\n{self.source}\n{self.plain}"


REALS = (0.0, -0.0, 1.0, -2.5, 3.75, 0.1, 1e-7, 65519.0, 65520.0, -1e10, 3e38, math.inf, -math.inf, math.nan, 1e-41)


def _reduced() -> dict[str, Any]:
    hows: dict[str, Any] = {"add": sum, "min": min, "max": max}
    for name in ("and", "or", "xor"):
        function = {"and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y}[name]
        hows[name] = functools.partial(functools.reduce, function)

    def fitted(how: Any, scalar: str) -> Any:
        return lambda values: getattr(plain_numbers, scalar)(how(values))

    return {f"{name}_{scalar}": fitted(how, scalar) for name, how in hows.items() for scalar in ("Int32", "Uint32")}


REDUCED = _reduced()


def _values(rng: Any, scalar: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = np.dtype(scalar.lower())
    if scalar in FLOATS:
        with np.errstate(all="ignore"):
            plain = np.asarray(rng.integers(-8, 8, shape) / 4)
            return np.where(rng.random(shape) < 0.3, rng.choice(REALS, shape), plain).astype(kind)
    limits = np.iinfo(kind)
    wide = rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
    small = rng.integers(0 if limits.min == 0 else -5, 20, shape).astype(kind)
    return np.where(rng.random(shape) < 0.4, wide, small)


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    """Whether all bits agree; one NaN is as good as another."""
    return all(_same(x, y) for x, y in zip(found, expected, strict=True))


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    if x.dtype.kind == "f":
        nan = np.isnan(x) & np.isnan(y)
        bits = f"u{x.itemsize}"
        return bool(np.all(nan | (np.ascontiguousarray(x).view(bits) == np.ascontiguousarray(y).view(bits))))
    return bool(np.array_equal(x, y))


def opcodes_of(program: Program) -> Counter[str]:
    """How often a program has each operation."""
    return Counter(re.findall(r"^ +(?:%.* = )?(\w+)\b", str(program.compiled.program), re.MULTILINE))
