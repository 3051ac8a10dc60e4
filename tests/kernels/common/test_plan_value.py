"""Plans as values: what each of their classes promises, whatever its kernel is."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from tilewright import Float32, kernels
from tilewright.devices import H200
from tilewright.kernels.common.plan_value import kinds_of
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import problem_of


def gemm_plan(arch, dtype=np.float16):
    x = np.zeros((256, 256), dtype)
    return kernels.gemm.plan(x, x, arch=arch)


def composite(*extents, **options):
    return choose_gemm(problem_of(*extents, Float32, **options), (16, 16, 16), H200)


PLANS = {
    "CopyPlan": lambda: kernels.tiled_copy.plan(np.zeros((64, 48), "i2").T, np.zeros((48, 64), "i2")),
    "GemmSimt": lambda: gemm_plan("sm_75"),
    "GemmSm80": lambda: gemm_plan("sm_80"),
    "GemmSm90": lambda: gemm_plan("sm_90a"),
    "ResidueGemm": lambda: composite(4096, 4097, 4096),
    "PaddedGemm": lambda: composite(4096, 4096, 4096, pads=(1, 1, 0)),
}


@pytest.fixture(params=PLANS)
def plan(request):
    found = PLANS[request.param]()
    assert type(found).__name__ == request.param
    return found


def test_a_plan_is_a_frozen_dataclass(plan):
    assert dataclasses.is_dataclass(plan)
    assert type(plan).__dataclass_params__.frozen
    assert repr(plan) == str(plan)
    for field in dataclasses.fields(plan):
        with pytest.raises(AttributeError, match=rf"^a plan does not change: plan.replace\({field.name}=...\) gives"):
            setattr(plan, field.name, getattr(plan, field.name))
        with pytest.raises(AttributeError, match=rf"^a plan does not change: {field.name} stays$"):
            delattr(plan, field.name)
    with pytest.raises(AttributeError, match=r"^a plan does not change"):
        plan.another = 1


def test_equal_fields_make_equal_plans(plan):
    assert plan.single_plans if hasattr(plan, "single_plans") else plan.name  # what is computed once is no field
    for same in (plan.replace(), copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))):
        assert same == plan
        assert hash(same) == hash(plan)
        assert str(same) == str(plan)
    assert plan != str(plan)


def test_what_is_computed_once_is_not_pickled(plan):
    plan = plan.replace()
    new = len(pickle.dumps(plan))
    assert [one.name for one in getattr(plan, "single_plans", (plan,))]
    assert vars(getattr(plan, "kernel_plan", plan))
    assert len(pickle.dumps(plan)) == new


def test_a_field_of_another_kind_is_named_with_what_it_must_be(plan):
    """Each annotation has a kind, which the plan's own value is of and an object of no type is not."""
    for name, kind in kinds_of(type(plan)).items():
        assert kind.accepts(getattr(plan, name)), name
        with pytest.raises(TypeError) as caught:
            plan.replace(**{name: NotImplemented})
        assert str(caught.value) == f"{type(plan).__name__}: {name} is NotImplemented, but it must be {kind.text}"


def test_an_unknown_field_is_named_with_those_there_are(plan):
    names = ", ".join(field.name for field in dataclasses.fields(plan))
    with pytest.raises(TypeError) as caught:
        plan.replace(colour=1, form=2)
    assert str(caught.value) == f"{type(plan).__name__}: no field named colour, form; the fields are {names}"


def test_a_missing_field_is_named(plan):
    with pytest.raises(TypeError, match=rf"{type(plan).__name__}.* missing .* keyword-only argument.*'problem'"):
        type(plan)()
