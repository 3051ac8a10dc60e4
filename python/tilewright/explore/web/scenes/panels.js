// Panels of layouts: what the core describes of one, as rows and columns of cells.
import { axisOf, everyRule, plainAxis, rulesOf } from "./axes.js";
import { Mistake, ask } from "../core.js";
import { leavesOf, sizeOf, tree } from "../notation.js";

export const MOST = 64;   // rows and columns of a panel
const LINE = 32;          // elements on a line, where there is one mode

export function describe(core, text, field, rows = MOST, columns = MOST) {
  return ask(core, [field], "describe", rows, columns, text);
}

// A description that must be one of a layout; of one mode, as many elements as a panel has.
export function describeLayout(core, text, field) {
  const found = describe(core, text, field);
  if (found.size === undefined) {
    throw new Mistake(`${found.text} is no layout: write shape:stride, such as (4,8):(8,1)`, [field]);
  }
  return found.rank === 1 ? describe(core, text, field, 1, MOST * LINE) : found;
}

// A swizzle as it is drawn: a block of its period, row by row.
export const composedText = x => (x.kind === "swizzle" ? `${x.text} o 0 o ${x.shape}:${x.stride}` : x.text);

// What is drawn of a description: {row, column, index, coordinate, offset} for each element.
export function elementsOf(x) {
  const rows = Math.max(1, x.row_labels.length), width = lineWidth(x);
  return x.offsets.map((offset, i) => {
    const row = i % rows, column = Math.floor(i / rows);
    const label = x.column_labels[column];
    const coordinate = x.row_labels.length ? `(${x.row_labels[row]},${label})` : x.shape.startsWith("(") ? `(${label})` : label;
    const place = width ? { row: Math.floor(i / width), column: i % width } : { row, column };
    return { ...place, offset, coordinate, index: row + column * x.rows, mode0: row, rest: column };
  });
}

// Of one mode: how many elements are on a line, as many leaves as fit, or 32.
function lineWidth(x) {
  if (x.row_labels.length) return 0;
  const leaves = leavesOf(tree(x.shape));
  let width = 1;
  for (const extent of leaves) {
    if (width * extent > LINE) break;
    width *= extent;
  }
  return width > 1 ? width : Math.min(LINE, x.size);
}

function axesOf(x) {
  const shape = tree(x.shape);
  if (x.row_labels.length) {
    const [first, ...others] = shape, rows = x.row_labels.length, columns = x.column_labels.length;
    return {
      rows, columns, rowAxis: axisOf(first, rows), columnAxis: axisOf(others, columns),
      rowRules: rulesOf(first, rows), columnRules: rulesOf(others, columns),
    };
  }
  const columns = Math.min(lineWidth(x), x.offsets.length), rows = Math.ceil(x.offsets.length / columns);
  const leaves = leavesOf(shape);
  let count = 0;
  for (let width = 1; count < leaves.length && width * leaves[count] <= columns; ++count) width *= leaves[count];
  const across = leaves.slice(0, count), down = leaves.slice(count);
  const fits = count > 0 && sizeOf(across) === columns;
  return {
    rows, columns,
    rowAxis: rows === 1 ? [] : fits ? axisOf(down, rows) : plainAxis(Array.from({ length: rows }, (_, i) => i * columns)),
    columnAxis: fits ? axisOf(across, columns) : plainAxis(Array.from({ length: columns }, (_, i) => (rows > 1 ? `+${i}` : i))),
    rowRules: fits ? rulesOf(down, rows) : [], columnRules: fits ? rulesOf(across, columns) : [],
  };
}

function cutNote(x) {
  const shown = x.row_labels.length ? [x.row_labels.length, x.column_labels.length] : [x.offsets.length];
  const all = x.row_labels.length ? [x.rows, x.columns] : [x.size];
  return shown.join() === all.join() ? "" : `the first ${shown.join(" x ")} of ${all.join(" x ")} are drawn`;
}

// A panel of a described layout. `look(element)` adds to a cell: owner, marked, faded, lines.
export function layoutPanel(x, title, subtitle, look) {
  const cells = elementsOf(x).map(element => ({ ...element, lines: [String(element.offset)], owner: null, ...look(element) }));
  return { title, subtitle: [subtitle, cutNote(x)].filter(Boolean).join("; "), cells, ...axesOf(x) };
}

const counted = count => Array.from({ length: count }, (_, i) => i);

// A panel of rows and columns that are numbered; rules after so many of each.
export function tablePanel(title, subtitle, [rows, columns], cells, { step = [0, 0], rowNames = counted(rows), columnNames = counted(columns), place } = {}) {
  return {
    title, subtitle, rows, columns, cells, place,
    rowAxis: plainAxis(rowNames), columnAxis: plainAxis(columnNames),
    rowRules: everyRule(step[0], rows), columnRules: everyRule(step[1], columns),
  };
}

export const byteOf = (offset, state) => Number(state.base) + Math.floor((offset * Number(state.bits)) / 8);
const wrap = word => ((word % 32) + 32) % 32;  // of a negative word, too
export const placeOf = {
  bank: byte => wrap(Math.floor(byte / 4)), sector: byte => Math.floor(byte / 32), line: byte => Math.floor(byte / 128),
};

export function ownerOf(element, state) {
  if (state.color === "row") return element.mode0;
  if (state.color === "column") return element.rest;
  if (typeof element.offset !== "number") return null;
  return state.color in placeOf ? placeOf[state.color](byteOf(element.offset, state)) : element.offset;
}

// What is said of an element that is pointed at.
export function hoverOf({ index, coordinate, offset }, state) {
  const said = [["coordinate", coordinate], ["index", index], ["offset", offset]];
  if (typeof offset !== "number") return said;
  const byte = byteOf(offset, state);
  return [...said, ["byte", byte], state.memory === "shared" ? ["bank", placeOf.bank(byte)] : ["sector", placeOf.sector(byte)]];
}
