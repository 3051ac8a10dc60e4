"""Random cases of the algebra beside NumPy and isl, and small worlds of compositions that are looked at whole."""

from __future__ import annotations

from collections import Counter
from itertools import count as numbers
from itertools import product
from random import Random

import pytest

from exact import verdicts, worlds

# What a run takes, and what a night takes: so many cases in each of ten chunks.
FEW = {"composition": 300, "composition_by_sets": 40, "disjoint_by_sets": 60}
MANY = {"composition": 95_000, "composition_by_sets": 5_000, "disjoint": 9_000, "disjoint_by_sets": 1_000}


def check(name, count, seed):
    became, findings = verdicts.run(name, count, seed)
    assert not findings, "\n".join(findings[:10])
    assert sum(became.values()) == count
    return became


@pytest.mark.parametrize("name", verdicts.CHECKS)
def test_random_cases(name, record_property):
    became = check(name, FEW.get(name, 150), 1)
    record_property("figure", f"{sum(became.values())} of {name}")
    assert len(became) > 1 or name == "right_inverse"


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10, 20))
@pytest.mark.parametrize("name", verdicts.CHECKS)
def test_many_random_cases(name, seed, record_property):
    became = check(name, MANY.get(name, 10_000), seed)
    record_property("figure", f"{sum(became.values()):,} of {name}")


@pytest.mark.parametrize("cases", [20_000, pytest.param(10_000_000, marks=pytest.mark.nightly)])
def test_random_worlds(cases, record_property):
    """Compositions of random layouts with every s:d inside, beside linear equations that decide and NumPy's values."""
    total: Counter[str] = Counter()
    for seed in numbers():
        count, findings = worlds.drawn(Random(f"worlds {seed}"))
        assert not findings, f"world {seed}:\n" + "\n".join(findings[:10])
        total += count
        if total["cases"] >= cases:
            break
    assert min(total["layouts"], total["refused"]) > cases / 10
    record_property(
        "figure", f"{total['cases']:,} compositions: {total['layouts']:,} layouts, {total['refused']:,} refused"
    )


def explored(extents, steps, rank):
    total: Counter[str] = Counter()
    for shape in product(extents, repeat=rank):
        count, findings = worlds.explore(shape, steps)
        assert not findings, "\n".join(findings[:10])
        total += count
    return total


def test_a_small_world_of_rank_3():
    total = explored((2, 3), range(1, 4), 3)
    assert total == {"cases": 9450, "layouts": 4988, "refused": 4462}


@pytest.mark.nightly
def test_rank_2_whole():
    """Extents 2 to 8, strides 1 to 12."""
    total = explored(range(2, 9), range(1, 13), 2)
    assert total == {"cases": 606_240, "layouts": 323_346, "refused": 282_894}


@pytest.mark.nightly
def test_rank_3_whole():
    """Extents 2 to 4, strides 1 to 16."""
    total = explored(range(2, 5), range(1, 17), 3)
    assert total == {"cases": 10_280_960, "layouts": 4_521_208, "refused": 5_759_752}
