// What the page shows as a program: in Python, and in C++ with CuTe.
import { COPIES, MMAS } from "./constants.js";
import { partsOf } from "./notation.js";
import { ofMatrices, operandsOf } from "./state.js";

const DTYPES = { 8: ["Int8", "int8_t"], 16: ["Float16", "half_t"], 32: ["Float32", "float"], 64: ["Float64", "double"], 128: ["Complex128", "uint128_t"] };

const isTuple = text => text.startsWith("(");
const inner = text => partsOf(text.slice(1, -1)).filter(Boolean);
const split = text => {
  let depth = 0;
  for (let i = 0; i < text.length; ++i) {
    depth += (text[i] === "(") - (text[i] === ")");
    if (depth === 0 && text[i] === ":") return [text.slice(0, i).trim(), text.slice(i + 1).trim()];
  }
  return null;
};
const functionOf = text => /^Sw?<(.*?)>\s*o\s*(-?\d+)\s*o\s*(.*)$/.exec(text) ?? null;

// ---- Python ----

function pythonOperand(text) {
  text = text.trim();
  if (text === "_") return "None";
  if (text.startsWith("<")) return `(${inner(text).map(pythonOperand).join(", ")}${inner(text).length === 1 ? "," : ""})`;
  if (/^[\d\s(),_-]*$/.test(text) && !text.includes(":")) return text.replaceAll(",", ", ").replaceAll("_", "None").replace(/\((-?\d+)\)/g, "($1,)");
  const layout = functionOf(text) || /[S@]/.test(text) ? null : split(text);
  if (!layout) return `cute.parse("${text}")`;
  const spaced = layout.map(part => part.replaceAll(",", ", ").replace(/\((-?\d+)\)/g, "($1,)"));
  return `cute.make_layout(${spaced[0]}, stride=${spaced[1]})`;
}

const nameIn = name => name.replaceAll(" ", "_").replace(/^A$/, "a").replace(/^B$/, "b");

const PYTHON = {
  layout: state => [`layout = ${pythonOperand(state.layout)}`, "cute.show(layout)"],
  operation: state => {
    const given = operandsOf(state).filter(({ text }) => text.trim());
    const names = given.map(({ name }) => nameIn(name));
    const lines = given.map(({ text }, i) => `${names[i]} = ${pythonOperand(text)}`);
    const call = state.operation === "make_layout_tv" ? "tiler, tv" : "result", list = names.join(", ");
    const drawn = /composition|coalesce|complement|divide|product/.test(state.operation);
    const seen = drawn ? [`cute.show(cute.${state.operation}, ${list})`, `cute.explain(cute.${state.operation}, ${list})`] : [`print(${call})`];
    return [...lines, `${call} = cute.${state.operation}(${list})`, ...seen];
  },
  tv: state => [`tv = ${pythonOperand(state.tv)}`, `cute.show(tv, tile=${pythonOperand(state.tile)})`],
  copy: state => {
    const atom = COPIES[state.copy] ?? COPIES.universal, [dtype] = DTYPES[state.bits];
    const bits = state.copy === "universal" ? `, num_bits_per_copy=${state.bits}` : state.copy === "cp.async" ? ", num_bits_per_copy=128" : "";
    if (ofMatrices(state)) {
      return [
        `atom = cute.make_copy_atom(${atom.python}, ${dtype})`, `tv = ${pythonOperand(state.fragment)}`,
        `tiled_copy = cute.make_tiled_copy(atom, tv, ${pythonOperand(state.piece)})`, "cute.show(tiled_copy)",
      ];
    }
    return [
      `atom = cute.make_copy_atom(${atom.python}, ${dtype}${bits})`, `threads = ${pythonOperand(state.threads)}`, `values = ${pythonOperand(state.values)}`,
      "tiled_copy = cute.make_tiled_copy_tv(atom, threads, values)", "cute.show(tiled_copy)",
    ];
  },
  mma: state => [
    `op = ${(MMAS[state.mma] ?? Object.values(MMAS)[0]).python}`,
    `tiled_mma = cute.make_tiled_mma(op, ${pythonOperand(state.atoms)}, ${pythonOperand(state.product)})`,
    /^\d+$/.test(state.focus) ? `cute.show(tiled_mma.get_slice(${state.focus}))` : "cute.show(tiled_mma)",
  ],
  banks: state => [
    `swizzle = cute.parse("${state.swizzle}")`, `layout = cute.composition(swizzle, ${pythonOperand(state.shared)})`,
    `cute.show(layout, dtype=${DTYPES[state.bits][0]})`, `analysis.analyze(layout, ${DTYPES[state.bits][0]}, memory="shared")`,
  ],
  request: state => [
    `layout = ${pythonOperand(state.request)}`,
    `analysis.analyze(layout, ${DTYPES[state.bits][0]}, memory="${state.memory}", op="${state.op}"${state.width === "0" ? "" : `, width=${state.width}`}${state.base === "0" ? "" : `, base=${state.base}`})`,
  ],
};

export function asPython(state) {
  const body = PYTHON[state.view](state), text = body.join("\n");
  const types = [...new Set(text.match(/\b(Int8|Int32|Float16|Float32|Float64|Complex128)\b/g) ?? [])].sort();
  const names = [...types, ...(text.includes("analysis.") ? ["analysis"] : []), "cute"];
  const imports = [`from tilewright import ${names.join(", ")}`];
  if (text.includes("nvgpu.")) imports.push("from tilewright.cute import nvgpu");
  if (text.includes("OperandSource")) imports.push("from tilewright.cute.nvgpu.warpgroup import OperandMajorMode, OperandSource");
  return `${imports.join("\n")}\n\n${text}\n`;
}

// ---- C++ ----

const cppTuple = (text, make) => {
  if (isTuple(text)) return `${make}(${inner(text).map(part => cppTuple(part, make)).join(", ")})`;
  return text === "_" ? "_" : text.includes("@") ? `E<${text.split("@").slice(1).join(",")}>{}` : `Int<${text}>{}`;
};

function cppOperand(text) {
  text = text.trim();
  if (text.startsWith("<")) return `make_tile(${inner(text).map(cppOperand).join(", ")})`;
  const behind = functionOf(text);
  if (behind) return `composition(Swizzle<${behind[1]}>{}, Int<${behind[2]}>{}, ${cppOperand(behind[3])})`;
  const swizzle = /^Sw?<(.*)>$/.exec(text);
  if (swizzle) return `Swizzle<${swizzle[1]}>{}`;
  const layout = split(text);
  if (!layout) return cppTuple(text, "make_shape");
  return `make_layout(${cppTuple(layout[0], "make_shape")}, ${cppTuple(layout[1], "make_stride")})`;
}

const CPP = {
  layout: state => [`auto layout = ${cppOperand(state.layout)};`, "print_layout(layout);"],
  operation: state => {
    const given = operandsOf(state).filter(({ text }) => text.trim()), names = given.map(({ name }) => nameIn(name));
    const lines = given.map(({ text }, i) => `auto ${names[i]} = ${cppOperand(text)};`), call = CPP_CALLS[state.operation];
    return [...lines, ...(call ? call(names, given) : [`auto result = ${state.operation}(${names.join(", ")});`, "print(result);"])];
  },
  tv: state => [`auto tv = ${cppOperand(state.tv)};  // (thread, value) to the offset in a tile ${state.tile}`, "print_layout(tv);"],
  copy: state => {
    const dtype = DTYPES[state.bits][1];
    const matrices = /^ldmatrix(\d)(t?)$/.exec(state.copy);
    const op = matrices ? `SM75_U${matrices[2] ? 16 : 32}x${matrices[1] * (matrices[2] ? 2 : 1)}_LDSM_${matrices[2] ? "T" : "N"}`
      : state.copy === "cp.async" ? "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>" : `UniversalCopy<${dtype}>`;
    if (matrices) {
      const extents = inner(state.piece).map(extent => `_${extent}`).join(", ");
      return [`auto tiled_copy = make_tiled_copy_impl(Copy_Atom<${op}, ${dtype}>{},`, `    ${cppOperand(state.fragment)}, Shape<${extents}>{});`, "print_latex(tiled_copy);"];
    }
    return [`auto tiled_copy = make_tiled_copy(Copy_Atom<${op}, ${dtype}>{},`, `                                  ${cppOperand(state.threads)},`, `                                  ${cppOperand(state.values)});`, "print_latex(tiled_copy);"];
  },
  mma: state => [
    `auto tiled_mma = make_tiled_mma(${(MMAS[state.mma] ?? Object.values(MMAS)[0]).cpp}${state.mma.startsWith("SM90") ? "<GMMA::Major::K, GMMA::Major::K>" : ""}{},`,
    `                                ${state.atoms.includes(":") ? cppOperand(state.atoms) : `Layout<Shape<${inner(state.atoms).map(x => `_${x}`).join(", ")}>>{}`},`,
    `                                Tile<${inner(state.product).map(x => `_${x}`).join(", ")}>{});`, "print_latex(tiled_mma);",
  ],
  banks: state => [`auto layout = composition(${cppOperand(state.swizzle)}, ${cppOperand(state.shared)});`, "print_layout(layout);"],
  request: state => [`auto layout = ${cppOperand(state.request)};  // (lane, value) to offset`, "print_layout(layout);"],
};
const CPP_CALLS = {
  make_layout_tv: names => [`auto layout_mn = raked_product(${names.join(", ")});`, `auto tv = right_inverse(layout_mn).with_shape(make_shape(size(${names[0]}), size(${names[1]})));`],
  with_shape: names => [`auto result = ${names[0]}.with_shape(${names[1]});`, "print(result);"],
  upcast: (names, given) => [`auto result = upcast<${given[1].text}>(${names[0]});`],
  downcast: (names, given) => [`auto result = downcast<${given[1].text}>(${names[0]});`],
  recast_layout: (names, given) => [`auto result = recast_layout<uint_bit_t<${given[1].text}>, uint_bit_t<${given[0].text}>>(${names[2]});`],
};

export const asCpp = state => `#include <cute/tensor.hpp>\nusing namespace cute;\n\n${CPP[state.view](state).join("\n")}\n`;
