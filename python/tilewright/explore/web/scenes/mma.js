// The scene of a tiled multiplication: who has which element of A, B and C, as the PTX manual draws one instruction.
import { MMAS } from "../constants.js";
import { Mistake, ask } from "../core.js";
import { sizeOf, tree } from "../notation.js";
import { describe, elementsOf, tablePanel } from "./panels.js";
import { ownersPanel } from "./threads.js";

const MODES = { A: [0, 2], B: [1, 2], C: [0, 1] };
const PLACES = { A: [1, 0], B: [0, 1], C: [1, 1] };

// Three positive integers of a text; fewer are filled with 1.
function three(core, text, field, example) {
  const { text: read } = ask(core, [field], "parse", text);
  const shape = read.includes(":") ? read.slice(0, read.indexOf(":")) : read;
  const extents = [tree(shape)].flat(1).map(sizeOf);
  if (extents.length > 3 || extents.some(extent => !(extent >= 1))) throw new Mistake(`${text} is no (M,N,K): write, for example, ${example}`, [field]);
  return [...extents, 1, 1].slice(0, 3);
}

// By m + rows * k: the threads and values that have an element of an operand in the tile.
function ownersOf(core, atom, operand, { count, tile, threadOf }) {
  const [first, second] = MODES[operand], [other] = [0, 1, 2].filter(mode => mode !== first && mode !== second);
  const shape = atom.shape, rows = shape[first], held = elementsOf(describe(core, atom[operand], "mma", 1024, 128));
  const values = held.reduce((most, { rest }) => Math.max(most, rest), 0) + 1;
  const byPlace = new Map();
  for (const { mode0, rest, offset } of held) byPlace.set(offset, [...(byPlace.get(offset) ?? []), [mode0, rest]]);
  const repeats = tile[first] / (shape[first] * count[first]);
  const owners = new Map();
  for (let i = 0; i < Math.min(tile[first], 64); ++i) {
    for (let j = 0; j < Math.min(tile[second], 64); ++j) {
      const atoms = [Math.floor(i / shape[first]), Math.floor(j / shape[second])];
      const repeat = Math.floor(atoms[0] / count[first]) + repeats * Math.floor(atoms[1] / count[second]);
      const place = (i % shape[first]) + rows * (j % shape[second]);
      const holders = [];
      for (let o = 0; o < count[other]; ++o) {
        const coordinate = [];
        coordinate[first] = atoms[0] % count[first];
        coordinate[second] = atoms[1] % count[second];
        coordinate[other] = o;
        const group = threadOf(coordinate);
        for (const [thread, value] of byPlace.get(place) ?? []) {
          holders.push({ thread: thread + atom.threads * group, value: value + values * repeat });
        }
      }
      owners.set(i + tile[first] * j, holders.sort((a, b) => a.thread - b.thread || a.value - b.value));
    }
  }
  return owners;
}

// An operand that the instruction reads from shared memory, in matrices of 8 rows of 16 bytes.
function fromShared(title, operand, tile, atom, place) {
  const [first, second] = MODES[operand], across = 128 / atom.bits;
  const [rows, columns] = [Math.min(tile[first], 64), Math.min(tile[second], 64)];
  const cells = [];
  for (let i = 0; i < rows; ++i) {
    for (let j = 0; j < columns; ++j) {
      const matrix = [Math.floor(i / 8), Math.floor(j / across)];
      const corner = i % 8 === 0 && j % across === 0;
      cells.push({
        row: operand === "B" ? j : i, column: operand === "B" ? i : j, lines: [corner ? `${i},${j}` : ""], owner: matrix[0] + 3 * matrix[1],
        said: [["coordinate", `(${i},${j})`], ["matrix", `(${matrix.join()})`], ["from", "shared memory"]],
      });
    }
  }
  const size = operand === "B" ? [columns, rows] : [rows, columns];
  return tablePanel(title, "read from shared memory in matrices of 8 rows of 16 bytes", size, cells, { place });
}

export function mmaScene(core, state) {
  const name = Object.hasOwn(MMAS, state.mma) ? state.mma : Object.keys(MMAS)[0], atom = MMAS[name];
  const count = three(core, state.atoms, "atoms", "(2,2,1)");
  const covered = atom.shape.map((extent, i) => extent * count[i]);
  const tile = state.product.trim() === "" ? covered : three(core, state.product, "product", `(${covered.join()})`);
  tile.forEach((extent, i) => {
    if (extent % covered[i]) {
      throw new Mistake(`the tile's ${"MNK"[i]} = ${extent} is no multiple of ${covered[i]}, which ${count[i]} atom${count[i] > 1 ? "s" : ""} of ${atom.shape[i]} cover`
        + `: write (${tile.map((x, n) => Math.max(1, Math.round(x / covered[n])) * covered[n]).join()})`, ["product"]);
    }
  });
  const layout = state.atoms.includes(":") ? state.atoms : `(${count.join()})`;
  const groups = new Map();
  const threadOf = coordinate => {
    const text = `(${coordinate.join()})`;
    if (!groups.has(text)) groups.set(text, Number(ask(core, ["atoms"], "apply", "crd2idx", text, layout).result));
    return groups.get(text);
  };
  const focus = /^\d+$/.test(state.focus) ? Number(state.focus) : null;
  const threads = atom.threads * count[0] * count[1] * count[2];
  const panels = ["B", "A", "C"].map(operand => {
    const [first, second] = MODES[operand];
    const title = `${operand} (${"MNK"[first]},${"MNK"[second]})`;
    if (!atom[operand]) return fromShared(title, operand, tile, atom, PLACES[operand]);
    return ownersPanel(title, operand === "B" ? "K runs down, N across" : "", [tile[first], tile[second]], ownersOf(core, atom, operand, { count, tile, threadOf }),
      { focus, letter: operand.toLowerCase(), transposed: operand === "B", step: [atom.shape[first], atom.shape[second]], place: PLACES[operand] });
  });
  const held = operand => (atom[operand] ? elementsOf(describe(core, atom[operand], "mma", 1024, 128)).reduce((most, { rest }) => Math.max(most, rest), 0) + 1 : 0);
  const times = ([a, b]) => (tile[a] / covered[a]) * (tile[b] / covered[b]);
  return {
    aligned: true, title: `TiledMma of ${name}, tile (M,N,K) = (${tile.join()}), ${threads} threads`, panels, tile, facts: [
      ["threads", threads], ["tile", `(${tile.join()})`], ["atom", `(${atom.shape.join()})`],
      ...["A", "B", "C"].map(operand => [`${operand} a thread`, held(operand) ? held(operand) * times(MODES[operand]) : "in shared memory"]),
    ],
    values: ["A", "B", "C"].filter(operand => atom[operand]).map(operand => [`(thread, value) to ${operand}`, atom[operand]]),
    elements: [], hover: cell => cell.said, picks: "thread",
  };
}
