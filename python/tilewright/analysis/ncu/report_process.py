"""Run as a program by ncu.read_report: turns a report of Nsight Compute into JSON, by its own module ncu_report.

python _report.py FOLDER_OF_NCU_REPORT REPORT OUT METRIC...

A process of its own, which imports nothing else: beside torch's libraries ncu_report was seen to crash in load_report.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def actions(context: Any) -> Iterator[Any]:
    """The launches of kernels in a report."""
    for i in range(context.num_ranges()):
        found = context.range_by_idx(i)
        for j in range(found.num_actions()):
            yield found.action_by_idx(j)


def profile(action: Any, source_metrics: list[str]) -> dict[str, Any]:
    """What was counted in a launch: all of it, and at each instruction."""
    totals: dict[str, float] = {}
    by_pc: dict[int, dict[str, float]] = {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        if name in source_metrics or name.startswith(("memory_", "derived__")):
            for pc, value in instances(metric):
                by_pc.setdefault(pc, {})[name] = value
        value = metric.value()
        if isinstance(value, (int, float)):
            totals[name] = value
    first = min(by_pc, default=0)
    return {
        "name": str(action.name()),
        "symbol": str(action.name(action.NameBase_MANGLED)),
        "metrics": totals,
        "lines": [(pc - first, action.sass_by_pc(pc) or "", by_pc[pc], *place(action, pc)) for pc in sorted(by_pc)],
    }


def place(action: Any, pc: int) -> tuple[str, int]:
    """The file and the line of source that an instruction is of; "" and 0 where the program does not say that."""
    info = action.source_info(pc)
    return (str(info.file_name()), int(info.line())) if info is not None else ("", 0)


def instances(metric: Any) -> Iterator[tuple[int, float]]:
    """(address of the instruction, value) of a metric that is attributed to instructions."""
    if not metric.num_instances() or not metric.has_correlation_ids():
        return
    places = metric.correlation_ids()
    for i in range(metric.num_instances()):
        value = metric.value(i)
        if isinstance(value, (int, float)):
            yield int(places.as_uint64(i)), value


def main() -> None:
    folder, report, out, *metrics = sys.argv[1:]
    sys.path.insert(0, folder)
    import ncu_report  # type: ignore[import-not-found, unused-ignore]

    found = [profile(action, metrics) for action in actions(ncu_report.load_report(report))]
    with open(out, "w") as stream:
        json.dump(found, stream)


if __name__ == "__main__":
    main()
    os._exit(0)  # all is written; the module was seen to crash when it is unloaded
