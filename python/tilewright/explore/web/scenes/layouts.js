// The scene of a layout; what is said of any layout.
import { ask } from "../core.js";
import { composedText, describeLayout, hoverOf, layoutPanel, ownerOf } from "./panels.js";

const yesNo = answer => (answer === null || answer === undefined ? "too large to tell" : answer ? "yes" : "no");

export function factsOf(x) {
  if (x.size === undefined) return [];
  return [
    ["size", x.size], ...(x.cosize === undefined ? [] : [["cosize", x.cosize]]), ["rank", x.rank], ["depth", x.depth],
    ["injective", yesNo(x.injective)], ["bijective", yesNo(x.bijective)],
  ];
}

// The derivation of a layout at a coordinate; of one behind a function, the layout's, and what the function makes of it.
export function evaluation(core, coordinate, layout, field) {
  const evaluate = text => core("apply", "crd2idx", coordinate, text);
  if (layout.kind === "layout") return evaluate(layout.text).derivation;
  const { inner, offset, outer } = ask(core, [field], "parse", composedText(layout)).parts;
  const { result, derivation } = evaluate(outer);
  const argument = offset === "0" ? result : `${offset} + ${result}`;
  return [...derivation, `${inner}(${argument}) = ${evaluate(composedText(layout)).result}`];
}

export function layoutScene(core, state) {
  const x = describeLayout(core, state.layout, "layout");
  const at = Number(state.at) < x.size ? Number(state.at) : 0;
  const panel = layoutPanel(x, x.text, "", element => ({ owner: ownerOf(element, state), marked: element.index === at, pick: element.index }));
  const chosen = panel.cells.find(cell => cell.marked);
  return {
    title: x.text, panels: [panel], subject: x, facts: factsOf(x), values: [["layout", x.text]], elements: panel.cells,
    moves: { rows: x.rows, size: x.size }, at, chosen: chosen && hoverOf(chosen, state), hover: cell => hoverOf(cell, state),
    derivation: () => evaluation(core, chosen?.coordinate ?? String(at), x, "layout"), access: composedText(x),
  };
}
