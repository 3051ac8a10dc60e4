"""The API reference: a page for each name of `cute`, `kernels` and `analysis`, and one for each smaller module."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from generate.docstrings import markdown, sentence
from generate.examples import picture
from generate.groups import GROUPS, MODULES
from tilewright import cute, numeric

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["pages"]

HIDDEN = ("loc", "ip")  # what CuTeDSL's programs may pass, and nobody reads

INDEX = """# Reference

Every name has a page: its signature, its law, its errors, an example with what it prints, and its picture where it has
one. The text is the docstring, so `help(cute.composition)` says the same at a prompt.

What holds for all of them:

- A layout may be given as text in CuTe's notation: `cute.composition("(6,2):(8,2)", "(4,3):(3,1)")`.
- Python's integers are static, `Int32(n)` is dynamic, as in CuTeDSL.
- The functions of the algebra take the keywords `loc` and `ip`, as CuTeDSL's do, and ignore them.
- Where no answer satisfies the law, {py:class}`cute.LayoutError` says why, with coordinates.

In signatures `LayoutLike` is a Layout, ComposedLayout, Tensor or text; `IntTupleLike` an integer, a basis element or a
nested tuple; `CoordLike` the same, where None keeps a mode; `TilerLike` a layout, an extent, None, or a tuple of these;
and `Operand` anything that has a shape or is one.
"""


def pages(_root: Path) -> Iterator[tuple[str, str]]:
    """(file, text) of each page."""
    index, toctree = [INDEX], []
    listed = {name for names in GROUPS.values() for name in names.split()}
    modules = {name for name in cute.__all__ if isinstance(getattr(cute, name), ModuleType)}
    elsewhere = modules | {*cute.math.__all__, *numeric.__all__}  # on the pages of their modules
    others = [x for x in cute.__all__ if x not in listed | elsewhere]
    groups = {title: [x for x in names.split() if hasattr(cute, x)] for title, names in GROUPS.items()}
    for title, names in {**groups, "Other names": others}.items():
        if names:
            index.append(f"## {title}\n\n{_listing(names)}")
        for name in names:
            yield f"{name}.md", _page(f"cute.{name}", getattr(cute, name), title)
    index.append("## Modules\n")
    for file, names_of in MODULES.items():
        parts = [import_module(name) for name in names_of]
        index.append(f"- [`{file}`]({file}.md): {sentence(parts[0].__doc__)}")
        toctree.append(file)
        yield f"{file}.md", _module_page(file, parts)
    listing = "\n".join(toctree)
    yield "index.md", "\n".join(index) + f"\n\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n"


def _listing(names: list[str]) -> str:
    lines = (f"- [`{name}`]({name}.md)\n  {_first(getattr(cute, name))}" for name in names)
    return "{.names}\n" + "\n".join(lines) + "\n"


def _first(x: Any) -> str:
    return sentence(x.__doc__) if _is_ours(x) else f"The type `{_type(x)}`, for annotations."


def _is_ours(x: Any) -> bool:
    return str(getattr(x, "__module__", "")).startswith("tilewright")


def _type(x: Any) -> str:
    return re.sub(r"\b(?:typing|tilewright)\.(?:\w+\.)*", "", str(x))


def _title(name: str) -> str:
    return name.replace("_", r"\_")


def _page(full: str, x: Any, group: str) -> str:
    """A page that is not in the tree at the side: with 250 names nobody would find anything there."""
    name = full.rpartition(".")[2]
    drawn = picture(name, x.__doc__) if _is_ours(x) else None
    width = int(re.search(r'width="(\d+)"', drawn)[1]) if drawn else 0  # one that is much wider than a page is scrolled
    kind = "picture wide" if width > 1100 else "picture"
    shown = f'## Picture\n\n```{{raw}} html\n<div class="{kind}">{drawn}</div>\n```\n' if drawn else ""
    way = f"[Reference](index.md) / [{group}](index.md#{group.lower().replace(' ', '-').replace(',', '')})"
    return f"---\norphan: true\n---\n# {_title(name)}\n\n{way}\n\n{_described(full, x)}\n\n{shown}"


def _module_page(file: str, modules: list[ModuleType]) -> str:
    text = [f"# {_title(file)}\n"]
    for module in modules:
        name = module.__name__.removeprefix("tilewright.")
        if module is not modules[0]:
            text.append(f"## {_title(name)}\n")
        text.append(markdown(module.__doc__) + "\n")
        for member in getattr(module, "__all__", ()):
            x = getattr(module, member)
            if isinstance(x, ModuleType) or not (callable(x) and _is_ours(x)):
                continue
            text.append(f"{'#' * (2 + (len(modules) > 1))} {_title(member)}\n\n{_described(f'{name}.{member}', x)}\n")
    return "\n".join(text)


def _described(full: str, x: Any) -> str:
    """The directive of an object, with its docstring; of a class its members, too."""
    if not _is_ours(x):
        return f"````{{py:data}} {full}\n:type: {_type(x)}\n\n{_first(x)}\n````"
    if not inspect.isclass(x):
        body = markdown(x.__doc__)
        parts = [
            _described(f"{full}.{name}", getattr(x, name))
            for name in ("plan", "tune", "calibrate")
            if _is_ours(getattr(x, name, 0))
        ]
        return "\n\n".join((f"````{{py:function}} {full}{_signature(x)}\n\n{body}\n````", *parts))
    signature = "" if issubclass(x, (Enum, Exception)) else _signature(x)
    kind = "exception" if issubclass(x, Exception) else "class"
    members = "\n\n".join(_member(full, name, member, x) for name, member in _members(x))
    return f"`````{{py:{kind}}} {full}{signature}\n\n{markdown(x.__doc__)}\n\n{members}\n`````"


def _members(x: type) -> Iterator[tuple[str, Any]]:
    """The public members that have a text of their own."""
    for name, member in vars(x).items():
        if not name.startswith("_") and getattr(member, "__doc__", None) and (callable(member) or _is_property(member)):
            yield name, member


def _is_property(member: Any) -> bool:
    return isinstance(member, property) or type(member).__name__ in ("cached_property", "getset_descriptor")


def _member(full: str, name: str, member: Any, owner: type) -> str:
    if isinstance(member, Enum):
        return f"````{{py:attribute}} {full}.{name}\n````"
    if _is_property(member):
        return f"````{{py:property}} {full}.{name}\n\n{markdown(member.__doc__)}\n````"
    return f"````{{py:method}} {full}.{name}{_signature(getattr(owner, name))}\n\n{markdown(member.__doc__)}\n````"


def _signature(x: Any) -> str:
    """The parameters with their types, without those that nobody reads; "()" where Python does not know them."""
    try:
        found = inspect.signature(x)
    except (TypeError, ValueError):
        return "()"
    kept = [p for p in found.parameters.values() if p.name not in (*HIDDEN, "self", "cls")]
    # A bare * that separated only what is left out goes, too.
    text = str(found.replace(parameters=kept))
    return re.sub(r"\b(?:typing|collections\.abc)\.|<(?:factory|object)[^>]*>", "", text.replace("'", "")).replace(
        "\n", " "
    )
