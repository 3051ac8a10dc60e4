"""runtime.on_launch: what is told of a launch, to whom, for how long, and what an error does."""

from __future__ import annotations

import threading

import pytest

from launches import Buffers, Several, Slow, array_type, one_kernel
from tilewright import _core, runtime

cuda = _core.cuda


@pytest.fixture
def pair():
    array = array_type()
    return array(data=4096), array(data=8192)


def test_what_a_launch_says():
    recorder = cuda.Recorder("copy")
    kernel = cuda.Kernel(
        recorder, (3, 2, 1), (64, 4, 1), 256, bytes(16), [(0, 0, 0)], programmatic=True, plan="plan",
        tensors=[(1, -16), None, (0, 1 << 40)],
    )  # fmt: skip
    seen = []
    with runtime.on_launch(seen.append):
        cuda.Prepared([kernel]).launch([64, 128], 7)
    (one,) = seen
    assert (one.plan, one.kernel, one.addresses) == ("plan", "copy", (112, None, 64 + (1 << 40)))
    assert (one.grid, one.block, one.shared, one.programmatic) == ((3, 2, 1), (64, 4, 1), 256, True)
    assert (one.device, one.stream) == (0, 7)
    assert repr(one) == "Launch(copy, grid=(3, 2, 1), block=(64, 4, 1), device=0, stream=7)"
    with pytest.raises(AttributeError):
        one.plan = None


def test_repeated_and_bound_launches_are_told(pair):
    slow = Slow()
    launcher = cuda.Launcher(slow)
    seen = []
    with runtime.on_launch(seen.append):
        launcher(*pair)
        assert seen == []  # that slow path only prepares
        launcher(*pair)
        bound = slow(*pair)[1].bind(*pair)
        bound()
        bound(stream=5)
    assert [one.stream for one in seen] == [77, 77, 5]


def test_until_when():
    launch = one_kernel(cuda.Recorder(), (1, 1, 1), (1, 1, 1), 0, bytes(8))
    seen = []
    hook = runtime.on_launch(lambda one: seen.append("hook"))
    assert isinstance(hook, runtime.LaunchHook)
    with runtime.on_launch(lambda one: seen.append("block")) as inner:
        launch.launch([], 0)
    launch.launch([], 0)
    inner.remove()
    hook.remove()
    hook.remove()
    launch.launch([], 0)
    assert seen == ["hook", "block", "hook"]
    with pytest.raises(KeyError), runtime.on_launch(seen.append):
        raise KeyError
    launch.launch([], 0)
    assert len(seen) == 3


def test_one_function_may_be_set_twice():
    launch = one_kernel(cuda.Recorder(), (1, 1, 1), (1, 1, 1), 0, bytes(8))
    seen = []
    first, second = runtime.on_launch(seen.append), runtime.on_launch(seen.append)
    launch.launch([], 0)
    first.remove()
    launch.launch([], 0)
    second.remove()
    assert len(seen) == 3


def test_functions_that_come_and_go_while_they_are_called():
    launch = one_kernel(cuda.Recorder(), (1, 1, 1), (1, 1, 1), 0, bytes(8))
    seen = []

    def removing(one):
        first.remove()
        hooks.append(runtime.on_launch(seen.append))

    hooks = []
    first = runtime.on_launch(removing)
    launch.launch([], 0)
    assert (len(hooks), seen) == (1, [])
    launch.launch([], 0)
    assert (len(hooks), len(seen)) == (1, 1)
    hooks[0].remove()


@pytest.mark.parametrize("callback", [None, 3, "print"])
def test_what_cannot_be_called(callback):
    with pytest.raises(TypeError, match=f"on_launch: .*callback.* got {type(callback).__name__}"):
        runtime.on_launch(callback)


def test_only_launches_make_a_launch():
    for kind in (runtime.Launch, runtime.LaunchHook):
        with pytest.raises(TypeError):
            kind()


def test_an_error_is_raised_when_all_is_enqueued(pair):
    """The memory of launches stays as it is, and no other function is told."""
    slow = Several("first", "second", workspace=Buffers())
    launcher = cuda.Launcher(slow)
    launcher(*pair)
    bound = slow.prepared().bind(*pair)
    seen = []

    def fail(one):
        seen.append(one.kernel)
        raise KeyError(one.kernel)

    calls = (lambda: launcher(*pair), bound, lambda: slow.prepared().launch([64, 128], 0))
    with runtime.on_launch(fail), runtime.on_launch(lambda one: seen.append("another")):
        for count, call in enumerate(calls, 1):
            with pytest.raises(KeyError, match="first"):
                call()
            assert slow.counts == [count, count]
    assert seen == ["first"] * 3
    assert launcher(*pair) is pair[1]
    assert (slow.calls, launcher.entries, slow.counts) == (1, 1, [4, 4])


def test_an_error_in_the_first_call(pair):
    """The slow path launches itself: what it raised is not remembered, and the next call is as if it were the first."""
    recorder = cuda.Recorder()

    def slow(src, dst):
        prepared = one_kernel(recorder, (1, 1, 1), (1, 1, 1), 0, bytes(8), [(0, 0, 0)], result=1)
        prepared.launch([64], 0)
        return dst, prepared

    launcher = cuda.Launcher(slow)
    with pytest.raises(ZeroDivisionError), runtime.on_launch(lambda one: 1 // 0):
        launcher(*pair)
    assert (recorder.count, launcher.entries) == (1, 0)
    assert launcher(*pair) is launcher(*pair) is pair[1]
    assert (recorder.count, launcher.entries) == (3, 1)


def test_launches_of_a_callback_are_not_told():
    recorder = cuda.Recorder()
    launch = one_kernel(recorder, (1, 1, 1), (1, 1, 1), 0, bytes(8))
    seen = []

    def again(one):
        seen.append(one)
        launch.launch([], 0)

    with runtime.on_launch(again):
        launch.launch([], 0)
        launch.launch([], 0)
    assert (recorder.count, len(seen)) == (4, 2)


def test_every_thread_is_told_of():
    names = [str(i) for i in range(4)]
    seen = []

    def work(name):
        launch = one_kernel(cuda.Recorder(name), (1, 1, 1), (1, 1, 1), 0, bytes(8))
        for _ in range(200):
            launch.launch([], 0)

    with runtime.on_launch(lambda one: seen.append((one.kernel, threading.current_thread().name))):
        threads = [threading.Thread(target=work, args=(name,), name=name) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == sorted((name, name) for name in names for _ in range(200))
