"""What threads of a block do together, where all of them are: shared memory and barriers, shuffles, votes, atomics."""

from __future__ import annotations

from kernel_expressions import Expression
from kernel_statements import Statements
from plain_numbers import operated

SHUFFLED = ("Int32", "Uint32", "Int64", "Uint64", "Float32", "Float64", "Float16", "Int8", "Uint16")
ATOMICS = {"add": "+", "min": "min", "max": "max", "and": "&", "or": "|", "xor": "^"}


class Exchanges(Statements):
    """Statements between threads; `memory` has the lines that allocate what they need."""

    threads = 1
    blocks = 1

    def __init__(self, choices) -> None:
        super().__init__(choices)
        self.memory: list[tuple[str, str]] = []

    def together(self, depth: int = 2) -> None:
        """A statement of all threads of the block."""
        kinds = ["exchange", "exchange", "rows", "tree", "gather", "total", "uniform", "rounds"]
        if self.threads % 32 == 0:
            kinds += ["shuffle", "shuffle", "vote", "redux", "elect", "first"]
        kind = self.pick(kinds)
        if kind in ("uniform", "rounds") and depth == 0:
            kind = "exchange"
        getattr(self, f"_all_{kind}")(depth)

    def sync(self) -> None:
        kinds = ["cute.arch.sync_threads()"]
        if self.threads % 32 == 0:
            kinds += ["cute.arch.barrier()", f"cute.arch.barrier({1 + self.below(3)}, {self.threads})"]
        self.line(self.pick(kinds), "yield")

    def allocate(self, scalar: str, layout: str, more: str = "") -> str:
        name = self.fresh("s")
        self.memory.append(
            (f"{name} = smem.allocate_tensor({scalar}, {layout}{more})", f"{name} = shared.setdefault({name!r}, {{}})")
        )
        return name

    def turn(self) -> tuple[str, str]:
        """Another thread: the same number on, for all."""
        by = self.pick(("1", "n", "b", "3", f"{self.threads - 1}"))
        return f"(t + {by}) % {self.threads}", f"(t + {by}) % {self.threads}"

    # ---- shared memory ----

    def _all_exchange(self, depth: int) -> None:
        """A value of every thread lies in shared memory, by some layout, and another thread takes it."""
        target = self.pick(self.targets)
        n = self.threads
        layouts = [f"cute.make_layout({n})", f"cute.make_layout({n}, stride=2)", f"cute.make_layout(({n}, 2))"]
        even = n % 2 == 0
        if even:
            layouts += [f"cute.make_layout((2, {n // 2}), stride=({n // 2}, 1))"]
        more = ""
        if n % 32 == 0 and self.chance(40):
            if self.below(2) == 0:
                layout = f"cute.make_composed_layout(cute.make_swizzle(2, 0, 3), 0, cute.make_layout({n}))"
            else:
                layout, more = f"cute.make_layout({n})", ", 512, swizzle=cute.make_swizzle(2, 4, 3)"
        else:
            layout = self.pick(layouts)
        s = self.allocate(target.type, layout, more)
        there, at = self.turn()
        second = ", 1" if ", 2))" in layout else ""
        if "(2," in layout and "stride=(" in layout and self.below(2) == 1:  # by two coordinates
            self.line(f"{s}[t % 2, t // 2] = {target.kernel}", f"{s}[t] = {target.plain}")
            self.sync()
            self.line(f"{target.kernel} = {s}[({there}) % 2, ({there}) // 2]", f"{target.plain} = {s}[{at}]")
        else:
            self.line(f"{s}[t{second}] = {target.kernel}", f"{s}[t] = {target.plain}")
            self.sync()
            self.line(f"{target.kernel} = {s}[{there}{second}]", f"{target.plain} = {s}[{at}]")
        self.sync()

    def _all_rows(self, depth: int) -> None:
        """A fragment of every thread."""
        fragment = self.pick(self.fragments)
        n, size = self.threads, fragment.size
        s = self.allocate(fragment.type, f"cute.make_layout(({n}, {size}), stride=({size}, 1))", ", 16")
        there, at = self.turn()
        flat = f"cute.make_tensor({fragment.name}.iterator, cute.make_layout({size}))"
        how = self.below(3)
        if how == 0:
            write, read = f"cute.autovec_copy({flat}, {s}[t, None])", f"cute.autovec_copy({s}[{there}, None], {flat})"
        elif how == 1:
            write = f"{s}[t, None].store({fragment.name}.load().reshape({size}))"
            shape = fragment.shape if len(fragment.shape) > 1 else size
            read = f"{fragment.name}.store({s}[{there}, None].load().reshape({shape}))"
        else:
            write, read = f"cute.basic_copy({flat}, {s}[t, None])", f"cute.basic_copy({s}[{there}, None], {flat})"
        self.line(write, f"{s}[t] = list({fragment.name})")
        self.sync()
        self.line(read, f"{fragment.name}[:] = {s}[{at}]")
        self.sync()

    def _all_tree(self, depth: int) -> None:
        """A reduction over the block: half of the threads in each step."""
        target = self.pick([x for x in self.targets if x.type != "Boolean"])
        s = self.allocate(target.type, f"cute.make_layout({self.threads})")
        symbol = self.pick(("+", "-", "*"))
        self.line(f"{s}[t] = {target.kernel}", f"{s}[t] = {target.plain}")
        self.sync()
        half = 1 << (self.threads - 1).bit_length() - 1 if self.threads > 1 else 1
        step, width = self.fresh("r"), self.fresh("w")
        self.line(f"{width} = {half}" if self.below(2) == 0 else f"{width} = Int32({half})", f"{width} = {half}")
        self.line(f"for {step} in range({half.bit_length()}):")
        self.indent += 1
        self.line(f"if t < {width} and t + {width} < {self.threads}:")
        self.indent += 1
        value = operated(symbol, target.type, f"{s}[t]", f"{s}[t + {width}]")
        self.line(f"{s}[t] = {s}[t] {symbol} {s}[t + {width}]", f"{s}[t] = {value}")
        self.indent -= 1
        self.line(f"{width} = {width} // 2")
        self.sync()
        self.indent -= 1
        self.line(f"{target.kernel} = {s}[0]", f"{target.plain} = {s}[0]")
        self.sync()

    def _all_gather(self, depth: int) -> None:
        """Each thread reads where a value says."""
        target = self.pick(self.targets)
        s = self.allocate(target.type, f"cute.make_layout({self.threads})")
        x = self.of_type(target.type, 1)
        self.line(f"{s}[t] = {x.kernel}", f"{s}[t] = {x.plain}")
        self.sync()
        i = self.index(self.threads, 2)
        self.line(f"{target.kernel} = {s}[{i.kernel}]", f"{target.plain} = {s}[{i.plain}]")
        self.sync()

    def _all_total(self, depth: int) -> None:
        """Atomics on shared memory, or on global memory for the whole grid."""
        how = self.pick(tuple(ATOMICS))
        scalar = self.pick(("Int32", "Uint32"))
        x = self.of_type(scalar, 1)
        value = operated(ATOMICS[how], scalar, "{0}", x.plain)
        if self.below(3) == 0:
            place = ("add", "min", "max", "and", "or", "xor").index(how)
            x = self.to(x, "Int32")
            at = f"total[{place}]"
            value = operated(ATOMICS[how], "Int32", at, x.plain)
            self.line(f"cute.arch.atomic_{how}(total.iterator + {place}, {x.kernel})", f"{at} = {value}")
            return
        s = self.allocate(scalar, "cute.make_layout(2)")
        target = self.pick(self.targets)
        first = self.pick((0, 1, 77))
        self.line("if t == 0:")
        self.indent += 1
        self.line(f"{s}[1] = {first}")
        self.indent -= 1
        self.sync()
        self.line(f"cute.arch.atomic_{how}({s}.iterator + 1, {x.kernel})", f"{s}[1] = {value.format(f'{s}[1]')}")
        self.sync()
        y = self.to(Expression(f"{s}[1]", f"{s}[1]", scalar), target.type)
        self.line(f"{target.kernel} = {y.kernel}", f"{target.plain} = {y.plain}")
        self.sync()

    # ---- all the same way ----

    def _all_uniform(self, depth: int) -> None:
        test = self.pick(("n > 2", "b == 0", "n % 2 == b", "(n > 1 and b == 0)", "(FLAG or n == 3)"))
        self.line(f"if {test}:")
        self.indent += 1
        self.together(depth - 1)
        self.indent -= 1
        if self.below(2) == 1:
            self.line("else:")
            self.indent += 1
            self.statement(1)
            self.together(depth - 1)
            self.indent -= 1

    def _all_rounds(self, depth: int) -> None:
        index = self.fresh("r")
        self.line(f"for {index} in range({self.pick(('n % 3', '2', '1, n'))}):")
        self.indent += 1
        self.variables.append(Expression(index, index, "Int32"))
        self.statement(1)
        self.together(depth - 1)
        self.variables.pop()
        self.indent -= 1

    # ---- warps ----

    def _all_shuffle(self, depth: int) -> None:
        names = [x for x in self.targets if x.type in SHUFFLED]
        if not names:
            return self._all_exchange(depth)
        target = self.pick(names)
        how = self.pick(("bfly", "idx", "up", "down"))
        by = self.pick((1, 2, 5, 16, 31)) if how != "idx" else self.below(32)
        name = "shuffle_sync" if how == "idx" else f"shuffle_sync_{how}"
        self.line(
            f"{target.kernel} = cute.arch.{name}({target.kernel}, {by}"
            + (", mask_and_clamp=0)" if how == "up" else ")"),
            f"{target.plain} = yield {how!r}, {target.plain}, {by}",
        )

    def _all_vote(self, depth: int) -> None:
        test = self.condition(1)
        target = self.pick(self.targets)
        how = self.pick(("ballot", "any", "all"))
        scalar = "Uint32" if how == "ballot" else "Boolean"
        self.line("", f"_vote = yield {how!r}, {test.plain}, 0")
        x = Expression(f"cute.arch.vote_{how}_sync(Boolean({test.kernel}))", "_vote", scalar)
        x = self.to(x, target.type)
        self.line(f"{target.kernel} = {x.kernel}", f"{target.plain} = {x.plain}")

    def _all_redux(self, depth: int) -> None:
        target = self.pick(self.targets)
        scalar = self.pick(("Int32", "Uint32"))
        x = self.of_type(scalar, 1)
        how = self.pick(("add", "min", "max") if scalar == "Int32" else ("add", "min", "max", "and", "or", "xor"))
        self.line("", f"_redux = yield 'redux', {x.plain}, {how}_{scalar}")
        y = Expression(f"cute.arch.warp_redux_sync({x.kernel}, {how!r})", "_redux", scalar)
        y = self.to(y, target.type)
        self.line(f"{target.kernel} = {y.kernel}", f"{target.plain} = {y.plain}")

    def _all_first(self, depth: int) -> None:
        """The first lane's value."""
        target = self.pick(self.targets)
        x = self.of_type("Int32", 1)
        self.line("", f"_first = yield 'idx', {x.plain}, 0")
        y = self.to(Expression(f"cute.arch.make_warp_uniform({x.kernel})", "_first", "Int32"), target.type)
        self.line(f"{target.kernel} = {y.kernel}", f"{target.plain} = {y.plain}")

    def _all_elect(self, depth: int) -> None:
        """One thread of each warp."""
        self.line("with cute.arch.elect_one():", "if t % 32 == 0:")
        self.indent += 1
        self.line("cute.arch.atomic_add(total.iterator + 6, n + 1)", "total[6] = Int32(total[6] + n + 1)")
        self.indent -= 1
