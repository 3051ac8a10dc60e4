"""Evaluation: sizes, values at coordinates, and the way back from an offset to its coordinate."""

from __future__ import annotations

from golden import load, to_model
from golden.check import verify
from golden.convert import arguments, to_cute
from model import layouts as m
from tilewright import cute


def evaluate(args):
    layout = args["layout"]
    modes = range(cute.rank(layout))
    result = {name: getattr(cute, name)(layout) for name in ("size", "rank", "depth", "cosize")}
    result["values"] = [layout(i) for i in range(result["size"])]
    if isinstance(layout.shape, tuple):
        result["mode_sizes"] = [cute.size(layout, mode=[i]) for i in modes]
        result["mode_cosizes"] = [cute.cosize(layout, mode=[i]) for i in modes]
    return result


def test_layout_eval():
    verify("layout_eval", "layout_eval", evaluate)


def inverse_of_offsets(args):
    layout, indices = args["layout"], args["idx"]
    return {
        "idx": list(indices),
        "hier": [layout.get_hier_coord(i) for i in indices],
        "flat": [layout.get_flat_coord(i) for i in indices],
        "one_d": [layout.get_1d_coord(i) for i in indices],
    }


def test_layout_coords():
    verify("layout_eval", "layout_coords", inverse_of_offsets)


def coordinate_failures(family, op, layout_of):
    """The pairs of coordinate and value that each vector lists."""
    wrong = []
    for case in load(family)[op]:
        layout = layout_of(arguments(case))
        for coord, expected in case["result"]["coords"]:
            got = layout(to_cute(coord))
            if got != to_cute(expected):
                wrong.append(f"{case['id']} {layout}({coord}): got {got}, expected {expected}")
    return wrong


def test_coordinates_of_layouts():
    assert coordinate_failures("layout_eval", "layout_eval", lambda args: args["layout"]) == []


def test_coordinates_of_basis_layouts():
    assert coordinate_failures("basis", "basis_layout_eval", lambda args: args["layout"]) == []


def test_coordinates_of_identity_layouts():
    shapes = coordinate_failures("basis", "make_identity_layout", lambda args: cute.make_identity_layout(args["shape"]))
    assert shapes == []


def test_offsets_are_the_values():
    for case in load("layout_eval")["layout_eval"]:
        assert to_cute(case["args"]["layout"]).offsets().tolist() == case["result"]["values"], case["id"]


def test_model_agrees():
    """The model evaluates as CuTe does; every other verdict of the model rests on this."""
    for case in load("layout_eval")["layout_eval"]:
        layout, result = to_model(case["args"]["layout"]), to_model(case["result"])
        assert m.offsets(layout) == list(result["values"]), case["id"]
        assert [m.at(layout, i) for i in range(m.size(layout))] == list(result["values"]), case["id"]
        for coord, value in result["coords"]:
            assert m.at_coord(layout, coord) == value, case["id"]
