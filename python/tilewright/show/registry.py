"""`show`: which function draws what. A function is named by its module and imported when it is first needed.

To add a subject, add a line: a class by its full name, or an operation by its name, and "module:function". What draws a
kernel's plans is a member of the registered kernel. The function takes the object, or the operands, and keyword
options, and returns a Picture; it raises LayoutError, TypeError or ValueError where there is nothing to draw, and then
a notebook shows the object's text.
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._names import did_you_mean
from tilewright._registry import KERNELS, entry_of, function_of, load
from tilewright.cute.tensors.tensor import as_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.show.drawing.picture import Picture

__all__ = ["OBJECTS", "OPERATIONS", "show"]

_HERE = "tilewright.show"

OBJECTS: dict[str, str] = {
    "builtins.int": f"{_HERE}.subjects.tuples:tuple_picture",
    "builtins.tuple": f"{_HERE}.subjects.tuples:tuple_picture",
    "tilewright._core.IntTuple": f"{_HERE}.subjects.tuples:tuple_picture",
    "tilewright._core.Layout": f"{_HERE}.subjects.layouts:layout_picture",
    "tilewright._core.ComposedLayout": f"{_HERE}.subjects.swizzle:composed_picture",
    "tilewright._core.Swizzle": f"{_HERE}.subjects.swizzle:swizzle_picture",
    "tilewright.cute.text.explain.Explanation": f"{_HERE}.subjects.tuples:explanation_picture",
    "tilewright.cute.tensors.tensor.Tensor": f"{_HERE}.subjects.tensors:tensor_picture",
    "tilewright.analysis.instructions.Analysis": "tilewright.show.analysis.report:picture",
    "tilewright.analysis.instructions.MemoryInstruction": "tilewright.show.analysis.requests:instruction_picture",
    "tilewright.analysis.access.Request": "tilewright.show.analysis.requests:request_picture",
    "tilewright.analysis.boxes.BoxAccess": "tilewright.show.analysis.requests:box_picture",
    "tilewright.analysis.cp_async.AsyncAccess": "tilewright.show.analysis.requests:async_picture",
    "tilewright.lang.profiling.profile.Line": "tilewright.show.analysis.profiles:line_picture",
    "tilewright.lang.profiling.timeline.Timeline": "tilewright.show.analysis.timelines:timeline_picture",
    "tilewright.lang.profiling.profile.Profile": "tilewright.show.analysis.profiles:profile_picture",
    "tilewright.analysis.swizzle_modes.SwizzleMode": f"{_HERE}.subjects.swizzle_modes:tile_mode_picture",
    "tilewright.cute.atoms.modifiers.SwizzleMode": f"{_HERE}.subjects.swizzle_modes:box_mode_picture",
    "tilewright.cute.arithmetic.Ratio": f"{_HERE}.subjects.facts:ratio_picture",
    "tilewright.cute.tensors.pointer.Pointer": f"{_HERE}.subjects.facts:pointer_picture",
    "tilewright.cute.atoms.copy_ops.CopyOp": f"{_HERE}.subjects.copies:copy_op_picture",
    "tilewright.cute.atoms.mma_ops.MmaOp": f"{_HERE}.subjects.mma:mma_op_picture",
    "tilewright.cute.atoms.copy_atom.CopyAtom": f"{_HERE}.subjects.copies:copy_atom_picture",
    "tilewright.cute.tiled.tiled_copy.TiledCopy": f"{_HERE}.subjects.copies:tiled_copy_picture",
    "tilewright.cute.tiled.tiled_copy.ThrCopy": f"{_HERE}.operations.partitions:thr_copy_picture",
    "tilewright.cute.atoms.mma_atom.MmaAtom": f"{_HERE}.subjects.mma:mma_atom_picture",
    "tilewright.cute.tiled.tiled_mma.TiledMma": f"{_HERE}.subjects.mma:tiled_mma_picture",
    "tilewright.cute.tiled.tiled_mma.ThrMma": f"{_HERE}.operations.partitions:thr_mma_picture",
}
"""What draws an object, by the name of its class; a subclass is drawn as its nearest base that is listed.

Of integers and tuples only those themselves: a bool, or a NamedTuple, means something else.
"""

OPERATIONS: dict[str, str] = {
    **{
        name: f"{_HERE}.operations.operations:{name}_picture"
        for name in (
            *("composition", "coalesce", "complement"),
            *(f"{kind}_divide" for kind in ("logical", "zipped", "tiled", "flat")),
            *(f"{kind}_product" for kind in ("logical", "zipped", "tiled", "flat", "blocked", "raked")),
        )
    },
    **{name: f"{_HERE}.operations.partitions:{name}_picture" for name in ("local_tile", "local_partition")},
    "predication": f"{_HERE}.operations.predication:predication_picture",
}
"""What draws an operation, by its name; called with the operands of the operation."""


def show(x: object, /, *operands: object, **options: object) -> Picture:
    """The picture of an object, `show(x)`, or of an operation with its operands, `show(cute.composition, a, b)`.

    At a prompt it prints as tables, in a notebook it is drawn; `.svg()`, `.html()`, `.text()`, `.tikz()` give the
    formats and `.save(path)` writes one. A text stands for the layout that `parse` makes of it, or, with operands, for
    the operation of that name; an array with `__dlpack__` for its Tensor. Options depend on what is drawn; for a
    layout:

    - color: "value" (the offset, the default), "mode" (the index in mode 0), a mode's number, or "bank" (with dtype)
    - tile: the layout is a thread-value layout, and this is the shape of the tile to which (thread, value) leads
    - dtype, base: of these, pointing at a cell shows the bank of shared memory and the address in bytes; without a
      dtype they are those of elements of 4 bytes, and are labelled so: "bank (f32)"
    - at: a coordinate to mark

    Raises: TypeError for what has no picture or for an option that it does not have, LayoutError where the operation
    has no result.
    Source: tilewright.

    >>> from tilewright import cute
    >>> print(cute.show(cute.make_layout((2, 4), stride=(4, 1))).text(color=False))
    (2,4):(4,1)
    <BLANKLINE>
    2 x 4 elements, offsets 0 to 7, each once
        0   1   2   3
      +---+---+---+---+
    0 | 0 | 1 | 2 | 3 |
      +---+---+---+---+
    1 | 4 | 5 | 6 | 7 |
      +---+---+---+---+
    """
    if isinstance(x, str) and x not in OPERATIONS and not operands:
        x = _core.parse(x)
    name = x if isinstance(x, str) else getattr(x, "__name__", "") if callable(x) else ""
    if name in OPERATIONS:
        return _call(load(OPERATIONS[name]), name, operands, options)
    if operands:
        raise TypeError(
            f"show: there is no picture of the operation {name or type(x).__name__!r}; the operations are "
            f"{', '.join(OPERATIONS)}{did_you_mean(name, OPERATIONS)}"
        )
    if _draw_of(x) is None and hasattr(x, "__dlpack__"):
        x = as_tensor(x, "show", "x")
    draw = _draw_of(x)
    if draw is None:
        kernels = load("tilewright.kernels.kernel:registered")()
        drawn = (*OBJECTS, *(kernel.plan for kernel in kernels if kernel.draw is not None))
        names = sorted({place.rpartition(".")[2] for place in drawn})
        raise TypeError(f"show: there is no picture of {type(x).__name__}; there are pictures of {', '.join(names)}")
    return _call(draw, type(x).__name__, (x,), options)


def _draw_of(x: object) -> Callable[..., Picture] | None:
    """What draws an object: by its class, or as a plan of a registered kernel."""
    kernel = entry_of(x, KERNELS)
    return function_of(x, OBJECTS) if kernel is None else kernel.draw


def _call(draw: Callable[..., Picture], name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Picture:
    """Draw it; TypeError that names operands and options where those given are others."""
    found = signature(draw)
    try:
        found.bind(*operands, **options)
    except TypeError as error:
        kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
        takes, has = ([p.name for p in found.parameters.values() if p.kind is kind] for kind in kinds)
        raise TypeError(
            f"show: {error}; the picture of {name} takes ({', '.join(takes)}) and the options "
            f"{', '.join(has) or 'none'}"
        ) from None
    return draw(*operands, **options)
