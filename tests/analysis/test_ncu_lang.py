"""benchmarks/ncu_lang.py without a GPU: what it keeps, what it compares, and what it does where something fails."""

from __future__ import annotations

import gzip
import json
import re
import sys

import pytest

import ncu_lang
from tilewright.analysis.ncu.by_line import METRICS, Predicted

pytest.importorskip("torch")

SASS = {
    ("load", "global"): "LDG.E{} R2, desc[UR4][R2.64] ;",
    ("store", "global"): "STG.E{} desc[UR4][R2.64], R2 ;",
    ("load", "shared"): "LDS{} R2, [R2] ;",
    ("store", "shared"): "STS{} [R2], R2 ;",
    ("atomic", "shared"): "ATOMS{} RZ, [R2] ;",
    ("atomic", "global"): "REDG.E{} desc[UR4][R2.64], R2 ;",
}
SIZES = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}


def reading_of(predictions):
    """A launch as Nsight Compute would tell of it, were all predictions right."""
    lines = []
    for offset, one in enumerate(Predicted(*values) for values in predictions):
        values = {name: getattr(one, metric) for metric, name in METRICS.items()}
        sass = SASS[one.kind, one.memory].format(SIZES[one.width])
        lines.append([16 * offset, sass, values, one.file, one.number])
    return lines


@pytest.fixture
def raw(tmp_path):
    """The readings of two examples; the launches of the second one are one more than were read."""
    names = ["histogram", "scan"]
    ncu_lang.run_examples(names, tmp_path, "cpu")
    kernels = [
        {"symbol": launch["symbol"], "lines": reading_of(launch["lines"])}
        for row in ncu_lang.predictions(tmp_path)
        for launch in row["launches"]
    ]
    data = {"names": names, "kernels": kernels[:-1]}
    (tmp_path / "all.readings.json.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    (tmp_path / "notes.json").write_text(json.dumps(["a GPU, ncu 1.2.3"]))
    return tmp_path


def test_what_was_kept_is_compared_line_by_line(raw, monkeypatch, capsys, tmp_path):
    found, wrong = ncu_lang.compare(raw)
    assert all(one.right for _, one in found)
    assert {name for name, _ in found} == {"histogram", "scan"}
    assert wrong == ["scan: a launch of scan_kernel was not read"]
    monkeypatch.setattr(sys, "argv", ["ncu_lang.py", str(raw), "--compare", "--out", str(tmp_path / "results")])
    ncu_lang.main()
    (result,) = (tmp_path / "results").glob("ncu_lang-*.md")
    text = result.read_text()
    assert text in capsys.readouterr().out
    assert "- a GPU, ncu 1.2.3\n- scan: a launch of scan_kernel was not read\n" in text
    assert f"{len(found)} counts compared: {len(found)} equal, 0 different." in text
    (row,) = (line for line in text.splitlines() if "| histogram |" in line and "atomic, shared" in line)
    assert re.match(r"\| histogram \| \d+ \| atomic, shared \| ATOMS \| ", row)
    assert row.endswith("| equal |")


def test_a_difference_is_named(raw):
    path = raw / "all.readings.json.gz"
    data = json.loads(gzip.decompress(path.read_bytes()))
    (load,) = (line for line in data["kernels"][0]["lines"] if line[1].startswith("LDG"))
    load[2][METRICS["sectors"]] += 1
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    found, _ = ncu_lang.compare(raw)
    (wrong,) = (one for _, one in found if not one.right)
    assert (wrong.kind, wrong.memory, wrong.metric, wrong.read) == ("load", "global", "sectors", wrong.predicted + 1)
    text = "\n".join(ncu_lang.table(found, [], []))
    assert "1 different." in text
    assert text.count("**different**") == 1


def test_an_example_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ncu_lang, "EXAMPLES", tmp_path)
    (tmp_path / "first.py").write_text("def check(device): raise ValueError('no such thing')\n")
    (tmp_path / "second.py").write_text("def check(device): pass\n")
    ncu_lang.run_examples(ncu_lang.examples(""), tmp_path, "cpu")
    first, second = ncu_lang.predictions(tmp_path)
    assert (first["example"], first["error"]) == ("first", "ValueError: no such thing")
    assert second == {"example": "second", "launches": []}
    assert ncu_lang.compare(tmp_path)[1] == ["first: ValueError: no such thing"]


FAKE = """#!{python}
import json, subprocess, sys
args = sys.argv[1:]
if "--version" in args:
    print("Version 1.2.3.4")
    sys.exit()
names = args[args.index("--child") + 1].split(",")
if len(names) > 1:
    print("it was too much")
    sys.exit(1)
open(args[args.index("--export") + 1], "w").write("[]")
"""


def test_where_all_together_fail_each_runs_alone(tmp_path, monkeypatch):
    folder = tmp_path / "ncu"
    (folder / "extras/python").mkdir(parents=True)
    (folder / "extras/python/ncu_report.py").write_text(
        "class Report:\n def num_ranges(self): return 0\ndef load_report(path): return Report()\n"
    )
    (folder / "ncu").write_text(FAKE.format(python=sys.executable))
    (folder / "ncu").chmod(0o755)
    monkeypatch.setenv("TILEWRIGHT_NCU", str(folder / "ncu"))
    monkeypatch.setattr(sys, "argv", ["ncu_lang.py", str(tmp_path / "raw"), "--only", "^(histogram|scan)$"])
    ncu_lang.ncu.version.cache_clear()
    notes = ncu_lang.measure_all(ncu_lang.arguments())
    ncu_lang.ncu.version.cache_clear()
    assert any(note.startswith("all: ") for note in notes)
    made = sorted(path.name for path in (tmp_path / "raw").glob("*.readings.json.gz"))
    assert made == ["histogram.readings.json.gz", "scan.readings.json.gz"]
