"""Compile the C++ core for the interactive page, its algebra, its pictures and its predictions, as WebAssembly.

usage: python scripts/build_page.py [--check]

Needs Emscripten 3.1.6 (Debian 12: apt-get install -y --no-install-recommends emscripten). The file ends with a digest
of the sources that it was compiled from, comments and spaces aside, so that a test sees where they changed without it.
--check compiles them anew and says whether the committed file has these very bytes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "python/tilewright/explore/core.wasm"
ANALYSIS = tuple(f"cpp/analysis/{name}.[ch]pp" for name in ("access", "advice", "rules", "search"))
PATTERNS = ("cpp/core/*.[ch]pp", *ANALYSIS, "cpp/picture/**/*.[ch]pp", "cpp/page/*.[ch]pp")
SECTION = b"tilewright sources"
FOLDER = Path("/tmp/tilewright-page")
VERSION = "3.1.6"
LIMIT = 700_000
FLAGS = [
    "-std=c++20",
    "-Oz",
    "-DNDEBUG",
    "-fwasm-exceptions",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-constant-conversion",  # constants of hashes lose their upper half: they stay hashes
    "--no-entry",
    "-sALLOW_MEMORY_GROWTH=1",
    "-sTOTAL_STACK=1MB",
    "-sEXPORTED_FUNCTIONS=_malloc,_free,_tilewright_page",
]


def sources() -> list[Path]:
    return sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))


def source_digest() -> bytes:
    """SHA-256 of what is compiled: names and texts, without comments and spaces, and the flags."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sources():
        text = "".join(re.sub(r"//.*", "", path.read_text(encoding="utf-8")).split())
        for part in (str(path.relative_to(ROOT)), text):
            digest.update(len(part.encode()).to_bytes(8, "little") + part.encode())
    return digest.digest()


def recorded_digest(module: bytes) -> bytes:
    """The digest at the end of a compiled file: the content of its last section, which engines skip."""
    return module[-32:] if module[:-32].endswith(SECTION) else b""


def with_digest(module: bytes) -> bytes:
    content = bytes([len(SECTION)]) + SECTION + source_digest()
    return module + bytes([0, len(content)]) + content  # section 0 is a custom one; its length fits into 7 bits


def compiler() -> list[str]:
    """The command that compiles, or an exit that says what is missing.

    Clang 14 orders some exception handlers by their addresses. Its output is the same every time only where these are:
    without randomisation, and in a folder and an environment of its own, whose texts it keeps in its memory.
    """
    program = shutil.which("em++")
    if program is None:
        sys.exit("em++ is missing: apt-get install -y --no-install-recommends emscripten")
    version = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    if f" {VERSION} " not in version:
        sys.exit(f"Emscripten {VERSION} compiles the page, so that its bytes are the same everywhere; found {version}")
    fixed_addresses = ["setarch", "-R"]
    if subprocess.run([*fixed_addresses, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit("setarch -R is not allowed here, so the compiler would not make the same bytes every time")
    return [*fixed_addresses, program]


def compiled() -> bytes:
    command = compiler()
    try:
        FOLDER.mkdir(mode=0o700)
    except FileExistsError:
        sys.exit(f"{FOLDER} is there: another build runs, or one was killed; then remove it")
    try:
        for path in sources():
            copy = FOLDER / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        units = [str(path.relative_to(ROOT)) for path in sources() if path.suffix == ".cpp"]
        environment = {"PATH": "/usr/bin:/bin", "NODE_PATH": "/usr/share/nodejs"}  # where Debian's modules are
        line = [*command, *FLAGS, "-Icpp", *units, "-o", "core.wasm"]
        subprocess.run(line, check=True, cwd=FOLDER, env=environment)
        return with_digest((FOLDER / "core.wasm").read_bytes())
    finally:
        shutil.rmtree(FOLDER)


def main() -> None:
    module = compiled()
    print(f"core.wasm: {len(module):,} bytes of {LIMIT:,}")
    if len(module) > LIMIT:
        sys.exit("the compiled core is too large")
    if "--check" not in sys.argv[1:]:
        RESULT.write_bytes(module)
    elif RESULT.read_bytes() != module:
        sys.exit(f"{RESULT.relative_to(ROOT)} is not what the sources compile to: run scripts/build_page.py")


if __name__ == "__main__":
    main()
