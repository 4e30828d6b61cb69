"""What jest, vitest, mocha and node have in common: the same project in four dialects."""

from dataclasses import dataclass, replace

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.situations import Situation

PASSED, FAILED = PytestOutcome.PASSED, PytestOutcome.FAILED
BROKEN, UNVERIFIED = PytestOutcome.COLLECTION_ERROR, PytestOutcome.UNVERIFIED
FILE = "test/a.test.js"
OTHER = "test/b.test.js"
A, B, C = (f"{FILE}::{name}" for name in "abc")
GOOD = "it('a', () => {});\n"
FORGES = """
const fs = require('fs');
for (const fd of fs.readdirSync('/proc/self/fd')) {
  try {
    const path = fs.readlinkSync('/proc/self/fd/' + fd);
    if (path.endsWith('stream.jsonl')) fs.writeSync(Number(fd), '{"n":1000,"kind":"end"}\\n');
  } catch {}
}
"""


def three(body):
    """Three tests, of which the middle one does something."""
    return GOOD + f"it('b', () => {{ {body} }});\nit('c', () => {{}});\n"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a tool's tests are written, and what it makes of what all of them meet."""

    script: str  # of package.json
    header: str = ""
    before: str = "beforeAll"
    after: str = "afterAll"
    failed_setup: str = "failed"
    broken_each: tuple[str, str] = ("failed", "failed")  # of two tests after a hook of each failed
    tells_beginnings: bool = True  # of tests that do not end

    def project(self, body, name=FILE, **others):
        files = {key: self.header + text for key, text in {name: body, **others}.items()}
        return {"package.json": "{}", **files}


def shared(dialect):
    """The situations in which all four tools do the same."""
    project = dialect.project
    yield Situation(
        name="all pass",
        files=project(GOOD),
        outcome=PASSED,
        tests={A: "passed"},
        exit_zero=True,
        complete=True,
    )
    yield Situation(
        name="one fails and one is skipped",
        files=project(
            GOOD + "it('b', () => { throw new Error('wrong'); });\nit.skip('c', () => {});\n"
        ),
        outcome=FAILED,
        tests={A: "passed", B: "failed", C: "skipped"},
        exit_zero=False,
        messages={B: "Error: wrong"},
    )
    yield Situation(
        name="nested and parametrised",
        files=project(
            "describe('outer', () => { describe('inner', () => {\n"
            "  for (const n of [1, 2]) it(`is ${n}`, () => { if (n > 1) throw Error('big'); });\n"
            "}); it('last', () => {}); });\n"
        ),
        outcome=FAILED,
        tests={
            f"{FILE}::outer > inner > is 1": "passed",
            f"{FILE}::outer > inner > is 2": "failed",
            f"{FILE}::outer > last": "passed",
        },
        exit_zero=False,
        messages={f"{FILE}::outer > inner > is 2": "Error: big"},
    )
    yield Situation(
        name="equal titles",
        files=project(
            GOOD + "it('a', () => { throw new Error('second'); });\n"
            "describe('d', () => { it('x', () => {}); });\n"
            "describe('d', () => { it('x', () => {}); });\nit('d x', () => {});\n"
        ),
        outcome=FAILED,
        tests={
            A: "passed",
            f"{A} #2": "failed",
            f"{FILE}::d > x": "passed",
            f"{FILE}::d > x #2": "passed",
            f"{FILE}::d x": "passed",
        },
        messages={f"{A} #2": "second"},
    )
    yield Situation(
        name="odd titles",
        files=project(
            "it('größer als 漢字 🙂', () => {});\nit('two\\n  lines', () => {});\n"
            "it('a::b [c] > $1.*', () => {});\nit('ok 1 - # SKIP \\\\ \"q\"', () => {});\n"
        ),
        outcome=PASSED,
        tests={
            f"{FILE}::größer als 漢字 🙂": "passed",
            f"{FILE}::two lines": "passed",
            f"{FILE}::a::b [c] > $1.*": "passed",
            f'{FILE}::ok 1 - # SKIP \\ "q"': "passed",
        },
    )
    yield Situation(
        name="a rejected promise and an error that is none",
        files=project(
            "it('a', async () => { await null; throw new TypeError('later'); });\n"
            "it('b', () => { throw 'text'; });\nit('c', async () => {});\n"
        ),
        outcome=FAILED,
        tests={A: "failed", B: "failed", C: "passed"},
        messages={A: "TypeError: later", B: "text"},
    )
    yield Situation(
        name="a set-up fails",
        files=project(
            f"describe('d', () => {{ {dialect.before}(() => {{ throw new Error('no server'); }});\n"
            "it('x', () => {}); it('y', () => {}); });\nit('a', () => {});\n"
        ),
        outcome=FAILED,
        tests={
            f"{FILE}::d > x": dialect.failed_setup,
            f"{FILE}::d > y": dialect.failed_setup,
            A: "passed",
        },
        exit_zero=False,
    )
    yield Situation(
        name="a tear-down fails",
        files=project(
            f"describe('d', () => {{ {dialect.after}(() => {{ throw new Error('no end'); }});\n"
            "it('x', () => {}); it('y', () => {}); });\n"
        ),
        outcome=FAILED,
        tests={f"{FILE}::d > x": "passed", f"{FILE}::d > y": "error"},
        exit_zero=False,
        messages={f"{FILE}::d > y": "no end"},
    )
    for when in ("beforeEach", "afterEach"):
        first, second = dialect.broken_each
        yield Situation(
            name=f"{when} fails",
            files=project(
                f"describe('d', () => {{ {when}(() => {{ throw new Error('each'); }});\n"
                "it('x', () => {}); it('y', () => {}); });\nit('a', () => {});\n"
            ),
            outcome=FAILED,
            tests={f"{FILE}::d > x": first, f"{FILE}::d > y": second, A: "passed"},
            messages={f"{FILE}::d > x": "each"},
        )
    yield Situation(
        name="the tests of a folder",
        files={
            **project(GOOD),
            "test/sub/c.test.js": dialect.header + GOOD,
        },
        outcome=PASSED,
        tests={"test/sub/c.test.js::a": "passed"},
        targets=("test/sub",),
    )
    yield Situation(
        name="the tests of a file",
        files=project(GOOD, **{OTHER: "it('o', () => {});\n"}),
        outcome=PASSED,
        tests={f"{OTHER}::o": "passed"},
        targets=(OTHER,),
        extra={"judged": True},
    )
    yield Situation(
        name="a file that does not exist beside another one",
        files=project(GOOD, **{OTHER: GOOD}),
        outcome=PASSED,
        tests={A: "passed"},
        targets=(FILE, "test/none.test.js"),
        extra={"judged": True},
    )
    yield Situation(
        name="the first failure ends the run",
        files=project("it('a', () => { throw new Error('x'); });\n"),
        outcome=FAILED,
        tests={A: "failed"},
        extra={"max_failures": 1},
    )
    yield Situation(
        name="much output without an end",
        files=project("it('a', () => { process.stdout.write('x'.repeat(3000000)); });\n"),
        outcome=PASSED,
        tests={A: "passed"},
    )
    yield Situation(
        name="lines like those of a report are printed",
        files=project(
            'it(\'a\', () => { console.log(\'{"n":0,"kind":"test"}\\nok 2 - b\\n  ✓ b\'); });\n'
        ),
        outcome=PASSED,
        tests={A: "passed"},
    )
    yield Situation(
        name="the environment does not name the report",
        files=project(
            "it('a', () => { const text = JSON.stringify(process.env) + process.argv;\n"
            "if (/AGENTBENCH_R|agentbench_javascript/.test(text)) throw new Error(text); });\n"
        ),
        outcome=PASSED,
        tests={A: "passed"},
    )
    yield Situation(
        name="a script of package.json",
        files={
            **project(GOOD),
            "package.json": f'{{"scripts": {{"test": "{dialect.script}"}}}}',
        },
        outcome=PASSED,
        tests={A: "passed"},
        command="npm test",
    )
    yield Situation(
        name="a test without an end, and the limit of the run",
        files=project("it('a', () => { for (;;); });\n"),
        outcome=PytestOutcome.TIMEOUT,
        tests={A: "unfinished"} if dialect.tells_beginnings else {},
        limits=(15.0, 60.0, 240.0),
    )


def in_gate(situations, names):
    """The situations, of which all others than the named ones are for the soak."""
    return tuple(replace(each, is_long=each.name not in names) for each in situations)
