"""Readings of Nsight Compute beside predictions: the differences, a summary, and the table that the tests read."""

from __future__ import annotations

import base64
import datetime
import gzip
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ncu_boxes import METRICS, box_differences, box_of
from probes.access import KINDS, Access
from tilewright.analysis.ncu import run as ncu
from tilewright.kernels.analyze import verify

# A field of analysis.Request, and the metric that counts the same for an instruction.
FIELDS = {
    "global": {
        "sectors": "memory_l2_theoretical_sectors_global",
        "ideal_sectors": "memory_l2_theoretical_sectors_global_ideal",
        "lines": "memory_l1_tag_requests_global",
    },
    "shared": {
        "wavefronts": "memory_l1_wavefronts_shared",
        "ideal_wavefronts": "memory_l1_wavefronts_shared_ideal",
    },
}
LANES = "thread_inst_executed_true"
COUNTED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
LOADED, STORED = (f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st"))
MULTIPLIED = f"{COUNTED}_op_gmma.sum"  # what the tensor cores read from there
KEPT = (LOADED, STORED, MULTIPLIED, *ncu.LANE_METRICS)  # of what was counted for a kernel
LOOKUPS = "l1tex__t_set_accesses_pipe_lsu_mem_global_op_ld.sum"
# Of a kernel that is one access.
HARDWARE = {
    ("global", "load"): ("sectors", LOADED),
    ("global", "store"): ("sectors", STORED),
    ("shared", "load"): ("wavefronts", f"{COUNTED}_op_ld.sum"),
    ("shared", "store"): ("wavefronts", f"{COUNTED}_op_st.sum"),
    ("shared", "ldmatrix"): ("wavefronts", f"{COUNTED}_op_ld.sum"),
    ("shared", "stmatrix"): ("wavefronts", f"{COUNTED}_op_st.sum"),
}
# That kernel's other wavefronts, and how many more a cp.async makes that writes anything.
OTHER_WAVEFRONTS, CP_ASYNC_WAVEFRONTS = 1, 3
# Why a reading that differs from the prediction, or has none, is no difference: what the summary says of it.
REASONS = {
    "counter": "ncu's count for the instruction differs from the hardware's counter, which the prediction agrees with",
    "lost": "ncu attributed too little to a cp.async around L1, mostly with the predicate P0; the hardware counted it",
    "unread": "ncu's wavefronts of a cp.async around L1 with the predicate P0 for the source: as if it wrote zeros",
    "misread": "the same of some instructions of a plan, or of some whose lanes have a size, or with the predicate P0",
    "masked": "ncu counts sectors and wavefronts of a cp.async around L1 that no lane makes; the hardware does not",
    "flags": "flags of shares, which are set and taken back, and looked at until they are set",
    "race": "cp.async around L1 whose lanes write one address: which of them is read is not predicted",
}
NAMED = ("race",)  # each such reading is in the summary


class Difference(NamedTuple):
    what: str  # the kind of access, or the plan
    name: str
    metric: str
    predicted: float
    read: float
    where: str  # offsets and lanes
    reason: str = ""  # a key of REASONS


def access_of(row: dict[str, Any]) -> Access:
    return Access(row["kind"], tuple(row["offsets"]), row["lanes"], tuple(row["shared"]))


def predicted(access: Access) -> dict[tuple[str, str], float]:
    """(memory, field) -> what analysis says."""
    requests = access.predicted()
    values = {(r.memory, field): getattr(r, field) for r in requests for field in FIELDS[r.memory]}
    if both := access.asynchronous():
        values |= {("shared", "wavefronts"): both.counted, ("shared", "ideal_wavefronts"): both.ideal_counted}
    return values


def hardware_predicted(access: Access) -> dict[str, float]:
    """Counter of the hardware -> what analysis says."""
    values, (memory, op) = predicted(access), KINDS[access.kind].sides[0][:2]
    both = access.asynchronous()
    if both is None:
        field, metric = HARDWARE[memory, op]
        return {metric: values[memory, field]}
    found: dict[str, float] = {LOADED: both.asked_sectors, LOOKUPS: both.lookups}
    filled = access.kind.startswith("cp.async.filled")
    if both.wavefronts is not None:
        found[f"{COUNTED}.sum"] = (
            OTHER_WAVEFRONTS + CP_ASYNC_WAVEFRONTS * bool(access.lanes or filled) + both.wavefronts
        )
    return found


def reason(row: dict[str, Any], field: str, value: float, values: dict[tuple[str, str], float]) -> str:
    """Why the reading of a field may differ from the prediction; "" where it may not."""
    read, kind = row["source"], row["kind"]
    if kind.startswith(("cp.async.cg", "cp.async.filled")):
        if "wavefronts" in field and kind.startswith("cp.async.filled"):
            unread = predicted(access_of(row)._replace(lanes=0))["shared", field]
            return "unread" if read.get(FIELDS["shared"][field], 0) == unread else ""
        lost = row["lanes"] and not read.get(FIELDS["global"]["sectors"], 0) and field != "lines"
        return "lost" if lost else ""
    if kind.startswith("ld.shared"):
        counter = row.get("hardware", {}).get(HARDWARE["shared", "load"][1])
        wavefronts = read.get(FIELDS["shared"]["wavefronts"], 0)
        if counter == values["shared", "wavefronts"] != wavefronts:
            least = -(-len(access_of(row).active) * KINDS[kind].size // 128)
            ideal = min(least, wavefronts) == read.get(FIELDS["shared"]["ideal_wavefronts"], 0)
            return "counter" if field == "wavefronts" or ideal else ""
    return ""


def race(access: Access, metric: str) -> bool:
    """Whether what was asked for depends on which of several lanes writes an address."""
    written = [access.shared[t] for t in access.active if access.shared]
    return metric == LOADED and "async.ca" not in access.kind and len(set(written)) < len(written)


def probe_differences(rows: list[dict[str, Any]]) -> tuple[list[Difference], Counter[str]]:
    """Readings that differ from the prediction, with the reason where there is one; how many were compared."""
    differences, compared = [], Counter[str]()
    for row in rows:
        access = access_of(row)
        if "source" not in row:
            continue
        values, where = predicted(access), f"{access.lanes:08x} {list(access.offsets)} {list(access.shared)}"
        compared["accesses"] += 1
        for (memory, field), value in values.items():
            metric = FIELDS[memory][field]
            compared[metric] += 1
            read = row["source"].get(metric, 0)
            if value != read:
                why = reason(row, field, value, values)
                differences.append(Difference(row["kind"], row["name"], metric, value, read, where, why))
        for metric, value in hardware_predicted(access).items() if "hardware" in row else ():
            if metric in row["hardware"]:
                compared[metric] += 1
                read = row["hardware"][metric]
                if value != read:
                    why = "race" if race(access, metric) else ""
                    differences.append(Difference(row["kind"], row["name"], metric, value, read, where, why))
    return differences, compared


def plan_of(row: dict[str, Any]) -> Any:
    """The plan that was measured: unpickled, or made again where its class has changed but not its own description.

    It is then the one that is chosen now, one that it is chosen from, or what its text says. None of a kernel that has
    no plan.
    """
    if row["text"] == str(None):
        return None
    try:
        return pickle.loads(base64.b64decode(row["plan"]))
    except Exception:
        from ncu_plans import plan_cases, remade

        case = next((c for c in plan_cases() if c.name == row["name"]), None)
        plan = case.make("cpu").plan if case else None
        if plan is not None and str(plan) != row["text"]:  # it may still be among what is chosen from
            others = (x.plan for x in plan.why()) if hasattr(plan, "why") else ()
            plan = next((x for x in others if str(x) == row["text"]), None) or remade(plan, row["text"])
        if plan is None:
            raise ValueError("the plan is another one since then") from None
        return plan


def plan_differences(rows: list[dict[str, Any]]) -> tuple[list[Difference], list[str], int]:
    """Classes of instructions whose totals differ; a line of text for each plan; how many classes were compared."""
    differences, lines, compared = [], [], 0
    for row in rows:
        if row.get("error") or not row.get("kernels"):
            lines.append(f"| {row['name']} | {row.get('error', 'no kernel was seen')[:80]} | |")
            continue
        kernels = [k for k in row["kernels"] if "tilewright" in k["symbol"]]  # not what makes scratch zero
        counted = [classes_of(k) for k in kernels]
        try:
            plan = plan_of(row)
            if plan is None:
                continue
            expected = verify.classes_predicted(plan, row["addresses"])
        except Exception as error:
            lines.append(f"| {row['name']} | not predicted: {type(error).__name__}: {str(error)[:90]} | |")
            continue
        found = verify.compare_classes(expected, counted[-1] if len(counted) == 1 else verify.added(counted))
        loaded = asked_of(expected)
        seen = sum(k["metrics"].get(LOADED) or 0 for k in kernels)
        compared += len(found)
        wrong = [
            Difference(row["name"], c.sass, c.metric, c.predicted, c.read, "", plan_reason(c, loaded, seen))
            for c in found
            if c.predicted != c.read
        ]
        stored = sum(c.predicted for c in found if c.metric == "sectors" and c.sass.startswith("STG"))
        totals = 0
        multiplied = expected.get("GMMA", {}).get("wavefronts", 0)
        for metric, value in ((LOADED, loaded), (STORED, stored), (MULTIPLIED, multiplied)):
            if all(k["metrics"].get(metric) is not None for k in kernels):
                totals += 1
                read = sum(k["metrics"][metric] for k in kernels)
                why = flag_reason(plan, metric, read - value)
                wrong += [Difference(row["name"], "all", metric, value, read, "", why)] * (value != read)
        compared += totals
        differences += wrong
        unexplained = sum(not d.reason for d in wrong)
        lines.append(f"| {row['name']} | {len(found) + totals} | {unexplained} |")
    return differences, lines, compared


def classes_of(kernel: dict[str, Any]) -> verify.Classes:
    """What was counted for each class of instructions."""
    if "classes" in kernel:
        found: verify.Classes = kernel["classes"]
        return found
    return verify.classes_read([ncu.Line(*line) for line in kernel["lines"]], kernel["metrics"])


def asked_of(predicted: verify.Classes) -> float:
    """The sectors that L1 asks for, of all loads."""
    loads = [counts for name, counts in predicted.items() if name.startswith("LDG")]
    return sum(counts.get("asked_sectors", counts.get("sectors", 0)) for counts in loads)


def flag_reason(plan: Any, metric: str, more: float) -> str:
    """Why the hardware counted more sectors than the plan's accesses have: the flags of shares, one sector each."""
    plans = [plan.gemm, plan.residue] if hasattr(plan, "residue") else [plan]
    inner = [getattr(one, "kernel_plan", one) for one in plans]
    flags = sum(first > 0 for one in inner if getattr(one, "stream_k_ctas", 0) for _, first, _ in one.parts_of_tiles)
    if not flags:
        return ""
    return "flags" if more == 2 * flags or (metric == LOADED and more >= flags) else ""


def plan_reason(one: verify.Comparison, loaded: float, seen: float) -> str:
    """Why the total of a class may differ from the prediction; "" where it may not."""
    if one.masked and loaded == seen:
        return "masked"
    if one.is_misread:
        return "misread"
    return "lost" if lost(one, loaded, seen) else ""


def lost(one: verify.Comparison, loaded: float, seen: float) -> bool:
    """Whether ncu attributed too little to LDGSTS, while the hardware counted all sectors that were loaded."""
    return one.incomplete and loaded <= seen


PLAN_COLUMNS = "| plan | totals | differences |"


def report(data: dict[str, Any], out: Path, golden: Path | None) -> int:
    """Write the summary and the golden table; print the differences last. 1 where there is one."""
    out.mkdir(parents=True, exist_ok=True)
    wrong, compared = probe_differences(data["cases"])
    boxes = data.get("boxes", [])
    for box, expected, read in box_differences(boxes):
        wrong.append(Difference("box", box.op, METRICS[box.op], expected, read, str(box)))
    compared.update(METRICS[box_of(box).op] for box, _ in boxes)
    plans_wrong, plan_lines, classes = plan_differences(data["plans"])
    machine = data.get("machine", {})
    text = [
        "# Predictions beside Nsight Compute",
        "",
        f"{machine.get('device')}, driver {machine.get('driver')}, ncu {machine.get('ncu')}.",
        "",
        f"{compared['accesses']} accesses of one warp each: what was counted for the instruction, and by the hardware "
        f"for the kernel that consists of it. {len(boxes)} boxes of the copy engine, a kernel each.",
        "",
        "| metric | compared | differences |",
        "| --- | --- | --- |",
    ]
    by_metric = Counter((d.metric, d.reason) for d in wrong)
    text[-2:] = [
        "| metric | compared | differences | " + " | ".join(REASONS) + " |",
        "| --- | --- | --- |" + " --- |" * len(REASONS),
    ]
    text += [
        f"| `{m}` | {n} | {by_metric[m, '']} | " + " | ".join(str(by_metric[m, r] or "") for r in REASONS) + " |"
        for m, n in compared.items()
        if m != "accesses"
    ]
    text += ["", "Readings that differ, but are no differences:", "", *(f"- {k}: {v}" for k, v in REASONS.items()), ""]
    unexplained = [d for d in wrong + plans_wrong if not d.reason]
    for d in [d for d in wrong if d.reason in NAMED] + [d for d in plans_wrong if d.reason == "masked"]:
        text += [f"- {d.reason}: {d.what}, {d.name}: {d.metric} predicted {d.predicted:.10g}, read {d.read:.10g}"]
    text += [""] * (text[-1] != "")
    of_plans = Counter(d.reason for d in plans_wrong)
    text += [
        f"Plans: {classes} totals of classes of instructions and of kernels were compared: {of_plans['']} differ, "
        f"{of_plans['lost']} are lost, {of_plans['masked']} are masked, {of_plans['misread']} are misread, "
        f"{of_plans['flags']} have flags.",
        "",
    ]
    text += [PLAN_COLUMNS, "| --- | --- | --- |", *plan_lines]
    text += ["", *lanes_table(data["plans"])]
    (out / f"ncu-{datetime.date.today().isoformat()}.md").write_text("\n".join(text) + "\n")
    if golden:
        write_golden(data, golden)
    print("\n".join(text[: text.index(PLAN_COLUMNS)]))
    print_differences(unexplained)
    return 1 if unexplained else 0


def print_differences(differences: list[Difference]) -> None:
    """How many of each sort, and the first of each."""
    sorts: dict[tuple[str, str], list[Difference]] = {}
    for d in differences:
        sorts.setdefault((d.what, d.metric), []).append(d)
    print(f"{len(differences)} differences of {len(sorts)} sorts")
    for (what, metric), found in list(sorts.items())[:60]:
        d = found[0]
        print(f"{what:20} {metric:45} x{len(found):<4} e.g. {d.name}: predicted {d.predicted:g}, read {d.read:g}")


def of_golden(table: dict[str, Any]) -> dict[str, Any]:
    """The table as readings, of which it has what is compared."""
    keys = ("kind", "name", "lanes", "offsets", "shared")
    cases = [
        dict(zip(keys, row, strict=False))
        | {"source": dict(zip(table["metrics"], row[5], strict=True))}
        | ({"hardware": row[6]} if row[6] else {})
        for row in table["accesses"]
    ]
    plans = []
    for name, text, addresses, classes, sectors in table["plans"]:
        kernels = [
            {"symbol": "tilewright", "classes": found, "metrics": dict(zip(KEPT, read, strict=True))}
            for found, read in zip(classes, sectors, strict=True)
        ]
        plans.append({"name": name, "text": text, "addresses": addresses, "kernels": kernels})
    boxes = table.get("boxes", [])
    return {"machine": table["machine"], "cases": cases, "boxes": boxes, "plans": plans, "notes": []}


def lanes_table(rows: list[dict[str, Any]]) -> list[str]:
    """Active lanes of the kernel that has no branch, by its number of threads."""
    lines = []
    for row in rows:
        if row["name"].startswith("visualize_tv") and row.get("kernels"):
            threads = int(row["name"].split()[2])
            values = row["kernels"][0]["metrics"]
            read = " | ".join(f"{values.get(m, float('nan')):.3f}" for m in ncu.LANE_METRICS)
            lines.append(f"| {threads} | {threads / -(-threads // 32):.3f} | {read} |")
    if not lines:
        return []
    head = " | ".join(f"`{m}`" for m in ncu.LANE_METRICS)
    return [
        "Active lanes of visualize_tv:",
        "",
        f"| threads | predicted | {head} |",
        "| --- | --- | --- | --- |",
        *lines,
    ]


def write_golden(data: dict[str, Any], path: Path) -> None:
    """What was read, as far as it is predicted.

    An access is [kind, name, lanes, offsets, shared offsets, readings of the instruction, {counter: reading}]; a box
    [fields of Box, sectors]; a plan [name, its text, addresses, {class: {field: reading}} of each kernel, readings of
    KEPT of each kernel].
    """
    metrics = [m for fields in FIELDS.values() for m in fields.values()] + [LANES]
    accesses = [
        [
            *(r[x] for x in ("kind", "name", "lanes", "offsets", "shared")),
            [r["source"].get(m, 0) for m in metrics],
            {m: r["hardware"][m] for m in hardware_predicted(access_of(r)) if m in r.get("hardware", {})},
        ]
        for r in data["cases"]
        if "source" in r
    ]
    plans = [
        [
            r["name"],
            r["text"],
            [None if x is None else x % (1 << 20) for x in r["addresses"]],
            [classes_of(k) for k in r["kernels"] if "tilewright" in k["symbol"]],
            [[k["metrics"].get(m) for m in KEPT] for k in r["kernels"] if "tilewright" in k["symbol"]],
        ]
        for r in data["plans"]
        if r.get("kernels") and not r.get("error")
    ]
    table = {
        "machine": data.get("machine"),
        "metrics": metrics,
        "accesses": accesses,
        "boxes": data.get("boxes", []),
        "plans": plans,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(table, separators=(",", ":")).encode(), 9, mtime=0))
