"""`node --test`."""

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.situations import Situation
from tests.test_runs.situations.javascript import (
    BROKEN,
    FAILED,
    FILE,
    GOOD,
    OTHER,
    PASSED,
    A,
    B,
    C,
    Dialect,
    in_gate,
    shared,
    three,
)

NODE = Dialect(
    script="node --test",
    header="const { test, it, describe, before, after, beforeEach, afterEach } = "
    "require('node:test');\n",
    before="before",
    after="after",
    failed_setup="error",
    broken_each=("error", "error"),
    tells_beginnings=False,
)
project = NODE.project
GATE = {
    "one fails and one is skipped",
    "equal titles",
    "a set-up fails",
    "a tear-down fails",
    "a file of invalid syntax beside a good one",
    "process.exit(0) in the middle",
    "the test of an id",
    "subtests",
}

OWN = (
    Situation(
        name="a file of invalid syntax beside a good one",
        files=project(GOOD, **{OTHER: "it('o', () => {});\n(]\n"}),
        outcome=BROKEN,
        tests={A: "passed"},
        errors=(f"{OTHER}:3",),
        exit_zero=False,
        messages={"": "SyntaxError: Unexpected token"},
    ),
    Situation(
        name="an import that does not exist",
        files=project("const x = require('../src/none');\n" + GOOD),
        outcome=BROKEN,
        errors=(f"{FILE}:2",),
        exit_zero=False,
        messages={"": "Error: Cannot find module '../src/none'"},
    ),
    Situation(
        name="a file without tests",
        files=project("", **{OTHER: GOOD}),
        outcome=PASSED,
        tests={f"{OTHER}::a": "passed"},
    ),
    Situation(
        name="process.exit(0) in the middle",
        files=project(three("process.exit(0)"), **{OTHER: GOOD}),
        outcome=PASSED,  # of the other file: an expected test is missing
        tests={f"{OTHER}::a": "passed"},
        exit_zero=True,
    ),
    Situation(
        name="process.exit(0) in the only file",
        files=project(three("process.exit(0)")),
        outcome=PytestOutcome.NO_TESTS,
    ),
    Situation(
        name="a signal",
        files=project(three("process.kill(process.pid, 'SIGSEGV')"), **{OTHER: GOOD}),
        outcome=BROKEN,
        tests={f"{OTHER}::a": "passed"},
        errors=(FILE,),
    ),
    Situation(
        name="a test of too long a time",
        files=project(
            "it('a', { timeout: 50 }, () => new Promise((r) => setTimeout(r, 500)));\n"
            "it('b', () => {});\n"
        ),
        outcome=FAILED,
        tests={A: "failed", B: "passed"},
        messages={A: "timed out after 50ms"},
    ),
    Situation(
        name="a promise that never settles",
        files=project("it('a', () => new Promise(() => {}));\nit('b', () => {});\n"),
        outcome=FAILED,
        tests={A: "error", B: "error"},
        exit_zero=False,
    ),
    Situation(
        name="an error after all tests",
        files=project(
            GOOD + "it('b', async () => { await new Promise((r) => setTimeout(r, 100)); });\n"
            "process.on('exit', () => { process.exitCode = 3; });\n"
        ),
        outcome=FAILED,
        tests={A: "passed", B: "error"},
        exit_zero=False,
    ),
    Situation(
        name="subtests",
        files=project(
            "test('parent', async (t) => { await t.test('one', () => {});\n"
            "await t.test('two', () => { throw new Error('child'); }); });\n" + GOOD
        ),
        outcome=FAILED,
        tests={
            f"{FILE}::parent > one": "passed",
            f"{FILE}::parent > two": "failed",
            f"{FILE}::parent": "failed",
            A: "passed",
        },
        messages={f"{FILE}::parent > two": "Error: child"},
    ),
    Situation(
        name="only one of them",
        files=project("it.only('a', () => {});\nit('b', () => {});\n"),
        outcome=PASSED,
        tests={A: "passed", B: "passed"},
    ),
    Situation(
        name="one to do and one that skips itself",
        files=project(
            GOOD + "it.todo('b', () => { throw 1; });\ntest('c', (t) => { t.skip('no'); });\n"
        ),
        outcome=PASSED,
        tests={A: "passed", B: "skipped", C: "skipped"},
        exit_zero=True,
    ),
    Situation(
        name="no tests",
        files={"package.json": "{}", "index.js": ""},
        outcome=PytestOutcome.NO_TESTS,
    ),
    Situation(
        name="the test of an id",
        files=project(
            "describe('d (1)', () => { it('x', () => {}); });\n"
            "describe('e', () => { it('y', () => { throw 1; }); });\n"
        ),
        outcome=PASSED,
        tests={f"{FILE}::d (1) > x": "passed"},
        targets=(f"{FILE}::d (1) > x",),
    ),
    Situation(
        name="the test of an id before Node 22",
        files=project(
            "describe('d (1)', () => { it('x', () => {}); });\n"
            "describe('e', () => { it('y', () => { throw 1; }); });\n"
        ),
        outcome=PASSED,
        tests={f"{FILE}::d (1) > x": "passed", f"{FILE}::e > y": "skipped"},
        targets=(f"{FILE}::d (1) > x",),
    ),
    Situation(
        name="the tests of a file that the command does not name",
        files=project(GOOD, **{"check/o.mjs": "", OTHER: "it('o', () => {});\n"}),
        outcome=PASSED,
        tests={f"{OTHER}::o": "passed"},
        command="node --no-warnings --test --test-concurrency=1 test/a.test.js",
        targets=(OTHER,),
        extra={"judged": True},
    ),
    Situation(
        name="a reporter that the command names",
        files=project(GOOD),
        outcome=PASSED,
        tests={A: "passed"},
        command="node --test --test-reporter tap --test-reporter-destination=stdout",
    ),
    Situation(
        name="a failed assertion",
        files=project("it('a', () => { require('assert').strictEqual(1, 2); });\n"),
        outcome=FAILED,
        tests={A: "failed"},
        messages={A: "AssertionError: Expected values to be strictly equal: 1 !== 2"},
    ),
    Situation(
        name="tests of a helper",
        files=project(
            "require('./helper.js')('a');\n",
            **{"test/helper.js": "module.exports = (name) => it(name, () => {});\n"},
        ),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="tests at the same time",
        files=project(
            "const wait = (ms) => new Promise((r) => setTimeout(r, ms));\n"
            "describe('d', { concurrency: true }, () => {\n"
            "it('a', async () => { await wait(200); throw new Error('slow'); });\n"
            "it('a', async () => {}); });\n"
        ),
        outcome=FAILED,
        tests={f"{FILE}::d > a": "failed", f"{FILE}::d > a #2": "passed"},
    ),
    Situation(
        name="modules",
        files={
            "package.json": "{}",
            "test/a.test.mjs": "import { it } from 'node:test';\nit('a', () => {});\n",
        },
        outcome=PASSED,
        tests={"test/a.test.mjs::a": "passed"},
    ),
    Situation(
        name="an option that does not exist",
        files=project(GOOD),
        outcome=PytestOutcome.USAGE,
        command="node --no-such-option-at-all --test",
    ),
)
SITUATIONS = in_gate((*shared(NODE), *OWN), GATE)
