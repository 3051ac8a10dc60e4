// The scene of an operation: its operands, and its result with tiles, copies or arrows.
import { Mistake, ask } from "../core.js";
import { describe, elementsOf } from "./elements.js";
import { factsOf, indexOf } from "./layouts.js";
import { draw } from "./picture.js";
import { operandsOf } from "../state.js";

export function operationScene(core, state, window) {
  const given = operandsOf(state).map(operand => ({ ...operand, text: operand.text.trim() }))
    .filter(({ text, optional }) => text !== "" || !optional);
  const fields = given.map(({ field }) => field);
  for (const operand of given) operand.read = ask(core, [operand.field], "parse", operand.text).text;
  const answer = core("apply", state.operation, ...given.map(({ text }) => text));
  const request = { subject: "operation", operation: state.operation, ...Object.fromEntries(given.map(({ text }, i) => ["abc"[i], text])) };
  const values = given.map(({ name, read }) => [name, read]);
  const scene = { values, derivation: () => answer.derivation, facts: [], elements: null };
  if (answer.error) throw new Mistake(answer.error.text, fields, { ...scene, ...draw(core, window, fields, request) });
  const several = Array.isArray(answer.parts), result = several ? answer.parts[1] : answer.result;
  const x = describe(core, result, "a", 64, 128);
  values.push(...(several ? [["tiler", answer.parts[0]], ["layout", result]] : [["result", result]]));
  if (x.size === undefined) return { ...scene, ...draw(core, window, fields, request) };
  const at = indexOf(state, x);
  return {
    ...scene, ...draw(core, window, fields, { ...request, at }), at, facts: factsOf(x), access: result, result,
    moves: { rows: x.rows, size: x.size }, elements: () => elementsOf(x),
  };
}
