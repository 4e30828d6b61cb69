"""jest."""

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
    Dialect,
    in_gate,
    shared,
    three,
)

JEST = Dialect(script="jest")
project = JEST.project
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
        tests={A: "passed"},
        errors=("test/b.test.js",),
        exit_zero=False,
        messages={"": "SyntaxError"},
    ),
    Situation(
        name="an import that does not exist",
        files=project("const x = require('../src/none');\n" + GOOD),
        outcome=BROKEN,
        errors=(f"{FILE}:1",),
        exit_zero=False,
        messages={"": "Cannot find module '../src/none'"},
    ),
    Situation(
        name="a file without tests",
        files=project("", **{OTHER: GOOD}),
        outcome=BROKEN,
        tests={f"{OTHER}::a": "passed"},
        errors=(FILE,),
        messages={"": "must contain at least one test"},
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
        files=project("it('a', () => new Promise(() => {}), 50);\nit('b', () => {});\n"),
        outcome=FAILED,
        tests={A: "failed", B: "passed"},
        messages={A: "timeout of 50 ms"},
    ),
    Situation(
        name="only one of them",
        files=project("it.only('a', () => {});\nit('b', () => {});\n"),
        outcome=PASSED,
        tests={A: "passed", B: "skipped"},
    ),
    Situation(
        name="one to do",
        files=project(GOOD + "it.todo('b');\n"),
        outcome=PASSED,
        tests={A: "passed", B: "skipped"},
    ),
    Situation(
        name="a test that is repeated",
        files=project(
            "jest.retryTimes(2);\nlet n = 0;\n"
            "it('a', () => { n += 1; if (n < 3) throw new Error('again'); });\n"
        ),
        outcome=PASSED,
        tests={A: "passed"},
        command="npx jest --testRunner=jest-circus/runner",
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
        tests={
            f"{FILE}::d (1) > x": "passed",
            f"{FILE}::d (1) > x y": "skipped",
            f"{FILE}::x": "skipped",
        },
        targets=(f"{FILE}::d (1) > x",),
    ),
    Situation(
        name="a keyword",
        files=project("it('one', () => {});\nit('two', () => {});\n"),
        outcome=PASSED,
        tests={f"{FILE}::one": "passed", f"{FILE}::two": "skipped"},
        extra={"keyword": "on"},
    ),
    Situation(
        name="collecting only",
        files=project("describe('d', () => { it('x', () => { throw 1; }); });\n" + GOOD),
        outcome=PASSED,
        listed=(f"{FILE}::d > x", A),
        extra={"collect_only": True},
    ),
    Situation(
        name="the configuration ends at the first failure",
        files={
            **project("it('a', () => { throw 1; });\n", **{OTHER: "it('a', () => { throw 1; });"}),
            "jest.config.js": "module.exports = { bail: 1, reporters: [], maxWorkers: 1 };",
        },
        outcome=FAILED,
        tests={A: "failed", f"{OTHER}::a": "failed"},
        extra={"judged": True},
    ),
    Situation(
        name="thresholds of coverage",
        files={
            **project(GOOD),
            "jest.config.js": "module.exports = { collectCoverage: true, "
            "collectCoverageFrom: ['*.js'], coverageThreshold: { global: { lines: 100 } } };",
            "src.js": "module.exports = () => 1;\n",
        },
        outcome=PASSED,
        tests={A: "passed"},
        exit_zero=True,
    ),
    Situation(
        name="a snapshot that is not there",
        files=project("it('a', () => { expect(1).toMatchSnapshot(); });\n"),
        outcome=FAILED,
        tests={A: "failed"},
    ),
    Situation(
        name="a failed expectation",
        files=project("it('a', () => { expect(1).toBe(2); });\n"),
        outcome=FAILED,
        tests={A: "failed"},
        messages={A: "Expected: 2 Received: 1"},
    ),
    Situation(
        name="a table of tests",
        files=project("it.each([[1, 2], [2, 2]])('%i is %i', (a, b) => { expect(a).toBe(b); });\n"),
        outcome=FAILED,
        tests={f"{FILE}::1 is 2": "failed", f"{FILE}::2 is 2": "passed"},
    ),
    Situation(
        name="a line in the report that is not the reporter's",
        files=project(f"it('a', () => {{ {FORGES} }});\n"),
        outcome=PASSED,
        tests={A: "passed"},
        forged=True,
    ),
    Situation(
        name="two projects with one file",
        files={
            **project(GOOD),
            "jest.config.js": "module.exports = { projects: ["
            "{ displayName: 'one' }, { displayName: 'two' }] };",
        },
        outcome=PASSED,
        tests={f"{A} [one]": "passed", f"{A} [two]": "passed"},
    ),
)
SITUATIONS = in_gate((*shared(JEST), *OWN), GATE)
