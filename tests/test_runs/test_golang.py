"""The command of go test, and the files that steer it; `e2e` runs it."""

import json
from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from agentbench.tasks.test_command import parse_test_command
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of

BASE_MOD = b"""module example.com/m

require example.com/assert v1.0.0

replace example.com/assert => ./assert // our own
"""


def request_of(line="go test ./...", **fields):
    runner = runner_of(parse_test_command(line))
    return RunRequest(runner=runner, timeout=timedelta(minutes=1), **fields)


def command_of(line="go test ./...", **fields):
    request = request_of(line, **fields)
    return list(request.runner.command(None, request, PurePosixPath("/results/x")))


def test_command_asks_for_events_of_this_run():
    assert command_of() == ["go", "test", "-json", "-count=1", "./..."]
    assert command_of("go test") == command_of()


def test_options_keep_their_values_and_packages_come_last():
    line = "go test -v -tags integration --timeout=5m -run Test/sub ./a ./b -args -x"
    assert command_of(line)[2:] == [
        "-json", "-count=1", "-v", "-tags=integration", "-timeout=5m", "-run=Test/sub",
        "./a", "./b", "-args", "-x",
    ]  # fmt: skip


def test_options_about_the_report_are_left_out():
    assert command_of("go test -json -count 5 -test.v ./a")[2:] == [
        "-json", "-count=1", "-v", "./a",
    ]  # fmt: skip


def test_chosen_tests_are_run_with_their_packages():
    targets = ("a/x_test.go::TestA/sub", "a/y_test.go::TestB", "b_test.go::TestA")
    assert command_of(targets=targets)[4:] == ["-run=^TestA$|^TestB$", "./a", "./."]
    assert command_of(targets=("a", "b/x_test.go"))[4:] == ["./a/...", "./b"]


def test_a_folder_of_a_module_is_entered():
    command = command_of("go test -C sub ./...", targets=("sub/p/a_test.go",))
    assert command[:2] == ["sh", "-c"]
    assert command[3:] == ["go", "sub", "go", "test", "-json", "-count=1", "./p"]


def test_requests_are_translated():
    assert "-list=." in command_of(collect_only=True)
    assert command_of(keyword="a|b")[-2:] == ["-run=a|b", "./..."]
    assert "-failfast" in command_of(max_failures=1)


@pytest.mark.parametrize("target", ["", "-exec=x", "@file", "a\x00b"])
def test_targets_that_are_options_are_refused(target):
    with pytest.raises(ValueError, match="expected a path or a test's id"):
        request_of(targets=(target,))


def report_of(*events, collect_only=False, functions="./a_test.go:func TestA(", lines=()):
    request = request_of(collect_only=collect_only)
    output = "".join(f"{json.dumps(event)}\n" for event in events) + "".join(lines)
    modules = "./go.mod:module m"
    files = {"output": output, "functions": functions, "modules": modules}
    return request.runner.report(files, request)


def event(action, test=None, **more):
    return {"Action": action, "Package": "m", **({"Test": test} if test else {}), **more}


def test_a_run_without_its_last_event_is_not_whole():
    begun = [event("run", "TestA"), event("pass", "TestA")]
    assert not report_of(*begun).finished
    assert report_of(*begun, event("pass")).finished


def test_events_of_newer_versions_are_understood():
    build = {"ImportPath": "m", "Action": "build-output", "Output": "./a.go:3:1: undefined: x\n"}
    failed = event("fail", FailedBuild="m")
    report = report_of({"Action": "start", "Package": "m"}, build, failed)
    assert [(each.file, each.fact.line) for each in report.errors] == [("a.go", 3)]


def test_a_folder_without_packages_is_refused_in_newer_versions_as_in_older_ones():
    printed = {"ImportPath": "./x", "Action": "build-output", "Output": "no such directory\n"}
    ended = {"Action": "fail", "Package": "./x", "FailedBuild": "./x"}
    alone = report_of({"Action": "start", "Package": "./x"}, printed, ended)
    assert (alone.started, alone.errors, alone.detail) == (False, [], "no such directory")
    beside = report_of(printed, ended, event("run", "TestA"), event("pass", "TestA"), event("pass"))
    assert [each.message for each in beside.errors] == ["no such directory"]


def test_listed_tests_stand_in_the_order_of_their_packages():
    late = {"Action": "output", "Package": "m/b", "Output": "TestB\n"}
    first = [event("output", Output="TestZ\n"), event("output", Output="TestA\n")]
    functions = "./a_test.go:func TestA(\n./a_test.go:func TestZ(\n./b/b_test.go:func TestB("
    ended = [event("pass"), {"Action": "pass", "Package": "m/b"}]
    report = report_of(late, *first, *ended, collect_only=True, functions=functions)
    assert report.listed == ["a_test.go::TestZ", "a_test.go::TestA", "b/b_test.go::TestB"]


@pytest.mark.parametrize(
    "damage",
    ['{"Action":', '{"Action": 5, "Package": 7}\n', "[]\n", "\x00\n", '{"Package":"m","Test":1}\n'],
)
def test_damaged_lines_are_no_results(damage):
    whole = [event("run", "TestA"), event("pass", "TestA"), event("pass")]
    assert [case.outcome for case in report_of(*whole, lines=[damage]).cases] == ["passed"]


def judged(path, after, base=BASE_MOD):
    protection = request_of().runner.protection([])
    return protection.judged(PurePosixPath(path), lambda _path: base, after)


def test_new_requirements_are_judged():
    assert judged("go.mod", BASE_MOD + b"\nrequire example.com/b v1.0.0\n") is None
    assert judged("go.mod", BASE_MOD.replace(b"// our own", b"")) is None
    assert judged("go.mod", None) is None
    assert judged("a.go", b"replace x => y") is None


@pytest.mark.parametrize(
    "after",
    [
        BASE_MOD + b"replace example.com/b => ./b\n",
        BASE_MOD + b"replace (\n\texample.com/b => ./b\n)\n",
        BASE_MOD.replace(b"=> ./assert", b"=> ./mine"),
        BASE_MOD + b"toolchain go1.99.0\n",
    ],
)
def test_replaced_modules_are_those_of_the_base(after):
    content, why = judged("go.mod", after)
    assert content is None
    assert why.tampers


@pytest.mark.parametrize(
    ("path", "tampers"),
    [
        ("a/b_test.go", False),
        ("a/testdata/want.txt", False),
        ("vendor/example.com/assert/assert.go", False),
        ("go.work", True),
        (".github/workflows/ci.yml", False),
        ("a/b.go", None),
        ("go.mod", None),
        ("go.sum", None),
    ],
)
def test_files_that_steer_the_tests_are_protected(path, tampers):
    protected = request_of().runner.protection([]).why(PurePosixPath(path))
    assert (None if protected is None else protected.tampers) == tampers


def test_output_of_events_is_told_as_go_prints_it():
    request = request_of()
    events = [
        {"Action": "output", "Package": "m/a", "Test": "TestA", "Output": "=== RUN   TestA\n"},
        {"Action": "output", "Package": "m/a", "Output": "ok  \tm/a\t0.1s\n"},
    ]
    output = "# m/b\n" + "".join(f"{json.dumps(event)}\n" for event in events)
    report = request.runner.report({"output": output}, request)
    assert report.printed == "# m/b\n=== RUN   TestA\nok  \tm/a\t0.1s\n"
