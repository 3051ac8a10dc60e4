// The algebra: the C++ core, compiled to WebAssembly.

// A function of lines of text that answers an object. Text goes in and out through the memory of the module.
export async function loadCore(bytes) {
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

// What the user has to mend, and in which fields. `scene`: what can be shown all the same.
export class Mistake extends Error {
  constructor(text, fields, scene = null) {
    super(text);
    Object.assign(this, { fields, scene });
  }
}

// The core's answer, or its message as a mistake in these fields.
export function ask(core, fields, ...request) {
  const answer = core(...request);
  if (answer.error) throw new Mistake(answer.error.text, fields);
  return answer;
}
