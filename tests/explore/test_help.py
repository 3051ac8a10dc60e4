"""The help of each command: what it gives as examples runs as it stands."""

from __future__ import annotations

import shlex

import pytest

from tilewright.__main__ import HELP, USAGE, main
from tilewright.explore.command import COMMANDS, EXAMPLES

NAMES = [*(name for name in EXAMPLES if " " not in name), *HELP]
RUNNING = [(name, words) for name in ("show", "explain", "analyze") for words, _ in EXAMPLES[name]]


@pytest.mark.parametrize(("name", "words"), RUNNING)
def test_examples_run(name, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([name, *shlex.split(words)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_of_its_own(name, capsys):
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: python -m tilewright {name}")
    assert said.count("usage:") == 1
    for words, what in EXAMPLES.get(name, ()):
        assert f"python -m tilewright {name} {words}".rstrip() in said
        assert f"# {what}\n" in said


def test_every_command_of_the_usage_has_help():
    named = {
        line.replace("usage:", "").split()[3]
        for line in USAGE.partition("\n\n")[0].splitlines()
        if not line.split()[-1].startswith("--")
    }
    assert named == {*NAMES} > {*COMMANDS}
