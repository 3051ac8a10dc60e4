// The page in a notebook: an anywidget, whose state Python and the page both change.
import { mount } from "./app.js";
import { CORE, STYLE } from "./constants.js";
import { loadCore } from "./core.js";

async function renderWidget({ model, el }) {
  const root = el.attachShadow({ mode: "open" });  // no style of the notebook reaches in, and none out
  const style = document.createElement("style");
  style.textContent = STYLE;
  const place = document.createElement("div");
  place.className = "explorer in-notebook";
  root.append(style, place);
  const core = await loadCore(Uint8Array.from(atob(CORE), c => c.charCodeAt(0)));
  let told = null;  // what Python said last, which is not said back to it
  const explorer = mount(place, {
    core, state: model.get("state"), wheelNeedsControl: true, keysOf: place,
    changed: state => {
      const text = JSON.stringify(state);
      if (text === told) return;
      told = text;
      model.set("state", { ...state });
      model.save_changes();
    },
  });
  // JupyterLab says on its body whether it is dark, whatever the system is.
  const light = document.body.dataset.jpThemeLight;
  if (light !== undefined) explorer.frame.dataset.theme = light === "true" ? "light" : "dark";
  const follow = () => {
    const text = JSON.stringify(model.get("state"));
    if (text === told || text === JSON.stringify(explorer.state)) return;
    explorer.replace(model.get("state"));
  };
  model.on("change:state", follow);
  return () => {
    model.off("change:state", follow);
    explorer.end();
  };
}
