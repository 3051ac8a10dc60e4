// What the page shows: its state, what belongs to each view, and the fragment of the address that says the same.
import { COPIES, MMAS } from "./constants.js";

// The operations with the names of their operands; an operand in brackets may be left empty.
export const OPERATIONS = {
  composition: [["A", "B"], ["(6,2):(8,2)", "(4,3):(3,1)"]],
  coalesce: [["A", "[profile]"], ["(2,(1,6)):(1,(6,2))", ""]],
  complement: [["A", "[cotarget]"], ["(2,2):(1,6)", "24"]],
  logical_divide: [["A", "tiler"], ["(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>"]],
  zipped_divide: [["A", "tiler"], ["(4,6):(1,4)", "(2,3)"]],
  tiled_divide: [["A", "tiler"], ["(4,6):(1,4)", "(2,3)"]],
  flat_divide: [["A", "tiler"], ["(4,6):(1,4)", "(2,3)"]],
  logical_product: [["A", "tiler"], ["(2,2):(4,1)", "6:1"]],
  zipped_product: [["A", "tiler"], ["(2,2):(4,1)", "6:1"]],
  tiled_product: [["A", "tiler"], ["(2,2):(4,1)", "6:1"]],
  flat_product: [["A", "tiler"], ["(2,2):(4,1)", "6:1"]],
  blocked_product: [["A", "B"], ["(2,5):(5,1)", "(3,4):(1,3)"]],
  raked_product: [["A", "B"], ["(2,5):(5,1)", "(3,4):(1,3)"]],
  right_inverse: [["A"], ["(4,8):(8,1)"]],
  left_inverse: [["A"], ["(4,8):(8,1)"]],
  make_layout_tv: [["threads", "values"], ["(2,2):(1,2)", "(2,3):(1,2)"]],
  tile_to_shape: [["atom", "shape", "[order]"], ["S<1,1,2> o 0 o (4,4):(4,1)", "(8,8)", ""]],
  with_shape: [["A", "shape"], ["24:1", "(4,6)"]],
  filter: [["A", "[profile]"], ["(2,3,4):(1,0,2)", ""]],
  filter_zeros: [["A"], ["(2,3,4):(1,0,2)"]],
  flatten: [["A"], ["(4,(2,3)):(1,(4,8))"]],
  nullspace: [["A"], ["(2,3,4):(1,0,2)"]],
  max_common_layout: [["A", "B"], ["(4,8):(1,4)", "(4,8):(1,8)"]],
  upcast: [["A", "n"], ["(8,4):(1,8)", "2"]],
  downcast: [["A", "n"], ["(4,4):(1,4)", "2"]],
  recast_layout: [["new bits", "old bits", "A"], ["32", "16", "(8,4):(1,8)"]],
  crd2idx: [["coordinate", "A"], ["(2,3)", "(4,8):(8,1)"]],
};
export const OPERANDS = ["a", "b", "c"];

export const START = {
  view: "layout", layout: "((2,4),(2,3)):((1,4),(2,16))",
  operation: "composition", a: "", b: "", c: "",
  tv: "((2,2),(2,3)):((2,12),(1,4))", tile: "(4,6)",
  copy: "universal", threads: "(16,8):(8,1)", values: "(1,4):(4,1)", tensor: "(16,32):(32,1)",
  fragment: "((4,8),(2,2,2)):((32,1),(16,8,128))", piece: "(16,16)",
  mma: "SM80_16x8x16_F32F16F16F32_TN", atoms: "(2,2,1)", product: "(32,32,16)",
  swizzle: "S<5,0,5>", shared: "(32,32):(32,1)",
  request: "(32,4):(4,1)",
  bits: "32", memory: "global", op: "load", width: "0", base: "0", color: "offset", focus: "", at: "0",
};

export const ACCESS = ["bits", "memory", "op", "width", "base"];
// The operands and the options of each view.
export const VIEWS = {
  layout: { name: "Layout", operands: ["layout"], options: ["color", ...ACCESS] },
  operation: { name: "Operation", operands: OPERANDS, choice: "operation", options: ACCESS },
  tv: { name: "Thread-value", operands: ["tv", "tile"], options: ["focus", ...ACCESS] },
  copy: { name: "Tiled copy", operands: ["threads", "values", "tensor", "fragment", "piece"], choice: "copy", options: ["focus", "bits", "memory", "op", "base"] },
  mma: { name: "Tiled MMA", operands: ["atoms", "product"], choice: "mma", options: ["focus"] },
  banks: { name: "Swizzle", operands: ["swizzle", "shared"], options: ["bits", "op", "width", "base"] },
  request: { name: "Request", operands: ["request"], options: ACCESS },
};

// The name and the explanation of each operand.
export const LABELS = {
  layout: ["Layout", "shape:stride, or with a swizzle in front: S<2,0,3> o 0 o (8,8):(8,1)"],
  tv: ["(thread, value) to offset", "mode 0 are the threads, mode 1 their values"],
  tile: ["Tile", "rows and columns, column-major"],
  threads: ["Thread layout", "where each thread stands in the tile"],
  values: ["Value layout", "the elements that each thread has"],
  fragment: ["(thread, value) to tile", "as the instruction leaves the elements; of A of m16n8k16 to start with"],
  piece: ["Tile", "rows and columns"],
  tensor: ["The tile in memory", "its shape, and how it lies"],
  atoms: ["Atom layout", "how many atoms along M, N and K"],
  product: ["Tile (M,N,K)", "each extent a multiple of what the atoms cover"],
  swizzle: ["Swizzle", "S<bits,base,shift>, in elements"],
  shared: ["Layout in shared memory", "mode 0 are the lanes of a request"],
  request: ["(lane, value) to offset", "mode 0 are the lanes, mode 1 their values"],
};

// Whether a copy is by an instruction that moves matrices, whose sides differ.
export const ofMatrices = state => state.copy.startsWith("ldmatrix");

// The options with what they offer; of those without, anything is typed.
export const OPTIONS = {
  color: ["Colour", [["offset", "by offset"], ["row", "by mode 0"], ["column", "by mode 1"], ["bank", "by bank"], ["sector", "by sector"], ["line", "by line"]]],
  bits: ["Element", [["8", "1 byte"], ["16", "2 bytes"], ["32", "4 bytes"], ["64", "8 bytes"], ["128", "16 bytes"]]],
  memory: ["Memory", [["global", "global"], ["shared", "shared"]]],
  op: ["Instruction", ["load", "store", "cp.async", "ldmatrix", "stmatrix"].map(name => [name, name])],
  width: ["A lane's access", [["0", "widest legal"], ["1", "1 byte"], ["2", "2 bytes"], ["4", "4 bytes"], ["8", "8 bytes"], ["16", "16 bytes"]]],
  base: ["Base address", null],
  focus: ["Only thread", null],
};

export const examplesOf = operation => {
  const [, texts] = OPERATIONS[operation] ?? OPERATIONS[START.operation];
  return Object.fromEntries(OPERANDS.map((name, i) => [name, texts[i] ?? ""]));
};

// The operands of a state: [{field, name, text, optional}].
export function operandsOf(state) {
  if (state.view !== "operation") {
    const fields = state.view !== "copy" ? VIEWS[state.view].operands : ofMatrices(state) ? ["fragment", "piece", "tensor"] : ["threads", "values", "tensor"];
    return fields.map(field => ({ field, name: LABELS[field][0], hint: LABELS[field][1], text: state[field] }));
  }
  return OPERATIONS[state.operation][0].map((name, i) => ({
    field: OPERANDS[i], name: name.replace(/[[\]]/g, ""), text: state[OPERANDS[i]], optional: name.startsWith("["),
  }));
}

const OFFERED = {
  view: VIEWS, operation: OPERATIONS, copy: COPIES, mma: MMAS,
  ...Object.fromEntries(Object.entries(OPTIONS).filter(([, [, offered]]) => offered).map(([name, [, offered]]) => [name, Object.fromEntries(offered)])),
};

// A state of whatever was given: what is unknown is left out, and what is missing is as at the start.
export function stateOf(given) {
  const known = Object.fromEntries(Object.entries(given).filter(([name, value]) =>
    Object.hasOwn(START, name) && typeof value === "string" && (!Object.hasOwn(OFFERED, name) || Object.hasOwn(OFFERED[name], value))));
  if (!/^\d{1,6}$/.test(known.at ?? "0")) delete known.at;
  return { ...START, ...examplesOf(known.operation), ...known };
}

// The view, its operands, and what differs from the start; brackets, colons and commas stay readable.
export function toFragment(state) {
  const { operands, choice, options } = VIEWS[state.view];
  const always = ["view", ...(choice ? [choice] : []), ...operandsOf(state).map(({ field }) => field)];
  const changed = [...operands, ...options, "at"].filter(name => !always.includes(name) && state[name] !== stateOf({ view: state.view, operation: state.operation })[name]);
  const encoded = text => encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%20", "+");
  return [...always, ...changed].map(name => `${name}=${encoded(state[name])}`).join("&");
}

export const fromFragment = fragment => stateOf(Object.fromEntries(new URLSearchParams(fragment)));

// States that can be gone back to. What follows within a moment under the same key replaces the last one.
export class History {
  constructor(state) {
    Object.assign(this, { states: [state], place: 0, key: null, time: 0 });
  }
  push(state, key, now = Date.now()) {
    const goesOn = key !== null && key === this.key && now - this.time < 1000 && this.place > 0;
    this.states.length = this.place + (goesOn ? 0 : 1);
    this.states.push(state);
    this.place = this.states.length - 1;
    Object.assign(this, { key, time: now });
  }
  go(step) {
    const place = this.place + step;
    if (!(place in this.states)) return null;
    Object.assign(this, { place, key: null });
    return this.states[place];
  }
}
