"""GEMMs of DTensors over two processes: results, gradients, and that nothing is sent which torch would not send."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from places import SUPPORT

torch = pytest.importorskip("torch")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("torch has no gloo", allow_module_level=True)

import sharded  # noqa: E402 - torch has to be there

WHERE = {
    "all on every rank": "R",
    "rows": "S(0)",
    "columns": "S(1)",
    "K": "P(sum)",
    "batches": "S(0)",
    "batches of one operand": "S(0)",
    "batches that are broadcast": "S(0)",
    "the second batch mode": "S(1)",
    "rows of batches": "S(1)",
    "rows that do not divide": "S(0)",
    "one row": "R",
    "a vector": "S(0)",
    "linear, columns": "S(2)",
    "linear, K": "P(sum)",
    "linear, rows": "S(1)",
    "linear, K of one operand": "P(sum)",
    "fused, columns": "S(1)",
    "addmm, rows": "S(0)",
    "addmm, columns of one row": "S(1)",
    "addmm, K": "P(sum)",
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the two ranks saw; errors of a case are in its outcome."""
    out = tmp_path_factory.mktemp("sharded") / "seen"
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "sharded.py"), str(out)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (json.loads(out.with_name(f"seen.{rank}").read_text()) for rank in range(2))
    assert first == second
    return first


def right(outcome):
    assert "error" not in outcome, outcome["error"]
    return outcome


@pytest.mark.parametrize("case", WHERE)
def test_what_agrees_is_multiplied_where_it_is(seen, case):
    """Nothing is sent, and the result lies where it was made."""
    outcome = right(seen[case])
    assert outcome["placements"] == outcome["torch"] == [WHERE[case]]
    assert outcome["sent"] == outcome["torch sent"] == {}


@pytest.mark.parametrize("case", sorted(sharded.CASES.keys() - WHERE.keys()))
def test_what_does_not_agree_is_sent_as_by_torch(seen, case):
    outcome = right(seen[case])
    assert outcome["placements"] == outcome["torch"]
    assert outcome["sent"] == outcome["torch sent"] != {}


def test_torch_compile_has_a_sharded_layer_in_one_graph(seen):
    assert right(seen["compiled"])["placements"] == ["P(sum)"]


def test_a_mesh_of_two_dimensions(seen):
    assert right(seen["two meshes"])["placements"] == ["S(0)", "S(1)"]


def test_a_program_without_dtensors_does_not_import_them():
    code = "import sys, tilewright.torch; sys.exit('torch.distributed.tensor' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
