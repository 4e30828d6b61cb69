import json
from datetime import timedelta
from pathlib import Path, PurePosixPath

import pytest

from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
from agentbench.test_runs.external_runner import OUTPUT_FILE
from agentbench.test_runs.javascript import SECOND_FILE, STREAM_FILE
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.fakes.local_sandbox import LocalSandbox

JAVASCRIPT = (Runner.JEST, Runner.VITEST, Runner.MOCHA, Runner.NODE)


def request_for(runner, line="", **fields):
    line = line or RUNNER_COMMANDS[runner].usual
    chosen = runner_of(parse_test_command(line, runner))
    return RunRequest(runner=chosen, timeout=timedelta(minutes=1), **fields)


def stream(*records):
    return "".join(json.dumps({"n": n, **one}) + "\n" for n, one in enumerate(records))


START, END = {"kind": "start"}, {"kind": "end"}


def one(status="passed", *titles, file="a.test.js", kind="test", **more):
    return {"kind": kind, "file": file, "titles": titles or ["a"], "status": status, **more}


def report_of(*records, runner=Runner.MOCHA, text="", output="", second=None, **fields):
    request = request_for(runner, **fields)
    files = {STREAM_FILE: text or stream(*records), OUTPUT_FILE: output}
    files |= {} if second is None else {SECOND_FILE: second}
    return request.runner.report(files, request)


def outcomes(report):
    return {case.node_id: case.outcome.value for case in report.cases}


def test_equal_titles_are_numbered_in_their_order():
    report = report_of(
        START, one(), one("failed"), one("passed", "d", "a"), one(file="b.test.js"), END
    )
    assert outcomes(report) == {
        "a.test.js::a": "passed",
        "a.test.js::a #2": "failed",
        "a.test.js::d > a": "passed",
        "b.test.js::a": "passed",
    }
    assert report.finished
    assert report.forged == []


def test_a_test_has_the_names_that_tools_print():
    (case,) = report_of(START, one("passed", "outer", "is\n  big"), END).cases
    assert case.node_id == "a.test.js::outer > is big"
    assert set(case.names) == {
        "is big",
        "outer is big",
        "outer > is big",
        "a.test.js > outer > is big",
    }


def test_projects_are_named_only_if_a_file_runs_in_several():
    both = [one(project="p"), one(project="q"), one(file="b.test.js", project="p")]
    assert list(outcomes(report_of(START, *both, END))) == [
        "a.test.js::a [p]",
        "a.test.js::a [q]",
        "b.test.js::a",
    ]


def test_what_is_known_of_a_file_that_did_not_end_is_kept():
    begun = [one(kind="begin"), one("passed", kind="case"), one("", "b", kind="begin")]
    report = report_of(START, *begun)
    assert outcomes(report) == {"a.test.js::a": "passed", "a.test.js::b": "unfinished"}
    assert not report.finished


def test_results_of_a_file_that_ended_count_alone():
    tries = [one("failed", kind="case"), one("passed", kind="case", retries=1)]
    report = report_of(START, *tries, one("passed", retries=1), END)
    assert outcomes(report) == {"a.test.js::a": "passed"}
    assert report.cases[0].message == "passed on try 2"


def test_a_failure_after_the_tests_of_a_file_is_the_last_ones():
    late = {"kind": "late", "file": "a.test.js", "error": "Error", "message": "no end"}
    report = report_of(START, one(), one("passed", "b"), one(file="b.test.js"), late, END)
    assert outcomes(report) == {
        "a.test.js::a": "passed",
        "a.test.js::b": "error",
        "b.test.js::a": "passed",
    }
    assert report.cases[1].message == "Error: no end"


def test_a_file_that_cannot_be_loaded_is_an_error_with_its_line():
    error = {
        "kind": "error",
        "file": "a.test.js",
        "error": "SyntaxError",
        "message": "Unexpected token",
        "stack": "/w/a.test.js:7\n  (]\n",
    }
    (found,) = report_of(START, error, END).errors
    assert (found.file, found.fact.line) == ("a.test.js", 7)
    assert found.message == "SyntaxError: Unexpected token"


@pytest.mark.parametrize(
    "text",
    [
        stream(START, one()) + '{"n":3,"kind":"end"}\n',
        stream(START, one()) + '{"n":1,"kind":"end"}\n',
        stream(START, one()) + "ok 1\n" + '{"n":2,"kind":"end"}\n',
        stream(START, END, one()),
        stream(START, {"kind": "invented"}, END),
        '{"n":"0","kind":"start"}\n',
        '{"n":0.0,"kind":"start"}\n',
    ],
    ids=["gap", "repeated", "no JSON", "after the end", "unknown", "a text", "a fraction"],
)
def test_lines_that_the_reporter_did_not_write_are_told(text):
    assert report_of(text=text).forged == ["agentbench stream"]


def test_a_truncated_last_line_is_no_forgery():
    report = report_of(text=stream(START, one()) + '{"n":2,"ki')
    assert report.forged == []
    assert not report.finished


def of_jest(*tests):
    results = [{"ancestorTitles": t[:-2], "title": t[-2], "status": t[-1]} for t in tests]
    return json.dumps({"testResults": [{"assertionResults": results}]})


@pytest.mark.parametrize("runner", [Runner.JEST, Runner.VITEST])
def test_a_passed_test_that_the_tools_report_does_not_have_is_taken_back(runner):
    own = of_jest(("d", "a", "passed"), ("b", "failed"))
    records = [START, one("passed", "d", "a"), one("passed", "b"), one("passed", "d", "a"), END]
    report = report_of(*records, runner=runner, second=own)
    assert outcomes(report) == {
        "a.test.js::d > a": "passed",
        "a.test.js::b": "unfinished",
        "a.test.js::d > a #2": "unfinished",
    }
    assert set(report.forged) == {"the tool's own report"}


def test_tap_of_node_is_the_second_report():
    records = [START, one("passed", "d", "a # b"), one("passed", "c"), one("skipped", "e"), END]
    tap = "TAP version 13\n# Subtest: d\n    ok 1 - a \\# b\n    not ok 2 - c\nok 3 - e # SKIP\n"
    report = report_of(*records, runner=Runner.NODE, second=tap)
    assert list(outcomes(report).values()) == ["passed", "unfinished", "skipped"]


@pytest.mark.parametrize("runner", [Runner.JEST, Runner.VITEST, Runner.NODE])
def test_a_run_without_the_tools_report_is_not_finished(runner):
    report = report_of(START, one(), END, runner=runner)
    assert not report.finished
    assert report.detail == "the tool's own report is missing"


@pytest.mark.parametrize(
    "output", ["No tests found, exiting with code 1", "Error: No test files found: x"]
)
def test_no_tests_are_told_by_the_output(output):
    report = report_of(output=output)
    assert report.started
    assert report.finished
    assert report.cases == []


def test_a_file_that_mocha_cannot_load_is_found_in_its_output():
    output = (
        "\nError: Cannot find module './none'\nRequire stack:\n- /w/test/b.js\n"
        "    at require (/w/node_modules/x.js:1:1)\n    at Object (/w/test/b.js:4:9)\n"
    )
    report = report_of({"kind": "load", "root": "/w"}, output=output)
    (found,) = report.errors
    assert (found.file, found.fact.line) == ("test/b.js", 4)
    assert found.message == "Error: Cannot find module './none'"


def test_a_run_that_collects_lists_ids():
    skipped = [one("skipped", "d", "a"), one("skipped"), one("skipped")]
    report = report_of(START, *skipped, END, collect_only=True)
    assert report.listed == ["a.test.js::d > a", "a.test.js::a", "a.test.js::a #2"]
    assert report.cases == []


@pytest.fixture
def argv_of(tmp_path):
    mounts = request_for(Runner.JEST).runner.mounts()
    sandbox = LocalSandbox(tmp_path, Path("python"), mounts)
    sandbox.workspace = PurePosixPath("/w")

    def argv_of_(runner, line="", **fields):
        request = request_for(runner, line, **fields)
        return list(request.runner.command(sandbox, request, PurePosixPath("/results/x")))

    return argv_of_


def test_scripts_of_npm_get_options_behind_two_dashes(argv_of):
    argv = argv_of(Runner.JEST, "npm test")
    assert argv[:3] == ["npm", "test", "--"]
    assert argv_of(Runner.JEST, "npm run unit -- --silent").count("--") == 1


def test_scripts_of_yarn_get_options_as_they_are(argv_of):
    assert argv_of(Runner.MOCHA, "yarn test")[2].startswith("--reporter=")


def test_jest_selects_files_and_tests_by_patterns(argv_of):
    argv = argv_of(Runner.JEST, targets=("t/a.test.js::d > is 1.5 (x) #2",))
    assert argv[-1] == r"^\/w\/t\/a\.test\.js$"
    names = r"d(?:\s+>)?\s+is\s+1\.5\s+\(x\)\s+#2|d(?:\s+>)?\s+is\s+1\.5\s+\(x\)"
    assert rf"--testNamePattern=^\s*(?:{names})\s*$" in argv


def test_names_do_not_leave_out_the_tests_of_a_whole_file(argv_of):
    argv = argv_of(Runner.VITEST, targets=("a.test.js::x", "b.test.js"))
    assert argv[-2:] == ["/w/a.test.js", "/w/b.test.js"]
    assert not any("testNamePattern" in word for word in argv)


def test_a_keyword_and_ids_select_together(argv_of):
    argv = argv_of(Runner.MOCHA, targets=("a.js::x",), keyword="a|b")
    assert r"--grep=(?=.*(?:a|b))^\s*(?:x)\s*$" in argv


def test_folders_are_left_to_the_command_of_a_judged_run(argv_of):
    assert argv_of(Runner.MOCHA, targets=("test",), judged=True)[-1] == "--no-bail"
    assert argv_of(Runner.MOCHA, targets=("test",))[-1] == "test"
    assert argv_of(Runner.JEST, targets=("test",), judged=True)[-1] == r"^\/w\/test(/|$)"


def test_options_of_node_stand_before_its_files(argv_of):
    line = "node --import tsx --test --test-reporter dot --test-concurrency 1 test/a.ts"
    argv = argv_of(Runner.NODE, line)
    assert argv[:4] == ["node", "--import", "tsx", "--test"]
    assert argv[-3:] == ["--test-concurrency", "1", "test/a.ts"]
    assert "dot" not in argv
    selected = argv_of(Runner.NODE, line, targets=("test/b.ts",))
    assert selected[4:6] == ["1", "test/b.ts"]
    assert selected[-2:] == ["--test-concurrency", "1"]


def test_scripts_that_start_node_get_options_by_its_variable(argv_of):
    argv = argv_of(Runner.NODE, "npm test", targets=("a.test.js",))[6:]
    assert argv[0] == "env"
    assert argv[1].startswith('NODE_OPTIONS="--test-reporter=')
    assert argv[2:] == ["npm", "test", "--"]


@pytest.mark.parametrize("runner", JAVASCRIPT)
def test_what_pytest_alone_has_is_refused(runner):
    with pytest.raises(ValueError, match="need pytest"):
        request_for(runner, markers="slow")


def test_node_does_not_list_tests():
    with pytest.raises(ValueError, match="cannot list its tests"):
        request_for(Runner.NODE, collect_only=True)


def test_name_in_source_is_the_title():
    runner = request_for(Runner.JEST).runner
    assert runner.name_in_source("a.test.js::d > is big #2") == "is big"
