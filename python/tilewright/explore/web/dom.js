// Elements of the page, and its signs.

export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined));
  return node;
}

// The text of an element. Where it is that already, nothing is laid out again.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const SIGNS = {
  undo: "M8 5 4 9l4 4M4.5 9H12a4 4 0 0 1 0 8H9", redo: "m12 5 4 4-4 4m3.5-4H8a4 4 0 0 0 0 8h3",
  share: "M10 12.5V3m0 0L6.5 6.5M10 3l3.5 3.5M4 11v5.5h12V11", help: "M7.6 7.4a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.8v.4m0 2.4v.1M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16Z",
  theme: "M10 2a8 8 0 1 0 0 16V2Zm0 0a8 8 0 0 1 0 16", plus: "M10 4v12M4 10h12", minus: "M4 10h12",
  fit: "M3 7V3h4m6 0h4v4m0 6v4h-4M7 17H3v-4", close: "m5 5 10 10M15 5 5 15",
};

export function sign(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 20 20", class: "sign", "aria-hidden": "true" })) svg.setAttribute(key, value);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SIGNS[name]);
  svg.append(path);
  return svg;
}

export const signButton = (name, label, onclick, more = {}) =>
  h("button", { type: "button", class: "sign-button", "aria-label": label, title: label, onclick, ...more }, sign(name));

// Buttons of which one is chosen; the arrow keys move between them, and only that one is a stop of the tab key.
export function tabs(label, names, onchoose) {
  const buttons = Object.entries(names).map(([key, name]) =>
    h("button", { type: "button", role: "tab", "data-key": key, onclick: () => onchoose(key) }, name));
  const list = h("div", { role: "tablist", "aria-label": label, class: "tabs" }, buttons);
  list.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], known = buttons.includes(event.target);
    if (!step || !known) return;
    event.preventDefault();
    event.stopPropagation();
    const offered = buttons.filter(button => !button.hidden);
    const next = offered[(offered.indexOf(event.target) + step + offered.length) % offered.length];
    next.focus();
    onchoose(next.dataset.key);
  });
  let now = null;
  const choose = key => key !== now && buttons.forEach(button => {
    now = key;
    const chosen = button.dataset.key === key;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    if (chosen && list.scrollWidth > list.clientWidth) list.scrollLeft = button.offsetLeft - (list.clientWidth - button.offsetWidth) / 2;
  });
  const offer = there => buttons.forEach(button => { button.hidden = !there(button.dataset.key); });
  return { element: list, choose, offer };
}
