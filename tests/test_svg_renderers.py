"""What is drawn in SVG looks the same in CairoSVG, in librsvg where it is installed, and in Chromium."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from test_show_backends import PICTURES

IMAGES = Path(__file__).parents[1] / "docs" / "img"
FILES = sorted(IMAGES.glob("*.svg"))
BLOCK = 8  # pixels of which the mean is compared: letters may be shaped and smoothed in other ways
FAR = 48  # of 255: a block that differs by so much in a colour
MOST = 0.05  # of the blocks


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
    assert a.shape == b.shape
    shown = (np.minimum(a, b) < 250).any(axis=2)
    return float((np.abs(a - b).max(axis=2) > FAR)[shown].mean())


def by_chromium(browser, folder, svg: str) -> bytes:
    width, height = (int(float(x)) for x in re.findall(r' (?:width|height)="([\d.]+)"', svg)[:2])
    file = folder / "page.html"
    file.write_text(f'<!DOCTYPE html><meta charset="utf-8"><style>body,svg{{margin:0;display:block}}</style>{svg}')
    browser.open(file.as_uri(), width=width, height=height)
    return browser.screenshot()


def by_cairosvg(svg: str) -> bytes:
    try:
        import cairosvg
    except (ImportError, OSError) as error:
        pytest.skip(str(error))
    return cairosvg.svg2png(bytestring=svg.encode())


def by_librsvg(svg: str) -> bytes:
    program = shutil.which("rsvg-convert")
    if program is None:
        pytest.skip("rsvg-convert is not installed (Debian: apt-get install -y --no-install-recommends librsvg2-bin)")
    return subprocess.run([program, "--unlimited"], input=svg.encode(), capture_output=True, check=True).stdout


RENDERERS = {"cairosvg": by_cairosvg, "librsvg": by_librsvg}


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", [*PICTURES, *(file.name for file in FILES)])
def test_all_renderers_draw_the_same(browser, tmp_path, name, renderer):
    svg = PICTURES[name]().svg() if name in PICTURES else (IMAGES / name).read_text(encoding="utf-8")
    assert difference(by_chromium(browser, tmp_path, svg), RENDERERS[renderer](svg)) <= MOST


def test_what_renderers_draw_in_other_ways_is_seen(browser, tmp_path):
    """A line that is scaled with its place, which CairoSVG and librsvg draw as thick as a cell."""
    rules = "".join(f"M0 {i}h8M{i} 0v8" for i in range(9))
    line = f'<path d="{rules}" stroke="#555" vector-effect="non-scaling-stroke"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="240" height="240"><g transform="scale(30)">{line}</g></svg>'
    drawn = by_chromium(browser, tmp_path, svg)
    assert difference(drawn, by_cairosvg(svg)) > 4 * MOST
