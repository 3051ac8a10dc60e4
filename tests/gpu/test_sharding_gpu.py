"""GEMMs of DTensors over two GPUs by NCCL: results, gradients, and that nothing is sent which torch would not send."""

from __future__ import annotations

import json

import pytest

from places import SUPPORT
from ranks import run_ranks
from tilewright import _core

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not _core.cuda.driver_path() or _core.cuda.device_count() < 2, reason="fewer than two CUDA devices"
    ),
]


def test_every_case_is_right_and_sends_no_more_than_torch(tmp_path, capfd):
    """tests/support/sharded.py compares each with torch's result on one GPU; tests/torch says what is seen."""
    out = tmp_path / "seen"
    with capfd.disabled():  # both compile kernels for a minute or so; one sees which rank is at what
        run_ranks(SUPPORT / "sharded.py", str(out), "cuda", log=tmp_path / "log", seconds=300, tell=print)
    first, second = (json.loads(out.with_name(f"seen.{rank}").read_text()) for rank in range(2))
    assert first == second
    errors = {case: outcome["error"] for case, outcome in first.items() if "error" in outcome}
    assert not errors, "\n".join(errors.values())
    assert first["compiled"]["placements"] == ["P(sum)"]
    assert first["two meshes"]["placements"] == ["S(0)", "S(1)"]
    of_torch = {case: x for case, x in first.items() if case not in ("compiled", "two meshes")}
    assert len(of_torch) >= 8
    for case, outcome in of_torch.items():
        sent, of_theirs = outcome["sent"], outcome["torch sent"]
        assert all(count <= of_theirs.get(name, 0) for name, count in sent.items()), case
        # Older versions of torch (2.11) add up sums over the ranks before a bias is added; here they stay sums.
        if sent == of_theirs:
            assert outcome["placements"] == outcome["torch"], case
        else:
            assert outcome["placements"] == ["P(sum)"], case
