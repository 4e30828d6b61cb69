"""A small program for each tool of JavaScript, with the same bug: the first number is left out."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from agentbench.tasks.test_runner_name import Runner
from tests.e2e.small_task import patch_of

BUGGY = """\
// What a basket of goods costs.
exports.sum = (numbers) => numbers.slice(1).reduce((a, b) => a + b, 0)
exports.label = (name, count) => `${name}: ${count}`
"""
FIXED = BUGGY.replace("numbers.slice(1)", "numbers")
TYPED_BUGGY = """\
// What a basket of goods costs.
export const sum = (numbers: number[]): number => numbers.slice(1).reduce((a, b) => a + b, 0)
export const label = (name: string, count: number): string => `${name}: ${count}`
"""
TYPED_FIXED = TYPED_BUGGY.replace("numbers.slice(1)", "numbers")


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaScriptTask:
    """A task for one tool."""

    runner: Runner
    command: str
    packages: tuple[str, ...]
    """What set-up installs, each with its version."""

    program: str
    """The path of the file with the bug."""

    files: Mapping[str, str]
    """The repository, by path."""

    test: str
    """The path of the hidden tests."""

    hidden: str
    """Their text. `IDS` are their names."""

    fixed: str = FIXED

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(f"{self.test}::sums > {title}" for title in ("three numbers", "nested"))

    @property
    def install(self) -> str:
        """The command of set-up."""
        options = "--no-save --no-audit --no-fund --ignore-scripts"
        return " ".join(("npm install", options, *self.packages)) if self.packages else "true"

    def write(self, folder: Path) -> Path:
        """Write the task into a new folder, and return that."""
        for name, text in self.files.items():
            path = folder / "repo" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / "task.toml").write_text(
            'schema_version = 1\ntitle = "The first number is left out"\n[repo]\npath = "repo"\n'
            f"[setup]\ncommands = {[self.install]}\n"
            f'[tests]\nrunner = "{self.runner}"\ncommand = "{self.command}"\ntimeout_s = 300\n'
            f'fail_to_pass = {list(self.ids)}\npass_to_pass = "baseline"\n'
        )
        (folder / "instruction.md").write_text("`sum` leaves the first number out.\n")
        (folder / "tests.patch").write_text(patch_of(self.test, "", self.hidden))
        (folder / "solution.patch").write_text(
            patch_of(self.program, self.files[self.program], self.fixed)
        )
        return folder


_VISIBLE = """\
const { test } = require('node:test')
const assert = require('node:assert')
const { label } = require('../basket')
test('a label has its count', () => assert.strictEqual(label('figs', 7003), 'figs: 7003'))
"""
_HIDDEN = """\
const { describe, it } = require('node:test')
const assert = require('node:assert')
const { sum } = require('../basket')
describe('sums', () => {
  it('three numbers', () => {
    assert.strictEqual(sum([7000, 1000, 1]), 8001)
  })
  it('nested', () => assert.deepStrictEqual({ total: sum([4500, 11]) }, { total: 4511 }))
})
"""
NODE = JavaScriptTask(
    runner=Runner.NODE,
    command="node --test",
    packages=(),
    program="basket.js",
    files={"basket.js": BUGGY, "test/basket.test.js": _VISIBLE, "package.json": "{}\n"},
    test="test/hidden.test.js",
    hidden=_HIDDEN,
)

# Its configuration names two files that have no names of configuration.
_JEST_PACKAGE = """\
{
  "scripts": {"test": "jest"},
  "jest": {
    "globalSetup": "./config/global.js",
    "setupFilesAfterEnv": ["./config/setup.js"]
  }
}
"""
_JEST_VISIBLE = """\
const { label } = require('../basket')
test('a label has its count', () => expect(label('figs', 7003)).toBe('figs: 7003'))
"""
_JEST_HIDDEN = """\
const { sum } = require('../basket')
describe('sums', () => {
  it('three numbers', () => {
    expect(sum([7000, 1000, 1])).toBe(8001)
  })
  it('nested', () => expect({ total: sum([4500, 11]) }).toEqual({ total: 4511 }))
})
"""
JEST = JavaScriptTask(
    runner=Runner.JEST,
    command="npx jest",
    packages=("jest@30.5.2",),
    program="basket.js",
    files={
        "basket.js": BUGGY,
        "config/global.js": "module.exports = async () => {}\n",
        "config/setup.js": "process.env.TZ = 'UTC'\n",
        "test/basket.test.js": _JEST_VISIBLE,
        "package.json": _JEST_PACKAGE,
        ".gitignore": "node_modules\n",
    },
    test="test/hidden.test.js",
    hidden=_JEST_HIDDEN,
)

_SNAPSHOTS = """\
const { sum } = require('../basket')
describe('sums', () => {
  it('three numbers', () => {
    expect(sum([7000, 1000, 1])).toMatchInlineSnapshot(`8001`)
  })
  it('nested', () => {
    expect({ total: sum([4500, 11]) }).toMatchInlineSnapshot(`
      {
        "total": 4511,
      }
    `)
  })
})
"""
JEST_WITH_SNAPSHOTS = replace(JEST, hidden=_SNAPSHOTS)
"""Its tests compare with snapshots in their own text."""

_MOCHA_VISIBLE = """\
const { expect } = require('chai')
const { label } = require('../basket')
it('a label has its count', () => {
  expect(label('figs', 7003)).to.equal('figs: 7003')
})
"""
_MOCHA_HIDDEN = """\
const { expect } = require('chai')
const { sum } = require('../basket')
describe('sums', () => {
  it('three numbers', () => {
    expect(sum([7000, 1000, 1])).to.equal(8001)
  })
  it('nested', async () => {
    expect({ total: sum([4500, 11]) }).to.deep.equal({ total: 4511 })
  })
})
"""
MOCHA = JavaScriptTask(
    runner=Runner.MOCHA,
    command="npm test",
    packages=("mocha@12.0.3", "chai@4.5.0"),
    program="basket.js",
    files={
        "basket.js": BUGGY,
        "test/basket.test.js": _MOCHA_VISIBLE,
        "package.json": '{"scripts": {"test": "mocha"}}\n',
        ".gitignore": "node_modules\n",
    },
    test="test/hidden.test.js",
    hidden=_MOCHA_HIDDEN,
)

# Names of modules come from tsconfig.json, as plug-ins of vite take them.
_VITEST_CONFIGURATION = """\
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const { paths } = JSON.parse(readFileSync('tsconfig.json', 'utf8')).compilerOptions
const alias = Object.fromEntries(
  Object.entries(paths).map(([name, [file]]) => [name, resolve(file)]),
)
export default { resolve: { alias } }
"""
_VITEST_VISIBLE = """\
import { expect, test } from 'vitest'
import { label } from '@shop'
test('a label has its count', () => expect(label('figs', 7003)).toBe('figs: 7003'))
"""
_VITEST_HIDDEN = """\
import { describe, expect, it } from 'vitest'
import { sum } from '@shop'
describe('sums', () => {
  it('three numbers', () => {
    expect(sum([7000, 1000, 1])).toBe(8001)
  })
  it('nested', () => expect({ total: sum([4500, 11]) }).toEqual({ total: 4511 }))
})
"""


def _with_chai(test: str) -> str:
    for ours, other in {
        " expect,": "",
        "from 'vitest'\n": "from 'vitest'\nimport { expect } from 'chai'\n",
        "toBe": "to.equal",
        "toEqual": "to.deep.equal",
    }.items():
        test = test.replace(ours, other)
    return test


VITEST = JavaScriptTask(
    runner=Runner.VITEST,
    command="npx vitest run",
    packages=("vitest@1.6.1",),
    program="src/basket.ts",
    files={
        "src/basket.ts": TYPED_BUGGY,
        "test/basket.test.ts": _VITEST_VISIBLE,
        "tsconfig.json": '{"compilerOptions": {"paths": {"@shop": ["src/basket.ts"]}}}\n',
        "vitest.config.mts": _VITEST_CONFIGURATION,
        "package.json": '{"type": "module"}\n',
        ".gitignore": "node_modules\n",
    },
    test="test/hidden.test.ts",
    hidden=_VITEST_HIDDEN,
    fixed=TYPED_FIXED,
)
VITEST_WITH_CHAI = replace(
    VITEST,
    files={**VITEST.files, "test/basket.test.ts": _with_chai(_VITEST_VISIBLE)},
    hidden=_with_chai(_VITEST_HIDDEN),
)
"""Its tests have their assertions from a module that is not the tool's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaScriptAgent:
    """An agent that writes files."""

    name: str
    task: JavaScriptTask = NODE
    files: Mapping[str, str]
    """What it writes, by path."""

    fools_naive: bool = True
    """Whether the tool alone finds nothing wrong, in the agent's sandbox."""

    @property
    def line(self) -> str:
        """What it runs, a script for `sh`."""
        return "set -e\n" + "".join(
            f"mkdir -p $(dirname {path})\nrm -f {path}\ncat > {path} <<'END'\n{text.strip()}\nEND\n"
            + (f"chmod +x {path}\n" if text.startswith("#!") else "")
            for path, text in self.files.items()
        )


def agents_of(
    task: JavaScriptTask,
    files_by_name: Mapping[str, Mapping[str, str]],
    without_effect: Set[str] = frozenset(),
) -> list[JavaScriptAgent]:
    """An agent for each name; the names begin with that of the tool."""
    return [
        JavaScriptAgent(
            name=f"{task.runner}: {name}",
            task=task,
            files=files,
            fools_naive=name not in without_effect,
        )
        for name, files in files_by_name.items()
    ]
