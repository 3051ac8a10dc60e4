// What the form says, and the address of the page, which says the same.
"use strict";

const form = document.getElementById("form");
let at = "0";  // the index of the marked cell

// The operations with the names of their operands; an operand in brackets may be left empty.
const OPERATIONS = {
  composition: [["A", "B"], ["(6,2):(8,2)", "(4,3):(3,1)"]],
  coalesce: [["A", "[profile]"], ["(2,(1,6)):(1,(6,2))", ""]],
  complement: [["A", "[cotarget]"], ["(2,2):(1,6)", "24"]],
  logical_divide: [["A", "tiler"], ["(4,2,3):(2,1,8)", "4:2"]],
  zipped_divide: [["A", "tiler"], ["(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>"]],
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
const START = {
  view: "layout", layout: "(4,8):(8,1)", tv: "((2,2),(2,3)):((2,12),(1,4))", tile: "(4,6)", operation: "composition",
  a: "", b: "", c: "", bits: "32", memory: "global", op: "load",
  width: "0", base: "0", color: "row", at: "0",
};
const OPERANDS = ["a", "b", "c"];
const OF_VIEW = { layout: ["layout"], tv: ["tv", "tile"], operation: ["operation", ...OPERANDS] };

const read = () => ({ ...Object.fromEntries(new FormData(form)), at });

function write(state) {
  at = /^\d{1,6}$/.test(state.at) ? state.at : "0";
  for (const [name, value] of Object.entries(state)) {
    const field = form.elements[name];
    if (!field) continue;
    const offered = field instanceof RadioNodeList ? [...field] : [...(field.options ?? [])];
    field.value = offered.length === 0 || offered.some(option => option.value === value) ? value : START[name];
  }
}

// What differs from the start; brackets, colons and commas stay readable.
function toFragment(state) {
  const kept = ["view", ...OF_VIEW[state.view], "bits", "memory", "op", "width", "base", "color", "at"];
  const named = kept.filter(name => name === "view" || OF_VIEW[state.view].includes(name) || state[name] !== START[name]);
  const encoded = text => encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%3A", ":");
  return named.map(name => `${name}=${encoded(state[name])}`).join("&");
}

function examplesOf(operation) {
  const [, operands] = Object.hasOwn(OPERATIONS, operation ?? "") ? OPERATIONS[operation] : OPERATIONS[START.operation];
  return Object.fromEntries(OPERANDS.map((name, i) => [name, operands[i] ?? ""]));
}

function fromFragment(fragment) {
  const given = Object.fromEntries([...new URLSearchParams(fragment)].filter(([name]) => name in START));
  return { ...START, ...examplesOf(given.operation), ...given };
}
