"""Build the wheel as pip does for a user, look at what is in it, install it with NumPy alone, and use it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/tilewright"
FOLDER = ROOT / "build/wheel"
LIMIT = 3_000_000
PAGE = {".css", ".html", ".js", ".wasm"}  # what the interactive page is made of
SMOKE = """
import sys
import tilewright.cute as cute
layout = cute.composition(cute.make_layout((6, 2), stride=(8, 2)), cute.make_layout((4, 3), stride=(3, 1)))
assert str(layout) == "((2,2),3):((24,2),8)", layout
assert layout.offsets().tolist() == [0, 24, 2, 26, 8, 32, 10, 34, 16, 40, 18, 42]
assert "site-packages" in cute.__file__ and "torch" not in sys.modules
from tilewright.explore.page import page
assert "</html>" in page()
print(f"smoke: {layout}")
"""


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(FOLDER), str(ROOT)], check=True)
    (wheel,) = FOLDER.glob("*.whl")
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} bytes of {LIMIT:,}")
    if size >= LIMIT:
        sys.exit("the wheel is too large")

    names = zipfile.ZipFile(wheel).namelist()
    suffixes = {".c", ".cuh", ".py", ".pyi", ".so", ".typed"}
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
    for name in ("tilewright/py.typed", "tilewright/_kernels/tiled_copy.cuh", *stubs, *page):
        if name not in names:
            sys.exit(f"missing in the wheel: {name}")

    clean = FOLDER / "venv"
    venv.create(clean, with_pip=True)
    python = str(clean / "bin/python")
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", str(wheel)], check=True)
    installed = subprocess.run([python, "-m", "pip", "freeze"], check=True, stdout=subprocess.PIPE, text=True).stdout
    packages = sorted(line.split("==")[0].split(" @")[0] for line in installed.split("\n") if line)
    if packages != ["numpy", "tilewright"]:
        sys.exit(f"installing the wheel brings {packages}")
    subprocess.run([python, "-I", "-c", SMOKE], check=True, cwd=FOLDER)


if __name__ == "__main__":
    main()
