// The page by itself: its state stands in the address.
import { mount } from "./app.js";
import { CORE } from "./constants.js";
import { loadCore } from "./core.js";
import { fromFragment, toFragment } from "./state.js";

async function start() {
  const core = await loadCore(Uint8Array.from(atob(CORE), c => c.charCodeAt(0)));
  let told = 0;
  const explorer = mount(document.getElementById("explorer"), {
    core, state: fromFragment(location.hash.slice(1)), keysOf: document,
    address: fragment => `${location.href.split("#")[0]}#${fragment}`,
    changed: state => {  // when the picture is painted, which need not wait for the address
      clearTimeout(told);
      told = setTimeout(() => history.replaceState(null, "", `#${toFragment(state)}`));
    },
  });
  window.addEventListener("hashchange", () => explorer.replace(fromFragment(location.hash.slice(1))));
  globalThis.explorer = explorer;
  document.body.dataset.ready = "true";
}

start().catch(error => {
  document.getElementById("explorer").textContent = `This browser cannot run the page, which needs WebAssembly with exceptions: ${error.message}`;
  throw error;
});
