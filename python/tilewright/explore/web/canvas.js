// The picture in its window: zoomed, moved, pointed at, and a cell of it chosen.
import { h, say, signButton } from "./dom.js";
import { cellAt } from "./scenes/picture.js";

const LARGEST = 1.9;  // as large as a small picture is drawn

// By how much, in parts of their size, the letters of this machine's font are narrower than those by which the core measures.
function lacking(node) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `100px ${getComputedStyle(node).fontFamily}`;
  return Math.round(1000 * (0.602 - context.measureText("0".repeat(10)).width / 1000)) / 1000;
}

// The outermost element of a picture by the core.
function read(svg) {
  const shown = document.createElement("template");
  shown.innerHTML = svg;
  return shown.content.firstElementChild;
}

// An element in the place of another one; a text that differs in its letters alone keeps its place.
function become(element, other) {
  const [letters, others] = [element, other].map(each => each.tagName === "text" && each.childNodes.length === 1 && each.firstChild);
  const same = letters && others && element.attributes.length === other.attributes.length
    && [...other.attributes].every(({ name, value }) => element.getAttribute(name) === value);
  if (same) letters.data = others.data;
  else element.replaceWith(other);
}

export function pictureCanvas({ pick, move, hover, resized, wheelNeedsControl }) {
  const stage = h("div", { class: "stage" }), tip = h("div", { class: "tip", hidden: true, role: "presentation" });
  const percent = h("span", { class: "percent" }, "100 %");
  const controls = h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    signButton("minus", "Zoom out (−)", () => zoom(1 / 1.25)), percent, signButton("plus", "Zoom in (+)", () => zoom(1.25)), signButton("fit", "Fit the window (0)", () => fit()));
  const spoken = h("p", { class: "unseen", "aria-live": "polite" });
  const element = h("div", { class: "canvas" }, stage, tip, spoken);
  let spaced = null;  // whether it is known by how much
  let drawn = [];  // the lines of the picture that is shown
  let picture = null, kept = false;  // {svg, width, height, panels, ..}: a scene
  const view = { x: 0, y: 0, scale: 1 };
  const pointers = new Map();

  let seen = null;  // the size of the window, which is not asked for again: that would lay out the picture
  const size = () => seen ??= { width: Math.max(stage.clientWidth, 50), height: Math.max(stage.clientHeight, 50) };
  const svg = () => stage.firstElementChild;
  const box = () => [view.x, view.y, size().width / view.scale, size().height / view.scale].join(" ");

  function place() {
    // Where it is set, even to what it is, all texts are laid out again.
    if (svg() && svg().getAttribute("viewBox") !== box()) svg().setAttribute("viewBox", box());
    say(percent, `${Math.round(view.scale * 100)} %`);
  }

  function fit() {
    kept = false;
    if (!picture) return;
    const { width, height } = size();
    view.scale = Math.min(width / picture.width, height / picture.height, LARGEST);
    view.x = (picture.width - width / view.scale) / 2;
    view.y = (picture.height - height / view.scale) / 2;
    place();
  }

  function zoom(factor, at = { x: size().width / 2, y: size().height / 2 }) {
    const scale = Math.max(0.05, Math.min(12, view.scale * factor));
    view.x += at.x / view.scale - at.x / scale;
    view.y += at.y / view.scale - at.y / scale;
    view.scale = scale;
    kept = true;
    place();
  }

  // Each element of a picture has a line of its own, behind that of the outermost one. Those that are what they were
  // stay: to read and to lay out all texts again takes the longest of all that is done.
  function draw() {
    const now = picture.svg.split("\n").slice(1, -2), changed = [...now.keys()].filter(i => now[i] !== drawn[i]);
    const same = svg() && drawn.length === now.length && svg().childElementCount === now.length;
    const made = read(same ? `<svg>${changed.map(i => now[i]).join("")}</svg>` : picture.svg);
    if (same && made.childElementCount === changed.length) {
      const before = [...svg().children], after = [...made.children];
      changed.forEach((i, n) => become(before[i], after[n]));
    } else {
      const wasFocused = stage.contains(stage.getRootNode().activeElement);
      for (const size of ["width", "height", "viewBox"]) made.removeAttribute(size);
      made.setAttribute("tabindex", "0");
      stage.replaceChildren(made);
      if (wasFocused) made.focus({ preventScroll: true });
    }
    drawn = now;
  }

  function show(next) {
    picture = next;
    draw();
    svg().setAttribute("aria-label", `${picture.title}. ${picture.moves ? "The arrow keys move between cells." : ""}`);
    const text = spaced === null ? svg().querySelector("text") : null;
    if (text) stage.style.setProperty("--lacking", `${spaced = lacking(text)}em`);
    if (kept) place();
    else fit();
    tip.hidden = true;
  }

  const inside = event => {
    const { left, top } = stage.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const found = event => {
    const at = inside(event);
    return picture && cellAt(picture.panels, view.x + at.x / view.scale, view.y + at.y / view.scale);
  };
  const hide = () => { tip.hidden = true; };

  function point(event) {
    const under = found(event), said = under && hover(under), cell = under && picture.panels[under.panel].cells[under.cell];
    stage.classList.toggle("pickable", Boolean(cell && (picture.picks ? cell.owner !== undefined : cell.pick !== undefined && picture.moves)));
    if (!said?.length) return hide();
    tip.replaceChildren(...said.flatMap(([name, text]) => [h("span", { class: "name" }, name), h("span", {}, String(text))]));
    tip.hidden = false;
    const at = inside(event), { width, height } = size();
    tip.style.left = `${at.x + tip.offsetWidth + 28 > width ? Math.max(4, at.x - tip.offsetWidth - 14) : at.x + 14}px`;
    tip.style.top = `${Math.max(4, Math.min(at.y + 14, height - tip.offsetHeight - 4))}px`;
  }

  stage.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, { ...inside(event), startX: event.clientX, startY: event.clientY, moved: false });
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", event => {
    const pointer = pointers.get(event.pointerId);
    if (!pointer) return point(event);
    const at = inside(event);
    pointer.moved ||= Math.hypot(event.clientX - pointer.startX, event.clientY - pointer.startY) > 4;
    if (!pointer.moved) return undefined;
    hide();
    if (pointers.size === 1) {
      view.x -= (at.x - pointer.x) / view.scale;
      view.y -= (at.y - pointer.y) / view.scale;
      kept = true;
      place();
    } else {
      const [a, b] = [...pointers.values()], other = a === pointer ? b : a;
      const distance = Math.hypot(pointer.x - other.x, pointer.y - other.y) || 1;
      zoom(Math.hypot(at.x - other.x, at.y - other.y) / distance, { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 });
    }
    return Object.assign(pointer, at);
  });
  stage.addEventListener("pointerup", event => {
    const pointer = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    const cell = pointer && !pointer.moved && found(event);
    if (cell) pick(picture.panels[cell.panel].cells[cell.cell]);
    if (cell && event.pointerType !== "mouse") point(event);
  });
  stage.addEventListener("pointercancel", event => pointers.delete(event.pointerId));
  stage.addEventListener("pointerleave", hide);
  stage.addEventListener("wheel", event => {
    if (wheelNeedsControl && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), inside(event));
  }, { passive: false });
  stage.addEventListener("dblclick", fit);
  stage.addEventListener("keydown", event => {
    const steps = { "+": 1.25, "=": 1.25, "-": 0.8 };
    const moves = picture?.moves, step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: moves?.rows, ArrowLeft: -moves?.rows }[event.key];
    if (event.key in steps && !event.ctrlKey && !event.metaKey) zoom(steps[event.key]);
    else if (event.key === "0" && !event.ctrlKey && !event.metaKey) fit();
    else if (moves && step && picture.at + step >= 0 && picture.at + step < moves.size) move(picture.at + step);
    else if (!(moves && step)) return;
    event.preventDefault();
  });
  new ResizeObserver(() => {
    seen = null;
    if (picture && kept) place();
    else if (picture) resized();
  }).observe(stage);

  return { element, controls, show, fit, zoom, size, say: text => say(spoken, text), get boxes() { return picture.panels; } };
}
