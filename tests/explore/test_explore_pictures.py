"""The page draws what Python draws: the same SVG, byte for byte; what it refuses, it says with the field to mend."""

from __future__ import annotations

import json
import random

import pytest

from explored import go, notation
from test_explore_algebra import DRAW, KINDS, any_layout
from tilewright import LayoutError, cute
from tilewright.explore.page import page
from tilewright.show.registry import OPERATIONS

L = cute.parse


@pytest.fixture(scope="module")
def loaded(browser, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(page(), encoding="utf-8")
    go(browser, file.as_uri())
    return browser


def answers(browser, requests):
    script = "requests => requests.map(request => explorer.core('picture', JSON.stringify(request)))"
    return browser.run(f"({script})({json.dumps(requests)})")


def compare(browser, cases):
    """The page has Python's SVG for (request, function that draws it in Python); how many, and how many are refused."""
    found = answers(browser, [request for request, _ in cases])
    expected = [svg_or_none(show) for _, show in cases]
    for (request, _), answer, svg in zip(cases, found, expected, strict=True):
        assert answer == {"svg": svg} if svg is not None else answer.keys() == {"error"}, request
    return len(expected) - expected.count(None), expected.count(None)


def svg_or_none(show):
    try:
        return show().svg()
    except (LayoutError, TypeError, ValueError):
        return None


def layout_case(chance):
    layout = any_layout(chance)
    request, options = {"subject": "layout", "layout": str(layout)}, {}
    if chance.random() < 0.5:
        request["bits"] = options["dtype"] = chance.choice((4, 8, 16, 32, 64))
        request["base"] = options["base"] = chance.choice((0, 16, 1 << 20))
    if chance.random() < 0.5:
        options["at"] = chance.randrange(cute.size(layout) + 1)
        request["at"] = str(options["at"])
    if chance.random() < 0.3:
        options["color"] = chance.choice(("value", "bank", "mode", 0, 1))
        request["color"] = str(options["color"])
    if chance.random() < 0.2:
        request["most"] = options["most"] = chance.choice((2, 8, 16))
    return request, lambda: cute.show(L(str(layout)), **options)


def tv_case(chance):
    threads, values = ([chance.choice((1, 2, 2, 4)) for _ in range(chance.randint(1, 2))] for _ in range(2))
    count = len(threads) + len(values)
    strides, step = [0] * count, 1
    for i in chance.sample(range(count), count):
        strides[i], step = step, step * (threads + values)[i]
    parts = (tuple(threads), tuple(values)), (tuple(strides[: len(threads)]), tuple(strides[len(threads) :]))
    tv = cute.make_layout(parts[0], stride=parts[1])
    rows = chance.choice([n for n in range(1, step + 1) if step % n == 0])
    tile = chance.choice(((rows, step // rows), (step,), (rows, step // rows + 1), (1, 1)))
    at = chance.randrange(step)
    of = str(cute.make_layout(tile)).partition(":")[0]
    return {"subject": "tv", "layout": str(tv), "tile": of, "at": str(at)}, lambda: cute.show(tv, tile=tile, at=at)


def composition_case(chance):
    size = chance.choice((12, 16, 24, 36))
    divisors = [n for n in range(1, size + 1) if size % n == 0]
    n, m = chance.choice(divisors), chance.choice(divisors)
    a = cute.make_layout((n, size // n), stride=chance.choice(((1, n), (size // n, 1))))
    b = cute.make_layout((m, size // m), stride=chance.choice(((1, m), (size // m, 1))))
    at = chance.randrange(size + 1)
    request = {"subject": "operation", "operation": "composition", "a": str(a), "b": str(b), "at": str(at)}

    return request, lambda: cute.show(cute.composition, a, b, at=at)


def operation_case(chance):
    op = chance.choice([op for op in OPERATIONS if op in KINDS])
    operands = [DRAW[kind](chance) for kind in KINDS[op]]
    if operands[-1] is None:  # Python takes None for a tiler of a divide alone
        op = "zipped_divide"
    names = dict(zip("abc", map(notation, operands), strict=False))
    options = {} if op == "complement" or chance.random() < 0.5 else {"at": chance.randrange(40)}
    request = {"subject": "operation", "operation": op, **names, **{name: str(x) for name, x in options.items()}}
    return request, lambda: cute.show(op, *operands, **options)


@pytest.mark.parametrize("case", [layout_case, tv_case, composition_case, operation_case])
def test_the_page_draws_what_python_draws(loaded, case):
    chance = random.Random(11)
    drawn, refused = compare(loaded, [case(chance) for _ in range(120)])
    assert drawn > 60
    assert refused > 3


def test_swizzles_are_drawn_before_and_after(loaded):
    text = "S<3,0,3> o 0 o (8,8):(8,1)"
    cases = [({"subject": "layout", "layout": text}, lambda: cute.show(text))]
    cases += [({"subject": "layout", "layout": text, "only": "after"}, lambda: cute.show(text, only="after"))]
    cases += [({"subject": "layout", "layout": "S<3,4,3>", "at": "500"}, lambda: cute.show(L("S<3,4,3>"), at=500))]
    assert compare(loaded, cases) == (3, 0)


@pytest.mark.parametrize(
    ("request_", "kind", "field"),
    [
        ({"subject": "layout", "layout": "(4,8):(8"}, "LayoutError", "layout"),
        ({"subject": "layout", "layout": "4", "color": "value"}, "TypeError", "layout"),
        ({"subject": "layout", "layout": "4:1", "at": "9"}, "ValueError", "at"),
        ({"subject": "layout", "layout": "4:1", "bits": "x"}, "TypeError", "bits"),
        ({"subject": "tv", "layout": "(2,2):(1,2)", "tile": "(1,1)"}, "LayoutError", None),
        (
            {"subject": "operation", "operation": "composition", "a": "(3,4):(4,1)", "b": "4:2", "at": "("},
            "LayoutError",
            "at",
        ),
        ({"subject": "nothing"}, "TypeError", "subject"),
    ],
)
def test_an_error_names_the_field_to_mend(loaded, request_, kind, field):
    (answer,) = answers(loaded, [request_])
    assert (answer["error"]["kind"], answer["error"].get("field")) == (kind, field), answer
    assert answer["error"]["text"].startswith("show")


def drawn(loaded, window=(1000, 700), **request):
    """The picture of a request in a window."""
    (answer,) = answers(loaded, [request | {"window": str(window).replace(" ", "")}])
    assert "error" not in answer, answer
    return answer


BANKS = {"subject": "banks", "swizzle": "S<3,3,3>", "bits": "16", "width": "16"}


def test_panels_stand_below_each_other_where_that_makes_them_larger(loaded):
    """Before and after a swizzle, and the request of each: four panels, which are a grid where they are narrow."""
    wide = drawn(loaded, layout="(8,64):(64,1)", **BANKS)["panels"]
    assert len({panel["left"] for panel in wide}) == 1
    assert [panel["top"] for panel in wide] == sorted(panel["top"] for panel in wide)
    assert [panel["title"].split()[0] for panel in wide] == ["before:", "after:", "before,", "after,"]
    narrow = drawn(loaded, layout="(64,8):(8,1)", **BANKS)["panels"]
    assert len({panel["top"] for panel in narrow}) == 2 == len({panel["left"] for panel in narrow})


@pytest.mark.parametrize("request_", ["32:32", "32:1", "(32,4):(4,1)"])
def test_the_offsets_above_the_words_of_a_line_stay_apart(loaded, request_):
    for window in ((1000, 700), (390, 430)):
        (panel,) = drawn(loaded, window, subject="request", layout=request_, bits="32")["panels"]
        (labels,) = panel["columnAxis"]
        assert labels[-1]["text"] == "+124"
        assert all(6 * len(label["text"]) < panel["w"] * label["span"] for label in labels)


def test_operands_of_a_multiplication_stand_around_the_product(loaded):
    operand = {"A": "((4,8),(2,2,2)):((32,1),(16,8,128))", "B": "((4,8),(2,2)):((16,1),(8,64))"}
    operand["C"] = "((4,8),(2,2)):((32,1),(16,8))"
    request = {"subject": "mma", "shape": "(16,8,16)", "tile": "(16,8,16)", "atoms": "(1,1,1)", "threads": "32"}
    for window in ((1600, 300), (300, 1600)):
        b, a, c = drawn(loaded, window, **operand, **request)["panels"]
        assert (b["left"], a["top"]) == (c["left"], c["top"])
        assert (b["title"], b["subtitle"]) == ("B (N,K)", "K runs down, N across")
        assert (a["subtitle"], c["subtitle"]) == ("", "")


def test_32_by_32_are_drawn_within_30_milliseconds(loaded):
    request = json.dumps(
        {"subject": "layout", "layout": "(32,32):(32,1)", "bits": 16, "color": "bank", "window": "(1000,800)"}
    )
    script = f"""(() => {{
        const times = Array.from({{ length: 12 }}, () => {{
            const start = performance.now();
            explorer.core("picture", {json.dumps(request)});
            return performance.now() - start;
        }});
        return Math.min(...times);
    }})()"""
    assert loaded.run(script) < 30
