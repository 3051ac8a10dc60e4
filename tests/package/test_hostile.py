"""Every public callable ends in time, in a result or in an error that names it, whatever it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hostile import PLACES
from places import SUPPORT


def run(place: str, progress: Path) -> tuple[int, list[str]]:
    """How many calls were made, and what is wrong with them; a call that ends its process is one of those."""
    first, complaints, count = 0, [], 0
    while True:
        progress.write_text("")
        command = [sys.executable, str(SUPPORT / "hostile.py"), place, str(first), str(progress)]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        lines = progress.read_text().splitlines()
        last: list[object] = []
        for line in lines:
            if line.startswith("["):
                last = json.loads(line)
                count += 1
            elif line.startswith("{"):
                complaints.append(" ".join(json.loads(line)["complaint"]))
        if "done" in lines[-1:]:
            return count, complaints
        assert last, ended.stderr
        complaints.append(f"{last[1:]} ended the process: {ended.returncode} {ended.stderr[-300:]}")
        first = int(str(last[0])) + 1


@pytest.mark.parametrize("place", [place for place in PLACES if place != "tilewright.analysis"])
def test_hostile_calls_end_in_readable_errors(place, tmp_path):
    count, complaints = run(place, tmp_path / "progress")
    assert count > 1000 or place.endswith("arch")
    assert complaints == [], f"{len(complaints)} of {count} calls:\n" + "\n".join(complaints[:50])
