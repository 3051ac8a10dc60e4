"""Predicted sectors, wavefronts and lanes beside what Nsight Compute counts, instruction by instruction.

python benchmarks/ncu.py [--stages probes,boxes,hardware,plans] [--budget SECONDS] [--only REGEX] [--out FOLDER]
python benchmarks/ncu.py --readings FILE... [--golden FILE] [--out FOLDER]    compare earlier readings, without a GPU

The first form runs this script under ncu: one access after another (ncu_cases.py), one box of the copy engine after
another (ncu_boxes.py), then every copy and GEMM of the benchmarks (ncu_plans.py). It keeps the readings in one file, so
that a rule that is found wrong is corrected without measuring again.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ncu_boxes import METRICS, boxes, launch_boxes
from ncu_cases import Case, cases
from ncu_compare import COUNTED, LOADED, LOOKUPS, MULTIPLIED, STORED, access_of, of_golden, report
from probes.access import GLOBAL_BYTES, KINDS, Access, compile_probes, launch, most
from tilewright.analysis.ncu import run as ncu
from tilewright.kernels.analyze import verify

HERE = Path(__file__).parent
STAGES = ("probes", "boxes", "hardware", "plans")
# What else is read of a cp.async that goes around L1: lookups, and what L2 sends. What a chip lacks is left out.
OF_CP_ASYNC = (
    LOOKUPS,
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "sm__sass_l1tex_m_xbar2l1tex_read_sectors_mem_global_op_ldgsts_cache_bypass.sum",
)
WAVEFRONTS = f"{COUNTED}.sum"
IN_SHARED = (f"{COUNTED}_op_ld.sum", f"{COUNTED}_op_st.sum")
IN_GLOBAL = (LOADED, STORED)
TWICE = "cp.async.cg.16"
SECTORS = "memory_l2_theoretical_sectors_global"
OF_PLANS = (LOADED, STORED, MULTIPLIED, *verify.OF_BOXES.values(), *ncu.LANE_METRICS)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Predictions beside the readings of Nsight Compute")
    parser.add_argument("--stages", default=",".join(STAGES), help="what to measure, of " + ", ".join(STAGES))
    parser.add_argument("--budget", type=float, default=600, help="seconds for the last two stages each")
    parser.add_argument("--only", default="", help="regular expression: only the plans whose name it matches")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for the summary and the readings")
    parser.add_argument("--readings", type=Path, nargs="+", help="compare the readings in these files, newer ones last")
    parser.add_argument(
        "--known", type=Path, help="earlier readings: what they have of the hardware's counters is kept"
    )
    parser.add_argument("--golden", type=Path, help="write the table that the tests read")
    parser.add_argument("--child", choices=("probes", "boxes", "hardware", "plans", "compile"), help=argparse.SUPPRESS)
    parser.add_argument("--cases", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--notes", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


# --- what runs under ncu


def batches(chosen: list[Case]) -> Iterator[tuple[str, list[Case]]]:
    """Accesses of one kind, as many as one launch holds.

    Of some cp.async ncu says nothing, by their place in the kernel, the first and the third among them. So those are
    made twice: the second time behind one that takes no lane.
    """
    by_kind = {kind: [c for c in chosen if c.access.kind == kind] for kind in KINDS}
    for kind, found in by_kind.items():
        count = most(kind) - (kind == TWICE)
        for i in range(0, len(found), count):
            yield kind, found[i : i + count]
            if kind == TWICE:
                yield kind, [Case("none", found[i].access._replace(lanes=0)), *found[i : i + count]]


def launch_probes(chosen: list[Case], single: bool) -> None:
    from tilewright import _core
    from tilewright.runtime.device import arch_of

    memory = _core.cuda.allocate_async(0, GLOBAL_BYTES, 1)
    memory.zero()
    kinds = dict.fromkeys(c.access.kind for c in chosen)
    program = compile_probes(arch_of(0), [(kind, 1 if single else most(kind)) for kind in kinds])
    for kind, batch in ((c.access.kind, [c]) for c in chosen) if single else batches(chosen):
        launch(0, memory.address, [c.access for c in batch], program, count=1 if single else most(kind))
    _core.cuda.synchronize(0)


def launch_plans(options: argparse.Namespace) -> None:
    """Each plan once, behind a launch of the probe that marks where it begins; what was launched goes to --notes."""
    import torch

    from ncu_plans import plan_cases
    from tilewright import _core
    from tilewright.runtime.device import arch_of

    marker = compile_probes(arch_of(0), [("st.global.4", 1)])
    mark = Access("st.global.4", (0,) * 32, 0)
    begin, notes = time.perf_counter(), []
    for case in plan_cases():
        if not re.search(options.only, case.name):
            continue
        note: dict[str, Any] = {"name": case.name}
        notes.append(note)
        if time.perf_counter() - begin > options.budget:
            note["error"] = "not run: the time was over"
            continue
        try:
            made = case.make()
            note["plan"] = base64.b64encode(pickle.dumps(made.plan)).decode()
            note["text"] = str(made.plan)
            note["addresses"] = [x.data_ptr() if x is not None else None for x in made.tensors]
            note["kernel"] = getattr(made.plan, "name", "")
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            launch(0, 0, [mark], marker, count=1)
            made.call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
        except Exception as error:
            traceback.print_exc()
            note["error"] = f"{type(error).__name__}: {error}"
        del made
        _core.cuda.synchronize(0)
    options.notes.write_text(json.dumps(notes))


def compile_plans(options: argparse.Namespace) -> None:
    """Leaves the programs of all plans in the disk cache, so that none is compiled while others wait for it."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from ncu_plans import plan_cases
    from tilewright.runtime.device import arch_of

    found = {}
    for case in plan_cases():
        if re.search(options.only, case.name):
            plan = case.make().plan
            if plan is not None and hasattr(plan, "compile"):
                found[str(getattr(plan, "name", case.name))] = plan
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 12), mp_context=context) as pool:
        for _ in pool.map(_compile, found.values(), [arch_of(0)] * len(found)):
            pass


def _compile(plan: Any, arch: str) -> None:
    plan.compile(arch)


# --- what runs it


class Readings:
    """Everything that was read, and the notes and errors of the run."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.cases = cases()
        self.data: dict[str, Any] = {
            "cases": [{"name": c.name, **c.access._asdict()} for c in self.cases],
            "boxes": [],
            "plans": [],
            "notes": [],
        }
        self.log: list[str] = []

    def note(self, text: str) -> None:
        print(text, flush=True)
        self.data["notes"].append(text)

    def profile(self, child: str, metrics: tuple[str, ...], *rest: str, options: tuple[str, ...] = ()) -> list[Any]:
        command = [sys.executable, str(Path(__file__)), "--child", child, *rest]
        begin = time.perf_counter()
        found, log = ncu.profile(command, metrics, self.folder / f"{child}.ncu-rep", options=options, timeout=590)
        passes = sorted(set(re.findall(r"(\d+) pass", log)))
        seconds = time.perf_counter() - begin
        self.note(f"{child} {' '.join(rest[:2])}: {len(found)} kernels, {', '.join(passes)} passes, {seconds:.1f} s")
        self.log.append(log)
        return found

    def machine(self) -> None:
        query = ["nvidia-smi", "--id=0", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
        path = ncu.find_ncu()
        self.data["machine"] = {"device": name, "driver": driver, "ncu": ncu.version(path)}
        known = ncu.available_metrics(path)
        self.data["counters"] = sorted(m for m in known if re.match(r"(l1tex|sm__sass_l1tex|smsp__sass_average)", m))
        self.has = {m for m in (*OF_CP_ASYNC, *OF_PLANS) if not known or m.split(".")[0] in known}
        missing = sorted({*OF_CP_ASYNC, *OF_PLANS} - self.has)
        self.note(f"{name}, driver {driver}, ncu {ncu.version(path)}; this chip lacks: {', '.join(missing) or 'none'}")

    def probes(self) -> None:
        found = self.profile("probes", ncu.SOURCE_METRICS)
        if found and not found[0].lines:
            self.note("no metric was attributed to an instruction; once more with the section SourceCounters")
            found = self.profile("probes", ncu.SOURCE_METRICS, options=("--section", "SourceCounters"))
        place = {c.access: i for i, c in enumerate(self.cases)}
        wanted = list(batches(self.cases))
        if len(wanted) != len(found):
            self.note(f"{len(wanted)} launches, but {len(found)} profiles")
        for (kind, batch), profile in zip(wanted, found, strict=False):
            base = KINDS[kind].sass.split(".")[0]
            lines = [line for line in profile.lines if line.opcode.split(".")[0] == base]
            if len(lines) != most(kind):
                self.note(f"{kind}: {len(lines)} instructions {base}, not {most(kind)}")
                continue
            if kind == TWICE:
                self.data["a kernel"] = kernel_of(profile)
            for case, line in zip(batch, lines, strict=False):
                row = self.data["cases"][place[case.access]] if case.access in place else {}
                if SECTORS not in row.get("source", {}) or line.values.get(SECTORS):
                    row["source"] = {"sass": line.opcode, **line.values}

    def boxes(self) -> None:
        """One launch a box; of a kernel without other accesses the hardware's counters are those of the box."""
        wanted, found = boxes(), self.profile("boxes", tuple(METRICS.values()))
        if len(wanted) != len(found):
            self.note(f"{len(wanted)} boxes, but {len(found)} profiles: not kept")
            return
        read = [int(profile.metrics[METRICS[box.op]]) for box, profile in zip(wanted, found, strict=True)]
        self.data["boxes"] = [[list(box), sectors] for box, sectors in zip(wanted, read, strict=True)]

    def hardware(self) -> None:
        """One launch an access; accesses of which the same counters are compared by one process, in one pass each."""
        begin, sorts = time.perf_counter(), dict[tuple[str, ...], list[int]]()
        known = {} if self.options.known is None else by_access([load(self.options.known)])
        for i, (case, row) in enumerate(zip(self.cases, self.data["cases"], strict=True)):
            earlier = known.get(case.access, {}).get("hardware")
            kind = KINDS[case.access.kind]
            wanted = IN_SHARED if kind.sides[0][0] == "shared" else IN_GLOBAL
            if len(kind.sides) == 2:  # also where the prediction is a lower limit, or there is none
                wanted = (WAVEFRONTS, LOADED, *(m for m in OF_CP_ASYNC if "BYPASS" in kind.sass and m in self.has))
            if earlier is not None and set(wanted) <= set(earlier):
                row["hardware"] = earlier
                continue
            sorts.setdefault(wanted, []).append(i)
        for metrics, places in sorted(sorts.items()):  # shared memory first
            if time.perf_counter() - begin > self.options.budget:
                self.note(f"hardware counters: {len(places)} accesses were left out: the time was over")
                continue
            chosen = self.folder / "chosen.json"
            chosen.write_text(json.dumps(places))
            found = self.profile("hardware", metrics, "--cases", str(chosen))
            if len(found) != len(places):
                self.note(f"{len(places)} launches, but {len(found)} profiles: not kept")
                continue
            for i, profile in zip(places, found, strict=True):
                self.data["cases"][i]["hardware"] = {k: v for k, v in profile.metrics.items() if k in metrics}

    def plans(self) -> None:
        notes = self.folder / "notes.json"
        rest = ("--notes", str(notes), "--only", self.options.only, "--budget", str(self.options.budget))
        metrics = (*ncu.SOURCE_METRICS, *(m for m in OF_PLANS if m in self.has))
        found = iter(self.profile("plans", metrics, *rest, options=("--profile-from-start", "off")))
        kernels: list[list[Any]] = []
        for marked, group in groupby(found, lambda p: "probe" in p.symbol):
            kernels += [[] for _ in group] if marked else []
            if not marked:
                kernels[-1] += [kernel_of(p) for p in group]
        rows = json.loads(notes.read_text())
        for row in rows:
            row["kernels"] = kernels.pop(0) if kernels and "error" not in row else []
        self.data["plans"] = rows


def kernel_of(profile: Any) -> dict[str, Any]:
    lines = [[line.offset, line.sass, dict(line.values)] for line in profile.lines]
    memory = re.compile(r"(LD|ST|RED|ATOM|UTMA|UBLK|HGMMA|IGMMA|QGMMA)")
    kept = [line for line in lines if memory.match(ncu.opcode(line[1]))]
    return {"name": profile.name, "symbol": profile.symbol, "metrics": dict(profile.metrics), "lines": kept}


def load(path: Path) -> dict[str, Any]:
    """Readings of a run; or the table that the tests read, as far as it has them."""
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found if "cases" in found else of_golden(found)


def by_access(several: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Access -> its row; newer readings replace older ones, those of the hardware and of the instruction apart."""
    found: dict[Any, dict[str, Any]] = {}
    for data in several:
        for row in data["cases"]:
            found.setdefault(access_of(row), {}).update(row)
    return found


def merged(several: list[dict[str, Any]]) -> dict[str, Any]:
    """Readings of several runs as one; of a plan that still is those of the last run that has any."""
    from ncu_plans import plan_cases

    known = {case.name for case in plan_cases()}
    plans: dict[str, Any] = {}
    for row in (row for data in several for row in data["plans"]):
        if row["name"] in known and (row["name"] not in plans or row.get("kernels")):
            plans[row["name"]] = row
    of_boxes = next((data["boxes"] for data in reversed(several) if data.get("boxes")), [])
    found = list(by_access(several).values())
    return {**several[-1], "cases": found, "boxes": of_boxes, "plans": list(plans.values())}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    stages = options.stages.split(",")
    with tempfile.TemporaryDirectory() as folder:
        readings = Readings(options, Path(folder))
        readings.machine()
        compiling = None
        if "plans" in stages:
            command = [sys.executable, __file__, "--child", "compile", "--only", options.only]
            compiling = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for stage in STAGES:
            if stage not in stages:
                continue
            try:
                if stage == "plans" and compiling:
                    printed = compiling.communicate(timeout=200)[0]
                    if compiling.returncode:
                        readings.note(f"compiling the plans failed:\n{printed[-2000:]}")
                getattr(readings, stage)()
            except Exception:  # what was read until then is kept
                readings.note(f"stage {stage} failed:\n{traceback.format_exc()}")
        readings.data["log"] = "\n".join(readings.log)[-20000:]
        return readings.data


def main() -> int:
    options = arguments()
    if options.child in ("probes", "hardware"):
        chosen = cases()
        if options.cases:
            chosen = [chosen[i] for i in json.loads(options.cases.read_text())]
        launch_probes(chosen, options.child == "hardware")
        return 0
    if options.child == "boxes":
        launch_boxes()
        return 0
    if options.child:
        (launch_plans if options.child == "plans" else compile_plans)(options)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    if options.readings:
        data = merged([load(path) for path in options.readings])
    else:
        data = measure(options)
        (options.out / "ncu-readings.json.gz").write_bytes(gzip.compress(json.dumps(data).encode(), 9))
    return report(data, options.out, options.golden)


if __name__ == "__main__":
    raise SystemExit(main())
