"""Run as a program by verify_with_ncu: runs what it is told to, and writes down every launch of a plan.

python -m tilewright.kernels.analyze.verified_process NOTES script PATH | module NAME FUNCTION | file PATH FUNCTION
"""

from __future__ import annotations

import functools
import pickle
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class EveryTime:
    """In the place of a Launcher, which launches again without Python: here every call makes and shows its plan."""

    def __init__(self, slow: Callable[..., tuple[Any, Any]], parameters: tuple[str, ...] = ()) -> None:
        self.slow, self.parameters = slow, parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.slow(*args, **kwargs)[0]

    def clear(self) -> None:
        """There is nothing to forget."""


def record(launches: list[dict[str, Any]]) -> None:
    """Let every plan that is prepared for a launch be written down, with the addresses of its tensors."""
    from tilewright import _core

    _core.cuda.Launcher = EveryTime  # type: ignore[misc, assignment]
    from tilewright.kernels.common import launch
    from tilewright.kernels.gemm import launch as gemm_launch

    def noted(prepare: Callable[..., Any], addresses: Callable[..., list[int | None]]) -> Callable[..., Any]:
        @functools.wraps(prepare)
        def prepare_and_note(plan: Any, *args: Any, **kwargs: Any) -> Any:
            prepared = prepare(plan, *args, **kwargs)
            symbol = prepared.function.name
            launches.append({"symbol": symbol, "plan": plan, "addresses": addresses(*args)})
            return prepared

        return prepare_and_note

    launch.prepare = noted(launch.prepare, lambda src, dst, *_: [src.address, dst.address])
    gemm_launch.prepare = noted(
        gemm_launch.prepare, lambda operands, *_: [x.address if x is not None else None for x in operands.tensors]
    )


def main() -> None:
    notes, kind, *where = sys.argv[1:]
    launches: list[dict[str, Any]] = []
    record(launches)
    sys.argv = where[:1]
    if kind == "module":
        __import__(where[0])
        getattr(sys.modules[where[0]], where[1])()
    else:
        sys.path.insert(0, str(Path(where[0]).resolve().parent))
        names = runpy.run_path(where[0], run_name="__main__" if kind == "script" else "__verified__")
        if kind == "file":
            names[where[1]]()
    Path(notes).write_bytes(pickle.dumps(launches))


if __name__ == "__main__":
    main()
