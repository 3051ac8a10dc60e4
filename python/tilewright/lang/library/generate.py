"""Control flow written out, where nothing is rewritten: `if_generate`, `while_generate`, and `yield_out`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import numeric
from tilewright.lang.trace import current, traced
from tilewright.numeric import Boolean, Numeric
from tilewright.numeric.traced import Symbol, symbol_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["if_generate", "while_generate", "yield_out"]


def _symbol(value: Any, dtype: Any) -> Any:
    """A value of the program of this type: of a number, of Python's too."""
    if type(value) is Symbol:
        if value.scalar == dtype.__name__:
            return value
        raise TypeError(f"expected {dtype.__name__}, but got a value of type {value.scalar}")
    number = value if isinstance(value, dtype) else dtype(value)
    return symbol_of(dtype, number._value)


def _dtype_of(value: Any) -> Any:
    if isinstance(value, Numeric):
        return type(value)
    if type(value) is Symbol:
        return getattr(numeric, value.scalar)
    raise TypeError(f"expected numbers of the program, but got {value!r}")


def if_generate(
    cond: Any,
    then_body: Callable[..., Any],
    else_body: Callable[..., Any] | None = None,
    input_args: Sequence[Any] | None = None,
    return_types: Sequence[type[Numeric]] | None = None,
    *,
    loc: object = None,
    ip: object = None,
) -> Any:
    """A branch of the program: both bodies are called once, with input_args, and give values of return_types.

    One value is returned as such, several in a list, None where there are no types. TypeError for a body that gives
    another number of values, RuntimeError outside of a function that is traced.
    """
    builder = traced("if_generate").builder
    types = list(return_types or ())
    if types and else_body is None:
        raise TypeError("if_generate: a branch that gives values needs else_body")
    condition = _symbol(cond, Boolean)
    depth = builder.depth
    blocks = []
    try:
        for name, body in (("then_body", then_body), ("else_body", else_body)):
            builder.begin_block(())
            given = None if body is None else body(*(input_args or ()))
            values = [] if not types else list(given) if isinstance(given, (tuple, list)) else [given]
            if len(values) != len(types):
                raise TypeError(f"if_generate: {name} gives {len(values)} values, but there are {len(types)} types")
            blocks.append(builder.end_block([_symbol(x, kind) for x, kind in zip(values, types, strict=True)]))
    except BaseException:
        builder.abandon(depth)
        raise
    results = builder.op("if", (condition,), blocks=blocks) or ()
    found = [kind._of(x) for x, kind in zip(results, types, strict=True)]
    return None if not found else found[0] if len(found) == 1 else found


class while_generate:
    """A loop of the program: `with while_generate(inputs, condition) as values:` around its body.

    `condition(*values)` says whether there is another trip; the body ends with yield_out(values of the next trip).
    `results` are the values behind the loop. RuntimeError outside of a function that is traced.
    """

    def __init__(
        self, inputs: Sequence[Any], condition: Callable[..., Any], *, loc: object = None, ip: object = None
    ) -> None:
        self._builder = traced("while_generate").builder
        self._types = [_dtype_of(x) for x in inputs]
        self._inits = [_symbol(x, kind) for x, kind in zip(inputs, self._types, strict=True)]
        self._condition = condition
        self._yields: list[Any] | None = None
        self.results: list[Any] = []

    def __enter__(self) -> tuple[Any, ...]:
        builder = self._builder
        self._depth = builder.depth
        kinds = [symbol.type for symbol in self._inits]
        try:
            values = builder.begin_block(kinds)
            test = self._condition(*self._numbers(values))
            self._before = builder.end_block([_symbol(test, Boolean), *values])
        except BaseException:
            builder.abandon(self._depth)
            raise
        traced("while_generate").loops.append(self)
        return tuple(self._numbers(builder.begin_block(kinds)))

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        traced("while_generate").loops.remove(self)
        builder = self._builder
        if kind is not None or self._yields is None:
            builder.abandon(self._depth)
            if kind is None:
                raise RuntimeError("while_generate: the body has to end with yield_out(..)")
            return
        body = builder.end_block(self._yields)
        found = builder.op("while", self._inits, blocks=(self._before, body))
        self.results = self._numbers(found or ())

    def _numbers(self, symbols: Sequence[Any]) -> list[Any]:
        return [kind._of(symbol) for kind, symbol in zip(self._types, symbols, strict=True)]

    def end(self, values: Sequence[Any]) -> None:
        """What the next trip has."""
        if len(values) != len(self._types):
            raise TypeError(f"yield_out: {len(values)} values, but the loop carries {len(self._types)}")
        self._yields = [_symbol(x, kind) for x, kind in zip(values, self._types, strict=True)]


def yield_out(args: Sequence[Any] = (), *, loc: object = None, ip: object = None) -> None:
    """The end of the body of while_generate or for_generate: the values of the next trip.

    TypeError for values in for_generate, which carries none.
    """
    trace = current()
    if trace is not None and trace.loops:
        trace.loops[-1].end(args)
    elif args:
        raise TypeError("yield_out: for_generate carries no values; write the loop over cutlass.range")
