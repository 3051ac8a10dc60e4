"""The lines of a derivation, up to the first condition that does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute._derivations.values import join, layout, modes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Broken(Exception):
    """The condition, with its numbers, for want of which CuTe goes no further."""

    noted = False


class Notes:
    """The lines of a derivation, indented by depth, and the number of lines up to the first broken condition."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.broken_at: int | None = None
        self._depth = 0

    def say(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def broken(self, text: str) -> None:
        """A step whose condition does not hold. CuTe may go on all the same; whether that is right, the law decides."""
        self.say(text)
        if self.broken_at is None:
            self.broken_at = len(self.lines)

    def __enter__(self) -> Notes:
        self._depth += 1
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Broken) and not error.noted:
            self.broken(str(error))
            error.noted = True
        self._depth -= 1


def by_mode(notes: Notes, a: Any, parts: Sequence[Any], heading: Callable[[Any, Any], str], f: Any, keep: bool) -> Any:
    """The modes of `a` with f(mode, part) in place of the leading ones; the others are kept or dropped."""
    modes = modes_of(a)
    if len(parts) > len(modes):
        raise Broken(f"there are {len(parts)} modes in the tiler, but {layout(a)} has {len(modes)}")
    results = []
    for i, (mode, part) in enumerate(zip(modes, parts, strict=False)):
        notes.say(f"mode {i}: {heading(mode, part)}")
        with notes:
            results.append(f(notes, mode, part))
            notes.say(f"= {layout(results[-1])}")
    return join([*results, *(modes[len(parts) :] if keep else [])])
