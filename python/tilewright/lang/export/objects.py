"""Objects and shared libraries, made by the C compiler of the machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["compile_object", "compiler", "link"]

_NAMES = ("cc", "gcc", "clang")
# Sums are rounded as Python's are; the record is found by its section, which link-time optimisation would lose.
_OPTIONS = ("-std=gnu11", "-O2", "-fPIC", "-ffp-contract=off", "-fno-lto", "-Wall", "-c")


def compiler() -> list[str]:
    """The command of a C compiler: that of the variable CC, or the first of cc, gcc and clang.

    Raises RuntimeError where there is none.
    """
    given = shlex.split(os.environ.get("CC", ""))
    found = shutil.which(given[0]) if given else next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        looked = given[0] if given else ", ".join(_NAMES)
        raise RuntimeError(
            f"export_to_c: there is no C compiler ({looked}); install one, such as Debian's gcc, or name one by the "
            "variable CC"
        )
    return [found, *given[1:]]


def compile_object(source: str, header_name: str, header: str, record: bytes) -> bytes:
    """The object of a source that includes the header and the record; RuntimeError with what the compiler says."""
    if not sys.platform.startswith("linux"):
        raise RuntimeError(f"export_to_c: objects are made on Linux, but this is {sys.platform}")
    command = compiler()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        (folder / "record").write_bytes(record)
        (folder / header_name).write_text(header, encoding="utf-8")
        (folder / "source.c").write_text(source, encoding="utf-8")
        _run([*command, *_OPTIONS, "source.c", "-o", "object.o"], folder)
        return (folder / "object.o").read_bytes()


def link(inputs: Sequence[str | Path], library: Path) -> None:
    """A shared library of objects and of libraries that they need; RuntimeError with what the compiler says."""
    _run([*compiler(), "-shared", "-o", str(library), *map(str, inputs)], library.parent)


def _run(words: list[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"export_to_c: {shlex.join(words)} ended with {done.returncode}:\n{done.stderr.strip()}")
