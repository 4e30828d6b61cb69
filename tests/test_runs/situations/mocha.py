"""mocha."""

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.situations import Situation
from tests.test_runs.situations.javascript import (
    BROKEN,
    FAILED,
    FILE,
    FORGES,
    GOOD,
    OTHER,
    PASSED,
    UNVERIFIED,
    A,
    B,
    C,
    Dialect,
    in_gate,
    shared,
    three,
)

MOCHA = Dialect(
    script="mocha",
    before="before",
    after="after",
    failed_setup="error",
    broken_each=("error", "error"),
)
project = MOCHA.project
GATE = {
    "one fails and one is skipped",
    "equal titles",
    "a set-up fails",
    "a tear-down fails",
    "a file of invalid syntax beside a good one",
    "process.exit(0) in the middle",
    "the test of an id",
    "collecting only",
}

OWN = (
    Situation(
        name="a file of invalid syntax beside a good one",
        files=project(GOOD, **{OTHER: "it('o', () => {});\n(]\n"}),
        outcome=BROKEN,
        errors=(f"{OTHER}:2",),
        exit_zero=False,
        messages={"": "SyntaxError: Unexpected token"},
    ),
    Situation(
        name="an import that does not exist",
        files=project("const x = require('../src/none');\n" + GOOD),
        outcome=BROKEN,
        errors=(f"{FILE}:1",),
        exit_zero=False,
        messages={"": "Error: Cannot find module '../src/none'"},
    ),
    Situation(
        name="a file that throws",
        files=project(GOOD + "throw new Error('at the top');\n"),
        outcome=BROKEN,
        errors=(f"{FILE}:2",),
        messages={"": "Error: at the top"},
    ),
    Situation(
        name="a file without tests",
        files=project("", **{OTHER: GOOD}),
        outcome=PASSED,
        tests={f"{OTHER}::a": "passed"},
    ),
    Situation(
        name="process.exit(0) in the middle",
        files=project(three("process.exit(0)")),
        outcome=UNVERIFIED,
        tests={A: "passed", B: "unfinished"},
        exit_zero=True,
        complete=False,
    ),
    Situation(
        name="a signal",
        files=project(three("process.kill(process.pid, 'SIGSEGV')")),
        outcome=PytestOutcome.CRASH,
        tests={A: "passed", B: "unfinished"},
        complete=False,
    ),
    Situation(
        name="a test of too long a time",
        files=project("it('a', function (done) { this.timeout(50); });\nit('b', () => {});\n"),
        outcome=FAILED,
        tests={A: "failed", B: "passed"},
        messages={A: "Timeout of 50ms exceeded"},
    ),
    Situation(
        name="a test that ends twice",
        files=project(
            "it('a', (done) => { done(); setTimeout(done, 20); });\n"
            "it('b', (done) => { setTimeout(done, 200); });\n"
        ),
        outcome=FAILED,
        tests={A: "failed", B: "passed"},
        messages={A: "done() called multiple times"},
    ),
    Situation(
        name="something that stays open",
        files=project(GOOD + "setInterval(() => {}, 1000);\n"),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="only one of them",
        files=project("it.only('a', () => {});\nit('b', () => {});\n"),
        outcome=PASSED,
        tests={A: "passed"},
    ),
    Situation(
        name="one to do and one that skips itself",
        files=project(GOOD + "it('b');\nit('c', function () { this.skip(); });\n"),
        outcome=PASSED,
        tests={A: "passed", B: "skipped", C: "skipped"},
    ),
    Situation(
        name="a test that is repeated",
        files=project(
            "let n = 0;\nit('a', function () { this.retries(2); n += 1;\n"
            "if (n < 3) throw new Error('again'); });\n"
        ),
        outcome=PASSED,
        tests={A: "passed"},
        messages={A: "passed on try 3"},
    ),
    Situation(
        name="a repeated test that fails in the end",
        files=project(
            "it('a', function () { this.retries(1); throw new Error('again'); });\n" + three("")
        ),
        outcome=FAILED,
        tests={A: "failed", f"{A} #2": "passed", B: "passed", C: "passed"},
    ),
    Situation(
        name="no tests",
        files={"package.json": "{}", "index.js": ""},
        outcome=PytestOutcome.NO_TESTS,
    ),
    Situation(
        name="the test of an id",
        files=project(
            "describe('d (1)', () => { it('x', () => {}); it('x y', () => {}); });\n"
            "it('x', () => {});\n"
        ),
        outcome=PASSED,
        tests={f"{FILE}::d (1) > x": "passed"},
        targets=(f"{FILE}::d (1) > x",),
    ),
    Situation(
        name="a keyword",
        files=project("it('one', () => {});\nit('two', () => {});\n"),
        outcome=PASSED,
        tests={f"{FILE}::one": "passed"},
        extra={"keyword": "on"},
    ),
    Situation(
        name="collecting only",
        files=project("describe('d', () => { it('x', () => { throw 1; }); });\n" + GOOD),
        outcome=PASSED,
        listed=(A, f"{FILE}::d > x"),
        extra={"collect_only": True},
    ),
    Situation(
        name="the configuration ends at the first failure",
        files={
            **project("it('a', () => { throw 1; });\n", **{OTHER: "it('a', () => { throw 1; });"}),
            ".mocharc.json": '{"bail": true, "reporter": "dot", "parallel": true}',
        },
        outcome=FAILED,
        tests={A: "failed", f"{OTHER}::a": "failed"},
        extra={"judged": True},
    ),
    Situation(
        name="files that the configuration names",
        files={
            **project("", "spec/a.js", **{"spec/deep/b.js": "it('o', () => {});\n"}),
            ".mocharc.json": '{"spec": "spec/**/*.js"}',
        },
        outcome=PASSED,
        tests={"spec/deep/b.js::o": "passed"},
        targets=("spec",),
        extra={"judged": True},
    ),
    Situation(
        name="a failed assertion",
        files=project("it('a', () => { require('assert').strictEqual(1, 2); });\n"),
        outcome=FAILED,
        tests={A: "failed"},
        messages={A: "AssertionError: Expected values to be strictly equal: 1 !== 2"},
    ),
    Situation(
        name="a set-up of all files that fails",
        files=project(
            GOOD, **{OTHER: "before(() => { throw new Error('root'); });\nit('o', () => {});\n"}
        ),
        outcome=FAILED,
        tests={A: "error", f"{OTHER}::o": "error"},
        messages={A: "Error: root"},
    ),
    Situation(
        name="tests that are made while others run",
        files=project(
            "describe('d', () => { it('x', () => {}); });\n"
            "setTimeout(() => { it('late', () => {}); run(); }, 20);\n"
        ),
        outcome=PASSED,
        tests={f"{FILE}::late": "passed", f"{FILE}::d > x": "passed"},
        command="npx mocha --delay",
    ),
    Situation(
        name="a line in the report that is not the reporter's",
        files=project(f"it('a', () => {{ {FORGES} }});\n"),
        outcome=PASSED,
        tests={A: "passed"},
        forged=True,
    ),
    Situation(
        name="modules",
        files=project(
            "import assert from 'node:assert';\nit('a', () => { assert.ok(1); });\n",
            name="test/a.test.mjs",
        ),
        outcome=PASSED,
        tests={"test/a.test.mjs::a": "passed"},
    ),
    Situation(
        name="a module of invalid syntax",
        files=project("import nothing from;\n", name="test/a.test.mjs"),
        outcome=BROKEN,
        errors=("test/a.test.mjs",),  # mocha does not tell the line
    ),
    Situation(
        name="an option without its value",
        files=project(GOOD),
        outcome=PytestOutcome.USAGE,
        command="npx mocha --ui=none-like-it",
    ),
)
SITUATIONS = in_gate((*shared(MOCHA), *OWN), GATE)
