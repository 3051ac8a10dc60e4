"""The copy kernels themselves, compiled by the C++ compiler of this machine, on random problems."""

from __future__ import annotations

import pytest

from cpu_device import COMPILER

torch = pytest.importorskip("torch", reason="torch is not installed")

from copies import Case, Side, assert_copied, compact, random_case  # noqa: E402
from cpu_copy_kernels import CopyKernels  # noqa: E402
from tilewright import Float32, cute, kernels  # noqa: E402
from tilewright.cute.nvgpu import CopyUniversalOp, cpasync  # noqa: E402
from tilewright.kernels.copy import rows  # noqa: E402
from tilewright.kernels.copy.packed import packed_of_plan  # noqa: E402
from tilewright.kernels.copy.packing import packed_copy  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


def tiled(op, bits):
    atom = cute.make_copy_atom(op, Float32, num_bits_per_copy=bits)
    return cute.make_tiled_copy_tv(atom, cute.parse("(8,16):(16,1)"), cute.parse("(4,4):(4,1)"))


def problems():
    """(case, TiledCopy or None)"""
    for number in range(60):
        yield random_case(number), None
    for offset, pad in ((1, 0), (3, 15), (0, 3)):  # rows that begin at any byte
        for order in ((0, 1), (1, 0)):
            src, dst = compact((70, 601), *order, offset=offset, pad=pad), compact((70, 601), pad=15 - pad)
            yield Case("uint8", (70, 601), src, dst), None
    ragged = Case("float32", (129, 252), compact((129, 252)), compact((129, 252)))
    for bits in (32, 64, 128):
        yield ragged, tiled(cpasync.CopyG2SOp(), bits)
        yield ragged, tiled(CopyUniversalOp(), bits)


def assert_kernels_copy(problems, folder):
    """All their kernels in one library; the plans."""
    torch.manual_seed(0)
    made = [(case.tensors("cpu"), tiled_copy) for case, tiled_copy in problems]
    runs = [(tensors, kernels.tiled_copy.plan(*tensors[:2], tiled_copy)) for tensors, tiled_copy in made]
    # As where the source spans more memory than the device translates at once.
    runs += [(tensors, plan.replace(tiles_in_run=2, predicated=True)) for tensors, plan in runs[::3]]
    return assert_plans_copy(runs, folder)


def assert_plans_copy(runs, folder):
    """The kernel of each (tensors, plan), in one library, writes the destination and nothing else; the plans."""
    plans = [plan for _, plan in runs]
    compiled = CopyKernels(plans, folder)
    for (src, dst, memory), plan in runs:
        try:
            assert_copied(lambda src, dst, plan=plan: compiled.copy(plan, src, dst), src, dst, memory)
        except AssertionError as error:
            raise AssertionError(f"{error}, in the {plan}") from None
    return plans


def test_kernels_copy(tmp_path):
    plans = assert_kernels_copy(problems(), tmp_path)
    assert {plan.kernel for plan in plans} == {"direct", "staged", "packed"}
    assert {plan.dst_shift > 0 for plan in plans} == {plan.src_aligned for plan in plans} == {True, False}
    assert {plan.is_async for plan in plans} == {True, False}


def short_rows():
    """Rows of a few accesses that begin at any address, and sources with steps, beside modes of odd extents."""
    for dtype, size in (("uint8", 1), ("bfloat16", 2), ("float32", 4)):
        shape = (2, 3, 4, 37, 131)
        for order in ((4, 1, 2, 0, 3), (3, 4, 2, 0, 1)):  # the order of the source's modes in memory
            src, dst = compact(shape, *order, offset=1, pad=3 // size), compact(shape, offset=5, pad=1)
            yield Case(dtype, shape, src, dst), None
        for step in (2, 4):
            odd = compact((70, 150 * step + 3), offset=1)
            along = Side((odd.strides[0], step), odd.offset, odd.size)
            across = Side((step, 70 * step + 1), 1, 1 + 150 * (70 * step + 1))
            for src in (along, across):
                yield Case(dtype, (70, 150), src, compact((70, 150), offset=1, pad=1)), None
                yield Case(dtype, (70, 150), src, compact((70, 150))), None


def test_kernels_copy_short_rows(tmp_path):
    plans = assert_kernels_copy(short_rows(), tmp_path)
    stepped = [plan for plan in plans if plan.src_step > 1 and not plan.src_aligned]
    assert {plan.kernel for plan in stepped} == {"direct", "staged"}
    joined = [plan.load_vector * plan.src_step * plan.problem.element_bytes for plan in plans if not plan.src_aligned]
    assert set(joined) == {4, 8, 16}
    assert {plan.dst_shift * plan.problem.element_bytes for plan in plans} >= {0, 16}


def test_kernels_copy_whatever_is_realigned(tmp_path, monkeypatch):
    """All rows that may be are realigned, however short: what is faster is another question."""
    monkeypatch.setattr(rows, "CLEARLY", 1e9)
    monkeypatch.setattr(rows, "SHORTEST", 0)
    monkeypatch.setattr(rows, "FEWEST", 1)
    cases = [*((random_case(number), None) for number in range(100, 140)), *short_rows()]
    plans = assert_kernels_copy(cases, tmp_path)
    shifts = {plan.dst_shift * plan.problem.element_bytes for plan in plans}
    assert shifts >= {0, 4, 8, 16}


def packed_plan(src, dst):
    """The packed plan of two tensors, whatever the rule says; None where there is none."""
    plan, a, b = kernels.tiled_copy.plan(src, dst).fit(src, dst)
    p = plan.problem
    starts = a.address + p.src_offset * p.element_bytes, b.address + p.dst_offset * p.element_bytes
    found = packed_copy(p, *(x & -x for x in starts))
    if found is not None:
        found.require(a.address, b.address)
    return found


def apart(plan, tile):
    """The same, whose runs lie in shared memory as in memory modulo 4 or 8 bytes only, and not modulo 16."""
    farthest = max(tile.run_modes, key=lambda i: tile.shared[i])
    strides = [*(plan.smem.stride if isinstance(plan.smem.stride, tuple) else (plan.smem.stride,))]
    strides[farthest] += max(tile.bytes, 4) // plan.problem.element_bytes
    return plan.replace(smem=cute.make_layout(plan.tile, stride=tuple(strides)))


def packed_runs(cases):
    """(tensors, packed plan), also with several tiles for a CTA, in short stretches."""
    torch.manual_seed(0)
    for number, case in enumerate(cases):
        tensors = case.tensors("cpu")
        plan = packed_plan(*tensors[:2])
        if plan is not None:
            yield tensors, plan
            tile = packed_of_plan(plan)
            if number % 2 and tile.run_modes:
                yield tensors, apart(plan, tile)
            if number % 3 == 0:
                yield tensors, plan.replace(tiles_in_run=2, tiles_of_cta=3)


def odd_cases():
    """Rows of every length of a word, whole modes that lie together, gaps between elements, and more than one tile."""
    for dtype in ("uint8", "bfloat16", "float32", "float64"):
        for extents, order in (
            ((75, 5, 6, 88), (0, 2, 1, 3)), ((88, 75, 5), (2, 0, 1)), ((3, 70, 90), (2, 1, 0)),
            ((5, 31, 64), (1, 2, 0)), ((9, 40, 41), (2, 0, 1)),
            ((2, 3, 4, 5, 6, 7), (5, 3, 1, 0, 2, 4)), ((300, 203), (1, 0)),
        ):  # fmt: skip
            yield Case(dtype, extents, compact(extents, *order), compact(extents, offset=1))
            yield Case(dtype, extents, compact(extents, *order, offset=3, pad=1), compact(extents, pad=3))
        # Six of ten elements of a row, every other row of a matrix: read with what lies between them.
        yield Case(dtype, (40, 6, 16, 30), Side((10, 1, 40 * 20, 20), 3, 16 * 40 * 20 + 600), compact((40, 6, 16, 30)))


def test_packed_kernels_copy(tmp_path):
    cases = [*(random_case(number) for number in range(40)), *odd_cases()]
    plans = assert_plans_copy(list(packed_runs(cases)), tmp_path)
    sizes = {(x.problem.element_bytes * x.smem_load, x.problem.element_bytes * x.store_vector) for x in plans}
    assert sizes >= {(1, 2), (1, 4), (1, 8), (1, 16), (2, 16), (4, 16), (8, 16)}
    packed = [packed_of_plan(plan) for plan in plans]
    assert {(max(x.bytes, 4), x.put) for x in packed} >= {(4, 4), (8, 8), (4, 16), (8, 16)}
    assert {x.columns > 1 for x in packed} == {x.src_runs > 1 for x in packed} == {x.dst_runs > 1 for x in packed}
    assert any(max(x.tiles) > 1 for x in plans)


def test_packed_plans_copy_on_the_host():
    """As the kernel does; and with marks on every element, each of which is written once."""
    for (src, dst, memory), plan in packed_runs(odd_cases()):
        assert_copied(lambda src, dst, plan=plan: plan.run(src, dst), src, dst, memory)
        report = plan.run(src, dst, check=True)
        assert report, report


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_packed_kernels_copy_many(first, tmp_path):
    assert_plans_copy(list(packed_runs(random_case(number) for number in range(first, first + 100))), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_kernels_copy_many(first, tmp_path):
    assert_kernels_copy(((random_case(number), None) for number in range(first, first + 100)), tmp_path)
