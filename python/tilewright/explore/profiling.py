"""`python -m tilewright profile SCRIPT`: what each line of the kernels costs that a script launches on the CPU."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._program import program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.calls.decorated import Traced
    from tilewright.lang.profiling.profile import Profile

__all__ = ["Collected", "run_script"]

CPU = 1  # DLPack's type of the device


class Collected(NamedTuple):
    """The functions that a script called, each with the profile of its first call and the number of its calls.

    `on_a_gpu` counts calls whose tensors lie on a GPU, which are not profiled. `status` is the script's own.
    """

    profiles: list[tuple[str, int, Profile]]
    on_a_gpu: int
    status: int


class _Watcher:
    """Counts each program once, for its first arguments: a call of another kind is another program."""

    def __init__(self) -> None:
        self.calls: dict[int, tuple[Traced, Profile, list[None]]] = {}
        self.on_a_gpu = 0

    def __call__(self, traced: Traced, leaves: Leaves, device: tuple[int, int]) -> None:
        from tilewright.lang.profiling.launches import count
        from tilewright.lang.profiling.profile import Profile

        if device[0] != CPU:
            self.on_a_gpu += 1
            return
        if id(traced) not in self.calls:
            self.calls[id(traced)] = traced, Profile(count(traced, leaves)), []
        self.calls[id(traced)][2].append(None)


def run_script(script: str, arguments: Sequence[str]) -> Collected:
    """Run a script as `python SCRIPT ARGUMENTS` does, and count what the kernels that it launches cost.

    What it raises is printed as Python does, and what was counted until then is kept. OSError where it cannot be read.
    """
    from tilewright.lang.run import WATCHERS

    with open(script, "rb"):  # else its absence would look like an error of its own
        pass
    watcher, status = _Watcher(), 0
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:1] = [script, *arguments], [os.path.dirname(os.path.abspath(script))]
    WATCHERS.append(watcher)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        status = _status(stop.code)
    except Exception as error:
        status = 1
        _print(error)
    finally:
        WATCHERS.remove(watcher)
        sys.argv, sys.path[:] = before
    found = [
        (traced.program.functions[traced.host].name, len(calls), found)
        for traced, found, calls in watcher.calls.values()
    ]
    return Collected(found, watcher.on_a_gpu, status)


def _status(code: Any) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _print(error: BaseException) -> None:
    """From the script's first frame on."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_globals.get("__name__") != "__main__":
        at = at.tb_next
    sys.stdout.flush()
    traceback.print_exception(type(error), error, at or error.__traceback__)


def report(script: str, collected: Collected) -> int:
    """Print the listings; the exit status: the script's, or 1 where there is nothing to list."""
    for name, calls, found in collected.profiles:
        print(f"\n== {name}{f', the first of {calls} calls' if calls > 1 else ''}\n\n{found}")
    sys.stdout.flush()
    if collected.on_a_gpu:
        said = f"{collected.on_a_gpu} calls with tensors on a GPU are not profiled; give them tensors on the CPU"
        print(f"{program()} profile: {said}", file=sys.stderr)
    elif not collected.profiles and not collected.status:
        said = f"{script} called no function decorated with @cute.jit or @cute.kernel, so there is nothing to list"
        print(f"{program()} profile: {said}", file=sys.stderr)
    return collected.status or int(not collected.profiles)
