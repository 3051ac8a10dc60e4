"""The device layouts, compiled by the C++ compiler of this machine, at every coordinate: what they are on the host."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

from cpu_device import COMPILER, PRELUDE
from device_layouts import HEADER, SOURCE, evaluations
from tilewright.runtime.discovery import kernels_folder

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

MULTIPLY = """
static unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned long long>(a) * b >> 32; }
"""
TABLE = """
template <class LayoutType, int kModes, int kRank, int kColumns>
bool evaluate_layout_here(const char* bytes, unsigned size, long long* out) {
  EvaluateParams<LayoutType> params;
  if (size + sizeof out != sizeof params) return false;
  std::memcpy(reinterpret_cast<char*>(&params) + sizeof out, bytes, size);
  params.out = out;
  for (int64 i = 0; i < params.count; ++i) evaluate_at<LayoutType, kModes, kRank, kColumns>(params, i);
  return true;
}
using Evaluate = bool (*)(const char*, unsigned, long long*);
extern "C" bool run(int index, const char* bytes, unsigned size, long long* out) {
  static const Evaluate table[] = {ENTRIES};
  return table[index](bytes, size, out);
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All layouts in one library."""
    folder = tmp_path_factory.mktemp("layouts")
    entries = ",\n".join(e.name.replace("evaluate_layout<", "&evaluate_layout_here<", 1) for e in evaluations())
    (folder / "evaluate.cuh").write_text(HEADER)
    (folder / "layouts.cpp").write_text(PRELUDE + MULTIPLY + SOURCE + TABLE.replace("ENTRIES", entries))
    command = [COMPILER, "-std=c++20", "-O0", "-shared", "-fPIC", "-w", f"-I{kernels_folder()}", f"-I{folder}"]
    subprocess.run([*command, str(folder / "layouts.cpp"), "-o", str(folder / "layouts.so")], check=True)
    run = ctypes.CDLL(str(folder / "layouts.so")).run
    run.restype = ctypes.c_bool
    return run


def test_device_layouts_are_the_hosts(run):
    assert len(evaluations()) > 100
    for index, evaluation in enumerate(evaluations()):
        out = np.full_like(evaluation.expected, -1)
        done = run(index, evaluation.params, len(evaluation.params), out.ctypes.data_as(ctypes.c_void_p))
        assert done, f"{evaluation.name}: its parameter has another size"
        np.testing.assert_array_equal(out, evaluation.expected, err_msg=evaluation.label)
