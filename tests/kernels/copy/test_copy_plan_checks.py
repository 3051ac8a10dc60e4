"""What is found in plans of copies that are wrong: by running them checked, and before."""

from __future__ import annotations

import numpy as np
import pytest

from copy_plans import aligned, contiguous, numbers, transposing
from tilewright import cute, kernels
from tilewright.kernels.common.report import CopyReport

L = cute.parse
NARROW = {"load_vector": 1, "store_vector": 1}


# ---- reports ----


def test_a_sound_plan():
    report = transposing().run(numbers((8, 12), "i2"), aligned((12, 8), "i2").T, check=True)
    assert report
    assert (report.size, report.findings, report.never_written.count) == (96, {}, 0)
    assert str(report) == repr(report) == "each of 96 elements is written exactly once"


def checked(plan, **changes):
    src = numbers((8, 12), "i2") if len(plan.tile) == 2 else numbers(16)
    dst = aligned((12, 8), "i2").T if len(plan.tile) == 2 else aligned(16)
    report = plan.replace(**changes).run(src, dst, check=True)
    assert not report
    assert set(report.findings) == {name for name in report.__slots__ if name != "size" and getattr(report, name).count}
    return report


BROKEN = [
    (
        contiguous,
        {"load_tv": L("(3,4):(4@0,1@0)"), "store_tv": L("(3,4):(4@0,1@0)")},
        "of 16 elements: 4 elements are never written: (12), (13), (14), (15)",
    ),
    (
        contiguous,
        {"load_tv": L("(5,3):(3@0,1@0)"), "store_tv": L("(5,3):(3@0,1@0)"), **NARROW},
        "of 16 elements: 1 element is never written: (15)",
    ),
    (
        contiguous,
        {"load_tv": L("((4,2),4):((4@0,0),1@0)"), "store_tv": L("((4,2),4):((4@0,0),1@0)")},
        "of 16 elements: 16 elements are written more than once: (0), (1), (2), (3), (4), (5), (6), (7), ...",
    ),
    (
        contiguous,
        {"load_tv": L("(5,4):(4@0,1@0)"), "store_tv": L("(5,4):(4@0,1@0)"), "predicated": True},
        "of 16 elements: 4 values of threads lie outside of the tile: (16), (17), (18), (19)",
    ),
    (
        contiguous,
        {"load_tv": L("(4,4):(1@0,4@0)"), "store_tv": L("(4,4):(1@0,4@0)")},
        "of 16 elements: 8 accesses have values that do not lie next to each other: "
        "(0), (1), (2), (3), (0), (1), (2), (3)",
    ),
    (
        transposing,
        {"load_tv": L("((3,7),4):((4@1,1@0),1@1)")},
        "of 96 elements: 12 elements are read from shared memory before they are written there: "
        "(7,0), (7,1), (7,2), (7,3), (7,4), (7,5), (7,6), (7,7), ...",
    ),
    (
        transposing,
        {"store_tv": L("(5,(8,2)):(2@1,(1@0,1@1))")},
        "of 96 elements: 16 elements are never written: "
        "(0,10), (1,10), (2,10), (3,10), (4,10), (5,10), (6,10), (7,10), ...",
    ),
    (
        transposing,
        {"smem": L("(7,12):(12,1)")},
        "of 96 elements: 24 accesses lie outside of shared memory: "
        "(7,0), (7,1), (7,2), (7,3), (7,4), (7,5), (7,6), (7,7), ...",
    ),
    (
        transposing,
        {"smem": L("(8,12):(12,0)")},
        "of 96 elements: \n"
        "  88 writes bring the element of another coordinate: "
        "(0,0), (1,0), (2,0), (3,0), (4,0), (5,0), (6,0), (7,0), ...\n"
        "  88 writes to shared memory overwrite another one: "
        "(0,1), (0,2), (0,3), (0,4), (0,5), (0,6), (0,7), (0,8), ...",
    ),
]


@pytest.mark.parametrize(("plan", "changes", "text"), BROKEN)
def test_broken_plans(plan, changes, text):
    assert str(checked(plan(), **changes)) == text


def test_findings():
    report = checked(contiguous(), load_tv=L("(3,4):(4@0,1@0)"), store_tv=L("(3,4):(4@0,1@0)"))
    assert list(report.findings) == ["never_written"]
    assert (report.never_written.count, report.never_written.first) == (4, ((12,), (13,), (14,), (15,)))
    assert report.written_twice.count == 0


def test_one_and_several():
    one, two = ({"count": n, "first": [(i,) for i in range(n)]} for n in (1, 2))
    assert str(CopyReport(9, {"never_written": one})) == "of 9 elements: 1 element is never written: (0)"
    assert str(CopyReport(9, {"misaligned_store": two})) == "of 9 elements: 2 stores are misaligned: (0), (1)"


def test_misaligned_accesses():
    plan, memory = contiguous(), aligned(32)
    assert plan.replace(src_aligned=False).run(memory[1:17], aligned(16), check=True)
    report = run_checked(plan, memory[1:17], aligned(16))
    assert str(report) == "of 16 elements: 4 loads are misaligned: (0), (4), (8), (12)"
    report = run_checked(plan, aligned(16), memory[2:18])
    assert str(report) == "of 16 elements: 4 stores are misaligned: (0), (4), (8), (12)"
    assert run_checked(plan.replace(dst_shift=4), aligned(16), memory[4:20])


def run_checked(plan, src, dst):
    """Past `fit`, which refuses what is misaligned."""
    from tilewright.kernels.copy.run import run_on_host

    return run_on_host(plan, src.ctypes.data, dst.ctypes.data, check=True)


# ---- what shared memory has to be like for the kernel's accesses ----


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"smem": L("(8,12):(1,8)")},
            r"move 4 elements along mode 1 at once, but in smem \(8,12\):\(1,8\) they do not",
        ),
        ({"smem": L("(8,12):(13,1)")}, r"do not lie together at a multiple of 4; use plan\.replace\(smem_store=1"),
        ({"smem": L("((2,4),12):((12,24),1)")}, r"needs one plain mode for each mode of the tile \(8,12\)"),
        ({"smem": L("(4,12):(12,1)")}, r"it must hold the tile \(8,12\) from offset 0 on"),
        (
            {"smem": cute.make_composed_layout(cute.make_swizzle(1, 0, 3), 0, L("(8,12):(12,1)"))},
            r"do not lie together at a multiple of 4",
        ),
    ],
)
def test_shared_memory_that_the_kernel_cannot_use(changes, message):
    src, dst = aligned((8, 12), "i2"), aligned((12, 8), "i2").T
    with pytest.raises(ValueError, match=message):
        transposing().replace(**changes).run(src, dst)


@pytest.mark.parametrize(
    ("smem", "store_vector", "step"),
    [
        ("(64,64):(64,1)", 4, 64),
        ("S<3,2,6> o 0 o (64,64):(64,1)", 4, 64),
        ("S<3,2,5> o 0 o (64,64):(64,1)", 4, 0),  # the step changes bits that are read
        ("S<3,2,7> o 0 o (64,96):(96,1)", 4, 0),  # so does a carry
        ("S<3,2,6> o 4096 o (64,64):(64,1)", 4, 0),
        ("S<3,2,6> o 0 o (64,64):(64,2)", 4, 0),  # the other mode reaches beyond the step
    ],
)
def test_a_step_is_constant_only_where_no_swizzle_comes_between(smem, store_vector, step):
    """Checked by evaluation: from every multiple of store_vector on, in every row."""
    layout = cute.parse(smem)
    plan = transposing().replace(smem=layout, store_vector=store_vector, src_mode=1, dst_mode=0)
    assert plan._smem_step() == step
    constant = all(
        layout((d + j, a)) == layout((d, a)) + j * 64
        for d in range(0, 64, store_vector)
        for a in range(64)
        for j in range(store_vector)
    )
    assert constant or step == 0


def test_shared_bytes_reach_beyond_the_offset():
    smem = cute.make_composed_layout(cute.make_swizzle(3, 2, 4), 4096, L("(8,12):(12,1)"))
    plan = transposing().replace(smem=smem)
    assert plan.shared_bytes >= 2 * max(smem(i) + 1 for i in range(96))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dst_shift": 3}, r"dst_shift is 3, but it must be a power of two"),
        ({"load_vector": 8}, r"accesses of src have 32 bytes, but 16 are the most"),
    ],
)
def test_plans_that_no_kernel_carries_out(changes, message):
    with pytest.raises(ValueError, match=message):
        contiguous().replace(**changes).run(aligned(64), aligned(64))


def test_a_plan_for_elements_of_another_size():
    with pytest.raises(ValueError, match=r"moves elements of 4 bytes, but src has elements of 8 \(Float64\)"):
        contiguous().run(np.zeros(64), np.zeros(64))


def test_steps_need_no_predicates():
    """Whether what lies behind an access is in memory is looked at in any case."""
    src, dst = np.arange(2048, dtype=np.float32), aligned(1024)
    plan = kernels.tiled_copy.plan(src[::2], dst)
    assert (plan.src_step, plan.predicated) == (2, False)
    assert plan.run(src[::2], dst, check=True)
    assert (dst == src[::2]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "bogus"}, r'kernel is \'bogus\', but it must be "staged" or "packed" where there is smem'),
        ({"smem": L("64:1")}, r"kernel is 'direct', but"),
        ({"tile": (0,)}, r"tile is \(0,\), but it must be a tuple of extents"),
        ({"tile": ()}, r"tile is \(\), but"),
        ({"load_vector": 0}, r"load_vector is 0, but it must be from 1 to"),
        ({"src_mode": 1}, r"src_mode is 1, but it must be from 0 to 0"),
        ({"dst_shift": None}, r"dst_shift is None, but it must be an integer"),
        ({"predicated": 1}, r"predicated is 1, but it must be True or False"),
        ({"load_tv": L("8:1")}, r"load_tv is 8:1, but it must be a static Layout of two modes"),
        ({"store_tv": L("(1048576,1048576):(1,1)")}, r"store_tv is .*, but it must be of at most 4194304"),
    ],
)
def test_fields_that_are_no_values_of_their_kind(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        contiguous().replace(**changes)


def test_a_plan_does_not_change():
    plan = contiguous()
    with pytest.raises(AttributeError, match=r"plan\.replace\(tile=\.\.\.\) gives another one"):
        plan.tile = (1,)
    with pytest.raises(AttributeError, match="tile stays"):
        del plan.tile
