"""Atomics: each reads an element and changes it in one step, whatever other threads do meanwhile.

By themselves they order nothing but accesses of their own element. `sem` makes one a message: "release" shows what its
thread did before to those whose "acquire" sees it; `scope` says how far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tilewright._core.program import Symbol
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.traced_pointer import pointer_of
from tilewright.lang import stepping
from tilewright.lang.trace import current
from tilewright.numeric.traced import emit, symbol_of

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor
    from tilewright.numeric import Numeric

    Value: TypeAlias = Numeric | float

Sem: TypeAlias = 'Literal["relaxed", "acquire", "release", "acq_rel"] | None'
Scope: TypeAlias = 'Literal["cta", "cluster", "gpu", "sys"] | None'

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exch",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
]

_ORDERS = {None: 0, "relaxed": 0, "acquire": 1, "release": 2, "acq_rel": 3}
_SCOPES = {None: 0, "cta": 1, "cluster": 2, "gpu": 2, "sys": 3}
_LEAST_BITS, _MOST_BITS = 16, 64


def atomic_add(
    ptr: Pointer | Tensor, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None, ip: object = None
) -> Numeric:
    """Add to an element in one step; the value before."""
    return _atomic("add", ptr, (val,), sem, scope)


def atomic_min(
    ptr: Pointer | Tensor, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None, ip: object = None
) -> Numeric:
    """Keep the smaller of an element and a value; the value before."""
    return _atomic("min", ptr, (val,), sem, scope)


def atomic_max(
    ptr: Pointer | Tensor, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None, ip: object = None
) -> Numeric:
    """Keep the greater of an element and a value; the value before."""
    return _atomic("max", ptr, (val,), sem, scope)


def atomic_and(
    ptr: Pointer | Tensor, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None, ip: object = None
) -> Numeric:
    """Keep the bits that a value has, too; the value before."""
    return _atomic("and", ptr, (val,), sem, scope)


def atomic_or(
    ptr: Pointer | Tensor, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None, ip: object = None
) -> Numeric:
    """Set the bits of a value; the value before."""
    return _atomic("or", ptr, (val,), sem, scope)


def atomic_xor(
    ptr: Pointer | Tensor, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None, ip: object = None
) -> Numeric:
    """Flip the bits of a value; the value before."""
    return _atomic("xor", ptr, (val,), sem, scope)


def atomic_exch(
    ptr: Pointer | Tensor, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None, ip: object = None
) -> Numeric:
    """Store a value; the value before."""
    return _atomic("exch", ptr, (val,), sem, scope)


def atomic_cas(
    ptr: Pointer | Tensor, cmp: Value, val: Value, *, sem: Sem = None, scope: Scope = None, loc: object = None,
    ip: object = None,
) -> Numeric:  # fmt: skip
    """Store a value where the element is equal to `cmp`; the value before."""
    return _atomic("cas", ptr, (val, cmp), sem, scope)


def _atomic(kind: str, ptr: Any, operands: tuple[Any, ...], sem: str | None, scope: str | None) -> Numeric:
    is_symbol = isinstance(ptr, Symbol) and str(ptr.type).startswith("ptr")
    pointer = pointer_of(ptr) if is_symbol else getattr(ptr, "iterator", ptr)
    if not isinstance(pointer, Pointer):
        raise TypeError(
            f"atomic_{kind}: expected a pointer or a tensor of memory, but got {ptr!r}; element (i, j) of t lies at "
            "t.iterator + t.layout((i, j))"
        )
    for name, value, known in (("sem", sem, _ORDERS), ("scope", scope, _SCOPES)):
        if value not in known:
            raise ValueError(
                f"atomic_{kind}: {name} is {value!r}; expected one of {', '.join(x for x in known if x is not None)}"
            )
    dtype = pointer.dtype
    if not _LEAST_BITS <= dtype.bits <= _MOST_BITS:
        raise TypeError(
            f"atomic_{kind}: elements of {dtype.__name__} have {dtype.bits} bits, and atomics change 16, 32 or 64; use "
            "a wider type, or atomic_cas of the word around the element"
        )
    if kind in ("and", "or", "xor") and dtype.is_float:
        raise TypeError(
            f"atomic_{kind}: elements of {dtype.__name__} are no integers; recast_ptr to those of {dtype.bits} bits"
        )
    values = [x if type(x) is dtype else dtype(x) for x in operands]
    if current() is None:
        before: Numeric = stepping.atomic(kind, pointer, *values)
        return before
    access = getattr(pointer, "symbol", None)
    if access is None:
        raise TypeError(f"atomic_{kind}: {pointer} is not memory of this kernel")
    order = (_ORDERS[sem], _SCOPES[scope])
    symbols = [symbol_of(type(x), x._value) for x in values]
    return dtype._of(emit("atomic", symbols, accesses=[access], text=kind, ints=order if any(order) else ()))
