"""What the interactive page takes to show a change, in headless Chromium: script, layout and painting of 32 x 32 cells.

python benchmarks/page.py
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import table

sys.path.append(str(Path(__file__).parents[1] / "tests/support"))
import chromium
from explored import go
from tilewright.explore.page import page

LIMIT = 30  # milliseconds
CHANGES = 100
# The state that is shown first, an operand of it, and what that changes to and back.
STATES = {
    "layout": ("view=layout&layout=(32,32):(32,1)", "layout", "(32,32):(1,32)"),
    "layout, another shape": ("view=layout&layout=(32,32):(32,1)", "layout", "(31,32):(32,1)"),
    "nested layout": (
        "view=layout&layout=((4,8),(4,8)):((1,16),(4,128))",
        "layout",
        "((4,8),(4,8)):((4,128),(1,16))",
    ),
    "composition": (
        "view=operation&operation=composition&a=(32,32):(32,1)&b=(32,32):(1,32)",
        "b",
        "(32,32):(32,1)",
    ),
    "zipped_divide": ("view=operation&operation=zipped_divide&a=(32,32):(32,1)&b=(8,4)", "b", "(4,8)"),
    "thread-value layout": (
        "view=tv&tv=((4,8),(2,16)):((256,1),(32,8))&tile=(32,32)",
        "tv",
        "((8,4),(4,8)):((32,1),(256,4))",
    ),
    "tiled copy": (
        "view=copy&threads=(16,8):(8,1)&values=(2,4):(4,1)&tensor=(32,32):(32,1)",
        "threads",
        "(16,8):(1,16)",
    ),
}
# A message that the frame's callback sends arrives when the frame was painted.
CHANGE = """new Promise(done => {
  const begin = performance.now();
  explorer.change(%s, null);
  explorer.update();
  document.querySelector(".stage svg").getBBox();
  const computed = performance.now() - begin;
  requestAnimationFrame(() => { const channel = new MessageChannel();
    channel.port1.onmessage = () => done([computed, performance.now() - begin]);
    channel.port2.postMessage(0); });
})"""


def main() -> None:
    lines = [
        "# The interactive page",
        "",
        f"{table.machine()}, {os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}, headless Chromium.",
        f"An operand changes and changes back, {CHANGES} times: milliseconds after a change, median (90th percentile).",
        "The limit is met where nine changes of ten take less.",
        "",
        "| state, 32x32 elements | script and layout | limit | met | until it is painted |",
        "| --- | --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page(), encoding="utf-8")
        browser = chromium.Chromium(Path(folder))
        try:
            for name, (state, field, other) in STATES.items():
                go(browser, file.as_uri(), state, width=1440)
                texts = (other, browser.run(f"explorer.state.{field}"))
                changes = [CHANGE % json.dumps({field: texts[i % 2]}) for i in range(CHANGES)]
                taken = [browser.run(change) for change in changes]
                computed, painted = ([each[i] for each in taken] for i in range(2))
                is_met = "yes" if tail(computed) < LIMIT else "**no**"
                lines.append(f"| {name} | {figure(computed)} | {LIMIT} | {is_met} | {figure(painted)} |")
        finally:
            browser.close()
    table.write("page", lines)


def tail(samples: list[float]) -> float:
    """The 90th percentile."""
    return statistics.quantiles(samples, n=10)[-1]


def figure(samples: list[float]) -> str:
    return f"{statistics.median(samples):.1f} ({tail(samples):.1f})"


if __name__ == "__main__":
    main()
