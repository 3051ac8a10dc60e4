"""What the hardware will do with a layout: sectors, wavefronts, active lanes, and what to change.

`analyze` answers for a layout, a tensor, a tiled copy or a plan; `warp_access` for the addresses of one warp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._boundary import guard
from tilewright._names import names_of
from tilewright._registry import ANALYSES, function_of
from tilewright.cute.tensors.tensor import as_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.analysis.access import MisalignedError, Request, Requests, swizzled, warp_access, warp_accesses
    from tilewright.analysis.boxes import BoxAccess, box_access
    from tilewright.analysis.copies import analyze_tiled_copy
    from tilewright.analysis.cp_async import AsyncAccess, async_access
    from tilewright.analysis.instructions import Analysis, MemoryInstruction
    from tilewright.analysis.layouts import analyze_layout
    from tilewright.analysis.rank import by_rank
    from tilewright.analysis.suggest.shared_memory import Access, suggest_padding, suggest_swizzle, suggest_tv
    from tilewright.analysis.swizzle_modes import SwizzleMode, swizzle_mode
    from tilewright.kernels.analyze.plans import analyze_plan
    from tilewright.kernels.analyze.verify import Verification, verify_with_ncu

__all__ = [
    "Access",
    "Analysis",
    "AsyncAccess",
    "BoxAccess",
    "MemoryInstruction",
    "MisalignedError",
    "Request",
    "Requests",
    "SwizzleMode",
    "Verification",
    "analyze",
    "analyze_layout",
    "analyze_plan",
    "analyze_tiled_copy",
    "async_access",
    "box_access",
    "by_rank",
    "suggest_padding",
    "suggest_swizzle",
    "suggest_tv",
    "swizzle_mode",
    "swizzled",
    "verify_with_ncu",
    "warp_access",
    "warp_accesses",
]

# Where each name is; they are imported when they are first used.
_MODULES = {
    **dict.fromkeys(
        ("MisalignedError", "Request", "Requests", "swizzled", "warp_access", "warp_accesses"),
        "tilewright.analysis.access",
    ),
    **dict.fromkeys(("Analysis", "MemoryInstruction"), "tilewright.analysis.instructions"),
    **dict.fromkeys(("AsyncAccess", "async_access"), "tilewright.analysis.cp_async"),
    **dict.fromkeys(("BoxAccess", "box_access"), "tilewright.analysis.boxes"),
    **dict.fromkeys(
        ("Access", "suggest_padding", "suggest_swizzle", "suggest_tv"), "tilewright.analysis.suggest.shared_memory"
    ),
    **dict.fromkeys(("SwizzleMode", "swizzle_mode"), "tilewright.analysis.swizzle_modes"),
    **dict.fromkeys(("Verification", "verify_with_ncu"), "tilewright.kernels.analyze.verify"),
    "analyze_layout": "tilewright.analysis.layouts",
    "analyze_plan": "tilewright.kernels.analyze.plans",
    "analyze_tiled_copy": "tilewright.analysis.copies",
    "by_rank": "tilewright.analysis.rank",
}


ANALYSES.update(
    {
        **dict.fromkeys(
            ("tilewright._core.Layout", "tilewright._core.ComposedLayout", "tilewright.cute.tensors.tensor.Tensor"),
            "tilewright.analysis.layouts:analyze_layout",
        ),
        "tilewright.cute.tiled.tiled_copy.TiledCopy": "tilewright.analysis.copies:analyze_tiled_copy",
    }
)


def analyze(x: object, *args: object, **kwargs: object) -> Analysis:
    """What each memory instruction costs that a layout, a tensor, a tiled copy or a plan stands for.

    - `analyze(layout, dtype, *, width=None, memory="global", op="load", base=0, threads=None, active=None)`, and
      `analyze(tensor, ...)`, also of an array with `__dlpack__`: see `analyze_layout`
    - `analyze(tiled_copy, src, dst)`: the two sides of a TiledCopy; see `analyze_tiled_copy`
    - `analyze(plan, *tensors)`: every memory instruction of a launch; see `analyze_plan`

    Wavefronts of cp.async through L1 (.ca) are what Nsight Compute counts for the instruction;
    `async_access(...).wavefronts` is what the hardware takes.

    Raises: TypeError for an object of another kind, and for arguments that are missing or that its kind does not take.
    Source: tilewright.

    Examples:
        >>> from tilewright import Float32, cute
        >>> print(analyze(cute.make_layout(32, stride=2), Float32))  # every other element
        32:2: memory instructions of one warp
                instruction  requests  lanes  sectors  ideal  lines  moved  useful
          load  LDG.E               1     32        8      4      2    256     128
        widest access: 4 bytes, limited by 1 value a thread
        advice: neighbouring lanes are 8 bytes apart but access 4: let them access neighbouring elements
    """
    function = function_of(x, ANALYSES)
    if function is None and hasattr(x, "__dlpack__"):
        x = as_tensor(x, "analyze", "x")
        function = function_of(x, ANALYSES)
    if function is not None:
        return _called(function, x, args, kwargs)
    raise TypeError(
        f"analyze: expected a Layout, ComposedLayout, Tensor, TiledCopy or a plan, not {type(x).__name__}; "
        "a TiledMma is analysed as part of a plan"
    )


def _called(function: Callable[..., Analysis], x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Analysis:
    """What the function for this kind of object finds; arguments that do not fit it are errors of `analyze`."""
    try:
        return function(x, *args, **kwargs)
    except TypeError:
        from tilewright.analysis.arguments import require_fitting

        require_fitting("analyze", function, x, args, kwargs)
        raise


if not TYPE_CHECKING:  # a type checker knows the names, and finds the wrong ones
    __getattr__, __dir__ = names_of(__name__, _MODULES)

guard(globals(), __all__)
