"""Random cases of the algebra, each decided by NumPy or isl: as many as there is time for.

scripts/random_cases.py [--cases N] [--minutes M] [--only KIND ...]. A run goes on where the last one ended, as long as
the compiled core and the oracle are the same; otherwise it begins anew. What NumPy and isl gave up is not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CHUNK = 1000  # cases; the largest take 7 s
GIVEN_UP = ("skipped", "took too long")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000_000, help="of each kind, earlier runs among them")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="that this run may take")
    parser.add_argument("--only", nargs="+", default=(), metavar="KIND", help="default: all that the oracle has")
    parser.add_argument("--state", type=Path, default=ROOT / "build/random_cases.json", help="what earlier runs found")
    given = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests/oracles"), str(ROOT / "tests/support")]
    from exact import verdicts

    if unknown := [name for name in given.only if name not in verdicts.CHECKS]:
        parser.error(f"there is no kind {', '.join(unknown)}; there are {', '.join(verdicts.CHECKS)}")
    names = list(given.only or verdicts.CHECKS)
    state = loaded(given.state)
    end = time.monotonic() + 60 * given.minutes
    while time.monotonic() < end:
        missing = [name for name in names if count_of(entry(state, name)) < given.cases]
        if not missing:
            break
        # Each kind gets the same time, so that the slow ones get some, too.
        one_chunk(state, min(missing, key=lambda name: entry(state, name)["seconds"]), given.cases, verdicts.run)
        saved(given.state, state)
    kinds = [(name, entry(state, name)) for name in names]
    for name, kind in kinds:
        print(f"{name:20} {count_of(kind):10,} in {kind['seconds']:.0f} s: {outcomes(kind)}")
    findings = [finding for _, kind in kinds for finding in kind["findings"]]
    print(*findings[:20], sep="\n", end="\n" if findings else "")
    print("; ".join(f"{count_of(kind):,} of {name}" for name, kind in kinds))
    return bool(findings)


def entry(state: dict[str, Any], name: str) -> dict[str, Any]:
    fresh = {"chunks": 0, "seconds": 0.0, "became": {}, "findings": []}
    kind: dict[str, Any] = state["kinds"].setdefault(name, fresh)
    return kind


def count_of(kind: dict[str, Any]) -> int:
    return sum(count for how, count in kind["became"].items() if not how.startswith(GIVEN_UP))


def outcomes(kind: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} {how}" for how, count in sorted(kind["became"].items(), key=lambda x: -x[1]))


def one_chunk(state: dict[str, Any], name: str, cases: int, run: Any) -> None:
    """Draw cases by a seed that no earlier chunk had, and add what became of them."""
    kind = entry(state, name)
    begin = time.process_time()
    became, findings = run(name, min(CHUNK, cases - count_of(kind)), f"night {kind['chunks']}")
    total = Counter(kind["became"])
    for (how, what), count in became.items():
        total["skipped: " + what if how == "skipped" else what] += count
    kind.update(
        chunks=kind["chunks"] + 1,
        seconds=kind["seconds"] + time.process_time() - begin,
        became=dict(total),
        findings=[*kind["findings"], *findings],
    )


def loaded(path: Path) -> dict[str, Any]:
    """What earlier runs found, unless what they tested was another one."""
    from tilewright import _core

    tested = hashlib.sha256()
    for file in (Path(_core.__file__), *sorted((ROOT / "tests/oracles/exact").glob("*.py"))):
        tested.update(file.read_bytes())
    fresh = {"tested": tested.hexdigest(), "kinds": {}}
    if not path.exists():
        return fresh
    state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return state if state["tested"] == fresh["tested"] else fresh


def saved(path: Path, state: dict[str, Any]) -> None:
    """In one step: a run that is killed leaves what the chunk before it left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(state, indent=1), encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main())
