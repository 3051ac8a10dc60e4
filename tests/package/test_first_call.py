"""What a first call loads before it does anything: the modules, which are the same on every machine, not the time."""

from __future__ import annotations

import json

from compiling import nvrtc, run_python

IMPORT = """
import json, sys
from tilewright import kernels
imported = set(sys.modules)
import numpy as np
x, y = np.zeros((1024, 1024), np.float32), np.empty((1024, 1024), np.float32)
before = set(sys.modules)
"""
SHOW = "print(json.dumps([name for name in sys.modules if name not in before]))"
# What a hit in the disk cache needs: finding NVRTC, the key, the entry.
HIT = ["compiler", "cache", "folder", "entry", "discovery", "program"]


# What a plan of a copy needs of `tilewright`. It starts from the numbers of an H200.
PLANNER = {
    *("_cached", "analysis", "analysis.bank_conflicts", "kernels.devices", "kernels.devices.h200"),
    *(f"kernels.common.{name}" for name in ("device_types", "params", "plan", "plan_value")),
    *(f"kernels.copy.{name}" for name in ("choose", "conditions", "cost", "numbers", "packed", "packed_conditions")),
    *(f"kernels.copy.{name}" for name in ("packing", "plan", "planned", "problem", "rows", "rows_cost", "run")),
}


def test_the_package_loads_no_planner():
    loaded = set(json.loads(run_python(f"{IMPORT}print(json.dumps(sorted(imported)))")))
    ours = {name.removeprefix("tilewright.kernels.") for name in loaded if name.startswith("tilewright.kernels.")}
    folders = {name.partition(".")[0] for name in ours}
    assert folders == {"common", "copy", "gemm", "kernel", "visualize"}
    gemms = {f"gemm.{name}" for name in ("composite", "simt", "sm80", "sm90")}
    kernels = {f"{name}.kernel" for name in ("copy", "gemm", "visualize", *gemms)}  # what is registered, by names alone
    assert ours == {*folders, *gemms, *kernels, "common.launch", "common.operands", "copy.api", "gemm.api"}
    # Plans are dataclasses. What `dataclasses` loads (inspect, ast, ..) every library of arrays loads, too.
    slow = {"glob", "hashlib", "threading", "zlib"}
    assert loaded & slow == set()
    assert not {"tilewright.cute.atoms", "tilewright.cute.tiled.tiled_copy"} & loaded  # of a copy that is given one


def test_a_first_transpose_on_the_cpu_loads_the_planner_and_no_more():
    loaded = json.loads(run_python(f"{IMPORT}kernels.transpose(x, y); {SHOW}"))
    assert set(loaded) == {f"tilewright.{name}" for name in PLANNER}


@nvrtc
def test_a_first_kernel_from_disk_loads_what_a_hit_needs(tmp_path):
    """As on a GPU, where it is loaded and launched, too; that is C++."""
    code = IMPORT + f"plan = kernels.tiled_copy.plan(x.T, y); program = plan.compile('sm_90a'); {SHOW}"
    cold, hit = (json.loads(run_python(code, TILEWRIGHT_CACHE_DIR=str(tmp_path))) for _ in range(2))
    ours = {name.removeprefix("tilewright.") for name in hit if name.startswith("tilewright.")}
    assert ours == PLANNER | {f"runtime.{name}" for name in HIT}
    compiling = {f"tilewright.runtime.{name}" for name in ("errors", "nvrtc", "ptxas", "upkeep")}
    assert compiling <= set(cold)
