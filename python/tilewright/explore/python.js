// What Python's operators and built-in functions do, for functions that translate.py has translated. A tuple is an
// array of its own class, a list an array, an integer a BigInt, None null.
"use strict";

const py = (() => {
  class Tuple extends Array {
    static get [Symbol.species]() { return Array; }
  }
  class Exception {
    constructor(...args) { this.args = args; }
    toString() { return this.args.map(str).join(", "); }
  }
  const tuple = (items = []) => {
    const result = new Tuple();
    for (const item of iter(items)) result.push(item);
    return result;
  };
  class TypeError extends Exception {}
  const fail = (kind, text) => { throw new Exception(`${kind}: ${text}`); };
  const isInt = x => typeof x === "bigint";
  const isText = x => typeof x === "string";

  const iter = x => (Array.isArray(x) || isText(x) ? x : fail("TypeError", "not iterable"));
  const truth = x => !(x === null || x === false || x === 0n || x === "" || (Array.isArray(x) && x.length === 0));
  const str = x => {
    if (x === null) return "None";
    if (x === true || x === false) return x ? "True" : "False";
    if (x instanceof Tuple) return `(${x.map(repr).join(", ")}${x.length === 1 ? "," : ""})`;
    if (Array.isArray(x)) return `[${x.map(repr).join(", ")}]`;
    return String(x);
  };
  const repr = x => (isText(x) ? `'${x}'` : str(x));
  const eq = (a, b) => {
    if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
    return a instanceof Tuple === b instanceof Tuple && a.length === b.length && a.every((x, i) => eq(x, b[i]));
  };

  const joined = (a, b) => (a instanceof Tuple ? tuple([...a, ...b]) : [...a, ...b]);
  const add = (a, b) => (Array.isArray(a) ? joined(a, b) : a + b);
  const repeated = (x, n) => {
    if (isText(x)) return x.repeat(Number(n < 0n ? 0n : n));
    const items = [];
    for (let i = 0n; i < n; ++i) items.push(...x);
    return x instanceof Tuple ? tuple(items) : items;
  };
  const mul = (a, b) => (isInt(a) && isInt(b) ? a * b : isInt(b) ? repeated(a, b) : repeated(b, a));
  const floordiv = (a, b) => {
    if (b === 0n) fail("ZeroDivisionError", "division by zero");
    const quotient = a / b;
    return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
  };
  const mod = (a, b) => a - b * floordiv(a, b);

  const place = (x, i) => {
    const at = Number(i) < 0 ? x.length + Number(i) : Number(i);
    return at >= 0 && at < x.length ? at : fail("IndexError", "index out of range");
  };
  const bound = (x, i, otherwise) => (i === null ? otherwise : Number(i));
  const unpack = (value, count, star, inner = null) => {
    let items = [...iter(value)];
    if (star >= 0) {
      const after = count - star - 1;
      if (items.length < count - 1) fail("ValueError", "not enough values to unpack");
      items = [...items.slice(0, star), items.slice(star, items.length - after), ...items.slice(items.length - after)];
    }
    if (items.length !== count) fail("ValueError", `expected ${count} values, got ${items.length}`);
    return inner ? items.map((item, i) => (inner[i] ? inner[i](item) : item)) : items;
  };

  const builtin = { int: isInt, str: isText, tuple: x => x instanceof Tuple, list: x => Array.isArray(x) && !(x instanceof Tuple) };
  const isinstance = (x, kind) => {
    if (Array.isArray(kind)) return kind.some(each => isinstance(x, each));
    for (const [name, test] of Object.entries(builtin)) if (kind === api[name]) return test(x);
    return x instanceof kind;
  };
  const compare = key => (a, b) => { const [x, y] = [key(a), key(b)]; return x < y ? -1 : x > y ? 1 : 0; };
  const zip = (...args) => {
    const { strict } = args.pop();
    const lengths = args.map(x => iter(x).length);
    const length = Math.min(...lengths);
    if (strict && lengths.some(each => each !== length)) fail("ValueError", "zip() arguments differ in length");
    return Array.from({ length }, (_, i) => tuple(args.map(x => x[i])));
  };
  const best = better => (...args) => {
    const items = args.length === 1 ? iter(args[0]) : args;
    if (items.length === 0) fail("ValueError", "no values");
    return items.reduce((a, b) => (better(b, a) ? b : a));
  };

  // Dictionaries keep their entries in order; keys are compared by their texts.
  class Dict {
    constructor(entries) { this.entries = new Map(entries.map(([key, value]) => [repr(key), [key, value]])); }
    get(key) { return this.entries.get(repr(key))?.[1]; }
    setdefault(key, value) {
      if (!this.entries.has(repr(key))) this.entries.set(repr(key), [key, value]);
      return this.get(key);
    }
    values() { return [...this.entries.values()].map(([, value]) => value); }
    [Symbol.iterator]() { return this.entries.values(); }
  }

  const methods = {
    append: (list, x) => { list.push(x); return null; },
    insert: (list, i, x) => { list.splice(Number(i), 0, x); return null; },
    sort: (list, { key }) => { list.sort(compare(key)); return null; },
    join: (text, parts) => iter(parts).join(text),
    format: (text, ...values) => { let i = 0; return text.replace(/\{\}/g, () => str(values[i++])); },
  };
  const own = x => Array.isArray(x) || isText(x);
  const method = (x, name, ...args) => (own(x) ? methods[name](x, ...args) : x[name](...args));
  const attribute = (x, name) => (own(x) ? (...args) => methods[name](x, ...args) : x[name]);

  const api = {
    Exception, tuple, truth, str, eq, add, mul, floordiv, mod, unpack, isinstance, zip, method, attribute, iter,
    sub: (a, b) => a - b,
    and: (a, b) => (truth(a) ? b() : a),
    or: (a, b) => (truth(a) ? a : b()),
    item: (x, i) => (x instanceof Dict ? x.get(i) : x[place(x, i)]),
    slice: (x, from, to) => {
      const items = x.slice(bound(x, from, 0), bound(x, to, x.length));
      return x instanceof Tuple ? tuple(items) : items;
    },
    set: (x, i, value) => { x[place(x, i)] = value; },
    dict: entries => new Dict(entries),
    list: (items = []) => [...iter(items)],
    int: x => BigInt(x),
    bool: truth,
    abs: x => (x < 0n ? -x : x),
    len: x => BigInt(x.length),
    all: items => iter(items).every(truth),
    any: items => iter(items).some(truth),
    sum: items => iter(items).reduce(add, 0n),
    min: best((a, b) => a < b),
    max: best((a, b) => a > b),
    map: (f, items) => Array.from(iter(items), x => f(x)),
    range: n => Array.from({ length: Number(n) }, (_, i) => BigInt(i)),
    enumerate: items => Array.from(iter(items), (x, i) => tuple([BigInt(i), x])),
    reversed: items => [...iter(items)].reverse(),
    sorted: (items, { key }) => [...iter(items)].sort(compare(key)),
    hasattr: (x, name) => x !== null && typeof x === "object" && name in x,
    type: x => ({ __name__: x === null ? "NoneType" : x.constructor.name }),
    TypeError,
  };
  return api;
})();
