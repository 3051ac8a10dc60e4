// The page: a state that is looked at and changed; everything else follows from it.
import { pictureCanvas } from "./canvas.js";
import { asCpp, asPython } from "./code.js";
import { controls } from "./controls.js";
import { h, signButton, tabs } from "./dom.js";
import { copied, savePng, saveSvg } from "./exports.js";
import { inspector } from "./inspector.js";
import { PRESETS } from "./presets.js";
import { placeIn, repairs } from "./repair.js";
import { fails, look } from "./scenes/look.js";
import { chosenOf, fileOf, hoverOf } from "./scenes/picture.js";
import { History, OPERATIONS, VIEWS, examplesOf, operandsOf, stateOf, toFragment } from "./state.js";

const THEMES = { auto: "dark", dark: "light", light: "auto" };
const KEYS = [
  ["arrow keys", "in the picture: to the next cell"], ["+  −  0", "in the picture: zoom in, out, all of it"], ["↑  ↓", "in an operand: the number at the cursor; Shift by 8, Alt doubles and halves"],
  ["drag a number", "the same with the mouse"], ["/", "to the first operand"], ["Ctrl Z, Ctrl Shift Z", "undo, redo"], ["?", "this help"],
];

// Shows the page in an element. `changed(state)` is told of each state.
export function mount(root, { core, state: first, changed = () => {}, address = null, wheelNeedsControl = false, keysOf = root }) {
  let state = stateOf(first ?? {}), scene = null, waiting = 0, fixing = 0;
  const history = new History(state);

  const views = tabs("View", Object.fromEntries(Object.entries(VIEWS).map(([key, { name }]) => [key, name])), view => change({ view, at: "0" }, null));
  const canvas = pictureCanvas({
    wheelNeedsControl,
    pick: cell => {
      if (scene.picks === "thread" && cell.owner !== undefined) change({ focus: state.focus === String(cell.owner) ? "" : String(cell.owner) }, null);
      else if (cell.pick !== undefined && scene.moves) change({ at: String(cell.pick) }, "at");
    },
    move: index => change({ at: String(index) }, "at"),
    hover: ({ panel, cell }) => hoverOf(core, panel, cell),
    resized: () => update(),
  });
  const side = controls({ changed: change, started: preset => change({ ...stateOf(preset) }, null) });
  const toast = h("output", { class: "toast" });
  const say = text => {
    toast.textContent = text;
    clearTimeout(say.timer);
    say.timer = setTimeout(() => { toast.textContent = ""; }, 2500);
  };
  const copy = async (text, name) => say(await copied(text) ? `${name} copied` : `${name} could not be copied: this page has no right to`);
  const about = inspector(core, { copy });
  const status = h("p", { class: "status" });
  const general = h("div", { class: "error general", role: "alert" });

  const undo = signButton("undo", "Undo (Ctrl+Z)", () => go(-1)), redo = signButton("redo", "Redo (Ctrl+Shift+Z)", () => go(1));
  const share = h("details", { class: "menu" });
  const item = (label, action) => h("button", { type: "button", onclick: () => { share.open = false; action(); } }, label);
  const name = () => `tilewright-${state.view}`;
  share.append(h("summary", { "aria-label": "Share and export", title: "Share and export" }, "Share"), h("div", { class: "items" },
    item("Copy link", () => copy(address ? address(toFragment(state)) : `#${toFragment(state)}`, "The link")),
    item("Copy as Python", () => copy(asPython(state), "Python")), item("Copy as CuTe C++", () => copy(asCpp(state), "C++")),
    item("Save as SVG", () => saveSvg(fileOf(core, scene), name())), item("Save as PNG", () => savePng(fileOf(core, scene), name()))));
  const help = h("dialog", { class: "help", "aria-label": "Keys" });
  help.append(h("div", { class: "help-head" }, h("h2", {}, "Keys"), signButton("close", "Close", () => help.close())),
    h("dl", {}, KEYS.flatMap(([key, text]) => [h("dt", {}, key), h("dd", {}, text)])));
  const theme = signButton("theme", "Theme", () => {
    frame.dataset.theme = THEMES[frame.dataset.theme];
    say(`Theme: ${frame.dataset.theme}`);
  });
  const frame = h("div", { class: "frame", "data-theme": "auto" },
    h("header", { class: "top" }, h("h1", {}, "tilewright"), views.element,
      h("div", { class: "actions" }, undo, redo, share, theme, signButton("help", "Keys (?)", () => help.showModal()))),
    h("main", { class: "canvas-side", "aria-label": "Picture" }, canvas.element, h("div", { class: "foot" }, status, canvas.controls)),
    h("aside", { class: "side", "aria-label": "Controls" }, side.element, general, about.element), toast, help);
  root.append(frame);

  // ---- what happens ----

  function change(changes, key) {
    const next = { ...state, ...changes };
    // Another operation has other operands, and another instruction other tiles.
    if (changes.operation && changes.operation !== state.operation && !("a" in changes)) {
      Object.assign(next, examplesOf(changes.operation), { at: "0" });
    }
    if (changes.mma && changes.mma !== state.mma && !("product" in changes)) Object.assign(next, { product: "", focus: "" });
    state = next;
    history.push(state, key);
    if (!waiting) waiting = requestAnimationFrame(update);
  }

  function go(step) {
    const found = history.go(step);
    if (!found) return;
    state = found;
    update();
  }

  function update() {
    cancelAnimationFrame(waiting);
    waiting = 0;
    const found = look(core, state, canvas.size()), shown = operandsOf(state);
    side.show(state);
    views.choose(state.view);
    undo.disabled = history.place === 0;
    redo.disabled = history.place === history.states.length - 1;
    const { mistake } = found;
    const spoken = side.fail(mistake, shown, mistake && placeIn(mistake.message), () => []);
    general.textContent = mistake && !spoken ? mistake.message : "";
    clearTimeout(fixing);
    if (mistake && spoken) fixing = setTimeout(() => fix(mistake, shown), 120);
    frame.classList.toggle("stale", Boolean(mistake) && !found.scene);
    frame.dataset.mistake = mistake ? mistake.message : "";
    if (found.scene) {
      scene = found.scene;
      canvas.show(scene);
      about.show(scene, state);
      const chosen = scene.moves && chosenOf(core, scene, scene.at), said = (chosen ?? []).flatMap(([label, text]) => [h("span", { class: "name" }, label), h("span", {}, String(text))]);
      status.replaceChildren(...(said.length ? said : [h("span", { class: "name" }, hintOf(scene))]));
      canvas.say(chosen ? chosen.map(([label, text]) => `${label} ${text}`).join(", ") : scene.title);
    }
    changed(state);
  }

  // What would work instead, and where: looked for when nothing else is done.
  function fix(mistake, shown) {
    const before = state;
    const found = repairs(state, mistake.fields, changed => fails(core, changed));
    if (before !== state) return;
    const names = Object.fromEntries(shown.map(({ field, name: label }) => [field, label]));
    const several = new Set(found.map(({ field }) => field)).size > 1 || mistake.fields.length > 1;
    const buttons = found.map(({ field, text }) => h("button", { type: "button", class: "fix", onclick: () => change({ [field]: text }, null) }, several ? `${names[field]} = ${text}` : text));
    const last = shown.findLast(({ field }) => mistake.fields.includes(field))?.field;
    const place = placeIn(mistake.message) ?? found.find(({ field }) => field === last)?.at ?? null;
    side.fail(mistake, shown, place, () => buttons);
  }

  function pressed(event) {
    const [target] = event.composedPath(), typing = ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
    const control = event.ctrlKey || event.metaKey, key = event.key.toLowerCase();
    if (control && key === "z") go(event.shiftKey ? 1 : -1);
    else if (control && key === "y") go(1);
    else if (typing || control || event.altKey) return;
    else if (event.key === "?") help.showModal();
    else if (event.key === "/") side.fieldOf(operandsOf(state)[0].field).input.focus();
    else return;
    event.preventDefault();
  }
  keysOf.addEventListener("keydown", pressed);
  frame.addEventListener("click", event => { if (share.open && !share.contains(event.composedPath()[0])) share.open = false; });
  share.addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    share.open = false;
    share.querySelector("summary").focus();
  });
  update();
  return {
    core, frame, change, update, go, canvas, operations: OPERATIONS, presets: PRESETS,
    get state() { return state; },
    get scene() { return scene; },
    get file() { return fileOf(core, scene); },
    replace(next) {
      state = stateOf(next);
      history.push(state, null);
      update();
    },
    end() { keysOf.removeEventListener("keydown", pressed); },
  };
}

function hintOf(scene) {
  if (scene.picks === "thread") return "Select a cell: what its thread has stands out.";
  return "Point at a cell to see what it is.";
}
