"""Programs of examples/ with a defect, planted in their own text or in that of a part that they share."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

from places import ROOT
from tilewright.examples import attention as parts

__all__ = ["changed"]

PARTS = parts.__name__


def changed(name: str, text: str, planted: str, folder: Path) -> dict[str, Any]:
    """What a program defines in a copy where one file has `planted` for `text`.

    That is the program's file where it has the text, or else that of the one part that has it. Other programs see none
    of this.
    """
    copy = folder / "attention"
    shutil.copytree(ROOT / "examples" / "attention", copy)
    program = Path(shutil.copy(ROOT / "examples" / f"{name}.py", folder / f"{name}.py"))
    has_text = [path for path in (program, *copy.glob("*.py")) if text in path.read_text()]
    (file,) = has_text[:1] if program in has_text else has_text
    file.write_text(file.read_text().replace(text, planted))

    kept = {module: sys.modules.pop(module) for module in list(sys.modules) if module.startswith(f"{PARTS}.")}
    path = parts.__path__
    parts.__path__ = [str(copy)]
    try:
        return runpy.run_path(str(program))
    finally:
        parts.__path__ = path
        for module in [module for module in sys.modules if module.startswith(f"{PARTS}.")]:
            del sys.modules[module]
        sys.modules.update(kept)
