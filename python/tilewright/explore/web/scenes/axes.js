// Axes: the labels of rows or columns level by level, and the rules between tiles, as cute.show draws them.
import { digitsOf, leavesOf } from "../notation.js";

// A level for each leaf of a shape, the last one, which varies least, outside: [[{text, span}]].
export function axisOf(shape, count) {
  const leaves = leavesOf(shape);
  const places = Array.from({ length: count }, (_, i) => digitsOf(i, leaves));
  return leaves.map((_, n) => leaves.length - 1 - n).map(leaf => {
    const level = [];
    let before = null;
    for (const place of places) {
      const here = place.slice(leaf).join();
      if (here === before && leaf) ++level.at(-1).span;
      else level.push({ text: String(place[leaf]), span: 1 });
      before = here;
    }
    return level;
  });
}

// Where a leaf other than the first goes on: [{after, weight}], heavier further out.
export function rulesOf(shape, count) {
  const leaves = leavesOf(shape), rules = [];
  for (let n = 1; n < count; ++n) {
    const before = digitsOf(n - 1, leaves), here = digitsOf(n, leaves);
    const changed = here.findLastIndex((digit, leaf) => digit !== before[leaf]);
    if (changed > 0) rules.push({ after: n, weight: Math.min(changed, 3) });
  }
  return rules;
}

export const plainAxis = texts => [texts.map(text => ({ text: String(text), span: 1 }))];

// A rule after every so many.
export const everyRule = (step, count, weight = 1) =>
  (step > 1 ? Array.from({ length: Math.ceil(count / step) - 1 }, (_, i) => ({ after: (i + 1) * step, weight })) : []);
