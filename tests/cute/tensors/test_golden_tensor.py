"""Tensors over a counting iterator and over coordinates, and the shared-memory atoms of warpgroup MMA."""

from __future__ import annotations

import pytest

from golden.check import verify
from model import laws, values
from model import layouts as m
from strategies import as_cute, as_model
from tilewright import cute


def tensor(args):
    """`shape` means an identity tensor, `layout` and `offset` a tensor that counts."""
    if "shape" in args:
        return cute.make_identity_tensor(args["shape"])
    return cute.make_tensor(args.get("offset", 0), args["layout"])


def view(result):
    origin = "coord" if isinstance(result.iterator, tuple) else "offset"
    return {origin: result.iterator, "layout": result.layout}


def proj(args):
    return {"proj": args["proj"]} if "proj" in args else {}


CALLS = {
    "local_tile": lambda a: cute.local_tile(tensor(a), a["tiler"], a["coord"], **proj(a)),
    "local_partition": lambda a: cute.local_partition(tensor(a), a["tile"], a["index"], **proj(a)),
    "inner_partition": lambda a: cute.inner_partition(tensor(a), a["tiler"], a["coord"]),
    "outer_partition": lambda a: cute.outer_partition(tensor(a), a["tiler"], a["coord"]),
    "tensor_slice": lambda a: tensor(a)[a["coord"]],
    "tensor_domain_offset": lambda a: cute.domain_offset(a["coord"], tensor(a)),
}


def division(args, result):
    """The law of the division behind a tile or partition, for the answer that CuTe gives."""
    tiler = args["tiler"] if "tiler" in args else tuple(m.product(s) for s in args["tile"].shape)
    if "proj" in args:
        tiler = tuple(t for t, keep in zip(tiler, args["proj"], strict=True) if keep is not None)
    layout = values.identity(args["shape"]) if "shape" in args else args["layout"]
    with cute.unchecked():
        divided = cute.zipped_divide(as_cute(layout), as_cute(tiler))
    return laws.divide("zipped", layout, tiler, as_model(divided))


LAWS = dict.fromkeys(("local_tile", "local_partition", "inner_partition", "outer_partition"), division)


@pytest.mark.parametrize("op", CALLS)
def test_tensor(op):
    verify("tensor", op, lambda args: view(CALLS[op](args)), LAWS.get(op))


def test_local_tile_of_dynamic_layouts():
    verify("dynamic", "local_tile", lambda args: view(CALLS["local_tile"](args)), division)


# Swizzle bits and extent in bits of the atoms that warpgroup MMA reads from shared memory.
ATOMS = {"INTER": (0, 128), "SW32": (1, 256), "SW64": (2, 512), "SW128": (3, 1024)}


def bit_layout(args):
    extent = ATOMS[args["swizzle"]][1]
    if args["major"] == "K":
        return cute.make_layout((8, extent), stride=(extent, 1))
    return cute.make_layout((extent, 8), stride=(1, extent))


def atom(args):
    """The swizzle counts bytes, the layout elements of the type."""
    return {
        "swizzle": cute.make_swizzle(ATOMS[args["swizzle"]][0], 4, 3),
        "layout": cute.recast_layout(args["bits"], 1, bit_layout(args)),
    }


def tiled_atom(args):
    parts = atom(args)
    block = cute.make_composed_layout(parts["swizzle"], 0, parts["layout"])
    result = cute.tile_to_shape(block, args["trg_shape"], args["order"])
    return {"swizzle": result.inner, "layout": result.outer, "values": [result(i) for i in args["idx"]]}


def counting_elements(args):
    """The same atom with a swizzle of elements: recast it whole, from bits."""
    swizzle = cute.make_swizzle(ATOMS[args["swizzle"]][0], 7, 3)
    return cute.recast_layout(args["bits"], 1, cute.composition(swizzle, bit_layout(args)))


SMEM = {"gmma_smem_atom": atom, "gmma_tile_to_shape": tiled_atom, "position_independent": counting_elements}


@pytest.mark.parametrize("op", SMEM)
def test_smem_atoms(op):
    verify("smem_atoms", op, SMEM[op])
