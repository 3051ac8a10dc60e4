"""Conditions on dynamic integers: they hold exactly where the answer, computed by value, satisfies its law."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest

from tilewright import Int32, LayoutError, _core, cute

L = cute.parse
UNTIL = 300


# ---- the laws by brute force, on flat lists of extents and strides ----


def value(layout, i):
    """A(i), where the last mode goes on."""
    shape, stride = layout
    result = 0
    for s, d in zip(shape[:-1], stride[:-1], strict=True):
        result += i % s * d
        i //= s
    return result + i * stride[-1]


def flat(layout):
    flattened = cute.flatten(layout)
    return tuple([int(x) for x in (t if isinstance(t, tuple) else (t,))] for t in (flattened.shape, flattened.stride))


def size(layout):
    return math.prod(layout[0])


def answer(op, *args):
    with cute.unchecked():
        try:
            return flat(getattr(cute, op)(*args))
        except LayoutError:
            return None


def composition_is_right(a, b):
    r, a, b = answer("composition", a, b), flat(a), flat(b)
    return r is not None and size(r) == size(b) and all(value(r, i) == value(a, value(b, i)) for i in range(size(b)))


def division_is_right(a, b):
    with cute.unchecked():
        try:
            rest = flat(cute.complement(b, cute.coalesce(a).shape))
        except LayoutError:
            return False
    tiling = tuple(x + y for x, y in zip(flat(b), rest, strict=True))
    r, a = answer("logical_divide", a, b), flat(a)
    if r is None or size(r) != size(tiling):
        return False
    inside = [(i, t) for i in range(size(tiling)) if 0 <= (t := value(tiling, i)) < size(a)]
    return {t for _, t in inside} == set(range(size(a))) and all(value(r, i) == value(a, t) for i, t in inside)


def product_is_right(a, b):
    """R = (A, A* o B), where A* are the offsets with which translates of A do not meet, in order."""
    r, a, b = answer("logical_product", a, b), flat(a), flat(b)
    if r is None:
        return False
    with cute.unchecked():
        room = 2 * (max(value(a, i) for i in range(size(a))) + 1) * (max(value(b, i) for i in range(size(b))) + 1)
        places = flat(cute.complement(cute.make_layout(tuple(a[0]), stride=tuple(a[1])), room))
    n = size(a)
    return size(r) == n * size(b) and all(
        value(r, i) == value(a, i % n) + value(places, value(b, i // n)) for i in range(size(r))
    )


def complement_is_right(a, cotarget):
    r, a = answer("complement", a, cotarget), flat(a)
    if r is None or size(r) < 1:
        return False
    offsets, rest = [value(a, i) for i in range(size(a))], [value(r, i) for i in range(size(r))]
    sums = {x + y for x, y in product(offsets, rest)}
    return len(sums) == len(offsets) * len(rest) and rest == sorted(set(rest))


RIGHT = {
    "composition": composition_is_right,
    "logical_divide": division_is_right,
    "logical_product": product_is_right,
    "complement": complement_is_right,
}


def provided(text, a, b):
    """Whether what a condition is exact under holds for these operands."""
    (shape, stride), inside = flat(a), None
    holds = {
        "A is injective": lambda: len({value((shape, stride), i) for i in range(math.prod(shape))}) == math.prod(shape),
        "B lies inside A": lambda: max(value(inside, i) for i in range(size(inside))) < math.prod(shape),
        "no extent of A is 1": lambda: 1 not in shape,
        "the strides of B are positive": lambda: min(inside[1]) >= 0,
    }
    inside = flat(b)
    return all(holds[each]() for each in text.split(" and ") if each)


def compare(op, make, values):
    """The predicate of one derivation and the truth at each of the values; how often it holds, and how often not."""
    condition = _core.condition(op, make(*values[0]))
    if condition is None:
        return None
    names = {meaning: name for name, meaning in condition.unknowns.items()}
    counts = {True: 0, False: 0}
    for given in values:
        a, b = make(*given)
        here = _core.condition(op, (a, b))
        assert (here.predicate, here.unknowns, here.provided) == (
            condition.predicate,
            condition.unknowns,
            condition.provided,
        )
        holds, right = condition.holds(here.values), RIGHT[op](a, b)
        assert holds == here.holds()
        assert names.keys() == {*here.unknowns.values()}
        assert right or not holds, (op, a, b, given, str(condition))
        if op == "complement" or condition.exact or provided(condition.provided, a, b):
            assert holds == right, (op, a, b, given, str(condition))
        counts[holds] += 1
        if holds and size(flat(a)) < 1 << 12:
            getattr(cute, op)(a, b)  # the check by value accepts it, too
        elif not right:
            with pytest.raises(LayoutError):
                getattr(cute, op)(a, b)
    return counts


def layout_of(shape, stride):
    return cute.make_layout(tuple(shape), stride=tuple(stride))


def strides(rng, shape, small=False):
    found, end = [], 1
    for s in shape:
        found.append(rng.choice([end, end * rng.randint(1, 3), rng.randint(0, 20) if small else end + 97]))
        end = found[-1] * s
    if rng.random() < 0.3:
        rng.shuffle(found)
    return found


def one_unknown(rng, op):
    """Operands as a function of n: an extent of either, or a stride of the right one."""
    shape = [rng.choice([1, 2, 3, 4, 5, 6, 8, 12]) for _ in range(rng.randint(1, 3))]
    stride = strides(rng, shape, rng.random() < 0.3)
    count = rng.randint(1, 2) if op in ("composition", "logical_product") else 1
    right = [rng.choice([2, 3, 4, 6, 8]) for _ in range(count)]
    steps = [rng.choice([1, 1, 2, 3, 4, 6, 12]) for _ in range(count)]
    kind = rng.choice(["left", "left", "right", "step"])
    if op == "logical_product":
        end = 1
        for k in range(len(shape)):  # sorted, with gaps that are even
            stride[k] = end * rng.choice([1, 1, 2, 3])
            end = stride[k] * shape[k]
        kind = rng.choice(["right", "step"])
    place = rng.randrange(len(shape) if kind == "left" else count)

    def make(n):
        unknown = Int32(n)
        left, copies, step = [*shape], [*right], [*steps]
        {"left": left, "right": copies, "step": step}[kind][place] = unknown
        return layout_of(left, stride), layout_of(copies, step)

    return make


@pytest.mark.parametrize("op", ["composition", "logical_divide", "logical_product"])
def test_one_unknown(op):
    rng = random.Random(op)
    both = covered = 0
    for _ in range(40):
        make = one_unknown(rng, op)
        counts = compare(op, make, [(n,) for n in [*range(1, 27), *rng.sample(range(27, UNTIL + 1), 6)]])
        if counts is not None:
            covered += 1
            both += counts[True] > 0 and counts[False] > 0
    assert covered > 30
    assert both > 5


@pytest.mark.parametrize(
    ("op", "make"),
    [
        ("composition", lambda n: (L("(128,8):(1,1000)"), cute.make_layout(Int32(n)))),
        ("composition", lambda n: (L("(4,8,6):(1,100,7)"), cute.make_layout(Int32(n), stride=2))),
        ("composition", lambda n: (cute.make_layout((Int32(n), 8), stride=(1, 100)), L("4:3"))),
        ("composition", lambda n: (cute.make_layout((Int32(n), 8), stride=(1, 2)), L("3:7"))),  # right at n = 5, too
        ("composition", lambda n: (cute.make_layout((Int32(n), 8), stride=(8, 1)), L("(4,6):(3,12)"))),
        ("composition", lambda n: (cute.make_layout((4, Int32(n), 8), stride=(1, 5, 3)), L("12:2"))),
        ("composition", lambda n: (cute.make_layout((Int32(n), 8), stride=(0, 1)), L("4:3"))),
        ("composition", lambda n: (L("(4,8):(1,100)"), cute.make_layout(4, stride=Int32(n)))),
        ("logical_divide", lambda n: (cute.make_layout((Int32(n), 8), stride=(1, 100)), L("4:1"))),
        ("logical_divide", lambda n: (cute.make_layout((Int32(n), 8), stride=(8, 1)), L("6:2"))),
        ("logical_divide", lambda n: (cute.make_layout((6, Int32(n)), stride=(1, 100)), L("4:1"))),
        ("logical_divide", lambda n: (L("(12,8):(1,100)"), cute.make_layout(Int32(n)))),
        ("logical_product", lambda n: (L("(2,2):(1,8)"), cute.make_layout(Int32(n)))),
        ("logical_product", lambda n: (cute.make_layout(Int32(n), stride=4), L("(3,2):(1,3)"))),
        ("complement", lambda n: (cute.make_layout((Int32(n), 2), stride=(1, 96)), 192)),
        ("complement", lambda n: (cute.make_layout(4, stride=Int32(n)), 64)),
    ],
)
def test_up_to_300(op, make):
    assert sum(compare(op, make, [(n,) for n in range(1, UNTIL + 1)]).values()) == UNTIL


@pytest.mark.parametrize("op", ["composition", "logical_divide", "logical_product"])
def test_several_unknowns(op):
    rng = random.Random(f"several {op}")
    covered = 0
    for _ in range(40):
        shape = [rng.choice([2, 3, 4, 6]) for _ in range(rng.randint(1, 3))]
        stride = strides(rng, shape)
        right = [rng.choice([2, 3, 4, 6]) for _ in range(1 if op == "logical_divide" else 2)]
        steps = [rng.choice([1, 2, 3, 4, 8]) for _ in right]
        places = [("a", k) for k in range(len(shape))] + [("b", k) for k in range(len(right))]
        places += [("d", len(shape) - 1), ("e", 0)]
        if op == "logical_product":
            shape, stride = [4, 2], [1, 4 * rng.choice([1, 2, 3])]
            places = [(kind, k) for kind, k in places if kind in "be"]
        chosen = rng.sample(places, 2)

        def make(*values, operands=(shape, stride, right, steps), chosen=chosen):
            lists = dict(zip("adbe", ([*x] for x in operands), strict=True))
            for (kind, k), n in zip(chosen, values, strict=True):
                lists[kind][k] = Int32(n)
            return layout_of(lists["a"], lists["d"]), layout_of(lists["b"], lists["e"])

        values = [(rng.randint(1, 14), rng.randint(1, 14)) for _ in range(30)]
        covered += compare(op, make, values) is not None
    assert covered > 30


# ---- what a reader sees ----


def condition(op, *args):
    return cute.explain(op, *args).condition


def tensor(*shape, stride=None):
    return cute.make_layout(shape, stride=stride) if stride else cute.make_layout(shape)


UNKNOWN = Int32(12)


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        ("composition", ("(128,8):(1,1000)", tensor(UNKNOWN)), "n <= 128 or 128 | n"),
        ("composition", (tensor(UNKNOWN, 8, stride=(1, 100)), "6:1"), "n >= 6 or n | 6"),
        ("composition", (tensor(UNKNOWN, 8, stride=(1, 100)), "4:3"), "n >= 10 or n == 6 or n | 3"),
        ("composition", (tensor(UNKNOWN, 8, stride=(1, 2)), "3:7"), "n >= 15 or n | 7 or n == 5"),
        ("composition", (tensor(cute.assume(Int32(16), 8), 8, stride=(1, 100)), "4:2"), "true"),
        ("composition", (tensor(UNKNOWN, UNKNOWN), 7), "n >= 7 or n == 1"),
        ("composition", (tensor(UNKNOWN, UNKNOWN), (7, 5)), "true"),
        ("composition", (tensor(4, UNKNOWN, stride=(1, Int32(3))), "(2,2):(1,3)"), "d == 4"),
        ("composition", ("(4,8):(1,100)", cute.make_layout(4, stride=UNKNOWN)), "d >= 1 and (d | 4 or 4 | d)"),
        ("composition", ("(128,64):(1,1000)", tensor(UNKNOWN, UNKNOWN, stride=(1, 1))),
         "(128 | n0 and n1 == 1) or (128 | n1 and n0 == 1) or (n0 <= 128 and n1 <= 128 and n0 + n1 <= 129)"),
        ("logical_divide", (tensor(UNKNOWN), 128), "true"),
        ("logical_divide", (tensor(UNKNOWN, 8, stride=(1, 100)), 4), "4 | n or n | 4"),
        ("logical_divide", (tensor(UNKNOWN, UNKNOWN), 4), "(n0 >= 4 or n0 | 4) and (n1 == 1 or 4 | n0 or n0 | 4)"),
        ("zipped_divide", (tensor(UNKNOWN, UNKNOWN), (4, 4)), "true"),
        ("logical_product", ("(2,2):(1,8)", tensor(UNKNOWN)), "n <= 4 or 4 | n"),
        ("raked_product", ("4:1", tensor(UNKNOWN, UNKNOWN)), "true"),
        ("complement", (tensor(UNKNOWN, 2, stride=(1, 96)), 192), "n <= 96"),
        ("coalesce", (tensor(UNKNOWN, 2, stride=(1, 96)),), "true"),
        ("composition", ("(4,8):(1,5)", tensor(2, UNKNOWN, stride=(3, 5))), "n == 1"),
    ],
)  # fmt: skip
def test_texts(op, args, text):
    assert condition(op, *args).predicate == text


def test_names_say_which_operand_and_mode():
    nested = cute.make_layout((4, (UNKNOWN, 2)), stride=(100, (1, Int32(7))))
    assert condition("composition", nested, "(1,4,3):(1,4,16)").unknowns == {"n": "size<1,0>(A)", "d": "stride<1,1>(A)"}
    found = condition("composition", "((2,4),8):((1,9),1000)", (tensor(UNKNOWN), Int32(3)))
    assert (found.predicate, found.unknowns) == ("n == 1 or 2 | n", {"n": "size<0,0>(B)"})
    found = condition("composition", "((2,4),8):((1,9),1000)", (UNKNOWN, Int32(3)))
    assert found.unknowns == {"n": "size<0>(B)"}


def test_explain_shows_it_before_the_result():
    steps = cute.explain("composition", tensor(UNKNOWN, 8, stride=(1, 100)), "6:1").steps
    assert steps[-2] == "  exact if and only if n >= 6 or n | 6, where n is size<0>(A), here 12"
    assert steps[-1].startswith("result: ")
    refused = cute.explain("composition", tensor(Int32(4), 8, stride=(1, 100)), "6:1")
    assert refused.result is None
    assert not refused.condition.holds()
    assert refused.steps[-2] == "  exact if and only if n >= 6 or n | 6, where n is size<0>(A), here 4"
    sufficient = condition("logical_divide", tensor(UNKNOWN, 8, stride=(1, 100)), 5)
    assert not sufficient.exact
    assert str(sufficient) == (
        "exact if 5 | n or n == 1, where n is size<0>(A), here 12; for no other values if A is injective"
    )


def test_nothing_to_say():
    assert condition("composition", "(4,8):(1,4)", "4:2") is None
    assert _core.condition("composition", (cute.make_swizzle(1, 0, 1), tensor(UNKNOWN))) is None
    assert condition("right_inverse", tensor(UNKNOWN, 2)) is None
    assert condition("complement", tensor(UNKNOWN, 2, stride=(1, 96)), (64, 3)) is None
    assert condition("logical_divide", tensor(UNKNOWN, UNKNOWN), "(2,2):(1,3)") is None
    # Large numbers: the predicate itself would overflow.
    large = tensor(1 << 40, 1 << 40, UNKNOWN, stride=(1, 3, 5))
    assert condition("composition", large, "4:1") is None


def test_holds_takes_values_by_name():
    found = condition("composition", tensor(cute.assume(UNKNOWN, 4), 8, stride=(1, 100)), "(2,3):(1,20)")
    assert found.values == {"n": 12}
    assert found.predicate == "n == 4 or n == 20 or n >= 42"
    assert [n for n in range(4, 60, 4) if found.holds({"n": n})] == [4, 20, 44, 48, 52, 56]
    with pytest.raises(ValueError, match=r"Condition\.holds: there is no unknown m; the unknowns are n"):
        found.holds({"m": 4})
    with pytest.raises(ValueError, match=r"n is size<0>\(A\), a positive multiple of 4, but the value is 6"):
        found.holds({"n": 6})
    with pytest.raises(ValueError, match="a positive multiple of 4, but the value is -4"):
        found.holds({"n": -4})
    with pytest.raises(TypeError, match="a dict of the values of unknowns"):
        found.holds(4)
    with pytest.raises(TypeError):
        found.holds({"n": "8"})


def test_an_overflow_is_an_error():
    found = condition("composition", tensor(UNKNOWN, UNKNOWN, 8, stride=(1, 1000, 7)), "6:1")
    assert found.predicate == "n0 >= 6 or (n0 | 6 and n0*n1 >= 6) or n0*n1 | 6"
    with pytest.raises(
        LayoutError, match=r"Condition\.holds.*the product 3 \* 4611686018427387904 does not fit into 64"
    ):
        found.holds({"n0": 3, "n1": 1 << 62})
