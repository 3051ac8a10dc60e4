"""Copy operations: a kind of instruction, and what the instruction is told."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from tilewright._notebook import drawn
from tilewright.cute.atoms.modifiers import (
    CacheEvictionPriority,
    LoadCacheMode,
    MemoryOrder,
    MemoryScope,
    SwizzleMode,
)

if TYPE_CHECKING:
    from tilewright.numeric import Numeric

__all__ = [
    "BulkOp",
    "CopyBulkG2SOp",
    "CopyBulkS2GOp",
    "CopyBulkTensorTileG2SMulticastOp",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyG2ROp",
    "CopyG2SOp",
    "CopyOp",
    "CopyR2GOp",
    "CopyR2SOp",
    "CopyReduceBulkTensorTileS2GOp",
    "CopyS2ROp",
    "CopyUniversalOp",
    "LdMatrix8x8x16bOp",
    "StMatrix8x8x16bOp",
]


@drawn
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
        raise TypeError(
            f"{type(self).__name__} is no copy instruction; use one of its kinds, such as CopyUniversalOp()"
        )

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


class MatrixOp(CopyOp):
    """Matrices between shared memory and the registers of a warp."""

    __slots__ = ("num_matrices", "transpose")
    num_matrices: int
    transpose: bool
    is_load = True

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


class LdMatrix8x8x16bOp(MatrixOp):
    """Matrices of 8 x 8 elements of 16 bits from shared memory to the registers of a warp, transposed if wanted.

    >>> LdMatrix8x8x16bOp(transpose=True, num_matrices=2).instruction
    'ldmatrix.x2.trans'
    """

    __slots__ = ()

    @property
    def instruction(self) -> str:
        """ldmatrix with the number of matrices."""
        return self._instruction("ldmatrix")


class LdMatrix8x16x8bOp(MatrixOp):
    """Matrices of 8 x 16 elements of 8 bits from shared memory to the registers of a warp: the same bytes.

    Raises ValueError for transpose=True: ldmatrix transposes elements of 16 bits alone up to sm_90.

    >>> LdMatrix8x16x8bOp(num_matrices=4).instruction
    'ldmatrix.x4'
    """

    __slots__ = ()

    def __init__(self, transpose: bool = False, num_matrices: int = 1) -> None:
        if transpose:
            raise ValueError(
                "LdMatrix8x16x8bOp: ldmatrix transposes elements of 16 bits alone; keep the operand along K in shared "
                "memory, or load pairs with LdMatrix8x8x16bOp(transpose=True)"
            )
        super().__init__(transpose, num_matrices)

    @property
    def instruction(self) -> str:
        """ldmatrix with the number of matrices."""
        return self._instruction("ldmatrix")


class StMatrix8x8x16bOp(MatrixOp):
    """Matrices of 8 x 8 elements of 16 bits from the registers of a warp to shared memory, transposed if wanted.

    >>> StMatrix8x8x16bOp(num_matrices=4).instruction
    'stmatrix.x4'
    """

    __slots__ = ()
    is_load = False

    @property
    def instruction(self) -> str:
        """stmatrix with the number of matrices."""
        return self._instruction("stmatrix")


MAX_BOX_EXTENT = 256
MAX_BOX_RANK = 5


_REDUCTIONS = ("add", "min", "max", "and", "or", "xor")


class BulkOp(CopyOp):
    """A box of a tensor, issued by one thread to the tensor memory accelerator."""

    __slots__ = ("box", "swizzle")
    reduction: str = ""  # of what is in global memory with what comes
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

    def _fields(self) -> dict[str, Any]:
        return {"box": self.box, "swizzle": self.swizzle}

    def with_box(self, box: tuple[int, ...], swizzle: SwizzleMode) -> BulkOp:
        """The same operation for a box."""
        return type(self)(box, swizzle)

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


class CopyBulkTensorTileG2SOp(BulkOp):
    """A box of a tensor from global to shared memory, by the tensor memory accelerator; extents with the fastest first.

    >>> op = CopyBulkTensorTileG2SOp(box=(64, 32), swizzle=SwizzleMode.B128)
    >>> op.instruction, op.swizzle.alignment
    ('cp.async.bulk.tensor.g2s', 1024)
    """

    __slots__ = ()
    instruction = "cp.async.bulk.tensor.g2s"


class CopyBulkTensorTileG2SMulticastOp(CopyBulkTensorTileG2SOp):
    """A box of a tensor from global memory to the shared memory of several CTAs of a cluster, each in the same place.

    >>> CopyBulkTensorTileG2SMulticastOp(box=(64, 32)).instruction
    'cp.async.bulk.tensor.g2s'
    """

    __slots__ = ()


class CopyBulkTensorTileS2GOp(BulkOp):
    """A box of a tensor from shared to global memory, by the tensor memory accelerator; extents with the fastest first.

    >>> CopyBulkTensorTileS2GOp(box=(64, 32)).instruction
    'cp.async.bulk.tensor.s2g'
    """

    __slots__ = ()
    instruction = "cp.async.bulk.tensor.s2g"


class CopyReduceBulkTensorTileS2GOp(BulkOp):
    """A box of a tensor from shared memory, which is added to what is in global memory, or joined with it otherwise.

    `reduction_kind`: a cute.ReductionOp, or "add", "min", "max", "and", "or", "xor".

    >>> from tilewright import cute
    >>> CopyReduceBulkTensorTileS2GOp(cute.ReductionOp.MAX).reduction
    'max'
    """

    __slots__ = ("reduction",)
    instruction = "cp.reduce.async.bulk.tensor.s2g"
    reduction: str

    def __init__(
        self, reduction_kind: Any = "add", box: tuple[int, ...] | None = None, swizzle: SwizzleMode = SwizzleMode.NONE
    ) -> None:
        kind = getattr(reduction_kind, "value", reduction_kind)
        if kind not in _REDUCTIONS:
            raise ValueError(f"{type(self).__name__}: TMA has no reduction {kind!r}, but {', '.join(_REDUCTIONS)}")
        super().__init__(box, swizzle)
        self._set(reduction=kind)

    def with_box(self, box: tuple[int, ...], swizzle: SwizzleMode) -> BulkOp:
        """The same operation for a box."""
        return CopyReduceBulkTensorTileS2GOp(self.reduction, box, swizzle)

    def _fields(self) -> dict[str, Any]:
        return {"reduction_kind": self.reduction, **super()._fields()}


class CopyBulkG2SOp(CopyOp):
    """Bytes side by side from global to shared memory, a multiple of 16, which an mbarrier counts: one thread asks.

    >>> CopyBulkG2SOp().instruction
    'cp.async.bulk.g2s'
    """

    __slots__ = ()
    instruction = "cp.async.bulk.g2s"


class CopyBulkS2GOp(CopyOp):
    """Bytes side by side from shared to global memory, a multiple of 16: one thread asks.

    >>> CopyBulkS2GOp().instruction
    'cp.async.bulk.s2g'
    """

    __slots__ = ()
    instruction = "cp.async.bulk.s2g"
