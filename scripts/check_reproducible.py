"""Build the source distribution and the wheel twice, in folders of different names, and compare their bytes.

SOURCE_DATE_EPOCH is the time of the last commit where it is not set. The module `build` has to be installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    if "SOURCE_DATE_EPOCH" not in os.environ:
        last = subprocess.run(
            ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        os.environ["SOURCE_DATE_EPOCH"] = last.stdout.strip()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory(prefix="another-") as second:
        built = [_build(Path(folder)) for folder in (first, second)]
        wrong = False
        for a, b in zip(*built, strict=True):
            same = a.name == b.name and a.read_bytes() == b.read_bytes()
            wrong |= not same
            print(f"{a.name}: {a.stat().st_size:,} bytes, sha256 {hashlib.sha256(a.read_bytes()).hexdigest()}")
            if not same:
                print(f"  the second build differs: {_difference(a, b)}")
    sys.exit(int(wrong))


def _build(folder: Path) -> list[Path]:
    """The wheel is built from the source distribution, in a folder beside it."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(folder)})
    return sorted(folder.glob("tilewright-*"))


def _difference(a: Path, b: Path) -> str:
    if a.suffix != ".whl":
        return f"{b.stat().st_size:,} bytes"
    with zipfile.ZipFile(a) as one, zipfile.ZipFile(b) as other:
        names = sorted({*one.namelist(), *other.namelist()})
        return ", ".join(x for x in names if x not in other.namelist() or one.read(x) != other.read(x))


if __name__ == "__main__":
    main()
