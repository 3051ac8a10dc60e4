"""Build manylinux wheels for the interpreters at hand, and use each in a clean environment.

scripts/local_wheels.py PYTHON [PYTHON ...] [--out FOLDER]. Whoever runs it has auditwheel and patchelf installed. A
release has its wheels from cibuildwheel, whose images have an older C library: these are for a look before that.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from check_wheel import LIMIT, check_requirements

ROOT = Path(__file__).parents[1]
PIP = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
NAME = "import sys; print(f'{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags}')"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--out", type=Path, default=ROOT / "build/local-wheels")
    given = parser.parse_args()
    for python in given.pythons:
        print(one(python, given.out), flush=True)


def one(python: str, out: Path) -> str:
    """Build, repair, install and use the wheel of an interpreter; what came of it."""
    name = subprocess.run([python, "-c", NAME], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    environment = os.environ | {"SKBUILD_BUILD_DIR": str(ROOT / f"build/wheel-{name}")}
    subprocess.run(
        [python, *PIP, "wheel", "--no-deps", "--wheel-dir", str(folder / "built"), str(ROOT)],
        check=True, env=environment,
    )  # fmt: skip
    (built,) = (folder / "built").glob("*.whl")
    tools = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    repair = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(built)]
    subprocess.run(repair, check=True, env=tools, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        check=True, env=tools, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    policy = re.search(r'platform\s+tag:\s+"([^"]+)"', shown)
    if policy is None or not policy[1].startswith("manylinux") or policy[1] not in wheel.name:
        sys.exit(f"{wheel.name}: auditwheel says\n{shown}")
    if (size := wheel.stat().st_size) >= LIMIT:
        sys.exit(f"{wheel.name}: {size:,} bytes, but the limit is {LIMIT:,}")
    check_requirements(wheel)
    clean = folder / "venv"
    subprocess.run([python, "-m", "venv", str(clean)], check=True)
    run = str(clean / "bin/python")
    subprocess.run([run, *PIP, "install", "--only-binary", ":all:", str(wheel)], check=True)
    # No compiler is found there, and no library of NVIDIA's.
    used = subprocess.run(
        [run, "-I", str(ROOT / "scripts/use_wheel.py")],
        check=True, cwd=folder, env={"PATH": ""}, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    return f"{wheel.name}: {size:,} bytes; {used.strip()}"


if __name__ == "__main__":
    main()
