"""Wavefronts of accesses to shared memory: known ones, a model, and those of the plans."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copy_plans import instantiations
from tilewright import cute
from tilewright.analysis.bank_conflicts import coordinate, wavefronts, wavefronts_of
from tilewright.kernels.kernel import kernel_of

L = cute.parse
WARP = range(32)
PLANS = dict(instantiations())
STAGED = {name: plan for name, plan in PLANS.items() if plan.kernel == "staged"}
PACKED = {name: plan for name, plan in PLANS.items() if plan.kernel == "packed"}


@pytest.mark.parametrize(
    ("addresses", "width", "expected"),
    [
        ([4 * lane for lane in WARP], 4, 1),
        ([4 * (31 - lane) for lane in WARP], 4, 1),
        ([0] * 32, 4, 1),  # one word for all
        ([4 * (lane // 2) for lane in WARP], 4, 1),
        ([8 * lane for lane in WARP], 4, 2),
        ([16 * lane for lane in WARP], 4, 4),
        ([128 * lane for lane in WARP], 4, 32),
        ([132 * lane for lane in WARP], 4, 1),  # a row of 32 words and one of padding
        ([12 * lane for lane in WARP], 4, 1),  # an odd number of words
        (list(WARP), 1, 1),
        ([2 * lane for lane in WARP], 2, 1),
        ([128 * lane for lane in WARP], 1, 32),
        ([129 * lane for lane in WARP], 1, 4),
        ([8 * lane for lane in WARP], 8, 2),
        ([128 * lane for lane in WARP], 8, 32),
        ([136 * lane for lane in WARP], 8, 2),
        ([16 * lane for lane in WARP], 16, 4),
        ([128 * (lane % 8) + 16 * (lane % 8) for lane in WARP], 16, 4),
        ([128 * lane for lane in WARP], 16, 32),
        ([4 * lane for lane in range(7)], 4, 1),
        ([], 4, 0),
    ],
)
def test_known_accesses(addresses, width, expected):
    assert wavefronts_of(addresses, width) == expected


@given(st.sampled_from((1, 2, 4, 8, 16)), st.lists(st.integers(0, 300), max_size=32))
def test_model(width, indices):
    """128 bytes at a time; each bank gives one word a wavefront, to all that want it."""
    addresses = [index * width for index in indices]
    found = wavefronts_of(addresses, width, "store")
    lanes = 128 // max(width, 4)
    expected = 0
    while addresses:
        banks = defaultdict(set)
        for address in addresses[:lanes]:
            for byte in range(address, address + width):
                banks[byte // 4 % 32].add(byte // 128)
        expected += max(map(len, banks.values()))
        addresses = addresses[lanes:]
    assert found == expected


def test_wavefronts_of_a_layout():
    rows, columns = (L("(32,4):(4@0,1@0)"), L("(32,4):(1@1,1@0)"))
    plain, padded = L("(128,32):(1,128)"), L("(128,32):(1,132)")
    assert wavefronts(plain, rows, 4, 4, 4) == 4
    assert wavefronts(plain, rows, 4, 1, 4) == 16  # one by one, with a step of four words
    assert wavefronts(plain, columns, 4, 4, 4) == 32
    assert wavefronts(padded, columns, 4, 4, 4) == 4
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 2, 5), 0, plain)
    assert wavefronts(swizzled, columns, 4, 4, 4) == 4
    assert wavefronts(swizzled, L("(8,4):(1@1,1@0)"), 4, 4, 4) == 1  # fewer threads than a warp


def test_coordinates_have_the_modes_of_the_layout():
    assert coordinate(L("(4,2):(1@0,1@1)"), 3, 1, L("(4,2,5):(1,4,8)")) == (3, 1, 0)
    assert coordinate(L("(4,2):(1,4)"), 3, 1, L("8:1")) == 7
    assert coordinate(L("(4,2):(1,4)"), 3, 1, L("(8,3):(1,8)")) == (7, 0)


def all_wavefronts(smem, tv, values, width, size):
    """Those of all warps, for accesses that begin at these values; and how many there would be without conflicts."""
    threads, found, least = cute.size(tv, mode=[0]), 0, 0
    for warp in range(0, threads, 32):
        lanes = range(warp, min(warp + 32, threads))
        for value in values:
            addresses = [smem(coordinate(tv, lane, value, smem)) * size for lane in lanes]
            found += wavefronts_of(addresses, width * size)
            least += -(-len(lanes) * width * size // 128)
    return found, least


@pytest.mark.parametrize("name", [name for name in STAGED if name.startswith(("transpose", "ragged", "NCHW", "NHWC"))])
def test_plans_meet_few_conflicts(name):
    plan = STAGED[name]
    size, loads, stores = plan.problem.element_bytes, *(cute.size(tv, mode=[1]) for tv in (plan.load_tv, plan.store_tv))
    put = all_wavefronts(plan.smem, plan.load_tv, range(0, loads, plan.smem_store), plan.smem_store, size)
    first = [v for v in range(stores) if v // plan.store_vector % plan.smem_load == 0]
    taken = all_wavefronts(plan.smem, plan.store_tv, first, plan.smem_load, size)
    assert put[0] == put[1]
    assert taken[0] <= (3 if "3 channels" in name else 2) * taken[1]
    assert taken[0] == taken[1] or not name.startswith(("transpose, 16", "transpose, 32", "transpose, 64"))


@pytest.mark.parametrize("name", PACKED)
def test_packed_plans_meet_few_conflicts(name):
    """What is packed has no room for padding: four threads of a warp may meet in a bank, of a common copy only two."""
    plan, most = PACKED[name], 2 if name.startswith("NHWC") else 4
    shared = [one for one in kernel_of(plan).accesses(plan, (0, 0)).instructions if one.memory == "shared"]
    assert {"put into shared", "take from shared"} <= {one.name for one in shared}
    for one in shared:
        assert one.ideal_wavefronts <= one.wavefronts <= most * one.ideal_wavefronts, one.name
