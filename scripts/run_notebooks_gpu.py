"""Run the notebooks' cells that need a GPU, and keep what they print; `make docs` shows it.

python scripts/run_notebooks_gpu.py [--dry] [--out FOLDER] [notebook ...]

It needs torch and a GPU, and nothing of Jupyter. A notebook that has cells with the tag gpu runs from its first cell
on, on the GPU where its cells choose the device. docs/notebooks/gpu/NAME.json gets the outputs of those cells, with
device, driver and date; a notebook with a cell that fails keeps the file it has. With --dry it runs on the CPU with
small sizes, prints what it would keep, and writes nothing.
"""

from __future__ import annotations

import argparse
import ast
import ctypes
import datetime
import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import cells  # noqa: E402

HTML = "_repr_html_"


def small(source: str) -> str:
    """A cell for a machine without a GPU, in no time."""
    source = re.sub(r"\b(2048|4096|8192)\b", "128", re.sub(r"\b1 << 2\d\b", "1 << 10", source))
    for ours, other in (
        ('"cuda"', '"cpu"'),
        ("use_cuda_graphs=True", "use_cuda_graphs=False"),
        ("torch.cuda.synchronize()", "pass"),
        ("cutlass.utils.HardwareInfo().get_max_active_clusters(2)", "2"),
    ):
        source = source.replace(ours, other)
    return "pass" if "CUDAGraph" in source else source


def captured(cell: Any) -> tuple[str, Any]:
    """What a function prints, from Python, C or a kernel, and what it returns."""
    import torch

    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            result = cell()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        finally:
            sys.stdout.flush()
            ctypes.CDLL(None).fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return file.read().decode(), result


def run(source: str, name: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a cell; its outputs as a notebook stores them."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None

    def cell() -> Any:
        exec(compile(tree, name, "exec"), names)
        return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)

    text, value = captured(cell)
    outputs: list[dict[str, Any]] = []
    if text:
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = {"text/plain": repr(value)}
        html = getattr(value, HTML)() if hasattr(value, HTML) else None
        if html:
            data["text/html"] = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    return outputs


def machine() -> dict[str, str]:
    query = ["nvidia-smi", "--id=0", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    return {"device": device, "driver": driver, "date": datetime.date.today().isoformat()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/notebooks/gpu")
    parser.add_argument("notebooks", nargs="*")
    options = parser.parse_args()
    about = {"device": "no GPU", "driver": "none", "date": "today"} if options.dry else machine()
    failed = 0
    for name, text in cells.notebooks(ROOT / "docs").items():
        of_notebook = [cell for cell in cells.read(text) if cell.kind == "code"]
        if not (
            name in options.notebooks or (not options.notebooks and any("gpu" in cell.tags for cell in of_notebook))
        ):
            continue
        begin = time.perf_counter()
        names: dict[str, Any] = {"__name__": "__main__"}
        kept, right = [], True
        for number, cell in enumerate(of_notebook, 1):
            source = small(cell.source) if options.dry and "gpu" in cell.tags else cell.source
            try:
                outputs = run(source + "\n", f"<{name}, cell {number}>", names)
            except Exception:
                right = False
                print(f"{name}, cell {number} failed:\n{traceback.format_exc()}", file=sys.stderr)
                continue
            if "gpu" in cell.tags:
                kept.append({"source": cell.source, "outputs": outputs})
        failed += not right
        print(f"{name}: {len(kept)} cells of a GPU, {time.perf_counter() - begin:.1f} s{'' if right else ', FAILED'}")
        if options.dry:
            print(*(output.get("text", output.get("data")) for cell in kept for output in cell["outputs"]), sep="\n")
        elif right and kept:
            options.out.mkdir(parents=True, exist_ok=True)
            written = json.dumps({**about, "cells": kept}, indent=1) + "\n"
            (options.out / f"{name}.json").write_text(written, encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
