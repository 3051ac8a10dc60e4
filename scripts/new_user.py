"""Go a new user's way on a wheel alone: install it, run the first notebooks, write a kernel.

scripts/new_user.py WHEEL [--torch SPEC] [--write]. Everything happens in a new folder outside of the repository, in an
environment that has the wheel, torch and what Jupyter runs notebooks by, and in which no compiler is found; the machine
has no GPU. A notebook is the file that a forge shows; all of its cells run, as by "Run All". Then the README's first
program runs as it stands there, is mended as the README says, and is profiled. --write puts the table into
benchmarks/results, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from guarantees import machine

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ["first_ten_minutes", "article_002_tiling"]
JUPYTER = ["nbclient", "ipykernel"]
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
for cell in notebook.cells:
    if cell.cell_type == "code":
        cell.outputs = []
NotebookClient(notebook, timeout=600).execute()
nbformat.write(notebook, sys.argv[1])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--torch", default="torch", help="what pip installs as torch; default: torch")
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/results")
    given = parser.parse_args()
    today = datetime.now(timezone.utc).date()
    with tempfile.TemporaryDirectory(prefix="tilewright-user-") as folder:
        rows = way(Path(folder), given.wheel.resolve(), given.torch)
    table = text(given.wheel, rows)
    print(table)
    if given.write:
        (ROOT / f"benchmarks/results/new_user-{today}.md").write_text(table, encoding="utf-8")


def way(folder: Path, wheel: Path, torch: str) -> list[tuple[str, float, str]]:
    """The steps: what, seconds, what was seen."""
    rows = []

    def step(name: str, do: Callable[[], str]) -> None:
        begin = time.perf_counter()
        seen = do()
        rows.append((name, time.perf_counter() - begin, seen))
        print(f"{name}: {seen}", file=sys.stderr, flush=True)

    user = User(folder)
    step("a new environment", user.create)
    step("`pip install` the wheel", lambda: user.install(str(wheel)))
    step("`tilewright doctor`", user.doctor)
    step("`pip install` torch and Jupyter's runner", lambda: user.install(torch, *JUPYTER))
    for name in NOTEBOOKS:
        step(f"{name}.ipynb, all cells", partial(user.notebook, name))
    step("the README's first program", user.racy)
    step("with the barrier that it lacks", user.mended)
    step("`tilewright profile`", user.profiled)
    return rows


class User:
    """Whoever has this folder and nothing else of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.environment = folder, folder / "venv"
        self.python = str(self.environment / "bin/python")

    def run(self, *command: str, status: int = 0) -> str:
        """What a command prints where programs come from the environment alone."""
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "LANG"))}
        done = subprocess.run(
            command, cwd=self.folder, env=kept | {"PATH": str(self.environment / "bin")}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        if done.returncode != status:
            sys.exit(f"{' '.join(command)}: exit status {done.returncode}, expected {status}\n{done.stdout}")
        return done.stdout

    def create(self) -> str:
        venv.create(self.environment, with_pip=True)
        return self.run(self.python, "--version").strip()

    def install(self, *what: str) -> str:
        before = self.packages()
        self.run(self.python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *what)
        brought = sorted(self.packages() - before)
        shown = [x for x in brought if re.match(r"tilewright|numpy|torch==|nbclient|ipykernel", x)]
        return f"{len(brought)} packages, {', '.join(shown)} among them"

    def packages(self) -> set[str]:
        found = self.run(self.python, "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check")
        return set(found.split())

    def doctor(self) -> str:
        said = self.run("tilewright", "doctor", status=1)
        return f"{len(re.findall(r'^works ', said, re.MULTILINE))} lines say works; launching is said to be missing"

    def notebook(self, name: str) -> str:
        """The executed file's cells give what the file shows, but for those that need a GPU."""
        source = ROOT / f"docs/notebooks/executed/{name}.ipynb"
        path = self.folder / source.name
        path.write_bytes(source.read_bytes())
        self.run(self.python, "-c", RUN, str(path))
        there, here = (json.loads(x.read_text(encoding="utf-8"))["cells"] for x in (source, path))
        codes = [pair for pair in zip(there, here, strict=True) if pair[0]["cell_type"] == "code"]
        needy = [a for a, _ in codes if "raises-exception" in a["metadata"].get("tags", ())]
        others = [pair for pair in codes if pair[0] not in needy]
        different = ["".join(a["source"]) for a, b in others if printed(a) != printed(b)]
        if different:
            sys.exit(f"{name}: these cells print something else:\n" + "\n--\n".join(different))
        return f"{len(others)} cells print what the file shows; {len(needy)} need a GPU"

    def racy(self) -> str:
        (program,) = re.findall(r"```python\n(import numpy.*?)```", README, re.DOTALL)
        (shown,) = re.findall(r"ends with\n\n```text\n(.*?)```", README, re.DOTALL)
        path = self.folder / "transpose.py"
        path.write_text(program, encoding="utf-8")
        said = self.run(self.python, path.name, status=1).replace(f"{self.folder}/", "")
        if "".join(shown.split()) not in "".join(said.split()):
            sys.exit(f"the README shows another error than\n{said}")
        return "ends with the error that the README shows"

    def mended(self) -> str:
        path = self.folder / "transpose.py"
        lines = path.read_text(encoding="utf-8").split("\n")
        lines.insert(lines.index("    tile[i, j] = x[j, i]") + 1, "    cute.arch.sync_threads()")
        path.write_text("\n".join([*lines, "assert (y == x.T).all()", ""]), encoding="utf-8")
        self.run(self.python, path.name)
        return "the result is right"

    def profiled(self) -> str:
        said = self.run("tilewright", "profile", "transpose.py")
        (found,) = re.findall(r"\d+-way bank conflict", said)[:1]
        return f"says: {found}"


README = (ROOT / "README.md").read_text(encoding="utf-8")


def printed(cell: dict[str, Any]) -> list[str]:
    """The words that a cell shows, in whatever pieces a kernel sent them."""
    shown = (output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"])
    return " ".join("".join(pieces) for pieces in shown).split()


def text(wheel: Path, rows: list[tuple[str, float, str]]) -> str:
    """The dated table."""
    size = f"{wheel.stat().st_size:,}"
    head = f"""# A new user's way

{machine()}

`{wheel.name}`, {size} bytes. Each step ran in a new folder, in an environment with the wheel and what
the step names, without a compiler and without a GPU.

| step | s | seen |
| --- | --- | --- |
"""
    return head + "".join(f"| {name} | {seconds:.1f} | {seen} |\n" for name, seconds, seen in rows)


if __name__ == "__main__":
    main()
