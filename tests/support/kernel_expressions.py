"""Random expressions of kernels, each as a kernel writes it and in plain Python, with every wrap and rounding.

`choices.below(n)` decides; 0 is the simplest choice everywhere.
"""

from __future__ import annotations

import re
from typing import Any

import plain_numbers as plain
from kernel_terms import Expression, Fragment, literal, operand
from plain_numbers import FLOATS, INTEGERS, TYPES, common, converted, is_float, operated, under

COMPARISONS = ("<", "==", "!=", "<=", ">", ">=")
SMALL = (1, 0, 2, 3, -1, 7, -3, 100)
LARGE = (127, 128, 255, 256, -129, 32767, 65535, 2**31 - 1, -(2**31), 2**31, 2**32 + 5)
REALS = (0.5, 1.0, -1.5, 3.0, 0.1, 1e-3, -(2.0**-20), 65504.0, 1e30)
LAYOUTS = (  # static ones, and their sizes
    ("(4,3):(1,4)", 12), ("(4,3):(3,1)", 12), ("(2,(3,2)):(6,(1,3))", 12), ("((2,2),3):((1,8),2)", 12), ("8:3", 8),
    ("(2,2,2):(4,0,1)", 8), ("(5,2):(-2,11)", 10),
)  # fmt: skip
COMPOSITIONS = (
    ("(6,2):(8,2)", "(4,3):(3,1)", 12),
    ("20:2", "(5,4):(4,1)", 20),
    ("(4,4):(4,1)", "(2,4):(8,1)", 8),
    ("(4,6):(6,1)", "(2,3):(2,8)", 6),
)
SWIZZLES = ((2, 0, 3), (1, 1, 2), (3, 0, 3), (2, 1, -3))


class Expressions:
    """Writes expressions over the variables of `variables`, which have a value and keep their type."""

    def __init__(self, choices: Any) -> None:
        self.choices = choices
        self.variables: list[Expression] = []  # that may be read
        self.fragments: list[Fragment] = []
        self.calls: list[tuple[str, tuple[str, ...], str]] = []  # functions: name, types of parameters, of the result
        self.names = 0  # that plain Python needs
        self.rows = 0  # of the inputs
        self.inputs: list[tuple[str, str]] = []  # tensors of (rows, 4): name, type

    # ---- choosing ----

    def below(self, n: int) -> int:
        return int(self.choices.below(n))

    def pick(self, options: Any) -> Any:
        return options[self.choices.below(len(options))]

    def chance(self, percent: int) -> bool:
        return bool(self.choices.below(100) >= 100 - percent)

    # ---- leaves and conversions ----

    def leaf(self) -> Expression:
        return self.pick(self.variables)

    def of_type(self, scalar: str, depth: int) -> Expression:
        """An expression of a type: one that has it, or a conversion."""
        known = [x for x in self.variables if x.type == scalar]
        if known and (depth == 0 or self.chance(30)):
            return self.pick(known)
        return self.to(self.expression(depth), scalar)

    def to(self, x: Expression, scalar: str) -> Expression:
        if x.type == scalar:
            return x
        kernel = f"{scalar}({x.kernel})" if self.below(2) == 0 else f"({x.kernel}).to({scalar})"
        return Expression(kernel, converted(x.plain, x.type, scalar), scalar)

    def literal_beside(self, scalar: str) -> Any:
        if is_float(scalar) or self.chance(10):
            return self.pick(REALS) if self.chance(70) else self.pick(SMALL)
        if self.chance(15) and plain.WIDTHS[scalar] < 64:
            return self.pick(LARGE)
        return self.pick(SMALL)

    def pair(self, depth: int) -> tuple[Expression, Expression, str]:
        """Two operands, one of which may be a Python number, and the type in which both are computed."""
        x = self.expression(depth - 1)
        if self.chance(35):
            number = self.literal_beside(x.type)
            y, scalar = literal(number), plain.beside(x.type, number)
        else:
            y = self.expression(depth - 1)
            scalar = common(x.type, y.type)
        return (y, x, scalar) if self.chance(30) else (x, y, scalar)

    # ---- expressions ----

    def expression(self, depth: int) -> Expression:
        if depth <= 0:
            return self.leaf()
        kind = self.pick(
            ("leaf", "binary", "binary", "convert", "divided", "ternary", "condition", "extreme", "shifted", "unary",
             "element", "input", "layout", "called", "function", "power", "prmt")
        )  # fmt: skip
        return getattr(self, f"_{kind}")(depth)

    def _leaf(self, depth: int) -> Expression:
        return self.leaf()

    def _binary(self, depth: int) -> Expression:
        x, y, scalar = self.pair(depth)
        symbols = ("+", "-", "*", "/") if is_float(scalar) else ("+", "-", "*", "&", "|", "^", "/")
        return self.operate(self.pick(symbols), x, y, scalar)

    def operate(self, symbol: str, x: Expression, y: Expression, scalar: str) -> Expression:
        result = under(symbol, scalar)
        a, b = (operand(one, result) for one in (x, y))
        if symbol in ("min", "max"):
            text = f"{symbol}({x.kernel}, {y.kernel})"
            text = f"({text} + 0.0)" if is_float(result) else text
        else:
            text = f"({x.kernel} {symbol} {y.kernel})"
        return Expression(text, operated(symbol, result, a, b), result)

    def _convert(self, depth: int) -> Expression:
        return self.to(self.expression(depth - 1), self.pick(TYPES))

    def _divided(self, depth: int) -> Expression:
        """A division: by what is odd, or in the arm of a condition that holds where it may be evaluated."""
        x, y = self.expression(depth - 1), self.expression(depth - 1)
        symbol = self.pick(("//", "%"))
        scalar = common(x.type, y.type)
        if not is_float(scalar) and y.type != "Boolean" and self.below(2) == 0:
            y = Expression(f"({y.kernel} | 1)", f"({y.plain} | 1)", y.type)
            return self.operate(symbol, x, y, scalar)
        result = under(symbol, scalar)
        other = self.of_type(result, depth - 1)
        y = self.leaf() if y.plain != y.kernel else y
        if re.search(r"\bg\d+\(", x.kernel):  # it may set the divisor after the condition has looked at it
            x = self.leaf()
        scalar = common(x.type, y.type)
        quotient = self.operate(symbol, x, y, scalar)
        other = self.to(other, quotient.type)
        zero = "0" if self.below(2) == 0 else "0.0" if is_float(y.type) else "0"
        return Expression(
            f"({quotient.kernel} if {y.kernel} != {zero} else {other.kernel})",
            f"({quotient.plain} if {y.plain} != 0 else {other.plain})",
            quotient.type,
        )

    def _ternary(self, depth: int) -> Expression:
        scalar = self.pick(self.variables).type
        test = self.condition(depth - 1)
        x, y = self.of_type(scalar, depth - 1), self.of_type(scalar, depth - 1)
        return Expression(
            f"({x.kernel} if {test.kernel} else {y.kernel})", f"({x.plain} if {test.plain} else {y.plain})", scalar
        )

    def _condition(self, depth: int) -> Expression:
        x = self.condition(depth)
        return Expression(f"(Boolean({x.kernel}) & yes)", f"({x.plain} and yes)", "Boolean")

    def condition(self, depth: int) -> Expression:
        """What an `if` asks; a Python bool in plain Python."""
        kinds = ("compare", "compare", "connected", "negated", "chained", "number", "static")
        kind = self.pick(kinds) if depth > 0 else "compare"
        if kind == "connected":
            word = self.pick(("and", "or"))
            parts = [self.condition(depth - 1) for _ in range(self.pick((2, 2, 3)))]
            return Expression(
                "(" + f" {word} ".join(x.kernel for x in parts) + ")",
                "(" + f" {word} ".join(x.plain for x in parts) + ")",
                "Boolean",
            )
        if kind == "negated":
            x = self.condition(depth - 1)
            return Expression(f"(not {x.kernel})", f"(not {x.plain})", "Boolean")
        if kind == "chained":
            x, y, z = (self.expression(depth - 1) for _ in range(3))
            first, second = self.pick(COMPARISONS), self.pick(COMPARISONS)
            once, again = self.once(y)
            a, b = self.compared(first, x, once), self.compared(second, again, z)
            return Expression(f"({x.kernel} {first} {y.kernel} {second} {z.kernel})", f"({a} and {b})", "Boolean")
        if kind == "number":
            x = self.expression(depth - 1)
            return Expression(x.kernel, f"(({x.plain}) != 0)", "Boolean")
        if kind == "static":
            text = self.pick(("FLAG", "(not FLAG)", "True", "(1 < 2)"))
            return Expression(text, text, "Boolean")
        x, y, scalar = self.pair(max(depth, 1))
        symbol = self.pick(COMPARISONS)
        a, b = operand(x, scalar), operand(y, scalar)
        return Expression(f"({x.kernel} {symbol} {y.kernel})", f"(({a}) {symbol} ({b}))", "Boolean")

    def once(self, x: Expression) -> tuple[Expression, Expression]:
        """An operand that plain Python needs twice and evaluates once."""
        self.names += 1
        name = f"_{self.names}"
        return x._replace(plain=f"({name} := {x.plain})"), x._replace(plain=name)

    def compared(self, symbol: str, x: Expression, y: Expression) -> str:
        scalar = common(x.type, y.type)
        return f"({converted(x.plain, x.type, scalar)}) {symbol} ({converted(y.plain, y.type, scalar)})"

    def _extreme(self, depth: int) -> Expression:
        x, y, scalar = self.pair(depth)
        return self.operate(self.pick(("min", "max")), x, y, scalar)

    def _shifted(self, depth: int) -> Expression:
        x, y = self.integer(depth - 1), self.integer(depth - 1)
        most = self.pick((15, 63))
        y = Expression(f"({y.kernel} & {most})", f"({y.plain} & {most})", y.type)
        return self.operate(self.pick(("<<", ">>")), x, y, common(x.type, y.type))

    def integer(self, depth: int) -> Expression:
        """An expression of an integer type, but not Boolean."""
        x = self.expression(depth)
        return x if x.type in INTEGERS else self.to(x, self.pick(INTEGERS))

    def _unary(self, depth: int) -> Expression:
        symbol = self.pick(("-", "abs", "~", "popc"))
        if symbol == "popc":
            x = self.to(self.expression(depth - 1), self.pick(("Int32", "Uint32", "Int64", "Uint64")))
            mask = (1 << plain.WIDTHS[x.type]) - 1
            return Expression(f"cute.arch.popc({x.kernel})", f"(({x.plain}) & {mask}).bit_count()", "Int32")
        if symbol == "~":
            x = self.integer(depth - 1)
            return Expression(f"(~{x.kernel})", f"{x.type}(~({x.plain}))", x.type)
        x = self.expression(depth - 1)
        if x.type == "Boolean":
            x = self.to(x, "Int32")
        if is_float(x.type):
            return Expression(f"({symbol}({x.kernel}))", f"({symbol}({x.plain}))", x.type)
        return Expression(f"({symbol}({x.kernel}))", f"{x.type}({symbol}({x.plain}))", x.type)

    def index(self, size: int, depth: int, is_known: bool = True) -> Expression:
        """An Int32 of 0 <= i < size; `is_known`: or a Python integer."""
        if is_known and self.chance(30):
            return literal(self.below(size))
        x = self.of_type("Int32", depth)
        return Expression(f"({x.kernel} % {size})", f"({x.plain} % {size})", "Int32")

    def _element(self, depth: int) -> Expression:
        """An element of a fragment, at a coordinate that may be known at run time only."""
        if not self.fragments:
            return self.leaf()
        fragment = self.pick(self.fragments)
        coord, place = self.coordinate(fragment.shape, depth - 1)
        return Expression(f"{fragment.name}[{coord}]", f"{fragment.name}[{place}]", fragment.type)

    def coordinate(self, shape: tuple[int, ...], depth: int) -> tuple[str, str]:
        """A coordinate as a kernel writes it, and its place in colexicographic order."""
        if len(shape) > 1 and self.chance(60):
            parts = [self.index(extent, depth) for extent in shape]
            stride, terms = 1, []
            for part, extent in zip(parts, shape, strict=True):
                terms.append(f"{part.plain} * {stride}")
                stride *= extent
            return ", ".join(x.kernel for x in parts), " + ".join(terms)
        size = 1
        for extent in shape:
            size *= extent
        x = self.index(size, depth)
        return x.kernel, x.plain

    def _input(self, depth: int) -> Expression:
        """An element of a tensor in global memory, through slices, tiles and offsets."""
        if not self.inputs:
            return self.leaf()
        name, scalar = self.pick(self.inputs)
        kind = self.below(7)
        row, column = self.index(self.rows, depth - 1 if kind == 0 else 0), self.index(4, 0)
        at = f"{name}[{row.plain}, {column.plain}].item()"
        text = f"{name}[{row.kernel}, {column.kernel}]"
        if kind == 1:
            text = f"{name}[{row.kernel}, None][{column.kernel}]"
        elif kind == 2:
            text = f"{name}[None, {column.kernel}][{row.kernel}]"
        elif kind == 3:  # tiles of 2 by 2
            tile, inside = self.index(self.rows // 2, 0), self.index(2, 0)
            text = f"cute.local_tile({name}, (2, 2), ({tile.kernel}, 1))[{inside.kernel}, 0]"
            at = f"{name}[{tile.plain} * 2 + {inside.plain}, 2].item()"
        elif kind == 4:
            tile, inside = self.index(self.rows // 2, 0), self.index(2, 0)
            text = f"cute.zipped_divide({name}, (2, 4))[({inside.kernel}, {column.kernel}), ({tile.kernel}, 0)]"
            at = f"{name}[{tile.plain} * 2 + {inside.plain}, {column.plain}].item()"
        elif kind == 5:
            start = self.index(self.rows // 2, 0)
            text = f"cute.domain_offset(({start.kernel}, 0), {name})[1, {column.kernel}]"
            at = f"{name}[{start.plain} + 1, {column.plain}].item()"
        elif kind == 6:
            shape = "(2, 2)"
            inside, other = self.index(2, 0), self.index(2, 0)
            text = (
                f"cute.make_tensor({name}.iterator + cute.crd2idx(({row.kernel}, 0), {name}.layout), "
                f"cute.make_layout({shape}, stride=({name}.stride[1], {name}.stride[1] * 2)))"
                f"[{inside.kernel}, {other.kernel}]"
            )
            at = f"{name}[{row.plain}, {inside.plain} + 2 * {other.plain}].item()"
        return Expression(text, at, scalar)

    def _layout(self, depth: int) -> Expression:
        """What a layout gives for a coordinate that is known at run time only."""
        kind = self.below(6)
        if kind == 0:
            layout, size = self.pick(LAYOUTS)
            i = self.index(size, depth - 1, False)
            return Expression(f"Int32(cute.parse({layout!r})({i.kernel}))", f"at({layout!r}, {i.plain})", "Int32")
        if kind == 1:
            outer, inner, size = self.pick(COMPOSITIONS)
            i = self.index(size, depth - 1, False)
            text = f"Int32(cute.composition(cute.parse({outer!r}), cute.parse({inner!r}))({i.kernel}))"
            return Expression(text, f"at({outer!r}, at({inner!r}, {i.plain}))", "Int32")
        if kind == 2:
            swizzle = self.pick(SWIZZLES)
            layout, size = self.pick([x for x in LAYOUTS if "-" not in x[0]])
            i = self.index(size, depth - 1, False)
            text = f"cute.make_composed_layout(cute.make_swizzle{swizzle}, 0, cute.parse({layout!r}))"
            return Expression(f"Int32({text}({i.kernel}))", f"swizzled({swizzle}, at({layout!r}, {i.plain}))", "Int32")
        if kind == 3:  # extents that are known at run time only
            i, j = self.index(3, depth - 1, False), self.index(4, 0)
            e = self.of_type("Int32", depth - 1)
            extent, value = f"((({e.kernel}) % 5) + 3)", f"((({e.plain}) % 5) + 3)"
            which = self.below(4)
            if which == 0:
                text = f"cute.make_layout(({extent}, 4))(({i.kernel}, {j.kernel}))"
                return Expression(f"Int32({text})", f"linear({value}, {i.plain}, {j.plain})", "Int32")
            if which == 1:
                text = f"cute.make_layout((4, {extent}), stride=({extent}, 1))({i.kernel} * 4 + {j.kernel})"
                return Expression(f"Int32({text})", f"linear({value}, {i.plain}, {j.plain})", "Int32")
            if which == 2:
                text = f"cute.size(cute.make_layout((4, {extent}, 2)))"
                return Expression(f"Int32({text})", f"({value} * 8)", "Int32")
            text = f"cute.cosize(cute.make_layout(({extent}, 4), stride=(4, 1)))"
            return Expression(f"Int32({text})", f"(({value} - 1) * 4 + 4)", "Int32")
        if kind == 4:
            i = self.index(24, depth - 1, False)
            k = self.below(3)
            place = (f"{i.plain} % 4", f"{i.plain} // 4 % 3", f"{i.plain} // 12")[k]
            return Expression(f"Int32(cute.idx2crd({i.kernel}, (4, 3, 2))[{k}])", f"({place})", "Int32")
        a, b = self.of_type("Int32", depth - 1), self.pick((2, 3, 8))
        a = Expression(f"({a.kernel} % 1000)", f"({a.plain} % 1000)", "Int32")
        if self.below(2) == 0:
            return Expression(f"Int32(cute.ceil_div({a.kernel}, {b}))", f"(({a.plain} + {b - 1}) // {b})", "Int32")
        return Expression(f"Int32(cute.round_up({a.kernel}, {b}))", f"(({a.plain} + {b - 1}) // {b} * {b})", "Int32")

    def _called(self, depth: int) -> Expression:
        if not self.calls:
            return self.leaf()
        name, types, result = self.pick(self.calls)
        given = [self.of_type(scalar, depth - 1) for scalar in types]
        return Expression(
            f"{name}({', '.join(x.kernel for x in given)})", f"{name}({', '.join(x.plain for x in given)})", result
        )

    def _function(self, depth: int) -> Expression:
        """Functions of floats that every machine rounds in the same way."""
        scalar = self.pick(FLOATS)
        x = self.of_type(scalar, depth - 1)
        name = self.pick(("sqrt", "floor", "ceil", "fma", "rcp"))
        if name == "rcp":
            return Expression(f"cute.math.rcp({x.kernel})", f"{scalar}(divide(1.0, {x.plain}))", scalar)
        if name == "fma":
            y, z = self.of_type(scalar, depth - 1), self.of_type(scalar, 0)
            text = f"cute.math.fma({x.kernel}, {y.kernel}, {z.kernel})"
            return Expression(text, f"{scalar}(fused({x.plain}, {y.plain}, {z.plain}, {scalar == 'Float64'}))", scalar)
        if name == "sqrt":
            return Expression(f"cute.math.sqrt({x.kernel})", f"{scalar}(sqrt({x.plain}))", scalar)
        return Expression(f"cute.math.{name}({x.kernel})", f"integral(math.{name}, {x.plain})", scalar)

    def _power(self, depth: int) -> Expression:
        x = self.expression(depth - 1)
        if is_float(x.type):
            return self.operate("*", *self.once(x), x.type)._replace(kernel=f"({x.kernel} ** 2)")
        if x.type == "Boolean":
            x = self.to(x, "Int32")
        if self.below(2) == 0:
            times = self.below(6)
            return Expression(f"({x.kernel} ** {times})", operated("**", x.type, x.plain, str(times)), x.type)
        y = self.of_type(x.type, depth - 1)
        return Expression(
            f"({x.kernel} ** ({y.kernel} & 7))", operated("**", x.type, x.plain, f"({y.plain} & 7)"), x.type
        )

    def _prmt(self, depth: int) -> Expression:
        a, b, selector = (self.of_type("Uint32", depth - 1) for _ in range(3))
        return Expression(
            f"cute.arch.prmt({a.kernel}, {b.kernel}, {selector.kernel})",
            f"permuted({a.plain}, {b.plain}, {selector.plain})",
            "Uint32",
        )
