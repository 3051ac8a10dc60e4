"""What a release does, read from its files: pinned actions, few rights, every Python, and the bill of materials."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

tomllib = pytest.importorskip("tomllib")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
REQUIRED = ["anywidget", "numpy", "resvg-py"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RELEASE = (ROOT / ".github/workflows/release.yml").read_text("utf-8")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_their_commit_and_have_no_rights_by_default(workflow):
    text = workflow.read_text("utf-8")
    used = re.findall(r"^\s*- uses: (.*)$", text, re.M)
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\b.*", x) for x in used), used
    assert re.search(r"^permissions:\n  contents: read\n", text, re.M)
    assert "secrets." not in text  # nothing is uploaded by a password


def test_only_what_uploads_may_ask_for_an_identity():
    before, publish = RELEASE.split("  publish:\n")
    assert "write" not in before
    assert re.findall(r"^      ([\w-]+): write", publish, re.M) == ["id-token", "attestations"]
    assert "environment:\n      name: pypi" in publish
    assert "if: github.event_name == 'push'" in publish


def test_every_python_that_is_named_gets_a_wheel():
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["project"]["classifiers"]), re.M)
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    assert built == [*(f"cp{x.replace('.', '')}-*" for x in named), "cp314t-*"]
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


def test_tools_are_pinned():
    for workflow in WORKFLOWS:
        for line in re.findall(r"pip install (.*)", workflow.read_text("utf-8")):
            assert all("==" in word for word in line.split()), line


def test_the_bill_of_materials_names_what_is_compiled_in():
    command = [sys.executable, str(ROOT / "scripts/sbom.py")]
    first, second = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2))
    assert first == second
    import json

    bill = json.loads(first)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["version"] == PROJECT["project"]["version"]
    found = {x["name"]: x.get("version") for x in bill["components"]}
    assert set(found) == {"pybind11", "dlpack", "emscripten", *REQUIRED}
    header = (ROOT / "cpp/third_party/dlpack/dlpack.h").read_text("utf-8")
    assert found["dlpack"] == ".".join(re.findall(r"define DLPACK_(?:MAJOR|MINOR)_VERSION (\d+)", header))
    assert f'"{found["emscripten"]}"' in Path(ROOT / "scripts/build_page.py").read_text("utf-8")
    own = set(ROOT.glob("cpp/third_party/*"))
    assert {path.name for path in own} == {"dlpack"}  # a new one belongs into the bill


def test_extras_bring_nvrtc_alone():
    extras = PROJECT["project"]["optional-dependencies"]
    assert [re.split("[<>=]", x)[0] for x in PROJECT["project"]["dependencies"]] == REQUIRED
    assert extras["cuda12"] == ["nvidia-cuda-nvrtc-cu12==12.*; sys_platform == 'linux'"]
    assert extras["cuda13"] == ["nvidia-cuda-nvrtc==13.*; sys_platform == 'linux'"]


def test_two_source_distributions_have_the_same_bytes(tmp_path, monkeypatch):
    """Also of files with other times. `make wheel-twice` compares wheels, which takes minutes."""
    pytest.importorskip("scikit_build_core")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1763900000")
    copy = tmp_path / "copy"
    leave = shutil.ignore_patterns(".git", ".venv*", "build", "tests", "docs", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=leave, copy_function=shutil.copyfile)
    built = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        code = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
        subprocess.run([sys.executable, "-c", code], cwd=copy, check=True, capture_output=True)
        (file,) = folder.glob("*.tar.gz")
        built.append(file.read_bytes())
        for path in copy.rglob("*.py"):
            os.utime(path, (1, 1))
    assert built[0] == built[1]
