// What a warp's request costs: over sectors and lines, or over the banks of shared memory; a swizzle against banks.
import { Mistake, ask } from "../core.js";
import { describeLayout, elementsOf } from "./elements.js";
import { evaluation, factsOf, indexOf } from "./layouts.js";
import { draw } from "./picture.js";

export function predict(core, text, state, more = {}) {
  const fields = ["bits", "memory", "op", "width", "base"].map(name => `${name}=${state[name].trim()}`)
    .concat(Object.entries(more).map(([name, value]) => `${name}=${value}`));
  return core("predict", `layout=${text}`, ...fields);
}

const plural = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

export function costOf(found, state) {
  return state.memory === "shared"
    ? `${plural(found.worst.wavefronts, "wavefront")}, ideally ${found.worst.ideal_wavefronts}`
    : `${plural(found.worst.sectors, "sector")} in ${plural(found.worst.lines, "line")}, ideally ${found.worst.ideal_sectors}`;
}

export function requestScene(core, state, window) {
  const x = describeLayout(core, state.request, "request"), { bits, base, memory, op, width } = state;
  const found = predict(core, x.text, state);
  if (found.error) throw new Mistake(found.error.text, ["request"]);
  const counted = memory === "shared"
    ? [["wavefronts", found.wavefronts], ["ideal", found.ideal_wavefronts]] : [["sectors", found.sectors], ["ideal", found.ideal_sectors], ["lines", found.lines]];
  return {
    ...draw(core, window, ["request"], { subject: "request", layout: x.text, bits, base, memory, op, width }),
    values: [["layout", x.text]], elements: () => elementsOf(x), access: x.text, found, result: x.text,
    facts: [["lanes", x.rank === 1 ? x.size : x.rows], ["bytes a lane", found.width], ["widest legal", found.widest], ["requests", found.requests],
      ...counted, ["useful bytes", found.useful_bytes]],
  };
}

export function banksScene(core, state, window) {
  const plain = describeLayout(core, state.shared, "shared"), { swizzle, bits, base, op, width } = state;
  ask(core, ["swizzle"], "parse", swizzle);
  if (plain.kind !== "layout") throw new Mistake(`${plain.text} has a function in front: write the layout alone, the swizzle has a field of its own`, ["shared"]);
  const answer = core("apply", "composition", swizzle, plain.text);
  if (answer.error) throw new Mistake(answer.error.text, ["swizzle"]);
  const after = describeLayout(core, answer.result, "swizzle"), at = indexOf(state, plain);
  const access = { ...state, memory: "shared" };
  const found = [plain, after].map(x => predict(core, x.text, access)), failed = found.find(each => each.error);
  return {
    ...draw(core, window, ["swizzle"], { subject: "banks", layout: plain.text, swizzle, bits, base, op, width, at }),
    values: [["layout", after.text]], at, moves: { rows: plain.rows, size: plain.size }, elements: () => elementsOf(after),
    derivation: () => evaluation(core, at, after, "shared"), access: after.text, state: access, result: after.text, problem: failed?.error.text,
    facts: [...(failed ? [] : [["wavefronts before", found[0].wavefronts], ["after", found[1].wavefronts], ["ideal", found[1].ideal_wavefronts]]), ...factsOf(after)],
  };
}
