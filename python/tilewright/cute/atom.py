"""Copy atoms as data: what one instruction copies, by which threads, under which conditions.

`TRAITS` has a row for each instruction. Its layouts map (thread, value) to bits of what is copied: the source layout
says where a thread's bits come from, the destination layout where they go, and both count the same bits. An atom is a
row for one element type, its layouts in elements.

ldmatrix.x1 by hand, in bits: thread 4r + c/2 receives elements c and c+1 of row r, at 128r + 16c. So the destination is
(32,32):(32,1): each of 32 threads has 32 bits, in order. The source is ((8,4),128):((128,0),1): each of the first 8
threads names a row of 128 bits, and what the others name is not looked at, hence the stride 0.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright._notebook import drawn
from tilewright.cute.atom_modifiers import (
    CacheEvictionPriority,
    LoadCacheMode,
    MemoryOrder,
    MemoryScope,
    SwizzleMode,
)
from tilewright.cute.tensor import AddressSpace, _require_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tilewright.numeric import Numeric

__all__ = [
    "TRAITS",
    "CacheEvictionPriority",
    "CopyAtom",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyG2ROp",
    "CopyG2SOp",
    "CopyOp",
    "CopyR2GOp",
    "CopyR2SOp",
    "CopyS2ROp",
    "CopyTraits",
    "CopyUniversalOp",
    "LdMatrix8x8x16bOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "StMatrix8x8x16bOp",
    "SwizzleMode",
    "make_copy_atom",
]


# ---- the table -------------------------------------------------------------------------------------------------------

ANYWHERE = (AddressSpace.generic, AddressSpace.gmem, AddressSpace.smem, AddressSpace.rmem)
GMEM = (AddressSpace.gmem, AddressSpace.generic)
SMEM = (AddressSpace.smem, AddressSpace.generic)
RMEM = (AddressSpace.rmem, AddressSpace.generic)


class CopyTraits(NamedTuple):
    """What is known of an instruction; `TRAITS` has them all.

    >>> traits = TRAITS["ldmatrix.x4"]
    >>> traits.threads, traits.dst, traits.widths
    (32, '(32,(32,4)):(32,(1,1024))', {128: 'sm_75'})
    """

    src_spaces: tuple[AddressSpace, ...]
    dst_spaces: tuple[AddressSpace, ...]
    widths: Mapping[int, str]  # bits that a thread may move, and the least architecture that can
    threads: int = 1
    src: str | None = None  # (thread, value) to bits; None: one thread, its bits in order
    dst: str | None = None
    reference: str = "src"  # the side whose layout the threads and values of a tiled copy are those of
    src_row: int | None = None  # bits that lie side by side in memory, aligned to their size; None: all that a thread
    dst_row: int | None = None  # moves; 0: nothing is asked of registers
    zero_fills: bool = False  # a false predicate writes zeros instead of nothing


_OLDEST = "sm_75"  # what CUDA 13 compiles for
_VECTOR = dict.fromkeys((8, 16, 32, 64, 128), _OLDEST)
_GLOBAL_VECTOR = {**_VECTOR, 256: "sm_100"}


def _matrix(threads: str, registers: str, width: int, load: bool) -> CopyTraits:
    """ldmatrix, and stmatrix the other way round: rows of 128 bits in shared memory, registers of 32."""
    if load:
        return CopyTraits(SMEM, RMEM, {width: "sm_75"}, 32, threads, registers, "dst", src_row=128, dst_row=0)
    return CopyTraits(RMEM, SMEM, {width: "sm_90"}, 32, registers, threads, "src", src_row=0, dst_row=128)


# The rows that the threads name, and the bits in their registers, for one, two and four matrices of 8 x 8 elements.
_ROWS = {1: "((8,4),128):((128,0),1)", 2: "((16,2),128):((128,0),1)", 4: "(32,128):(128,1)"}
_REGISTERS = {
    ("", 1): "(32,32):(32,1)",
    ("", 2): "(32,(32,2)):(32,(1,1024))",
    ("", 4): "(32,(32,4)):(32,(1,1024))",
    (".trans", 1): "((4,8),(16,2)):((256,16),(1,128))",
    (".trans", 2): "((4,8),(16,2,2)):((256,16),(1,128,1024))",
    (".trans", 4): "((4,8),(16,2,4)):((256,16),(1,128,1024))",
}

TRAITS: Mapping[str, CopyTraits] = {
    "universal": CopyTraits(ANYWHERE, ANYWHERE, _GLOBAL_VECTOR),
    "ld.global": CopyTraits(GMEM, RMEM, _GLOBAL_VECTOR, dst_row=0),
    "st.global": CopyTraits(RMEM, GMEM, _GLOBAL_VECTOR, src_row=0),
    "ld.shared": CopyTraits(SMEM, RMEM, _VECTOR, dst_row=0),
    "st.shared": CopyTraits(RMEM, SMEM, _VECTOR, src_row=0),
    "cp.async.ca": CopyTraits(GMEM, SMEM, dict.fromkeys((32, 64, 128), "sm_80"), zero_fills=True),
    "cp.async.cg": CopyTraits(GMEM, SMEM, {128: "sm_80"}, zero_fills=True),
    **{
        f"{name}.x{n}{form}": _matrix(_ROWS[n], registers, 32 * n, name == "ldmatrix")
        for name in ("ldmatrix", "stmatrix")
        for (form, n), registers in _REGISTERS.items()
    },
    # One thread issues a box of any size; what lies outside the tensor is read as zero and not written.
    "cp.async.bulk.tensor.g2s": CopyTraits(GMEM, SMEM, {}, src_row=128, dst_row=128),
    "cp.async.bulk.tensor.s2g": CopyTraits(SMEM, GMEM, {}, src_row=128, dst_row=128),
}


# ---- operations ------------------------------------------------------------------------------------------------------


class CopyOp:
    """A kind of copy instruction: a row of `TRAITS` and what the instruction is told. Immutable, compared by value.

    >>> op = LdMatrix8x8x16bOp(num_matrices=4)
    >>> op, op.instruction, op == LdMatrix8x8x16bOp(False, 4)
    (LdMatrix8x8x16bOp(transpose=False, num_matrices=4), 'ldmatrix.x4', True)
    """

    __slots__ = ()

    @property
    def instruction(self) -> str:
        """The key of the row in `TRAITS`."""
        raise NotImplementedError

    def _set(self, **fields: Any) -> None:
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self}: copy operations cannot be changed; make another one")

    def _fields(self) -> dict[str, Any]:
        names: tuple[str, ...] = self.__slots__
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CopyOp):
            return NotImplemented
        return type(self) is type(other) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), *self._fields().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._fields().items())})"

    def __reduce__(self) -> Any:
        return type(self), tuple(self._fields().values())


def _member(op: str, argument: str, value: Any, kind: type[Enum]) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{op}: expected {argument} to be one of {', '.join(map(str, kind))}, but got {value!r}")
    return value


class _Access(CopyOp):
    """A load or a store of a vector by one thread."""

    __slots__ = ("l1c_evict_priority", "memory_order", "memory_scope")
    memory_order: MemoryOrder
    memory_scope: MemoryScope
    l1c_evict_priority: CacheEvictionPriority

    def __init__(
        self,
        l1c_evict_priority: CacheEvictionPriority = CacheEvictionPriority.EVICT_NORMAL,
        memory_order: MemoryOrder = MemoryOrder.WEAK,
        memory_scope: MemoryScope = MemoryScope.CTA,
    ) -> None:
        name: str = type(self).__name__
        self._set(
            l1c_evict_priority=_member(name, "l1c_evict_priority", l1c_evict_priority, CacheEvictionPriority),
            memory_order=_member(name, "memory_order", memory_order, MemoryOrder),
            memory_scope=_member(name, "memory_scope", memory_scope, MemoryScope),
        )

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _Access.__slots__}


class CopyUniversalOp(CopyOp):
    """A vector from anywhere to anywhere, by one thread.

    >>> from tilewright import Float32, cute
    >>> print(cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128).layout_src_tv)
    (1,4):(0,1)
    """

    __slots__ = ()
    instruction = "universal"


class CopyG2ROp(_Access):
    """A vector from global memory to registers, by one thread.

    >>> CopyG2ROp(CacheEvictionPriority.EVICT_FIRST).l1c_evict_priority
    <CacheEvictionPriority.EVICT_FIRST: 'evict_first'>
    """

    __slots__ = ()
    instruction = "ld.global"


class CopyR2GOp(_Access):
    """A vector from registers to global memory, by one thread.

    >>> CopyR2GOp().instruction
    'st.global'
    """

    __slots__ = ()
    instruction = "st.global"


class CopyS2ROp(_Access):
    """A vector from shared memory to registers, by one thread.

    >>> CopyS2ROp().instruction
    'ld.shared'
    """

    __slots__ = ()
    instruction = "ld.shared"


class CopyR2SOp(_Access):
    """A vector from registers to shared memory, by one thread.

    >>> CopyR2SOp().instruction
    'st.shared'
    """

    __slots__ = ()
    instruction = "st.shared"


class CopyG2SOp(CopyOp):
    """An asynchronous copy of a vector from global to shared memory; where a predicate is false it writes zeros.

    >>> CopyG2SOp(LoadCacheMode.GLOBAL).instruction
    'cp.async.cg'
    """

    __slots__ = ("cache_mode",)
    cache_mode: LoadCacheMode

    def __init__(self, cache_mode: LoadCacheMode = LoadCacheMode.ALWAYS) -> None:
        self._set(cache_mode=_member("CopyG2SOp", "cache_mode", cache_mode, LoadCacheMode))

    @property
    def instruction(self) -> str:
        """cp.async with the cache mode."""
        return f"cp.async.{self.cache_mode.value}"


class _Matrix(CopyOp):
    __slots__ = ("num_matrices", "transpose")
    num_matrices: int
    transpose: bool

    def __init__(self, transpose: bool = False, num_matrices: int = 1) -> None:
        if num_matrices not in (1, 2, 4):
            raise ValueError(
                f"{type(self).__name__}: an instruction moves 1, 2 or 4 matrices, but got num_matrices={num_matrices}"
            )
        self._set(transpose=bool(transpose), num_matrices=num_matrices)

    def _fields(self) -> dict[str, Any]:
        return {"transpose": self.transpose, "num_matrices": self.num_matrices}

    def _instruction(self, name: str) -> str:
        return f"{name}.x{self.num_matrices}{'.trans' if self.transpose else ''}"


class LdMatrix8x8x16bOp(_Matrix):
    """Matrices of 8 x 8 elements of 16 bits from shared memory to the registers of a warp, transposed if wanted.

    >>> LdMatrix8x8x16bOp(transpose=True, num_matrices=2).instruction
    'ldmatrix.x2.trans'
    """

    __slots__ = ()

    @property
    def instruction(self) -> str:
        """ldmatrix with the number of matrices."""
        return self._instruction("ldmatrix")


class StMatrix8x8x16bOp(_Matrix):
    """Matrices of 8 x 8 elements of 16 bits from the registers of a warp to shared memory, transposed if wanted.

    >>> StMatrix8x8x16bOp(num_matrices=4).instruction
    'stmatrix.x4'
    """

    __slots__ = ()

    @property
    def instruction(self) -> str:
        """stmatrix with the number of matrices."""
        return self._instruction("stmatrix")


MAX_BOX_EXTENT = 256
MAX_BOX_RANK = 5


class _Bulk(CopyOp):
    """A box of a tensor, issued by one thread to the tensor memory accelerator."""

    __slots__ = ("box", "swizzle")
    box: tuple[int, ...] | None
    swizzle: SwizzleMode

    def __init__(self, box: tuple[int, ...] | None = None, swizzle: SwizzleMode = SwizzleMode.NONE) -> None:
        name = type(self).__name__
        _member(name, "swizzle", swizzle, SwizzleMode)
        if box is not None:
            box = tuple(box)
            if not 1 <= len(box) <= MAX_BOX_RANK:
                raise ValueError(f"{name}: a box has 1 to {MAX_BOX_RANK} extents, but got {box}")
            for mode, extent in enumerate(box):
                if not isinstance(extent, int) or not 1 <= extent <= MAX_BOX_EXTENT:
                    raise ValueError(
                        f"{name}: extent {mode} of the box {box} is {extent}, but the hardware takes 1 to "
                        f"{MAX_BOX_EXTENT}; copy more boxes"
                    )
        self._set(box=box, swizzle=swizzle)

    def check(self, dtype: type[Numeric]) -> None:
        """Raise ValueError where the hardware does not take the box with elements of this type."""
        name = type(self).__name__
        if self.box is None:
            raise ValueError(f"{name}: which box? Pass its extents, fastest first: {name}(box=(64, 32))")
        bits = self.box[0] * dtype.bits
        if bits % 128:
            raise ValueError(
                f"{name}: the fastest extent of the box {self.box} takes {bits / 8:g} bytes of {dtype.name}, but needs "
                "a multiple of 16; choose another extent"
            )
        span = self.swizzle.span_bytes
        if span is not None and bits > 8 * span:
            raise ValueError(
                f"{name}: the fastest extent of the box {self.box} takes {bits // 8} bytes of {dtype.name}, but "
                f"{self.swizzle} allows at most {span}; copy boxes of {8 * span // dtype.bits} elements"
            )


class CopyBulkTensorTileG2SOp(_Bulk):
    """A box of a tensor from global to shared memory, by the tensor memory accelerator; extents with the fastest first.

    >>> op = CopyBulkTensorTileG2SOp(box=(64, 32), swizzle=SwizzleMode.B128)
    >>> op.instruction, op.swizzle.alignment
    ('cp.async.bulk.tensor.g2s', 1024)
    """

    __slots__ = ()
    instruction = "cp.async.bulk.tensor.g2s"


class CopyBulkTensorTileS2GOp(_Bulk):
    """A box of a tensor from shared to global memory, by the tensor memory accelerator; extents with the fastest first.

    >>> CopyBulkTensorTileS2GOp(box=(64, 32)).instruction
    'cp.async.bulk.tensor.s2g'
    """

    __slots__ = ()
    instruction = "cp.async.bulk.tensor.s2g"


# ---- atoms -----------------------------------------------------------------------------------------------------------


@drawn
class CopyAtom:
    """A copy operation for one element type; make_copy_atom makes it.

    `thr_id` numbers the threads that execute it together. `layout_src_tv` and `layout_dst_tv` map (thread, value) to
    the elements copied, `layout_ref` is the one of the two whose threads and values those of a tiled copy are. Compared
    by value, hashable, picklable.

    >>> from tilewright import Float16
    >>> print(make_copy_atom(LdMatrix8x8x16bOp(num_matrices=4), Float16))
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

        >>> from tilewright import Float32
        >>> make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=256).arch
        'sm_100'
        """
        if isinstance(self.op, _Bulk):
            return "sm_90"
        return _OLDEST if self.num_bits_per_copy is None else self.traits.widths[self.num_bits_per_copy]

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
    loc: Any = None,
    ip: Any = None,
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
    _require_dtype("make_copy_atom", copy_internal_type)
    width = _width(op, copy_internal_type, num_bits_per_copy)
    return CopyAtom(op, copy_internal_type, width)


def _width(op: CopyOp, dtype: type[Numeric], given: int | None) -> int | None:
    """The bits of one thread, checked."""
    where = f"make_copy_atom({op}, {dtype})"
    if given == 0:  # CuTeDSL's default
        given = None
    if isinstance(op, _Bulk):
        op.check(dtype)
        bits = int(_core.product(op.box)) * dtype.bits
        fixed = {bits: "sm_90"}
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
