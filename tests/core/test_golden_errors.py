"""What CuTe refuses to compile: refused here too, unless the answer satisfies the law of the operation."""

from __future__ import annotations

import contextlib
from collections import defaultdict

import pytest

import tilewright as tw
from golden import load, to_model
from golden.check import nonzero
from golden.convert import arguments, components, parse, to_cute, to_json, to_text
from golden.operations import CALLS, LAWS
from model import composed, laws, values
from model import layouts as m
from tilewright import cute

REFUSALS = (ValueError, TypeError)  # LayoutError is a ValueError


def swizzle(args, name="swizzle"):
    return cute.Swizzle(*args[name])


def swizzled(args):
    return cute.composition(swizzle(args), args["layout"])


def tensor(args):
    if "shape" in args:
        return cute.make_identity_tensor(args["shape"])
    return cute.make_tensor(args.get("offset", 0), args["layout"])


def partition(name, tiler):
    def call(args):
        result = getattr(cute, name)(tensor(args), args[tiler], args["index" if "index" in args else "coord"])
        return {"layout": result.layout}

    return call


def attribute(x, name):
    """Python's error for what does not exist, as one of the refusals."""
    try:
        return getattr(x, name)
    except AttributeError as error:
        raise TypeError(str(error)) from error


def evaluate(args):
    return [args["layout"](i) for i in range(cute.size(args["layout"]))]


def print_layout(args):
    cute.print_layout(args["layout"])


OPERATIONS = {
    **CALLS,
    "arith_tuple_add": lambda a: cute.make_identity_tensor((4, 4)).iterator + a["tuple"] + a["value"],
    "basis_add": lambda a: a["basis"] + a["value"],
    "basis_layout_eval": evaluate,
    "call": lambda a: a["layout"](a["coord"]),
    "complement_dynamic_stride": lambda a: cute.complement(parse(a["printed"])),
    "composed_inverse": lambda a: getattr(cute, a["op"])(swizzled(a)),
    "composition_identity": lambda a: cute.composition(cute.make_identity_layout(a["shape"]), a["b"]),
    "composition_layout_swizzle": lambda a: cute.composition(a["layout"], swizzle(a)),
    "composition_swizzle_swizzle": lambda a: cute.composition(swizzle(a, "a"), swizzle(a, "b")),
    "domain_distribute": lambda a: cute.domain_distribute(a["a"], parse(a["b_printed"])),
    "downcast_composed": lambda a: cute.downcast(swizzled(a), a["n"]),
    "inner_partition": partition("inner_partition", "tiler"),
    "left_inverse_dynamic": lambda a: cute.left_inverse(parse(a["printed"])),
    "local_partition": partition("local_partition", "tile"),
    "local_partition_index": partition("local_partition", "tile"),
    "local_tile": partition("local_tile", "tiler"),
    "make_swizzle": lambda a: cute.swizzle_from_masks(a["y"], a["z"]),
    "outer_partition": partition("outer_partition", "tiler"),
    "print_layout": print_layout,
    "stride_of_composed": lambda a: attribute(swizzled(a), "stride"),
    "swizzle": swizzle,
    "upcast_swizzle": lambda a: cute.upcast(swizzle(a), a["n"]),
}


def values_law(args, result):
    """The coordinates of a basis layout, as the model adds them up."""
    return laws.compare("value", [*map(components, result)], [*map(nonzero, m.offsets(args["layout"]))])


def equals(expected, got):
    return None if got == expected else laws.Broken(f"{got} is not {expected}")


def inverse_law(args, result):
    layout = {"swizzle": args["swizzle"], "offset": 0, "layout": args["layout"]}
    return getattr(composed, args["op"])(layout, result)


ERROR_LAWS = {
    **LAWS,
    "basis_layout_eval": values_law,
    "domain_distribute": lambda a, r: laws.same_function(values.domain_distribute(a["a"], int(a["b_printed"])), r),
    "round_up": lambda a, r: equals(values.round_up(a["a"], a["b"]), r),
    "composed_inverse": inverse_law,
    "composition_identity": lambda a, r: LAWS["composition"]({"a": values.identity(a["shape"]), "b": a["b"]}, r),
    "composition_layout_swizzle": lambda a, r: composed.layout_of_swizzle(a["layout"], a["swizzle"], r),
    "composition_swizzle_swizzle": lambda a, r: composed.swizzle_of_swizzle(a["a"], a["b"], r["swizzle"]),
}


def cases():
    """All rejects by operation; those of the dynamic family have it in front."""
    found = defaultdict(list)
    for name in ("errors", "random_rejections"):
        for case in load("errors")[name]:
            found[case["op"].removeprefix("dynamic/")].append(case)
    return found


CASES = cases()


def failure(op, case):
    call, law = OPERATIONS[op], ERROR_LAWS.get(op)
    try:
        got = call(arguments(case))
    except REFUSALS:
        return None
    if law is None:
        return f"accepted: {got}"
    try:
        broken = law(to_model(case["args"]), to_model(to_json(got)))
    except ValueError as error:  # the model has no function for what came back
        broken = error
    return f"accepted: {to_text(got)}, which breaks the law: {broken}" if broken else None


@pytest.mark.parametrize("op", CASES)
def test_rejects(op):
    wrong = [f"{case['id']} {case['args']}: {w}" for case in CASES[op] if (w := failure(op, case))]
    assert not wrong, f"{len(wrong)} of {len(CASES[op])} rejects\n" + "\n".join(wrong)


@pytest.mark.parametrize("op", CASES)
def test_rejects_do_no_harm_unchecked(op):
    """Without the checks of the laws there is an answer or one of the same errors."""
    for case in CASES[op]:
        with cute.unchecked(), contextlib.suppress(*REFUSALS):
            OPERATIONS[op](arguments(case))


def test_accepted_left_inverses():
    """CuTe compiles these three; an answer here must be a left inverse."""
    for case in load("errors")["unexpectedly_accepted"]:
        layout = to_cute(case["args"]["layout"])
        try:
            got = cute.left_inverse(layout)
        except tw.LayoutError:
            continue
        assert LAWS["left_inverse"](to_model(case["args"]), to_model(to_json(got))) is None, case["id"]
