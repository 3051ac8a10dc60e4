"""The notebooks of the site as files to take: executed, with their outputs, beside their pages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["write"]


def write(app: Sphinx, error: Exception | None) -> None:
    """Copy what MyST-NB executed of docs/notebooks into the built site."""
    executed = Path(app.outdir).parent / "jupyter_execute" / "notebooks"
    if error is None and executed.is_dir():
        for path in sorted(executed.glob("*.ipynb")):
            shutil.copy(path, Path(app.outdir) / "notebooks" / path.name)
