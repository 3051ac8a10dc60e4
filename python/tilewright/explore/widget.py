"""`cute.explore(layout)`: the interactive page in a notebook, whose state Python and the page both change."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from tilewright import cute, numeric
from tilewright._boundary import shown
from tilewright.explore.atoms import COPY_OPS, MMA_OPS
from tilewright.explore.operands import notation, operand
from tilewright.explore.page import script

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.cute import ComposedLayout, Layout, Shape, Swizzle, Tiler

    Shown = Layout | ComposedLayout | Swizzle | str

__all__ = ["Explorer", "explore", "state_of", "value_of"]

OPERANDS = ("a", "b", "c")
KINDS = (cute.Layout, cute.ComposedLayout, cute.Swizzle)
ELEMENTS = {"8": numeric.Int8, "16": numeric.Float16, "32": numeric.Float32, "64": numeric.Float64}
MISSING = (
    "cute.explore needs anywidget, which is not installed: pip install anywidget. "
    "`tilewright explore` shows the same page in a browser without it, `cute.show` a picture"
)


class Explorer(Protocol):
    """The page as a widget of a notebook: `state` is what its address would say, `value` what it shows."""

    state: dict[str, str]
    value: Any

    def observe(self, handler: Callable[[Any], None], names: str) -> None:
        """Call a function after each change of the state."""


def explore(
    x: Shown | Callable[..., Any] = "((2,4),(2,3)):((1,4),(2,16))",
    *operands: Shown | Tiler,
    tile: Shape | None = None,
    **options: str,
) -> Explorer:
    """The interactive page in a notebook, of a layout, or of an operation and its operands; `value` is what it shows.

    With `tile`, x is a thread-value layout of it. What is edited in the page is in `value` and `state` afterwards, and
    setting one of them changes the page; `observe(f, "state")` calls f after each change. `options` are further
    fields of the state, by their names in the page's address: `color="bank"`, `bits="16"`. Raises ImportError without
    anywidget, TypeError for what the page has no view of. Source: tilewright.

    >>> cute.explore(cute.composition, "(6,2):(8,2)", "(4,3):(3,1)").value  # doctest: +SKIP
    ((2,2),3):((24,2),8)
    >>> cute.explore(3)
    Traceback (most recent call last):
    TypeError: cute.explore takes a layout, a swizzle, or an operation and its operands, not 3
    """
    state = state_of(x, *operands, tile=tile, **options)
    made: Explorer = _widget()(state=state)
    return made


def state_of(
    x: Shown | Callable[..., Any], *operands: Shown | Tiler, tile: Shape | None = None, **options: str
) -> dict[str, str]:
    """The state of the page, as its address has it, that shows a layout, or an operation and its operands.

    >>> state_of(cute.make_layout((4, 8)))
    {'view': 'layout', 'layout': '(4,8):(1,4)'}
    >>> state_of("zipped_divide", "(4,6):(1,4)", (2, 3))
    {'view': 'operation', 'operation': 'zipped_divide', 'a': '(4,6):(1,4)', 'b': '(2,3)'}
    """
    for field, given in options.items():
        if not isinstance(given, str):
            raise TypeError(f"cute.explore: {field} is {shown(given)}; a field of the page's state is a text")
    if operands:
        name = x if isinstance(x, str) else getattr(x, "__name__", repr(x))
        if len(operands) > len(OPERANDS) or not callable(getattr(cute, name, None)):
            raise TypeError(f"cute.explore: there is no operation {name} of {len(operands)} operands")
        return {
            "view": "operation",
            "operation": name,
            **{field: notation(each) for field, each in zip(OPERANDS, operands, strict=False)},
            **options,
        }
    found = operand(x) if isinstance(x, str) else x
    if not isinstance(found, KINDS):
        raise TypeError(f"cute.explore takes a layout, a swizzle, or an operation and its operands, not {found!r}")
    if tile is not None:
        return {"view": "tv", "tv": str(found), "tile": notation(tile), **options}
    return {"view": "layout", "layout": str(found), **options}


def _operation(state: dict[str, str]) -> Any:
    given = [operand(state[field]) for field in OPERANDS if state.get(field, "").strip()]
    return getattr(cute, state["operation"])(*given)


def _copy(state: dict[str, str]) -> Any:
    op = COPY_OPS[state["copy"]]
    dtype = ELEMENTS[state["bits"]]
    if state["copy"].startswith("ldmatrix"):
        atom = cute.make_copy_atom(op, dtype)
        return cute.make_tiled_copy(atom, operand(state["fragment"]), operand(state["piece"]))
    bits = 128 if state["copy"] == "cp.async" else dtype.bits
    atom = cute.make_copy_atom(op, dtype, num_bits_per_copy=bits)
    return cute.make_tiled_copy_tv(atom, operand(state["threads"]), operand(state["values"]))


def _mma(state: dict[str, str]) -> Any:
    tile = state["product"].strip()
    return cute.make_tiled_mma(MMA_OPS[state["mma"]], operand(state["atoms"]), operand(tile) if tile else None)


_VALUES: dict[str, Callable[[dict[str, str]], Any]] = {
    "layout": lambda state: operand(state["layout"]),
    "tv": lambda state: operand(state["tv"]),
    "request": lambda state: operand(state["request"]),
    "banks": lambda state: cute.composition(operand(state["swizzle"]), operand(state["shared"])),
    "operation": _operation,
    "copy": _copy,
    "mma": _mma,
}


def value_of(state: dict[str, str]) -> Any:
    """What a state of the page shows, computed by Python: a layout, the result of an operation, a tiled copy or MMA.

    >>> value_of({"view": "operation", "operation": "composition", "a": "(6,2):(8,2)", "b": "(4,3):(3,1)"})
    ((2,2),3):((24,2),8)
    """
    return _VALUES[state["view"]](state)


@cache
def _widget() -> Any:
    """The class of the widget: made when it is wanted, since anywidget need not be installed."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise ImportError(MISSING) from None

    class Page(anywidget.AnyWidget):  # type: ignore[misc]
        """An Explorer."""

        _esm = f"{script('widget')}\nexport default {{ render: renderWidget }};\n"
        state = traitlets.Dict(value_trait=traitlets.Unicode(), key_trait=traitlets.Unicode()).tag(sync=True)

        @property
        def value(self) -> Any:
            """What the page shows; LayoutError where it shows why there is nothing."""
            return value_of(self.state)

        @value.setter
        def value(self, x: Any) -> None:
            self.state = state_of(x)

    return Page
