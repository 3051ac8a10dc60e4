"""Layouts in shared memory that wgmma reads.

A wgmma descriptor describes an operand as a row of atoms: 8 rows of 16, 32, 64 or 128 bytes (K-major), or 16, 32, 64 or
128 bytes of a column by 8 columns (MN-major). Within an atom the chunks of 16 bytes are permuted, chunk c of row r to
c ^ (r modulo the chunks of a row), so that 8 rows of a column lie in different banks: in bytes this is the swizzle
S<B,4,3> with B = 0, 1, 2, 3.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tilewright import _core
from tilewright.numeric.base import require_dtype

if TYPE_CHECKING:
    from tilewright.numeric import Numeric

__all__ = ["SmemLayoutAtomKind", "make_smem_layout_atom"]


class SmemLayoutAtomKind(Enum):
    """The major mode of an operand in shared memory and the bytes among which its chunks of 16 bytes are permuted.

    >>> kind = SmemLayoutAtomKind.K_SW128
    >>> kind.k_major, kind.span_bytes, str(kind.swizzle)
    (True, 128, 'S<3,4,3>')
    """

    MN_INTER = ("mn", 0)
    MN_SW32 = ("mn", 1)
    MN_SW64 = ("mn", 2)
    MN_SW128 = ("mn", 3)
    K_INTER = ("k", 0)
    K_SW32 = ("k", 1)
    K_SW64 = ("k", 2)
    K_SW128 = ("k", 3)

    @property
    def k_major(self) -> bool:
        """Whether elements along K lie side by side."""
        return self.name.startswith("K_")

    @property
    def span_bytes(self) -> int:
        """Bytes of the atom along its major mode."""
        return 16 << self.value[1]

    @property
    def swizzle(self) -> _core.Swizzle:
        """The permutation, of byte offsets."""
        return _core.Swizzle(self.value[1], 4, 3)


def make_smem_layout_atom(
    kind: SmemLayoutAtomKind, element_type: type[Numeric], *, loc: object = None, ip: object = None
) -> _core.Layout | _core.ComposedLayout:
    """The smallest tile of an operand in shared memory that wgmma reads: (M or N, K) to the offset in elements.

    `tile_to_shape` repeats it. The swizzle is in elements as the layout is: that of 16-bit elements is S<B,3,3>, where
    CuTe's pointers to shared memory have S<B,4,3>, of bytes. Without a swizzle (INTER) it is a plain Layout. Raises
    TypeError for what is no kind, and LayoutError for elements of which 16 bytes hold no whole number.
    Source: CuTeDSL `cute.nvgpu.warpgroup.make_smem_layout_atom`.

    >>> from tilewright import Float16, cute
    >>> warpgroup = cute.nvgpu.warpgroup
    >>> atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, Float16)
    >>> atom, cute.tile_to_shape(atom, (128, 64, 4), (0, 1, 2))
    (S<3,3,3> o 0 o (8,64):(64,1), S<3,3,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192)))
    >>> warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.MN_SW64, Float16)
    S<2,3,3> o 0 o (32,8):(1,32)
    """
    function = "make_smem_layout_atom"
    if not isinstance(kind, SmemLayoutAtomKind):
        raise TypeError(
            f"{function}: expected kind to be one of {', '.join(map(str, SmemLayoutAtomKind))}, got {kind!r}"
        )
    require_dtype(function, element_type)
    bits = element_type.bits
    if 128 % bits:
        raise _core.LayoutError(
            f"{function}({kind}, {element_type}): 16 bytes do not hold a whole number of elements of {bits} bits"
        )
    extent = 8 * kind.span_bytes // bits
    layout = _core.make_layout((8, extent), stride=(extent, 1)) if kind.k_major else _core.make_layout((extent, 8))
    tile: _core.Layout | _core.ComposedLayout = _core.composition(_core.recast_layout(bits, 8, kind.swizzle), layout)
    return tile
