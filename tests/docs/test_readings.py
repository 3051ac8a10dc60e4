"""The readings in docs/notebooks/predict_then_measure.md are those that were taken on the GPU."""

from __future__ import annotations

import ast
import gzip
import json
import re

import pytest

from places import ROOT

NOTEBOOK = (ROOT / "docs/notebooks/predict_then_measure.md").read_text(encoding="utf-8")
RECORDED = json.loads(gzip.decompress((ROOT / "tests/analysis/ncu.json.gz").read_bytes()))
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
TABLES = {
    "SECTORS": ("ld.global.4", SECTORS),
    "WIDE_SECTORS": ("ld.global.16", SECTORS),
    "LDMATRIX": ("ldmatrix.x4", WAVEFRONTS),
    "WORDS": ("ld.shared.4", WAVEFRONTS),
    "CP_ASYNC": ("cp.async.cg.16", SECTORS),
}


@pytest.mark.parametrize("table", TABLES)
def test_readings(table: str) -> None:
    kind, metric = TABLES[table]
    found = re.search(rf"^{table} = (\{{.*?\}})$", NOTEBOOK, re.MULTILINE | re.DOTALL)
    assert found is not None
    for (begin, apart), reading in ast.literal_eval(found[1]).items():
        lanes = [begin + apart * lane for lane in range(32)]
        taken = {
            counters[metric]
            for name, _, mask, first, second, _, counters in RECORDED["accesses"]
            if name == kind and mask == 0xFFFFFFFF and first == lanes and second in ([], list(range(0, 512, 16)))
        }
        assert taken == {reading}


def test_where_they_are_from() -> None:
    machine = RECORDED["machine"]
    text = " ".join(NOTEBOOK.split())
    for word in (machine["device"].removeprefix("NVIDIA "), f"driver {machine['driver']}", "ncu 2025.3.1"):
        assert word in text
    assert f"{len(RECORDED['accesses']):,} accesses and {len(RECORDED['boxes']):,} boxes" in text
