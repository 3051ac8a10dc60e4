"""The threads of a grid in plain Python: each is a generator, which yields where it waits for others.

`yield` alone is a barrier of the block. `yield (what, value, number)` is an exchange in a warp, and gives its result.
"""

LANES = 32


def run_grid(blocks, threads, start):
    """Run `start(block, thread, shared)` for all threads; `shared` is a dict that a block's threads have together."""
    for block in range(blocks):
        shared = {}
        running = [start(block, thread, shared) for thread in range(threads)]
        answers = [None] * threads
        while running:
            asked, ended = [], 0
            for thread, answer in zip(running, answers, strict=True):
                try:
                    asked.append(thread.send(answer))
                except StopIteration:
                    ended += 1
            if ended:
                assert ended == threads, "some threads wait for others that have ended"
                break
            answers = _answers(asked)


def _answers(asked):
    if asked[0] is None:
        assert not any(asked), "some threads wait for all others"
        return asked
    assert len({(what, number) for what, _, number in asked if what != "idx"}) <= 1, "threads wait for different things"
    found = []
    for first in range(0, len(asked), LANES):
        warp = asked[first : first + LANES]
        values = [value for _, value, _ in warp]
        found += [_exchanged(what, values, lane, number) for lane, (what, _, number) in enumerate(warp)]
    return found


def _exchanged(what, values, lane, number):
    if what in ("idx", "up", "down", "bfly"):
        source = {"idx": number, "up": lane - number, "down": lane + number, "bfly": lane ^ number}[what]
        return values[source] if 0 <= source < len(values) else values[lane]
    if what == "ballot":
        return sum(1 << i for i, value in enumerate(values) if value)
    if what == "redux":
        return number(values)
    return {"any": any, "all": all}[what](values)
