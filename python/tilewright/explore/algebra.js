// The algebra: the C++ core, compiled to WebAssembly.
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
