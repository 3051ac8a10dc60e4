"""GEMMs of DTensors over two processes: results, gradients, and that nothing is sent which torch would not send."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from places import SUPPORT
from ranks import run_ranks

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
    "addmm, K and sums": "P(sum)",
    "columns that do not divide": "S(1)",
    "K that does not divide": "P(sum)",
}
# Each rank has to change what it has, by torch's dispatch: to take its part of it, or a share of what is added.
CHANGED = ("linear, K", "linear, K of one operand", "addmm, K")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the two ranks saw; errors of a case are in its outcome."""
    out = tmp_path_factory.mktemp("sharded") / "seen"
    run_ranks(SUPPORT / "sharded.py", str(out), log=out.with_name("log"), seconds=300)
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
    assert outcome["operations"] == ["gemm" if case in CHANGED else "gemm_forward"]


@pytest.mark.parametrize("case", sorted(sharded.CASES.keys() - WHERE.keys() - {"sums"}))
def test_what_does_not_agree_is_sent_as_by_torch(seen, case):
    outcome = right(seen[case])
    assert outcome["placements"] == outcome["torch"]
    assert outcome["sent"] == outcome["torch sent"] != {}
    assert outcome["operations"] == ["gemm"]


def test_sums_are_added_up_before_they_are_multiplied(seen):
    """torch would gather the other operand."""
    outcome = right(seen["sums"])
    assert outcome["placements"] == ["S(1)"]
    assert outcome["sent"] == {"all_reduce": 1}


def test_torch_compile_has_a_sharded_layer_in_one_graph(seen):
    assert right(seen["compiled"])["placements"] == ["P(sum)"]


def test_a_mesh_of_two_dimensions(seen):
    assert right(seen["two meshes"])["placements"] == ["S(0)", "S(1)"]


def test_torchs_dispatch_gives_the_same(seen):
    usual, other = (dict(right(seen[case])) for case in ("linear, columns", "dispatched"))
    assert (usual.pop("operations"), other.pop("operations")) == (["gemm_forward"], ["gemm"])
    assert {key: usual[key] for key in other} == other


def test_gradients_of_gradients_and_within_torch_func(seen):
    right(seen["transformed"])


def test_what_is_wrong_is_refused_of_known_operands(seen):
    messages = right(seen["refused"])
    assert "activation is ['gelu'], but it must be" in messages["a list"]
    assert "activation is 'gelus', but it must be" in messages["no name"]
    assert "must be (.., K) and (N, K)" in messages["batches"]


def test_a_program_without_dtensors_does_not_import_them():
    code = "import sys, tilewright.torch; sys.exit('torch.distributed.tensor' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_rank_that_fails_alone_says_so(monkeypatch):
    """The other may wait for it in a collective, so that it must not go on."""
    monkeypatch.setattr(sharded, "WAIT", timedelta(seconds=0.2))
    store = torch.distributed.HashStore()
    with pytest.raises(RuntimeError, match=r"(?s)rows: rank 1 was not done .* after rank 0: .*ZeroDivisionError"):
        sharded.attempt(0, store, "rows", lambda: {"never": 1 // 0})
    assert sharded.attempt(1, store, "rows", dict) == {}
    assert "ZeroDivisionError" in sharded.attempt(0, store, "rows", lambda: {"never": 1 // 0})["error"]


def test_ranks_that_wait_for_ever_are_ended(tmp_path):
    """With what they have started, which may hold what the test waits for."""
    program, log, told = tmp_path / "waits.py", tmp_path / "log", []
    program.write_text(
        "import subprocess, sys, time\n"
        "print('waits', flush=True)\n"
        "ticks = 'import time\\nwhile True: print(time.time(), flush=True); time.sleep(0.05)'\n"
        "subprocess.run([sys.executable, '-c', ticks])\n"
    )
    with pytest.raises(AssertionError, match=r"waits.py did not end within 2 s; it wrote:\nwaits\n\d+"):
        run_ranks(program, log=log, seconds=2, tell=told.append)
    assert "\n".join(told).startswith("waits\n")
    ended = log.stat().st_size
    time.sleep(0.5)
    assert log.stat().st_size == ended
