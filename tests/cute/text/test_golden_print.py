"""Printed text, byte for byte, but for the underscore by which CuTe C++ marks static integers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from golden import load
from golden.convert import to_cute
from tilewright import cute

TYPES = {"double": np.float64, "float": np.float32, "int": np.int32, "int64": np.int64}


def without_marks(text):
    return re.sub(r"_(?=-?\d)", "", text)


def layout(args):
    if "swizzle" in args:
        return cute.composition(cute.Swizzle(*args["swizzle"]), to_cute(args["layout"]))
    return to_cute(args["layout"])


@pytest.mark.parametrize("op", ["print_layout", "print_latex"])
def test_tables(op, capsys):
    for case in load("print")[op]:
        getattr(cute, op)(layout(case["args"]))
        assert capsys.readouterr().out == without_marks(case["result"]["text"]), case["id"]


def data(formula, dtype, count):
    """`data[i] = (a*i + b) * c`, the factor only for floating-point types."""
    a, b, c = re.fullmatch(r"data\[i\] = \((-?\d+)\*i \+ (-?\d+)\)(?: \* ([\d.]+))?", formula).groups()
    return ((int(a) * np.arange(count) + int(b)) * float(c or 1)).astype(dtype)


def tensor(args):
    if args["type"] == "counting_iterator<int>":
        return cute.make_tensor(args["offset"], to_cute(args["layout"]))
    values = data(args["data"], TYPES[args["type"]], cute.cosize(to_cute(args["layout"])))
    return cute.make_tensor(cute.runtime.from_dlpack(values).iterator, to_cute(args["layout"]))


def test_print_tensor(capsys):
    for case in load("print")["print_tensor"]:
        args = case["args"]
        cute.print_tensor(tensor(args), style="cpp", print_type=args.get("print_type", True))
        assert capsys.readouterr().out == without_marks(case["result"]["text"]), case["id"]


def test_str():
    """The text of tensors is CuTeDSL's, not that of CuTe C++."""
    for case in load("print")["print"]:
        args = case["args"]
        if "identity_shape" in args:
            x = cute.make_identity_layout(to_cute(args["identity_shape"]))
        elif "layout" in args and "tensor_offset" not in args:
            x = layout(args)
        else:
            continue
        assert str(x) == without_marks(case["result"]["text"]).replace("Sw<", "S<"), case["id"]
