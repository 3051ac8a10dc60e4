"""Which thread gets which values: a tensor composed with a thread-value layout, looked at thread by thread."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright._notebook import drawn
from tilewright._registry import load
from tilewright._traceback import short
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor, as_tensor
from tilewright.cute.text.printing import PRINTF_VALUES, format_printf, pretty_str
from tilewright.kernels.visualize.device import print_from_device, see
from tilewright.numeric import Int32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tilewright._typing import SupportsDLPack

__all__ = ["Coverage", "ThreadValues", "visualize_tv"]


class Coverage:
    """How often the elements of the tensor are read: true if every one is read exactly once.

    `size` is their number, `missing` are the coordinates that no thread reads, `repeated` those read more than once.
    """

    __slots__ = ("missing", "repeated", "size")

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.size = len(counts)
        self.missing = (counts == 0).nonzero()[0]
        self.repeated = (counts > 1).nonzero()[0]

    def __bool__(self) -> bool:
        return not len(self.missing) and not len(self.repeated)

    def __str__(self) -> str:
        if self:
            return f"each of {self.size} elements is read exactly once"
        found = []
        for which, how in ((self.missing, "never read"), (self.repeated, "read more than once")):
            if len(which):
                some = ", ".join(map(str, which[:8])) + (", ..." if len(which) > 8 else "")
                verb = "is" if len(which) == 1 else "are"
                found.append(f"{len(which)} of {self.size} elements {verb} {how} ({some})")
        return ", ".join(found)

    __repr__ = __str__


@drawn
class ThreadValues:
    """What `visualize_tv` returns; `str()` is the text that the kernel prints, and a notebook shows the picture.

    - `values[t, v]`: the elements that the threads read, one row a thread; `result[t]` is the row of thread t
    - `coordinates[t, v]`: where they stand in the tensor, TV(t, v); `offsets[t, v]`: where in memory, in elements
    - `coverage`: whether every element is read exactly once
    - `thread(t)`: the tensor that thread t sees
    - `text()`, `svg()`: the pictures

    Of a tensor on a GPU, values and offsets are what the threads of the kernel wrote down.
    """

    __slots__ = ("_seen", "_tv", "composed", "coordinates", "coverage", "offsets", "tensor", "tv_layout", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor: Tensor, tv_layout: Any) -> None:
        self.tensor = tensor
        self.tv_layout = tv_layout
        self._tv = _static(tv_layout)
        threads, values = (int(_core.size(self._tv, mode=[mode])) for mode in (0, 1))

        def table(flat: Any) -> Any:
            return flat.reshape(values, threads).T

        self.coordinates = table(self._tv.offsets())
        self._check_range()
        self.coverage = Coverage(np.bincount(self.coordinates.ravel(), minlength=int(_core.size(tensor.layout))))
        self.composed = _core.composition(tensor, self._tv)
        self._seen = None
        if _on_device(tensor):
            self._seen = see(self.composed, threads, values)
            self.offsets, self.values = table(self._seen.offsets), table(self._seen.values)
            return
        self.offsets = table(self.composed.layout.offsets()) if isinstance(tensor.iterator, (int, Pointer)) else None
        self.values = table(_elements(self.composed))

    def _check_range(self) -> None:
        size = int(_core.size(self.tensor.layout))
        outside = ((self.coordinates < 0) | (self.coordinates >= size)).nonzero()
        if len(outside[0]):
            t, v = (int(axis[0]) for axis in outside)
            raise LayoutError(
                f"visualize_tv({self.tensor.layout}, {self.tv_layout}): thread {t}, value {v} reads coordinate "
                f"{int(self.coordinates[t, v])}, outside the tensor of {size} elements (0 to {size - 1}); "
                f"size(TV) is {self.coordinates.size} and cosize(TV) must be at most {size}"
            )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, thread: int) -> Any:
        return self.values[thread]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ThreadValues):
            return NotImplemented
        return (
            self.tensor.layout == other.tensor.layout
            and self.tv_layout == other.tv_layout
            and bool((self.values == other.values).all())
        )

    def thread(self, thread: int) -> Tensor:
        """The tensor that a thread sees: composed[thread, None], where the index is dynamic, as in a kernel.

        In a swizzled tensor it is static: there the strides depend on it.
        """
        if not 0 <= thread < len(self):
            raise IndexError(f"thread {thread} is out of range; there are {len(self)} threads")
        sliced: Tensor = self.composed[Int32(thread), None]
        if not _core.is_static(sliced.layout):
            sliced = self.composed[thread, None]
        return sliced

    def __str__(self) -> str:
        lines = [f"TV Layout: {self.tv_layout}\n"]
        for t in range(len(self)):
            lines.append(format_printf("TIDX: {}", t))
            lines.append(format_printf("DATA: {}", self._data(t)))
        return "".join(lines).removesuffix("\n")

    def _data(self, thread: int) -> Any:
        """What printf shows as the tensor of a thread."""
        tensor = self.thread(thread)
        if self._seen is None:
            return tensor
        count = self.values.shape[1]
        shown = [
            format_printf("{}", self._seen.element(thread + v * len(self)), end="")
            for v in range(min(count, PRINTF_VALUES))
        ]
        shown += ["[...]"] * (count > PRINTF_VALUES)
        return format_printf("{} o {} = \n  ( {} )", tensor.iterator, tensor.layout, ", ".join(shown), end="")

    def __repr__(self) -> str:
        threads, values = self.values.shape
        return f"<{threads} threads x {values} values of {pretty_str(self.tensor.layout)}: {self.coverage}>"

    def text(self, color: bool | None = None) -> str:
        """The tensor as a table of its elements with their threads and values, and TV as a table of coordinates.

        Coloured by thread where standard output is a terminal and NO_COLOR is not set, or as `color` says.
        """
        return load("tilewright.show.subjects.tv:values_picture")(self).text(color)  # type: ignore[no-any-return]

    def svg(self) -> str:
        """The same two tables as a picture; pointing at a cell shows coordinate, offset, thread and value."""
        return load("tilewright.show.subjects.tv:values_picture")(self).svg()  # type: ignore[no-any-return]


def _static(layout: Any) -> Any:
    """The layout with its dynamic integers as static ones."""
    if not isinstance(layout, _core.Layout) or _core.is_static(layout):
        return layout

    def leaf(x: Any) -> Any:
        return tuple(map(leaf, x)) if isinstance(x, tuple) else getattr(x, "_value", x)

    return _core.make_layout(leaf(layout.shape), stride=leaf(layout.stride))


def _on_device(tensor: Tensor) -> bool:
    """Whether a tensor lies in memory that the CPU does not read."""
    memory = tensor.iterator._memory if isinstance(tensor.iterator, Pointer) else None
    return memory is not None and not memory.on_host


def _elements(tensor: Tensor) -> Any:
    """All elements in colexicographic order, as a NumPy array."""
    if isinstance(tensor.iterator, Pointer):
        return np.asarray(tensor.load())
    if isinstance(tensor.iterator, int):
        return tensor.iterator + tensor.layout.offsets()
    elements = np.empty(int(_core.size(tensor.layout)), dtype=object)
    for i in range(len(elements)):
        elements[i] = tensor[i]
    return elements


@short
def visualize_tv(
    tensor: SupportsDLPack, tv_layout: _core.Layout, *, printf: bool = False, loc: object = None, ip: object = None
) -> ThreadValues:
    """Run the thread-value kernel: thread t reads tensor(TV(t, v)) for every value v.

    `tensor` is a Tensor, or an array of torch, NumPy or another library with DLPack; `tv_layout` has rank 2 and maps
    (thread, value) to a coordinate of the tensor. A tensor in CUDA memory is read by that many threads of the GPU,
    1024 a block, on the current stream (`cute.runtime.work_stream`), which is waited for; memory of the CPU counts as
    global memory here.

    The result prints, as the kernel does, what every thread reads, in thread order. It has the values as arrays, tells
    whether every element is read exactly once (`.coverage`), and draws itself, as text and in a notebook.

    printf=True also prints that text while the kernel runs: on a GPU by the device's printf. Its text goes to the
    standard output of the process, past `sys.stdout` and so past a notebook. CUDA leaves the order of threads open;
    here they take turns, and their lines come in thread order.

    Raises LayoutError where TV has another rank, leads outside the tensor, or cannot be composed with its layout.
    Source: tilewright.

    >>> import numpy
    >>> from tilewright import cute, kernels
    >>> tv = cute.make_layout(((2, 2), (2, 3)), stride=((2, 12), (1, 4)))
    >>> result = kernels.visualize_tv(numpy.arange(24, dtype=numpy.int32), tv)
    >>> result.values.tolist()
    [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23]]
    >>> print(result.coverage)
    each of 24 elements is read exactly once
    """
    if not isinstance(tv_layout, _core.Layout):
        raise TypeError(f"visualize_tv: expected tv_layout to be a Layout, but got {type(tv_layout).__name__}")
    whole = as_tensor(tensor, "visualize_tv")
    rank = _core.rank(tv_layout)
    if rank != 2:
        raise LayoutError(
            f"visualize_tv({whole.layout}, {tv_layout}): a thread-value layout has rank 2, (thread, value), but this "
            f"one has rank {rank}; group_modes, or make_layout([threads, values]), makes two modes"
        )
    if _core.has_scaled_basis(tv_layout.stride):
        raise LayoutError(
            f"visualize_tv({whole.layout}, {tv_layout}): the layout maps to coordinates, not to numbers; compose it "
            f"with the shape first: composition(make_layout({pretty_str(whole.layout.shape)}), tv_layout)"
        )
    iterator = whole.iterator
    if isinstance(iterator, Pointer):
        iterator = iterator.in_global_memory()
    result = ThreadValues(Tensor(iterator, _static(whole.layout)), tv_layout)
    if printf and result._seen is not None:
        print_from_device(result)
    elif printf:
        sys.stdout.write(f"{result}\n")
    return result
