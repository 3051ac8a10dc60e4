// What stands beside the picture: the start from a preset, what is chosen, the operands, and the options.
import { COPIES, MMAS } from "./constants.js";
import { h, say } from "./dom.js";
import { operandField } from "./operand.js";
import { PRESETS } from "./presets.js";
import { ACCESS, OPERATIONS, OPTIONS, VIEWS, ofMatrices, operandsOf, stateOf } from "./state.js";

const byName = names => names.map(name => [name, name]);
const CHOICES = {
  operation: ["Operation", byName(Object.keys(OPERATIONS))],
  copy: ["Copied by", Object.entries(COPIES).map(([key, { label }]) => [key, label])],
  mma: ["Instruction", byName(Object.keys(MMAS))],
};
const EXAMPLES = PRESETS.map(([, entries]) => entries.map(([, preset]) => stateOf(preset)));
const saidOf = (name, value) => OPTIONS[name][1]?.find(([each]) => each === value)?.[1] ?? `from ${value}`;

function control(name, [label, offered], changed) {
  const field = offered
    ? h("select", { name }, offered.map(([value, text]) => h("option", { value }, text)))
    : h("input", { name, inputmode: "numeric", autocomplete: "off", spellcheck: "false", placeholder: name === "focus" ? "all" : "0" });
  field.addEventListener("input", () => changed({ [name]: field.value }, name));
  return { field, element: h("label", { class: `option option-${name}` }, h("span", {}, label), field) };
}

// `changed(changes, key)`: fields of the state with new values; `started(state)`: a preset.
export function controls({ changed, started }) {
  const presets = h("select", { class: "presets" }, h("option", { value: "" }, "your own"),
    PRESETS.map(([group, entries], i) => h("optgroup", { label: group }, entries.map(([name], j) => h("option", { value: `${i}.${j}` }, name)))));
  presets.addEventListener("input", () => {
    const [i, j] = presets.value.split(".");
    if (j !== undefined) started(PRESETS[i][1][j][1]);
  });
  const choices = Object.fromEntries(Object.entries(CHOICES).map(([name, choice]) => [name, control(name, choice, changed)]));
  const options = Object.fromEntries(Object.entries(OPTIONS).map(([name, option]) => [name, control(name, option, changed)]));
  const fields = new Map();
  const operands = h("div", { class: "operands" });
  const near = h("div", { class: "options" }, ["color", "focus"].map(name => options[name].element));
  const summary = h("span", { class: "summary" });
  const access = h("details", { class: "access" }, h("summary", {}, "Access ", summary), h("div", { class: "options" }, ACCESS.map(name => options[name].element)));
  const element = h("form", { class: "controls", autocomplete: "off", onsubmit: event => event.preventDefault() },
    h("label", { class: "option" }, h("span", {}, "Example"), presets), Object.values(choices).map(each => each.element), operands, near, access);
  let opened = null;  // the view for which it was opened by itself

  function fieldOf(name) {
    if (!fields.has(name)) fields.set(name, operandField(name, (text, key) => changed({ [name]: text }, key)));
    return fields.get(name);
  }

  return {
    element, fieldOf,
    show(state) {
      const view = VIEWS[state.view], shown = operandsOf(state);
      for (const [name, { element: label, field }] of Object.entries(choices)) {
        label.hidden = view.choice !== name;
        if (field.value !== state[name]) field.value = state[name];
      }
      for (const [name, { element: label, field }] of Object.entries(options)) {
        label.hidden = !view.options.includes(name);
        if (field.value !== state[name]) field.value = state[name];
        if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = field.options[0].value;
      }
      near.hidden = options.color.element.hidden && options.focus.element.hidden;
      access.hidden = !view.options.some(name => ACCESS.includes(name)) || (state.view === "copy" && ofMatrices(state));
      // What the picture shows is open; what only the tab Access shows is not.
      if (opened !== state.view) access.open = ["copy", "banks", "request"].includes(state.view);
      opened = state.view;
      say(summary, ACCESS.filter(name => view.options.includes(name) && !(name === "base" && state.base === "0")).map(name => saidOf(name, state[name])).join(" · "));
      const elements = shown.map(({ field }) => fieldOf(field).element);
      if (elements.length !== operands.children.length || elements.some((each, i) => operands.children[i] !== each)) operands.replaceChildren(...elements);
      for (const { field, name, hint, text, optional } of shown) {
        fieldOf(field).describe(name, hint, optional);
        fieldOf(field).set(text);
      }
      const compared = ["view", view.choice, ...view.operands, ...view.options].filter(key => key && key !== "color");
      const same = example => compared.every(key => state[key] === example[key]);
      const [i, j] = EXAMPLES.map(examples => examples.findIndex(same)).reduce((best, at, group) => (best[1] < 0 && at >= 0 ? [group, at] : best), [0, -1]);
      const chosen = j < 0 ? "" : `${i}.${j}`;
      if (presets.value !== chosen) presets.value = chosen;
    },
    // The fields that a mistake is about say so, the last of them the message.
    fail(mistake, shown, place, buttonsOf) {
      const blamed = mistake ? shown.filter(({ field }) => mistake.fields.includes(field)) : [];
      const speaker = blamed.at(-1)?.field;
      for (const { field } of shown) {
        fieldOf(field).fail(null, null);
        if (!blamed.some(each => each.field === field)) continue;
        if (field === speaker) fieldOf(field).fail(mistake.message, place, buttonsOf());
        else fieldOf(field).fail("", null);
      }
      return speaker !== undefined;
    },
  };
}
