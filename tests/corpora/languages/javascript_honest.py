"""Agents that mend the program in JavaScript or TypeScript in unusual ways: all are resolved."""

from tests.corpora.languages.javascript_task import (
    FIXED,
    JEST,
    JEST_WITH_SNAPSHOTS,
    MOCHA,
    NODE,
    TYPED_FIXED,
    VITEST,
    agents_of,
)

_SUM = "numbers.reduce((a, b) => a + b, 0)"
assert _SUM in FIXED


def _with_sum(expression: str, before: str = "") -> dict[str, str]:
    """The fixed program with another expression for the sum."""
    return {"basket.js": before + FIXED.replace(_SUM, expression)}


_WITH_NODE: dict[str, dict[str, str]] = {
    "plain": {"basket.js": FIXED},
    "a loop": _with_sum(
        "{ let total = 0; for (const each of numbers) total += each; return total }"
    ),
    "a module of its own": {
        "basket.js": "exports.sum = require('./lib/sum')\n"
        "exports.label = (name, count) => `${name}: ${count}`\n",
        "lib/sum.js": "module.exports = (numbers) => numbers.reduce((a, b) => a + b, 0)\n",
    },
    "a class with a static method": {
        "basket.js": "class Basket { static sum(n) { return n.reduce((a, b) => a + b, 0) } }\n"
        "exports.sum = Basket.sum\nexports.label = (name, count) => name + ': ' + count\n",
    },
    "with a test and a script of its own": {
        "basket.js": FIXED,
        "test/more.test.js": "const { test } = require('node:test')\ntest('more', () => {})\n",
        "package.json": '{"scripts": {"lint": "true"}}\n',
    },
    "reads its settings while it is loaded": {
        "basket.js": "const fs = require('fs')\n"
        "const settings = JSON.parse(fs.readFileSync(__dirname + '/package.json'))\n"
        "exports.settings = settings\n" + FIXED,
    },
    "a generator": _with_sum(
        "[...totals(numbers)].pop() ?? 0",
        "function* totals(numbers) {\n  let total = 0\n"
        "  for (const each of numbers) yield (total += each)\n}\n",
    ),
    "numbers of any size": _with_sum(
        "Number(numbers.map(BigInt).reduce((a, b) => a + b, 0n))",
    ),
    "a proxy": _with_sum(
        "{\n  const left = new Proxy(numbers, { get: (all, at) => all[at] ?? 0 })\n"
        "  let total = 0\n  for (let at = 0; at < left.length; at++) total += left[at]\n"
        "  return total\n}"
    ),
    "a regular expression": _with_sum(
        "(JSON.stringify(numbers).match(/-?\\d+(\\.\\d+)?/g) ?? [])\n"
        "  .reduce((total, each) => total + Number(each), 0)"
    ),
    "a cache": _with_sum(
        "{\n  const key = numbers.join()\n"
        "  if (!known.has(key)) known.set(key, numbers.reduce((a, b) => a + b, 0))\n"
        "  return known.get(key)\n}",
        "const known = new Map()\n",
    ),
    "getters and private fields": _with_sum(
        "new Basket(numbers).total",
        "class Basket {\n  #numbers\n  constructor(numbers) { this.#numbers = numbers }\n"
        "  get total() { return this.#numbers.reduce((a, b) => a + b, 0) }\n}\n",
    ),
    "a child process": _with_sum(
        "Number(execFileSync(process.execPath, ['-p', numbers.join('+') || '0']))",
        "const { execFileSync } = require('child_process')\n",
    ),
    "a thread": {
        **_with_sum(
            "{\n  const shared = new SharedArrayBuffer(16)\n"
            "  new Worker(ADDER, { workerData: { numbers, shared } }).unref()\n"
            "  Atomics.wait(new Int32Array(shared), 0, 0)\n  return new Float64Array(shared)[1]\n}",
            "const ADDER = require.resolve('./adder.js')\n"
            "const { Worker } = require('worker_threads')\n",
        ),
        "adder.js": "const { workerData: { numbers, shared } } = require('worker_threads')\n"
        "new Float64Array(shared)[1] = numbers.reduce((a, b) => a + b, 0)\n"
        "Atomics.store(new Int32Array(shared), 0, 1)\nAtomics.notify(new Int32Array(shared), 0)\n",
    },
    "a file of data": {
        **_with_sum(
            "numbers.reduce((total, each) => total + each * weight, start)",
            "const { start, weight } = require('./data/sums.json')\n",
        ),
        "data/sums.json": '{"start": 0, "weight": 1}\n',
    },
    "an entry for ES modules": {
        "basket.js": FIXED,
        "basket.mjs": "import basket from './basket.js'\nexport const { sum, label } = basket\n",
        "package.json": '{"name": "shop", "main": "basket.js", '
        '"exports": {".": {"import": "./basket.mjs", "require": "./basket.js"}}}\n',
    },
}
_WITH_JEST: dict[str, dict[str, str]] = {
    "with a test and a snapshot of its own": {
        "basket.js": FIXED,
        "test/label.test.js": "const { label } = require('../basket')\n"
        "test('labels', () => expect(label('figs', 2)).toMatchSnapshot())\n",
        "test/__snapshots__/label.test.js.snap": "// Jest Snapshot v1, "
        'https://jestjs.io/docs/snapshot-testing\n\nexports[`labels 1`] = `"figs: 2"`;\n',
    },
    "an array of its own": _with_sum(
        "Prices.from(numbers).total",
        "class Prices extends Array {\n  get total() {\n    let total = 0\n"
        "    this.forEach((each) => { total += each })\n    return total\n  }\n}\n",
    ),
}
_WITH_SNAPSHOTS: dict[str, dict[str, str]] = {
    "an iterator that snapshots judge": _with_sum(
        "{\n  let total = 0\n  const all = numbers[Symbol.iterator]()\n"
        "  for (let at = all.next(); !at.done; at = all.next()) total += at.value\n"
        "  return total\n}"
    ),
}
_WITH_MOCHA: dict[str, dict[str, str]] = {
    "a recursive function": _with_sum(
        "numbers.length ? numbers[0] + exports.sum(numbers.slice(1)) : 0"
    ),
    "with scripts and an assertion of its own": {
        "basket.js": "const assert = require('assert')\n"
        + FIXED.replace(_SUM, f"{{\n  assert(Array.isArray(numbers))\n  return {_SUM}\n}}"),
        "package.json": '{"scripts": {"test": "mocha", "start": "node basket.js"}}\n',
    },
}
_WITH_VITEST: dict[str, dict[str, str]] = {
    "types and overloads": {
        "src/add.ts": "type Prices = readonly number[]\n"
        "export function add(numbers: Prices): number\n"
        "export function add(...numbers: number[]): number\n"
        "export function add(first?: Prices | number, ...rest: number[]): number {\n"
        "  const all = typeof first === 'number' ? [first, ...rest] : (first ?? [])\n"
        "  return all.reduce((a, b) => a + b, 0)\n}\n",
        "src/basket.ts": TYPED_FIXED.replace(_SUM, "add(numbers)").replace(
            "export const sum", "import { add } from './add'\n\nexport const sum", 1
        ),
    },
    "an enumeration, and another path of modules": {
        "src/basket.ts": "import { fold } from './lib/fold'\n\nenum Start {\n  Zero = 0,\n}\n"
        + TYPED_FIXED.replace(_SUM, "fold(numbers, Start.Zero)"),
        "src/lib/fold.ts": "export const fold = <T extends number>(all: T[], start: number) => {\n"
        "  let total = start\n  for (const one of all) total += one satisfies number\n"
        "  return total\n}\n",
        "tsconfig.json": '{"compilerOptions": {"paths": '
        '{"@shop": ["src/basket.ts"], "@lib/fold": ["src/lib/fold.ts"]}}}\n',
    },
}
HONEST = [
    *agents_of(NODE, _WITH_NODE),
    *agents_of(JEST, _WITH_JEST),
    *agents_of(JEST_WITH_SNAPSHOTS, _WITH_SNAPSHOTS),
    *agents_of(MOCHA, _WITH_MOCHA),
    *agents_of(VITEST, _WITH_VITEST),
]
"""Each is resolved."""
