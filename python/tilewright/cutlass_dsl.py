"""Names of `cutlass.cutlass_dsl`: what functions that extend the language are written with."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright._core import program
from tilewright._core.cuda import DriverError as DSLCudaRuntimeError
from tilewright._names import names_of
from tilewright.lang.carry.values import extract_mlir_values, new_from_mlir_values
from tilewright.lang.functions import and_, const_expr, for_generate, not_, or_
from tilewright.lang.functions import max_ as max
from tilewright.lang.functions import min_ as min
from tilewright.lang.functions import range_ as range
from tilewright.lang.library.generate import if_generate, while_generate, yield_out
from tilewright.numeric import (
    BFloat16,
    Boolean,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Numeric,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright._core.program import Type

    F = TypeVar("F", bound=Callable[..., object])

__all__ = [
    "BFloat16",
    "Boolean",
    "DSLCudaRuntimeError",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Numeric",
    "T",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "and_",
    "const_expr",
    "dsl_user_op",
    "extract_mlir_values",
    "for_generate",
    "if_generate",
    "max",
    "min",
    "new_from_mlir_values",
    "not_",
    "or_",
    "range",
    "while_generate",
    "yield_out",
]


def _type(name: str) -> Callable[[], Type]:
    return staticmethod(lambda: program.number(name))


class T:
    """The types of numbers, as results of inline assembly.

    >>> print(T.i32(), T.f32(), T.bool())
    i32 f32 bool
    """

    bool = _type("Boolean")
    i8, i16, i32, i64 = map(_type, ("Int8", "Int16", "Int32", "Int64"))
    f16, bf16, f32, f64 = map(_type, ("Float16", "BFloat16", "Float32", "Float64"))


def dsl_user_op(function: F) -> F:
    """A function that extends the language, with the keyword-only parameters loc and ip, which a caller may leave out.

    Here operations know their lines by themselves, so both are None.

    >>> @dsl_user_op
    ... def where(*, loc, ip):
    ...     return loc, ip
    >>> where()
    (None, None)
    """
    parameters = inspect.signature(function).parameters.values()
    needed = [p.name for p in parameters if p.name in ("loc", "ip") and p.default is p.empty]
    if not needed:
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**dict.fromkeys(needed), **kwargs})

    return called  # type: ignore[return-value]


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
