// The scene of a state: what is drawn and said of it.
import { Mistake } from "../core.js";
import { operandsOf } from "../state.js";
import { layoutScene } from "./layouts.js";
import { mmaScene } from "./mma.js";
import { operationScene } from "./operations.js";
import { banksScene, requestScene } from "./requests.js";
import { copyScene, tvScene } from "./threads.js";

const SCENES = {
  layout: layoutScene, operation: operationScene, tv: tvScene, copy: copyScene, mma: mmaScene, banks: banksScene, request: requestScene,
};

// {scene, mistake}, for a window of this size: what cannot be shown has a mistake, and a scene of what is there all the same, or null.
export function look(core, state, window) {
  try {
    if (!/^-?\d{1,15}$/.test(state.base.trim())) throw new Mistake(`the base address ${state.base} is no integer`, ["base"]);
    return { scene: SCENES[state.view](core, state, window), mistake: null };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { scene: error.scene, mistake: error };
  }
}

// Whether a state has a mistake; of an operation, without drawing it.
export function fails(core, state) {
  if (state.view !== "operation") return look(core, state, null).mistake !== null;
  const given = operandsOf(state).filter(({ text, optional }) => text.trim() || !optional);
  return Boolean(core("apply", state.operation, ...given.map(({ text }) => text)).error);
}
