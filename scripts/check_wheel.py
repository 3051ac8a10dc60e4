"""Look at what is in the wheel in a folder, install it without extras, and use it.

usage: python scripts/check_wheel.py FOLDER
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/tilewright"
CLEAN = ROOT / "build/wheel-check"
LIMIT = 4_000_000
PAGE = {".css", ".html", ".js", ".wasm"}  # what the interactive page is made of
REQUIRED = ["anywidget", "numpy", "resvg-py>=0.5"]
EXTRAS = {"cuda12": "nvidia-cuda-nvrtc-cu12", "cuda13": "nvidia-cuda-nvrtc"}


def main() -> None:
    (wheel,) = Path(sys.argv[1]).glob("*.whl")
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} bytes of {LIMIT:,}")
    if size >= LIMIT:
        sys.exit("the wheel is too large")

    names = zipfile.ZipFile(wheel).namelist()
    suffixes = {".c", ".cuh", ".py", ".pyd", ".pyi", ".so", ".typed"}
    page = {
        f"tilewright/{path.relative_to(PACKAGE)}" for path in (PACKAGE / "explore").rglob("*") if path.suffix in PAGE
    }
    strange = [
        name
        for name in names
        if not (name.startswith("tilewright/") and Path(name).suffix in suffixes)
        and name not in page
        and ".dist-info/" not in name
    ]
    if strange:
        sys.exit(f"does not belong into the wheel: {strange}")
    stubs = [f"tilewright/{path.relative_to(PACKAGE)}" for path in (PACKAGE / "_core").iterdir()]
    examples = [f"tilewright/{path.relative_to(ROOT)}" for path in (ROOT / "examples").rglob("*.py")]
    for name in ("tilewright/py.typed", "tilewright/_kernels/tiled_copy.cuh", *stubs, *page, *examples):
        if name not in names:
            sys.exit(f"missing in the wheel: {name}")
    check_requirements(wheel)

    shutil.rmtree(CLEAN, ignore_errors=True)
    venv.create(CLEAN, with_pip=True)
    python = str(CLEAN / "bin/python")
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", str(wheel)], check=True)
    # No compiler is found there, and no library of NVIDIA's.
    subprocess.run([python, "-I", str(ROOT / "scripts/use_wheel.py")], check=True, cwd=CLEAN, env={"PATH": ""})


def check_requirements(wheel: Path) -> None:
    """Without extras what everything but a GPU needs; with one for CUDA, beside it, only NVRTC."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        head = archive.read(metadata).decode("utf-8").partition("\n\n")[0]
    required = re.findall(r"^Requires-Dist: (.*)$", head, re.M)
    if (plain := [x for x in required if "extra ==" not in x]) != REQUIRED:
        sys.exit(f"the wheel requires {plain}")
    for extra, package in EXTRAS.items():
        brought = [re.match(r"[\w-]+", x)[0] for x in required if f'extra == "{extra}"' in x]
        if brought != [package]:
            sys.exit(f"the extra {extra} brings {brought}")


if __name__ == "__main__":
    main()
