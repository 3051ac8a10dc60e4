"""Between the vectors' JSON, CuTe's printed text and tilewright's objects."""

from __future__ import annotations

from typing import Any

import tilewright as tw
from tilewright import cute


def to_cute(x: Any) -> Any:
    """A JSON value with every integer static."""
    if isinstance(x, list):
        return tuple(to_cute(e) for e in x)
    if isinstance(x, dict):
        if "swizzle" in x:
            swizzle = cute.Swizzle(*x["swizzle"])
            return composed(swizzle, x) if "layout" in x else swizzle
        return cute.make_layout(to_cute(x["shape"]), stride=to_cute(x["stride"]))
    if isinstance(x, str) and (x == "_" or "@" in x):
        return leaf(x, static=True)
    return x


def composed(inner: Any, x: dict[str, Any]) -> Any:
    return cute.make_composed_layout(inner, to_cute(x.get("offset", 0)), to_cute(x["layout"]))


def leaf(text: str, static: bool) -> Any:
    """`4`, `2@1@0` or `_`."""
    if text == "_":
        return None
    value, *mode = (int(part) for part in text.split("@"))
    if mode:
        return cute.ScaledBasis(value, mode)
    return value if static else tw.Int32(value)


def parse(text: str) -> Any:
    """What CuTe printed, `(_4,(2,_3)):(_1,(4,_8))`: an underscore marks a static integer, without it it is dynamic."""
    value, rest = item(text)
    assert not rest, text
    return value


def item(text: str) -> tuple[Any, str]:
    value, rest = atom(text)
    if rest.startswith(":"):
        stride, rest = atom(rest[1:])
        return cute.make_layout(value, stride=stride), rest
    return value, rest


def atom(text: str) -> tuple[Any, str]:
    if not text.startswith("("):
        end = next((i for i, c in enumerate(text) if c in ",:()"), len(text))
        word = text[:end]
        static = word.startswith("_")
        return leaf(word[1:] if static and word != "_" else word, static), text[end:]
    values, text = [], text[1:]
    while not text.startswith(")"):
        value, text = item(text)
        values.append(value)
        text = text.removeprefix(",")
    return tuple(values), text[1:]


def arguments(case: dict[str, Any]) -> dict[str, Any]:
    """The arguments as objects; those that CuTe printed keep their dynamic integers."""
    texts = case["args"].get("args_printed", {})
    return {k: parse(texts[k]) if k in texts else to_cute(v) for k, v in case["args"].items() if k != "args_printed"}


# ---- results ---------------------------------------------------------------------------------------------------------


def is_static(x: Any) -> bool:
    return isinstance(x, int)  # Int32 and Int64 are no ints


def value(x: Any) -> int:
    number: int = x if isinstance(x, int) else x._value
    return number


def to_json(x: Any) -> Any:
    """An object of tilewright in the encoding of the vectors."""
    if x is None:
        return "_"
    if isinstance(x, tuple | list):
        return [to_json(e) for e in x]
    if isinstance(x, cute.Layout):
        return {"shape": to_json(x.shape), "stride": to_json(x.stride)}
    if isinstance(x, cute.Swizzle):
        return {"swizzle": [x.num_bits, x.num_base, x.num_shift]}
    if isinstance(x, cute.ComposedLayout):
        if isinstance(x.inner, cute.Swizzle):
            return {**to_json(x.inner), "offset": to_json(x.offset), "layout": to_json(x.outer)}
        return {"layout_a": to_json(x.inner), "offset": to_json(x.offset), "layout_b": to_json(x.outer)}
    if isinstance(x, cute.ScaledBasis):
        return "@".join([str(value(x.value)), *map(str, x.mode)])
    if isinstance(x, dict):
        return {k: to_json(v) for k, v in x.items()}
    return int(value(x))


def to_text(x: Any) -> Any:
    """The object as CuTe prints it: static integers have an underscore. Named results stay apart."""
    if isinstance(x, dict):
        return {k: to_text(v) for k, v in x.items()}
    if x is None:
        return "_"
    if isinstance(x, tuple | list):
        return "(" + ",".join(map(to_text, x)) + ")"
    if isinstance(x, cute.Layout):
        return f"{to_text(x.shape)}:{to_text(x.stride)}"
    if isinstance(x, cute.ComposedLayout):
        swizzle = x.inner
        sizes = f"{swizzle.num_bits},{swizzle.num_base},{swizzle.num_shift}"
        return f"Sw<{sizes}> o {to_text(x.offset)} o {to_text(x.outer)}"
    if isinstance(x, cute.ScaledBasis):
        return "@".join([to_text(x.value), *map(str, x.mode)])
    return f"_{x}" if is_static(x) else str(value(x))


def counting_text(tensor: dict[str, Any]) -> str:
    """A counting tensor as CuTe prints it."""
    return f"counting_iter({value(tensor['offset'])}) o {to_text(tensor['layout'])}"


def components(x: Any, path: tuple[int, ...] = ()) -> dict[tuple[int, ...], int]:
    """What is not zero in an offset, a coordinate, or a multiple of a basis element, by its path."""
    if isinstance(x, tuple):
        return {k: v for i, c in enumerate(x) for k, v in components(c, (*path, i)).items()}
    if isinstance(x, cute.ScaledBasis):
        return components(x.value, tuple(reversed(x.mode)))
    return {path: value(x)} if value(x) else {}
