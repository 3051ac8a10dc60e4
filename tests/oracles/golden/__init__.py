"""Results of the CuTe C++ headers (CUTLASS 4.7) as test vectors: one gzipped JSON file a family, see README.md."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from model.layouts import Basis, Layout

HERE = Path(__file__).parent


@cache
def load(family: str) -> dict[str, list[dict[str, Any]]]:
    """The operations of a family, each a list of cases with `id`, `args` and `result`."""
    (file,) = HERE.glob(f"*/{family}.json.gz")
    with gzip.open(file, "rt", encoding="utf-8") as f:
        data = json.load(f)
    assert data["family"] == family
    ops: dict[str, list[dict[str, Any]]] = data["ops"]
    return ops


def to_model(x: Any) -> Any:
    """A JSON value as the model has it: tuples, None for an underscore, Basis, Layout; other objects stay dicts."""
    if isinstance(x, list):
        return tuple(to_model(e) for e in x)
    if isinstance(x, str):
        if x == "_":
            return None
        return basis(x) if "@" in x else x
    if isinstance(x, dict):
        if set(x) == {"shape", "stride"}:
            return Layout(to_model(x["shape"]), to_model(x["stride"]))
        return {k: to_model(v) for k, v in x.items()}
    return x


def basis(text: str) -> Basis:
    """`v@inner@outer`: the last number is the outermost mode."""
    value, *path = (int(part) for part in text.split("@"))
    return Basis(value, tuple(reversed(path)))
