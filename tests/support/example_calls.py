"""The calls that the programs in examples/ make, with what is counted in their launches."""

from __future__ import annotations

import contextlib
import functools
import io
import runpy
from typing import Any, NamedTuple

from places import ROOT
from tilewright import cute
from tilewright.lang.profiling.launches import Counted, count
from tilewright.lang.run import WATCHERS

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


class Call(NamedTuple):
    """A call of a @cute.jit function: its program, and each of its launches."""

    traced: Any
    launches: list[Counted]


@functools.cache
def calls_of(name: str) -> tuple[Call, ...]:
    """What an example's check calls on the CPU."""
    import torch

    found = []

    def note(traced: Any, leaves: Any, device: tuple[int, int]) -> None:
        found.append(Call(traced, count(traced, leaves)))

    torch.manual_seed(0)
    WATCHERS.append(note)
    try:
        with cute.on_cpu(check=False), contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["check"]("cpu")
    finally:
        WATCHERS.remove(note)
    return tuple(found)
