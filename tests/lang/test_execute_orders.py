"""Random accesses between barriers: races are found where two threads touch one place in no order, and nowhere else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernel_programs import Kernel, gmem, kinds, layout, write

CTAS, THREADS = 2, 64
PLACES = 1024
WARP = 32

# Where thread i has its first element, and how many it touches from there on: side by side, with gaps, by each other's
# neighbours, backwards, together.
PATTERNS = {
    "run": (1, 0, 0, 1),
    "pairs": (2, 0, 0, 2),
    "fours": (4, 0, 0, 4),
    "gaps": (4, 0, 0, 1),
    "shifted": (1, 0, 16, 1),
    "askew": (1, 0, 3, 1),
    "swapped": (1, 1, 0, 1),
    "far": (1, 32, 0, 1),
    "backwards": (1, 31, 0, 1),
    "halves": (1, 16, 0, 1),
    "together": (0, 0, 5, 1),
    "behind": (4, 0, 512, 4),
}
touches = st.tuples(
    st.sampled_from(["read", "write", "read", "write", "number", "atomic"]),  # number: each thread writes its own
    st.sampled_from(["gmem", "smem"]),
    st.sampled_from(sorted(PATTERNS)),
    st.sampled_from([THREADS, THREADS, THREADS, WARP, 7]),  # only threads below do so
)
steps = st.one_of(touches, touches, touches, st.just(("sync",)), st.just(("warp",)))


def places(pattern: str, thread: int) -> list[int]:
    factor, flip, shift, count = PATTERNS[pattern]
    return [factor * (thread ^ flip) + shift + j for j in range(count)]


def is_race(program, own: bool) -> bool:
    """Whether two threads touch one place in no order; `own`: each CTA has its part of global memory.

    Equal values that lanes of a warp write in one instruction are none.
    """
    touched: dict[tuple, set] = {}
    barriers = warps = 0
    for number, step in enumerate(program):
        if step[0] in ("sync", "warp"):
            barriers += step[0] == "sync"
            warps += 1
            continue
        how, space, pattern, below = step
        for cta in range(CTAS):
            for t in range(below):
                i = t if own or space == "smem" else cta * THREADS + t
                for place in places(pattern, i):
                    key = (space, cta if own or space == "smem" else 0, place)
                    touched.setdefault(key, set()).add((how, cta, t, barriers, warps, number))
    for accesses in touched.values():
        for x in accesses:
            for y in accesses:
                if x[1:3] == y[1:3] or (x[0] == y[0] and x[0] in ("read", "atomic")):
                    continue
                if x[0] == "write" and (x[1], x[2] // WARP, x[5]) == (y[1], y[2] // WARP, y[5]):
                    continue
                if x[1] == y[1] and (x[3] != y[3] or (x[2] // WARP == y[2] // WARP and x[4] != y[4])):
                    continue
                return True
    return False


def written(program, own: bool):
    def body(k: Kernel):
        a = k.parameters[0]
        t = k.thread()
        i = t if own else k.thread_of_grid()
        base = {
            "gmem": k.at(a, k.op("mul", k.block(), 2 * PLACES)) if own else a,
            "smem": k.shared("Int32"),
        }
        for place in range(0, PLACES, 4 * THREADS):  # all of shared memory is written
            index = k.op("add", k.op("mul", t, 4), place)
            k.store(k.int32(1), k.at(base["smem"], index), layout(4, 1))
        k.sync()
        for line, step in enumerate(program, 10):
            k.line(line)
            if step[0] == "sync":
                k.sync()
            elif step[0] == "warp":
                k.op("sync_warp")
            else:
                how, space, pattern, below = step
                factor, flip, shift, count = PATTERNS[pattern]
                first = k.op("add", k.op("mul", k.op("xor", i if space == "gmem" else t, flip), factor), shift)
                place = k.at(base[space], first)

                def touch(how=how, place=place, count=count):
                    if how == "read":
                        k.load(place, layout(count, 1))
                    elif how == "write":
                        k.store(k.int32(3), place, layout(count, 1))
                    elif how == "number":
                        k.store(t, place, layout(count, 1))
                    else:
                        k.op("atomic", k.int32(1), accesses=[place], text="add")

                k.if_(k.op("lt", t, below), touch) if below < THREADS else touch()

    return write({"a": gmem("Int32", 4)}, body, shared_bytes=4 * PLACES)


def single(step):
    """Atomics and numbers of threads touch one element."""
    return step if step[0] not in ("number", "atomic") or PATTERNS[step[2]][3] == 1 else (*step[:2], "run", step[3])


@given(st.lists(steps, min_size=1, max_size=9), st.booleans(), st.integers(0, 3), st.sampled_from([0, 4, 5]))
def test_races_are_what_has_no_order(program, own, seed, offset):
    program = [single(step) for step in program]
    memory = np.zeros(4 * PLACES + 16, np.int32)
    array = memory[offset : offset + 4 * PLACES]
    findings = written(program, own).run(CTAS, THREADS, array, seed=seed)[0]
    assert kinds(findings) <= {"race", "missing fence"}  # the latter where atomics meet by chance
    assert bool(findings) == is_race(program, own), findings
