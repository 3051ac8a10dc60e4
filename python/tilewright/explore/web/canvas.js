// The picture in its window: zoomed, moved, pointed at, and a cell of it chosen.
import { h, signButton } from "./dom.js";
import { cellAt } from "./scenes/picture.js";

const LARGEST = 1.9;  // as large as a small picture is drawn

// By how much, in parts of their size, the letters of this machine's font are narrower than those by which the core measures.
function lacking(node) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `100px ${getComputedStyle(node).fontFamily}`;
  return Math.round(1000 * (0.602 - context.measureText("0".repeat(10)).width / 1000)) / 1000;
}

export function pictureCanvas({ pick, move, hover, resized, wheelNeedsControl }) {
  const stage = h("div", { class: "stage" }), tip = h("div", { class: "tip", hidden: true, role: "presentation" });
  const percent = h("span", { class: "percent" }, "100 %");
  const controls = h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    signButton("minus", "Zoom out (−)", () => zoom(1 / 1.25)), percent, signButton("plus", "Zoom in (+)", () => zoom(1.25)), signButton("fit", "Fit the window (0)", () => fit()));
  const spoken = h("p", { class: "unseen", "aria-live": "polite" });
  const element = h("div", { class: "canvas" }, stage, tip, spoken);
  let spaced = null;  // whether it is known by how much
  let picture = null, kept = false;  // {svg, width, height, panels, ..}: a scene
  const view = { x: 0, y: 0, scale: 1 };
  const pointers = new Map();

  let seen = null;  // the size of the window, which is not asked for again: that would lay out the picture
  const size = () => seen ??= { width: Math.max(stage.clientWidth, 50), height: Math.max(stage.clientHeight, 50) };
  const svg = () => stage.firstElementChild;
  const box = () => [view.x, view.y, size().width / view.scale, size().height / view.scale].join(" ");

  function place() {
    svg()?.setAttribute("viewBox", box());
    percent.textContent = `${Math.round(view.scale * 100)} %`;
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

  function show(next) {
    const wasFocused = stage.contains(stage.getRootNode().activeElement);
    picture = next;
    const shown = document.createElement("template");  // so that it is laid out once, in its place
    shown.innerHTML = picture.svg;
    const drawn = shown.content.firstElementChild;
    drawn.setAttribute("tabindex", "0");
    drawn.setAttribute("aria-label", `${picture.title}. ${picture.moves ? "The arrow keys move between cells." : ""}`);
    drawn.removeAttribute("width");
    drawn.removeAttribute("height");
    stage.replaceChildren(drawn);
    const text = spaced === null ? drawn.querySelector("text") : null;
    if (text) stage.style.setProperty("--lacking", `${spaced = lacking(text)}em`);
    if (kept) place();
    else fit();
    if (wasFocused) drawn.focus({ preventScroll: true });
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

  return { element, controls, show, fit, zoom, size, say(text) { spoken.textContent = text; }, get boxes() { return picture.panels; } };
}
