"""Random kernels: plain Python, the CPU's execution and the CUDA C++ compiled for the host agree bit for bit."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from cpu_device import COMPILER
from drawing import composite
from kernel_batches import HostBatches
from random_kernels import Drawn, Program, Random, opcodes_of, same
from shrinking import Recorded, Replayed, shrunk
from tilewright import cute

PROGRAMS = 300  # that are looked at
BLOCKS = {"then", "else", "body", "before", "yield"}  # of a program's text

kernels = composite(lambda draw: Program(Drawn(draw)))


def require_python(program):
    """The CPU computes what plain Python does, finds nothing wrong, and does the same without checks."""
    expected = program.computed()
    try:
        found = program.executed(seed=program.seed % 3)
    except cute.KernelError as error:
        raise AssertionError(f"{error}\n{program}") from None
    assert same(found, expected), f"the CPU's execution differs from plain Python\n{program}"
    assert same(program.executed(check=False), expected), f"without checks it differs\n{program}"
    return expected


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_random_kernels(tmp_path_factory, capfd):
    with HostBatches(tmp_path_factory.mktemp("random_kernels"), lambda: capfd.readouterr().err) as host:

        @settings(suppress_health_check=list(HealthCheck))
        @given(kernels())
        def check(program):
            host.add(program, require_python(program))

        check()


# Operations that random kernels do not have: launches of other kinds, functions whose last place differs between
# machines, what needs a layout of its own. Each has tests in this folder or in tests/gpu.
ELSEWHERE = {
    "acos", "address", "asin", "assert", "atan", "atan2", "barrier_arrive", "block_idx_in_cluster",
    "block_in_cluster_idx", "bulk_load", "bulk_store", "clock", "cluster_arrive", "cluster_dim", "cluster_idx",
    "cluster_wait", "copy_tensormap", "cos", "cp_async_bulk_commit_group", "cp_async_bulk_wait_group",
    "cp_async_commit_group", "cp_async_mbarrier_arrive", "cp_async_wait_group", "cp_fence_tma_desc_release",
    "dynamic_smem_size", "erf", "exp", "exp2", "fence", "fence_tma_desc_acquire", "fma_tile", "griddepcontrol",
    "inline_asm", "insert", "ldmatrix", "log", "log10", "log2", "mapa", "match", "mbarrier_arrive",
    "mbarrier_init", "mbarrier_test", "mbarrier_wait", "mma", "printf", "rsqrt", "setmaxregister", "sin",
    "stmatrix", "sync_warp", "tan", "tanh", "tensor_map", "tma_load", "tma_prefetch", "tma_store", "to_pointer",
    "trap", "update_tma_descriptor", "wgmma", "wgmma_commit_group", "wgmma_fence", "wgmma_wait_group",
}  # fmt: skip


def test_what_is_generated():
    """Every operation of programs is generated, or tested elsewhere. `pytest -s` shows how often each is."""
    table = (Path(__file__).parents[2] / "cpp/program/opcode.hpp").read_text()
    counts = Counter(dict.fromkeys(re.findall(r'X\(k\w+, "(\w+)"', table), 0))
    for seed in range(PROGRAMS):
        counts.update(opcodes_of(Program(Random(seed))))
    lines = [f"{name} {count / PROGRAMS:.2f}" for name, count in counts.most_common() if name not in BLOCKS]
    print(f"operations of a kernel, of {PROGRAMS}:", ", ".join(lines))
    assert {name for name, count in counts.items() if not count} == ELSEWHERE


def test_failures_are_shrunk():
    made = Recorded(Random(3))
    Program(made)

    def fails(choices):
        return "//" in Program(Replayed(choices)).source

    assert fails(made.made)
    small = shrunk(made.made, fails)
    assert fails(small)
    assert len(Program(Replayed(small)).source) < len(Program(Replayed(made.made)).source)
