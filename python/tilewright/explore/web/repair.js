// Where an operand is wrong, and what would work: numbers and brackets that are changed one at a time until nothing fails.
import { numbersOf, replaced } from "./notation.js";

// The place in an operand of which a message of the parser speaks, or null.
export function placeIn(message) {
  const found = /at position (\d+)/.exec(message);
  return found && /parse\(/.test(message) ? Number(found[1]) : null;
}

const divisorsNear = value => [value - 1, value + 1, value * 2, Math.trunc(value / 2), value - 2, value + 2, value - 3, value + 3, value * 4, 1, 0];

// Other texts for an operand, the nearest first, each with the place that it changes.
function* variants(text) {
  const opened = (text.match(/\(/g) ?? []).length - (text.match(/\)/g) ?? []).length;
  const tiler = (text.match(/</g) ?? []).length - (text.match(/>/g) ?? []).length;
  if (opened > 0) {
    if (text.includes(":") && !text.slice(0, text.indexOf(":")).includes(")")) yield [text.replace(":", `${")".repeat(opened)}:`), text.indexOf(":")];
    yield [text + ")".repeat(opened), text.length];
  }
  if (tiler > 0) yield [text + ">".repeat(tiler), text.length];
  const trimmed = text.replace(/[^\d)>]+$/, "");
  if (trimmed && trimmed !== text) yield [trimmed, trimmed.length];
  if (opened < 0) yield [text.replace(/\)$/, ""), text.length - 1];
  if (/^[\d(),\s]+$/.test(text) && opened === 0) yield [`${text}:${text.replace(/\d+/g, "1")}`, text.length];
  const numbers = numbersOf(text).reverse();
  for (let n = 0; n < 11; ++n) {
    for (const number of numbers) {
      const value = divisorsNear(number.value)[n];
      if (value !== number.value) yield [replaced(text, number, value), number.start];
    }
  }
}

// Up to three changes of one operand after which `fails(state)` is false: [{field, text, at}].
export function repairs(state, fields, fails, { most = 3, tries = 120 } = {}) {
  const found = [];
  const queues = fields.filter(field => field in state).reverse().map(field => ({ field, texts: variants(state[field]) }));
  while (queues.length && found.length < most && tries-- > 0) {
    const { field, texts } = queues[0];
    const { value, done } = texts.next();
    if (done) queues.shift();
    else {
      queues.push(queues.shift());
      const [text, at] = value;
      if (!found.some(each => each.field === field && each.text === text) && !fails({ ...state, [field]: text })) found.push({ field, text, at });
    }
  }
  return found;
}
