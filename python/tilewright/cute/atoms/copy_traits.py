"""What copy instructions do, as data: by which threads, between which memories, in which widths.

`TRAITS` has a row for each instruction. Its layouts map (thread, value) to bits of what is copied: the source layout
says where a thread's bits come from, the destination layout where they go, and both count the same bits.

ldmatrix.x1 by hand, in bits: thread 4r + c/2 receives elements c and c+1 of row r, at 128r + 16c. So the destination is
(32,32):(32,1): each of 32 threads has 32 bits, in order. The source is ((8,4),128):((128,0),1): each of the first 8
threads names a row of 128 bits, and what the others name is not looked at, hence the stride 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.cute.tensors.pointer import AddressSpace

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OLDEST", "TRAITS", "CopyTraits"]

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


OLDEST = "sm_75"  # what CUDA 13 compiles for
_VECTOR = dict.fromkeys((8, 16, 32, 64, 128), OLDEST)
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
    "cp.reduce.async.bulk.tensor.s2g": CopyTraits(SMEM, GMEM, {}, src_row=128, dst_row=128),
    # One thread asks for bytes side by side, as many as the tensors have.
    "cp.async.bulk.g2s": CopyTraits(GMEM, SMEM, {}, src_row=128, dst_row=128),
    "cp.async.bulk.s2g": CopyTraits(SMEM, GMEM, {}, src_row=128, dst_row=128),
}
