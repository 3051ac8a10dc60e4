// The scene of an operation: its operands, and its result with tiles, copies or arrows.
import { Mistake, ask } from "../core.js";
import { factsOf } from "./layouts.js";
import { describe, describeLayout, elementsOf, hoverOf, layoutPanel, ownerOf, tablePanel } from "./panels.js";
import { digitsOf, sizeOf, tree } from "../notation.js";
import { operandsOf } from "../state.js";
import { ownersPanel, tileOwners } from "./threads.js";

const DIVIDES = ["logical_divide", "zipped_divide", "tiled_divide", "flat_divide"];
const PRODUCTS = ["logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product"];

// A layout of the same shape whose offsets are its coordinates, mode by mode; the composition keeps them apart.
function identityOf(shape) {
  const modes = tree(shape), sizes = Array.isArray(modes) ? modes.map(sizeOf) : [modes];
  return Array.isArray(modes) ? `(${sizes.join()}):(${sizes.map((_, i) => `1@${i}`).join()})` : `${modes}:1`;
}

const compactOf = shape => `${sizeOf(tree(shape))}:1`;

// Which tile has which coordinate of A: the operation on coordinates instead of offsets.
function tilesOf(core, operation, [a, tiler], result) {
  for (const [identity, keyOf] of [
    [identityOf(a.shape), identityKey(a)], [compactOf(a.shape), element => String(element.index)],
  ]) {
    const zipped = core("apply", "zipped_divide", identity, tiler), applied = core("apply", operation, identity, tiler);
    if (zipped.error || applied.error) continue;
    const tiles = new Map();
    for (const { offset, rest } of elementsOf(describe(core, zipped.result, "a", 1024, 256))) {
      if (!tiles.has(String(offset))) tiles.set(String(offset), rest);
    }
    const shown = describeLayout(core, applied.result, "a");
    if (shown.offsets.length !== result.offsets.length) continue;
    const keys = shown.offsets.map(String);
    return { of: key => tiles.get(key) ?? null, keyOf, keys };
  }
  return null;
}

// The text of an element's coordinate, mode by mode, as the offsets of that layout have it.
function identityKey({ shape }) {
  const modes = tree(shape);
  if (!Array.isArray(modes)) return ({ index }) => String(index);
  const sizes = modes.map(sizeOf);
  return ({ index }) => `(${digitsOf(index, sizes).join()})`;
}

function divided(core, state, given, result, base) {
  const [a, tiler] = given;
  const tiles = tilesOf(core, state.operation, [a.x, tiler.text], result);
  const ofResult = new Map(elementsOf(result).map((element, i) => [element.index, tiles ? tiles.keys[i] : null]));
  const key = tiles ? ofResult.get(base.at) : undefined;
  const chosen = elementsOf(result).find(element => element.index === base.at);
  const inside = new Set(elementsOf(a.x).map(element => (tiles ? tiles.keyOf(element) : "")));
  const before = layoutPanel(a.x, `A = ${a.x.text}`, tiles ? "a colour for each tile" : "", element => {
    const own = tiles?.keyOf(element);
    return { owner: tiles ? tiles.of(own) : ownerOf(element, state), marked: tiles ? own === key : element.offset === chosen?.offset };
  });
  const after = layoutPanel(result, `${state.operation}(A, ${tiler.text})`, result.text, element => {
    const own = ofResult.get(element.index);
    const outside = tiles && a.x.size <= 4096 && !inside.has(own);
    return {
      owner: tiles ? tiles.of(own) : ownerOf(element, state), faded: outside, marked: element.index === base.at, pick: element.index,
      more: tiles ? [["tile", tiles.of(own)], ...(outside ? [["outside", "of A: the tiles do not divide it"]] : [])] : [],
    };
  });
  return [before, after];
}

function multiplied(core, state, given, result, base) {
  const copies = new Map();
  const zipped = core("apply", "zipped_product", given[0].text, given[1].text);
  if (!zipped.error) {
    for (const { offset, rest } of elementsOf(describe(core, zipped.result, "a", 1024, 256))) {
      if (!copies.has(String(offset))) copies.set(String(offset), rest);
    }
  }
  const owner = element => (copies.size ? copies.get(String(element.offset)) ?? null : ownerOf(element, state));
  return [
    ...given.filter(({ x }) => x.offsets).map(({ name, x }, i) => layoutPanel(x, `${name} = ${x.text}`, i ? "where the copies stand" : "the block",
      element => ({ owner: i ? (copies.size ? element.index : element.offset) : 0 }))),
    layoutPanel(result, `${state.operation}`, `${result.text}; a colour for each copy`, element =>
      ({ owner: owner(element), marked: element.index === base.at, pick: element.index, more: [["copy", owner(element)]] })),
  ];
}

function composed(core, state, given, result, base) {
  const [a, b] = given;
  const offsets = new Map(elementsOf(b.x).map(({ index, offset }) => [index, offset]));
  const through = index => offsets.get(index), here = through(base.at);
  const reached = new Map();
  const row = element => (b.x.row_labels.length ? element.mode0 : element.index);
  for (const element of elementsOf(b.x)) if (!reached.has(element.offset)) reached.set(element.offset, row(element));
  const panels = [
    layoutPanel(b.x, `B = ${b.x.text}`, "a coordinate to an index of A", element =>
      ({ owner: row(element), marked: element.index === base.at, pick: element.index })),
    layoutPanel(a.x, `A = ${a.x.text}`, "an index to an offset; pale: not reached", element => ({
      owner: reached.get(element.index) ?? null, faded: !reached.has(element.index), marked: element.index === here,
    })),
    layoutPanel(result, `A o B = ${result.text}`, "a coordinate of B to an offset", element =>
      ({ owner: row(element), marked: element.index === base.at, pick: element.index, more: [["B gives", through(element.index)]] })),
  ];
  const place = n => {
    const cell = panels[n].cells.find(each => each.marked);
    return cell && [n, cell.row, cell.column];
  };
  const [first, second, third] = [0, 1, 2].map(place);
  const links = first && second && third
    ? [{ from: first, to: second, text: String(here) }, { from: second, to: third, text: String(panels[2].cells.find(c => c.marked).offset) }] : [];
  return { panels, links };
}

// The numbers up to the cotarget: the layout grey, each copy that the complement makes of it in a colour.
function complemented(core, state, given, result) {
  const size = Number(given[1]?.x.size ?? (given[1] ? sizeOf(tree(given[1].text)) : given[0].x.cosize));
  const owners = new Map();
  for (const { offset: step, index } of elementsOf(result)) {
    for (const { offset } of elementsOf(given[0].x)) if (!owners.has(offset + step)) owners.set(offset + step, index);
  }
  const count = Math.min(Math.max(size, ...owners.keys()) + (owners.has(size) ? 1 : 0), 2048);
  const across = [...Array(33).keys()].slice(8).reverse().find(n => count % n === 0) ?? 16;
  const columns = Math.min(across, count), rows = Math.ceil(count / columns);
  const cells = Array.from({ length: count }, (_, i) => {
    const owner = owners.get(i);
    return {
      row: Math.floor(i / columns), column: i % columns, lines: [String(i)], owner: owner ? owner : null, faded: owner === 0,
      said: [["offset", i], ["copy", owner === undefined ? "none" : owner === 0 ? "0, the layout itself" : owner]],
    };
  });
  return tablePanel("What they reach together", "dark: the layout; a colour for each copy; pale: neither", [rows, columns], cells,
    { rowNames: Array.from({ length: rows }, (_, i) => i * columns), columnNames: Array.from({ length: columns }, (_, i) => `+${i}`) });
}

export function operationScene(core, state) {
  const given = operandsOf(state).map(operand => ({ ...operand, text: operand.text.trim() }))
    .filter(({ text, optional }) => text !== "" || !optional);
  const fields = given.map(({ field }) => field);
  for (const { text, field } of given) ask(core, [field], "parse", text);
  const answer = core("apply", state.operation, ...given.map(({ text }) => text));
  for (const operand of given) {
    operand.x = describe(core, operand.text, operand.field);
    if (operand.x.rank === 1) operand.x = describe(core, operand.text, operand.field, 1, 2048);
  }
  const plain = ({ name, x }) => layoutPanel(x, `${name} = ${x.text}`, "", element => ({ owner: ownerOf(element, state) }));
  const drawn = given.filter(({ x }) => x.offsets);
  const call = `${state.operation}(${given.map(({ text }) => text).join(", ")})`;
  const values = given.map(({ name, x }) => [name, x.text]);
  const scene = { title: call, values, derivation: () => answer.derivation, hover: cell => cell.said ?? hoverOf(cell, state), facts: [], elements: [] };
  if (answer.error) {
    throw new Mistake(answer.error.text, fields, { ...scene, panels: drawn.map(plain), counterexample: answer.error.counterexample });
  }
  scene.title = `${call} = ${answer.result}`;
  const several = Array.isArray(answer.parts);
  const found = several ? describe(core, `<${answer.result.slice(1, -1)}>`, "a", 1024, 128) : describe(core, answer.result, "a");
  if (several) values.push(["tiler", found.parts[0].text], ["layout", found.parts[1].text]);
  else values.push(["result", found.text]);
  if (several) {
    const owners = tileOwners(found.parts[1]);
    const tile = tree(found.parts[0].text), extents = Array.isArray(tile) ? tile.map(sizeOf) : [tile, 1];
    return { ...scene, panels: [...drawn.map(plain), ownersPanel(`the tile ${found.parts[0].text}`, "thread and value", extents, owners)], facts: factsOf(found.parts[1]), access: found.parts[1].text, result: found.parts[1].text };
  }
  if (found.size === undefined) return { ...scene, panels: drawn.map(plain) };
  const result = found.rank === 1 ? describe(core, answer.result, "a", 1, 2048) : found;
  const at = Number(state.at) < result.size ? Number(state.at) : 0;
  Object.assign(scene, { at, facts: factsOf(result), access: result.text, result: result.text, moves: { rows: result.rows, size: result.size } });
  scene.hover = cell => cell.said ?? [...hoverOf(cell, state), ...(cell.more ?? [])];
  const two = given.length === 2 && drawn.length > 0 && given[0].x.offsets;
  if (state.operation === "composition" && drawn.length === 2 && given[1].x.kind === "layout") Object.assign(scene, composed(core, state, given, result, scene));
  else if (DIVIDES.includes(state.operation) && two && given[0].x.kind === "layout") scene.panels = divided(core, state, given, result, scene);
  else if (PRODUCTS.includes(state.operation) && two) scene.panels = multiplied(core, state, given, result, scene);
  else {
    const chosen = elementsOf(result).find(element => element.index === at);
    scene.panels = [
      ...drawn.map(operand => {
        const panel = plain(operand);
        const cell = operand.name === "A" && panel.cells.find(each => each.offset === chosen?.offset);
        if (cell) cell.marked = true;
        return panel;
      }),
      layoutPanel(result, `result = ${result.text}`, "", element => ({ owner: ownerOf(element, state), marked: element.index === at, pick: element.index })),
      ...(state.operation === "complement" && given[0].x.kind === "layout" ? [complemented(core, state, given, result)] : []),
    ];
  }
  const main = scene.panels.findLast(panel => panel.cells.some(cell => cell.pick !== undefined)) ?? scene.panels.at(-1);
  scene.elements = main.cells;
  const cell = main.cells.find(each => each.marked);
  scene.chosen = cell && scene.hover(cell);
  return scene;
}
