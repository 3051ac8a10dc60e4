// Grids of cells as SVG, and tables.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, children = [], space = null) {
  const node = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
const svgElement = (name, attributes, children) => element(name, attributes, children, SVG);

const colorOf = owner => (owner === null ? "#ffffff" : PALETTE[((owner % PALETTE.length) + PALETTE.length) % PALETTE.length]);

// A figure of rows x columns cells. A cell is {row, column, lines, owner, hover, index, marked}; rows and columns may
// have labels.
function grid({ title, cells, rowLabels = [], columnLabels = [], note = "" }) {
  const longest = Math.max(2, ...cells.flatMap(cell => cell.lines.map(line => line.length)));
  const width = 7.4 * longest + 10, height = cells.some(cell => cell.lines.length > 1) ? 34 : 24;
  const left = rowLabels.length ? 8 + 6.3 * Math.max(...rowLabels.map(label => label.length)) : 4;
  const longestTop = Math.max(0, ...columnLabels.map(label => label.length));
  const tilted = 6.3 * longestTop > width;  // labels that are longer than a cell is wide stand upright
  const top = columnLabels.length ? (tilted ? 8 + 6.3 * longestTop : 16) : 4;
  const rows = Math.max(rowLabels.length, ...cells.map(cell => cell.row + 1));
  const columns = Math.max(columnLabels.length, ...cells.map(cell => cell.column + 1));
  const label = (text, x, y, turn) =>
    svgElement("text", { class: "label", x, y, ...(turn ? { transform: `rotate(-90 ${x} ${y})` } : {}) }, [text]);
  const parts = [
    ...columnLabels.map((text, c) => label(text, left + (c + 0.5) * width, top - (tilted ? 4 + 3.15 * longestTop : 8), tilted)),
    ...rowLabels.map((text, r) => label(text, left / 2, top + (r + 0.5) * height)),
  ];
  // Marked cells come last, so that no neighbour covers their frame.
  for (const cell of [...cells].sort((a, b) => Boolean(a.marked) - Boolean(b.marked))) {
    const x = left + cell.column * width, y = top + cell.row * height;
    const lines = cell.lines.map((text, i) => svgElement("text", {
      class: i ? "second" : "first", x: x + width / 2, y: y + (height * (i + 1)) / (cell.lines.length + 1),
    }, [text]));
    parts.push(svgElement("g", {
      class: cell.marked ? "cell marked" : "cell", "data-row": cell.row, "data-column": cell.column,
      ...(cell.index === undefined ? {} : { "data-index": cell.index }),
    }, [
      svgElement("title", {}, [cell.hover]),
      svgElement("rect", { x, y, width, height, fill: colorOf(cell.owner) }),
      ...lines,
    ]));
  }
  const wide = left + columns * width + 4, high = top + rows * height + 4;
  const svg = svgElement("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": title }, parts);
  const caption = element("figcaption", {}, [title]);
  if (note) caption.append(element("div", { class: "note" }, [note]));
  return element("figure", {}, [caption, svg]);
}

// Rows of texts; `marked` is the number of a row. A column whose head begins with a space is aligned to the left.
function fillTable(table, head, rows, marked = -1, note = "") {
  const kind = c => (head[c].startsWith(" ") ? { class: "text" } : {});
  const line = (cells, tag, attributes = {}) => element("tr", attributes, cells.map((text, c) => element(tag, kind(c), [String(text).trim()])));
  table.replaceChildren(
    element("thead", {}, [line(head, "th")]),
    element("tbody", {}, rows.map((cells, i) => line(cells, "td", i === marked ? { class: "marked" } : {}))),
  );
  if (note) table.append(element("caption", { class: "note" }, [note]));
}
