"""What a vector demands.

Where CuTe's answer satisfies the law of its operation, ours is identical: structure, values, and, for the dynamic
family, which integers are static. Where it does not, ours satisfies it, or the call raises `LayoutError`, with the
counter-example of the model if it gives one. `unchecked()` returns CuTe's answer in both cases.
"""

from __future__ import annotations

import re
from typing import Any

from model.laws import Broken
from model.layouts import axes_of
from tilewright import LayoutError, cute

from . import load, to_model
from .convert import arguments, components, counting_text, to_json, to_text
from .operations import CALLS, LAWS, Call, Law

Case = dict[str, Any]
TAGGED = {"composition", "composition_int", "with_shape"}  # where the tag says the same as the law
MUST_SHOW = {"composition", "with_shape", *(f"{form}_divide" for form in ("logical", "zipped", "tiled", "flat"))}


def canonical(x: Any) -> Any:
    """A swizzle of no bits is the identity, whatever its base and shift: S<0,4,3>."""
    if isinstance(x, list):
        return [canonical(e) for e in x]
    if isinstance(x, dict):
        if isinstance(x.get("swizzle"), list) and x["swizzle"][0] == 0:
            x = {**x, "swizzle": [0, 4, 3]}
        return {k: canonical(v) for k, v in x.items()}
    return x


def plain(x: Any) -> Any:
    """The full value of an integer of which CuTe knows some bits before run time."""
    if isinstance(x, list):
        return [plain(e) for e in x]
    if isinstance(x, dict):
        return x["mixed_bits"] if "mixed_bits" in x else {k: plain(v) for k, v in x.items()}
    return x


def canonical_text(text: Any) -> Any:
    """The same for printed text, where such an integer counts as dynamic."""
    if isinstance(text, dict):
        return {k: canonical_text(v) for k, v in text.items()}
    return re.sub(r"Sw<0,-?\d+,-?\d+>", "Sw<0,4,3>", re.sub(r"M_\d+\|\(\d+&\d+\)=", "", text))


def difference(got: Any, expected: Any, printed: Any = None) -> str | None:
    """What differs from the vector. Of named results those count that both sides have."""
    found, wanted = canonical(to_json(got)), canonical(expected)
    if isinstance(got, dict):
        both = found.keys() & wanted.keys()
        assert both
        found, wanted = ({k: x[k] for k in sorted(both)} for x in (found, wanted))
    if found != wanted:
        return f"got {found}, expected {wanted}"
    if printed is None:
        return None
    text = counting_text(got) if isinstance(got, dict) and isinstance(printed, str) else to_text(got)
    return None if canonical_text(text) == canonical_text(printed) else f"got {text}, expected {printed}"


def wrong_example(error: LayoutError, broken: Broken) -> str | None:
    """A counter-example must be the first one, with the value that CuTe gives and the one that the law demands."""
    if broken.coordinate is None:
        return None
    if error.counterexample is None:
        return "no counter-example" if error.operation in MUST_SHOW else None
    coordinate, *values = error.counterexample
    if coordinate == broken.coordinate and list(map(components, values)) == [
        nonzero(broken.got),
        nonzero(broken.expected),
    ]:
        return None
    return f"counter-example {tuple(error.counterexample)}, expected {broken}"


def nonzero(value: Any) -> dict[tuple[int, ...], int]:
    return {path: v for path, v in axes_of(value).items() if v}


def failure(op: str, case: Case, call: Call, law: Law | None) -> str | None:
    """What is wrong with our answer to one vector, or None."""
    expected, printed = plain(case["result"]), case.get("printed")
    broken = law(to_model(case["args"]), to_model(expected)) if law else None
    if op in TAGGED and "args_printed" not in case["args"] and (broken is None) != case.get("exact", True):
        return f"the vector says exact={case.get('exact', True)}, the model {broken}"
    with cute.unchecked():
        if wrong := difference(call(arguments(case)), expected, printed):
            return f"unchecked: {wrong}"
    try:
        got = call(arguments(case))
    except LayoutError as error:
        return f"raised {error}" if broken is None else wrong_example(error, broken)
    if broken is not None:
        ours = law(to_model(case["args"]), to_model(canonical(to_json(got))))
        return None if ours is None else f"returned {to_text(got)}, which breaks the law: {ours}"
    return difference(got, expected, printed)


def verify(family: str, op: str, call: Call | None = None, law: Law | None = None) -> None:
    """Every vector of an operation; each failing one is listed with its id, its arguments and what is wrong."""
    cases, lines = load(family)[op], []
    for case in cases:
        try:
            wrong = failure(op, case, call or CALLS[op], law or LAWS.get(op))
        except Exception as error:  # any other error fails this vector, not the rest
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            shown = case["args"].get("args_printed") or case["args"]
            lines.append(f"{case['id']} {shown}: {wrong}")
    assert not lines, f"{len(lines)} of {len(cases)} vectors\n" + "\n".join(lines)
