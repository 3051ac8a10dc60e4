// Threads and values: who has what of a tile; the scenes of a thread-value layout and of a tiled copy.
import { COPIES } from "../constants.js";
import { Mistake, ask } from "../core.js";
import { describe, elementsOf } from "./elements.js";
import { evaluation, factsOf, indexOf } from "./layouts.js";
import { sizeOf, tree } from "../notation.js";
import { draw } from "./picture.js";
import { predict } from "./requests.js";
import { ofMatrices } from "../state.js";

export const focusOf = state => (/^\d+$/.test(state.focus) ? Number(state.focus) : null);

// The extents of a tile as text: `(4,6)` or `4`.
function extentsOf(core, text, field) {
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

export function tvScene(core, state, window) {
  const tv = describeTv(core, state.tv, "tv"), at = indexOf(state, tv), { bits, base } = state;
  extentsOf(core, state.tile, "tile");
  return {
    ...draw(core, window, ["tv", "tile"], { subject: "tv", layout: tv.text, tile: state.tile, focus: focusOf(state), bits, base, at }),
    values: [["layout", tv.text]], facts: factsOf(tv), elements: () => elementsOf(tv), result: tv.text, moves: { rows: tv.rows, size: tv.size }, at,
    derivation: () => evaluation(core, at, tv, "tv"), access: tv.text,
  };
}

// ---- a tiled copy ----

// A tile has to be a part of the tensor in memory.
function fits(core, state, size, tiler) {
  const memory = ask(core, ["tensor"], "describe", 1, 1, state.tensor);
  const has = memory.rank === 1 ? [memory.size, 1] : [memory.rows, memory.columns];
  const small = size.findIndex((extent, mode) => !(has[mode] >= extent));
  if (small >= 0) {
    throw new Mistake(`the tile ${tiler} does not fit: mode ${small} of ${state.tensor} has ${has[small] ?? "no"} of its `
      + `${size[small]} elements: write, for example, (${size.join()}):(${size[1]},1)`, ["tensor"]);
  }
}

// Threads and values of a tile by layouts of both, and the requests that they make of the tile in memory.
function dealt(core, state) {
  for (const field of ["threads", "values", "tensor"]) ask(core, [field], "parse", state[field]);
  const answer = core("apply", "make_layout_tv", state.threads, state.values);
  if (answer.error) throw new Mistake(answer.error.text, ["threads", "values"]);
  const [tiler, tv] = answer.parts, modes = [tree(tiler)].flat(1).map(sizeOf);
  fits(core, state, [modes[0], modes[1] ?? 1], tiler);
  const tile = core("apply", "composition", state.tensor, modes.length > 1 ? `<${modes.map(extent => `${extent}:1`).join()}>` : `${modes[0]}:1`);
  if (tile.error) throw new Mistake(`the tile ${tiler} is no part of ${state.tensor}: ${tile.error.text}`, ["tensor"]);
  const offsets = core("apply", "composition", tile.result, tv);
  const reached = offsets.error ? [] : [["(thread, value) to offset", offsets.result]];
  return {
    fields: ["threads", "values"], tv, size: [modes[0], modes[1] ?? 1], tiler, derivation: () => answer.derivation,
    values: [["tiler", tiler], ["(thread, value) to tile", tv], ...reached], access: offsets.result ?? null, problem: offsets.error?.text,
  };
}

// The same as an instruction that moves matrices leaves it, and what its rows cost in shared memory.
function fragments(core, state, { source, destination }) {
  const size = extentsOf(core, state.piece, "piece"), tv = state.fragment;
  ask(core, ["fragment"], "parse", tv);
  fits(core, state, size, state.piece);
  const access = { ...state, memory: "shared", op: "ldmatrix", width: "16" };
  const found = predict(core, state.tensor, access, { tv, tile: `(${size.join()})`, source, destination });
  return {
    fields: ["fragment"], tv, size, tiler: state.piece, values: [["(thread, value) to tile", tv]],
    ...(found.error ? { access: null, problem: found.error.text } : { access: state.tensor, found, state: access }),
  };
}

export function copyScene(core, state, window) {
  const atom = COPIES[state.copy] ?? COPIES.universal, parts = ofMatrices(state) ? fragments(core, state, atom) : dealt(core, state);
  const tv = describeTv(core, parts.tv, parts.fields[0]), per = atom.values ?? 1;
  if (tv.rows % atom.threads) {
    throw new Mistake(`${atom.label} is done by ${atom.threads} threads together, and there are ${tv.rows}: no multiple`, parts.fields);
  }
  if (tv.columns % per) throw new Mistake(`${atom.label} moves ${per} values of a thread at once, and it has ${tv.columns}: no multiple`, parts.fields);
  const title = `TiledCopy of ${parts.tiler}: ${tv.rows} threads, ${tv.columns} values each`, { source, destination } = atom;
  return {
    ...draw(core, window, parts.fields, { subject: "copy", layout: parts.tv, tile: `(${parts.size.join()})`, title, source, destination, focus: focusOf(state) }),
    ...parts, result: parts.tv, elements: () => elementsOf(tv), picks: "thread",
    facts: [["threads", tv.rows], ["values a thread", tv.columns], ["elements", tv.size], ["bytes a thread", (tv.columns * Number(state.bits)) / 8],
      ...(parts.found ? [["wavefronts", parts.found.wavefronts], ["ideal", parts.found.ideal_wavefronts]] : [])],
  };
}
