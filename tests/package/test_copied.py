"""copy, deepcopy and pickle of public objects: each gives an object that says the same, or says why there is none."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from tilewright import AddressSpace, Float16, Float32, Int32, LayoutError, analysis, cute, kernels
from tilewright.cute import nvgpu
from tilewright.cute.runtime import from_dlpack, make_ptr

A = np.arange(24, dtype=np.float32).reshape(4, 6)
LAYOUT = cute.make_layout((4, 6))
ATOM = cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float32)
TILED_COPY = cute.make_tiled_copy_tv(ATOM, cute.make_layout((4, 1)), cute.make_layout((1, 2)))
MMA = nvgpu.MmaUniversalOp(Float32)
TILED_MMA = cute.make_tiled_mma(MMA, (4, 4, 1))
PLAN = kernels.gemm.plan(A, A)
COPY_PLAN = kernels.tiled_copy.plan(A, A.copy())
SWIZZLED = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))


def refusal() -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        cute.composition(cute.parse("(3,4):(4,1)"), cute.parse("4:2"))
    return caught.value


VALUES = [
    *(LAYOUT, SWIZZLED, cute.make_swizzle(3, 4, 3), cute.E(0), Int32(3), Float32(3), cute.Ratio(1, 2)),
    *(cute.make_ptr(Float32, 4096), make_ptr(Float32, 4096), cute.make_identity_tensor((2, 3)), AddressSpace.gmem),
    *(nvgpu.CopyUniversalOp(), ATOM, TILED_COPY, TILED_COPY.get_slice(1), MMA, cute.make_mma_atom(MMA), TILED_MMA),
    *(TILED_MMA.get_slice(1), PLAN, COPY_PLAN, PLAN.problem, PLAN.run(A, A, check=True)),
    *(COPY_PLAN.run(A, A.copy(), check=True), cute.explain("composition", LAYOUT, LAYOUT), cute.show(LAYOUT)),
    *(cute.is_admissible(LAYOUT, 23), cute.equivalent(LAYOUT, cute.make_layout((4, 5))), refusal()),
    cute.explain("composition", LAYOUT, cute.make_layout(Int32(2))).condition,
    *(analysis.analyze(LAYOUT, Float32), PLAN.analyze(), analysis.warp_access([4 * i for i in range(32)], 4)),
    *(analysis.box_access(cute.make_layout((64, 64)), Float16, (64, 8), (0, 0)), TILED_COPY.layout_tv_tiled),
    *(analysis.swizzle_mode(SWIZZLED, Float16),),
]  # fmt: skip
WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", VALUES, ids=lambda x: type(x).__name__)
def test_a_value_is_copied(value, way):
    found = WAYS[way](value)
    assert type(found) is type(value)
    assert (str(found), repr(found)) == (str(value), repr(value))


@pytest.mark.parametrize("way", WAYS)
def test_a_verdict_keeps_its_reason_and_witness_and_an_error_its_attributes(way):
    answer = cute.equivalent(LAYOUT, cute.make_layout((4, 6), stride=(6, 1)))
    found = WAYS[way](answer)
    assert (bool(found), found.holds, found.reason, found.witness) == (False, False, answer.reason, answer.witness)
    assert found.witness is not None
    error = WAYS[way](refusal())
    assert (error.operation, error.counterexample) == ("composition", (2, 1, 5))


VIEWS = {
    "imported": lambda: from_dlpack(A.copy()),
    "tensor": lambda: cute.make_tensor(from_dlpack(A.copy()).iterator, LAYOUT),
    "registers": lambda: cute.make_rmem_tensor((2, 2), Float32),
}


@pytest.mark.parametrize("kind", VIEWS)
def test_a_copy_of_a_tensor_is_a_view_of_its_memory(kind):
    tensor = VIEWS[kind]()
    view = copy.copy(tensor)
    assert (type(view), str(view)) == (type(tensor), str(tensor))
    view[0] = 99
    assert tensor[0] == 99


def test_a_copy_of_an_imported_tensor_is_marked_alone():
    tensor = from_dlpack(A, use_32bit_stride=True)
    before = str(tensor.layout)
    view = copy.copy(tensor).mark_layout_dynamic()
    assert (str(tensor.layout), str(view.layout)) == (before, "(?,?):(?,1)")


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
@pytest.mark.parametrize("kind", [*VIEWS, "pointer", "values"])
def test_memory_is_not_copied_and_the_error_says_what_to_copy(kind, way):
    if kind in VIEWS:
        value = VIEWS[kind]()
    else:
        value = from_dlpack(A).iterator if kind == "pointer" else kernels.visualize_tv(A, LAYOUT)
    with pytest.raises(TypeError, match=r"^a tensor is a view of memory, .*: copy or pickle the array .*from_dlpack"):
        WAYS[way](value)
