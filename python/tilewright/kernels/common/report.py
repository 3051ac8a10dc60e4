"""What a plan was found to do when it was run with a mark on every element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.cute.int_tuple import text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CopyReport", "Finding"]

# What is said of one and of several.
TEXTS = {
    "never_written": ("element is never written", "elements are never written"),
    "written_twice": ("element is written more than once", "elements are written more than once"),
    "wrong": ("write brings the element of another coordinate", "writes bring the element of another coordinate"),
    "read_before_write": (
        "element is read from shared memory before it is written there",
        "elements are read from shared memory before they are written there",
    ),
    "shared_written_twice": (
        "write to shared memory overwrites another one",
        "writes to shared memory overwrite another one",
    ),
    "outside_shared": ("access lies outside of shared memory", "accesses lie outside of shared memory"),
    "outside_tile": ("value of a thread lies outside of the tile", "values of threads lie outside of the tile"),
    "not_contiguous": (
        "access has values that do not lie next to each other",
        "accesses have values that do not lie next to each other",
    ),
    "misaligned_load": ("load is misaligned", "loads are misaligned"),
    "misaligned_store": ("store is misaligned", "stores are misaligned"),
}


@dataclass(frozen=True)
class Finding:
    """How often something was found, and the first coordinates where.

    >>> print(Finding(9, ((0, 1), (0, 3))))
    (0,1), (0,3), ...
    """

    count: int = 0
    first: tuple[tuple[int, ...], ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(text, self.first)) + (", ..." if self.count > len(self.first) else "")


class CopyReport:
    """What `plan.run(src, dst, check=True)` found; true if nothing is wrong.

    `size` is the number of elements. All other attributes have a `count` and the `first` coordinates, those of
    `plan.problem`, or, of the tile where it says so:

    - `never_written`, `written_twice`: elements of the destination; `wrong`: writes of another element of the source
    - `read_before_write`, `shared_written_twice`, `outside_shared`: accesses to shared memory
    - `outside_tile`: values of threads; `not_contiguous`: accesses; both by their coordinate in the tile
    - `misaligned_load`, `misaligned_store`: accesses at an address that is no multiple of their bytes

    >>> import numpy
    >>> from tilewright import cute, kernels
    >>> a, b = numpy.arange(16.0), numpy.zeros(16)
    >>> plan = kernels.tiled_copy.plan(a, b)
    >>> print(plan.run(a, b, check=True))
    each of 16 elements is written exactly once
    >>> tv = cute.parse("(3,4):(1@0,4@0)")  # of every 4 elements, threads take 3
    >>> broken = plan.replace(tile=(16,), load_tv=tv, store_tv=tv, load_vector=1, store_vector=1)
    >>> report = broken.run(a, b, check=True)
    >>> print(report)
    of 16 elements: 4 elements are never written: (3), (7), (11), (15)
    >>> bool(report), report.never_written.count
    (False, 4)
    """

    __slots__ = ("size", *TEXTS)
    size: int
    never_written: Finding
    written_twice: Finding
    wrong: Finding
    read_before_write: Finding
    shared_written_twice: Finding
    outside_shared: Finding
    outside_tile: Finding
    not_contiguous: Finding
    misaligned_load: Finding
    misaligned_store: Finding

    def __init__(self, size: int, found: Mapping[str, Mapping[str, Any]]) -> None:
        self.size = size
        for name in TEXTS:
            what = found.get(name)
            setattr(self, name, Finding(what["count"], tuple(what["first"])) if what else Finding())

    @property
    def findings(self) -> dict[str, Finding]:
        """What is wrong, by name."""
        return {name: getattr(self, name) for name in TEXTS if getattr(self, name).count}

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        if not self.size:
            return "there are no elements"
        if self:
            return f"each of {self.size} elements is written exactly once"
        lines = [f"{found.count} {TEXTS[name][found.count > 1]}: {found}" for name, found in self.findings.items()]
        return f"of {self.size} elements: " + "\n  ".join(["", *lines] if len(lines) > 1 else lines)

    __repr__ = __str__
