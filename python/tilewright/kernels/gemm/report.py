"""What a GEMM plan was found to do when it was run with marks on shared memory and on every element of C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.kernels.common.report import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GemmReport"]

# What is said of one and of several; {} is A or B.
OPERAND_TEXTS = {
    "race": ("place in shared memory is written twice by the loads of {}", "places in shared memory are written twice"),
    "misaligned_shared": (
        "cp.async of {} has no aligned place in shared memory",
        "cp.asyncs of {} have no aligned place",
    ),
    "wrong": ("value of {} is multiplied as another (row, k)", "values of {} are multiplied as another (row, k)"),
    "uninitialised": ("value of {} is read before it is written", "values of {} are read before they are written"),
    "overwritten": (
        "value of {} is overwritten before it is read",
        "values of {} are overwritten before they are read",
    ),
    "left_out": ("element of {} is left out", "elements of {} are left out"),
    "outside": ("element outside of {} is read", "elements outside of {} are read"),
    "misaligned": ("load of {} is misaligned", "loads of {} are misaligned"),
    "not_contiguous": (
        "load of {} takes elements that are no neighbours",
        "loads of {} take elements that are no neighbours",
    ),
}
TEXTS = {
    **{
        f"{name}_{side.lower()}": (one.format(side), several.format(side))
        for name, (one, several) in OPERAND_TEXTS.items()
        for side in "AB"
    },
    "not_arrived": ("K tile is read before it has arrived", "K tiles are read before they have arrived"),
    "k_not_summed": ("k of the tile is never summed", "k of the tile are never summed"),
    "k_summed_twice": ("k of the tile is summed more than once", "k of the tile are summed more than once"),
    "k_tile_not_summed": ("K tile is never summed", "K tiles are never summed"),
    "k_tile_summed_twice": ("K tile is summed more than once", "K tiles are summed more than once"),
    "wrong_accumulator": ("accumulator is the sum of another (m, n)", "accumulators are the sums of another (m, n)"),
    "race_store": ("place in the image of C is written twice", "places in the image of C are written twice"),
    "uninitialised_store": ("value of C is read before it is written", "values of C are read before they are written"),
    "wrong_store": ("store brings the sum of another (m, n)", "stores bring the sum of another (m, n)"),
    "wrong_sum": (
        "store does not add up the sum of each atom along k once",
        "stores do not add up the sum of each atom along k once",
    ),
    "outside_c": ("element outside of C is written", "elements outside of C are written"),
    "misaligned_c": ("store is misaligned", "stores are misaligned"),
    "not_contiguous_c": ("store takes elements that are no neighbours", "stores take elements that are no neighbours"),
    "never_written": ("element of C is never written", "elements of C are never written"),
    "written_twice": ("element of C is written more than once", "elements of C are written more than once"),
}  # fmt: skip


class GemmReport:
    """What `plan.run(mA, mB, mC, check=True)` found; true if nothing is wrong.

    `size` is the number of elements of C. All other attributes have a `count` and the `first` coordinates. Of the
    problem, with the batch index behind where there is one:

    - `never_written`, `written_twice`: elements (m, n) of C
    - `uninitialised_a`, `uninitialised_b`: elements (row, k) that the MMA reads where no load of their K tile has
      written; `overwritten_a`, `overwritten_b`: whose slot has been loaded anew, given the depth of the pipeline
    - `left_out_a`, `left_out_b`: elements that no access brings because the predicate of their access is false;
      `outside_a`, `outside_b`, `outside_c`: elements that accesses touch outside of the tensor
    - `misaligned_a`, `misaligned_b`, `misaligned_c`: the first elements of accesses that are not aligned

    Of the plan alone, by the coordinate in the tile:

    - `race_a`, `race_b`: (row, k) whose place in shared memory has been written in the same K tile
    - `wrong_a`, `wrong_b`: (thread, row, k): the thread's register (or, where the MMA reads shared memory, the
      descriptor of the thread's m or n) is multiplied as (row, k), but holds another element
    - `wrong_accumulator`: (thread, m, n) of accumulators that are not stored as what they are the sum of
    - `k_not_summed`, `k_summed_twice`: (k,)
    - `k_tile_not_summed`, `k_tile_summed_twice`: (m tile, n tile, batch, K tile)
    - `not_arrived`: (K tile,) that is read before the barrier at which it is there
    - `race_store`, `uninitialised_store`, `wrong_store`: (m, n) in the image of C in shared memory and of stores
    - `wrong_sum`: (m, n) of stores to which each atom along k does not contribute once
    - `not_contiguous_a`, `_b`, `_c`, `misaligned_shared_a`, `_b`: the first elements of accesses

    >>> print(GemmReport(4, {}))
    each of 4 elements of C is written exactly once
    >>> report = GemmReport(4, {"never_written": {"count": 2, "first": [(0, 1), (1, 1)]}})
    >>> print(report)
    of 4 elements of C: 2 elements of C are never written: (0,1), (1,1)
    >>> bool(report), report.never_written.count, report.wrong_a.count
    (False, 2, 0)
    """

    __slots__ = ("found", "size")
    size: int
    found: dict[str, Finding]

    def __init__(self, size: int, found: Mapping[str, Mapping[str, Any]]) -> None:
        self.size = size
        self.found = {
            name: Finding(found[name]["count"], tuple(found[name]["first"])) for name in TEXTS if name in found
        }

    def __getattr__(self, name: str) -> Finding:
        if name not in TEXTS:
            raise AttributeError(f"GemmReport has no finding named {name}; there are {', '.join(TEXTS)}")
        return self.found.get(name, Finding())

    @property
    def findings(self) -> dict[str, Finding]:
        """What is wrong, by name."""
        return dict(self.found)

    def __bool__(self) -> bool:
        return not self.found

    def __reduce__(self) -> Any:
        found = {name: {"count": f.count, "first": f.first} for name, f in self.found.items()}
        return GemmReport, (self.size, found)

    def __str__(self) -> str:
        if self:
            return f"each of {self.size} elements of C is written exactly once" if self.size else "C has no elements"
        lines = [f"{found.count} {TEXTS[name][found.count > 1]}: {found}" for name, found in self.found.items()]
        return f"of {self.size} elements of C: " + "\n  ".join(["", *lines] if len(lines) > 1 else lines)

    __repr__ = __str__
