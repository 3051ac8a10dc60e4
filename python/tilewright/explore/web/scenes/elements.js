// The elements of layouts: what the core describes of one.
import { Mistake, ask } from "../core.js";

const MOST = 64;   // rows and columns
const LINE = 2048;  // elements, where there is one mode

export function describe(core, text, field, rows = MOST, columns = MOST) {
  return ask(core, [field], "describe", rows, columns, text);
}

// A description that must be one of a layout.
export function describeLayout(core, text, field) {
  const found = describe(core, text, field);
  if (found.size === undefined) {
    throw new Mistake(`${found.text} is no layout: write shape:stride, such as (4,8):(8,1)`, [field]);
  }
  return found.rank === 1 ? describe(core, text, field, 1, LINE) : found;
}

// A swizzle as it is drawn: a block of its period, row by row.
export const composedText = x => (x.kind === "swizzle" ? `${x.text} o 0 o ${x.shape}:${x.stride}` : x.text);

function coordinateIn(x, row, column) {
  const label = x.column_labels[column];
  return x.row_labels.length ? `(${x.row_labels[row]},${label})` : x.shape.startsWith("(") ? `(${label})` : label;
}

// {index, coordinate, offset} for each element that is described.
export function elementsOf(x) {
  const rows = Math.max(1, x.row_labels.length);
  return x.offsets.map((offset, i) => {
    const row = i % rows, column = Math.floor(i / rows);
    return { offset, coordinate: coordinateIn(x, row, column), index: row + column * x.rows };
  });
}

// The coordinate of an index; the index itself where it is past what is described.
export function coordinateOf(x, index) {
  const row = index % x.rows, column = Math.floor(index / x.rows);
  return row < Math.max(1, x.row_labels.length) && column < x.column_labels.length ? coordinateIn(x, row, column) : String(index);
}

export const byteOf = (offset, state) => Number(state.base) + Math.floor((offset * Number(state.bits)) / 8);
export const bankOf = byte => ((Math.floor(byte / 4) % 32) + 32) % 32;  // of a negative word, too
export const sectorOf = byte => Math.floor(byte / 32);
