"""What is shown of a step that takes long: nothing at first, then its title, and nothing afterwards."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

import pytest

from terminals import Bar, Kernel, Terminal
from tilewright.runtime import nvrtc
from tilewright.runtime.progress import Progress, waiting


def a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_long_step_is_shown_until_it_ends(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with waiting("compiling", 0.001):
        until(lambda: "compiling" in terminal.getvalue())
        assert terminal.getvalue() == "\rcompiling"
    assert terminal.getvalue().split("\r")[-2:] == [" " * len("compiling"), ""]


def test_a_long_step_is_a_bar_in_a_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", Kernel)
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr(Bar, "made", [])
    with waiting("compiling", 0.001):
        until(lambda: Bar.made)
        assert not Bar.made[0].closed
    (bar,) = Bar.made
    assert (bar.desc, bar.closed) == ("compiling", True)


def test_a_short_step_is_not_shown(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with waiting("compiling", 30):
        pass
    assert terminal.getvalue() == ""


def test_a_step_of_a_script_is_not_shown(monkeypatch):
    page = io.StringIO()
    monkeypatch.setattr(sys, "stderr", page)
    with waiting("compiling", 0):
        time.sleep(0.05)
    assert page.getvalue() == ""


def test_a_step_of_what_is_shown_and_a_second_one_are_not_shown(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with waiting("first", 0):
        until(lambda: "first" in terminal.getvalue())
        with waiting("second", 0):
            time.sleep(0.05)
    progress = Progress("tuning", 2)
    with waiting("third", 0):
        time.sleep(0.05)
    progress.close()
    assert "second" not in terminal.getvalue()
    assert "third" not in terminal.getvalue()


def test_a_step_that_fails_is_taken_away(monkeypatch):
    terminal = a_terminal(monkeypatch)

    @waiting("compiling", 0)
    def fails():
        until(lambda: "compiling" in terminal.getvalue())
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fails()
    assert terminal.getvalue().endswith(" \r")


def test_compiling_is_such_a_step(monkeypatch):
    terminal = a_terminal(monkeypatch)

    class Nvrtc:
        version = (12, 4)

        def compile(self, *arguments):
            until(lambda: "compiling gemm_probe for sm_90a" in terminal.getvalue())
            return SimpleNamespace(ok=False, cubin=None, log="")

    monkeypatch.setattr(nvrtc, "open_nvrtc", lambda path: Nvrtc())
    with pytest.raises(nvrtc.CompileError):
        nvrtc.compiled_by("nvrtc", "gemm_probe", ["k"], "sm_90a", {}, "")
    assert terminal.getvalue().endswith(" \r")
