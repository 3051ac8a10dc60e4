"""The instructions that analyses name are those that the compiler makes: in PTX and, with a disassembler, in SASS."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from test_analysis_plans import COPIES, GEMMS
from tilewright import kernels
from tilewright.analysis.layouts import sass_name
from tilewright.kernels.analyze.verify import class_of
from tilewright.kernels.kernel import kernel_of

# Every kind of access of every kernel, the paths at the ends of tensors included.
NAMES = (
    "shifted destination", "transposed, odd", "transposed odd halves", "simt", "simt epilogue by row",
    "simt slices, epilogue", "sm80 odd", "sm80 cut stores, by row", "sm80 tf32", "sm90 boxes of floats",
    "sm90 boxes by row", "sm90 singles",
)  # fmt: skip
# Of an access with steps ptxas leaves out the words that nobody uses, so only SASS shows them.
ONLY_IN_SASS = ("steps", "steps of halves")
ACCESS = re.compile(r"\b(ld|st)((?:\.[a-z0-9_:]+)+)\s")
MATRIX = re.compile(r"\b(ldmatrix|stmatrix)\.sync\.aligned\.m8n8\.x(\d)")
ASYNC = re.compile(r"cp\.async\.c[ag]\.shared\.global \[\S+\], \[\S+\], (\d+)")


def plan_and_classes(name):
    """A plan, and the classes of what analysis says that it executes."""
    if name in GEMMS:
        plan = GEMMS[name]()
        found = kernel_of(plan).accesses(plan, (0, 0, 0, 0)).instructions
    else:
        src, dst, *_ = COPIES[name]()
        plan, a, b = kernels.tiled_copy.plan(src, dst).fit(src, dst)
        found = kernel_of(plan).accesses(plan, (a.address, b.address)).instructions
    return plan, {class_of(x.sass) for x in found if x.by_lanes}


def classes_in_ptx(ptx):
    found = set()
    for operation, modifiers in ACCESS.findall(ptx):
        parts = modifiers.split(".")[1:]
        space = next((p.split("::")[0] for p in parts if p.startswith(("global", "shared"))), None)
        if space is None or "async" in parts or "mbarrier" in modifiers:
            continue
        count = next((int(p[1:]) for p in parts if re.fullmatch(r"v\d", p)), 1)
        bits = int(re.fullmatch(r"[bufs](\d+)", parts[-1])[1])
        found.add(class_of(sass_name(space, "load" if operation == "ld" else "store", count * bits // 8)))
    found |= {class_of(sass_name("shared", kind, 16, int(count))) for kind, count in MATRIX.findall(ptx)}
    return found | {class_of(sass_name("global", "cp.async", int(width))) for width in ASYNC.findall(ptx)}


@pytest.mark.parametrize("name", NAMES)
def test_classes_are_those_of_the_ptx(name, compiler):
    plan, expected = plan_and_classes(name)
    assert classes_in_ptx(plan.compile("sm_90a").ptx) == expected


# ---- SASS ----


def disassembler():
    """cuobjdump, if there is one."""
    folders = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    places = [str(Path(folder) / "bin" / "cuobjdump") for folder in folders if folder]
    return shutil.which("cuobjdump") or next((place for place in places if Path(place).exists()), None)


def classes_in_sass(cubin, tmp_path):
    file = tmp_path / "kernel.cubin"
    file.write_bytes(cubin)
    listing = subprocess.run([disassembler(), "-sass", file], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in listing.splitlines():
        opcode = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?(\S+) .*;", line)
        # Waiting for cp.async reads nothing by no thread: @!PT LDS RZ, [RZ].
        if opcode and "LDS RZ, [RZ]" not in line:
            found.add(class_of(opcode[1]))
    return found - {""}


@pytest.mark.skipif(disassembler() is None, reason="there is no cuobjdump")
@pytest.mark.parametrize("name", NAMES + ONLY_IN_SASS)
def test_classes_are_those_of_the_sass(name, compiler, tmp_path):
    plan, expected = plan_and_classes(name)
    assert classes_in_sass(plan.compile("sm_90a").cubin, tmp_path) == expected
