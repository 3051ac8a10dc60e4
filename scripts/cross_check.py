"""Build what tilewright has without Python for other systems, and run the core there.

scripts/cross_check.py [TARGET ...] [--seconds S] [--write]. Each target takes its cross compiler, and the emulator in
which the core runs, from Debian (`apt-get install`) or PyPI. A target whose compiler is missing is not built, and says
so; one that is named has to be. --write puts the table into benchmarks/results, too.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from guarantees import machine

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build/cross"
SECONDS = 5  # of random operations, once it runs
HEAD = """\
What has no Python (core, analysis, pictures, execution on the CPU, programs, runtime) is built by a cross compiler,
with warnings as errors, and runs random operations of the fuzzer where an emulator is at hand: wine, qemu. `portable`
is Linux without what only GCC and clang have, as Microsoft's compiler builds it.
"""


class Target(NamedTuple):
    """`runner` comes before the program; None where nothing here can run it."""

    system: str
    processor: str
    compiler: list[str]
    packages: str
    runner: list[str] | None = None
    options: tuple[str, ...] = ()


ZIG = [sys.executable, "-m", "ziglang", "c++", "-target"]
PORTABLE = "-DTILEWRIGHT_PORTABLE=ON"
TARGETS = {
    "portable": Target("Linux", "x86_64", ["c++"], "g++", [], (PORTABLE, "-DCMAKE_CXX_FLAGS_DEBUG=-O0")),
    "linux-aarch64": Target(
        "Linux",
        "aarch64",
        ["aarch64-linux-gnu-g++"],
        "g++-aarch64-linux-gnu, qemu-user",
        ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    ),
    "windows-x86_64": Target(
        "Windows",
        "AMD64",
        ["x86_64-w64-mingw32-g++-posix"],
        "g++-mingw-w64-x86-64-posix, wine, wine64",
        ["wine"],
        ("-DCMAKE_EXE_LINKER_FLAGS=-static", PORTABLE),
    ),
    "macos-arm64": Target("Darwin", "arm64", [*ZIG, "aarch64-macos"], "ziglang (PyPI)"),
    "macos-x86_64": Target("Darwin", "x86_64", [*ZIG, "x86_64-macos"], "ziglang (PyPI)"),
    "musl-x86_64": Target("Linux", "x86_64", [*ZIG, "x86_64-linux-musl"], "ziglang (PyPI)", []),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"that the core runs for; default: {SECONDS}")
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/results")
    given = parser.parse_args()
    if unknown := [name for name in given.targets if name not in TARGETS]:
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    said = {name: check(name, TARGETS[name], given.seconds) for name in given.targets or TARGETS}
    for name, text in said.items():
        print(f"{name:16} {text}")
    if given.write:
        rows = "".join(f"| {name} | {text.replace('|', chr(92) + '|')} |\n" for name, text in said.items())
        head = f"# The core on other systems\n\n{machine()}\n\n{HEAD}\n| target | what came of it |\n| --- | --- |\n"
        path = ROOT / f"benchmarks/results/cross_check-{datetime.datetime.now(datetime.timezone.utc).date()}.md"
        path.write_text(head + rows, encoding="utf-8")
    if any(text.startswith("fails") or (given.targets and text.startswith("not built")) for text in said.values()):
        sys.exit(1)


def check(name: str, target: Target, seconds: int) -> str:
    """Build and run it; what came of it."""
    is_zig = target.compiler[:4] == ZIG[:4]
    if shutil.which(target.compiler[0]) is None or (is_zig and importlib.util.find_spec("ziglang") is None):
        return f"not built: install {target.packages}"
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    compiler = folder / "compiler"  # one word, as CMake wants it
    compiler.write_text(f'#!/bin/sh\nexec {" ".join(target.compiler)} "$@"\n', encoding="utf-8")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    configure = [
        f"-DCMAKE_SYSTEM_NAME={target.system}",
        f"-DCMAKE_SYSTEM_PROCESSOR={target.processor}",
        f"-DCMAKE_CXX_COMPILER={compiler}",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS=-Werror",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O1",
        "-DTILEWRIGHT_FUZZ=ON",
        *target.options,
    ]
    cmake, generator = shutil.which("cmake", path=_path()), shutil.which("ninja", path=_path())
    if cmake is None or generator is None:
        sys.exit("cross_check: install cmake and ninja, or run it by the Python of .venv")
    log = folder / "log.txt"
    with log.open("wb") as output:
        for command in (
            [cmake, "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={generator}", *configure],
            [cmake, "--build", str(folder)],
        ):
            if subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode != 0:
                return f"fails to build: {log.relative_to(ROOT)}"
    if target.runner is None:
        return "built: core, analysis, execution, programs, runtime; not run: nothing here can"
    if target.runner and shutil.which(target.runner[0]) is None:
        return f"built; not run: install {target.packages}"
    program = folder / ("tilewright_fuzz.exe" if target.system == "Windows" else "tilewright_fuzz")
    done = subprocess.run([*target.runner, str(program), str(seconds)], text=True, stdout=subprocess.PIPE)
    if done.returncode != 0:
        return f"fails: exit status {done.returncode} of {program.relative_to(ROOT)}"
    return f"built and run: {done.stdout.strip()[:90]}"


def _path() -> str:
    """With the tools that were installed beside this Python."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


if __name__ == "__main__":
    main()
