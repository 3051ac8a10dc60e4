"""Where progress is shown: a terminal, and a notebook with a bar, both in memory."""

from __future__ import annotations

import io
from typing import ClassVar


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Kernel:
    """IPython as it is in a notebook."""

    kernel = object()

    @classmethod
    def get_ipython(cls):
        return cls


class Bar:
    """tqdm's bar, with what it was asked to show."""

    made: ClassVar = []

    def __init__(self, total, desc, leave):
        self.total, self.desc, self.n, self.texts, self.closed = total, desc, 0, [], False
        self.made.append(self)

    def set_postfix_str(self, text, refresh):
        self.texts.append(text)

    def update(self, steps):
        self.n += steps

    def close(self):
        self.closed = True
