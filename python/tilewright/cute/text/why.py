"""`why`: the proof of an answer of the algebra, or the certificate that there is none, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import did_you_mean
from tilewright.cute.text.explain import FORMS, explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright._typing import AnyLayout

__all__ = ["LAWS", "why"]

DIVISION = "R(i) = A((B, B*)(i)) wherever that lies in A, and no element of A is lost; by mode for a tuple"
PRODUCT = "R = (A, A* o B), where A* is the complement of A; by mode for a tuple"
LAWS = {
    "composition": "R(i) = A(B(i)) for all i < |B|, and the shape of R refines that of B",
    "coalesce": "R(i) = A(i) for all i < |A| = |R|",
    "complement": "R increases, A and R together have no offset twice, and they reach the end M of the cotarget",
    "right_inverse": "A(R(i)) = i for all i < |R|",
    "left_inverse": "L(A(i)) = i for all i < |A|; A(L(A(i))) = A(i) where A repeats by stride 0",
    **{f"{form}_divide": DIVISION for form in FORMS},
    **{f"{form}_product": PRODUCT for form in (*FORMS, "blocked", "raked")},
    "is_injective": "A(i) = A(j) only for i = j",
    "is_bijective": "A(i) takes each value from 0 to |A| - 1 once",
    "equivalent": "|A| = |B|, and A(i) = B(i) for all i < |A|",
    "is_disjoint": "A(i) is not offset + B(j), for all i < |A| and j < |B|",
    "image_within": "begin <= A(i) < end for all i < |A|",
}


def why(op: str | Callable[..., object], *args: AnyLayout | object) -> str:
    """Why op(*args) is what it is: the steps that prove the law for the answer, or why there is no answer.

        why(op, *args) = the answer, the law of op, the steps of explain(op, *args), and a certificate of a refusal

    A certificate names coordinates at which no layout satisfies the law, with the numbers there, and says what would
    have an answer. docs/theory.md proves that the steps suffice.

    Args:
        op: an operation or its name: composition, coalesce, complement, right_inverse, left_inverse, a divide or
            product, is_injective, is_bijective, equivalent, is_disjoint, or image_within.
        *args: its operands. A text becomes a layout.
    Returns: a str of several lines. Sizes and offsets in it are in elements.
    Raises: ValueError for another operation; TypeError as op does.
    Source: tilewright.

    Examples:
        >>> print(why("composition", "(2,5):(1,3)", "4:3"))
        composition((2,5):(1,3), 4:3) = (2,2):(4,9)
        law: R(i) = A(B(i)) for all i < |B|, and the shape of R refines that of B
          A(x) = 1*x + 1*floor(x/2), by the carries into its modes
          4:3: f(i) = A(3*i)
            f is 4:4 below i = 2; f(2) = 9, not 8, and 1 divides 2, 2 divides 4: (2,2):(4,9)
            no carry of A makes f another function: f(i) = R(i) for all i < 4, R = (2,2):(4,9)
          R(i) = A(B(i)): R = (2,2):(4,9)
        >>> print(why("composition", "(3,4):(4,1)", "4:2"))
        composition((3,4):(4,1), 4:2) has no answer
        law: R(i) = A(B(i)) for all i < |B|, and the shape of R refines that of B
          4:2 in 3:4: 2 does not divide 3, 2 steps end at index 4, 1 past a multiple
        certificate:
          stride 2 of mode 0 does not divide shape 3 of the left layout (needs 2 | 3 or 3 | 2)
          at coordinate 2 CuTe gives 1, but A(B(2)) = A(4) = 5
          no layout is A o B: A(B(1+2)) = 2, but A(B(1)) + A(B(2)) = 8 + 5
          the largest tile that has an answer is 2:2
    """
    name = op if isinstance(op, str) else getattr(op, "__name__", type(op).__name__)
    if name not in LAWS:
        raise ValueError(
            f"why: there is no law of {name!r}; the operations are {', '.join(LAWS)}{did_you_mean(name, LAWS)}"
        )
    explanation = explain(name, *args)
    call, *steps, outcome = explanation.steps
    law = f"law: {LAWS[name]}"
    if explanation.error is None:
        return "\n".join([f"{call} = {outcome.removeprefix('result: ')}", law, *steps])
    condition = str(explanation.error).removeprefix(f"{name}({', '.join(explanation.error.operands)}): ")
    certificate = [f"  {part}" for part in condition.split("; ")]
    return "\n".join([f"{call} has no answer", law, *steps, "certificate:", *certificate])
