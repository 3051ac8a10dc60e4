// What is said of the picture: facts, the derivation, what an access costs, the elements, the program.
import { asCpp, asPython } from "./code.js";
import { h, tabs } from "./dom.js";
import { bankOf, byteOf, sectorOf } from "./scenes/elements.js";
import { costOf, predict } from "./scenes/requests.js";

const TABS = { why: "Derivation", access: "Access", elements: "Elements", code: "Code" };
const ROWS = 128;  // of the table of elements

function table(head, rows, marked = -1) {
  const cells = (texts, tag) => texts.map((text, i) => h(tag, head[i].startsWith(" ") ? { class: "text" } : {}, String(text ?? "").trim()));
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, cells(head, "th"))),
    h("tbody", {}, rows.map((row, i) => h("tr", i === marked ? { class: "marked" } : {}, cells(row, "td"))))));
}

const sentence = text => `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;

function access(core, scene, state) {
  const given = scene.state ?? state;
  if (!scene.access) return [h("p", { class: "quiet" }, scene.problem ?? "There is no access to predict here.")];
  const found = scene.found ?? predict(core, scene.access, given);
  if (found.error) return [h("p", { class: "quiet" }, found.error.text)];
  const shared = given.memory === "shared";
  const head = shared ? [" ", "wavefronts", "ideal", "useful bytes"] : [" ", "sectors", "ideal", "lines", "useful bytes"];
  const row = (name, x) => (shared ? [name, x.wavefronts, x.ideal_wavefronts, x.useful_bytes] : [name, x.sectors, x.ideal_sectors, x.lines, x.useful_bytes]);
  const limit = found.limit ? `, limited by ${found.limit}` : "";
  return [
    h("p", { class: "cost" }, `A request takes ${costOf(found, given)}.`),
    ...(found.advice ? [h("p", { class: "advice" }, sentence(found.advice))] : []),
    table(head, [row("all requests", found), row(`worst (${found.worst.request})`, found.worst)]),
    h("p", { class: "quiet" }, `Mode 0 are the threads, the other modes their values: ${found.requests} ${found.requests === 1 ? "request" : "requests"} of `
      + `${found.width} bytes a lane. The widest legal access is ${found.widest} bytes${limit}.`),
  ];
}

function elements(scene, state) {
  const all = scene.elements(), shown = all.filter(({ index }) => index !== undefined).toSorted((a, b) => a.index - b.index).slice(0, ROWS);
  const rows = shown.map(({ index, coordinate, offset }) => {
    const byte = typeof offset === "number" ? byteOf(offset, state) : null;
    return [index, coordinate, offset, ...(byte === null ? ["", "", ""] : [byte, bankOf(byte), sectorOf(byte)])];
  });
  const more = all.length > shown.length ? [h("p", { class: "quiet" }, `The first ${shown.length} of ${all.length}.`)] : [];
  return [table(["index", "coordinate", "offset", "byte", "bank", "sector"], rows, shown.findIndex(({ index }) => index === scene.at)), ...more];
}

export function inspector(core, { copy }) {
  let chosen = "why", scene = null, state = null;
  const values = h("dl", { class: "values" }), facts = h("dl", { class: "facts" });
  const panel = h("div", { role: "tabpanel", class: "panel", tabindex: "0" });
  const list = tabs("About the picture", TABS, key => { chosen = key; fill(); });
  const element = h("section", { class: "inspector", "aria-label": "About the picture", hidden: true }, values, facts, list.element, panel);

  const program = (name, text) => [
    h("div", { class: "program-head" }, h("h3", {}, name), h("button", { type: "button", onclick: () => copy(text, name) }, "Copy")), h("pre", {}, text),
  ];
  const content = {
    why: () => {
      const lines = scene.derivation();
      return [lines ? h("pre", { class: "derivation" }, lines.join("\n")) : h("p", { class: "quiet" }, "There is no derivation for this.")];
    },
    access: () => access(core, scene, state),
    elements: () => elements(scene, scene.state ?? state),
    code: () => [...program("Python", asPython(state)), ...program("CuTe C++", asCpp(state))],
  };

  // What there is nothing to say of is not offered; what was chosen is remembered.
  function fill() {
    const there = { why: scene.derivation, access: scene.access || scene.problem, elements: scene.elements, code: true };
    list.offer(key => there[key]);
    const key = there[chosen] ? chosen : Object.keys(TABS).find(each => there[each]);
    list.choose(key);
    panel.setAttribute("aria-label", TABS[key]);
    panel.dataset.tab = key;
    panel.replaceChildren(...content[key]());
  }

  return {
    element,
    open(key) { chosen = key; fill(); },
    show(next, of) {
      scene = next;
      state = of;
      element.hidden = false;
      values.replaceChildren(...scene.values.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
      facts.replaceChildren(...scene.facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(text)))));
      fill();
    },
  };
}
