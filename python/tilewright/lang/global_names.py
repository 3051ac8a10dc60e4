"""The names of a module's variables in a function's bytecode."""

from __future__ import annotations

import dis
import functools
import sys
from types import CodeType

__all__ = ["global_names"]

_EXTENDED_ARG, _LOAD_GLOBAL, _LOAD_NAME, _STORE_GLOBAL = (
    dis.opmap[x] for x in ("EXTENDED_ARG", "LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL")
)
_FLAGS = 1 if sys.version_info >= (3, 11) else 0  # bits of LOAD_GLOBAL's argument below the name's number


@functools.cache
def global_names(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those that code reads, and those that it assigns, with the functions and classes inside of it.

    co_names has attributes, too, and `dis` takes as long as tracing itself.

    >>> def count():
    ...     global counted
    ...     counted = len(found) + sys.maxsize
    >>> global_names(count.__code__)
    (('len', 'found', 'sys'), ('counted',))
    """
    reads: dict[str, None] = {}
    assigns: dict[str, None] = {}
    text, before = code.co_code, 0
    for i in range(0, len(text), 2):
        operation, argument = text[i], text[i + 1] | before
        before = argument << 8 if operation == _EXTENDED_ARG else 0
        if operation == _LOAD_GLOBAL:
            reads[code.co_names[argument >> _FLAGS]] = None
        elif operation == _LOAD_NAME:  # in the body of a class
            reads[code.co_names[argument]] = None
        elif operation == _STORE_GLOBAL:
            assigns[code.co_names[argument]] = None
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, others = global_names(inner)
            reads |= dict.fromkeys(more)
            assigns |= dict.fromkeys(others)
    return tuple(reads), tuple(assigns)
