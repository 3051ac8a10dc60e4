// What a warp's request costs: over sectors and lines, or over the banks of shared memory; a swizzle against banks.
import { Mistake, ask } from "../core.js";
import { evaluation, factsOf } from "./layouts.js";
import { describeLayout, elementsOf, hoverOf, layoutPanel, placeOf, byteOf, tablePanel } from "./panels.js";

const WORDS = 32;  // words of 4 bytes: of a line, and the banks

export function predict(core, text, state) {
  const fields = ["bits", "memory", "op", "width", "base"].map(name => `${name}=${state[name].trim()}`);
  return core("predict", `layout=${text}`, ...fields);
}

// The lanes that want each word of 4 bytes.
function wordsOf({ width, worst }) {
  const lanes = new Map();
  worst.addresses.forEach((address, lane) => {
    for (let word = Math.floor(address / 4); word * 4 < address + width; ++word) lanes.set(word, [...(lanes.get(word) ?? []), lane]);
  });
  return lanes;
}

const named = lanes => (lanes.length === 1 ? `T${lanes[0]}` : `T${lanes[0]}+${lanes.length - 1}`);

// Lines of 128 bytes as rows of words; the words of a touched sector that nobody wants are grey.
function linesPanel(found, title) {
  const words = wordsOf(found);
  const sectors = new Set([...words.keys()].map(word => Math.floor(word / 8)));
  const lines = [...new Set([...sectors].map(sector => Math.floor(sector / 4)))].sort((a, b) => a - b);
  const shown = lines.slice(0, 64);
  const cells = shown.flatMap((line, row) => Array.from({ length: WORDS }, (_, column) => {
    const word = WORDS * line + column, lanes = words.get(word) ?? [], touched = sectors.has(Math.floor(word / 8));
    return {
      row, column, lines: [lanes.length ? named(lanes) : touched ? "·" : ""], owner: lanes.length ? lanes[0] : null, faded: touched && !lanes.length,
      said: [["byte", 4 * word], ["sector", Math.floor(word / 8)], ["line", line],
        ["lanes", lanes.length ? lanes.join(", ") : touched ? "none: fetched for nothing" : "none: not fetched"]],
    };
  }));
  const rest = lines.length > shown.length ? `; the first ${shown.length} of ${lines.length} lines are drawn` : "";
  return tablePanel(title, `a row is a line of 128 bytes, thick lines part its sectors; dark: fetched for nothing${rest}`, [shown.length, WORDS], cells,
    { step: [0, 8], rowNames: shown.map(line => `byte ${128 * line}`), columnNames: Array.from({ length: WORDS }, (_, i) => 4 * i) });
}

// The words of each bank, one below the other: a row is a wavefront, as far as banks decide it.
function banksPanel(found, title, most = 64) {
  const height = Array(WORDS).fill(0);
  const cells = [...wordsOf(found)].sort(([a], [b]) => a - b).map(([word, lanes]) => {
    const bank = placeOf.bank(4 * word);
    return {
      row: height[bank]++, column: bank, lines: [named(lanes)], owner: lanes[0],
      said: [["bank", bank], ["byte", 4 * word], ["lanes", lanes.join(", ")]],
    };
  });
  const all = Math.max(1, ...height), rows = Math.min(most, all);
  const rest = rows < all ? `; ${rows} of ${all} rows are drawn` : "";
  return tablePanel(title, `each word that is wanted in its bank, with the first lane that wants it${rest}`, [rows, WORDS], cells.filter(({ row }) => row < rows),
    { rowNames: Array.from({ length: rows }, (_, i) => i), columnNames: Array.from({ length: WORDS }, (_, i) => i) });
}

const plural = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

export function costOf(found, state) {
  return state.memory === "shared"
    ? `${plural(found.worst.wavefronts, "wavefront")}, ideally ${found.worst.ideal_wavefronts}`
    : `${plural(found.worst.sectors, "sector")} in ${plural(found.worst.lines, "line")}, ideally ${found.worst.ideal_sectors}`;
}

export function requestScene(core, state) {
  const x = describeLayout(core, state.request, "request");
  const found = predict(core, x.text, state);
  if (found.error) throw new Mistake(found.error.text, ["request"]);
  const shared = state.memory === "shared", count = x.rank === 1 ? x.size : x.rows;
  const title = `${found.requests > 1 ? "The worst request" : "The request"}: ${costOf(found, state)}`;
  return {
    title: `${x.text}: ${costOf(found, state)}`, panels: [shared ? banksPanel(found, title) : linesPanel(found, title)],
    values: [["layout", x.text]], elements: elementsOf(x), hover: cell => cell.said, access: x.text, found, result: x.text,
    facts: [["lanes", count], ["bytes a lane", found.width], ["widest legal", found.widest], ["requests", found.requests],
      ...(shared ? [["wavefronts", found.wavefronts], ["ideal", found.ideal_wavefronts]] : [["sectors", found.sectors], ["ideal", found.ideal_sectors], ["lines", found.lines]]),
      ["useful bytes", found.useful_bytes]],
  };
}

export function banksScene(core, state) {
  const plain = describeLayout(core, state.shared, "shared");
  ask(core, ["swizzle"], "parse", state.swizzle);
  if (plain.kind !== "layout") throw new Mistake(`${plain.text} has a function in front: write the layout alone, the swizzle has a field of its own`, ["shared"]);
  const answer = core("apply", "composition", state.swizzle, plain.text);
  if (answer.error) throw new Mistake(answer.error.text, ["swizzle"]);
  const after = describeLayout(core, answer.result, "swizzle");
  const access = { ...state, memory: "shared" };
  const at = Number(state.at) < plain.size ? Number(state.at) : 0;
  const look = element => ({
    owner: typeof element.offset === "number" ? placeOf.bank(byteOf(element.offset, state)) : null, marked: element.index === at, pick: element.index,
  });
  const found = [plain, after].map(x => predict(core, x.text, access));
  const say = n => (found[n].error ? "" : costOf(found[n], access));
  const panels = [
    layoutPanel(plain, `before: ${plain.text}`, "offsets, coloured by bank", look),
    layoutPanel(after, `after: ${after.text}`, "offsets, coloured by bank", look),
  ];
  const requests = found.flatMap((each, n) => (each.error ? [] : [banksPanel(each, `mode 0 ${n ? "after" : "before"}: ${say(n)}`, 8)]));
  const chosen = panels[1].cells.find(cell => cell.marked);
  const failed = found.find(each => each.error);
  return {
    title: `${after.text}: ${say(1)}, ${say(0)} without the swizzle`, panels: [...panels, ...requests], values: [["layout", after.text]], at,
    moves: { rows: plain.rows, size: plain.size }, elements: panels[1].cells, chosen: chosen && hoverOf(chosen, access),
    hover: cell => cell.said ?? hoverOf(cell, access), derivation: () => evaluation(core, chosen?.coordinate ?? String(at), after, "shared"), access: after.text, state: access, result: after.text, problem: failed?.error.text,
    facts: [...(failed ? [] : [["wavefronts before", found[0].wavefronts], ["after", found[1].wavefronts], ["ideal", found[1].ideal_wavefronts]]), ...factsOf(after)],
  };
}
