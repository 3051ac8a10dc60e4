// Pictures by the core, the same as cute.show draws, fitted to a window; what is pointed at in them.
import { Mistake } from "../core.js";

// The picture of a request, {subject, ..}, and the fields of the state that are wrong where there is none. Without a
// window it is only looked whether there is one.
export function draw(core, window, fields, request) {
  const given = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, String(value)]));
  const size = window ? { window: `(${Math.round(window.width)},${Math.round(window.height)})` } : { check: "1" };
  const answer = core("picture", JSON.stringify({ ...given, ...size }));
  if (answer.error) throw new Mistake(answer.error.text.replace(/^show: /, ""), fields);
  return { panels: [], links: [], title: "", ...answer, request: given };
}

// As cute.show writes it to a file: {svg, width, height}.
export function fileOf(core, { request }) {
  const { svg } = core("picture", JSON.stringify(request));
  const [width, height] = ["width", "height"].map(name => Number(new RegExp(` ${name}="(\\d+)"`).exec(svg)[1]));
  return { svg, width, height };
}

// What pointing at a cell of the last picture shows: [[name, text]].
export const hoverOf = (core, panel, cell) => core("hover", panel, cell);

// The numbers of the panel and of the cell at a point of the picture; null where there is none.
export function cellAt(panels, x, y) {
  for (const [panel, { cells, rows, columns, left, top, w, h }] of panels.entries()) {
    const column = Math.floor((x - left) / w), row = Math.floor((y - top) / h);
    if (row < 0 || column < 0 || row >= rows || column >= columns) continue;
    const cell = cells.findIndex(each => each.row === row && each.column === column);
    if (cell >= 0) return { panel, cell };
  }
  return null;
}

// The cell that stands for an index, in the last panel that has one: what it says.
export function chosenOf(core, { panels }, at) {
  const panel = panels.findLastIndex(({ cells }) => cells.some(({ pick }) => pick === at));
  return panel < 0 ? undefined : hoverOf(core, panel, panels[panel].cells.findIndex(({ pick }) => pick === at));
}
