"""What is drawn in SVG looks the same in Chromium, resvg, CairoSVG and librsvg, and as PDF."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from functools import cache
from itertools import product

import numpy as np
import pytest

from places import ROOT
from test_show_backends import GOLDEN, PICTURES
from tilewright.show.formats.pdf import pdf

IMAGES = ROOT / "docs" / "img"
# Of the documentation's pictures one of each kind: the others differ in what stands in the cells.
FILES = [
    *("copy", "tv", "gemm_order", "seed_coalesce_004", "seed_divide_2d_002"),
    *(f"show_{name}" for name in ("composition", "composition_error", "copy_plan", "instruction", "logical_divide")),
    *(f"show_{name}" for name in ("mma_atom", "predication", "swizzle_mode")),
]
SCALED = ("copy", "show_composition", "show_copy_plan", "tv")
BLOCK = 8  # pixels of which the mean is compared: letters may be shaped and smoothed in other ways
FAR = 24  # of 255: a block that differs by so much in a colour
MOST_OF_PDF = 0.08  # its letters are Courier
MOST = 0.01  # of the blocks: where CairoSVG rounds the widths of letters, those of titles stand a little apart


def blocks(png: bytes) -> np.ndarray:
    """The mean colours of the blocks of a picture on white."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        shown = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA")).convert("RGB")
    pixels = np.asarray(shown, np.float64)
    rows, columns = (extent // BLOCK for extent in pixels.shape[:2])
    pixels = pixels[: rows * BLOCK, : columns * BLOCK]
    return pixels.reshape(rows, BLOCK, columns, BLOCK, 3).mean(axis=(1, 3))


def difference(one: bytes, other: bytes) -> float:
    """Which part of the blocks that show anything is not alike."""
    a, b = blocks(one), blocks(other)
    assert np.abs(np.subtract(a.shape, b.shape)).max() <= 1  # by how a scaled size is rounded
    rows, columns, _ = np.minimum(a.shape, b.shape)
    a, b = a[:rows, :columns], b[:rows, :columns]
    shown = (np.minimum(a, b) < 250).any(axis=2)
    return float((np.abs(a - b).max(axis=2) > FAR)[shown].mean())


def by_chromium(browser, folder, svg: str, scale: float) -> bytes:
    width, height = (int(float(x) * scale) for x in re.findall(r' (?:width|height)="([\d.]+)"', svg)[:2])
    file = folder / "page.html"
    style = f"body,svg{{margin:0;display:block}}svg{{width:{width}px;height:{height}px}}"
    file.write_text(f'<!DOCTYPE html><meta charset="utf-8"><style>{style}</style>{svg}')
    browser.open(file.as_uri(), width=width, height=height)
    return browser.screenshot()


def by_cairosvg(svg: str, scale: float) -> bytes:
    try:
        import cairosvg
    except (ImportError, OSError) as error:
        pytest.skip(str(error))
    return cairosvg.svg2png(bytestring=svg.encode(), scale=scale)


def by_librsvg(svg: str, scale: float) -> bytes:
    program = shutil.which("rsvg-convert")
    if program is None:
        pytest.skip("rsvg-convert is not installed (Debian: apt-get install -y --no-install-recommends librsvg2-bin)")
    command = [program, "--unlimited", "--zoom", str(scale)]
    return subprocess.run(command, input=svg.encode(), capture_output=True, check=True).stdout


def by_resvg(svg: str, scale: float) -> bytes:
    """As `Picture.png` draws it."""
    import resvg_py

    return resvg_py.svg_to_bytes(svg_string=svg, zoom=scale)


def by_pdf(svg: str, scale: float) -> bytes:
    """As `Picture.pdf` writes it; its letters, by which nothing is measured, have another shape."""
    program = shutil.which("pdftoppm")
    if program is None:
        pytest.skip("pdftoppm is not installed (Debian: apt-get install -y --no-install-recommends poppler-utils)")
    command = [program, "-png", "-r", str(96 * scale)]
    return subprocess.run(command, input=pdf(svg), capture_output=True, check=True).stdout


RENDERERS = {"cairosvg": by_cairosvg, "librsvg": by_librsvg, "pdf": by_pdf, "resvg": by_resvg}


@pytest.fixture(scope="module")
def in_chromium(browser, tmp_path_factory):
    """What Chromium draws of a picture, once for all renderers."""
    folder = tmp_path_factory.mktemp("drawn")
    return cache(lambda svg, scale: by_chromium(browser, folder, svg, scale))


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize(("name", "scale"), [*((name, 1) for name in (*PICTURES, *FILES)), *product(SCALED, (0.75, 2))])
def test_all_renderers_draw_the_same(in_chromium, name, scale, renderer):
    file = GOLDEN / f"{name}.svg" if name in PICTURES else IMAGES / f"{name}.svg"
    svg = file.read_text(encoding="utf-8")
    most = MOST_OF_PDF if renderer == "pdf" else MOST
    assert difference(in_chromium(svg, scale), RENDERERS[renderer](svg, scale)) <= most


@pytest.mark.parametrize("name", ["show_composition", "thread_value", "seed_coalesce_004"])
def test_letters_elsewhere_in_a_pdf_are_seen(in_chromium, name):
    file = GOLDEN / f"{name}.svg" if name in PICTURES else IMAGES / f"{name}.svg"
    svg = file.read_text(encoding="utf-8")
    moved = re.sub(r'<text x="([\d.]+)"', lambda found: f'<text x="{float(found[1]) + 6}"', svg)
    assert difference(in_chromium(svg, 1), by_pdf(moved, 1)) > 1.5 * MOST_OF_PDF


RULES = "".join(f"M0 {i}h8M{i} 0v8" for i in range(9))
BROKEN = {
    # a line that is scaled with its place, which CairoSVG and librsvg draw as thick as a cell
    "line": f'<g transform="scale(30)"><path d="{RULES}" stroke="#555" vector-effect="non-scaling-stroke"/></g>',
    # a size of letters whose widths CairoSVG rounds
    "row": "".join(
        f'<text x="0" y="{y}" font-family="DejaVu Sans Mono" font-size="14">{"T0V0" * 7}</text>' for y in (60, 90)
    ),
    # letters without hints, of which CairoSVG draws nothing but pieces
    "precise": '<text x="0" y="60" font-size="14" text-rendering="geometricPrecision">geometric precision</text>',
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_renderers_draw_in_other_ways_is_seen(in_chromium, name):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="240" height="240">{BROKEN[name]}</svg>'
    assert difference(in_chromium(svg, 1), by_cairosvg(svg, 1)) > 10 * MOST


def test_no_cell_is_a_white_box_on_a_dark_page():
    for file in sorted(IMAGES.glob("*.svg")):
        colors = re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', file.read_text(encoding="utf-8"))
        assert colors, file.name
        for color in set(colors):
            digits = color[1:] if len(color) == 7 else "".join(2 * x for x in color[1:])
            assert min(bytes.fromhex(digits)) < 0xE8, (file.name, color)
