"""`explain`: how an operation of the algebra comes to its result, in the steps that the core records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright._typing import AnyLayout

__all__ = ["OPERATIONS", "Explanation", "explain"]

FORMS = ("logical", "zipped", "tiled", "flat")
OPERATIONS = (
    *("composition", "coalesce", "complement"),
    *(f"{form}_divide" for form in FORMS),
    *(f"{form}_product" for form in (*FORMS, "blocked", "raked")),
    *("right_inverse", "left_inverse", "make_layout_tv", "crd2idx"),
    *("is_injective", "is_bijective", "equivalent", "is_disjoint", "image_within"),
)


class Explanation:
    """A derivation: `str()` is its text, `steps` its lines, `result` what the operation returned.

    `operation` is the operation's name, `operands` what it was applied to.
    `condition` says for which values of the dynamic integers among them CuTe's answer is right; None where none is
    dynamic, and where no condition is derived.
    Where the operation raised LayoutError, `result` is None, `error` is the exception, and the steps end at the
    condition that is broken, followed by the message.
    """

    __slots__ = ("condition", "error", "operands", "operation", "result", "steps")

    def __init__(
        self,
        operation: str,
        operands: tuple[Any, ...],
        steps: Sequence[str],
        result: Any,
        error: _core.LayoutError | None,
        condition: _core.Condition | None,
    ) -> None:
        self.operation = operation
        self.operands = operands
        self.steps = tuple(steps)
        self.result = result
        self.error = error
        self.condition = condition

    def __str__(self) -> str:
        return "\n".join(self.steps)

    __repr__ = __str__


def explain(op: str | Callable[..., object] | AnyLayout, *args: object) -> Explanation:
    """The derivation of op(*args), step by step.

    `op` is an operation or its name: composition, coalesce, complement, the divides and products, right_inverse,
    left_inverse, make_layout_tv, crd2idx (a coordinate and a layout), or a question: is_injective, is_bijective,
    equivalent, is_disjoint, image_within. A layout in its place is evaluated, as in
    explain(layout, 3). Operands may be texts. A dynamic integer is written as its value behind a question mark;
    structure ignores the value. The last line but one then says for which values CuTe's answer is right.

    Where the operation raises LayoutError, the derivation up to the broken condition and the message are returned.
    Raises ValueError for an operation without a derivation, LayoutError for a text that is no layout, TypeError for
    operands of another number or kind. Source: tilewright.

    >>> print(explain("composition", _core.make_layout((4, 3), stride=(1, 8)), _core.make_layout(6, stride=2)))
    composition((4,3):(1,8), 6:2)
      6:2 in 4:1: 2 divides 4, q = 4/2 = 2: take 2:2 (stride 2*1), go on with 3:1
      3:1 in 3:8, the last mode: take 3:8 (stride 1*8)
      6:2 becomes (2,3):(2,8)
    result: (2,3):(2,8)
    >>> print(explain("complement", _core.make_layout(8, stride=2), 32))
    complement(8:2, 32)
      the modes by stride: 8:2
      from 1 up to stride 2: 2/1 = 2, a mode 2:1
      beyond 8*2 = 16 up to 32: ceil(32/16) = 2, a mode 2:16
      together (2,2):(1,16), coalesced (2,2):(1,16)
    result: (2,2):(1,16)
    >>> from tilewright import Int32
    >>> explain("composition", "(128,8):(1,1000)", _core.make_layout(Int32(256))).steps[-2].strip()
    'exact if and only if n <= 128 or 128 | n, where n is size(B), here 256'
    """
    if isinstance(op, _core.Layout):
        op, args = "crd2idx", (args[0] if len(args) == 1 else args, op)
    name = op if isinstance(op, str) else getattr(op, "__name__", type(op).__name__)
    if name not in OPERATIONS:
        raise ValueError(
            f"explain: there is no derivation of {name!r}; the operations are {', '.join(OPERATIONS)}"
            f"{did_you_mean(name, OPERATIONS)}"
        )
    args = tuple(_core.parse(x) if isinstance(x, str) else x for x in args)
    if name == "crd2idx":
        args = (args[0], *(getattr(x, "layout", x) for x in args[1:]))  # of a tensor its layout is evaluated
    lines, result, error = _core.explained(getattr(_core, name), args)
    condition = _core.condition(name, args)
    if condition is not None:
        lines.insert(-1, f"  {condition}")
    return Explanation(name, args, lines, result, error, condition)
