// A field for an operand whose numbers can be dragged, or changed by the keys up and down.
import { h, say } from "./dom.js";
import { isExtent, numbersOf, replaced } from "./notation.js";

const PIXELS = 9;  // of dragging for a step

// The number after some steps: by one, by eight with Shift, doubled or halved with Alt.
export function stepped(text, number, steps, { shiftKey, altKey }) {
  const least = isExtent(text, number) ? 1 : -999999;
  const value = altKey && number.value !== 0 ? Math.trunc(number.value * 2 ** steps) : number.value + steps * (shiftKey ? 8 : 1);
  return Math.max(least, Math.min(999999, altKey && value === 0 ? Math.sign(number.value) : value));
}

let count = 0;

// `changed(text, key)` is called with each new text; what has the same key is one change.
export function operandField(field, changed) {
  const id = `tw-${field}-${++count}`;
  const name = h("span", { class: "name" }), hint = h("span", { class: "hint", id: `${id}-hint` });
  const numbers = h("div", { class: "numbers", "aria-hidden": "true" });
  const input = h("input", {
    id, name: field, type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": `${id}-hint ${id}-error`,
  });
  const error = h("div", { class: "error", id: `${id}-error`, role: "alert" });
  const box = h("div", { class: "box" }, input, numbers);
  const element = h("div", { class: "operand" }, h("label", { for: id }, name), box, hint, error);
  let dragged = null, wrong = null, marked = null;

  // The numbers again, above those of the field, so that they can be taken hold of.
  function mark() {
    const text = input.value, parts = [], now = `${wrong} ${text}`;
    if (now === marked) return;
    marked = now;
    let end = 0;
    // What is between numbers; of that, the character at the mistake is marked.
    const plain = to => {
      const bad = wrong !== null && wrong >= end && wrong < to ? wrong : null;
      for (const [start, stop, kind] of bad === null ? [[end, to, ""]] : [[end, bad, ""], [bad, bad + 1, "wrong"], [bad + 1, to, ""]]) {
        if (stop > start) parts.push(h("span", kind ? { class: kind } : {}, text.slice(start, stop)));
      }
    };
    for (const number of numbersOf(text)) {
      plain(number.start);
      const bad = wrong !== null && wrong >= number.start && wrong < number.end;
      parts.push(h("span", { class: bad ? "number wrong" : "number", "data-start": number.start }, text.slice(number.start, number.end)));
      end = number.end;
    }
    plain(text.length);
    if (wrong !== null && wrong >= text.length) parts.push(h("span", { class: "wrong missing" }, " "));
    numbers.replaceChildren(...parts);  // an input that scrolls says so: to ask where it is would lay out the page
  }

  function set(text) {
    if (input.value !== text) input.value = text;
    mark();
  }

  input.addEventListener("input", () => { wrong = null; mark(); changed(input.value, field); });
  input.addEventListener("scroll", () => { numbers.scrollLeft = input.scrollLeft; });
  input.addEventListener("keydown", event => {
    const steps = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const number = steps && numbersOf(input.value).find(({ start, end }) => input.selectionStart >= start && input.selectionStart <= end);
    if (!number) return;
    event.preventDefault();
    const text = replaced(input.value, number, stepped(input.value, number, steps, event));
    set(text);
    input.setSelectionRange(number.start, number.start);
    changed(text, `${field}-${number.start}`);
  });
  numbers.addEventListener("pointerdown", event => {
    const at = event.target.dataset?.start;
    if (at === undefined || event.button !== 0) return;
    event.preventDefault();
    const number = numbersOf(input.value).find(({ start }) => start === Number(at));
    dragged = { number, text: input.value, x: event.clientX, moved: false, key: `drag-${field}-${event.timeStamp}` };
    numbers.setPointerCapture(event.pointerId);
  });
  numbers.addEventListener("pointermove", event => {
    if (!dragged) return;
    const steps = Math.trunc((event.clientX - dragged.x) / PIXELS);
    if (steps === 0 && !dragged.moved) return;
    dragged.moved = true;
    box.classList.add("dragged");
    const text = replaced(dragged.text, dragged.number, stepped(dragged.text, dragged.number, steps, event));
    if (text === input.value) return;
    set(text);
    changed(text, dragged.key);
  });
  const end = () => {
    if (dragged && !dragged.moved) {
      input.focus();
      input.setSelectionRange(dragged.number.start, dragged.number.end);
    }
    dragged = null;
    box.classList.remove("dragged");
  };
  numbers.addEventListener("pointerup", end);
  numbers.addEventListener("pointercancel", () => { dragged = null; box.classList.remove("dragged"); });

  return {
    element, input, set,
    describe(label, text, optional) {
      say(name, optional ? `${label} (optional)` : label);
      say(hint, text ?? "");
    },
    // A message with what would work: buttons of a text each.
    fail(message, place, buttons = []) {
      wrong = place;
      input.setAttribute("aria-invalid", String(message !== null));
      const said = message ? [h("p", {}, message), ...(buttons.length ? [h("p", { class: "fixes" }, h("span", {}, "Works: "), ...buttons)] : [])] : [];
      error.replaceChildren(...said);
      mark();
    },
  };
}
