"""The built site (`make docs`): no broken link, no page without a way in, nothing from elsewhere, a search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from chromium import Chromium, contrast, find
from places import ROOT
from tilewright import cute, numeric

SITE = ROOT / "build/docs/html"
pytestmark = pytest.mark.site
ASSETS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data"), ("use", "href")}
FETCHED = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//")


def is_style(tag: str, name: str, attrs: list[tuple[str, str | None]]) -> bool:
    return (tag, name) == ("link", "href") and dict(attrs).get("rel") == "stylesheet"


class Page(HTMLParser):
    """The links, the anchors and what is loaded of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.assets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif value and not value.startswith("data:") and ((tag, name) in ASSETS or is_style(tag, name, attrs)):
                self.assets.append(value)
            elif tag == "a" and name == "href" and value:
                self.links.append(value)

    def place(self, link: str) -> tuple[Path, str]:
        """The file that a link of the site leads to, and the anchor in it."""
        parts = urlsplit(link)
        target = (self.path.parent / unquote(parts.path)).resolve() if parts.path else self.path
        return target, unquote(parts.fragment)


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    assert (SITE / "index.html").exists(), "run `make docs` first"
    return {path: Page(path) for path in sorted(SITE.rglob("*.html"))}


def test_no_link_is_broken(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or link == "#":
                continue
            target, anchor = page.place(link)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    assert broken == []


def test_every_page_is_reached_from_the_first(pages: dict[Path, Page]) -> None:
    found, ahead = set(), [SITE / "index.html"]
    while ahead:
        path = ahead.pop()
        if path in found or path not in pages:
            continue
        found.add(path)
        ahead += [pages[path].place(link)[0] for link in pages[path].links if not urlsplit(link).scheme]
    # The theme links these two by scripts and by the search field.
    assert {path.name for path in set(pages) - found} <= {"search.html", "genindex.html"}


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    assets = {asset for page in pages.values() for asset in page.assets}
    assert [asset for asset in assets if urlsplit(asset).scheme or asset.startswith("//")] == []
    for path, page in pages.items():
        for asset in page.assets:
            assert page.place(asset)[0].exists(), f"{path}: {asset}"
    for style in SITE.rglob("*.css"):
        assert not FETCHED.search(style.read_text(encoding="utf-8")), style


def test_the_search_finds_names() -> None:
    text = (SITE / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    found = {entry[4] for entry in index["objects"]["cute"]}
    missing = {name for name in cute.__all__ if not isinstance(getattr(cute, name), ModuleType)} - found
    assert "make_tiled_copy_tv" in found
    assert missing <= {*cute.math.__all__, *numeric.__all__}  # which have pages of their modules
    (document,) = {entry[0] for entry in index["objects"]["cute"] if entry[4] == "make_tiled_copy_tv"}
    assert index["docnames"][document] == "reference/make_tiled_copy_tv"


def test_every_name_has_a_page_with_its_example() -> None:
    for name in cute.__all__:
        if callable(getattr(cute, name)) and name not in {*cute.math.__all__, *numeric.__all__}:
            text = (SITE / f"reference/{name}.html").read_text(encoding="utf-8")
            assert f'id="cute.{name}"' in text, name
    for name in ("composition", "complement", "zipped_divide", "raked_product", "make_swizzle", "make_tiled_copy_tv"):
        text = (SITE / f"reference/{name}.html").read_text(encoding="utf-8")
        assert 'class="tw-show"' in text, name
        assert "&gt;&gt;&gt;" in text, name


def test_notebooks_are_small_and_need_no_script() -> None:
    sources = sorted((ROOT / "docs/notebooks").glob("*.md"))
    named = {path.stem for path in sources if "kernelspec" in path.read_text(encoding="utf-8")}
    files = {path.stem: path.read_text(encoding="utf-8") for path in (SITE / "notebooks").glob("*.ipynb")}
    assert set(files) == named
    for name, text in files.items():
        assert len(text) <= 500_000, name
        nbformat.validate(nbformat.reads(text, as_version=4))
        cells = json.loads(text)["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        assert outputs, name
        assert not any(output["output_type"] == "error" for output in outputs), name
        assert "<script" not in json.dumps(outputs), name
        assert ".md)" not in json.dumps([cell["source"] for cell in cells]), name


def printed(notebook: Path) -> list[list[str]]:
    """What the cells of a notebook show as text, without addresses."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = (
        ["".join(x.get("text", x.get("data", {}).get("text/plain", ""))) for x in cell.get("outputs", [])]
        for cell in cells
    )
    return [[re.sub(r"0x[0-9a-f]{6,}", "an address", text) for text in of_cell] for of_cell in texts]


@pytest.mark.parametrize("name", [path.stem for path in sorted((ROOT / "docs/notebooks/executed").glob("*.ipynb"))])
def test_the_notebooks_of_the_repository_show_what_they_do_now(name: str) -> None:
    """Those that a forge shows are not made by the build: `make notebooks` makes them."""
    kept, now = (folder / f"{name}.ipynb" for folder in (ROOT / "docs/notebooks/executed", SITE / "notebooks"))
    assert printed(kept) == printed(now)


def test_what_assistants_read_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (SITE / "llms.txt").read_text(encoding="utf-8"))
    links += re.findall(r"`(\w+\.html)`", (SITE / "AGENTS.md").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (SITE / link).exists()] == []


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if find() is None:
        pytest.skip("Chromium is not installed")
    chromium = Chromium(tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()


def test_a_reader_finds_a_name(browser: Chromium) -> None:
    browser.open(f"{(SITE / 'search.html').as_uri()}?q=make_tiled_copy_tv")
    browser.wait("document.querySelector('#search-results li a')")
    first = browser.run("document.querySelector('#search-results li a').getAttribute('href')")
    assert first.startswith("reference/make_tiled_copy_tv.html")
    assert browser.errors == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit(browser: Chromium, width: int, dark: bool) -> None:
    """No page is wider than the window, and no text is hard to read; what is wide scrolls by itself."""
    places = [f"{part}/{name}" for part in ("concepts", "notebooks") for name in listed(part)]
    for place in ("index", "howto", "gemm", "performance/index", "reference/index", "reference/composition", *places):
        browser.open((SITE / f"{place}.html").as_uri(), dark=dark, width=width)
        assert browser.run("document.documentElement.scrollWidth") <= width, place
        assert browser.errors == [], place
        assert contrast(*browser.run(COLORS)) >= 4.5, place


COLORS = (
    "[getComputedStyle(document.querySelector('article p')).color, getComputedStyle(document.body).backgroundColor]"
)


def listed(part: str) -> list[str]:
    return [path.stem for path in sorted((ROOT / "docs" / part).glob("*.md"))]
