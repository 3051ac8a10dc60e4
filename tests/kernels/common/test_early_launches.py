"""Launches that begin before the one before them has ended: which ones do, and what keeps their CTAs apart."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiling import nvrtc
from tilewright import BFloat16, Float32, Float64, kernels
from tilewright.devices import DEVICES, H200
from tilewright.kernels.common.launch import RESERVED, SHORT, KernelLaunch, begins_early, shared_apart
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.sm90.cost import Sm90Model

ALL = H200.shared_bytes + RESERVED  # of a multiprocessor


def launch(ctas, shared, programmatic=True, cluster=1):
    plan = SimpleNamespace(shared_bytes=shared)
    return KernelLaunch(plan, (), (ctas, 1, 1), b"", (), programmatic=programmatic, cluster=cluster)


@given(st.integers(1, 4000), st.integers(0, H200.shared_bytes), st.sampled_from([1, 2, 4, 8]), st.integers(1, 32))
def test_no_more_ctas_share_a_multiprocessor_than_have_to(clusters, asked, cluster, registers_for):
    ctas = clusters * cluster
    fits = min(ALL // (asked + RESERVED), registers_for)
    shared = shared_apart(launch(ctas, asked, cluster=cluster), fits, H200)
    places = H200.multiprocessors if cluster <= 2 else int(H200.multiprocessors * Sm90Model.of(H200).quads)
    wanted = math.ceil(ctas / places)
    assert asked <= shared <= H200.shared_bytes
    if fits > wanted:
        assert ALL // (shared + RESERVED) == wanted
    else:
        assert shared == asked  # the rest is the cache's


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_gives_what_is_asked_for(name):
    facts = DEVICES[name]
    for wanted in (1, 2, 3, 8):
        one = launch(wanted * facts.multiprocessors, 1000)
        assert begins_early(one, facts) == (facts.capability >= 90)
        assert not begins_early(one._replace(programmatic=False), facts)
        assert 1000 < shared_apart(one, 16, facts) <= facts.shared_bytes


@pytest.mark.parametrize("dtype", [BFloat16, Float32, Float64])
@pytest.mark.parametrize("size", [128, 8192])
def test_short_kernels_begin_early(dtype, size):
    """gemm_sm90, gemm_simt and gemm_sm80."""
    problem = problem_of(size, size, size, dtype)
    assert choose_gemm(problem, (256, 256, 256), H200).kernel_plan.programmatic == (problem.moved_bytes < SHORT)


def plans():
    """One of each kernel that may begin early, by its name."""
    sizes = {"sm90": (512, 512, 512, BFloat16), "simt": (512, 512, 512, Float32), "sm80": (512, 512, 512, Float64)}
    found = {name: choose_gemm(problem_of(*size), (256, 256, 256), H200) for name, size in sizes.items()}
    split = choose_gemm(problem_of(64, 64, 32768, BFloat16), (256, 256, 256), H200)
    found |= {"parts": split.gemm, "sum": split.sum}
    half, wide = np.empty((512, 512), np.float16), np.empty((8, 77, 33, 65, 40), np.int8).transpose(4, 2, 0, 3, 1)
    found["staged"] = kernels.tiled_copy.plan(half.T, np.empty_like(half))
    found["direct"] = kernels.tiled_copy.plan(half, np.empty_like(half))
    found["packed"] = kernels.tiled_copy.plan(wide, np.empty(wide.shape, np.int8))
    return found


@nvrtc
@pytest.mark.parametrize("name", ["sm90", "simt", "sm80", "parts", "sum", "staged", "direct", "packed"])
def test_kernels_that_begin_early_wait_before_they_touch_memory(name):
    """In the order of the PTX, which stays: what has effects is not moved across."""
    plan = plans()[name]
    assert name not in ("staged", "direct", "packed") or plan.name.startswith(f"copy_{name}")
    text = plan.compile("sm_90a").ptx
    touched = re.search(r"\b(?:ld|st|red|atom)[\w.]*\.global|cp\.async[\w.]*global", text)
    assert 0 < text.find("griddepcontrol.wait") < touched.start()
    if name in ("simt", "sum", "staged", "direct", "packed"):  # those that other devices have, too
        assert "griddepcontrol" not in plan.compile("sm_80").ptx
