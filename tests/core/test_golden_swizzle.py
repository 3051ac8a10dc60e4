"""Swizzles and composed layouts."""

from __future__ import annotations

import pytest

import tilewright as tw
from golden import load, to_model
from golden.check import verify
from golden.operations import BY_MODE, CALLS, LAWS
from model import composed
from tilewright import cute


def swizzle(args, name="swizzle"):
    return cute.Swizzle(*args[name])


def swizzled(args):
    return cute.make_composed_layout(swizzle(args), args.get("offset", 0), args["layout"])


def composed_or_plain(args):
    """As the vectors were made: without an offset by composition, which drops a swizzle of no bits."""
    return swizzled(args) if args["offset"] else cute.composition(swizzle(args), args["layout"])


def model_swizzled(args):
    return {"swizzle": args["swizzle"], "offset": args.get("offset", 0), "layout": args["layout"]}


def evaluated(layout):
    size = cute.size(layout)
    values = [layout(i) for i in range(size)]
    return {"r": layout, "values": values, "size": size, "rank": cute.rank(layout), "cosize": cute.cosize(layout)}


def on_swizzled(args):
    """An operation on a composed layout works on its outer layout."""
    layout, name = composed_or_plain(args), BY_MODE.get(args["op"], args["op"])
    result = CALLS[name]({**args, "layout": layout, "a": layout, "block": layout})
    return result if name == "complement" else evaluated(result)


def on_swizzled_law(args, result):
    law = LAWS.get(BY_MODE.get(args["op"], args["op"]))
    outer = composed.outer(result["r"]) if isinstance(result, dict) else result
    return law({**args, "a": args["layout"], "block": args["layout"]}, outer) if law else None


def sliced(args):
    """`static_coord` tells whether the integers of the coordinate were static."""
    coord = args["coord"] if args["static_coord"] else dynamic(args["coord"])
    layout, offset = cute.slice_and_offset(coord, composed_or_plain(args))
    return {"layout": layout, "offset": offset}


def dynamic(coord):
    if isinstance(coord, tuple):
        return tuple(dynamic(c) for c in coord)
    return None if coord is None else tw.Int32(coord)


def inverse(args):
    return evaluated(getattr(cute, args["op"])(cute.composition(swizzle(args), args["layout"])))


def inverse_law(args, result):
    return getattr(composed, args["op"])(model_swizzled(args), result["r"])


def max_common(args):
    layout = cute.composition(swizzle(args), args["a"])
    return {"layout": cute.max_common_layout(layout, args["b"]), "vector": cute.max_common_vector(layout, args["b"])}


def max_common_law(args, result):
    layout = {"swizzle": args["swizzle"], "offset": 0, "layout": args["a"]}
    return composed.max_common(layout, args["b"], result["layout"])


def general(args):
    return evaluated(cute.make_composed_layout(args["layout_a"], args["offset"], args["layout_b"]))


def recast(args, layout):
    return cute.recast_layout(args["new_bits"], args["old_bits"], layout)


OPERATIONS = {
    "swizzle_apply": (lambda a: {"values": [swizzle(a)(i) for i in a["offsets"]]}, None),
    "make_swizzle": (lambda a: cute.swizzle_from_masks(a["y"], a["z"]), None),
    "composition_swizzle_swizzle": (
        lambda a: cute.composition(swizzle(a, "a"), swizzle(a, "b")),
        lambda a, r: composed.swizzle_of_swizzle(a["a"], a["b"], r["swizzle"]),
    ),
    "composition_swizzle_layout": (lambda a: evaluated(cute.composition(swizzle(a), a["layout"])), None),
    "make_composed_layout": (lambda a: evaluated(swizzled(a)), None),
    "make_composed_layout_general": (general, None),
    "composition_layout_swizzle": (
        lambda a: cute.composition(a["layout"], swizzle(a)),
        lambda a, r: composed.layout_of_swizzle(a["layout"], a["swizzle"], r),
    ),
    "upcast_swizzle": (
        lambda a: cute.upcast(swizzle(a), a["n"]),
        lambda a, r: composed.recast_swizzle(a["swizzle"], 1, a["n"], r["swizzle"]),
    ),
    "downcast_swizzle": (
        lambda a: cute.downcast(swizzle(a), a["n"]),
        lambda a, r: composed.recast_swizzle(a["swizzle"], a["n"], 1, r["swizzle"]),
    ),
    "recast_swizzle": (
        lambda a: recast(a, swizzle(a)),
        lambda a, r: composed.recast_swizzle(a["swizzle"], a["old_bits"], a["new_bits"], r["swizzle"]),
    ),
    "recast_composed": (
        lambda a: evaluated(recast(a, swizzled(a))),
        lambda a, r: composed.recast(a, a["old_bits"], a["new_bits"], r["r"]),
    ),
    "composed_ops": (on_swizzled, on_swizzled_law),
    "composed_slice": (
        sliced,
        lambda a, r: composed.slice_and_offset(model_swizzled(a), a["coord"], r["layout"], r["offset"]),
    ),
    "composed_inverse": (inverse, inverse_law),
    "max_common_swizzled": (max_common, max_common_law),
}


@pytest.mark.parametrize("op", OPERATIONS)
def test_swizzle(op):
    verify("swizzle", op, *OPERATIONS[op])


def test_every_operation_is_tested():
    assert set(OPERATIONS) == set(load("swizzle"))


def test_swizzle_text():
    for case in load("swizzle")["swizzle_apply"]:
        bits, base, shift = case["args"]["swizzle"]
        expected = f"S<{bits},{base},{shift}>" if bits else "S<0,4,3>"
        assert str(cute.make_swizzle(bits, base, shift)) == expected


@pytest.mark.parametrize("op", ["composition_swizzle_layout", "make_composed_layout", "make_composed_layout_general"])
def test_model_agrees(op):
    for case in load("swizzle")[op]:
        result = to_model(case["result"])
        assert composed.values(result["r"]) == list(result["values"]), case["id"]
