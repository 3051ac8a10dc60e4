"""Layouts over coordinates: identity layouts, scaled bases, and what the algebra makes of them."""

from __future__ import annotations

import pytest

from golden.check import verify
from tilewright import cute


def identity(args):
    layout = cute.make_identity_layout(args["shape"])
    return {"r": layout, "values": [layout(i) for i in range(cute.size(layout))], "cosize": cute.cosize(layout)}


def evaluate(args):
    layout = args["layout"]
    return {"values": [layout(i) for i in range(cute.size(layout))], "cosize": cute.cosize(layout)}


def identity_slice(args):
    layout, offset = cute.slice_and_offset(args["coord"], cute.make_identity_layout(args["shape"]))
    return {"layout": layout, "offset": offset}


CALLS = {
    "make_identity_layout": identity,
    "basis_layout_eval": evaluate,
    "identity_slice": identity_slice,
    "make_basis_like": lambda args: cute.make_basis_like(args["shape"]),
}


@pytest.mark.parametrize("op", CALLS)
def test_basis(op):
    verify("basis", op, CALLS[op])


@pytest.mark.parametrize("op", ["identity_ops", "composition_basis_rhs"])
def test_algebra(op):
    verify("basis", op)
