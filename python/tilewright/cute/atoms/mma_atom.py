"""MMA atoms: a matrix multiply operation with the thread-value layouts of A, B and C."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._notebook import drawn
from tilewright.cute.atoms.mma_ops import Field, MmaOp
from tilewright.cute.int_tuple import text
from tilewright.numeric.traced import is_traced

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.cute.atoms.mma_traits import MmaTraits
    from tilewright.numeric import Boolean, Numeric

__all__ = ["MmaAtom", "make_mma_atom"]


class _Layouts(NamedTuple):
    thr_id: _core.Layout
    a: _core.Layout
    b: _core.Layout
    c: _core.Layout


@lru_cache(maxsize=512)
def _layouts(texts: tuple[str, ...], n: int) -> _Layouts:
    fields = {name: str(value) for name, value in (("{n}", n), ("{n8}", n // 8))}

    def parse(layout: str) -> Any:
        for field, value in fields.items():
            layout = layout.replace(field, value)
        return _core.parse(layout)

    return _Layouts(*map(parse, texts))


@drawn
class MmaAtom:
    """A matrix multiply operation; make_mma_atom makes it.

    `thr_id` numbers the threads that execute it together. `tv_layout_A`, `tv_layout_B` and `tv_layout_C` map (thread,
    value) to an element of the tile, (M,K), (N,K) and (M,N), counted with the first mode fastest. Compared by value,
    hashable, picklable.

    Source: CuTeDSL `cute.MmaAtom`.

    >>> from tilewright import Float16, Float32, cute
    >>> print(make_mma_atom(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))))
    MMA Atom
      ThrID:         32:1
      Shape MNK:     (16,8,16)
      TV Layout A:   ((4,8),(2,2,2)):((32,1),(16,8,128))
      TV Layout B:   ((4,8),(2,2)):((16,1),(8,64))
      TV Layout C:   ((4,8),(2,2)):((32,1),(16,8))
    """

    __slots__ = ("_fields", "op", "thr_id", "tv_layout_A", "tv_layout_B", "tv_layout_C")
    op: MmaOp
    thr_id: _core.Layout
    tv_layout_A: _core.Layout
    tv_layout_B: _core.Layout
    tv_layout_C: _core.Layout
    _fields: dict[Field, Any]

    def __init__(self, op: MmaOp) -> None:
        self.op = op
        traits = op.traits
        layouts = _layouts((traits.thr_id, traits.a, traits.b, traits.c), op.shape_mnk[1])
        self.thr_id, self.tv_layout_A, self.tv_layout_B, self.tv_layout_C = layouts
        self._fields = {Field.ACCUMULATE: True}

    @property
    def traits(self) -> MmaTraits:
        """The row of `MMA_TRAITS`."""
        return self.op.traits

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """The extents (M,N,K) of one instruction."""
        return self.op.shape_mnk

    @property
    def arch(self) -> str:
        """The least architecture that has the instruction."""
        return self.op.arch

    def dtype_of(self, operand: str) -> type[Numeric]:
        """The element type of operand "A", "B" or "C".

        >>> from tilewright import Float64, cute
        >>> make_mma_atom(cute.nvgpu.MmaUniversalOp(Float64)).dtype_of("C") is Float64
        True
        """
        types = {"A": self.op.a_dtype, "B": self.op.b_dtype, "C": self.op.acc_dtype}
        if not isinstance(operand, str) or operand not in types:
            raise ValueError(f"dtype_of: expected operand to be 'A', 'B' or 'C', but got {operand!r}")
        return types[operand]

    def set(self, field: Field, value: object, *, loc: object = None, ip: object = None) -> None:
        """Say at run time what a field is: Field.ACCUMULATE, whether C is added. It is no part of the atom's value.

        >>> from tilewright import Float32, cute
        >>> atom = make_mma_atom(cute.nvgpu.MmaUniversalOp(Float32))
        >>> atom.set(cute.nvgpu.warpgroup.Field.ACCUMULATE, False)
        >>> atom.get(cute.nvgpu.warpgroup.Field.ACCUMULATE)
        False
        """
        self._require_field("set", field)
        self._fields[field] = value if is_traced(value) else bool(value)

    def get(self, field: Field, *, loc: object = None, ip: object = None) -> bool | Boolean:
        """What a field is now: a bool, or in a kernel a Boolean that is known when it runs."""
        self._require_field("get", field)
        found: bool | Boolean = self._fields[field]
        return found

    def with_(self, **fields: object) -> Self:
        """The atom with other fields, by name: with_(accum_c=False). The original keeps its own.

        >>> from tilewright import Float32, cute
        >>> atom = make_mma_atom(cute.nvgpu.MmaUniversalOp(Float32))
        >>> Field = cute.nvgpu.warpgroup.Field
        >>> atom.with_(accum_c=False).get(Field.ACCUMULATE), atom.get(Field.ACCUMULATE)
        (False, True)
        """
        known = {field.value: field for field in Field}
        unknown = [name for name in fields if name not in known]
        if unknown:
            raise TypeError(f"with_: there is no field {unknown[0]!r}; an MMA atom has {', '.join(known)}")
        function, arguments = self.__reduce__()
        atom: Self = function(*arguments)
        atom._fields = {**self._fields, **{known[name]: bool(value) for name, value in fields.items()}}
        return atom

    def _require_field(self, function: str, field: Any) -> None:
        if not isinstance(field, Field) or field not in self._fields:
            raise TypeError(
                f"{function}: expected a field of the atom, {' or '.join(map(str, self._fields))}, but got {field!r}"
            )

    def _facts(self, indent: str) -> str:
        rows = {
            "ThrID": self.thr_id,
            "Shape MNK": text(self.shape_mnk),
            "TV Layout A": self.tv_layout_A,
            "TV Layout B": self.tv_layout_B,
            "TV Layout C": self.tv_layout_C,
        }
        return "MMA Atom\n" + "\n".join(f"  {name + ':':{indent}}{value}" for name, value in rows.items())

    def __str__(self) -> str:
        return self._facts("15")

    def __repr__(self) -> str:
        return f"make_mma_atom({self.op})"

    def _key(self) -> tuple[Any, ...]:
        return (self.op,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MmaAtom):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return MmaAtom, self._key()


def make_mma_atom(op: MmaOp, *, loc: object = None, ip: object = None) -> MmaAtom:
    """The matrix multiply operation as an atom.

    Raises TypeError for what is no such operation. Source: CuTeDSL `cute.make_mma_atom`.

    >>> from tilewright import Float32, cute
    >>> print(cute.make_mma_atom(cute.nvgpu.MmaUniversalOp(Float32)))
    MMA Atom
      ThrID:         1:0
      Shape MNK:     (1,1,1)
      TV Layout A:   (1,1):(0,0)
      TV Layout B:   (1,1):(0,0)
      TV Layout C:   (1,1):(0,0)
    """
    return MmaAtom(require_op("make_mma_atom", op))


def require_op(function: str, op: Any) -> MmaOp:
    """The operation; TypeError for anything else."""
    if not isinstance(op, MmaOp):
        made = f"; write {op.__name__}(..)" if isinstance(op, type) and issubclass(op, MmaOp) else ""
        raise TypeError(f"{function}: expected op to be a matrix multiply operation, but got {op!r}{made}")
    return op
