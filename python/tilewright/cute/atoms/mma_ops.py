"""Matrix multiply operations: a row of `MMA_TRAITS` for element types and a shape."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from tilewright._notebook import drawn
from tilewright.cute.atoms.mma_traits import MMA_TRAITS, PTX_TYPES
from tilewright.cute.int_tuple import text
from tilewright.numeric import BFloat16, Float32, Float64, Int8, Int32, Numeric, TFloat32, Uint8

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tilewright.cute.atoms.mma_traits import MmaTraits

__all__ = [
    "Field",
    "MmaF16BF16Op",
    "MmaF64Op",
    "MmaFP8Op",
    "MmaI8Op",
    "MmaOp",
    "MmaTF32Op",
    "MmaUniversalOp",
]

Type = type[Numeric]


class Field(Enum):
    """What of an atom is said at run time: with ACCUMULATE false, D = A B.

    >>> Field.ACCUMULATE.value
    'accum_c'
    """

    ACCUMULATE = "accum_c"


def _names(types: Iterable[Type]) -> str:
    return " or ".join(str(t) for t in types)


@drawn
class MmaOp:
    """A kind of matrix multiply instruction: types, a shape (M,N,K), and a row of `MMA_TRAITS`.

    Immutable, compared by value, hashable, picklable.

    >>> from tilewright import Float16, Float32
    >>> op = MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> op, op.instruction
    (MmaF16BF16Op(Float16, Float32, (16,8,16)), 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32')
    >>> op.a_dtype is Float16, op.acc_dtype is Float32, op == MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    (True, True, True)
    """

    __slots__ = ("_arguments", "a_dtype", "acc_dtype", "b_dtype", "row", "shape_mnk")
    a_dtype: Type
    b_dtype: Type
    acc_dtype: Type
    shape_mnk: tuple[int, int, int]
    row: str  # the key in MMA_TRAITS
    _arguments: tuple[Any, ...]

    def __init__(self, *_: Any) -> None:
        raise TypeError(f"{type(self).__name__} is no MMA instruction; use one of its kinds, such as MmaUniversalOp")

    def _make(self, arguments: tuple[Any, ...], row: str, a: Type, b: Type, acc: Type, n: int | None = None) -> None:
        arguments = tuple(tuple(x) if isinstance(x, list) else x for x in arguments)  # to be compared and hashed
        traits = MMA_TRAITS[row]
        m, fixed, k = traits.shape_mnk
        fields = {
            "_arguments": arguments,
            "row": row,
            "a_dtype": a,
            "b_dtype": b,
            "acc_dtype": acc,
            "shape_mnk": (m, fixed if n is None else n, k),
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        self._check(traits)

    def _check(self, traits: MmaTraits) -> None:
        """Raise TypeError for element types that the instruction does not take."""
        for name, dtype in (("a_dtype", self.a_dtype), ("b_dtype", self.b_dtype)):
            if dtype not in traits.types:
                raise TypeError(f"{self}: {name} is {_type(dtype)}, but the instruction takes {_names(traits.types)}")
        if self.a_dtype is not self.b_dtype and not (traits.mixed and _alike(self.a_dtype, self.b_dtype)):
            raise TypeError(
                f"{self}: A has {self.a_dtype} and B {self.b_dtype}, but the instruction takes the same type for both"
            )
        accumulators = traits.types[self.a_dtype]
        if self.acc_dtype not in accumulators:
            raise TypeError(
                f"{self}: acc_dtype is {_type(self.acc_dtype)}, but {self.a_dtype} is accumulated in "
                f"{_names(accumulators)}"
            )

    @property
    def traits(self) -> MmaTraits:
        """The row of `MMA_TRAITS`."""
        return MMA_TRAITS[self.row]

    @property
    def instruction(self) -> str:
        """The name in PTX, types and shape included."""
        a, b, acc = (PTX_TYPES[t] for t in (self.a_dtype, self.b_dtype, self.acc_dtype))
        return self.traits.ptx.format(a=a, b=b, acc=acc, n=self.shape_mnk[1])

    @property
    def arch(self) -> str:
        """The least architecture that has the instruction.

        >>> from tilewright import Float16, Float32
        >>> MmaF16BF16Op(Float16, Float32, (16, 8, 8)).arch
        'sm_75'
        """
        return self.traits.arch

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self}: operations cannot be changed; make another one")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MmaOp):
            return NotImplemented
        return type(self) is type(other) and self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash((type(self), self._arguments))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(_argument, self._arguments))})"

    def __reduce__(self) -> Any:
        return type(self), self._arguments


def _type(x: Any) -> str:
    return str(x) if isinstance(x, type) else repr(x)


def _argument(x: Any) -> str:
    return text(x) if isinstance(x, tuple) else _type(x) if not isinstance(x, Enum) else str(x)


def _alike(a: Type, b: Type) -> bool:
    """Types that an instruction mixes: both of 8 bits, both integers or neither."""
    return a.bits == b.bits == 8 and (a in (Int8, Uint8)) == (b in (Int8, Uint8))


def _shape(op: str, given: Any, rows: dict[tuple[int, ...], str]) -> str:
    """The row of an instruction shape."""
    shape = tuple(given) if isinstance(given, (tuple, list)) else given
    if not isinstance(shape, tuple) or shape not in rows:
        known = " or ".join(map(text, rows))
        raise ValueError(f"{op}: the shape (M,N,K) is {text(given)}, but the instruction has {known}")
    return rows[shape]


def _rows(kind: str, *shapes: tuple[int, int, int]) -> dict[tuple[int, ...], str]:
    return {shape: f"mma.m{shape[0]}n{shape[1]}k{shape[2]}.{kind}" for shape in shapes}


# ---- one thread ------------------------------------------------------------------------------------------------------


class MmaUniversalOp(MmaOp):
    """One multiplication and addition by one thread: d = a b + c, rounded once.

    The accumulator has the operands' type; integers of 8 bits, BFloat16 and Float8 have Int32 and Float32. Raises
    TypeError for types that no thread multiplies.

    >>> from tilewright import Float16, Float32, Int8
    >>> MmaUniversalOp(Float32), MmaUniversalOp(Int8).acc_dtype is Int32, MmaUniversalOp(Float16, Float32).instruction
    (MmaUniversalOp(Float32), True, 'fma.rn.f32')
    """

    __slots__ = ()

    def __init__(self, abacc_dtype: Type, acc_dtype: Type | None = None, b_dtype: Type | None = None) -> None:
        accumulators = MMA_TRAITS["fma"].types.get(abacc_dtype, (Float32,))
        acc = accumulators[0] if acc_dtype is None else acc_dtype
        arguments: tuple[Any, ...] = (abacc_dtype, acc_dtype, b_dtype)
        while arguments[-1] is None:
            arguments = arguments[:-1]
        self._make(arguments, "fma", abacc_dtype, abacc_dtype if b_dtype is None else b_dtype, acc)

    @property
    def instruction(self) -> str:
        """fma.rn, or mad.lo for integers."""
        return "mad.lo.s32" if self.acc_dtype is Int32 else super().instruction


# ---- a warp ----------------------------------------------------------------------------------------------------------


class MmaF16BF16Op(MmaOp):
    """mma.sync of Float16 or BFloat16, (16,8,8) or (16,8,16); BFloat16 is accumulated in Float32.

    >>> from tilewright import BFloat16, Float32
    >>> MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)).instruction
    'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32'
    """

    __slots__ = ()

    def __init__(self, ab_dtype: Type, acc_dtype: Type, shape_mnk: tuple[int, int, int]) -> None:
        kind = "bf16" if ab_dtype is BFloat16 else "f16"
        row = _shape("warp.MmaF16BF16Op", shape_mnk, _rows(kind, (16, 8, 8), (16, 8, 16)))
        self._make((ab_dtype, acc_dtype, shape_mnk), row, ab_dtype, ab_dtype, acc_dtype)


class MmaTF32Op(MmaOp):
    """mma.sync of TFloat32, (16,8,4) or (16,8,8): of a Float32 it reads the upper 19 bits.

    >>> MmaTF32Op((16, 8, 8)).instruction
    'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32'
    """

    __slots__ = ()

    def __init__(self, shape_mnk: tuple[int, int, int]) -> None:
        row = _shape("warp.MmaTF32Op", shape_mnk, _rows("tf32", (16, 8, 4), (16, 8, 8)))
        self._make((shape_mnk,), row, TFloat32, TFloat32, Float32)


class MmaFP8Op(MmaOp):
    """mma.sync of Float8E4M3FN or Float8E5M2, (16,8,32); B may have the other one of the two.

    >>> from tilewright import Float32, Float8E4M3FN
    >>> MmaFP8Op(Float8E4M3FN, Float32, (16, 8, 32)).instruction
    'mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32'
    """

    __slots__ = ()

    def __init__(
        self, ab_dtype: Type, acc_dtype: Type, shape_mnk: tuple[int, int, int], b_dtype: Type | None = None
    ) -> None:
        row = _shape("warp.MmaFP8Op", shape_mnk, _rows("f8", (16, 8, 32)))
        arguments = (ab_dtype, acc_dtype, shape_mnk, *(() if b_dtype is None else (b_dtype,)))
        self._make(arguments, row, ab_dtype, ab_dtype if b_dtype is None else b_dtype, acc_dtype)


class MmaI8Op(MmaOp):
    """mma.sync of Int8 or Uint8 into Int32, (16,8,16) or (16,8,32); B may have the other one. Wraps around.

    >>> from tilewright import Int8, Int32
    >>> MmaI8Op(Int8, Int32, (16, 8, 32)).instruction
    'mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32'
    """

    __slots__ = ()

    def __init__(
        self, ab_dtype: Type, acc_dtype: Type, shape_mnk: tuple[int, int, int], b_dtype: Type | None = None
    ) -> None:
        row = _shape("warp.MmaI8Op", shape_mnk, _rows("i8", (16, 8, 16), (16, 8, 32)))
        arguments = (ab_dtype, acc_dtype, shape_mnk, *(() if b_dtype is None else (b_dtype,)))
        self._make(arguments, row, ab_dtype, ab_dtype if b_dtype is None else b_dtype, acc_dtype)


class MmaF64Op(MmaOp):
    """mma.sync of Float64: (8,8,4), and with sm_90 (16,8,4), (16,8,8), (16,8,16).

    >>> MmaF64Op((8, 8, 4)).instruction, MmaF64Op((16, 8, 16)).arch
    ('mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64', 'sm_90')
    """

    __slots__ = ()

    def __init__(self, shape_mnk: tuple[int, int, int]) -> None:
        rows = _rows("f64", (8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))
        self._make((shape_mnk,), _shape("warp.MmaF64Op", shape_mnk, rows), Float64, Float64, Float64)
