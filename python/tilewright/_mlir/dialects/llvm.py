"""Inline assembly, pointers and structs, by the names that `cutlass._mlir.dialects.llvm` has for them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from tilewright import numeric
from tilewright._core import program
from tilewright._mlir.ir import Value, symbol_of
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.traced_pointer import TracedPointer
from tilewright.lang.trace import traced
from tilewright.numeric import Uint8
from tilewright.numeric.traced import emit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AsmDialect", "PointerType", "StructType", "addrspacecast", "extractvalue", "inline_asm"]


class AsmDialect(Enum):
    """The dialect of assembly, which PTX does not have: it is not looked at."""

    AD_ATT = 0
    AD_Intel = 1


class PointerType:
    """The type of a pointer to bytes."""

    @staticmethod
    def get(address_space: int = 0) -> program.Type:
        """The type of a pointer to bytes in an address space: 0 generic, 1 global, 3 shared, 5 registers.

        >>> print(PointerType.get(1))
        ptr<u8, gmem, align<1>>
        """
        return program.pointer("Uint8", str(AddressSpace(address_space)), 1)


class StructType:
    """The type of a struct of C: its fields one after another, each aligned as in C.

    >>> from tilewright import Float32
    >>> struct = StructType.get_literal([PointerType.get(), Float32.mlir_type])
    >>> struct.fields == (PointerType.get(), Float32.mlir_type)
    True
    """

    def __init__(self, fields: Sequence[Any]) -> None:
        self.fields = tuple(fields)

    @staticmethod
    def get_literal(fields: Sequence[Any], *, packed: bool = False) -> StructType:
        """The struct with fields of these types."""
        if packed:
            raise ValueError("StructType.get_literal: packed structs are not supported; align the fields as C does")
        return StructType(fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructType) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        return f"struct<{', '.join(map(str, self.fields))}>"


def addrspacecast(res: program.Type, arg: Any, *, loc: object = None, ip: object = None) -> Any:
    """A pointer as one of the type `res`, of another address space."""
    traced("llvm.addrspacecast")
    return emit("recast", [symbol_of(arg)], type=res)


def extractvalue(res: Any, container: Value, position: Sequence[int], *, loc: object = None, ip: object = None) -> Any:
    """The field of a struct at a position, which has the type `res`: a value, or a handle of a struct inside."""
    held = container.held
    for i in position:
        if not isinstance(held, tuple) or not 0 <= i < len(held):
            raise IndexError(f"extractvalue: the struct has no field {list(position)}")
        held = held[i]
    found = Value(held).type
    wanted = res.fields if isinstance(res, StructType) else res
    if found != wanted:
        raise TypeError(f"extractvalue: field {list(position)} has the type {found}, but {wanted} is asked for")
    return Value(held) if isinstance(held, tuple) else handle_of(held)


def handle_of(symbol: Any) -> Any:
    """A value of the program as layouts, tensors and printf take it: a number, or a pointer to bytes."""
    kind = symbol.type
    if kind.kind == "pointer":
        return TracedPointer(Uint8, symbol, AddressSpace[kind.space], kind.align)
    return getattr(numeric, kind.scalar)(symbol)


def inline_asm(
    res: Any,
    operands_: Sequence[Any],
    asm_string: str,
    constraints: str,
    *,
    has_side_effects: bool = False,
    is_align_stack: bool = False,
    asm_dialect: object = None,
    loc: object = None,
    ip: object = None,
) -> Any:
    """PTX as it is written, with $0, $1, .. for the results and then the operands.

    `res`: the type of the result (`Int32.mlir_type`, `T.i32()`), a StructType for several, None for none. constraints:
    `=r` for a result, then a letter for each operand, by commas: r and l for 32 and 64 bits, f and d for floats, h for
    16 bits, i for a constant. A Boolean is a 32-bit register, 0 or not. The CPU executes instructions in a row
    without accesses to memory, and refuses others by their text. RuntimeError outside of a function that is traced.
    """
    trace_of = traced("llvm.inline_asm")
    del trace_of, is_align_stack, asm_dialect
    types = list(res.fields) if isinstance(res, StructType) else [] if res is None else [res]
    outputs = sum(1 for x in constraints.split(",") if x.strip().startswith("="))
    if outputs != len(types):
        raise ValueError(
            f"inline_asm: the constraints {constraints!r} have {outputs} results, but {len(types)} types are given"
        )
    made = emit(
        "inline_asm",
        [symbol_of(x) for x in operands_],
        type=types or None,
        ints=[int(has_side_effects)],
        text=f"{asm_string}\n{constraints}",
    )
    return Value(tuple(made)) if isinstance(res, StructType) else made
