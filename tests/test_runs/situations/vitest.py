"""vitest."""

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

VITEST = Dialect(
    script="vitest run",
    header="import { it, describe, expect, beforeAll, afterAll, beforeEach, afterEach } "
    "from 'vitest';\n",
    failed_setup="error",
    tells_beginnings=False,
)
project = VITEST.project
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
        errors=(f"{OTHER}:3",),
        exit_zero=False,
    ),
    Situation(
        name="an import that does not exist",
        files=project("import x from '../src/none';\n" + GOOD),
        outcome=BROKEN,
        errors=(f"{FILE}:2",),
        exit_zero=False,
        messages={"": "../src/none"},
    ),
    Situation(
        name="a file that throws",
        files=project(GOOD + "throw new Error('at the top');\n"),
        outcome=BROKEN,
        errors=(f"{FILE}:3",),
        messages={"": "Error: at the top"},
    ),
    Situation(
        name="a file without tests",
        files=project("", **{OTHER: GOOD}),
        outcome=BROKEN,
        tests={f"{OTHER}::a": "passed"},
        errors=(FILE,),
        messages={"": "No test suite found"},
    ),
    Situation(
        name="process.exit(0) in the middle",
        files=project(three("process.exit(0)")),
        outcome=FAILED,
        tests={A: "passed", B: "failed", C: "passed"},
        exit_zero=False,
        messages={B: "process.exit unexpectedly called"},
    ),
    Situation(
        name="a test of too long a time",
        files=project("it('a', () => new Promise(() => {}), 50);\nit('b', () => {});\n"),
        outcome=FAILED,
        tests={A: "failed", B: "passed"},
        messages={A: "timed out in 50ms"},
    ),
    Situation(
        name="an error after all tests",
        files=project(
            GOOD + "it('b', async () => { setTimeout(() => { throw new Error('late'); }, 20);\n"
            "await new Promise((r) => setTimeout(r, 200)); });\n"
        ),
        outcome=FAILED,
        tests={A: "passed", B: "error"},
        exit_zero=False,
        messages={B: "Error: late"},
    ),
    Situation(
        name="a rejection that nobody handles",
        files=project(
            GOOD + "it('b', async () => { Promise.reject(new Error('lost'));\n"
            "await new Promise((r) => setTimeout(r, 200)); });\n"
        ),
        outcome=FAILED,
        tests={A: "passed", B: "error"},
        messages={B: "Error: lost"},
    ),
    Situation(
        name="only one of them",
        files=project("it.only('a', () => {});\nit('b', () => {});\n"),
        outcome=PASSED,
        tests={A: "passed", B: "skipped"},
        command="npx vitest run --allowOnly",
    ),
    Situation(
        name="only one of them, which is not allowed",
        files=project("it.only('a', () => {});\nit('b', () => {});\n"),
        outcome=FAILED,
        tests={A: "failed", B: "skipped"},
        messages={A: "Unexpected .only modifier"},
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
            "let n = 0;\n"
            "it('a', { retry: 2 }, () => { n += 1; if (n < 3) throw new Error('again'); });\n"
        ),
        outcome=PASSED,
        tests={A: "passed"},
        messages={A: "passed on try 3"},
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
            "vitest.config.mjs": "export default { test: { bail: 1, reporters: ['dot'], "
            "fileParallelism: false, coverage: { enabled: true } } };",
        },
        outcome=FAILED,
        tests={A: "failed", f"{OTHER}::a": "failed"},
        extra={"judged": True},
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
        messages={A: "AssertionError: expected 1 to be 2"},
    ),
    Situation(
        name="a table of tests",
        files=project("it.each([[1, 2], [2, 2]])('%i is %i', (a, b) => { expect(a).toBe(b); });\n"),
        outcome=FAILED,
        tests={f"{FILE}::1 is 2": "failed", f"{FILE}::2 is 2": "passed"},
    ),
    Situation(
        name="tests at the same time",
        files=project(
            "const wait = (ms) => new Promise((r) => setTimeout(r, ms));\n"
            "it.concurrent('a', async () => { await wait(200); throw new Error('slow'); });\n"
            "it.concurrent('a', async () => {});\n"
        ),
        outcome=FAILED,
        tests={A: "failed", f"{A} #2": "passed"},
    ),
    Situation(
        name="TypeScript",
        files=project(
            "const n: number = 1;\nit('a', () => { expect(n as number).toBe(1); });\n",
            name="test/a.test.ts",
        ),
        outcome=PASSED,
        tests={"test/a.test.ts::a": "passed"},
    ),
    Situation(
        name="a worker that crashes",
        files=project(
            "it('b', async () => { process.kill(process.pid, 'SIGKILL');\n"
            "await new Promise(() => {}); });\n"
        ),
        outcome=FAILED,
        tests={B: "unfinished"},
        exit_zero=False,
        command="npx vitest run --pool=forks",
    ),
    Situation(
        name="an option that does not exist",
        files=project(GOOD),
        outcome=PytestOutcome.USAGE,
        command="npx vitest run --no-such-option-at-all=1",
    ),
)
SITUATIONS = in_gate((*shared(VITEST), *OWN), GATE)
