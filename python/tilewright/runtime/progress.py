"""How far a long run is: one line on a terminal, a bar in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Progress", "waiting"]

SOON = 1.0  # seconds of a step that nobody is told of
_shown: set[Progress] = set()
_lock = threading.Lock()


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel, whose pages are no terminals."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _bar(title: str, count: int) -> Any:
    """tqdm's bar for a notebook; None where tqdm is not installed."""
    try:
        tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        return None
    return tqdm(total=count, desc=title, leave=False)


class Progress:
    """Steps of a run with a title.

    On a terminal it rewrites a line of stderr; in a notebook it is tqdm's bar, or, without tqdm, such a line too.

    >>> progress = Progress("compiling", 2)
    >>> progress(1, "one")  # neither a terminal nor a notebook: nothing is shown
    >>> progress.close()
    """

    def __init__(self, title: str, count: int) -> None:
        self.title, self.count, self.width = title, count, 0
        notebook = _in_notebook()
        self.bar = _bar(title, count) if notebook else None
        self.line = self.bar is None and (notebook or sys.stderr.isatty())
        _shown.add(self)

    def __call__(self, done: int, text: str) -> None:
        """Show that so many steps are done, and a text about them."""
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update(done - self.bar.n)
        if self.line:
            steps = f"{done} of {self.count}" if self.count > 1 else ""  # of one step there is nothing to count
            line = self.title + (": " + ", ".join(filter(None, (steps, text))) if steps or text else "")
            sys.stderr.write(f"\r{line.ljust(self.width)}")
            sys.stderr.flush()
            self.width = len(line)

    def close(self) -> None:
        """Take it away."""
        _shown.discard(self)
        if self.bar is not None:
            self.bar.close()
        if self.line:
            sys.stderr.write(f"\r{' ' * self.width}\r")
            sys.stderr.flush()


@contextmanager
def waiting(title: str, seconds: float = SOON) -> Iterator[None]:
    """Show the title of one step that takes longer than so many seconds, until it ends, unless a Progress is shown.

    >>> with waiting("compiling"):  # neither a terminal nor a notebook: nothing is shown
    ...     pass
    """
    if not (_in_notebook() or sys.stderr.isatty()):
        yield
        return
    found: list[Progress] = []

    def show() -> None:
        with _lock:  # of steps at the same time one is shown
            if not _shown:
                found.append(Progress(title, 1))
        for progress in found:
            progress(0, "")

    timer = threading.Timer(seconds, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for progress in found:
            progress.close()
