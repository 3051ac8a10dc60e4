"""What check_copy says of broken copy plans, kind by kind and against a model."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from host_plans import L, at, broken_copies, counts, model, numbers, plan_of
from tilewright import cute
from tilewright._core import host


@given(broken_copies())
def test_any_broken_plan_is_seen_through(copy):
    _, memory, dst, plan = copy
    untouched = np.ones(memory.shape, bool)
    memory[...] = 7
    dst[...] = 8
    untouched[memory == 8] = False
    found = counts(host.check_copy(**plan))
    assert found == model(plan)
    assert (memory[untouched] == 7).all()
    checked = memory.copy()
    dst[...] = 8
    try:
        host.run_copy(**plan)
    except ValueError:
        assert (dst == 8).all()
        return
    # What run_copy accepts it does in an order of its own, which shows in races only.
    assert not found.keys() & {"outside_shared", "outside_tile"}
    if not found.keys() & {"wrong", "read_before_write", "shared_written_twice"}:
        np.testing.assert_array_equal(memory, checked)
    assert (memory[untouched] == 7).all()


def findings(plan, **options):
    return {
        kind: (found["count"], found["first"])
        for kind, found in host.check_copy(**plan, **options).items()
        if found["count"]
    }


def test_never_written():
    src, dst = numbers((10,)), np.zeros(10, "i4")
    plan = plan_of(src, dst, tile=(8,), load_tv=L("(3,2):(1@0,4@0)"))
    assert findings(plan) == {"never_written": (2, [(3,), (7,)])}
    host.run_copy(**plan)
    assert dst.tolist() == [1, 2, 3, 0, 5, 6, 7, 0, 9, 10]


def test_written_twice():
    src, dst = numbers((4, 6)), np.zeros((4, 6), "i4")
    plan = plan_of(src, dst, tile=(3, 4), load_tv=L("(4,4):(1@1,1@0)"))
    twice = [(3, 0), (3, 1), (3, 2), (3, 3)]
    assert findings(plan) == {"written_twice": (4, twice), "outside_tile": (4, twice)}


def staged(src, dst, **fields):
    """Rows of 8, staged by 4 threads."""
    tv = L("(4,2):(1@0,4@0)")
    return plan_of(src, dst, **{"tile": (8,), "load_tv": tv, "store_tv": tv, "smem": L("8:1"), **fields})


def test_read_before_write():
    src, dst = numbers((10,)), np.zeros(10, "i4")
    plan = staged(src, dst, load_tv=L("(3,2):(1@0,4@0)"))
    # The second CTA finds what the first one left there: it is an error all the same.
    assert findings(plan) == {"read_before_write": (2, [(3,), (7,)])}


def test_race_in_shared_memory():
    src, dst = numbers((8,)), np.zeros(8, "i4")
    plan = staged(src, dst, smem=L("(4,2):(1,3)"))
    assert findings(plan) == {"wrong": (1, [(4,)]), "shared_written_twice": (1, [(3,)])}
    plan = staged(src, dst, load_tv=L("(4,(2,2)):(1@0,(4@0,0))"))
    assert findings(plan) == {"shared_written_twice": (8, [(t + v,) for t in range(4) for v in (0, 4)])}


def test_outside_of_shared_memory():
    src, dst = numbers((8,)), np.zeros(8, "i4")
    for smem in (L("7:1"), cute.make_composed_layout(cute.make_swizzle(1, 0, 1), 2, L("8:1")), L("8:-1")):
        assert "outside_shared" in findings(staged(src, dst, smem=smem))
    assert findings(staged(src, dst, smem=L("7:1"))) == {"outside_shared": (2, [(7,), (7,)])}


def test_outside_of_the_tile():
    src, dst = numbers((8,)), np.zeros(8, "i4")
    plan = plan_of(src, dst, tile=(4,), load_tv=L("(2,2):(1@0,-2@0)"))
    assert findings(plan)["outside_tile"] == (2, [(-2,), (-1,)])


def test_accesses_that_are_no_neighbours():
    src, dst = numbers((8,)), np.zeros(8, "i4")
    plan = plan_of(src, dst, tile=(8,), load_tv=L("(2,4):(1@0,2@0)"), load_vector=4, store_vector=2)
    assert findings(plan) == {"not_contiguous": (6, [(0,), (1,), (0,), (4,), (1,), (5,)])}
    wide = np.zeros(16, "i4")
    plan = plan_of(src, wide[::2], tile=(8,), load_tv=L("(2,4):(4@0,1@0)"), store_vector=4)
    assert findings(plan) == {"not_contiguous": (2, [(0,), (4,)])}


def test_misaligned_accesses():
    src, dst = at((1, 16), "i4", 1), at((1, 16), "i4", 2)
    plan = plan_of(src[0], dst[0], tile=(8,), load_tv=L("(2,4):(4@0,1@0)"), load_vector=4, store_vector=2)
    assert findings(plan) == {"misaligned_load": (4, [(0,), (4,), (8,), (12,)])}
    shifted = plan | {"load_vector": 1, "store_vector": 4}
    assert findings(shifted) == {"misaligned_store": (4, [(0,), (4,), (8,), (12,)])}
    assert findings(shifted | {"dst_shift": 4}) == {}
    plan = plan_of(src[0, :7], dst[0, :7], tile=(8,), load_tv=L("(2,4):(4@0,1@0)"), load_vector=4)
    assert findings(plan) == {"misaligned_load": (1, [(0,)])}  # the second access is done element by element


def test_wrong_elements():
    src, dst = numbers((8,)), np.zeros(8, "i4")
    plan = staged(src, dst, smem=L("(4,2):(1,3)"), load_tv=L("(3,2):(1@0,4@0)"))
    assert findings(plan)["wrong"][0] == 1


def test_check_without_memory():
    plan = plan_of(numbers((10,)), np.zeros(10, "i4"), tile=(8,), load_tv=L("(4,2):(1@0,4@0)"))
    assert findings(plan | {"src_address": 0, "dst_address": 0}, move=False) == {}
    dst = np.zeros(10, "i4")
    assert findings(plan | {"dst_address": dst.ctypes.data}, move=False) == {}
    assert not dst.any()
