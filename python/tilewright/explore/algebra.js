// The algebra: the C++ core, compiled to WebAssembly, and the derivations that `explain` shows in Python.
"use strict";

// Text goes in and out through the memory of the module.
async function loadCore(bytes) {
  const memory_grew = () => {};
  const exit = status => { throw new Error(`the core has ended with ${status}`); };
  const { instance } = await WebAssembly.instantiate(bytes, {
    env: { emscripten_notify_memory_growth: memory_grew },
    wasi_snapshot_preview1: { proc_exit: exit },
  });
  const core = instance.exports;
  core._initialize();
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  return (...lines) => {
    const request = encoder.encode(lines.map(line => String(line).replaceAll("\n", " ")).join("\n") + "\0");
    const place = core.malloc(request.length);
    new Uint8Array(core.memory.buffer).set(request, place);
    const start = core.tilewright_page(place);
    core.free(place);
    const bytes = new Uint8Array(core.memory.buffer);
    return JSON.parse(decoder.decode(bytes.subarray(start, bytes.indexOf(0, start))));
  };
}

// The classes that the derivations look at, with what they read of them.
const _core = {
  Layout: class {
    constructor(tree) { this.shape = fromTree(tree.shape); this.stride = fromTree(tree.stride); }
  },
  ScaledBasis: class {
    constructor(tree) { this.value = BigInt(tree.value); this.mode = py.tuple(tree.mode.map(BigInt)); }
  },
  ComposedLayout: class {
    constructor(tree) {
      this.inner = tree.inner;
      this.offset = fromTree(tree.offset);
      this.outer = new _core.Layout(tree.outer);
    }
    toString() { return `${this.inner} o ${textOf(this.offset)} o ${textOf(this.outer)}`; }
  },
};

// What the core writes about the structure of a value, as the derivations take it.
function fromTree(tree) {
  if (tree === null) return null;
  if (typeof tree === "string") return BigInt(tree);
  if (Array.isArray(tree)) return py.tuple(tree.map(fromTree));
  if ("list" in tree) return py.tuple(tree.list.map(fromTree));
  if ("swizzle" in tree) return { toString: () => tree.swizzle };
  if ("inner" in tree) return new _core.ComposedLayout(tree);
  return "shape" in tree ? new _core.Layout(tree) : new _core.ScaledBasis(tree);
}

const textOf = value => derivations.argument_text(value);

// The lines of explain(operation, *operands); null where there is no derivation. `outcome` is the core's answer.
function explain(operation, operands, outcome) {
  const derive = derivations.DERIVATIONS.get(operation);
  if (!derive) return null;
  const notes = new derivations.Notes();
  let derived = "";
  notes.say(`${operation}(${operands.map(textOf).join(", ")})`);
  notes.__enter__();
  try {
    derived = derive(notes, ...operands);
    notes.__exit__(null, null, null);
  } catch (error) {
    notes.__exit__(error, error, null);
    if (error instanceof py.TypeError || outcome.error?.kind === "TypeError") return null;  // operands of other kinds
    if (!(error instanceof derivations.Broken) && !outcome.error) throw error;
  }
  if (!outcome.error) return [...notes.lines, `result: ${derived || derivations.result_text(fromTree(outcome.tree))}`];
  const upTo = notes.broken_at === null ? undefined : Number(notes.broken_at);
  return [...notes.lines.slice(0, upTo), `LayoutError: ${outcome.error.text}`];
}
