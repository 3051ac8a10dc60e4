"""Launches that begin before the one before them has ended: which ones do, and what keeps their CTAs apart."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright import BFloat16, Float32, Float64
from tilewright.devices import H200
from tilewright.kernels.common.launch import RESERVED, SHORT, KernelLaunch, beginning
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import problem_of
from tilewright.runtime.discovery import kernels_folder

ALL = H200.shared_bytes + RESERVED  # of a multiprocessor


def launch(ctas, shared, programmatic=True, cluster=1):
    plan = SimpleNamespace(shared_bytes=shared)
    return KernelLaunch(plan, (), (ctas, 1, 1), b"", (), programmatic=programmatic, cluster=cluster)


@given(st.integers(1, 4000), st.integers(0, H200.shared_bytes), st.sampled_from([1, 2, 4, 8]))
def test_no_more_ctas_share_a_multiprocessor_than_have_to(clusters, asked, cluster):
    ctas = clusters * cluster
    early, shared = beginning(launch(ctas, asked, cluster=cluster), H200)
    fit = ALL // (shared + RESERVED)
    places = H200.multiprocessors if cluster <= 2 else 123
    wanted = math.ceil(ctas / places)
    assert asked <= shared <= H200.shared_bytes
    assert early == (wanted != 3)
    if wanted in (1, 2):
        assert fit == wanted or (shared == asked and fit < wanted)
    else:
        assert shared == asked
    assert beginning(launch(ctas, asked, False, cluster), H200) == (False, asked)


@pytest.mark.parametrize("dtype", [BFloat16, Float32, Float64])
@pytest.mark.parametrize("size", [128, 8192])
def test_short_kernels_begin_early(dtype, size):
    """gemm_sm90, gemm_simt and gemm_sm80."""
    problem = problem_of(size, size, size, dtype)
    assert choose_gemm(problem, (256, 256, 256), H200).kernel_plan.programmatic == (problem.moved_bytes < SHORT)


@pytest.mark.parametrize(
    "name", ["gemm_sm90", "gemm_sm80", "gemm_simt", "sum_parts", "tiled_copy", "tilewright/packed_copy"]
)
def test_kernels_that_begin_early_wait(name):
    """Each of their entry points has both halves, or calls what has."""
    text = (kernels_folder() / f"{name}.cuh").read_text(encoding="utf-8")
    entries = len(re.findall(r"__global__", text))
    assert len(re.findall(r"\bawait_launches_before\(\)", text)) >= entries
    assert len(re.findall(r"\blet_next_begin\(\)", text)) >= entries or name == "sum_parts"
