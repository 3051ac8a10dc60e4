"""A picture as HTML: an image, with a small script that shows what is pointed at. It needs no other assets.

The image is all that is shown where scripts and SVG are dropped: a notebook that its reader has not run, or a forge.
The script takes the drawing from the image, so that a notebook's file has it once.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from tilewright import _core

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Picture

__all__ = ["fragment", "image", "page"]

HIGHEST = 1000  # pixels of an image in a page, and of the drawing in its place

# Where scripts run, the script puts the drawing in place of its image, so that its texts have the page's colour, and
# shows beside the pointer what is pointed at: the title of a cell, which is taken out so that the browser does not show
# it as well, or, of many cells, what their row says at the place of the pointer: values, whose names are the panel's,
# or the coordinate alone.
SCRIPT = """
(() => {
  for (const root of document.querySelectorAll('#ID')) {
    const image = root.querySelector('img');
    if (!image) continue;
    const bytes = Uint8Array.from(atob(image.src.split(',')[1]), x => x.charCodeAt(0));
    const drawn = new DOMParser().parseFromString(new TextDecoder().decode(bytes), 'image/svg+xml').documentElement;
    image.replaceWith(drawn);
    const box = document.createElement('div');
    box.className = 'tw-hover';
    root.appendChild(box);
    const hide = () => { box.style.display = 'none'; };
    const show = (text, event) => {
      box.textContent = text;
      box.style.display = 'block';
      const right = event.clientX + box.offsetWidth + 24 > innerWidth;
      box.style.left = (right ? event.clientX - box.offsetWidth - 12 : event.clientX + 14) + 'px';
      box.style.top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 4) + 'px';
    };
    const titled = event => {
      for (let at = event.target; at && at !== root; at = at.parentNode) {
        const title = at.parentNode !== root && [...at.children].find(x => x.localName === 'title');
        if (title) { at.tw = title.textContent; title.remove(); }
        if (at.tw) return at.tw;
      }
    };
    const placed = event => {
      for (const many of root.querySelectorAll('[data-cells]')) {
        const [left, top, width, height, rows, columns] = many.dataset.cells.split(' ').map(Number);
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(many.getScreenCTM().inverse());
        const row = Math.floor((at.y - top) / height * rows), column = Math.floor((at.x - left) / width * columns);
        if (row < 0 || column < 0 || row >= rows || column >= columns) continue;
        const lines = [...many.children].filter((_, i) => i % rows === row);
        const letters = Math.round(width / columns / 6);
        const texts = lines.map(x => x.textContent.substr(column * letters, letters).trim()).filter(x => x);
        const text = texts.join(' ');
        const { names, text: kind, rows: begins, columns: ends, turned } = many.dataset;
        if (names) {
          const values = lines[0].dataset.hover.split('|')[column], all = names.split('|');
          if (!values) return;
          const found = values.split(' ').map((x, i) => all[i] + ' ' + x);
          const first = all.filter(x => x.startsWith('coordinate')).length || 1;
          if (kind) found.splice(first, 0, kind + ' ' + texts[0]);
          return found.join('\\n');
        }
        const parts = [begins.split('|')[row], ends.split('|')[column]];
        if (turned) parts.reverse();
        const sum = parts.every(x => /^\\d+$/.test(x)) ? +parts[0] + +parts[1] : parts.join('');
        return text && `coordinate ${sum}\\n${text}`;
      }
    };
    root.addEventListener('pointerleave', hide);
    root.addEventListener('pointermove', event => {
      const text = titled(event) || placed(event);
      if (text) show(text, event); else hide();
    });
  }
})();
""".strip()
STYLE = (
    ".tw-hover{display:none;position:fixed;z-index:1000;pointer-events:none;padding:5px 8px;border-radius:4px;"
    "background:#222;color:#fff;font:12px/1.45 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "white-space:pre;box-shadow:0 1px 4px rgba(0,0,0,.4)}"
    f".tw-picture>*{{max-width:100%;max-height:{HIGHEST}px}}"
    ".tw-picture text:is(.t,.h,.u,.g,.l){fill:currentColor;opacity:.85}"
)


# An image knows of the page's colours only whether its scheme is dark. No one grey has a contrast of 4.5 on both.
INK, DARK_INK = "#727272", "#8f8f8f"
CAPTIONS = ".tw-show :is(.t,.h,.u,.g,.l)"
INKS = f"{CAPTIONS}{{fill:{INK}}}@media(prefers-color-scheme:dark){{{CAPTIONS}{{fill:{DARK_INK}}}}}"


def image(picture: Picture) -> str:
    """The picture as an image of a page, as wide as there is room for: shown where neither scripts nor SVG are allowed.

    >>> from tilewright import cute
    >>> image(cute.show("(4,8):(8,1)"))[:37]
    '<img src="data:image/svg+xml;base64,P'
    """
    drawing = picture.svg().replace("</style>", f"{INKS}</style>", 1)
    width, height = (float(x) for x in re.findall(r' (?:width|height)="([\d.]+)"', drawing)[:2])
    shown = min(width, width * HIGHEST / height)  # of a page that drops the style, the attribute keeps the limit
    title = _core.picture.escape(picture.title)
    return (
        f'<img src="data:image/svg+xml;base64,{b64encode(drawing.encode()).decode()}" alt="{title}" '
        f'width="{shown:.0f}" style="max-width:100%;height:auto">'
    )


def fragment(picture: Picture) -> str:
    """The picture as a part of a page: for notebooks.

    >>> from tilewright import cute
    >>> text = fragment(cute.show("(4,8):(8,1)"))
    >>> text.startswith('<div id="tw-'), text.count("<svg"), text.count("<img"), text.count("<script>")
    (True, 0, 1, 1)
    """
    drawn = image(picture)
    name = f"tw-{sha256(drawn.encode()).hexdigest()[:12]}"
    script = SCRIPT.replace("ID", name, 1)
    return f'<div id="{name}" class="tw-picture">{drawn}<style>{STYLE}</style><script>{script}</script></div>\n'


def page(picture: Picture) -> str:
    """The picture as a page of its own, with the browser's colours for light and dark around it.

    >>> from tilewright import cute
    >>> print(page(cute.show("(4,8):(8,1)")).split("\\n")[0])
    <!DOCTYPE html>
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{_core.picture.escape(picture.title)}</title>\n</head>\n<body>\n{fragment(picture)}</body>\n</html>\n"
    )
