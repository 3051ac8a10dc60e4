"""Every registered plan compiles for every architecture, without spills, and moves as much at once as it says."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from copy_plans import instantiations, permuted, plan_of_layouts, row_major
from tilewright.cute import size
from tilewright.kernels import tiled_copy
from tilewright.kernels.copy.kernel import TILED_COPY
from tilewright.kernels.copy.packed import packed_of_plan
from tilewright.runtime.compiler import compile_program

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
PLANS = dict(instantiations())
SHARED = 99 * 1024  # bytes that a CTA has on any GPU from sm_80 on


@pytest.fixture(scope="module")
def programs(compiler):
    """All plans, compiled together, by architecture."""
    names = [plan.name for plan in PLANS.values()]
    return {arch: compile_program(TILED_COPY.stem, names, arch) for arch in ARCHITECTURES}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nothing_is_spilled(programs, arch):
    report = programs[arch].report
    assert set(report) == {plan.name for plan in PLANS.values()}
    for name, plan in PLANS.items():
        found = report[plan.name]
        assert (found.spill_bytes, found.stack_bytes) == (0, 0), name
        assert 0 < found.registers * plan.threads <= 65536, name


# ---- the accesses in PTX ----

BODY = re.compile(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\}\n", re.S)
ACCESS = re.compile(r"^\s*(?:@!?%p\d+ )?(ld|st)(\.[\w.:]+)\s", re.M)
PUT = re.compile(r"@p st\.shared\.(?:v(\d)\.)?b32 ")  # a packed copy puts in what was read, or nothing
ASYNC = re.compile(r"cp\.async\.(?:ca|cg)\.shared\.global \[\S+\], \[\S+\], (\d+);")


def accesses(body):
    """How many instructions of a kernel move how much: (what, where, streaming) -> bytes -> count."""
    found = {}
    for operation, modifiers in ACCESS.findall(body):
        parts = modifiers.split(".")[1:]
        if "param" in parts or "local" in parts:
            continue
        where = "shared" if any(part.startswith("shared") for part in parts) else "global"
        count = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
        bits = int(re.fullmatch(r"[bufs](\d+)", parts[-1])[1])
        found.setdefault((operation, where, "cs" in parts), Counter())[count * bits // 8] += 1
    found["cp", "shared", False] = Counter(map(int, ASYNC.findall(body)))
    return found


def planned(plan):
    """The same, of the plan: the accesses of a thread, on every side."""
    size_of = plan.problem.element_bytes
    if plan.kernel == "packed":
        return planned_of_packed(plan)
    loads = size(plan.load_tv, mode=[1]) // plan.load_vector
    stores = size(plan.store_tv, mode=[1]) // plan.store_vector
    expected = {}
    if plan.is_async:
        expected["cp", "shared", False] = plan.load_vector * size_of, loads
    elif plan.src_step > 0 and plan.src_aligned:
        expected["ld", "global", True] = plan.load_vector * plan.src_step * size_of, loads
    elif plan.src_step > 0 and plan.load_vector * size_of >= 4:  # two accesses, shifted into each other
        expected["ld", "global", False] = plan.load_vector * plan.src_step * size_of, 2 * loads
    width = plan.store_vector * size_of
    expected["st", "global", width >= 8] = width, stores
    if plan.kernel == "staged":
        if not plan.is_async:
            expected["st", "shared", False] = plan.smem_store * size_of, loads * (plan.load_vector // plan.smem_store)
        expected["ld", "shared", False] = plan.smem_load * size_of, stores // plan.smem_load * plan.store_vector
    return expected


def planned_of_packed(plan):
    """What a thread reads before it waits, and a word: taken from shared memory in two ways, and stored."""
    tile, store = packed_of_plan(plan), plan.store_vector * plan.problem.element_bytes
    expected = {
        ("ld", "global", True): (16, 4),
        ("ld", "shared", False): (tile.bytes, 2 * store // tile.bytes),
    }
    if store >= 4:  # others are written by predicated instructions
        expected["st", "global", store >= 8] = store, 1
    return expected


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", PLANS)
def test_accesses_are_as_wide_as_planned(programs, arch, name):
    program, plan = programs[arch], PLANS[name]
    body = dict(BODY.findall(program.ptx))[program.lowered[plan.name]]
    found, expected = accesses(body), planned(plan)
    if (
        plan.kernel == "packed"
    ):  # four accesses at once, at the ends of the source's memory one; by 16 bytes, or by parts
        puts = Counter(4 * int(n or 1) for n in PUT.findall(body))
        assert puts == Counter({16: 5}) + Counter(
            {packed_of_plan(plan).least_put: 5 * 16 // packed_of_plan(plan).least_put}
        )
    for kind, (width, count) in expected.items():
        widths = found.get(kind, Counter())
        if kind[:2] == ("ld", "shared"):  # the compiler may join some
            assert sum(w * n for w, n in widths.items() if w >= width) >= width * count, (kind, found)
            continue
        assert widths[width] >= count, (kind, found)
        if plan.kernel == "packed":  # ends of runs, and tables in shared memory, are moved otherwise
            continue
        # Nothing else, but that what reaches over an end is done element by element.
        assert set(widths) <= {width, plan.problem.element_bytes}, (kind, found)
    assert ("cp", "shared", False) in expected or not found["cp", "shared", False]
    assert plan.kernel != "direct" or not any(
        where == "shared" and found[kind] for kind in found for where in kind[1:2]
    )


def test_the_widest_accesses_are_planned():
    """Where both sides are aligned, 16 bytes are moved at once, whatever the elements."""
    for name, plan in PLANS.items():
        if name.startswith(("contiguous, ", "transpose, ", "ragged transpose, ", "padded to packed, ")):
            assert plan.load_vector * plan.problem.element_bytes == 16, name
            assert plan.store_vector * plan.problem.element_bytes == 16, name


def test_the_tiles_fit_into_shared_memory():
    for name, plan in PLANS.items():
        assert plan.shared_bytes <= SHARED, name
        assert plan.threads <= 1024, name


def test_all_ranks_and_kinds_are_registered():
    plans = PLANS.values()
    assert {len(plan.tile) for plan in plans} >= {1, 2, 3, 4, 5, 8}
    assert {plan.problem.element_bytes for plan in plans} == {1, 2, 4, 8, 16}
    for field in ("kernel", "src_aligned", "predicated", "is_async"):
        assert len({getattr(plan, field) for plan in plans}) == 2 + (field == "kernel"), field
    assert {(packed_of_plan(x).bytes, x.store_vector) for x in plans if x.kernel == "packed"} >= {
        *((1, n) for n in (2, 4, 8, 16)), (2, 8), (4, 4), (8, 2)
    }  # fmt: skip
    assert {plan.src_step for plan in plans} >= {-1, 0, 1, 2}
    for kernel in ("direct", "staged"):
        assert len({bool(plan.dst_shift) for plan in plans if plan.kernel == kernel}) == 2


# ---- one program for many sizes ----


@pytest.mark.parametrize(
    ("shape", "other", "memory"),
    [
        ((1024, 1024), (2048, 512), (1, 0)),
        ((3999, 4001), (12345, 9999), (1, 0)),
        ((1 << 20,), (1 << 33,), (0,)),
        ((8, 128, 56, 56), (3, 256, 56, 56), (0, 2, 3, 1)),
        ((16, 512, 32, 64), (2, 128, 64, 64), (0, 2, 1, 3)),
    ],
)
@pytest.mark.parametrize("size", [2, 4])
def test_a_kernel_serves_many_sizes(shape, other, memory, size):
    first, second = (plan_of_layouts(size, extents, permuted(extents, memory)) for extents in (shape, other))
    assert first.name == second.name
    assert first.problem != second.problem
    assert first.params() != second.params()
    assert len(first.params()) == len(second.params())


def test_tensors_and_strides_give_the_same_plan():
    a = np.zeros((100, 300), np.float32)
    assert transpose_plan(a) == plan_of_layouts(4, (300, 100), (1, 300))
    assert tiled_copy.plan(a, a.copy()) == plan_of_layouts(4, (100, 300), row_major((100, 300)))


def transpose_plan(a):
    memory = np.zeros(a.size + 64, a.dtype)
    start = -memory.ctypes.data % 64 // a.itemsize
    return tiled_copy.plan(a.T, memory[start : start + a.size].reshape(a.shape[::-1]))
