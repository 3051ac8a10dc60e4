"""Programs made by hand: what tracing would give, operation by operation."""

from __future__ import annotations

from contextlib import contextmanager

from tilewright._core import program as core
from tilewright.cute import make_layout

GMEM, SMEM, RMEM, GENERIC = "gmem", "smem", "rmem", "generic"


def number(scalar, lanes=1):
    return core.number(scalar, lanes)


def pointer(scalar, space=GMEM, align=16, swizzle=None):
    return core.pointer(scalar, space, align, swizzle)


class Maker:
    """A builder with its operations as methods: make.add(x, y), make.load((p, layout))."""

    def __init__(self):
        self.builder = core.Builder()

    def __enter__(self):
        self.builder.__enter__()
        return self

    def __exit__(self, *error):
        self.builder.__exit__(*error)

    def __getattr__(self, code):
        code = code.rstrip("_")
        return lambda *operands, **rest: self.builder.op(code, list(operands), **rest)

    def constant(self, scalar, value):
        return self.builder.constant(scalar, value)

    @contextmanager
    def kernel(self, name, threads=(0, 0, 0), shared=0, **parameters):
        """A kernel with these parameters; its function object has them in order."""
        given = self.builder.begin_function(name, True, list(parameters.values()), list(parameters))
        yield given if len(given) != 1 else given[0]
        self.builder.set_function(threads=list(threads), shared_bytes=shared)
        self.builder.end_function()

    def thread(self, axis=0, name=None):
        found = self.builder.op("thread_idx", [], ints=[axis])
        if name:
            self.builder.name(found, name)
        return found

    def block_index(self, axis=0):
        return self.builder.op("block_idx", [], ints=[axis])

    def at(self, base, offset, align=None):
        """base + offset, in elements."""
        t = base.type
        type_ = core.pointer(t.scalar, t.space, align or t.align, t.swizzle)
        return self.builder.op("offset", [base, offset], type=type_)

    def load(self, base, layout=None):
        return self.builder.op("load", accesses=[base if layout is None else (base, layout)])

    def store(self, value, base, layout=None):
        self.builder.op("store", [value], accesses=[base if layout is None else (base, layout)])

    def frame(self, scalar, count, align=4):
        return self.builder.op("frame", type=pointer(scalar, RMEM, align), ints=[count, align])

    def block(self, types, body):
        """A closed block; body(*parameters) gives what it yields."""
        given = self.builder.begin_block(list(types))
        yields = body(*given)
        return self.builder.end_block(list(yields))

    def if_(self, condition, then, otherwise=lambda: ()):
        return self.builder.op("if", [condition], blocks=[self.block([], then), self.block([], otherwise)])

    def for_(self, start, stop, step, inits, body, unroll=0, scalar="Int32"):
        bounds = [x if isinstance(x, core.Symbol) else self.constant(scalar, x) for x in (start, stop, step)]
        types = [number(scalar), *(x.type for x in inits)]
        return self.builder.op(
            "for", [*bounds, *inits], blocks=[self.block(types, body)], ints=[unroll]
        )  # fmt: skip

    def while_(self, inits, before, body):
        types = [x.type for x in inits]
        return self.builder.op("while", list(inits), blocks=[self.block(types, before), self.block(types, body)])

    def finish(self):
        return self.builder.finish()


def layout(shape, stride):
    return make_layout(shape, stride=stride)
