"""Arguments of exported functions as JSON, by which a file says what calls may pass, and their forms made again."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.lang.arguments import (
    Form,
    Group,
    LayoutForm,
    Leaves,
    Number,
    PointerForm,
    Static,
    StreamForm,
    TensorForm,
)
from tilewright.numeric import Int32, Int64

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

__all__ = ["Fixed", "described", "described_signature", "form_from", "signature_from"]

_PLAIN = (type(None), bool, int, float, str)
_CONTAINERS = {"tuple": tuple, "list": list}


class Fixed(Form):
    """An argument that the export fixed: the leaves of its value then."""

    def __init__(self, name: str, bits: list[int]) -> None:
        self.name, self.bits = name, bits

    def key(self) -> Hashable:
        return ("fixed", *self.bits)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        return iter([(self.name, None) for _ in self.bits])

    def read(self, value: Any, leaves: Leaves) -> None:
        for bits in self.bits:
            leaves.add(bits)


def described(form: Form) -> dict[str, Any] | None:
    """A form as JSON; None where it has no leaves and its value is none of JSON's: calls leave it out.

    Raises TypeError, which names the argument, for what cannot be exported.
    """
    if isinstance(form, Fixed):
        return {"kind": "fixed", "bits": form.bits}
    if isinstance(form, StreamForm):
        return {"kind": "stream"}
    if isinstance(form, Number):
        return {"kind": "number", "dtype": form.dtype.__name__, "div": form.div}
    if isinstance(form, PointerForm) and form.swizzle is None:
        return {
            "kind": "pointer",
            "dtype": form.dtype.__name__,
            "space": form.memspace.name,
            "align": form.alignment,
        }
    if isinstance(form, LayoutForm):
        return {"kind": "layout", "layout": _layout(form.layout, form.name)}
    if isinstance(form, TensorForm) and isinstance(form.iterator, PointerForm) and form.iterator.swizzle is None:
        return {"kind": "tensor", "pointer": described(form.iterator), "layout": _layout(form.layout.layout, form.name)}
    if isinstance(form, Group) and form.kind in _CONTAINERS.values():
        return {"kind": form.kind.__name__, "parts": [described(part) for part in form.parts]}
    if isinstance(form, Static):
        return {"kind": "static", "value": form.value} if isinstance(form.value, _PLAIN) else None
    raise TypeError(
        f"export_to_c: the argument {form.name} is none that a C program can pass: expected tensors, pointers, "
        "layouts, numbers, streams, and tuples and lists of them"
    )


def form_from(description: Mapping[str, Any] | None, name: str) -> Form:
    """The form of an argument from its description."""
    if description is None:
        return Static(name, None)
    kind = description["kind"]
    if kind == "fixed":
        return Fixed(name, list(description["bits"]))
    if kind == "stream":
        return StreamForm(name)
    if kind == "number":
        return Number(name, getattr(numeric, description["dtype"]), description["div"])
    if kind == "pointer":
        return PointerForm(name, _pointer(description), False)
    if kind == "layout":
        return LayoutForm(name, _layout_from(description["layout"]))
    if kind == "tensor":
        iterator = PointerForm(name, _pointer(description["pointer"]), False)
        return TensorForm(name, iterator, _layout_from(description["layout"]))
    if kind == "static":
        return Static(name, description["value"])
    container = _CONTAINERS[kind]
    parts = [form_from(part, f"{name}[{i}]") for i, part in enumerate(description["parts"])]
    return Group(name, parts, container, container, lambda value: [(f"[{i}]", x) for i, x in enumerate(value)])


def _pointer(description: Mapping[str, Any]) -> Pointer:
    dtype = getattr(numeric, description["dtype"])
    return Pointer(dtype, 0, AddressSpace[description["space"]], description["align"])


# ---- layouts ----


def _layout(layout: Any, name: str) -> dict[str, Any]:
    if isinstance(layout, _core.ComposedLayout):
        if not isinstance(layout.inner, _core.Swizzle):
            raise TypeError(f"export_to_c: the argument {name} has the layout {layout}, whose inner part is no swizzle")
        swizzle = [layout.inner.num_bits, layout.inner.num_base, layout.inner.num_shift]
        return {"swizzle": swizzle, "offset": _tree(layout.offset, name), "outer": _layout(layout.outer, name)}
    return {"shape": _tree(layout.shape, name), "stride": _tree(layout.stride, name)}


def _tree(tree: Any, name: str) -> Any:
    if isinstance(tree, tuple):
        return [_tree(part, name) for part in tree]
    if isinstance(tree, (Int32, Int64)):
        return {"bits": tree.width, "div": tree._div}
    if isinstance(tree, int):
        return tree
    raise TypeError(f"export_to_c: the argument {name} has a layout with the leaf {tree}, which is no integer")


def _layout_from(description: Mapping[str, Any]) -> Any:
    if "swizzle" in description:
        inner = _core.Swizzle(*description["swizzle"])
        return _core.make_composed_layout(inner, _tree_from(description["offset"]), _layout_from(description["outer"]))
    return _core.make_layout(_tree_from(description["shape"]), stride=_tree_from(description["stride"]))


def _tree_from(tree: Any) -> Any:
    if isinstance(tree, list):
        return tuple(map(_tree_from, tree))
    if isinstance(tree, dict):  # its value stands for any
        return (Int32 if tree["bits"] == 32 else Int64)._make(tree["div"], tree["div"])
    return tree


# ---- signatures ----


def described_signature(signature: inspect.Signature) -> list[dict[str, Any]]:
    """The parameters of calls, with the defaults that JSON has."""
    found = []
    for parameter in signature.parameters.values():
        one: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind.name}
        if parameter.default is not parameter.empty and isinstance(parameter.default, _PLAIN):
            one["default"] = parameter.default
        found.append(one)
    return found


def signature_from(parameters: list[dict[str, Any]]) -> inspect.Signature:
    """A signature from its description.

    >>> signature_from([{"name": "x", "kind": "POSITIONAL_OR_KEYWORD"}])
    <Signature (x)>
    """
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(
                one["name"], getattr(inspect._ParameterKind, one["kind"]), default=one.get("default", empty)
            )
            for one in parameters
        ]
    )
