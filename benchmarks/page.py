"""What the interactive page takes to show a change, in headless Chromium: script, layout and painting of 32 x 32 cells.

python benchmarks/page.py
"""

from __future__ import annotations

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
STATES = {
    "layout": "view=layout&layout=(32,32):(32,1)",
    "nested layout": "view=layout&layout=((4,8),(4,8)):((1,16),(4,128))",
    "composition": "view=operation&operation=composition&a=(32,32):(32,1)&b=(32,32):(1,32)",
    "zipped_divide": "view=operation&operation=zipped_divide&a=(32,32):(32,1)&b=(8,4)",
    "thread-value layout": "view=tv&tv=((4,8),(2,16)):((256,1),(32,8))&tile=(32,32)",
    "tiled copy": "view=copy&threads=(16,8):(8,1)&values=(2,4):(4,1)&tensor=(32,32):(32,1)",
}
# A message that the frame's callback sends arrives when the frame was painted.
CHANGE = """new Promise(done => {
  const begin = performance.now();
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
        f"{table.machine()}, headless Chromium. Milliseconds after a change, median (90th percentile) of {CHANGES}.",
        "",
        "| state, 32x32 elements | script and layout | limit | met | until it is painted |",
        "| --- | --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page(), encoding="utf-8")
        browser = chromium.Chromium(Path(folder))
        try:
            for name, state in STATES.items():
                go(browser, file.as_uri(), state, width=1440)
                taken = [browser.run(CHANGE) for _ in range(CHANGES)]
                computed, painted = ([each[i] for each in taken] for i in range(2))
                is_met = "yes" if statistics.median(computed) < LIMIT else "**no**"
                lines.append(f"| {name} | {figure(computed)} | {LIMIT} | {is_met} | {figure(painted)} |")
        finally:
            browser.close()
    table.write("page", lines)


def figure(samples: list[float]) -> str:
    return f"{statistics.median(samples):.1f} ({statistics.quantiles(samples, n=10)[-1]:.1f})"


if __name__ == "__main__":
    main()
