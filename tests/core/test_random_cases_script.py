"""scripts/random_cases.py goes on where it ended, and ends with an error where something was found."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from places import ROOT


def ran(state, cases, *, status=0):
    command = [sys.executable, ROOT / "scripts/random_cases.py", "--state", state, "--cases", str(cases)]
    kinds = ["--only", "right_inverse", "product"]
    done = subprocess.run([*command, *kinds], text=True, stdout=subprocess.PIPE, check=False)
    assert done.returncode == status, done.stdout
    return done.stdout, json.loads(state.read_text(encoding="utf-8"))


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.json"


def test_a_run_goes_on(state):
    said, first = ran(state, 30)
    assert said.splitlines()[-1] == "30 of right_inverse; 30 of product"
    said, second = ran(state, 50)
    assert said.splitlines()[-1] == "50 of right_inverse; 50 of product"
    for name, kind in second["kinds"].items():
        assert kind["chunks"] > first["kinds"][name]["chunks"]  # so its seeds are others
    assert ran(state, 50)[1] == second  # nothing is left to do


def test_cases_of_another_core_are_not_counted(state):
    before = ran(state, 30)[1]
    state.write_text(json.dumps(before | {"tested": "another"}), encoding="utf-8")
    assert ran(state, 10)[0].splitlines()[-1] == "10 of right_inverse; 10 of product"


def test_what_was_given_up_is_not_counted_and_a_finding_is_an_error(state):
    before = ran(state, 30)[1]
    before["kinds"]["product"]["became"]["skipped: too large"] = 1000
    before["kinds"]["product"]["findings"] = ["wrong: 1:0"]
    state.write_text(json.dumps(before), encoding="utf-8")
    said, _ = ran(state, 30, status=1)
    assert said.splitlines()[-2:] == ["wrong: 1:0", "30 of right_inverse; 30 of product"]
