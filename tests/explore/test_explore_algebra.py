"""The page computes what Python computes: results, messages, derivations, predictions; on random and golden input."""

from __future__ import annotations

import json
import random
import re

import pytest

from explored import go, notation
from golden import load
from golden.convert import arguments
from tilewright import LayoutError, cute
from tilewright.analysis.layouts import analyze_layout
from tilewright.cute.text.explain import OPERATIONS
from tilewright.explore.operands import element_type, operand
from tilewright.explore.page import page

L = cute.parse


@pytest.fixture(scope="module")
def loaded(browser, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(page(), encoding="utf-8")
    go(browser, file.as_uri())
    return browser


def result_of(op, operands):
    """What the page has to answer: (result,), or (kind of error, text)."""
    try:
        result = getattr(cute, op)(*operands)
    except LayoutError as error:
        return "LayoutError", str(error)
    except TypeError as error:
        return "TypeError", str(error)
    return (notation(result).replace("<", "(").replace(">", ")") if isinstance(result, tuple) else str(result),)


def answers(browser, cases):
    """What the page's core answers, in the form of result_of, and its derivations as lines."""
    script = """cases => cases.map(([op, ...operands]) => {
        const answer = explorer.core("apply", op, ...operands);
        return [answer.error ? [answer.error.kind, answer.error.text] : [answer.result], answer.derivation ?? null];
    })"""
    return browser.run(f"({script})({json.dumps(cases)})")


def compare(browser, cases):
    """The page has Python's results, messages and derivations for (op, operands); how many results and errors."""
    found = answers(browser, [[op, *map(notation, operands)] for op, operands in cases])
    kinds = {"result": 0, "LayoutError": 0, "TypeError": 0}
    for (op, operands), (result, derivation) in zip(cases, found, strict=True):
        expected = result_of(op, operands)
        kinds["result" if len(expected) == 1 else expected[0]] += 1
        if expected[0] == "TypeError":  # named by C++ types there
            assert result[0] == "TypeError", (op, operands, result)
            continue
        assert tuple(result) == expected, (op, operands)
        if derivation is not None:
            assert derivation == list(cute.explain(op, *operands).steps), (op, operands)
        elif op in OPERATIONS:
            with pytest.raises(TypeError):
                cute.explain(op, *operands)
    return kinds


def leaf_modes(chance):
    """A few modes; strides that fit together more often than not."""
    modes, stride = [], chance.choice((1, 1, 1, 2, 3))
    for _ in range(chance.randint(1, 4)):
        extent = chance.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 9))
        modes.append((extent, chance.choice((stride, stride, stride, 0, 1, chance.randint(-4, 12)))))
        stride *= extent
    chance.shuffle(modes)
    return modes


def grouped(chance, modes):
    """Modes as a nested layout."""
    if len(modes) == 1 and chance.random() < 0.7:
        return modes[0]
    parts = []
    while modes:
        count = chance.randint(1, len(modes))
        inner, modes = modes[:count], modes[count:]
        parts += [grouped(chance, inner)] if modes else inner
    return tuple(s for s, _ in parts), tuple(d for _, d in parts)


def any_layout(chance):
    shape, stride = grouped(chance, leaf_modes(chance))
    layout = cute.make_layout(shape, stride=stride)
    roll = chance.random()
    if roll < 0.05:
        swizzle = cute.make_swizzle(chance.randint(1, 2), chance.randint(0, 2), chance.randint(2, 3))
        return cute.make_composed_layout(swizzle, chance.choice((0, 0, 4)), layout)
    return cute.make_identity_layout(shape) if roll < 0.08 else layout


def any_tiler(chance):
    def one():
        layout = cute.make_layout(chance.randint(1, 4), stride=chance.randint(1, 4))
        return chance.choice((chance.randint(1, 6), layout, None))

    roll = chance.random()
    if roll < 0.4:
        return any_layout(chance)
    return one() if roll < 0.6 else tuple(one() for _ in range(chance.randint(1, 3)))


DRAW = {
    "layout": any_layout,
    "tiler": any_tiler,
    "shape": lambda chance: grouped(chance, leaf_modes(chance))[0],
    "factor": lambda chance: chance.choice((1, 2, 2, 4, 3)),
    "bits": lambda chance: chance.choice((4, 8, 16, 32, 64)),
    "order": lambda chance: chance.choice(((0, 1), (1, 0))),
}
FORMS = ("logical", "zipped", "tiled", "flat")
KINDS = {
    **dict.fromkeys(("right_inverse", "left_inverse", "nullspace", "filter", "filter_zeros", "flatten"), ("layout",)),
    **{f"{form}_{op}": ("layout", "tiler") for form in FORMS for op in ("divide", "product")},
    **dict.fromkeys(("blocked_product", "raked_product", "make_layout_tv", "max_common_layout"), ("layout", "layout")),
    "composition": ("layout", "tiler"),
    "coalesce": ("layout",),
    "complement": ("layout", "shape"),
    "with_shape": ("layout", "shape"),
    "tile_to_shape": ("layout", "shape", "order"),
    "upcast": ("layout", "factor"),
    "downcast": ("layout", "factor"),
    "recast_layout": ("bits", "bits", "layout"),
    "crd2idx": ("shape", "layout"),
}


def test_the_page_offers_these_operations(loaded):
    assert set(loaded.run("Object.keys(explorer.operations)")) == set(KINDS)
    for op, (names, examples) in loaded.run("explorer.operations").items():
        operands = [operand(text) for text in examples if text]
        assert len(result_of(op, operands)) == 1, op
        assert len(names) == len(examples)


@pytest.mark.parametrize("seed", range(4))
def test_the_page_agrees_with_python_on_random_operands(loaded, seed):
    chance = random.Random(seed)
    cases = [(op, [DRAW[kind](chance) for kind in kinds]) for op, kinds in KINDS.items() for _ in range(25)]
    kinds = compare(loaded, cases)
    assert len(cases) > 600
    assert kinds["result"] > 300
    assert kinds["LayoutError"] > 60


VECTORS = {
    "simplify": ["coalesce", "coalesce_by_mode"],
    "composition": ["composition", "composition_by_mode", "composition_int"],
    "complement": ["complement", "complement_shape", "complement_default"],
    "inverse": ["right_inverse", "left_inverse"],
    "divide": [f"{form}_divide" for form in FORMS],
    "product": [f"{form}_product" for form in (*FORMS, "blocked", "raked")],
}


def test_the_page_agrees_with_python_on_the_golden_vectors(loaded):
    names = {"coalesce_by_mode": "coalesce"}
    cases = []
    for family, ops in VECTORS.items():
        for op in ops:
            name = names.get(op, re.sub("_(by_mode|int|shape|default)$", "", op))
            cases += [(name, list(arguments(case).values())) for case in load(family)[op]]
    cases = cases[::2]
    assert compare(loaded, cases)["result"] > 1000


def test_the_page_reads_what_python_reads(loaded):
    texts = [
        "4",
        "-3",
        "(4,(2,_))",
        "_",
        "(4)",
        "()",
        "S<3,4,3>",
        "Sw<1,2,3> o 0 o (4,8):(8,1)",
        "(8,4):(1@0,1@1)",
        "4:1 x",
        "(4",
        "é",
    ]
    texts += ["", "9223372036854775808", "(4,2):(1)", "0:1", "4:?", "(((", "3:1,", "1@0@9999", "_4:_1"]
    texts.append("(" * 500)
    found = loaded.run(f"{json.dumps(texts)}.map(text => explorer.core('parse', text))")
    for text, answer_ in zip(texts, found, strict=True):
        try:
            expected = {"text": notation(cute.parse(text))}
        except LayoutError as error:
            expected = {"text": None, "error": str(error)}
        got = answer_.get("text"), answer_.get("error", {}).get("text")
        assert got == (expected["text"], expected.get("error")), text


def prediction(layout, bits, memory, op, width, base):
    """What the page has to predict, in its names; the kind of error where there is none."""
    dtype = {8: "i8", 16: "f16", 32: "f32", 64: "f64"}[bits]
    try:
        found = analyze_layout(layout, element_type(dtype), memory=memory, op=op, width=width or None, base=base)
    except ValueError as error:
        return type(error).__name__
    (x,) = found.instructions
    fields = ("requests", "sectors", "ideal_sectors", "lines", "wavefronts", "ideal_wavefronts", "width")
    totals = {name: getattr(x, name) for name in fields}
    return totals | {
        "useful_bytes": x.bytes_useful,
        "widest": found.widest,
        "limit": found.limit,
        "addresses": list(x.addresses),
        "advice": found.advice,
    }


def test_the_page_predicts_what_python_predicts(loaded):
    chance = random.Random(5)
    cases = []
    for _ in range(600):
        values = chance.choice(("", ",2", ",4", ",8"))
        strides = f"({chance.choice((1, 2, 3, 4, 8, 16, 32, 33, 64))},{chance.choice((1, 1, 1, 128))})"
        shape = f"({chance.choice((7, 8, 16, 32, 64))}{values or ',1'})"
        layout = chance.choice(("", "", "S<3,2,3> o 0 o ", "S<2,3,3> o 0 o ")) + f"{shape}:{strides}"
        memory = chance.choice(("global", "shared"))
        ops = ("load", "store", "cp.async")
        ops += ("ldmatrix", "stmatrix") if memory == "shared" else ()
        width = chance.choice((0, 0, 0, 1, 2, 4, 8, 16))
        cases.append(
            (
                layout,
                chance.choice((8, 16, 32, 64)),
                memory,
                chance.choice(ops),
                width,
                chance.choice((0, 0, 4, 16, 36, 48)),
            )
        )
    cases += [("32:1", 32, "global", op, 0, base) for op in ("load", "store") for base in (4, 28, -4)]
    cases += [("S<0,4,3> o 1 o (32,2):(4,1)", 32, "global", "load", 8, 4)]  # accesses are aligned, the base is not
    reversed_ = [("32:-1", 4), ("32:-2", 4), ("(32,4):(-4,1)", 4), ("(32,4):(-4,1)", 0), ("(32,2):(-1,-32)", 4)]
    cases += [(text, 32, "global", "load", width, base) for text, width in reversed_ for base in (1024, 1040, 1052)]
    cases += [(f"32:{stride}", 32, "shared", "load", 0, 4096) for stride in (-32, -8, 32, 2)]
    names = ("layout", "bits", "memory", "op", "width", "base")
    requests = [["predict", *(f"{name}={value}" for name, value in zip(names, case, strict=True))] for case in cases]
    script = "requests => requests.map(request => explorer.core(...request))"
    found = loaded.run(f"({script})({json.dumps(requests)})")
    good, sentences = 0, set()
    for case, got in zip(cases, found, strict=True):
        expected = prediction(L(case[0]), *case[1:])
        if isinstance(expected, str):
            assert "error" in got, case
            continue
        good += 1
        assert "error" not in got, (case, got)
        sentences.add(re.sub("[0-9.]+", "N", re.sub("-?0x[0-9a-f]+", "A", expected["advice"])))
        flat = got | {"addresses": got["worst"]["addresses"]}
        assert {name: flat[name] for name in expected} == expected, case
    assert good > 120
    assert sentences >= SENTENCES


# Every sentence there is, by what it says without its numbers.
SENTENCES = {
    "",
    "N-way bank conflict; composition with Swizzle<N,N,N> takes N wavefronts instead of N",
    "N-way bank conflict; composition with Swizzle<N,N,N> takes N wavefront instead of N",
    "N-way bank conflict: lanes want different words of one bank; pad the stride between them",
    "accesses of N bytes are legal, and take N times fewer instructions",
    "N of N lanes are active: give a warp's other lanes work, too",
    "the base A lies N bytes behind a sector: from an aligned one on the accesses take N sectors instead of N",
    "a request's lowest address A lies N bytes behind a sector: from an aligned one on the accesses take N sectors "
    "instead of N",
    "neighbouring lanes are N bytes apart but access N: let them access neighbouring elements",
    "a request takes N sectors where N would do: let neighbouring lanes access neighbouring elements",
}
