// What is computed of the form's state, and how it is shown: a layout, a thread-value layout, an operation.
"use strict";

const show = id => document.getElementById(id);
const MOST = 64;                   // rows and columns of a picture, rows of a table
let core = null;                   // answers requests
let moves = { rows: 1, size: 1 };  // what the arrow keys move in

// ---- what is computed ----

// What the user has to mend, and in which fields; `explained`: what is shown belongs to it.
class Mistake extends Error {
  constructor(text, fields, explained = false) {
    super(text);
    Object.assign(this, { fields, explained });
  }
}

function ask(fields, ...request) {
  const answer = core(...request);
  if (answer.error) throw new Mistake(answer.error.text, fields);
  return answer;
}

const describe = (text, fields, rows = MOST, columns = MOST) => ask(fields, "describe", rows, columns, text);

function predict(text, state) {
  const fields = ["bits", "memory", "op", "width", "base"].map(name => `${name}=${state[name].trim()}`);
  return core("predict", `layout=${text}`, ...fields);
}

const byteOf = (offset, state) => Number(state.base) + Math.floor((offset * Number(state.bits)) / 8);
const bankOf = word => ((word % 32) + 32) % 32;  // of a negative word, too
const places = { bank: byte => bankOf(Math.floor(byte / 4)), sector: byte => Math.floor(byte / 32), line: byte => Math.floor(byte / 128) };

function ownerOf(row, column, offset, state) {
  if (state.color === "row") return row;
  if (state.color === "column") return column;
  if (typeof offset !== "number") return null;
  return state.color === "offset" ? offset : places[state.color](byteOf(offset, state));
}

function hoverOf(index, coordinate, offset, state) {
  if (typeof offset !== "number") return `index ${index}, coordinate ${coordinate}, offset ${offset}`;
  const byte = byteOf(offset, state);
  const place = state.memory === "shared" ? `bank ${places.bank(byte)}` : `sector ${places.sector(byte)}`;
  return `index ${index}, coordinate ${coordinate}, offset ${offset}, byte ${byte}, ${place}`;
}

// The indices of a description that are drawn, with their coordinates and offsets.
function elementsOf(layout) {
  const rows = Math.max(1, layout.row_labels.length);
  return layout.offsets.map((offset, i) => {
    const row = i % rows, column = Math.floor(i / rows);
    const parts = [...(layout.row_labels.length ? [layout.row_labels[row]] : []), layout.column_labels[column]];
    const coordinate = layout.rank === 1 && !layout.shape.startsWith("(") ? parts[0] : `(${parts.join(",")})`;
    return { row, column, offset, coordinate, index: row + column * layout.rows };
  });
}

function drawn(layout, title, state, isMarked = () => false, choosable = true) {
  const cells = elementsOf(layout).map(({ row, column, offset, coordinate, index }) => ({
    row, column, lines: [String(offset)], owner: ownerOf(row, column, offset, state),
    hover: hoverOf(index, coordinate, offset, state), marked: isMarked(index, offset), ...(choosable ? { index } : {}),
  }));
  const cut = layout.rows > MOST || layout.columns > MOST;
  const note = cut ? `The first ${Math.min(MOST, layout.rows)} x ${Math.min(MOST, layout.columns)} of ${layout.rows} x ${layout.columns} are drawn.` : "";
  return grid({ title, cells, rowLabels: layout.row_labels, columnLabels: layout.column_labels, note });
}

// ---- what is shown ----

const yesNo = answer => (answer === null ? "too large to tell" : answer ? "yes" : "no");

function showFacts(named) {
  const rows = named.map(([name, x]) => [
    name, x.text, x.size ?? "", x.cosize ?? "", x.rank ?? "", x.depth ?? "",
    x.injective === undefined ? "" : yesNo(x.injective), x.bijective === undefined ? "" : yesNo(x.bijective),
  ]);
  fillTable(show("facts"), [" ", " value", "size", "cosize", "rank", "depth", "injective", "bijective"], rows);
}

function showElements(layout, state, more = null) {
  const elements = elementsOf(layout).sort((a, b) => a.index - b.index).slice(0, MOST);
  const head = ["index", "coordinate", ...(more ? [more.head] : []), "offset", "byte", "bank", "sector"];
  const rows = elements.map(({ index, coordinate, offset }) => {
    const byte = typeof offset === "number" ? byteOf(offset, state) : null;
    const where = byte === null ? ["", "", ""] : [byte, places.bank(byte), places.sector(byte)];
    return [index, coordinate, ...(more ? [more.at(index)] : []), offset, ...where];
  });
  const note = layout.size > rows.length ? `The first ${rows.length} of ${layout.size}.` : "";
  fillTable(show("table"), head, rows, elements.findIndex(x => String(x.index) === at), note);
}

function showDerivation(lines) {
  show("derivation").textContent = lines ? lines.join("\n") : "There is no derivation for these operands.";
}

// Of a layout behind a function, the layout's; and what the function makes of it.
function showEvaluation(coordinate, layout, field) {
  const evaluate = text => core("apply", "crd2idx", coordinate, text);
  if (layout.kind === "layout") {
    showDerivation(evaluate(layout.text).derivation);
    return;
  }
  const { inner, offset, outer } = ask([field], "parse", composedText(layout)).parts;
  const { result, derivation } = evaluate(outer);
  const argument = offset === "0" ? result : `${offset} + ${result}`;
  showDerivation([...derivation, `${inner}(${argument}) = ${evaluate(composedText(layout)).result}`]);
}

// A swizzle as it is drawn: a block of its period, row by row.
const composedText = x => (x.kind === "swizzle" ? `${x.text} o 0 o ${x.shape}:${x.stride}` : x.text);

function showCounts(text, state) {
  const found = predict(text, state);
  show("lanes").replaceChildren();
  show("advice").textContent = "";
  if (found.error) {
    show("accesses").textContent = found.error.text;
    fillTable(show("counts"), [], []);
    return;
  }
  const limit = found.limit ? `, limited by ${found.limit}` : "";
  show("accesses").textContent =
    `Mode 0 are the threads, the other modes their values. The widest legal access is ${found.widest} bytes${limit}. ` +
    `With ${found.width} bytes a lane, ${found.requests} ${found.requests === 1 ? "request is" : "requests are"} made.`;
  const { advice } = found;
  show("advice").textContent = advice && `${advice[0].toUpperCase()}${advice.slice(1)}.`;
  const shared = state.memory === "shared";
  const head = shared ? [" ", "lanes", "wavefronts", "ideal", "conflicts", "useful"] : [" ", "lanes", "sectors", "ideal", "lines", "useful"];
  const row = (name, x) => shared
    ? [name, x.lanes, x.wavefronts, x.ideal_wavefronts, x.wavefronts - x.ideal_wavefronts, x.useful_bytes]
    : [name, x.lanes, x.sectors, x.ideal_sectors, x.lines, x.useful_bytes];
  fillTable(show("counts"), head, [row("all requests", found), row(`the worst, request ${found.worst.request}`, found.worst)]);
  show("lanes").replaceChildren(shared ? banks(found) : sectors(found));
}

// The words of each bank that the worst request wants, with the first lane that wants each.
function banks({ width, worst }) {
  const lanes = new Map();
  worst.addresses.forEach((address, lane) => {
    for (let word = Math.floor(address / 4); word < (address + width) / 4; ++word) lanes.set(word, [...(lanes.get(word) ?? []), lane]);
  });
  const height = Array(32).fill(0);
  const cells = [...lanes].sort(([a], [b]) => a - b).map(([word, wanting]) => {
    const bank = bankOf(word);
    return {
      row: height[bank]++, column: bank, lines: [String(wanting[0])], owner: wanting[0],
      hover: `bank ${bank}, word ${word}, lane${wanting.length > 1 ? "s" : ""} ${wanting.join(", ")}`,
    };
  });
  const title = "The words that the worst request wants, bank by bank, each with the first lane that wants it";
  return grid({ title, cells, columnLabels: height.map((_, bank) => String(bank)) });
}

// The sectors that the worst request touches, a line of four in a row.
function sectors({ width, worst }) {
  const lanes = new Map();
  worst.addresses.forEach((address, lane) => {
    for (let sector = Math.floor(address / 32); sector * 32 < address + width; ++sector) lanes.set(sector, [...(lanes.get(sector) ?? []), lane]);
  });
  const lines = [...new Set([...lanes.keys()].map(sector => Math.floor(sector / 4)))].sort((a, b) => a - b);
  const cells = lines.flatMap((line, row) => [0, 1, 2, 3].map(column => {
    const wanting = lanes.get(4 * line + column) ?? [];
    const side = wanting.at(-1) - wanting[0] === wanting.length - 1;
    const text = wanting.length < 3 ? wanting.join(",") : `${wanting[0]}${side ? ".." : ",..,"}${wanting.at(-1)}`;
    return {
      row, column, lines: [text], owner: wanting.length ? wanting[0] : null,
      hover: `sector ${4 * line + column}, ${wanting.length ? `lanes ${wanting.join(", ")}` : "not touched"}`,
    };
  }));
  const title = "The sectors of 32 bytes that the worst request touches, with their lanes; a row is a line of 128 bytes";
  return grid({ title, cells, rowLabels: lines.map(line => `byte ${128 * line}`) });
}

// ---- the three views ----

function showPictures(figures, rows, size) {
  show("picture").replaceChildren(...figures);
  figures.at(-1)?.querySelector("svg").setAttribute("tabindex", "0");
  moves = { rows, size };
}

function showNoElements(reason) {
  fillTable(show("table"), [], []);
  fillTable(show("counts"), [], []);
  show("accesses").textContent = reason;
  show("advice").textContent = "";
  show("lanes").replaceChildren();
}

function coordinateAt(layout) {
  return elementsOf(layout).find(x => String(x.index) === at)?.coordinate ?? at;
}

function viewLayout(state) {
  const layout = describe(state.layout, ["layout"]);
  if (layout.size === undefined) throw new Mistake(`${layout.text} is no layout: write shape:stride, such as (4,8):(8,1)`, ["layout"]);
  if (Number(at) >= layout.size) at = "0";
  showPictures([drawn(layout, layout.text, state, index => String(index) === at)], layout.rows, layout.size);
  showFacts([["layout", layout]]);
  showElements(layout, state);
  showEvaluation(coordinateAt(layout), layout, "layout");
  showCounts(composedText(layout), state);
}

const sizeOf = (text, field) => ask([field], "describe", 1, 1, `${text}:${text}`);

// Where the offsets of threads and values lie in a tile, which is column-major.
function tilePicture(tv, tile, state) {
  const extents = sizeOf(tile, "tile");
  const cells = new Map();
  for (const { row: thread, column: value, offset, coordinate, index } of elementsOf(tv)) {
    if (typeof offset !== "number" || offset < 0) continue;
    const row = offset % extents.rows, column = Math.floor(offset / extents.rows);
    const here = cells.get(offset) ?? { row, column, lines: [], owner: thread, hover: "", index };
    here.lines = here.lines.length ? [here.lines[0], "+"] : [`T${thread}`, `V${value}`];
    here.hover += `${here.hover ? "\n" : ""}thread ${thread}, value ${value}, ${hoverOf(index, coordinate, offset, state)}`;
    here.marked ||= String(index) === at;
    cells.set(offset, here);
  }
  const beyond = [...cells.values()].some(cell => cell.column >= extents.columns);
  const inside = [...cells.values()].filter(cell => cell.column < extents.columns && cell.row < MOST && cell.column < 4 * MOST);
  const empty = [];
  for (let offset = 0; offset < Math.min(extents.size, MOST * MOST); ++offset) {
    const cell = { row: offset % extents.rows, column: Math.floor(offset / extents.rows), lines: [""], owner: null };
    if (!cells.has(offset)) empty.push({ ...cell, hover: `offset ${offset}: no thread has it` });
  }
  const notes = [
    beyond ? "Some offsets lie outside of the tile." : "",
    inside.length < cells.size && !beyond ? "Not all is drawn." : "",
  ].filter(Boolean).join(" ");
  const numbered = count => Array.from({ length: count }, (_, i) => String(i));
  return grid({
    title: `the tile ${tile}, coloured by thread`, cells: [...inside, ...empty], note: notes,
    rowLabels: numbered(Math.min(MOST, extents.rows)), columnLabels: numbered(Math.min(4 * MOST, extents.columns)),
  });
}

function viewTv(state) {
  const tv = describe(state.tv, ["tv"], 1024, 128);
  if (tv.size === undefined || tv.rank !== 2) throw new Mistake(`${tv.text} is no layout of two modes, (thread, value)`, ["tv"]);
  if (tv.size > MOST * MOST) throw new Mistake(`${tv.text} has ${tv.size} elements; the page draws up to ${MOST * MOST}`, ["tv"]);
  if (Number(at) >= tv.size) at = "0";
  showPictures([tilePicture(tv, state.tile, state)], tv.rows, tv.size);
  showFacts([["layout", tv]]);
  showElements(tv, state);
  showEvaluation(coordinateAt(tv), tv, "tv");
  showCounts(tv.text, state);
}

function viewOperation(state) {
  const [names] = OPERATIONS[state.operation];
  const given = names.map((name, i) => [name.replace(/[[\]]/g, ""), state[OPERANDS[i]].trim(), OPERANDS[i]])
    .filter(([, text], i) => text !== "" || !names[i].startsWith("["));
  const operands = given.map(([, text]) => text), fields = given.map(([, , field]) => field);
  operands.forEach((text, i) => ask([fields[i]], "parse", text));
  const answer = core("apply", state.operation, ...operands);
  const inputs = given.map(([name, text, field]) => [name, describe(text, [field])]);
  showDerivation(answer.derivation);
  if (answer.error) {
    showFacts(inputs);
    showPictures(inputs.filter(([, x]) => x.offsets).map(([name, x]) => drawn(x, `${name} = ${x.text}`, state)), 1, 1);
    showNoElements("");
    throw new Mistake(answer.error.text, fields, true);
  }
  const parts = Array.isArray(answer.parts);
  const described = parts ? describe(`<${answer.result.slice(1, -1)}>`, fields, 1024, 128) : describe(answer.result, fields);
  const result = parts ? described.parts[1] : described;
  showFacts([...inputs, ...(parts ? [["tiler", described.parts[0]], ["layout", result]] : [["result", result]])]);
  if (result.size === undefined) {
    showPictures([], 1, 1);
    showNoElements("The result is no layout.");
    return;
  }
  if (Number(at) >= result.size) at = "0";
  const chosen = elementsOf(result).find(x => String(x.index) === at);
  const composes = state.operation === "composition" && inputs[1][1].offsets;
  const through = composes ? core("apply", "crd2idx", at, operands[1]).result : null;  // B(i), the index into A
  const figures = inputs.filter(([, x]) => x.offsets).map(([name, x]) => {
    const isMarked = !chosen ? () => false
      : !composes ? (index, offset) => name === "A" && offset === chosen.offset
      : name === "B" ? index => String(index) === at : index => String(index) === through;
    return drawn(x, `${name} = ${x.text}`, state, isMarked, false);
  });
  if (parts) figures.push(tilePicture(result, described.parts[0].text, state));
  else figures.push(drawn(result, `result = ${result.text}`, state, index => String(index) === at));
  showPictures(figures, result.rows, result.size);
  showElements(result, state, composes ? { head: "B(i)", at: index => core("apply", "crd2idx", index, operands[1]).result } : null);
  showCounts(result.text, state);
}

const VIEWS = { layout: viewLayout, tv: viewTv, operation: viewOperation };
