"""Every example beside Nsight Compute, line by line of its Python: what cute.profile predicts and what is counted.

python benchmarks/ncu_lang.py RAW [--only REGEX] [--out FOLDER]       on a GPU, with ncu; RAW gets all that was read
python benchmarks/ncu_lang.py RAW --compare [--out FOLDER]            compare again what RAW has, without a GPU

Each example's check() runs under ncu, all in one process; those that it did not reach run again, each in its own. RAW
has predictions.jsonl (one launch a line, as it was predicted from its arguments), readings.json.gz (each launch's
machine instructions with their metrics and lines), the reports of ncu, what it printed, and the machine code.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gzip
import json
import re
import runpy
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from pathlib import Path
from typing import Any

from tilewright.analysis.ncu import run as ncu
from tilewright.analysis.ncu.by_line import REASONS, LineComparison, Predicted, compare_lines

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
COUNTS = ("sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts", "lanes")
SECONDS = 200  # of all runs under ncu


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Predictions of examples beside the readings of Nsight Compute")
    parser.add_argument("raw", type=Path, help="folder for everything that is read")
    parser.add_argument("--compare", action="store_true", help="compare what is there; no GPU")
    parser.add_argument("--only", default="", help="regular expression: only the examples whose name it matches")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for the table")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


# --- what runs under ncu


def run_examples(names: list[str], raw: Path, device: str = "cuda") -> None:
    """Run the examples' checks, and write down what is predicted of each launch before it runs."""
    import torch

    from tilewright.lang.profiling.verify import note_calls
    from tilewright.lang.run import WATCHERS

    launches: list[dict[str, Any]] = []
    watchers = [note_calls(launches)]
    if device == "cuda":
        watchers.append(lambda traced, leaves, where: keep_code(traced, where[1], raw / "code"))
        WATCHERS.append(watchers[-1])
    try:
        with (raw / "predictions.jsonl").open("a") as stream:
            for name in names:
                launches.clear()
                row: dict[str, Any] = {"example": name}
                torch.manual_seed(0)
                try:
                    runpy.run_path(str(EXAMPLES / f"{name}.py"))["check"](device)
                except Exception as error:
                    traceback.print_exc()
                    row["error"] = f"{type(error).__name__}: {error}"
                stream.write(json.dumps(row | {"launches": launches}) + "\n")
                stream.flush()
    finally:
        for watcher in watchers:
            WATCHERS.remove(watcher)


def keep_code(traced: Any, device: int, folder: Path) -> None:
    """Keep the machine code of a call's kernels, and their CUDA C++."""
    from tilewright.lang.gpu import arch_of, kernels_of

    folder.mkdir(parents=True, exist_ok=True)
    for kernel in kernels_of(traced, arch_of(device)).values():
        number = len(list(folder.glob(f"{kernel.name}.*.cubin")))
        (folder / f"{kernel.name}.{number}.cubin").write_bytes(kernel.cubin)
        (folder / f"{kernel.name}.{number}.cu").write_text(kernel.source)


# --- what runs it


def examples(only: str) -> list[str]:
    return [path.stem for path in sorted(EXAMPLES.glob("*.py")) if re.search(only, path.stem)]


def symbols_of(names: list[str], raw: Path) -> dict[str, set[str]]:
    """The kernels of each example, which its check on the CPU tells."""
    folder = raw / "cpu"
    folder.mkdir(exist_ok=True)
    with (folder / "log.txt").open("w") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        run_examples(names, folder, "cpu")
    return {row["example"]: {x["symbol"] for x in row["launches"]} for row in predictions(folder)}


def predictions(raw: Path) -> list[dict[str, Any]]:
    """The rows of predictions.jsonl, the last one of each example."""
    path = raw / "predictions.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return list({row["example"]: row for row in map(json.loads, lines)}.values())


def measure(names: list[str], symbols: set[str], raw: Path, seconds: float) -> str:
    """Run examples under ncu and keep the readings; what went wrong, or ""."""
    label = names[0] if len(names) == 1 else "all"
    command = [sys.executable, str(Path(__file__)), str(raw), "--child", ",".join(names)]
    chosen = "regex:^(" + "|".join(sorted(symbols)) + ")$"
    options = ("--kernel-name-base", "mangled", "--kernel-name", chosen)
    try:
        report = raw / f"{label}.ncu-rep"
        found, log = ncu.profile(command, ncu.SOURCE_METRICS, report, options=options, timeout=seconds)
    except (ncu.NcuError, OSError) as error:
        (raw / f"{label}.error.txt").write_text(str(error))
        return f"{label}: {error}".splitlines()[0]
    (raw / f"{label}.log").write_text(log)
    rows = [{"symbol": p.symbol, "lines": [list(line) for line in p.lines]} for p in found]
    data = json.dumps({"names": names, "kernels": rows}).encode()
    (raw / f"{label}.readings.json.gz").write_bytes(gzip.compress(data))
    return ""


def device() -> str:
    """The GPU and its driver."""
    query = ["nvidia-smi", "--id=0", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"a GPU that nvidia-smi does not name ({error})"


def measure_all(options: argparse.Namespace) -> list[str]:
    """What went wrong."""
    raw, begin = options.raw, time.perf_counter()
    raw.mkdir(parents=True, exist_ok=True)
    notes = [f"{device()}, ncu {ncu.version(ncu.find_ncu())}"]
    kernels = symbols_of(examples(options.only), raw)
    names = [name for name, symbols in kernels.items() if symbols]
    notes += [f"{name}: no launch" for name in sorted(set(kernels) - set(names))]
    failed = measure(names, set().union(*kernels.values()), raw, SECONDS)
    if failed:
        notes.append(failed)
        for name in names:
            left = SECONDS - (time.perf_counter() - begin)
            if left < 1:
                notes.append(f"{name}: the time was over")
                continue
            notes.append(measure([name], kernels[name], raw, left))
    notes.append(f"{time.perf_counter() - begin:.0f} s")
    notes = [note for note in notes if note]
    (raw / "notes.json").write_text(json.dumps(notes))
    return notes


# --- what compares


def compare(raw: Path) -> tuple[list[tuple[str, LineComparison]], list[str]]:
    """(example, comparison) of every count of every launch; and what was not compared."""
    found, wrong = [], []
    said = {row["example"]: row for row in predictions(raw)}
    read: dict[str, dict[str, list[Any]]] = {}
    for path in sorted(raw.glob("*.readings.json.gz"), key=lambda p: p.name != "all.readings.json.gz"):
        data = json.loads(gzip.decompress(path.read_bytes()))
        by_symbol: dict[str, list[Any]] = defaultdict(list)
        for kernel in data["kernels"]:
            by_symbol[kernel["symbol"]].append(kernel["lines"])
        read.update(dict.fromkeys(data["names"], by_symbol))
    for name, row in said.items():
        if "error" in row:
            wrong.append(f"{name}: {row['error']}")
        for launch in row["launches"]:
            waiting = read.get(name, {}).get(launch["symbol"])
            if not waiting:
                wrong.append(f"{name}: a launch of {launch['symbol']} was not read")
                continue
            lines = [ncu.Line(*line) for line in waiting.pop(0)]
            predicted = [Predicted(*one) for one in launch["lines"]]
            found += [(name, one) for one in compare_lines(launch["symbol"], predicted, lines)]
    return found, list(dict.fromkeys(wrong))


def table(found: list[tuple[str, LineComparison]], notes: list[str], wrong: list[str]) -> list[str]:
    """The result: a row for each kind of request of each line of an example, all its launches together."""
    lines = ["# Predictions of cute.profile beside Nsight Compute, line by line", ""]
    lines += [f"- {note}" for note in (*notes, *wrong)]
    differ = [x for _, x in found if not x.right]
    unexplained = [x for x in differ if not x.reason]
    lines += ["", f"{len(found)} counts compared: {len(found) - len(differ)} equal, {len(unexplained)} different."]
    for reason, meaning in REASONS.items():
        number = sum(x.reason == reason for x in differ)
        lines += [f"{number} differ by the rule *{meaning}* of docs/ncu.md."] if number else []
    lines += ["", "Predicted / read, over all launches.", ""]
    lines += ["| example | line | request | machine instructions | " + " | ".join(COUNTS) + " | |", "|" + " --- |" * 10]
    sites: dict[tuple[str, str, int, str, str], list[LineComparison]] = defaultdict(list)
    for name, one in found:
        sites[name, Path(one.file).name, one.number, one.kind, one.memory].append(one)
    for (name, file, number, kind, memory), several in sorted(sites.items()):
        where = str(number) if file == f"{name}.py" else f"{file}:{number}"
        sass = ", ".join(dict.fromkeys(x.sass for x in several if x.sass != "none")) or "none"
        cells = []
        for metric in COUNTS:
            same = [x for x in several if x.metric == metric]
            cells.append(f"{sum(x.predicted for x in same):g} / {sum(x.read for x in same):g}" if same else "")
        reasons = dict.fromkeys(x.reason or "**different**" for x in several if not x.right)
        verdict = ", ".join(reasons) or "equal"
        lines.append(f"| {name} | {where} | {kind}, {memory} | {sass} | " + " | ".join(cells) + f" | {verdict} |")
    return lines


def main() -> None:
    options = arguments()
    if options.child:
        run_examples(options.child.split(","), options.raw)
        return
    notes = json.loads((options.raw / "notes.json").read_text()) if options.compare else measure_all(options)
    found, wrong = compare(options.raw)
    path = options.out / f"ncu_lang-{datetime.date.today().isoformat()}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(table(found, notes, wrong)) + "\n"
    path.write_text(text)
    print(text)
    print(path)


if __name__ == "__main__":
    main()
