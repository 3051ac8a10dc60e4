"""How types hold symbols of the program; types register themselves, this module knows none of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._boundary import shown
from tilewright.lang.carry.containers import Parts, python_parts
from tilewright.lang.carry.undefined import UNBOUND, Undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "PYTHON_NUMBERS",
    "Leaf",
    "Mismatch",
    "describe",
    "is_dynamic",
    "is_package_module",
    "is_package_type",
    "leaf_of",
    "mutable_kinds",
    "number_like",
    "parts_of",
    "register",
    "register_attributes",
    "register_leaf",
    "register_python_numbers",
    "symbol_of",
]


class Leaf(NamedTuple):
    """How a type holds one symbol.

    `is_dynamic(value)`: whether it holds a symbol and not a Python number; `symbol_of(value)`: the symbol, a constant
    where it holds a Python number; `wrap(symbol, like)`: a value such as `like` that holds the symbol. `is_number`: the
    type makes a value of a Python number, `type(like)(3)`. `weaker(first, second)`: a value of which less is known
    while tracing, such as both are (None where there is none); `weaken(value, like)`: the value as one such as `like`.
    """

    is_dynamic: Callable[[Any], bool]
    symbol_of: Callable[[Any], Any]
    wrap: Callable[[Any, Any], Any]
    is_number: bool
    weaker: Callable[[Any, Any], Any] | None = None
    weaken: Callable[[Any, Any], Any] | None = None


class Mismatch(TypeError):
    """Two values that cannot be one: where in the variable, and what each is."""

    def __init__(self, path: str, first: str, second: str, fix: str = "") -> None:
        super().__init__(f"{path}: {first} and {second}")
        self.path, self.first, self.second, self.fix = path, first, second, fix


_registered_leaves: dict[type, Leaf] = {}
_registered_parts: dict[type, Parts] = {}
_leaves: dict[type, Leaf | None] = {}  # what was found for types and their subclasses
_parts: dict[type, Parts | None] = {}
mutable_kinds: dict[type, Any] = {}  # what watch.py found for types
_makers: dict[type, Callable[[Any], Any]] = {}
PYTHON_NUMBERS = (bool, int, float)


def register_leaf(
    kind: type,
    *,
    is_dynamic: Callable[[Any], bool],
    symbol_of: Callable[[Any], Any],
    wrap: Callable[[Any, Any], Any],
    is_number: bool = True,
    weaker: Callable[[Any, Any], Any] | None = None,
    weaken: Callable[[Any, Any], Any] | None = None,
) -> None:
    """Say how a type and its subclasses hold one symbol; see `Leaf`."""
    _forget()
    _registered_leaves[kind] = Leaf(is_dynamic, symbol_of, wrap, is_number, weaker, weaken)


def register(
    kind: type,
    *,
    split: Callable[[Any], tuple[Any, Sequence[Any]]],
    build: Callable[[Any, Sequence[Any]], Any],
    assign: Callable[[Any, Sequence[Any]], None] | None = None,
    describe: Callable[[Any], str] | None = None,
    if_called: bool = False,
    weaker: Callable[[Any, Any], Any] | None = None,
) -> None:
    """Say what a type and its subclasses are made of; see `Parts`."""
    _forget()
    _registered_parts[kind] = Parts(split, build, assign, describe, if_called, weaker)


def register_attributes(kind: type, *names: str) -> None:
    """Say which attributes of a type's objects change in place, such as the index of a pipeline's state.

    An object goes round every loop that mentions it. Its other attributes stay as they are.
    """

    def split(value: Any) -> tuple[Any, Sequence[Any]]:
        return [kind, {k: x for k, x in vars(value).items() if k not in names}], [getattr(value, k) for k in names]

    def assign(value: Any, parts: Sequence[Any]) -> None:
        vars(value).update(zip(names, parts, strict=True))

    def build(value: Any, parts: Sequence[Any]) -> Any:
        new = object.__new__(type(value))
        vars(new).update(vars(value))
        assign(new, parts)
        return new

    register(kind, split=split, build=build, assign=assign, describe=str)


def register_python_numbers(makers: dict[type, Callable[[Any], Any]]) -> None:
    """Say which type a Python bool, int and float become where the program needs one."""
    _makers.update(makers)


def _forget() -> None:
    """Leave out what was found for types before."""
    mutable_kinds.clear()
    _leaves.clear()
    _parts.clear()


def leaf_of(kind: type) -> Leaf | None:
    """How a type holds one symbol, if it does."""
    try:
        return _leaves[kind]
    except KeyError:
        found = next((_registered_leaves[base] for base in kind.__mro__ if base in _registered_leaves), None)
        _leaves[kind] = found
        return found


def parts_of(kind: type) -> Parts | None:
    """What a type is made of, if its values are made of others: registered types and Python's containers."""
    try:
        return _parts[kind]
    except KeyError:
        found = next((_registered_parts[base] for base in kind.__mro__ if base in _registered_parts), None)
        if found is None:
            found = python_parts(kind)
        _parts[kind] = found
        return found


def is_dynamic(value: Any) -> bool:
    """Whether a value is a number of the program, known at run time only."""
    leaf = leaf_of(value.__class__)
    return leaf is not None and leaf.is_number and leaf.is_dynamic(value)


def number_like(value: Any, like: Any) -> Any:
    """A Python number as the type of another value, or of its own where `like` is a Python number, too.

    Raises Mismatch where the type does not hold it.
    """
    kind = type(like)
    maker = _makers[kind] if kind in PYTHON_NUMBERS else kind
    made = maker(value)
    if not isinstance(value, float) and hasattr(made, "__index__") and int(made) != value:
        raise Mismatch(
            "", f"int {value}", type(made).__name__, f"{value} does not fit {type(made).__name__}: use Int64"
        )
    return made


def symbol_of(value: Any, like: Any) -> Any:
    """The symbol of a leaf or of a Python number, which becomes a constant of the other value's type."""
    leaf = leaf_of(value.__class__)
    if leaf is None:
        value = number_like(value, like)
        leaf = leaf_of(type(value))
        assert leaf is not None
    return leaf.symbol_of(value)


def describe(value: Any) -> str:
    """A value in an error: a number's type, what else tells it from others."""
    if value is UNBOUND or isinstance(value, Undefined):
        return "no value"
    kind = type(value)
    if leaf_of(kind) is not None:
        return kind.__name__
    if kind in PYTHON_NUMBERS or value is None:
        return shown(value)
    parts = parts_of(kind)
    if parts is not None and parts.describe is not None:
        return parts.describe(value)
    if parts is not None and parts.assign is None:
        inside = ", ".join(describe(part) for part in parts.split(value)[1])
        return f"{kind.__name__}({inside})"
    name = getattr(value, "__qualname__", None)
    return f"{kind.__name__} {name}" if isinstance(name, str) else shown(value)


def is_package_type(kind: type) -> bool:
    """Whether a type is not the user's: its objects are watched by registration only."""
    return is_package_module(kind.__module__)


def is_package_module(name: str | None) -> bool:
    """Whether a module is not the user's; tilewright.examples are programs as a user writes them."""
    root, _, rest = (name or "").partition(".")
    if root == "tilewright":
        return rest.partition(".")[0] != "examples"
    return root in ("numpy", "torch", "builtins") or root in sys.stdlib_module_names
