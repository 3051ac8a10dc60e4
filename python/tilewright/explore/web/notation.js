// CuTe's notation as text: where its numbers stand, and shapes as nested arrays.

// The integers of a text that can be changed, with their places; the number of a basis, as in 1@0, is none of them.
export function numbersOf(text) {
  const found = [];
  for (const match of text.matchAll(/@?(?<![\w.])-?\d+/g)) {
    if (match[0].startsWith("@")) continue;
    found.push({ start: match.index, end: match.index + match[0].length, value: Number(match[0]) });
  }
  return found;
}

export const replaced = (text, { start, end }, value) => text.slice(0, start) + value + text.slice(end);

// Whether a number is a part of a shape, and so at least 1: no colon of the same layout stands before it.
export function isExtent(text, { start }) {
  const before = text.slice(0, start);
  if (/S\w*<[\d,-]*$/.test(before)) return false;  // of a swizzle
  let around = 0;  // parentheses that enclose the number
  for (const character of before) around += (character === "(") - (character === ")");
  for (let i = start - 1, depth = 0; i >= 0; --i) {
    if (text[i] === ")") ++depth;
    else if (text[i] === "(") depth > 0 ? --depth : --around;
    else if (text[i] === ":" && depth === 0) return false;
    else if (depth === 0 && around <= 0 && ",<o".includes(text[i])) return true;
  }
  return true;
}

// `(4,(2,3))` as [4, [2, 3]].
export function tree(text) {
  let at = 0;
  const read = () => {
    if (text[at] !== "(") {
      const [digits] = /^[^,)]*/.exec(text.slice(at));
      at += digits.length;
      return Number(digits.replace("_", ""));
    }
    const modes = [];
    for (++at; text[at] !== ")" && at < text.length;) {
      modes.push(read());
      if (text[at] === ",") ++at;
    }
    ++at;
    return modes;
  };
  return read();
}

export const sizeOf = shape => (Array.isArray(shape) ? shape.reduce((size, mode) => size * sizeOf(mode), 1) : shape);

// The extents of a shape's leaves, those of 1 left out; a shape of one element has one leaf.
export function leavesOf(shape) {
  const leaves = [shape].flat(Infinity).filter(extent => extent !== 1);
  return leaves.length ? leaves : [1];
}

// The coordinate of an index, leaf by leaf, the first one fastest; the last leaf takes what is left.
export function digitsOf(index, leaves) {
  return leaves.map((extent, i) => {
    const digit = i + 1 < leaves.length ? index % extent : index;
    index = Math.floor(index / extent);
    return digit;
  });
}

// The parts of a text between the commas that no bracket encloses.
export function partsOf(text) {
  const parts = [""];
  let depth = 0;
  for (const character of text) {
    depth += "(<".includes(character) - ")>".includes(character);
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map(part => part.trim());
}
