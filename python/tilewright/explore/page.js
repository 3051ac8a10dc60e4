// The page: what the user does is read, computed, drawn and written into the address.
"use strict";

function update() {
  const state = read();
  for (const part of document.querySelectorAll("[data-view]")) part.hidden = part.dataset.view !== state.view;
  const [names] = OPERATIONS[state.operation];
  for (const part of document.querySelectorAll("[data-operand]")) {
    const name = names[Number(part.dataset.operand)];
    part.hidden = name === undefined;
    part.firstElementChild.textContent = name?.replace(/^\[(.*)\]$/, "$1, if any") ?? "";
  }
  let mistake = null;
  try {
    if (!/^-?\d{1,15}$/.test(state.base.trim())) throw new Mistake(`the base address ${state.base} is no integer`, ["base"]);
    VIEWS[state.view](state);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    mistake = error;
  }
  show("error").textContent = mistake?.message ?? "";
  document.body.classList.toggle("stale", mistake !== null && !mistake.explained);
  for (const field of form.querySelectorAll("input[name]")) {
    field.setAttribute("aria-invalid", String(Boolean(mistake?.fields.includes(field.name))));
  }
  document.body.dataset.ready = "true";
  history.replaceState(null, "", `#${toFragment(read())}`);
}

function choose(index) {
  at = String(index);
  update();
}

function move(event) {
  const { rows, size } = moves;
  const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: rows, ArrowLeft: -rows }[event.key];
  if (!step || !event.target.closest("#picture svg")) return;
  event.preventDefault();
  const next = Number(at) + step;
  if (next < 0 || next >= size) return;
  choose(next);
  show("picture").querySelector("svg[tabindex]").focus();
}

function changed(event) {
  if (event.target.name === "operation") {
    for (const [name, text] of Object.entries(examplesOf(event.target.value))) form.elements[name].value = text;
  }
  update();
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    show("copied").textContent = "copied";
  } catch {
    show("copied").textContent = "The address of this page is the link.";
  }
}

async function start() {
  show("operations").append(...Object.keys(OPERATIONS).map(name => element("option", {}, [name])));
  core = await loadCore(Uint8Array.from(atob(CORE), c => c.charCodeAt(0)));
  form.addEventListener("input", changed);
  form.addEventListener("submit", event => event.preventDefault());
  show("link").addEventListener("click", copyLink);
  show("picture").addEventListener("click", event => {
    const cell = event.target.closest("[data-index]");
    if (cell) choose(cell.dataset.index);
  });
  show("picture").addEventListener("keydown", move);
  const load = () => { write(fromFragment(location.hash.slice(1))); update(); };
  window.addEventListener("hashchange", load);
  load();
}

start().catch(error => {
  show("error").textContent = `This browser cannot run the page, which needs WebAssembly with exceptions: ${error.message}`;
  throw error;
});
