"""What regions carry: values split into leaves that are symbols of the program and the rest, which stays static.

A leaf is a number or a pointer. Types register how they are split; this module knows none of them. Three questions are
answered here: how two branches' values become one (`Join`), how a value goes round a loop (`Round`), and which objects
a region changed in place (`Watch`, in watch.py).
"""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._boundary import shown
from tilewright.lang.undefined import UNBOUND, Undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "Join",
    "Leaf",
    "Mismatch",
    "Parts",
    "Round",
    "describe",
    "is_dynamic",
    "leaf_of",
    "number_like",
    "parts_of",
    "register",
    "register_leaf",
    "register_python_numbers",
    "symbol_of",
]


class Leaf(NamedTuple):
    """How a type holds one symbol.

    `is_dynamic(value)`: whether it holds a symbol and not a Python number; `symbol_of(value)`: the symbol, a constant
    where it holds a Python number; `wrap(symbol, like)`: a value such as `like` that holds the symbol. `is_number`: the
    type makes a value of a Python number, `type(like)(3)`.
    """

    is_dynamic: Callable[[Any], bool]
    symbol_of: Callable[[Any], Any]
    wrap: Callable[[Any, Any], Any]
    is_number: bool


class Parts(NamedTuple):
    """How a type is made of other values.

    `split(value)` gives (static, parts): what has to be equal, and the values inside. `build(value, parts)`: a value
    such as the one given, with these parts. A type whose objects change in place (a pipeline's state) has
    `assign(value, parts)`, which puts parts into the object; its objects are carried wherever a region mentions them.
    """

    split: Callable[[Any], tuple[Any, Sequence[Any]]]
    build: Callable[[Any, Sequence[Any]], Any]
    assign: Callable[[Any, Sequence[Any]], None] | None = None
    describe: Callable[[Any], str] | None = None


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
_python_numbers: dict[type, Callable[[Any], Any]] = {}
_PYTHON_NUMBERS = (bool, int, float)


def register_leaf(
    kind: type,
    *,
    is_dynamic: Callable[[Any], bool],
    symbol_of: Callable[[Any], Any],
    wrap: Callable[[Any, Any], Any],
    is_number: bool = True,
) -> None:
    """Say how a type and its subclasses hold one symbol; see `Leaf`."""
    _forget()
    _registered_leaves[kind] = Leaf(is_dynamic, symbol_of, wrap, is_number)


def register(
    kind: type,
    *,
    split: Callable[[Any], tuple[Any, Sequence[Any]]],
    build: Callable[[Any, Sequence[Any]], Any],
    assign: Callable[[Any, Sequence[Any]], None] | None = None,
    describe: Callable[[Any], str] | None = None,
) -> None:
    """Say what a type and its subclasses are made of; see `Parts`."""
    _forget()
    _registered_parts[kind] = Parts(split, build, assign, describe)


def register_python_numbers(makers: dict[type, Callable[[Any], Any]]) -> None:
    """Say which type a Python bool, int and float become where the program needs one."""
    _python_numbers.update(makers)


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
            found = _python_parts(kind)
        _parts[kind] = found
        return found


def is_dynamic(value: Any) -> bool:
    """Whether a value is a number of the program, known at run time only."""
    leaf = leaf_of(value.__class__)
    return leaf is not None and leaf.is_dynamic(value)


def number_like(value: Any, like: Any) -> Any:
    """A Python number as the type of another value, or of its own where `like` is a Python number, too.

    Raises Mismatch where the type does not hold it.
    """
    kind = type(like)
    maker = _python_numbers[kind] if kind in _PYTHON_NUMBERS else kind
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
    if kind in _PYTHON_NUMBERS or value is None:
        return shown(value)
    parts = parts_of(kind)
    if parts is not None and parts.describe is not None:
        return parts.describe(value)
    if parts is not None and parts.assign is None:
        inside = ", ".join(describe(part) for part in parts.split(value)[1])
        return f"{kind.__name__}({inside})"
    name = getattr(value, "__qualname__", None)
    return f"{kind.__name__} {name}" if isinstance(name, str) else shown(value)


# --- Python's containers


def _python_parts(kind: type) -> Parts | None:
    if issubclass(kind, tuple):
        fields = getattr(kind, "_fields", None)
        make: Callable[[Any, Any], Any] = lambda v, parts: type(v)(*parts)  # noqa: E731
        if fields is None:
            make = lambda v, parts: type(v)(parts)  # noqa: E731
        return Parts(lambda v: ((type(v), len(v)), v), make)
    if kind is list:
        return Parts(lambda v: ((list, len(v)), v), lambda v, parts: list(parts))
    if kind is dict:
        return Parts(lambda v: ((dict, tuple(v)), list(v.values())), lambda v, parts: dict(zip(v, parts, strict=True)))
    if kind is SimpleNamespace:
        return Parts(
            lambda v: ((kind, tuple(vars(v))), list(vars(v).values())),
            lambda v, parts: SimpleNamespace(**dict(zip(vars(v), parts, strict=True))),
        )
    if hasattr(kind, "__extract_mlir_values__") and hasattr(kind, "__new_from_mlir_values__"):
        return Parts(_split_protocol, _build_protocol, None if _is_frozen(kind) else _assign_protocol)
    if dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind))
        return Parts(lambda v: ((kind, names), [getattr(v, name) for name in names]), _build_dataclass)
    return None


def _is_frozen(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return issubclass(kind, tuple) or (parameters is not None and parameters.frozen)


def _build_dataclass(value: Any, parts: Sequence[Any]) -> Any:
    """A copy with other fields; __init__ and __post_init__ are the user's and do not run again."""
    new = object.__new__(type(value))
    _copy_state(value, new)
    for field, part in zip(dataclasses.fields(value), parts, strict=True):
        object.__setattr__(new, field.name, part)
    return new


def _slots(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def _copy_state(source: Any, target: Any) -> None:
    """The attributes of one object into another of the same class."""
    if hasattr(source, "__dict__"):
        vars(target).clear()
        vars(target).update(vars(source))
    for name in _slots(type(source)):
        if name not in ("__dict__", "__weakref__") and hasattr(source, name):
            object.__setattr__(target, name, getattr(source, name))


def _flat(tree: Any, out: list[Any]) -> Any:
    """The leaves of what __extract_mlir_values__ gives, a tree of lists and dicts, and its shape."""
    if isinstance(tree, dict):
        return ("dict", tuple((key, _flat(part, out)) for key, part in tree.items()))
    if isinstance(tree, (list, tuple)):
        return (type(tree).__name__, tuple(_flat(part, out) for part in tree))
    out.append(tree)
    return None


def _shaped(tree: Any, parts: Iterator[Any]) -> Any:
    if isinstance(tree, dict):
        return {key: _shaped(part, parts) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_shaped(part, parts) for part in tree]
    return next(parts)


def _split_protocol(value: Any) -> tuple[Any, Sequence[Any]]:
    out: list[Any] = []
    shape = _flat(value.__extract_mlir_values__(), out)
    return (type(value), shape), out


def _build_protocol(value: Any, parts: Sequence[Any]) -> Any:
    return value.__new_from_mlir_values__(_shaped(value.__extract_mlir_values__(), iter(parts)))


def _assign_protocol(value: Any, parts: Sequence[Any]) -> None:
    _copy_state(_build_protocol(value, parts), value)


# --- two branches


class Join:
    """Makes one value of the values that two branches give a variable.

    `add` is called for every variable when both branches are traced, and says which pairs of leaves the operation has
    to choose between; `value` gives the variable's value from the operation's results.
    """

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []
        self._likes: list[Any] = []

    def add(self, first: Any, second: Any, path: str) -> Any:
        """A plan for one variable; raises Mismatch where the two cannot be one value."""
        if first is second:
            return _Keep(first)
        a, b = type(first), type(second)
        leaf_a, leaf_b = leaf_of(a), leaf_of(b)
        is_python_a, is_python_b = a in _PYTHON_NUMBERS, b in _PYTHON_NUMBERS
        if (leaf_a or is_python_a) and (leaf_b or is_python_b):
            return self._numbers(first, second, leaf_a, leaf_b, path)
        parts = parts_of(a)
        if parts is not None and a is b:
            static_a, parts_a = parts.split(first)
            static_b, parts_b = parts.split(second)
            if static_a != static_b:
                raise Mismatch(path, describe(first), describe(second))
            names = _part_names(first, path, len(parts_a))
            plans = [self.add(x, y, name) for x, y, name in zip(parts_a, parts_b, names, strict=True)]
            if all(type(plan) is _Keep and plan.value is x for plan, x in zip(plans, parts_a, strict=True)):
                return _Keep(first)
            return _Build(parts, first, plans, static_a)
        if a is b and _equal(first, second):
            return _Keep(first)
        raise Mismatch(path, describe(first), describe(second))

    def _numbers(self, first: Any, second: Any, leaf_a: Leaf | None, leaf_b: Leaf | None, path: str) -> Any:
        if leaf_a is None and leaf_b is None:
            if type(first) is type(second) and repr(first) == repr(second):
                return _Keep(first)
            like = first if _RANK[type(first)] >= _RANK[type(second)] else second
            like = _python_numbers[type(like)](like)
        elif leaf_a is None or leaf_b is None:
            like, leaf, number = (second, leaf_b, first) if leaf_a is None else (first, leaf_a, second)
            assert leaf is not None
            if not leaf.is_number or not _adopts(like, leaf, number):
                raise Mismatch(path, describe(first), describe(second))
        else:
            like = first
            if type(first) is not type(second):
                raise Mismatch(path, describe(first), describe(second))
            if leaf_a.is_dynamic(first) and leaf_a.is_dynamic(second):
                symbol_a, symbol_b = leaf_a.symbol_of(first), leaf_a.symbol_of(second)
                if symbol_a == symbol_b:
                    return _Keep(first)
                if symbol_a.type != symbol_b.type:
                    raise Mismatch(path, str(symbol_a.type), str(symbol_b.type))
        self.pairs.append((first, second))
        self._likes.append(like)
        return _Pick(len(self.pairs) - 1, like)

    def symbols(self, side: int) -> list[Any]:
        """The leaves of the first or second branch, as symbols."""
        return [symbol_of(pair[side], like) for pair, like in zip(self.pairs, self._likes, strict=True)]


class _Keep(NamedTuple):
    value: Any

    def make(self, results: Sequence[Any]) -> Any:
        return self.value


class _Pick(NamedTuple):
    slot: int  # which result of the operation
    like: Any

    def make(self, results: Sequence[Any]) -> Any:
        leaf = leaf_of(type(self.like))
        assert leaf is not None
        return leaf.wrap(results[self.slot], self.like)


class _Build(NamedTuple):
    parts: Parts
    like: Any
    plans: list[Any]
    static: Any  # taken when the region begins, for the object may change

    def make(self, results: Sequence[Any]) -> Any:
        return self.parts.build(self.like, [plan.make(results) for plan in self.plans])


_RANK = {bool: 0, int: 1, float: 2}


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except Exception:  # an object's own comparison; then only the same object is equal
        return False


def _adopts(like: Any, leaf: Leaf, number: Any) -> bool:
    """Whether a Python number is written for a value of this type: 0.0 is none for an Int32, nor 2 for a Boolean."""
    scalar = leaf.symbol_of(like).type.scalar if leaf.is_dynamic(like) else type(like).__name__
    if scalar == "Boolean":
        return isinstance(number, bool)
    return not isinstance(number, float) or "Float" in scalar


def _part_names(value: Any, path: str, count: int) -> Sequence[str]:
    fields = getattr(type(value), "_fields", None)
    if fields is None and dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
    if fields is None and isinstance(value, SimpleNamespace):
        fields = list(vars(value))
    if fields is not None and len(fields) == count:
        return [f"{path}.{field}" for field in fields]
    if isinstance(value, dict):
        return [f"{path}[{key!r}]" for key in value]
    return [f"{path}[{i}]" for i in range(count)]


# --- loops


class Round:
    """Takes values round a loop: Python numbers become the program's at its entry, everything else keeps its type."""

    def __init__(self) -> None:
        self.likes: list[Any] = []  # a value of the type of each leaf
        self._trees: list[tuple[Any, str]] = []

    def add(self, value: Any, path: str) -> None:
        """Carry one more variable, or object that changes in place."""
        self._trees.append((self._tree(value, path), path))

    def _tree(self, value: Any, path: str) -> Any:
        kind = type(value)
        if kind in _PYTHON_NUMBERS:
            try:
                value = number_like(value, value)
            except Mismatch as error:
                raise Mismatch(path, error.first, error.second, error.fix) from None
            kind = type(value)
        if leaf_of(kind) is not None:
            self.likes.append(value)
            return _Pick(len(self.likes) - 1, value)
        parts = parts_of(kind)
        if parts is None:
            return _Keep(value)
        static, inside = parts.split(value)
        names = _part_names(value, path, len(inside))
        before = len(self.likes)
        plans = [self._tree(part, name) for part, name in zip(inside, names, strict=True)]
        if len(self.likes) == before and parts.assign is None and kind not in (list, dict, SimpleNamespace):
            return _Keep(value)
        return _Build(parts, value, plans, static)

    def symbols(self) -> list[Any]:
        return [symbol_of(like, like) for like in self.likes]

    def values(self, symbols: Sequence[Any]) -> list[Any]:
        return [tree.make(symbols) for tree, _ in self._trees]

    def returned(self, values: Sequence[Any]) -> list[Any]:
        """The symbols that the values have at the end of the loop's body; raises Mismatch where a type changed."""
        out: list[Any] = []
        for (tree, path), value in zip(self._trees, values, strict=True):
            self._match(tree, value, path, out)
        return out

    def _match(self, tree: Any, value: Any, path: str, out: list[Any]) -> None:
        if type(tree) is _Keep:
            if tree.value is not value and not (type(tree.value) is type(value) and _equal(tree.value, value)):
                raise Mismatch(path, describe(tree.value), describe(value))
        elif type(tree) is _Pick:
            out.append(self._leaf(tree.like, value, path))
        else:
            fits = type(value) is type(tree.like)
            static, inside = tree.parts.split(value) if fits else (None, ())
            if not fits or static != tree.static:
                raise Mismatch(path, describe(tree.like), describe(value))
            names = _part_names(value, path, len(inside))
            for plan, part, name in zip(tree.plans, inside, names, strict=True):
                self._match(plan, part, name, out)

    def _leaf(self, like: Any, value: Any, path: str) -> Any:
        leaf = leaf_of(type(like))
        assert leaf is not None
        if type(value) in _PYTHON_NUMBERS and leaf.is_number and _adopts(like, leaf, value):
            try:
                return symbol_of(value, like)
            except Mismatch as error:
                raise Mismatch(path, type(like).__name__, error.first, error.fix) from None
        if type(value) is not type(like):
            raise Mismatch(path, describe(like), describe(value))
        symbol = leaf.symbol_of(value)
        if leaf.is_dynamic(like) and symbol.type != leaf.symbol_of(like).type:
            raise Mismatch(path, str(leaf.symbol_of(like).type), str(symbol.type))
        return symbol


def is_package_type(kind: type) -> bool:
    """Whether a type is not the user's: its objects are watched by registration only."""
    root = kind.__module__.partition(".")[0]
    return root in ("tilewright", "numpy", "torch", "builtins") or root in sys.stdlib_module_names
