"""docs/architecture.md: its examples print what it says, and it names what there is: files, layers, variables."""

from __future__ import annotations

import doctest
import re

from places import ROOT

FILE = ROOT / "docs/architecture.md"
PAGE = FILE.read_text()


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert found, title
    return found[1]


def sources() -> list[str]:
    paths = [path for folder in ("cpp", "kernels", "python") for path in (ROOT / folder).rglob("*")]
    return [path.read_text() for path in paths if path.suffix in {".py", ".cpp", ".hpp", ".h", ".cuh", ".cu"}]


def test_the_lines_print_what_the_page_says():
    found = doctest.testfile(str(FILE), module_relative=False)
    assert found.failed == 0
    assert found.attempted > 8


def test_every_environment_variable_is_listed():
    lines = [line for text in sources() for line in text.splitlines()]
    reading = [line for line in lines if re.search(r"\b(?:environb?|(?:secure_)?getenvb?)\b", line)]
    names = {line: re.findall(r"""["']([A-Z][A-Z0-9_]*)["']""", line) for line in reading}
    assert all(names.values()), "the name of a variable stands where it is read"
    listed = re.findall(r"^\| `([A-Z0-9_]+)` \|", section("Environment variables"), re.M)
    assert {name for found in names.values() for name in found} == set(listed)


def test_files_of_the_table_exist():
    table = [row.split("|")[2] for row in section("Concept and file").splitlines() if row.startswith("| ")][1:]
    files = [name for cell in table for name in re.findall(r"`([^`]+)`", cell)]
    assert len(files) > 100
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_files_that_the_text_names_exist():
    places = r"`((?:benchmarks|cpp|docs|kernels|python|scripts|tests)(?:/[\w./]+)?)`"
    named = re.findall(places, PAGE.split("## Environment variables")[0])
    assert len(named) > 50
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_files_that_are_named_by_their_folder_exist():
    for title, folder in (("tiled_copy", "copy"), ("gemm", "gemm")):
        (steps,) = re.findall(rf"^### {title}\n(.*?)(?=^##)", PAGE, re.M | re.S)
        short = re.findall(r"`((?:\w+/)?\w+\.py)`", steps)
        assert short
        assert [name for name in short if not (ROOT / "python/tilewright/kernels" / folder / name).exists()] == []


def test_links_lead_somewhere():
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", PAGE)
    assert links
    assert [link for link in links if not (FILE.parent / link).exists()] == []


def test_every_layer_is_named_in_the_order_that_imports_keep():
    (layers,) = re.findall(r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    named = re.findall(r"^\| `python/tilewright/(\w+)` \|", section("Layers"), re.M)
    assert named == re.findall(r"tilewright\.(\w+)", layers)[::-1]
    packages = {path.parent.name for path in (ROOT / "python/tilewright").glob("*/__init__.py")}
    assert packages == set(named)
    for folder in (ROOT / "cpp").iterdir():
        assert folder.name in {"fuzz", "third_party"} or f"| `cpp/{folder.name}` |" in section("Layers"), folder
