"""CuTe's answers for layouts of static integers, and the model's verdict on each."""

from __future__ import annotations

import pytest

import tilewright as tw
from golden import HERE, load
from golden.check import difference, verify
from golden.convert import arguments
from tilewright import cute

FAMILIES = (
    "common",
    "construct",
    "coords",
    "int_tuple",
    "modes",
    "slice",
)


@pytest.mark.parametrize(("family", "op"), [(family, op) for family in FAMILIES for op in load(family)])
def test_static(family, op):
    verify(family, op)


@pytest.mark.parametrize("op", [op for op in load("dynamic") if op not in ("local_tile", "slice_and_offset")])
def test_dynamic(op):
    verify("dynamic", op)


def dynamic_coordinate(coord):
    if isinstance(coord, tuple):
        return tuple(map(dynamic_coordinate, coord))
    return None if coord is None else tw.Int32(coord)


@pytest.mark.parametrize("case", load("dynamic")["slice_and_offset"], ids=lambda case: case["id"])
def test_dynamic_slice_and_offset(case):
    """The vectors do not say whether the coordinate was static: one of the two gives CuTe's answer."""
    args = arguments(case)
    coords = (args["coord"], dynamic_coordinate(args["coord"]))
    answers = [tuple(cute.slice_and_offset(coord, args["layout"])) for coord in coords]
    wrong = [difference(answer, case["result"], case["printed"]) for answer in answers]
    assert None in wrong, wrong


def test_every_family_is_tested():
    operations = {"complement", "composition", "divide", "inverse", "product", "recast", "simplify"}
    elsewhere = {
        "basis",
        "dynamic",
        "errors",
        "layout_eval",
        "print",
        "smem_atoms",
        "swizzle",
        "tensor",
        "tiled_copy",
        "tiled_mma",
    }
    assert {path.name.partition(".")[0] for path in HERE.glob("*/*.json.gz")} == {*FAMILIES, *operations, *elsewhere}
