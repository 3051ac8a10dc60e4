"""Random statements of kernels: nested control flow over variables, parts of objects, fragments and vectors.

Every line is written twice: as a kernel has it, and for plain Python. Variables keep their type, as kernels demand.
"""

from __future__ import annotations

from typing import Any

from kernel_expressions import COMPARISONS, Expression, Expressions, Fragment, literal
from plain_numbers import TYPES, beside, common, converted, is_float, operated, under, wrapped

REDUCTIONS = {"ADD": "+", "MUL": "*", "MAX": "max", "MIN": "min"}


class Statements(Expressions):
    """Writes statements into `lines`, which has pairs of a line of the kernel and one of plain Python."""

    def __init__(self, choices: Any) -> None:
        super().__init__(choices)
        self.lines: list[tuple[str, str]] = []
        self.indent = 0
        self.counted = 0
        self.budget = 12
        self.targets: list[Expression] = []  # variables that may be assigned
        self.vectors: list[tuple[str, str]] = []  # TensorSSA variables: name, type
        self.pairs: list[tuple[str, str, str]] = []  # tuples: name, types of its parts

    def line(self, kernel: str | None, other: str | None = None) -> None:
        """A line; the same in plain Python, where nothing else is said."""
        space = "    " * self.indent
        plain = kernel if other is None else other
        self.lines.append((space + kernel if kernel else "", space + plain if plain else ""))

    def fresh(self, prefix: str) -> str:
        self.counted += 1
        return f"{prefix}{self.counted}"

    # ---- blocks ----

    def block(self, depth: int, most: int = 3) -> None:
        self.indent += 1
        for _ in range(1 + self.below(most)):
            self.statement(depth - 1)
        self.indent -= 1

    def statement(self, depth: int) -> None:
        self.budget -= 1
        simple = ("assign", "assign", "augment", "element", "vector", "reduce", "swap", "call", "tuple")
        nested = ("branch", "branch", "loop", "loop", "index", "again", "unrolled", "literal")
        kinds = (*simple, *nested) if depth > 0 and self.budget > 0 else simple
        getattr(self, f"_do_{self.pick(kinds)}")(depth)

    def _do_assign(self, depth: int) -> None:
        target = self.pick(self.targets)
        x = self.of_type(target.type, 2)
        self.line(f"{target.kernel} = {x.kernel}", f"{target.plain} = {x.plain}")

    def _do_augment(self, depth: int) -> None:
        target, x = self.pick(self.targets), self.expression(1)
        symbol = self.pick(("+", "-", "*"))
        if under(symbol, common(target.type, x.type)) != target.type:
            x = self.to(x, target.type)
        if under(symbol, target.type) != target.type:  # of a Boolean
            symbol = "^"
        self.names += 1  # the target is read first
        before = f"_{self.names}"
        value = operated(symbol, target.type, before, converted(x.plain, x.type, target.type))
        self.line(f"{target.kernel} {symbol}= {x.kernel}", f"{before} = {target.plain}; {target.plain} = {value}")

    def _do_element(self, depth: int) -> None:
        fragment = self.pick(self.fragments)
        kind = self.below(4)
        if kind == 3:
            x = self.of_type(fragment.type, 1)
            self.line(f"{fragment.name}.fill({x.kernel})", f"{fragment.name}[:] = [{x.plain}] * {fragment.size}")
            return
        x = self.of_type(fragment.type, 2)
        coord, place = self.coordinate(fragment.shape, 1)
        self.line(f"{fragment.name}[{coord}] = {x.kernel}", f"{fragment.name}[{place}] = {x.plain}")

    def _do_swap(self, depth: int) -> None:
        a = self.pick(self.targets)
        b = self.pick([x for x in self.targets if x.type == a.type])
        self.line(f"{a.kernel}, {b.kernel} = {b.kernel}, {a.kernel}")

    def _do_call(self, depth: int) -> None:
        if not self.calls:
            return self._do_assign(depth)
        x = self._called(1)
        target = self.pick(self.targets)
        x = self.to(x, target.type)
        self.line(f"{target.kernel} = {x.kernel}", f"{target.plain} = {x.plain}")

    def _do_tuple(self, depth: int) -> None:
        name, first, second = self.pick(self.pairs)
        x, y = self.of_type(first, 1), self.of_type(second, 1)
        self.line(f"{name} = ({x.kernel}, {y.kernel})", f"{name} = ({x.plain}, {y.plain})")

    # ---- control flow ----

    def _do_branch(self, depth: int) -> None:
        test = self.condition(2)
        self.line(f"if {test.kernel}:", f"if {test.plain}:")
        self.block(depth)
        if self.chance(25):
            test = self.condition(1)
            self.line(f"elif {test.kernel}:", f"elif {test.plain}:")
            self.block(depth, 2)
        if self.chance(50):
            self.line("else:")
            self.block(depth, 2)

    def _do_literal(self, depth: int) -> None:
        """A Python number at the end of a branch takes the variable's type."""
        target, test = self.pick(self.targets), self.condition(0)
        number = self.pick((1.5, -0.25)) if is_float(target.type) else self.pick((3, 0, 1))
        number = bool(number) if target.type == "Boolean" else number
        self.line(f"if {test.kernel}:", f"if {test.plain}:")
        self.block(depth, 2)
        self.indent += 1
        self.line(f"{target.kernel} = {number!r}")
        self.indent -= 1

    def bound(self, most: int) -> Expression:
        scalar = self.pick(("Int32", "Int32", "Int64", "Uint8"))
        x = self.of_type(scalar, 1)
        return Expression(f"({x.kernel} & {most})", f"({x.plain} & {most})", scalar)

    def _do_loop(self, depth: int) -> None:
        index, x = self.fresh("i"), self.bound(3)
        start = self.pick(("", "1, ", "-1, "))
        kind = self.below(6)
        kernel = plain = ""
        scalar = x.type if x.type != "Uint8" else "Int32"
        if kind in (0, 1):
            kernel, plain = f"range({start}{x.kernel})", f"range({start}{x.plain})"
        elif kind == 2:
            kernel, plain = f"cutlass.range({x.kernel}, unroll=2)", f"range({x.plain})"
        elif kind == 3:
            kernel, plain = f"range(3, Int32({x.kernel}) - 1, -1)", f"range(3, {x.plain} - 1, -1)"
            scalar = "Int32"
        elif kind == 4:
            kernel, plain = f"range(0, 6, Int32({x.kernel}) + 1)", f"range(0, 6, {x.plain} + 1)"
            scalar = "Int32"
        else:
            kernel, plain, scalar = "cutlass.range(3, unroll_full=True)", "range(3)", "Int32"
        self.line(f"for {index} in {kernel}:", f"for {index} in {plain}:")
        self.variables.append(Expression(index, index, scalar))
        self.block(depth)
        self.variables.pop()

    def _do_index(self, depth: int) -> None:
        """A variable that has a value before is the index; after no trip it keeps that."""
        names = [x for x in self.targets if x.type == "Int32" and x.kernel.isidentifier()]
        if not names:
            return self._do_loop(depth)
        target, x = self.pick(names), self.bound(3)
        self.line(f"for {target.kernel} in range(Int32({x.kernel})):", f"for {target.kernel} in range({x.plain}):")
        self.block(depth)

    def _do_again(self, depth: int) -> None:
        depth_of_test = self.below(2)  # a test that Python may decide leaves a Python number a Python number
        count, x, test = self.fresh("k"), self.bound(3), self.condition(depth_of_test)
        self.line(f"{count} = Int32(0)" if depth_of_test else f"{count} = 0", f"{count} = 0")
        self.line(f"while {count} < {x.kernel} and {test.kernel}:", f"while {count} < {x.plain} and {test.plain}:")
        self.indent += 1
        self.line(f"{count} += 1")
        self.indent -= 1
        self.variables.append(Expression(count, count, "Int32"))
        self.block(depth)
        self.variables.pop()

    def _do_unrolled(self, depth: int) -> None:
        """Python's own loop, which may be left."""
        index = self.fresh("j")
        self.line(f"for {index} in cutlass.range_constexpr(3):", f"for {index} in range(3):")
        self.indent += 1
        target = self.pick(self.targets)
        scalar = common(target.type, "Int32") if target.type == "Boolean" else target.type
        value = operated("+", scalar, converted(target.plain, target.type, scalar), index)
        value = value if not is_float(scalar) else f"{scalar}({target.plain} + {index})"
        x = self.to(Expression(f"({target.kernel} + {index})", value, scalar), target.type)
        self.line(f"{target.kernel} = {x.kernel}", f"{target.plain} = {x.plain}")
        jump = self.pick((None, "continue", "break"))
        if jump:
            self.line(f"if {index} == 1:")
            self.indent += 1
            self.line(jump)
            self.indent -= 1
        self.indent -= 1
        self.block(depth, 2)

    # ---- vectors ----

    def lane_leaf(self) -> Expression:
        """A vector; in plain Python the element of number `_l`."""
        names = [*self.vectors, *((f"{x.name}.load()", x.type) for x in self.fragments)]
        name, scalar = self.pick(names)
        return Expression(name, f"{name.removesuffix('.load()')}[_l]", scalar)

    def lanes(self, depth: int) -> Expression:
        if depth == 0:
            return self.lane_leaf()
        kind = self.pick(("leaf", "binary", "binary", "scalar", "where", "to", "neg", "divided", "bits"))
        x = self.lanes(depth - 1)
        if kind == "leaf":
            return x
        if kind == "to":
            return self.lanes_to(x, self.pick(TYPES))
        if kind == "neg":
            x = self.lanes_to(x, "Int32") if x.type == "Boolean" else x
            return Expression(f"(-{x.kernel})", wrapped(x.type, f"-({x.plain})"), x.type)
        if kind == "bits":
            x = self.lanes_to(x, self.pick(("Int32", "Uint64", "Int8")))
            scalar = x.type.replace("Int", "Uint") if x.type[0] == "I" else x.type.replace("Uint", "Int")
            return Expression(f"({x.kernel}).bitcast({scalar})", f"{scalar}({x.plain})", scalar)
        y = self.lanes(depth - 1)
        if kind == "scalar":
            if self.below(2) == 0:
                y = self.leaf()
            else:
                number = self.literal_beside(x.type)
                y, scalar = literal(number), beside(x.type, number)
                symbol = self.pick(("+", "-", "*", "/"))
                return self.operate(symbol, x, y, scalar)
        if kind == "where":
            test = self.lane_test(depth - 1)
            y = self.lanes_to(y, x.type)
            text = f"cute.where({test.kernel}, {x.kernel}, {y.kernel})"
            return Expression(text, f"({x.plain} if {test.plain} else {y.plain})", x.type)
        scalar = common(x.type, y.type)
        if kind == "divided" and not is_float(y.type) and y.type != "Boolean" and not is_float(x.type):
            y = Expression(f"({y.kernel} | 1)", f"({y.plain} | 1)", y.type)
            return self.operate(self.pick(("//", "%")), x, y, scalar)
        symbols = ("+", "-", "*", "/") if is_float(scalar) else ("+", "-", "*", "&", "|", "^")
        return self.operate(self.pick(symbols), x, y, scalar)

    def lanes_to(self, x: Expression, scalar: str) -> Expression:
        if x.type == scalar:
            return x
        return Expression(f"({x.kernel}).to({scalar})", converted(x.plain, x.type, scalar), scalar)

    def lane_test(self, depth: int) -> Expression:
        x, y = self.lanes(depth), self.lanes(depth)
        symbol = self.pick(COMPARISONS)
        return Expression(f"({x.kernel} {symbol} {y.kernel})", f"({self.compared(symbol, x, y)})", "Boolean")

    def listed(self, x: Expression) -> str:
        return f"[{x.plain} for _l in range({self.fragments[0].size})]"

    def _do_vector(self, depth: int) -> None:
        if self.below(2) == 0:
            fragment = self.pick(self.fragments)
            x = self.lanes_to(self.lanes(2), fragment.type)
            self.line(f"{fragment.name}.store({x.kernel})", f"{fragment.name}[:] = {self.listed(x)}")
            return
        name, scalar = self.pick(self.vectors)
        x = self.lanes_to(self.lanes(2), scalar)
        self.line(f"{name} = {x.kernel}", f"{name} = {self.listed(x)}")

    def _do_reduce(self, depth: int) -> None:
        target = self.pick(self.targets)
        kind = self.below(5)
        shape = self.fragments[0].shape
        size = self.fragments[0].size
        if kind == 0:
            test = self.lane_test(1)
            name = self.pick(("any", "all"))
            x = Expression(f"cute.{name}_({test.kernel})", f"{name}({self.listed(test)})", "Boolean")
        elif kind == 1:
            vector = self.lanes(1)
            i = self.index(size, 1)
            x = Expression(f"({vector.kernel})[{i.kernel}]", f"{self.listed(vector)}[{i.plain}]", vector.type)
        elif kind == 2 and len(shape) == 2:
            vector, i, j = self.lanes(1), self.index(shape[0], 0), self.index(shape[1], 0)
            place = f"{i.plain} + {shape[0]} * ({j.plain})"
            text = f"({vector.kernel})[None, {j.kernel}][{i.kernel}]"
            x = Expression(text, f"{self.listed(vector)}[{place}]", vector.type)
        else:
            vector = self.lanes(1)
            vector = self.lanes_to(vector, "Int32") if vector.type == "Boolean" else vector
            how = self.pick(tuple(REDUCTIONS))
            init = self.of_type(vector.type, 1)
            step = operated(REDUCTIONS[how], vector.type, "_x", "_y")
            profile, of = "0", self.listed(vector)
            if kind == 3 and len(shape) == 2:
                row = self.below(shape[0])
                profile, of = f"(None, 1))[{row}", f"{of}[{row}::{shape[0]}]"
            text = f"({vector.kernel}).reduce(cute.ReductionOp.{how}, {init.kernel}, {profile}" + (
                "]" if "[" in profile else ")"
            )
            value = f"functools.reduce(lambda _x, _y: {step}, {of}, {init.plain})"
            if is_float(vector.type) and how in ("MIN", "MAX"):
                text, value = f"({text} + 0.0)", f"({value} + 0.0)"
            x = Expression(text, value, vector.type)
        x = self.to(x, target.type)
        self.line(f"{target.kernel} = {x.kernel}", f"{target.plain} = {x.plain}")


def fragment_text(fragment: Fragment) -> str:
    shape = fragment.shape if len(fragment.shape) > 1 else fragment.shape[0]
    return f"{fragment.name} = cute.make_rmem_tensor({shape}, {fragment.type})"
