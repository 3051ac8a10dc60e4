"""Predictions beside what Nsight Compute read on a GPU, and the way there: the probe, reports, verify_with_ncu."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import io
import json
import re
import stat
import sys
from collections import Counter

import numpy as np
import pytest

import ncu_compare
from places import ROOT
from probes.access import KINDS, Access, compile_probes, kernel_name, most, parameters
from tilewright import kernels
from tilewright.analysis import MisalignedError, async_access
from tilewright.analysis.ncu import run as ncu
from tilewright.kernels.analyze import verify

GOLDEN = ROOT / "tests/analysis/ncu.json.gz"
PAGE = (ROOT / "docs/active_lanes.md").read_text()


# ---- the committed readings


@pytest.fixture(scope="module")
def golden():
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))


@pytest.fixture(scope="module")
def rows(golden):
    """The accesses as benchmarks/ncu.py keeps them."""
    keys = ("kind", "name", "lanes", "offsets", "shared")
    return [
        dict(zip(keys, row, strict=False))
        | {"source": dict(zip(golden["metrics"], row[5], strict=True))}
        | ({"hardware": row[6]} if row[6] else {})
        for row in golden["accesses"]
    ]


def test_no_reading_differs_from_the_prediction(rows):
    """Sectors, wavefronts, their ideals, and lines, of every access: those of the instruction, and the hardware's."""
    found, compared = ncu_compare.probe_differences(rows)
    differences = [d for d in found if not d.reason]
    assert not differences, "\n".join(
        f"{d.what}, {d.name}: {d.metric} {d.predicted}, {d.read}" for d in differences[:20]
    )
    hardware = {m: n for m, n in compared.items() if m.startswith("l1tex__")}
    assert sum(hardware.values()) >= 1500, hardware
    assert compared["memory_l2_theoretical_sectors_global"] >= 800


def test_what_is_excused_is_what_the_page_says(rows):
    """Readings of ncu that are not taken for the truth are of few sorts, each with proof from another counter."""
    found, compared = ncu_compare.probe_differences(rows)
    reasons = Counter((d.reason, d.what.rsplit(".", 1)[0]) for d in found if d.reason)
    assert {r for r, _ in reasons} <= set(ncu_compare.REASONS)
    assert {kind for r, kind in reasons if r == "counter"} == {"ld.shared"}
    assert {kind for r, kind in reasons if r in ("lost", "race")} <= {"cp.async.cg", "cp.async.filled"}
    assert {kind for r, kind in reasons if r == "unread"} == {"cp.async.filled"}
    assert reasons["counter", "ld.shared"] < compared["memory_l1_wavefronts_shared"] / 25
    assert sum(n for (r, _), n in reasons.items() if r == "race") <= 5


def test_the_hardware_takes_other_wavefronts_than_ncu_says(rows):
    """cp.async through L1: lookups of lines make it more, and not all lanes that one meets wait for each other.

    But no two lanes of a pass share a wavefront that use one group of banks.
    """
    more = fewer = unknown = 0
    for row in (r for r in rows if r["kind"].startswith("cp.async.ca")):
        access = ncu_compare.access_of(row)
        found = access.asynchronous()
        if found.wavefronts is None:
            unknown += 1
            continue
        width, least = KINDS[access.kind].size, 0
        for lanes in (range(t, t + 128 // width) for t in range(0, 32, 128 // width)):
            of_pass = [t for t in access.active if t in lanes]
            sides = [Counter(side[t] % 128 // width for t in of_pass) for side in (access.offsets, access.shared)]
            least += max(n for side in sides for n in (0, *side.values()))
        assert found.wavefronts >= least
        more += found.wavefronts > found.destination.wavefronts
        fewer += found.wavefronts < found.destination.wavefronts
    assert more >= 40
    assert fewer >= 15
    assert unknown <= 2


def test_what_ncu_calls_wavefronts_around_the_cache(rows):
    """Moves of sectors from line to line, and where some lanes write zeros, what they meet on the way.

    Of the form that can write zeros, ncu counts some instructions as if all lanes did: always the same of a kernel.
    """
    read = {ncu_compare.access_of(row): row["source"] for row in rows if row["kind"].startswith("cp.async")}
    around = [x for x in read if x.kind.startswith("cp.async.cg") and x.lanes]
    assert len(around) >= 80
    wavefronts, ideal = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
    assert all(x.asynchronous().counted == read[x].get(wavefronts, 0) for x in around)
    cases = importlib.import_module("ncu_cases").cases()
    filled = [case.access for case in cases if case.access.kind.startswith("cp.async.filled")]
    mixed = 0
    for i, access in enumerate(filled):
        unread = i % most(access.kind) in (0, 2, 4, 7)
        found = access._replace(lanes=0).asynchronous() if unread else access.asynchronous()
        assert (found.counted, found.ideal_counted) == (read[access][wavefronts], read[access][ideal]), access
        mixed += not unread and 0 < access.lanes < 0xFFFFFFFF
    assert (len(filled), mixed) == (35, 9)


def test_the_lanes_are_those_of_the_mask(golden, rows):
    for row in rows:
        access = Access(row["kind"], tuple(row["offsets"]), row["lanes"], tuple(row["shared"]))
        assert row["source"]["thread_inst_executed_true"] in (access.lanes.bit_count(), 32), row["name"]


def test_the_totals_of_plans(golden):
    """Those plans that are chosen today as when they were measured: their classes, and all sectors of the hardware."""
    sys.modules.pop("ncu_plans", None)
    importlib.import_module("ncu_plans")
    plans = [row for row in ncu_compare.of_golden(golden)["plans"] if row["text"] != "None"]
    differences, lines, compared = ncu_compare.plan_differences(plans)
    unexplained = [d for d in differences if not d.reason]
    assert not unexplained, "\n".join(f"{d.what}: {d.name} {d.metric} {d.predicted}, {d.read}" for d in unexplained)
    reasons = Counter(d.reason for d in differences)
    assert set(reasons) <= {"misread", "masked", "lost", "flags"}
    assert (reasons["lost"], reasons["masked"]) <= (2, 24)
    assert reasons["misread"] + reasons["flags"] < compared / 10
    others = [line for line in lines if "not predicted" in line]
    assert len(others) <= 16, "measure again:\n" + "\n".join(others)


def test_the_committed_result_is_whole(golden):
    """Made of the committed readings it is the same: every plan is predicted, and the lanes were read."""
    newest = max((ROOT / "benchmarks/results").glob("ncu-*.md")).read_text()
    table = ncu_compare.lanes_table(ncu_compare.of_golden(golden)["plans"])
    assert "\n".join(table) in newest
    assert "| nan" not in newest
    assert "| not predicted" not in newest
    assert f"{len(golden['boxes'])} boxes" in newest


def test_no_box_moves_other_sectors_than_predicted(golden):
    """Loads, stores and multicasts of one box each, by the hardware's counters."""
    boxes = [ncu_compare.box_of(box) for box, _ in golden["boxes"]]
    assert not ncu_compare.box_differences(golden["boxes"])
    assert len(set(boxes)) >= 1000
    kinds = Counter((box.op, box.receivers) for box in boxes)
    assert min(kinds[kind] for kind in (("load", 1), ("load", 2), ("load", 4), ("store", 1))) >= 250
    assert sum(box.rounds for box in boxes) >= 250
    wrong = [[box, read + 1] for box, read in golden["boxes"][:3]]
    assert [found[2] - found[1] for found in ncu_compare.box_differences(wrong)] == [1, 1, 1]


def test_boxes_and_wgmma_of_plans_were_read(golden):
    """Every plan of gemm_sm90: its boxes and their sectors, and what the tensor cores read of shared memory."""
    plans = [row for row in ncu_compare.of_golden(golden)["plans"] if "sm90" in row["text"][:400]]
    assert len(plans) >= 100
    for row in plans:
        classes = [kernel["classes"] for kernel in row["kernels"]]
        loads = [of["UTMALDG"] for of in classes if of.get("UTMALDG", {}).get("sectors")]
        assert len(loads) == 1, row["name"]
        assert loads[0]["requests"] > 0, row["name"]
        assert any(of.get("GMMA", {}).get("wavefronts") for of in classes), row["name"]
        assert any(kernel["metrics"].get(ncu_compare.MULTIPLIED) for kernel in row["kernels"]), row["name"]


def test_boxes_are_compared_by_the_hardwares_counter():
    """Readings without it, as earlier ones and those of other chips, are no difference; others than predicted are."""
    line = ncu.Line(0, "UTMALDG.2D [UR4], [UR8]", {"thread_inst_executed_true": 3.0, "inst_executed": 4.0})
    expected = {"UTMALDG": {"requests": 3, "sectors": 96}}
    assert verify.classes_read([line]) == {"UTMALDG": {"requests": 3.0}}
    assert [c.right for c in verify.compare_classes(expected, verify.classes_read([line]))] == [True]
    metrics = {verify.OF_BOXES["UTMALDG"]: 96.0, verify.OF_BOXES["UTMASTG"]: 0.0}
    found = verify.compare_classes(expected, verify.classes_read([line], metrics))
    assert [(c.sass, c.metric, c.right) for c in found] == [
        ("UTMALDG", "requests", True),
        ("UTMALDG", "sectors", True),
    ]
    more = verify.compare_classes({"UTMASTG": {"requests": 1, "sectors": 4}}, verify.classes_read([line], metrics))
    assert {(c.sass, c.metric) for c in more if not c.right} == {
        ("UTMALDG", "requests"), ("UTMALDG", "sectors"), ("UTMASTG", "sectors"),
    }  # fmt: skip
    (missing,) = verify.compare_classes({"GMMA": {"wavefronts": 5}}, {})
    assert not missing.right  # counted for the instruction, on every chip that has it


def test_a_launch_is_predicted_for_its_addresses():
    a = np.zeros((512, 512), np.float16)
    plan = kernels.gemm.plan(a, a, np.zeros((512, 512), np.float16), arch="sm_90a")
    sectors = [
        verify.classes_predicted(plan, (first, 0, 0, None))["UTMALDG"]["sectors"] for first in (0, 16, 32)
    ]  # fmt: skip
    assert sectors[0] == sectors[2] < sectors[1]


def test_what_ncu_misreads_has_the_predicate_p0():
    """It is kept with the readings: by it all of them are explained."""
    line = dict.fromkeys(("memory_l2_theoretical_sectors_global", "memory_l1_wavefronts_shared"), 8.0)
    line["thread_inst_executed_true"] = 64
    for sass, misread in (
        ("@P2 LDGSTS.E.BYPASS.128 desc[UR8][R26.64], P3, [R19]", None),
        ("@P2 LDGSTS.E.BYPASS.128 desc[UR8][R26.64], P0, [R19]", 2),
        ("@P2 LDGSTS.E.BYPASS.128 desc[UR8][R26.64], !P0, [R19]", 2),
        ("@!P0 LDGSTS.E.BYPASS.128 desc[UR8][R26.64], [R19]", 2),
        ("LDGSTS.E.BYPASS.128 desc[UR8][R26.64], [R19]", None),
        ("@!P3 LDGSTS.E.BYPASS.LTC128B.128.ZFILL desc[UR10][R26.64], P1, [R4]", 2),
    ):
        (counts,) = verify.classes_read([ncu.Line(0, sass, line)]).values()
        assert counts.get("misread") == misread, sass
    read = {"LDGSTS.128": {"wavefronts": 104, "sectors": 64, "misread": 2}}
    for predicted, right in ((104, True), (168, True), (169, False), (40, True), (39, False)):
        (one,) = (
            x
            for x in verify.compare_classes({"LDGSTS.128": {"wavefronts": predicted, "sectors": 64}}, read)
            if x.metric == "wavefronts"
        )
        assert (one.right or one.is_misread) == right, predicted


def test_the_readings_are_of_every_kind_and_of_many_forms(golden):
    kinds = Counter(row[0] for row in golden["accesses"])
    assert set(kinds) == set(KINDS)
    assert sum(row[1].startswith("random") for row in golden["accesses"]) >= 500
    assert sum(row[2] != 0xFFFFFFFF for row in golden["accesses"]) >= 200
    assert len({json.dumps(row[:1] + row[2:5]) for row in golden["accesses"]}) == len(golden["accesses"])
    assert all(golden["machine"][x] for x in ("device", "driver", "ncu"))
    assert GOLDEN.stat().st_size < 300_000


# ---- cp.async, whose two sides cost each other something

ROW = [16 * t for t in range(32)]


@pytest.mark.parametrize(
    ("sources", "destinations", "sectors", "lookups", "asked"),
    [  # as read on an H200
        (ROW, ROW, 16, 4, 16),
        ([16 + x for x in ROW], ROW, 32, 8, 20),
        (ROW, [128 * t for t in range(32)], 32, 32, 32),
        (ROW, [0] * 32, 1, 4, 1),
        ([0] * 32, ROW, 32, 4, 16),
        (ROW, [16 * (t // 2) for t in range(32)], 16, 4, 8),
        (ROW, [32 * t for t in range(32)], 32, 8, 32),
    ],
)
def test_copies_around_l1(sources, destinations, sectors, lookups, asked):
    found = async_access(sources, destinations, 16)
    assert (found.source.sectors, found.lookups, found.asked_sectors) == (sectors, lookups, asked)
    assert found.wavefronts == 0


@pytest.mark.parametrize(
    ("width", "source", "destination", "wavefronts"),
    [
        (4, lambda t: 4 * t, lambda t: 4 * t, 1),
        (4, lambda t: 16 + 4 * t, lambda t: 4 * t, 1),
        (4, lambda t: 128 * t, lambda t: 4 * t, 32),
        (4, lambda t: 0, lambda t: 4 * t, 32),
        (8, lambda t: 4096 * (t // 8) + 8 * (t % 8), lambda t: 8 * t, 4),
        (16, lambda t: 16 * t, lambda t: 32 * t, 8),
        (16, lambda t: 16 * t, lambda t: 16 * (t // 2), 8),
    ],
)
def test_copies_through_l1(width, source, destination, wavefronts):
    found = async_access([source(t) for t in range(32)], [destination(t) for t in range(32)], width, cache="ca")
    assert found.destination.wavefronts == wavefronts
    assert found.lookups == found.source.lines


@pytest.mark.parametrize(
    ("width", "source", "destination", "counted", "wavefronts"),
    [
        (16, lambda t: 64 + 16 * t, lambda t: 16 * t, 4, 5),  # five lines, of which the last waits for its bank of tags
        (16, lambda t: 16 * t, lambda t: 64 + 16 * t, 4, 4),
        (8, lambda t: 64 + 8 * t, lambda t: 8 * t, 2, 2),
        (4, lambda t: 4 * t + 512 * (t % 16), lambda t: 4 * t, 1, 4),  # sixteen lines, four of them in each bank
        (4, lambda t: 4 * t + (32768 if t == 9 else 0), lambda t: 4 * t, 1, None),
    ],
)
def test_lines_are_looked_up_in_four_banks_of_tags(width, source, destination, counted, wavefronts):
    """As such accesses were read on an H200, but the last."""
    found = async_access([source(t) for t in range(32)], [destination(t) for t in range(32)], width, cache="ca")
    assert (found.destination.wavefronts, found.wavefronts) == (counted, wavefronts)


def test_conflicts_on_both_sides_add_up():
    """A lane meets those in its bank of the cache and those in its bank of shared memory, each of them once."""
    lanes = range(32)
    found = async_access([4 * (t % 2) for t in lanes], [4 * (t % 16) for t in lanes], 4, cache="ca")
    assert found.destination.wavefronts == 16  # those of the same bank of shared memory are among the other 16
    sources = [4 * (15 if 15 <= t < 24 else t) for t in lanes]
    found = async_access(sources, [128 * t if t < 16 else 4 * t for t in lanes], 4, cache="ca")
    assert (found.destination.wavefronts, found.wavefronts) == (16 + 8, 24)  # lane 15 meets them all
    found = async_access([16 * (t % 4) for t in range(8)], [16 * (t // 2) for t in range(8)], 16, cache="ca")
    assert (found.destination.wavefronts, found.wavefronts) == (3, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((ROW, ROW, 8), ValueError, "with 8 bytes must be"),
        ((ROW, ROW[:4], 16), ValueError, "32 sources must be as many as the 4 destinations"),
        (([8], [0], 16), MisalignedError, "lane 0"),
        (([0], [8], 16), MisalignedError, "lane 0"),
    ],
)
def test_copies_that_cannot_be_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        async_access(*arguments)


# ---- the probe


@pytest.fixture(scope="module")
def probes(compiler):
    wanted = [(kind, count) for kind in KINDS for count in (1, most(kind))]
    return compile_probes("sm_90a", wanted)


PTX = {"LDG": "ld.global", "STG": "st.global", "LDS": "ld.shared", "STS": "st.shared", "LDSM": "ldmatrix"}
PTX |= {"STSM": "stmatrix", "LDGSTS": "cp.async.c"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_probe_makes_its_accesses_and_no_other(probes, kind):
    bodies = re.split(r"^(?:\.weak|\.visible) \.entry ", probes.ptx, flags=re.M)
    for count in (1, most(kind)):
        symbol = probes.lowered[kernel_name(kind, count)]
        (body,) = (b for b in bodies if b.startswith(symbol + "("))
        found = Counter(
            re.findall(r"(?:\b)(ld\.global|st\.global|ld\.shared|st\.shared|ldmatrix|stmatrix|cp\.async\.c)", body)
        )
        assert found == {PTX[KINDS[kind].sass.split(".")[0]]: count}


def test_offsets_lie_where_the_kernel_reads_them():
    access = Access("cp.async.cg.16", tuple(range(0, 512, 16)), 0xF0F0F0F0, tuple(range(512, 1024, 16)))
    words = np.frombuffer(parameters(1 << 40, [access], most("cp.async.cg.16")), np.uint32)
    assert words[:2].view(np.uint64)[0] == 1 << 40
    assert words[4] == 0xF0F0F0F0
    offsets = words[4 + 24 :].reshape(24, 32)
    assert offsets[0].tolist() == list(access.offsets)
    assert offsets[12].tolist() == list(access.shared)
    assert not offsets[1:12].any()


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (Access("ld.global.3", (0,) * 32), "there is no access 'ld.global.3'"),
        (Access("ld.global.4", (0,) * 31), "takes 32 offsets, not 31 and 0"),
        (Access("cp.async.ca.4", (0,) * 32), "32 offsets and 32 of shared memory, not 32 and 0"),
        (Access("ld.shared.16", (1 << 16,) * 32), r"offset 65536 of ld.shared.16 is not in \[0, 65520\]"),
    ],
)
def test_a_probe_outside_its_memory_is_refused(access, message):
    with pytest.raises(ValueError, match=message):
        parameters(0, [access], 1)


# ---- reports

MODULE = """
import json
class Metric:
    def __init__(self, total, at): self.total, self.at = total, at
    def value(self, i=None): return self.total if i is None else self.at[i][1]
    def num_instances(self): return len(self.at)
    def has_correlation_ids(self): return bool(self.at)
    def correlation_ids(self): return self
    def as_uint64(self, i): return self.at[i][0]
class Action:
    NameBase_MANGLED = 2
    def __init__(self, data): self.data = data
    def name(self, base=0): return self.data["symbol" if base == 2 else "name"]
    def metric_names(self): return list(self.data["metrics"])
    def metric_by_name(self, name): return Metric(*self.data["metrics"][name])
    def sass_by_pc(self, pc): return self.data["sass"][str(pc)]
    def source_info(self, pc): return Info(*self.data["places"][str(pc)]) if str(pc) in self.data["places"] else None
class Info:
    def __init__(self, file, line): self.file, self.at = file, line
    def file_name(self): return self.file
    def line(self): return self.at
class Report:
    def __init__(self, actions): self.actions = actions
    def num_ranges(self): return 1
    def range_by_idx(self, i): return self
    def num_actions(self): return len(self.actions)
    def action_by_idx(self, i): return Action(self.actions[i])
def load_report(path):
    with open(path) as stream: return Report(json.load(stream))
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder as Nsight Compute's, whose ncu does what a test says; its reports are JSON."""
    (tmp_path / "extras/python").mkdir(parents=True)
    (tmp_path / "extras/python/ncu_report.py").write_text(MODULE)
    program = tmp_path / "ncu"
    monkeypatch.setenv("TILEWRIGHT_NCU", str(program))

    def does(code):
        program.write_text(
            f"#!{sys.executable}\nimport sys\nargs = sys.argv[1:]\n"
            "if '--version' in args: print('Version 2025.3.1.0'); sys.exit()\n" + code
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(program)

    yield does
    ncu.version.cache_clear()


def action(symbol="_ZN10tilewright6stagedE"):
    metrics = {
        "inst_executed": [12, [[0x720, 8], [0x700, 4]]],
        "memory_l2_theoretical_sectors_global": [64, [[0x700, 64]]],
        "memory_l1_wavefronts_shared": [32, [[0x720, 32]]],
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": [64, []],
    }
    sass = {"1792": "@P0 LDG.E.128 R4, desc[UR4][R2.64] ;", "1824": "STS.128 [R5], R4 ;"}
    return {"name": "staged", "symbol": symbol, "metrics": metrics, "sass": sass, "places": {"1792": ["f.py", 12]}}


WRITES = "open(args[args.index('--export') + 1], 'w').write({!r})\n"


def test_a_report_is_read_instruction_by_instruction(installed, tmp_path):
    installed(WRITES.format(json.dumps([action()])) + "print(' '.join(args))")
    (found,), log = ncu.profile(["python3", "x.py"], ["a", "b"], tmp_path / "r")
    assert "--clock-control none --cache-control none --metrics a,b" in log
    assert log.strip().endswith("python3 x.py")
    assert (found.name, found.metrics["inst_executed"]) == ("staged", 12)
    assert found.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 64
    load, store = found.lines
    assert (load.offset, load.opcode, load.values["memory_l2_theoretical_sectors_global"]) == (0, "LDG.E.128", 64)
    assert (store.offset, store.opcode, store.values["memory_l1_wavefronts_shared"]) == (32, "STS.128", 32)
    assert (load.file, load.number, store.file, store.number) == ("f.py", 12, "", 0)
    assert verify.classes_read(found.lines) == {"LDG.128": {"sectors": 64}, "STS.128": {"wavefronts": 32}}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "print('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission')",
            "NVreg_RestrictProfilingToAdminUsers",
        ),
        ("print('==WARNING== No kernels were profiled.')", "no report.*No kernels were profiled"),
        (WRITES.format("[]") + "print('boom'); sys.exit(3)", r"failed \(exit status 3\).*boom"),
    ],
)
def test_what_goes_wrong_under_ncu_is_said(installed, tmp_path, code, message):
    installed(code)
    with pytest.raises(ncu.NcuError, match=re.compile(message, re.S)):
        ncu.profile(["true"], ["a"], tmp_path / "r")


def test_a_report_that_crashes_its_reader_is_an_error(installed, tmp_path):
    """ncu_report was seen to die of a segmentation fault, which must not end the caller."""
    code = "import os, signal\ndef load_report(path): print('so far', flush=True); os.kill(os.getpid(), signal.SIGSEGV)"
    installed(WRITES.format("[]"))
    (tmp_path / "extras/python/ncu_report.py").write_text(code)
    with pytest.raises(ncu.NcuError, match=r"(?s)did not read .*exit status -11.*so far"):
        ncu.profile(["true"], ["a"], tmp_path / "r")


def test_a_missing_ncu_is_said(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_NCU", "/nowhere/ncu")
    with pytest.raises(ncu.NcuError, match="TILEWRIGHT_NCU is /nowhere/ncu"):
        verify.verify_with_ncu(__file__)
    monkeypatch.delenv("TILEWRIGHT_NCU")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(ncu, "_folders", list)
    with pytest.raises(ncu.NcuError, match="put it on the PATH or name it in TILEWRIGHT_NCU"):
        verify.verify_with_ncu(__file__)


def test_an_installation_without_the_module_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(ncu, "_folders", list)
    (tmp_path / "ncu").write_text("")
    with pytest.raises(ncu.NcuError, match="extras/python has no ncu_report"):
        ncu.read_report(tmp_path / "r", str(tmp_path / "ncu"))


# ---- verify_with_ncu


def launches(src_address=0):
    plan = kernels.tiled_copy.plan(np.zeros((64, 64), "f4").T, np.zeros((64, 64), "f4"))
    return {"symbol": "_ZN10tilewright6stagedE", "plan": plan, "addresses": [src_address, 0]}


def profile_of(predicted):
    lines = [
        ncu.Line(16 * i, name + " R1", {verify.METRICS[field]: value for field, value in counts.items()})
        for i, (name, counts) in enumerate(predicted.items())
    ]
    return ncu.Profile("staged", "_ZN10tilewright6stagedE", {}, tuple(lines))


def test_launches_are_compared_in_their_order():
    """The second one reads from 16 bytes further, so that it takes other sectors; the third is launched by a graph."""
    one, two = launches(), launches(16)
    predicted = [verify.classes_predicted(x["plan"], x["addresses"]) for x in (one, two, two)]
    assert predicted[0] != predicted[1]
    result = verify.compare_launches([one, two], [profile_of(p) for p in predicted], "1.2.3")
    assert result, str(result)
    assert len(result.comparisons) == 3 * sum(len(c) for c in predicted[0].values())
    assert str(result).endswith("compared with ncu 1.2.3: all agree")
    swapped = verify.compare_launches([two, one], [profile_of(p) for p in predicted[:2]], "1.2.3")
    assert not swapped
    assert {c.metric for c in swapped.differences} <= {"sectors", "lines"}
    assert "differs" in str(swapped)


def test_what_ncu_leaves_out_is_no_difference():
    found = verify.compare_classes(
        {"LDGSTS.128": {"sectors": 8, "lines": 2}}, {"LDGSTS.128": {"sectors": 6, "lines": 2}}
    )
    result = verify.Verification(tuple(found), (), "1.2.3")
    assert result
    assert "leaves out some" in str(result)
    assert str(result).endswith("all agree, but for 1 that are incomplete")
    for sass in ("LDGSTS", "LDGSTS.128"):
        found = verify.compare_classes({sass: {"wavefronts": 8}}, {sass: {"wavefronts": 9}})
        assert not verify.Verification(tuple(found), (), "1.2.3")
    threads = {"thread_inst_executed": 96, "thread_inst_executed_true": 64}  # one of three requests has no lane
    counts = {verify.METRICS["sectors"]: 12, verify.METRICS["wavefronts"]: 6}
    line = ncu.Line(0, "@P1 LDGSTS.E.BYPASS.128 [R1], [R2.64]", {**counts, **threads})
    expected = {"LDGSTS.128": {"sectors": 8, "wavefronts": 4}}
    found = verify.compare_classes(expected, verify.classes_read([line]))
    result = verify.Verification(tuple(found), (), "1.2.3")
    assert result
    assert "requests that no lane makes" in str(result)
    assert str(result).endswith("all agree, but for 2 with requests that no lane makes")
    for sectors in (7, 9):  # more or fewer than those
        other = {"LDGSTS.128": {"sectors": sectors, "wavefronts": 4}}
        found = verify.compare_classes(other, verify.classes_read([line]))
        assert not verify.Verification(tuple(found), (), "1.2.3")
    for read in ({"sectors": 9, "lines": 2}, {"sectors": 8, "lines": 1}):
        found = verify.compare_classes({"LDGSTS.128": {"sectors": 8, "lines": 2}}, {"LDGSTS.128": read})
        assert not verify.Verification(tuple(found), (), "1.2.3")


def test_kernels_without_a_plan_are_named():
    torch_kernel = ncu.Profile("fill", "_ZN2at6nativeE", {}, ())
    ours = ncu.Profile("visualize_tv", "_ZN10tilewright12visualize_tvE", {}, ())
    result = verify.compare_launches([], [torch_kernel, ours], "1.2.3")
    assert (result.unpredicted, bool(result)) == (("visualize_tv",), False)
    assert "there was none" in str(result)


class Callable:
    def __call__(self):
        pass


@pytest.mark.parametrize("fn", [lambda: None, Callable(), [].append, 3])
def test_what_another_process_cannot_import_is_refused(fn):
    with pytest.raises(TypeError, match="another process cannot import"):
        verify.verify_with_ncu(fn)


def a_function():
    print("it ran")


def test_a_function_or_a_script_runs_in_the_other_process(installed, tmp_path):
    """Under an ncu that only runs what it is given: nothing is launched on the CPU."""
    runs = "import subprocess\nat = args.index('-m') - 1\ndone = subprocess.run(args[at:])\n"
    installed(runs + WRITES.format("[]") + "sys.exit(done.returncode)")
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy\nfrom tilewright import kernels\nx = numpy.ones((4, 4))\n"
        "y = kernels.transpose(x, numpy.zeros((4, 4)))\nassert y.sum() == 16\n"
    )
    for fn in (script, a_function):
        result = verify.verify_with_ncu(fn)
        assert not result.comparisons
        assert result.ncu_version == "2025.3.1.0"
    script.write_text("raise SystemExit('no such thing')")
    with pytest.raises(ncu.NcuError, match="no such thing"):
        verify.verify_with_ncu(script)


KERNEL = """
import numpy
from tilewright import cute

@cute.kernel
def every_other_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = x[i * 2]

@cute.jit
def every_other(x: cute.Tensor, y: cute.Tensor):
    every_other_kernel(x, y).launch(block=[32, 1, 1])

every_other(numpy.zeros(64, numpy.float32), numpy.zeros(32, numpy.float32))
"""


def line_action(file, sectors):
    """A launch of that kernel as a report has it, whose load reads so many sectors."""
    counts = {"memory_l2_theoretical_sectors_global": (sectors, 4), "thread_inst_executed_true": (32, 32)}
    counts["memory_l2_theoretical_sectors_global_ideal"] = (4, 4)
    metrics = {name: [sum(both), [[0x700, both[0]], [0x710, both[1]]]] for name, both in counts.items()}
    sass = {"1792": "LDG.E R4, desc[UR4][R2.64] ;", "1808": "STG.E desc[UR4][R6.64], R4 ;"}
    places = {"1792": [str(file), 8], "1808": [str(file), 8]}
    return {"name": "x", "symbol": "every_other_kernel", "metrics": metrics, "sass": sass, "places": places}


def test_a_python_kernel_is_compared_line_by_line(installed, tmp_path):
    runs = "import subprocess\nat = args.index('-m') - 1\ndone = subprocess.run(args[at:])\n"
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    for sectors in (8, 9):
        report = json.dumps([line_action(script, sectors)])
        installed(runs + WRITES.format(report) + "sys.exit(done.returncode)")
        result = verify.verify_with_ncu(script)
        found = {(x.number, x.kind, x.metric): (x.predicted, x.read) for x in result.lines}
        assert found[8, "load", "sectors"] == (8, sectors)
        assert found[8, "store", "sectors"] == (4, 4)
        assert found[8, "load", "lanes"] == (32, 32)
        assert bool(result) == (sectors == 8)
        assert ("all agree" if sectors == 8 else "1 differ") in str(result)


# ---- docs/active_lanes.md


def test_the_page_prints_what_it_says():
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.M | re.S)
    assert len(blocks) == PAGE.count("```python")
    for code, text in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == text


def test_its_table_follows_its_formula():
    rows = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.]+) \|", PAGE, re.M)
    assert len(rows) == 5
    for threads, warps, lanes in rows:
        assert (int(warps), float(lanes)) == (-(-int(threads) // 32), int(threads) / -(-int(threads) // 32))
