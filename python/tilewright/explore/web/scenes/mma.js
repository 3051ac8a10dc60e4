// The scene of a tiled multiplication: who has which element of A, B and C, as the PTX manual draws one instruction.
import { MMAS } from "../constants.js";
import { Mistake, ask } from "../core.js";
import { sizeOf, tree } from "../notation.js";
import { describe } from "./elements.js";
import { draw } from "./picture.js";
import { focusOf } from "./threads.js";

const MODES = { A: [0, 2], B: [1, 2], C: [0, 1] };

// Three positive integers of a text; fewer are filled with 1.
function three(core, text, field, example) {
  const { text: read } = ask(core, [field], "parse", text);
  const shape = read.includes(":") ? read.slice(0, read.indexOf(":")) : read;
  const extents = [tree(shape)].flat(1).map(sizeOf);
  if (extents.length > 3 || extents.some(extent => !(extent >= 1))) throw new Mistake(`${text} is no (M,N,K): write, for example, ${example}`, [field]);
  return [...extents, 1, 1].slice(0, 3);
}

export function mmaScene(core, state, window) {
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
  const threads = atom.threads * count[0] * count[1] * count[2];
  const title = `TiledMma of ${name}, tile (M,N,K) = (${tile.join()}), ${threads} threads`, { A, B, C, bits } = atom;
  const held = operand => (atom[operand] ? describe(core, atom[operand], "mma", 1, 1).columns : 0);
  const times = ([a, b]) => (tile[a] / covered[a]) * (tile[b] / covered[b]);
  return {
    ...draw(core, window, ["atoms"], {
      subject: "mma", A, B, C, bits, shape: `(${atom.shape.join()})`, threads: atom.threads, tile: `(${tile.join()})`, title, focus: focusOf(state),
      atoms: state.atoms.includes(":") ? state.atoms : `(${count.join()})`,
    }),
    tile, elements: null, picks: "thread",
    facts: [
      ["threads", threads], ["tile", `(${tile.join()})`], ["atom", `(${atom.shape.join()})`],
      ...["A", "B", "C"].map(operand => [`${operand} a thread`, held(operand) ? held(operand) * times(MODES[operand]) : "in shared memory"]),
    ],
    values: ["A", "B", "C"].filter(operand => atom[operand]).map(operand => [`(thread, value) to ${operand}`, atom[operand]]),
  };
}
