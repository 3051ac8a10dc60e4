// Threads and values: who has what of a tile; the scenes of a thread-value layout and of a tiled copy.
import { COPIES } from "../constants.js";
import { Mistake, ask } from "../core.js";
import { evaluation, factsOf } from "./layouts.js";
import { sizeOf, tree } from "../notation.js";
import { byteOf, describe, elementsOf, layoutPanel, placeOf, tablePanel } from "./panels.js";
import { ofMatrices } from "../state.js";

// By offset in the tile: the threads and values that have it, of a layout (thread, value) to offset.
export function tileOwners(tv) {
  const owners = new Map();
  for (const { mode0: thread, rest: value, offset, index } of elementsOf(tv)) {
    if (typeof offset !== "number" || offset < 0) continue;
    if (!owners.has(offset)) owners.set(offset, []);
    owners.get(offset).push({ thread, value, index });
  }
  return owners;
}

// The tile, column-major, with thread and value in each cell; with `focus`, all but that thread are pale.
export function ownersPanel(title, subtitle, [rows, columns], owners, { focus = null, at = null, letter = "V", transposed = false, limit = 64, step, place, from = rows } = {}) {
  const cells = [];
  const shown = [Math.min(rows, limit), Math.min(columns, limit)];
  for (let i = 0; i < shown[0]; ++i) {
    for (let j = 0; j < shown[1]; ++j) {
      const holders = owners.get(i + from * j) ?? [];
      const own = focus === null ? holders : holders.filter(({ thread }) => thread === focus);
      const [first] = own.length ? own : holders;
      const others = holders.length > 1 && !(focus !== null && own.length) ? `+${holders.length - 1}` : "";
      cells.push({
        row: transposed ? j : i, column: transposed ? i : j, owner: first?.thread ?? null,
        lines: first ? [`T${first.thread}${others}`, `${letter}${first.value}`] : [""],
        faded: focus !== null && own.length === 0, marked: focus === null ? at !== null && holders.some(({ index }) => index === at) : own.length > 0,
        pick: first?.index, thread: first?.thread,
        said: [["coordinate", `(${i},${j})`], ...(holders.length ? [["threads", holders.slice(0, 6).map(({ thread, value }) => `T${thread} ${letter}${value}`).join(", ") + (holders.length > 6 ? ", …" : "")]] : [["threads", "none"]])],
      });
    }
  }
  const cut = shown[0] < rows || shown[1] < columns ? `; the first ${shown.join(" x ")} of ${rows} x ${columns} are drawn` : "";
  const size = transposed ? shown.toReversed() : shown;
  return tablePanel(title, subtitle + cut, size, cells, { step: transposed ? step?.toReversed() : step, place });
}

const focusOf = state => (/^\d+$/.test(state.focus) ? Number(state.focus) : null);

// The extents of a tile as text: `(4,6)` or `4`.
export function extentsOf(core, text, field) {
  const found = ask(core, [field], "describe", 1, 1, `${text}:${text}`);
  return [found.rank === 1 ? found.size : found.rows, found.rank === 1 ? 1 : found.columns];
}

function describeTv(core, text, field) {
  const tv = describe(core, text, field, 1024, 128);
  if (tv.size === undefined || tv.rank !== 2) {
    throw new Mistake(`${tv.text} is no layout of two modes, (thread, value): write, for example, ((2,2),(2,3)):((2,12),(1,4))`, [field]);
  }
  if (tv.size > 64 * 64) throw new Mistake(`${tv.text} has ${tv.size} elements; the page draws up to 4096`, [field]);
  return tv;
}

export function tvScene(core, state) {
  const tv = describeTv(core, state.tv, "tv"), extents = extentsOf(core, state.tile, "tile");
  const at = Number(state.at) < tv.size ? Number(state.at) : 0, focus = focusOf(state);
  const owners = tileOwners(tv), count = extents[0] * extents[1];
  const beyond = [...owners.keys()].some(offset => offset >= count);
  const table = layoutPanel(tv, "(thread, value) to offset", "a row for each thread", ({ mode0, index }) =>
    ({ owner: mode0, faded: focus !== null && mode0 !== focus, marked: index === at, pick: index, thread: mode0 }));
  const tile = ownersPanel(`the tile ${state.tile}`, `thread and value of each element${beyond ? "; some offsets lie outside of the tile" : ""}`,
    extents, owners, { focus, at });
  const chosen = elementsOf(tv).find(({ index }) => index === at);
  const say = ({ mode0, rest, coordinate, offset }) => [["thread", mode0], ["value", rest], ["coordinate", coordinate], ["offset", offset],
    ...(typeof offset === "number" ? [["byte", byteOf(offset, state)], ["bank", placeOf.bank(byteOf(offset, state))]] : [])];
  return {
    title: tv.text, panels: [tile, table], values: [["layout", tv.text]], facts: factsOf(tv), elements: table.cells, result: tv.text,
    moves: { rows: tv.rows, size: tv.size }, at, chosen: chosen && say(chosen), hover: cell => cell.said ?? say(cell),
    derivation: () => evaluation(core, chosen?.coordinate ?? String(at), tv, "tv"), access: tv.text,
  };
}

// ---- a tiled copy ----

// The pairs (thread, value) of each element of an instruction's side.
function pairsOf(core, text) {
  const found = new Map();
  for (const { mode0: thread, rest: value, offset } of elementsOf(describe(core, text, "copy", 1024, 128))) {
    found.set(offset, [...(found.get(offset) ?? []), [thread, value]]);
  }
  return found;
}

// Who reads what of a tile, of those who write it: each element of the instruction has a place on both sides.
function readersOf(core, owners, { threads, values, source, destination }) {
  const reads = pairsOf(core, source), elementOf = new Map();
  for (const [element, pairs] of pairsOf(core, destination)) for (const pair of pairs) elementOf.set(pair.join(), element);
  const each = Math.max(...[...reads.values()].flat().map(([, value]) => value)) + 1, found = new Map();
  for (const [offset, holders] of owners) {
    found.set(offset, holders.flatMap(({ thread, value, index }) => {
      const warp = threads * Math.floor(thread / threads), step = each * Math.floor(value / values);
      const pairs = reads.get(elementOf.get(`${thread % threads},${value % values}`)) ?? [];
      return pairs.map(([t, v]) => ({ thread: warp + t, value: step + v, index }));
    }));
  }
  return found;
}

// Threads and values of a tile by layouts of both, and the requests that they make of the tile in memory.
function dealt(core, state) {
  for (const field of ["threads", "values", "tensor"]) ask(core, [field], "parse", state[field]);
  const answer = core("apply", "make_layout_tv", state.threads, state.values);
  if (answer.error) throw new Mistake(answer.error.text, ["threads", "values"]);
  const [tiler, tv] = answer.parts, modes = [tree(tiler)].flat(1).map(sizeOf);
  const memory = ask(core, ["tensor"], "describe", 1, 1, state.tensor);
  const has = memory.rank === 1 ? [memory.size, 1] : [memory.rows, memory.columns];
  const small = [modes[0], modes[1] ?? 1].findIndex((extent, mode) => !(has[mode] >= extent));
  if (small >= 0) {
    throw new Mistake(`the tile ${tiler} does not fit: mode ${small} of ${state.tensor} has ${has[small] ?? "no"} of its `
      + `${modes[small]} elements: write, for example, (${modes.join()}):(${modes.length > 1 ? `${modes[1]},1` : 1})`, ["tensor"]);
  }
  const tile = core("apply", "composition", state.tensor, modes.length > 1 ? `<${modes.map(extent => `${extent}:1`).join()}>` : `${modes[0]}:1`);
  if (tile.error) throw new Mistake(`the tile ${tiler} is no part of ${state.tensor}: ${tile.error.text}`, ["tensor"]);
  const offsets = core("apply", "composition", tile.result, tv);
  const reached = offsets.error ? [] : [["(thread, value) to offset", offsets.result]];
  return {
    fields: ["threads", "values"], tv, size: [modes[0], modes[1] ?? 1], tiler, derivation: () => answer.derivation,
    values: [["tiler", tiler], ["(thread, value) to tile", tv], ...reached], access: offsets.result ?? null, problem: offsets.error?.text,
  };
}

// The same as an instruction that moves matrices leaves it.
function fragments(core, state) {
  const size = extentsOf(core, state.piece, "piece");
  ask(core, ["fragment"], "parse", state.fragment);
  return {
    fields: ["fragment"], tv: state.fragment, size, tiler: state.piece, values: [["(thread, value) to tile", state.fragment]],
    access: null, problem: "What an ldmatrix costs is a matter of its rows: the view Request has it, with the instruction ldmatrix.",
  };
}

export function copyScene(core, state) {
  const atom = COPIES[state.copy] ?? COPIES.universal, parts = ofMatrices(state) ? fragments(core, state) : dealt(core, state);
  const tv = describeTv(core, parts.tv, parts.fields[0]), per = atom.values ?? 1;
  if (tv.rows % atom.threads) {
    throw new Mistake(`${atom.label} is done by ${atom.threads} threads together, and there are ${tv.rows}: no multiple`, parts.fields);
  }
  if (tv.columns % per) throw new Mistake(`${atom.label} moves ${per} values of a thread at once, and it has ${tv.columns}: no multiple`, parts.fields);
  const focus = focusOf(state), writes = tileOwners(tv), reads = atom.source ? readersOf(core, writes, atom) : writes;
  const side = (name, owners) => ownersPanel(name, `the tile ${parts.tiler}: thread and value of each element`, parts.size, owners, { focus });
  return {
    ...parts, title: `TiledCopy of ${parts.tiler}: ${tv.rows} threads, ${tv.columns} values each`, result: parts.tv,
    panels: reads === writes ? [side("source and destination", writes)] : [side("source", reads), side("destination", writes)],
    facts: [["threads", tv.rows], ["values a thread", tv.columns], ["elements", tv.size], ["bytes a thread", (tv.columns * Number(state.bits)) / 8]],
    elements: elementsOf(tv), hover: cell => cell.said, picks: "thread",
  };
}
