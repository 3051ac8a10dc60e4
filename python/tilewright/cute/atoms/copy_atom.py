"""Copy atoms: a copy operation for one element type, its layouts in elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright._notebook import drawn
from tilewright.cute.atoms.copy_ops import (
    BulkOp,
    CopyBulkG2SOp,
    CopyBulkS2GOp,
    CopyBulkTensorTileG2SOp,
    CopyG2SOp,
    CopyOp,
)
from tilewright.cute.atoms.copy_traits import OLDEST, TRAITS, CopyTraits
from tilewright.numeric.base import require_dtype

if TYPE_CHECKING:
    from tilewright.numeric import Numeric

__all__ = ["CopyAtom", "make_copy_atom"]


@drawn
class CopyAtom:
    """A copy operation for one element type; make_copy_atom makes it.

    `thr_id` numbers the threads that execute it together. `layout_src_tv` and `layout_dst_tv` map (thread, value) to
    the elements copied, `layout_ref` is the one of the two whose threads and values those of a tiled copy are. Compared
    by value, hashable, picklable.

    Source: CuTeDSL `cute.CopyAtom`.

    >>> from tilewright import Float16, cute
    >>> print(make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=4), Float16))
    Copy Atom
      ThrID:         32:1
      TV Layout Src: (32,8):(8,1)
      TV Layout Dst: (32,(2,4)):(2,(1,64))
      Value type:    f16
    """

    __slots__ = ("layout_dst_tv", "layout_ref", "layout_src_tv", "num_bits_per_copy", "op", "thr_id", "value_type")
    op: CopyOp
    value_type: type[Numeric]
    num_bits_per_copy: int | None  # bits of one access by one thread; None: as wide as the tensors allow
    thr_id: _core.Layout
    layout_src_tv: _core.Layout
    layout_dst_tv: _core.Layout
    layout_ref: _core.Layout

    def __init__(self, op: CopyOp, value_type: type[Numeric], num_bits_per_copy: int | None) -> None:
        self.op = op
        self.value_type = value_type
        self.num_bits_per_copy = num_bits_per_copy
        traits = self.traits
        self.thr_id = _core.make_layout(traits.threads)
        self.layout_src_tv = self._in_elements(traits.src)
        self.layout_dst_tv = self._in_elements(traits.dst)
        self.layout_ref = self.layout_src_tv if traits.reference == "src" else self.layout_dst_tv

    def _in_elements(self, text: str | None) -> Any:
        bits = self.value_type.bits
        if text is None:
            if self.num_bits_per_copy is None:
                return _core.make_layout((1, 1))
            return _core.make_layout((1, self.num_bits_per_copy // bits), stride=(0, 1))
        layout = _core.parse(text)
        try:
            elements = _core.recast_layout(bits, 1, layout)
            whole = _core.size(elements, mode=[1]) * bits == _core.size(layout, mode=[1])
        except LayoutError:
            whole = False
        if not whole:
            raise LayoutError(
                f"make_copy_atom({self.op}, {self.value_type}): elements of {bits} bits do not stay whole where "
                f"{self.op.instruction} moves bits by {layout} (thread, bit); use elements of fewer bits"
            )
        return elements

    @property
    def traits(self) -> CopyTraits:
        """The row of `TRAITS`."""
        return TRAITS[self.op.instruction]

    @property
    def arch(self) -> str:
        """The least architecture that has the instruction in this width.

        >>> from tilewright import Float32, cute
        >>> make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=256).arch
        'sm_100'
        """
        if isinstance(self.op, (BulkOp, CopyBulkG2SOp, CopyBulkS2GOp)):
            return "sm_90"
        return OLDEST if self.num_bits_per_copy is None else self.traits.widths[self.num_bits_per_copy]

    @property
    def src_alignment(self) -> int:
        """Bytes to which the source's address is aligned, where the source is memory."""
        return self._alignment(self.src_row)

    @property
    def dst_alignment(self) -> int:
        """Bytes to which the destination's address is aligned, where the destination is memory."""
        if isinstance(self.op, CopyBulkTensorTileG2SOp):
            return self.op.swizzle.alignment
        return self._alignment(self.dst_row)

    def _alignment(self, row: int) -> int:
        return max(row * self.value_type.bits // 8, 1)

    @property
    def src_row(self) -> int:
        """Elements that lie side by side in the source, where it is memory."""
        return self._row(self.traits.src_row)

    @property
    def dst_row(self) -> int:
        """Elements that lie side by side in the destination, where it is memory."""
        return self._row(self.traits.dst_row)

    def _row(self, bits: int | None) -> int:
        bits = self.num_bits_per_copy if bits is None else bits
        return bits // self.value_type.bits if bits else 1

    def _facts(self, indent: str) -> str:
        rows = {
            "ThrID": self.thr_id,
            "TV Layout Src": self.layout_src_tv,
            "TV Layout Dst": self.layout_dst_tv,
            "Value type": self.value_type.name,
        }
        return "Copy Atom\n" + "\n".join(f"  {name + ':':{indent}}{value}" for name, value in rows.items())

    def __str__(self) -> str:
        return self._facts("15")

    def __repr__(self) -> str:
        fixed = self.num_bits_per_copy is None or len(self.traits.widths) < 2
        bits = "" if fixed else f", num_bits_per_copy={self.num_bits_per_copy}"
        return f"make_copy_atom({self.op}, {self.value_type}{bits})"

    def _key(self) -> tuple[Any, ...]:
        return (self.op, self.value_type, self.num_bits_per_copy)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CopyAtom):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return CopyAtom, self._key()


def make_copy_atom(
    op: CopyOp,
    copy_internal_type: type[Numeric],
    *,
    num_bits_per_copy: int | None = None,
    loc: object = None,
    ip: object = None,
) -> CopyAtom:
    """The copy operation for elements of a type, `num_bits_per_copy` bits by each thread.

    Without a width, vector operations move one element for each value of the tiled copy, as wide as the tensors allow;
    the width of the other operations is that of the instruction. Raises ValueError for a width that the instruction
    does not have or that is no multiple of the element's, LayoutError where the instruction would tear elements apart.
    Source: CuTeDSL `cute.make_copy_atom`.

    >>> from tilewright import Float16, cute
    >>> print(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128))
    Copy Atom
      ThrID:         1:0
      TV Layout Src: (1,8):(0,1)
      TV Layout Dst: (1,8):(0,1)
      Value type:    f16
    """
    if not isinstance(op, CopyOp):
        made = f"; write {op.__name__}()" if isinstance(op, type) and issubclass(op, CopyOp) else ""
        raise TypeError(f"make_copy_atom: expected op to be a copy operation, but got {op!r}{made}")
    require_dtype("make_copy_atom", copy_internal_type)
    width = _width(op, copy_internal_type, num_bits_per_copy)
    return CopyAtom(op, copy_internal_type, width)


def _width(op: CopyOp, dtype: type[Numeric], given: int | None) -> int | None:
    """The bits of one thread, checked."""
    where = f"make_copy_atom({op}, {dtype})"
    if given == 0:  # CuTeDSL's default
        given = None
    if isinstance(op, BulkOp):
        op.check(dtype)
        bits = int(_core.product(op.box)) * dtype.bits
        fixed = {bits: "sm_90"}
    elif isinstance(op, (CopyBulkG2SOp, CopyBulkS2GOp)):
        # What the tensors have, where no width is given.
        fixed = {given or 128: "sm_90"}
        if given is None:
            return None
        if given % 128:
            raise ValueError(f"{where}: num_bits_per_copy is {given}, but {op.instruction} moves multiples of 128 bits")
    else:
        fixed = dict(TRAITS[op.instruction].widths)
    if given is None and len(fixed) == 1:
        (given,) = fixed
    if given is None:
        if isinstance(op, CopyG2SOp):
            raise ValueError(f"{where}: pass num_bits_per_copy, one of {_either(fixed)}")
        return None
    if given not in fixed:
        raise ValueError(f"{where}: num_bits_per_copy is {given}, but {op.instruction} moves {_either(fixed)} bits")
    if given % dtype.bits:
        raise ValueError(
            f"{where}: num_bits_per_copy={given} is no multiple of the {dtype.bits} bits of an element; "
            f"choose one of {_either(width for width in fixed if width % dtype.bits == 0)}"
        )
    return given


def _either(widths: Any) -> str:
    return " or ".join(map(str, widths)) or "another operation or element type"
