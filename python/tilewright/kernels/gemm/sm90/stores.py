"""How C leaves gemm_sm90, by name, and what of it a CTA and a box have."""

from __future__ import annotations

from tilewright.kernels.gemm.sm90.shared_operand import SPAN

STORES = ("singles", "pairs", "boxes", "columns", "lines")  # as in kernels/tilewright/sm90_box.cuh
BY_BOXES = ("boxes", "columns")  # by TMA, out of shared memory


def own_units(bM: int, bN: int, split_k: int, consumers: int) -> int:
    """Of a split, the units of 8 columns by 64 rows that a CTA finishes of each consumer's part of the tile."""
    return -(-(bM * bN // (64 * 8 * consumers)) // split_k)


def box_columns(bits: int, bM: int, bN: int, split_k: int, consumers: int, store: str) -> int:
    """The columns of a box of C of elements of so many bits: see kernels/tilewright/sm90_box.cuh.

    >>> [box_columns(16, 128, bN, 1, 2, "columns") for bN in (8, 40, 144, 256)]
    [8, 40, 48, 64]
    """
    most = SPAN * 8 // bits
    if store != "columns" or bits != 16:
        return most
    units = min(bN // 8, own_units(bM, bN, split_k, consumers))
    return 8 * next(count for count in range(most // 8, 0, -1) if units % count == 0)
