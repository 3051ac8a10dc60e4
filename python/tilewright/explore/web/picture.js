// A scene as SVG text, in the look of cute.show, and where its cells are. The one module that draws.
//
// A scene has panels: {title, subtitle, rows, columns, cells, rowAxis, columnAxis, rowRules, columnRules, place}; a cell
// is {row, column, lines, owner, faded, marked}. Links {from: [panel, row, column], to, text} are arrows between cells.
import { PICTURE_STYLE } from "./constants.js";
import { fillOf } from "./palette.js";

const ADVANCE = 7, SMALL = 6, BOLD = 8;     // widths of a letter
const MARGIN = 14, GAP = 34, LEVEL = 16;
const FEW = 300;                           // cells that have each a text of their own
const FONT = "DejaVu Sans Mono,Menlo,Consolas,monospace";
const LEAST = 290;                         // what a title may take where the grid is narrower
const escaped = text => String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const short = x => String(Math.round(x * 10) / 10);
const textAt = (x, y, text, kind = "") =>
  `<text x="${short(x)}" y="${short(y)}"${kind && ` class="${kind}"`}>${escaped(text)}</text>`;

// A text in lines of at most so many letters, broken after commas and spaces where there are any.
function wrapped(text, most) {
  const lines = [""];
  for (const word of String(text).match(/[^, ]*[, ]*/g)) {
    if (lines.at(-1) && lines.at(-1).length + word.trimEnd().length > most) lines.push("");
    lines[lines.length - 1] += word;
  }
  return lines.map(line => line.trim()).filter(Boolean);
}

const labelWidth = level => SMALL * Math.max(1, ...level.map(label => label.text.length)) + 8;

// The size of a panel and of its parts, without its place.
const longestOf = panel => panel.cells.reduce((most, { lines }) => lines.reduce((x, line) => Math.max(x, line.length), most), 2);

function measured(panel, longest = longestOf(panel)) {
  const high = panel.cells.reduce((most, { lines }) => Math.max(most, lines.length), 1);
  const w = ADVANCE * Math.max(4, longest + 1 + (longest > 4)), h = high > 1 ? 34 : 26;
  const levels = panel.rowAxis.map(labelWidth);
  // Labels that are longer than a cell is wide stand upright.
  const longestLabel = Math.max(0, ...(panel.columnAxis.at(-1) ?? []).map(label => label.text.length));
  const upright = longestLabel * SMALL > w;
  const above = panel.columnAxis.length ? (panel.columnAxis.length - 1) * LEVEL + (upright ? SMALL * longestLabel + 6 : LEVEL) : 0;
  const beside = levels.reduce((sum, x) => sum + x, 0);
  const grid = beside + panel.columns * w;
  const letters = Math.floor(Math.max(grid, LEAST) / BOLD);
  const title = wrapped(panel.title ?? "", letters);
  const subtitle = wrapped(panel.subtitle ?? "", Math.floor(Math.max(grid, LEAST) / ADVANCE));
  const heading = 19 * title.length + 16 * subtitle.length + 6;
  const texts = Math.max(0, ...title.map(line => line.length * BOLD), ...subtitle.map(line => line.length * ADVANCE));
  const height = heading + above + panel.rows * h + 2;
  return { panel, w, h, levels, above, beside, upright, title, subtitle, heading, width: Math.max(grid, texts) + 2, height };
}

// Panels in rows of `across`; or where they say. Rows and columns of them are as large as the largest.
function placed(boxes, across) {
  const place = (box, i) => box.panel.place ?? [Math.floor(i / across), i % across];
  const widths = [], heads = [], heights = [];
  boxes.forEach((box, i) => {
    const [row, column] = place(box, i);
    widths[column] = Math.max(widths[column] ?? 0, box.width);
    heads[row] = Math.max(heads[row] ?? 0, box.heading + box.above);
    heights[row] = Math.max(heights[row] ?? 0, box.height - box.heading - box.above);
  });
  heights.forEach((_, row) => { heights[row] += heads[row]; });
  const before = (sizes, n) => sizes.slice(0, n).reduce((sum, size) => sum + (size ?? 0) + GAP, MARGIN);
  const found = boxes.map((box, i) => {
    const [row, column] = place(box, i);
    const x = before(widths, column), top = before(heights, row) + heads[row];
    return { ...box, x, y: top - box.heading - box.above, left: x + box.beside, top };
  });
  return { boxes: found, width: before(widths, widths.length) - GAP + MARGIN, height: before(heights, heights.length) - GAP + MARGIN };
}

// The arrangement that is largest in a window of this size.
function arranged(boxes, size, links) {
  if (boxes.some(box => box.panel.place)) return placed(boxes, 1);
  const scale = sheet => Math.min(size.width / sheet.width, size.height / sheet.height, 1.5);
  const counts = boxes.map((_, i) => boxes.length - i).filter((across, i, all) => !links?.length || across === 1 || across === all[0]);
  const sheets = counts.map(across => placed(boxes, across));  // arrows go to the right, or down
  return sheets.reduce((best, sheet) => (scale(sheet) > scale(best) * 1.15 ? sheet : best), sheets[0] ?? placed([], 1));
}

function labelsOf(box, axis, across) {
  const { w, h, levels, left, top, upright } = box;
  const size = across ? w : h, begin = across ? left : top;
  let place = across ? box.y + box.heading : box.x;
  let lines = "";
  const parts = axis.map((level, n) => {
    const inner = n === axis.length - 1;
    const thick = across ? (inner ? top - 4 - place : LEVEL) : levels[n];
    let at = 0;
    const texts = level.map(({ text, span }) => {
      const middle = begin + (at + span / 2) * size, start = begin + at * size;
      at += span;
      if (!text) return "";
      if (!inner) lines += across ? `M${short(start + 3)} ${short(place + LEVEL - 2)}h${short(span * size - 6)}` : `M${short(place + thick - 3)} ${short(start + 3)}v${short(span * size - 6)}`;
      if (across && inner && upright) {
        return `<text class="g e" transform="translate(${short(middle + 3.5)} ${short(top - 4)}) rotate(-90)">${escaped(text)}</text>`;
      }
      return across ? textAt(middle, place + 11, text, "g") : textAt(place + thick / 2 - 1, middle + 3.5, text, "g");
    });
    place += thick;
    return texts.join("");
  });
  return parts.join("") + (lines && `<path class="b" d="${lines}"/>`);
}

function rulesPath(rules, line) {
  return [1, 2, 3].map(weight => {
    const path = rules.filter(rule => rule.weight === weight).map(line).join("");
    return path && `<path d="${path}" stroke="#111" stroke-width="${short(0.8 + 0.9 * weight)}"/>`;
  }).join("");
}

// What the letters of this machine's font lack to be as wide as those that everything is measured by.
let lacking = null;
function spacing() {
  if (lacking === null && typeof document !== "undefined") {
    const context = document.createElement("canvas").getContext("2d");
    context.font = `11.63px ${FONT}`;
    lacking = Math.round((ADVANCE - context.measureText("0".repeat(100)).width / 100) * 1000) / 1000;
  }
  return lacking ?? 0;
}

// The texts of cells, each with its place.
function eachText({ panel, w, h, left, top }) {
  return panel.cells.map(({ row, column, lines, faded }) => {
    const x = left + (column + 0.5) * w, first = top + (row + 0.5) * h + 4 - 7 * (lines.length - 1);
    const kind = i => [i ? "s" : "", faded ? "f" : ""].filter(Boolean).join(" ");
    return lines.map((line, i) => (line ? textAt(x, first + 13 * i, line, kind(i)) : "")).join("");
  }).join("");
}

// The texts of rows of cells as runs of letters: ten times as fast to lay out. Texts of an odd number of letters too
// many or too few are a run of their own, half a letter to the right, so that each stands in the middle.
function runsOf({ panel, w, h, left, top }) {
  const letters = Math.round(w / ADVANCE), runs = new Map();
  for (const { row, column, lines, faded } of panel.cells) {
    lines.forEach((line, i) => {
      if (!line) return;
      const over = letters - line.length, odd = over % 2;
      const key = [row, i, odd, Number(Boolean(faded))].join();
      if (!runs.has(key)) runs.set(key, { row, i, odd, faded, high: lines.length, text: [] });
      const { text } = runs.get(key), start = column * letters + (over - odd) / 2;
      while (text.length < start) text.push(" ");
      text.push(...line);
    });
  }
  return [...runs.values()].map(({ row, i, odd, faded, high, text }) => {
    const y = top + (row + 0.5) * h + 4 - 7 * (high - 1) + 13 * i;
    return `<text class="r${faded ? " f" : ""}" x="${short(left + (odd * ADVANCE) / 2)}" y="${short(y)}">${escaped(text.join(""))}</text>`;
  }).join("");
}

function panelText(box, exact) {
  const { panel, w, h, left, top } = box;
  const colors = new Map();
  for (const { row, column, owner, faded } of panel.cells) {
    const fill = fillOf(owner, faded);
    if (!colors.has(fill)) colors.set(fill, []);
    colors.get(fill).push(`M${short(left + column * w)} ${short(top + row * h)}h${short(w)}v${short(h)}h${short(-w)}z`);
  }
  const grounds = [...colors].map(([fill, path]) => `<path class="q" fill="${fill}" d="${path.join("")}"/>`);
  const texts = exact || panel.cells.length <= FEW ? eachText(box) : runsOf(box);
  const marks = panel.cells.filter(cell => cell.marked)
    .map(({ row, column }) => `M${short(left + column * w + 1.5)} ${short(top + row * h + 1.5)}h${short(w - 3)}v${short(h - 3)}h${short(3 - w)}z`);
  return [
    ...box.title.map((line, i) => textAt(box.x, box.y + 13 + 19 * i, line, "h")),
    ...box.subtitle.map((line, i) => textAt(box.x, box.y + 19 * box.title.length + 11 + 16 * i, line, "u")),
    labelsOf(box, panel.columnAxis, true), labelsOf(box, panel.rowAxis, false),
    `<g class="cells">${grounds.join("")}${texts}</g>`,
    rulesPath(panel.rowRules, rule => `M${short(left)} ${short(top + rule.after * h)}h${short(panel.columns * w)}`),
    rulesPath(panel.columnRules, rule => `M${short(left + rule.after * w)} ${short(top)}v${short(panel.rows * h)}`),
    marks.length ? `<path class="m" d="${marks.join("")}"/>` : "",
  ].join("");
}

// From cell to cell: to the right in the gap before the goal; or, where panels stand one below the other, beside both.
function linkText(boxes, { from, to, text }) {
  const rectangle = ([panel, row, column]) => {
    const { left, top, w, h } = boxes[panel];
    return { x: left + column * w, y: top + row * h, w, h };
  };
  const a = rectangle(from), b = rectangle(to), start = [a.x + a.w, a.y + a.h / 2 + 4];
  const right = ([n]) => boxes[n].x + boxes[n].width;
  const below = boxes[to[0]].x < boxes[from[0]].x + boxes[from[0]].width;
  const bend = below ? Math.max(right(from), right(to)) + 8 : boxes[to[0]].x - GAP / 2;
  const end = [below ? b.x + b.w : b.x, b.y + b.h / 2 - 4];
  const points = [start, [bend, start[1]], [bend, end[1]], end];
  const head = below ? `M${short(end[0] - 2)} ${short(end[1])}l8 -4v8z` : `M${short(end[0] + 2)} ${short(end[1])}l-8 -4v8z`;
  const [x, y] = [(start[0] + bend) / 2, start[1] + 4];
  return `<path class="k" d="M${points.map(point => point.map(short).join(" ")).join("L")}"/><path class="a" d="${head}"/>`
    + textAt(x, y, text, "w") + textAt(x, y, text, "n");
}

// {svg, width, height, boxes}: the boxes say where the cells of each panel are. `exact`: for other machines, whose
// fonts may be others.
export function render(scene, size, exact = false) {
  // Matrices of one product have cells of one width, so that one continues the other.
  const { panels } = scene, longest = scene.aligned ? Math.max(...panels.map(longestOf)) : undefined;
  const { boxes, width, height } = arranged(panels.map(panel => measured(panel, longest)), size, scene.links);
  const w = Math.ceil(Math.max(width, 60)), h = Math.ceil(Math.max(height, 40));
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" class="tw-picture" role="img"${exact ? "" : ` letter-spacing="${spacing()}"`}>`,
    `<title>${escaped(scene.title)}</title>`,
    ...boxes.map(box => panelText(box, exact)), ...(scene.links ?? []).map(link => linkText(boxes, link)), "</svg>",
  ].join("");
  return { svg, width: w, height: h, boxes };
}

// The picture as a file: with its style, which the page has already.
export const asFile = svg => svg.replace("<title>", () => `<style>${PICTURE_STYLE}</style><title>`);

// The panel and the cell at a point of the picture; null where there is none.
export function cellAt(boxes, x, y) {
  for (const [n, { panel, left, top, w, h }] of boxes.entries()) {
    const column = Math.floor((x - left) / w), row = Math.floor((y - top) / h);
    if (row < 0 || column < 0 || row >= panel.rows || column >= panel.columns) continue;
    const cell = panel.cells.find(each => each.row === row && each.column === column);
    if (cell) return { panel: n, cell, box: { x: left + column * w, y: top + row * h, w, h } };
  }
  return null;
}
