"""What goes wrong between a kernel's source and its code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# file(line): error: ...
PLACE = re.compile(r"^(\S+?)\((\d+)\): ", re.M)
AROUND = 3  # lines shown before and after a place in a header


class CacheWarning(RuntimeWarning):
    """The disk cache cannot be used; what is compiled is kept in memory only.

    >>> import warnings
    >>> warnings.simplefilter("ignore", CacheWarning)  # say nothing about it
    """


class NvrtcError(RuntimeError):
    """No NVRTC, the compiler of kernels, or one that cannot be loaded.

    The message lists every place that was tried and the command that installs it.

    >>> raise NvrtcError("no libnvrtc")
    Traceback (most recent call last):
    tilewright.runtime.errors.NvrtcError: no libnvrtc
    """


class CompileError(RuntimeError):
    """NVRTC refused a program.

    `log` is what it said, `source` the program's own text, `options` and `names` what was asked for; `headers` are the
    texts that the program could include. str() shows all of it, with numbered lines: of `source` all, of a header those
    around each place that the log names.

    >>> print(CompileError('k.cu(1): error: expected a ";"', "int x", ["-arch=sm_80"], ["k<1>"]))
    NVRTC cannot compile the kernel:
    k.cu(1): error: expected a ";"
    <BLANKLINE>
    options: -arch=sm_80
    names: k<1>
    source:
        1 | int x
    """

    def __init__(
        self,
        log: str,
        source: str,
        options: Sequence[str],
        names: Sequence[str],
        headers: Mapping[str, str] | None = None,
        compiler: str = "NVRTC",
    ) -> None:
        # All of it are the exception's arguments, so that it can be pickled.
        super().__init__(log, source, tuple(options), tuple(names), dict(headers or {}), compiler)
        self.log = log
        self.source = source
        self.options = tuple(options)
        self.names = tuple(names)
        self.headers = dict(headers or {})
        self.compiler = compiler

    def __str__(self) -> str:
        lines = [f"{self.compiler} cannot compile the kernel:", self.log.rstrip(), ""]
        lines.append(f"options: {' '.join(self.options)}")
        lines += [f"names: {', '.join(self.names)}"] if self.names else []
        for name, line in sorted({(name, int(line)) for name, line in PLACE.findall(self.log)}):
            if name in self.headers:
                lines += [f"{name}, line {line}:", *numbered(self.headers[name], line - AROUND, line + AROUND)]
        return "\n".join([*lines, "source:", *numbered(self.source)])


def numbered(text: str, first: int = 1, last: int | None = None) -> list[str]:
    """The lines of a text with their numbers, from first to last.

    >>> numbered("a\\nb\\nc", 2)
    ['    2 | b', '    3 | c']
    """
    lines = list(enumerate(text.splitlines(), 1))
    return [f"{number:5} | {line}".rstrip() for number, line in lines if first <= number <= (last or number)]
