"""The command line's name: what was typed to start this program."""

from __future__ import annotations

import sys
from pathlib import PurePath

MODULE = "python -m tilewright"


def program() -> str:
    """`tilewright` where the console command was typed, else the module.

    >>> import sys
    >>> before, sys.argv[0] = sys.argv[0], "/usr/bin/tilewright"
    >>> program()
    'tilewright'
    >>> sys.argv[0] = "/usr/lib/tilewright/__main__.py"
    >>> program()
    'python -m tilewright'
    >>> sys.argv[0] = before
    """
    name = PurePath(sys.argv[0]).stem
    return name if name == "tilewright" else MODULE
