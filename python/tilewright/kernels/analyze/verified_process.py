"""Run as a program by verify_with_ncu: runs what it is told to, and writes down every launch that is predicted.

python -m tilewright.kernels.analyze.verified_process NOTES script PATH | module NAME FUNCTION | file PATH FUNCTION
"""

from __future__ import annotations

import pickle
import runpy
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright._registry import KERNELS, entry_of, load
from tilewright.runtime import on_launch

if TYPE_CHECKING:
    from tilewright.runtime import Launch


def note(launches: list[dict[str, Any]], launch: Launch) -> None:
    """Write down a launch of a plan, with the addresses of its tensors."""
    if entry_of(launch.plan, KERNELS) is not None:
        launches.append({"symbol": launch.kernel, "plan": launch.plan, "addresses": launch.addresses})


def main() -> None:
    notes, kind, *where = sys.argv[1:]
    launches: list[dict[str, Any]] = []
    on_launch(partial(note, launches))
    load("tilewright.lang.profiling.verify:note_calls")(launches)
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
