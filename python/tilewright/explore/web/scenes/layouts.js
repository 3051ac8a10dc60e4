// The scene of a layout; what is said of any layout.
import { ask } from "../core.js";
import { composedText, coordinateOf, describeLayout, elementsOf } from "./elements.js";
import { draw } from "./picture.js";

const yesNo = answer => (answer === null || answer === undefined ? "too large to tell" : answer ? "yes" : "no");

export function factsOf(x) {
  if (x.size === undefined) return [];
  return [
    ["size", x.size], ...(x.cosize === undefined ? [] : [["cosize", x.cosize]]), ["rank", x.rank], ["depth", x.depth],
    ["injective", yesNo(x.injective)], ["bijective", yesNo(x.bijective)],
  ];
}

// The derivation of a layout at an index; of one behind a function, the layout's, and what the function makes of it.
export function evaluation(core, at, layout, field) {
  const evaluate = text => core("apply", "crd2idx", coordinateOf(layout, at), text);
  if (layout.kind === "layout") return evaluate(layout.text).derivation;
  const { inner, offset, outer } = ask(core, [field], "parse", composedText(layout)).parts;
  const { result, derivation } = evaluate(outer);
  const argument = offset === "0" ? result : `${offset} + ${result}`;
  return [...derivation, `${inner}(${argument}) = ${evaluate(composedText(layout)).result}`];
}

// An index of the state in a layout; the first one where it has none of that number.
export const indexOf = (state, x) => (Number(state.at) < x.size ? Number(state.at) : 0);

export function layoutScene(core, state, window) {
  const x = describeLayout(core, state.layout, "layout"), at = indexOf(state, x), { bits, base } = state;
  const colors = { offset: "value", row: "mode", column: x.rank > 1 ? "1" : "value" };
  return {
    ...draw(core, window, ["layout"], { subject: "layout", layout: composedText(x), color: colors[state.color] ?? state.color, only: "after", bits, base, at }),
    facts: factsOf(x), values: [["layout", x.text]], elements: () => elementsOf(x), moves: { rows: x.rows, size: x.size }, at,
    derivation: () => evaluation(core, at, x, "layout"), access: composedText(x),
  };
}
