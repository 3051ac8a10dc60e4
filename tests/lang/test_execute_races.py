"""Two threads touch one place: lanes of a warp, warps, groups of warps, CTAs; with what orders them, and without it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernel_programs import Kernel, gmem, write

# What the first thread does in line 10 and the other one in line 20.
RACES = ["write write", "write read", "read write", "write atomic", "atomic write", "atomic read", "read atomic"]
PEACE = ["read read", "atomic atomic"]
ACTORS = {"lanes": (0, 1), "warps": (0, 32), "groups": (0, 64), "ctas": (128, 0)}  # threads of the grid
PLACES = [*itertools.product(["lanes", "warps", "groups"], ["smem", "gmem"]), ("ctas", "gmem")]
INT32 = gmem("Int32")


def touch(k: Kernel, how: str, place, result):
    if how == "write":
        k.store(k.int32(7), place)
    elif how == "read":
        k.store(k.load(place), result)
    else:
        k.store(k.op("atomic", k.int32(1), accesses=[place], text="add"), result)


def order(k: Kernel, actors: str, first, other):
    """What puts the second thread behind the first."""
    flag = k.parameters[2]
    if actors == "lanes":
        k.op("sync_warp")
    elif actors == "warps":
        k.sync()
    elif actors == "groups":
        k.op("barrier", k.int32(3), k.int32(128))
    else:

        def signal():
            k.op("fence", text="acq_rel.gpu")
            k.op("atomic", k.int32(1), accesses=[flag], text="exch")

        def wait():
            def before(seen):
                return [k.op("eq", seen, 0), seen]

            k.while_([k.int32(0)], before, lambda _: [k.op("atomic", k.int32(0), accesses=[flag], text="add")])
            k.op("fence", text="acq_rel.gpu")

        k.if_(first, signal)
        k.if_(other, wait)


def disorder(k: Kernel, actors: str, first, other):
    """What looks as if it did."""
    if actors == "warps":
        k.op("sync_warp")
    elif actors == "groups":
        group = k.op("floor_div", k.thread(), 64)
        k.op("barrier", k.op("add", group, 1), k.int32(64))
    elif actors == "ctas":
        k.sync()


def findings(actors: str, space: str, hows: str, between, seed=0):
    one, two = ACTORS[actors]

    def body(k: Kernel):
        a, b, _ = k.parameters
        place = k.shared("Int32") if space == "smem" else a
        i = k.thread_of_grid()
        if space == "smem":
            k.if_(k.op("eq", k.thread(), 0), lambda: k.store(k.int32(1), place))
            k.sync()
        first, other = k.op("eq", i, one), k.op("eq", i, two)
        for line, condition, how in zip((10, 20), (first, other), hows.split(), strict=True):
            k.line(line)
            k.if_(condition, lambda line=line, how=how: touch(k, how, place, k.at(b, k.int32(line))))
            if line == 10:
                k.line(15)
                between(k, actors, first, other)

    a, b, flag = np.zeros(1, np.int32), np.zeros(32, np.int32), np.zeros(1, np.int32)
    kernel = write({"a": INT32, "b": INT32, "flag": INT32}, body, shared_bytes=4)
    return (
        kernel.run(2, 128, a, b, flag, seed=seed)[0]
        if actors == "ctas"
        else kernel.run(1, 128, a, b, flag, seed=seed)[0]
    )


@pytest.mark.parametrize("hows", RACES)
@pytest.mark.parametrize(("actors", "space"), PLACES)
def test_races(actors, space, hows):
    for seed in range(3):
        (race,) = findings(actors, space, hows, disorder, seed)
        assert (race.kind, race.space) == ("race", space)
        assert {race.line, race.other_place[1]} == {10, 20}
        threads = {128 * block[0] + thread[0] for block, thread in (race.thread, race.other_thread)}
        assert threads == set(ACTORS[actors])


@pytest.mark.parametrize("hows", RACES)
@pytest.mark.parametrize(("actors", "space"), PLACES)
def test_order(actors, space, hows):
    for seed in range(3):
        assert findings(actors, space, hows, order, seed) == []


@pytest.mark.parametrize("hows", PEACE)
@pytest.mark.parametrize(("actors", "space"), PLACES)
def test_peace(actors, space, hows):
    assert findings(actors, space, hows, disorder) == []
