"""What keeps the last things made forgets the oldest, by several threads at once, too."""

from __future__ import annotations

from tilewright.kernels.common.recent import make_room


def test_the_oldest_go():
    kept = dict.fromkeys("abcd", 1)
    make_room(kept, 5)
    assert list(kept) == list("abcd")
    make_room(kept, 4)
    assert list(kept) == list("bcd")
    make_room(kept, 1)
    assert not kept


class Shared(dict):
    """Whoever looks at its keys is overtaken by another thread, which forgets the same."""

    def __iter__(self):
        keys = list(self.keys())
        self.pop("a", None)
        return iter(keys)


def test_another_thread_forgets_the_same():
    kept = Shared.fromkeys("abc", 1)
    make_room(kept, 2)
    assert list(kept.keys()) == ["c"]
