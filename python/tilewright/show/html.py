"""A picture as HTML: its SVG with a small script that shows at once what is pointed at. It needs no other assets.

Without the script, in a page that forbids it, the browser shows the same after a moment.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from tilewright.show.svg import escape, svg

if TYPE_CHECKING:
    from tilewright.show.picture import Picture

__all__ = ["fragment", "page"]

# The title of what is pointed at moves into a box beside the pointer, so that the browser does not show it as well. In
# a large picture a title has the values alone, which the names of their panel's group go with; one is the cell's text.
# In a larger one there are no titles: the cell is found by its place, and shows its coordinate and its text.
SCRIPT = """
(() => {
  for (const root of document.querySelectorAll('#ID')) {
    if (root.dataset.ready) continue;
    root.dataset.ready = '1';
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
    root.addEventListener('pointerleave', hide);
    root.addEventListener('pointermove', event => {
      let at = event.target;
      while (at && at !== root && !at.tw) {
        const title = at.parentNode !== root && [...at.children].find(x => x.localName === 'title');
        if (title) { at.tw = title.textContent; title.remove(); } else at = at.parentNode;
      }
      if (!at || at === root) return BARE;
      const many = at.closest('[data-names]');
      const names = many ? many.dataset.names.split('|') : [];
      const lines = many ? at.tw.split(' ').map((x, i) => names[i] + ' ' + x) : [at.tw];
      const first = names.filter(x => x.startsWith('coordinate')).length || 1;
      if (many && many.dataset.text) lines.splice(first, 0, many.dataset.text + ' ' + at.textContent.trim());
      show(lines.join('\\n'), event);
    });
  }
})();
""".strip()
WITHOUT_TITLES = """
((text => text ? show(text, event) : hide())((() => {
        for (const many of root.querySelectorAll('[data-cells]')) {
          const [left, top, width, height, letters, turned] = many.dataset.cells.split(' ').map(Number);
          const rows = many.dataset.rows.split('|'), columns = many.dataset.columns.split('|');
          const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(many.getScreenCTM().inverse());
          const row = Math.floor((at.y - top) / height), column = Math.floor((at.x - left) / width);
          if (!(row in rows && column in columns)) continue;
          const lines = [...many.children].filter((_, i) => i % rows.length === row);
          const text = lines.map(x => x.textContent.substr(column * letters, letters).trim()).join(' ').trim();
          const parts = turned ? [columns[column], rows[row]] : [rows[row], columns[column]];
          const sum = parts.every(x => /^\\d+$/.test(x)) ? +parts[0] + +parts[1] : parts.join('');
          return text && `coordinate ${sum}\\n${text}`;
        }
      })()))
""".strip()
STYLE = (
    ".tw-hover{display:none;position:fixed;z-index:1000;pointer-events:none;padding:5px 8px;border-radius:4px;"
    "background:#222;color:#fff;font:12px/1.45 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "white-space:pre;box-shadow:0 1px 4px rgba(0,0,0,.4)}"
    ".tw-picture{overflow-x:auto}.tw-picture>svg{max-width:none}"
)


def fragment(picture: Picture) -> str:
    """The picture as a part of a page: for notebooks.

    >>> from tilewright import cute
    >>> text = fragment(cute.show("(4,8):(8,1)"))
    >>> text.startswith('<div id="tw-'), text.count("<svg"), text.count("<script>")
    (True, 1, 1)
    """
    drawing = svg(picture)
    name = f"tw-{sha256(drawing.encode()).hexdigest()[:12]}"
    script = SCRIPT.replace("ID", name, 1).replace("BARE", WITHOUT_TITLES if "data-cells=" in drawing else "hide()", 1)
    return f'<div id="{name}" class="tw-picture"><style>{STYLE}</style>\n{drawing}<script>{script}</script></div>\n'


def page(picture: Picture) -> str:
    """The picture as a page of its own, with the browser's colours for light and dark around it.

    >>> from tilewright import cute
    >>> print(page(cute.show("(4,8):(8,1)")).split("\\n")[0])
    <!DOCTYPE html>
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(picture.title)}</title>\n</head>\n<body>\n{fragment(picture)}</body>\n</html>\n"
    )
