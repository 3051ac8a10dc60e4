"""For every operation of the vectors: how it is called here, and the law that its result must satisfy.

A call takes the arguments as tilewright's objects, a law takes arguments and result as the model's. An operation
without a law of its own (a constructor, a selection of modes) is only compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from model import laws, values
from model.layouts import cosize
from tilewright import cute

Args = dict[str, Any]
Call = Callable[[Args], Any]
Law = Callable[[Args, Any], "laws.Broken | None"]

SIDES = {"LayoutLeft": "left", "LayoutRight": "right"}
CALLS: dict[str, Call] = {}
LAWS: dict[str, Law] = {}


def operation(name: str, call: Call, law: Law | None = None) -> None:
    CALLS[name] = call
    if law is not None:
        LAWS[name] = law


def right(args: Args) -> Any:
    """The right operand, whose name differs between the families."""
    return args["tiler"] if "tiler" in args else args["b"]


def left(args: Args) -> Any:
    return args["block"] if "block" in args else args["a"]


def law_of(name: str, args: Args, r: Any) -> laws.Broken | None:
    law = LAWS.get(name)
    return law(args, r) if law else None


def same_function(args: Args, r: Any) -> laws.Broken | None:
    return laws.same_function(args["layout"], r)


# simplify
operation("coalesce", lambda a: cute.coalesce(a["layout"]), same_function)
operation("coalesce_by_mode", lambda a: cute.coalesce(a["layout"], a["profile"]), same_function)
operation("flatten", lambda a: cute.flatten(a["layout"]), same_function)
operation("unflatten", lambda a: cute.unflatten(a["layout"], a["profile"]), same_function)
operation("filter", lambda a: cute.filter(a["layout"]), lambda a, r: laws.same_image(a["layout"], r))
operation("filter_by_mode", lambda a: cute.filter(a["layout"], a["profile"]))
operation("filter_zeros", lambda a: cute.filter_zeros(a["layout"]), lambda a, r: laws.same_image(a["layout"], r))
operation("filter_zeros_profile", lambda a: cute.filter_zeros(a["layout"], a["profile"]))
operation("nullspace", lambda a: cute.nullspace(a["layout"]), lambda a, r: laws.nullspace(a["layout"], r))

# composition
operation(
    "composition",
    lambda a: cute.composition(a["a"], a["b"]),
    lambda a, r: laws.composition_tiler(a["a"], a["b"], r),
)
for alias in ("composition_int", "composition_static_rhs", "composition_basis_rhs"):
    operation(alias, CALLS["composition"], LAWS["composition"])
operation(
    "composition_by_mode",
    lambda a: cute.composition(a["a"], a["tiler"]),
    lambda a, r: laws.composition_tiler(a["a"], a["tiler"], r),
)
operation(
    "with_shape",
    lambda a: cute.with_shape(a["a"], a["shape"]),
    lambda a, r: laws.composition(a["a"], values.compact(a["shape"]), r),
)

# complement, inverses
operation(
    "complement",
    lambda a: cute.complement(a["layout"], a["cotarget"]),
    lambda a, r: laws.complement(a["layout"], a["cotarget"], r),
)
operation("complement_shape", CALLS["complement"], LAWS["complement"])
operation(
    "complement_default",
    lambda a: cute.complement(a["layout"]),
    lambda a, r: laws.complement(a["layout"], cosize(a["layout"]), r),
)
operation("right_inverse", lambda a: cute.right_inverse(a["layout"]), lambda a, r: laws.right_inverse(a["layout"], r))
operation("left_inverse", lambda a: cute.left_inverse(a["layout"]), lambda a, r: laws.left_inverse(a["layout"], r))
operation(
    "max_common_layout",
    lambda a: {"layout": cute.max_common_layout(a["a"], a["b"]), "vector": cute.max_common_vector(a["a"], a["b"])},
    lambda a, r: laws.max_common(a["a"], a["b"], r["layout"]),
)
operation(
    "max_common",
    lambda a: (cute.max_common_layout(a["a"], a["b"]), cute.max_common_vector(a["a"], a["b"])),
    lambda a, r: laws.max_common(a["a"], a["b"], r[0]),
)
operation("max_alignment", lambda a: cute.max_alignment(a["layout"]))


# divide, product
def divide(form: str) -> None:
    function = getattr(cute, f"{form}_divide")
    operation(
        f"{form}_divide",
        lambda a: function(a["a"], a["tiler"]),
        lambda a, r: laws.divide(form, a["a"], a["tiler"], r),
    )


def multiply(form: str) -> None:
    function = getattr(cute, f"{form}_product")
    operation(
        f"{form}_product",
        lambda a: function(a["a"], right(a)),
        lambda a, r: laws.multiply(form, a["a"], right(a), r),
    )


def paired(kind: str) -> None:
    function = getattr(cute, f"{kind}_product")
    operation(
        f"{kind}_product",
        lambda a: function(left(a), right(a)),
        lambda a, r: laws.paired_product(kind, left(a), right(a), r),
    )


for name in ("logical", "zipped", "tiled", "flat"):
    divide(name)
    multiply(name)
for name in ("blocked", "raked"):
    paired(name)


def layout_tv(a: Args) -> Any:
    tiler, tv = cute.make_layout_tv(a["thr"], a["val"])
    return {"layout_mn": cute.raked_product(a["thr"], a["val"]), "tiler_mn": tiler, "layout_tv": tv}


def order_of(a: Args) -> Any:
    """The order of tile_to_shape mode by mode; the default is column-major."""
    rank = len(a["trg_shape"]) if isinstance(a["trg_shape"], tuple) else 1
    order = a.get("order", tuple(range(rank)))
    return tuple(reversed(range(rank))) if order == "LayoutRight" else order


operation("make_layout_tv", layout_tv, lambda a, r: laws.layout_tv(a["thr"], a["val"], r))
operation(
    "tile_to_shape",
    lambda a: cute.tile_to_shape(a["block"], a["trg_shape"], SIDES.get(a.get("order"), a.get("order"))),
    lambda a, r: laws.tile_to_shape(a["block"], a["trg_shape"], order_of(a), r),
)

# recast
operation("upcast", lambda a: cute.upcast(a["layout"], a["n"]), lambda a, r: laws.upcast(a["layout"], a["n"], r))
operation("downcast", lambda a: cute.downcast(a["layout"], a["n"]), lambda a, r: laws.downcast(a["layout"], a["n"], r))
operation(
    "recast_layout",
    lambda a: cute.recast_layout(a["new_bits"], a["old_bits"], a["layout"]),
    lambda a, r: laws.recast(a["layout"], a["old_bits"], a["new_bits"], r),
)

# construct
operation("make_layout_left", lambda a: cute.make_layout_left(a["shape"]))
operation("make_layout_right", lambda a: cute.make_layout_right(a["shape"]))
operation("compact_major_from", lambda a: cute.compact_major(a["shape"], a["current"], SIDES[a["major"]]))
operation(
    "make_ordered_layout",
    lambda a: cute.make_ordered_layout(a["shape"], a["order"]),
)
operation("make_layout_like", lambda a: cute.make_layout_like(a["layout"]))
operation("make_fragment_like", lambda a: cute.make_fragment_like_layout(a["layout"]))
operation("domain_distribute", lambda a: cute.domain_distribute(a["shape"], a["b"]))


# modes
def one_zero() -> Any:
    return cute.make_layout(1, stride=0)


def pad(function: Callable[..., Any]) -> Call:
    return lambda a: function(a["layout"], a.get("x", one_zero()), *([a["n"]] if "n" in a else []))


operation("get", lambda a: cute.get(a["layout"], mode=list(a["path"])))
operation("select", lambda a: cute.select(a["layout"], mode=list(a["modes"])))
operation("take", lambda a: cute.take(a["layout"], a["begin"], a["end"]))
operation(
    "group",
    lambda a: cute.group_modes(a["layout"], a["begin"], *([a["end"]] if a.get("end", -1) != -1 else [])),
)
operation("append", pad(cute.append))
operation("prepend", pad(cute.prepend))
operation("replace", lambda a: cute.replace(a["layout"], a["n"], a["x"]))
operation("make_layout_concat", lambda a: cute.make_layout(list(a["layouts"])))
operation("zip", lambda a: cute.zip_layouts(*(a["layouts"] if "layouts" in a else [a["layout"]])))


# slice
def layout_and_offset(pair: Any) -> Any:
    return {"layout": pair[0], "offset": pair[1]}


def slice_law(args: Args, r: Any) -> laws.Broken | None:
    layout, offset = (r["layout"], r["offset"]) if isinstance(r, dict) else r
    return laws.slice_and_offset(args["layout"], args["coord"], layout, offset)


operation("slice", lambda a: cute.slice_(a["layout"], a["coord"]))
operation("dice", lambda a: cute.dice(a["layout"], a["coord"]))
operation("slice_and_offset", lambda a: layout_and_offset(cute.slice_and_offset(a["coord"], a["layout"])), slice_law)
operation("domain_offset", lambda a: layout_and_offset(cute.domain_offset(a["coord"], a["layout"])))
operation("call_with_underscore", lambda a: a["layout"](a["coord"]))

# coords
operation("idx2crd", lambda a: cute.idx2crd(a["idx"], a["shape"], *([a["stride"]] if "stride" in a else [])))
operation("crd2idx", lambda a: cute.crd2idx(a["coord"], shape_or_layout(a)))
operation("crd2crd", lambda a: cute.crd2crd(a["coord"], a["src_shape"], a["dst_shape"]))


def shape_or_layout(a: Args) -> Any:
    return cute.make_layout(a["shape"], stride=a["stride"]) if "stride" in a else a["shape"]


# int tuples
operation("shape_div", lambda a: cute.shape_div(a["a"], a["b"]))
operation("ceil_div", lambda a: cute.ceil_div(a["a"], a["b"]))
operation("round_up", lambda a: cute.round_up(a["a"], a["b"]))
operation("inner_product", lambda a: cute.inner_product(a["a"], a["b"]))
operation("elem_scale", lambda a: cute.elem_scale(a["a"], a["b"]))
operation("product_like", lambda a: cute.product_like(a["a"], a["guide"]))
operation("evenly_divides", lambda a: cute.evenly_divides(a["a"], a["tiler"]))


def reductions(a: Args) -> Any:
    x = a["a"]
    names = ("product", "product_each", "size", "rank", "depth", "flatten", "flatten_to_tuple", "wrap", "unwrap")
    return {**{name: getattr(cute, name)(x) for name in names}, "repeat_like": cute.repeat_like(0, x)}


def predicates(a: Args) -> Any:
    names = ("congruent", "weakly_congruent", "compatible")
    return {name: getattr(cute, f"is_{name}")(a["a"], a["b"]) for name in names}


def compare(a: Args) -> Any:
    return {name: getattr(cute, name)(a["a"], a["b"]) for name in ("lex_less", "colex_less", "elem_less")}


operation("reductions", reductions)
operation("predicates", predicates)
operation("compare", compare)

# what only the dynamic family has
operation("coalesce_shape", lambda a: cute.coalesce(a["shape"]))
operation(
    "size_cosize",
    lambda a: tuple(f(a["layout"]) for f in (cute.size, cute.cosize, cute.rank, cute.depth)),
)


# what only the identity family has: the operation is named in the arguments
BY_MODE = {"composition": "composition_by_mode"}


def on_identity(a: Args) -> Any:
    layout = cute.make_identity_layout(a["shape"])
    return CALLS[BY_MODE.get(a["op"], a["op"])]({**a, "layout": layout, "a": layout})


def identity_law(a: Args, r: Any) -> laws.Broken | None:
    layout = values.identity(a["shape"])
    return law_of(BY_MODE.get(a["op"], a["op"]), {**a, "layout": layout, "a": layout}, r)


operation("identity_ops", on_identity, identity_law)
