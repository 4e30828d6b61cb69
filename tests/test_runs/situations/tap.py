"""Commands that print the Test Anything Protocol: scripts, prove, and what tape and tap print."""

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.situations import Situation

PASSED, FAILED, UNVERIFIED = PytestOutcome.PASSED, PytestOutcome.FAILED, PytestOutcome.UNVERIFIED


def situation(name, text, outcome, tests=(), *, code=0, **more):
    """A script that prints a text; the ids of its tests without their file."""
    files = {"t/run.sh": f"cat <<'END'\n{text}\nEND\nexit {code}\n", **more.pop("files", {})}
    whole = "t/run.sh::{}".format
    named = {each if "::" in each else whole(each): word for each, word in dict(tests).items()}
    said = {each and whole(each): part for each, part in more.pop("messages", {}).items()}
    given = {"command": "sh t/run.sh", "messages": said, **more}
    return Situation(name=name, files=files, outcome=outcome, tests=named, **given)


NESTED = """TAP version 14
# Subtest: outer
    # Subtest: inner
        ok 1 - one
        not ok 2 - two
          ---
          found: 1
          text: |
            ok 3 - no test
          ...
        1..2
    not ok 1 - inner # time=1.5ms
    ok 2 - x
    1..2
not ok 1 - outer # time=3ms
ok 2 - y
1..2"""

SITUATIONS = (
    situation(
        "all pass",
        "TAP version 13\n1..2\nok 1 - a\nok 2 - b",
        PASSED,
        {"a": "passed", "b": "passed"},
        exit_zero=True,
        complete=True,
    ),
    situation(
        "no version, no numbers, and the plan at the end",
        "ok a\nnot ok - b\n# why\n1..2",
        FAILED,
        {"a": "passed", "b": "failed"},
        code=1,
    ),
    situation(
        "SKIP and TODO",
        "1..4\nok 1 - a # SKIP no network\nnot ok 2 - b # TODO later\nok 3 - c # todo\nok 4 - d",
        PASSED,
        {"a": "skipped", "b": "xfailed", "c": "xpassed", "d": "passed"},
        messages={"a": "no network"},
    ),
    situation(
        "a plan that skips all",
        "1..0 # SKIP no database",
        PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    situation(
        "fewer results than planned",
        "1..3\nok 1 - a\nok 2 - b",
        UNVERIFIED,
        {"a": "passed", "b": "passed"},
        complete=False,
    ),
    situation(
        "more results than planned",
        "1..1\nok 1 - a\nok 2 - b",
        UNVERIFIED,
        {"a": "passed", "b": "passed"},
    ),
    situation("no plan", "ok 1 - a", UNVERIFIED, {"a": "passed"}),
    situation("two plans", "1..1\nok 1 - a\n1..1", UNVERIFIED, {"a": "passed"}),
    situation(
        "bailing out",
        "1..2\nok 1 - a\nBail out! no database",
        PytestOutcome.CRASH,
        {"a": "passed"},
        code=255 - 128,
        messages={"": "Bail out! no database"},
    ),
    situation(
        "bailing out after all results",
        "1..1\nok 1 - a\nBail out!",
        UNVERIFIED,
        {"a": "passed"},
    ),
    situation(
        "nested subtests",
        NESTED,
        FAILED,
        {
            "outer": "failed",
            "outer > inner": "failed",
            "outer > inner > one": "passed",
            "outer > inner > two": "failed",
            "outer > x": "passed",
            "y": "passed",
        },
        code=1,
    ),
    situation(
        "a subtest without its plan",
        NESTED.replace("        1..2\n", ""),
        PytestOutcome.CRASH,
        {
            "outer": "failed",
            "outer > inner": "failed",
            "outer > inner > one": "passed",
            "outer > inner > two": "failed",
            "outer > x": "passed",
            "y": "passed",
        },
        code=1,
    ),
    situation(
        "subtests in braces",
        "1..1\nok 1 - outer {\n    ok 1 - in\n    1..1\n}",
        PASSED,
        {"outer": "passed", "outer > in": "passed"},
    ),
    situation(
        "a subtest that never ended",
        "# Subtest: outer\n    ok 1 - in\n",
        UNVERIFIED,
        {},
    ),
    situation(
        "names with signs, and without",
        "1..3\nok 1 - issue \\#5 größe::x\nok 2\nok 3 - 日本 (a/b)",
        PASSED,
        {"t/run.sh::issue #5 größe::x": "passed", "test 2": "passed", "日本 (a/b)": "passed"},
    ),
    situation(
        "a name that is used twice",
        "1..2\nok 1 - a\nok 2 - a",
        PASSED,
        {"a": "passed, passed"},
    ),
    situation(
        "other output between the lines",
        "building...\nok\nTAP version 13\nok 1 - a\nokay then\n  indented ok\n1..1\ndone",
        UNVERIFIED,  # `ok` alone is a result, too
        {"test 1": "passed", "a": "passed"},
    ),
    situation(
        "the tests of tape",
        "TAP version 13\n# first\nok 1 should be equal\nok 2 should be equal\n# second\n"
        "not ok 3 should be equal\n  ---\n    operator: equal\n  ...\n# SKIP third\n\n1..3\n"
        "# tests 3\n# pass 2\n# fail 1",
        FAILED,
        {"first": "passed", "second": "failed", "third": "skipped"},
        code=1,
        messages={"second": "should be equal"},
    ),
    situation(
        "a file as a subtest",
        "TAP version 14\n# Subtest: t/a.test.js\n    ok 1 - x\n    1..1\nok 1 - t/a.test.js\n1..1",
        PASSED,
        {"t/a.test.js::x": "passed", "t/a.test.js::the whole file": "passed"},
        files={"t/a.test.js": ""},
    ),
    situation(
        "prove with two files",
        "",
        FAILED,
        {"t/a.t::a": "passed", "t/b.t::a": "failed", "t/b.t::b": "passed"},
        command="prove --verbose t",
        files={
            "t/a.t": "print qq{1..1\\nok 1 - a\\n};",
            "t/b.t": "use Test::More tests => 2; ok(0, 'a'); ok(1, 'b');",
        },
    ),
    situation(
        "prove with a file that dies",
        "",
        PytestOutcome.CRASH,
        {"t/a.t::a": "passed", "t/b.t::a": "passed"},
        command="prove -v t",
        files={
            "t/a.t": "print qq{1..1\\nok 1 - a\\n};",
            "t/b.t": "print qq{1..2\\nok 1 - a\\n}; exit 3;",
        },
    ),
    situation(
        "prove with subtests",
        "",
        PASSED,
        {"t/a.t::s": "passed", "t/a.t::s > in": "passed"},
        command="prove -v t",
        files={
            "t/a.t": "use Test::More; subtest s => sub { ok(1, 'in'); done_testing };\n"
            "done_testing;",
        },
    ),
    situation(
        "no TAP at all",
        "All tests passed!",
        UNVERIFIED,
        exit_zero=True,
    ),
    situation(
        "a report in files",
        "",
        FAILED,
        {"out/a.tap::a": "passed", "out/b.tap::a": "failed"},
        command="sh w.sh",
        report="out/*.tap",
        files={
            "w.sh": "mkdir -p out; printf '1..1\\nok 1 a\\n' >out/a.tap\n"
            "printf 'not ok 1 a\\n1..1\\n' >out/b.tap; exit 1\n",
            "out/old.tap": "1..1\nok 1 - old\n",
        },
    ),
    situation(
        "a report that was not written",
        "1..1\nok 1 - a",
        UNVERIFIED,
        report="out/*.tap",
        messages={"": "wrote no file out/*.tap"},
    ),
    situation(
        "a failure that the exit code hides",
        "1..1\nnot ok 1 - a",
        UNVERIFIED,
        {"a": "failed"},
        exit_zero=True,
    ),
    situation(
        "the time limit",
        "",
        PytestOutcome.TIMEOUT,
        {"t/s.sh::a": "passed"},
        command="sh t/s.sh",
        files={"t/s.sh": "echo 1..2; echo 'ok 1 - a'; sleep 6000\n"},
        limits=(3.0, 20.0),
    ),
)
