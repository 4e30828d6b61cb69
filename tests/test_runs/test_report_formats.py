"""The commands with a standard report, and the files that steer them; `e2e` runs them."""

from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of

MINUTE = timedelta(minutes=1)


def runner_with(runner=Runner.JUNIT, line="./build.sh --test", report="out/*.xml"):
    return runner_of(parse_test_command(line, runner, report))


def report_of(*documents, runner=Runner.JUNIT, output=""):
    reports = "".join(f"\x1e./out/{n}.xml\n{text}" for n, text in enumerate(documents))
    chosen = runner_with(runner, report="out/*.xml" if documents else "")
    request = RunRequest(runner=chosen, timeout=MINUTE)
    return chosen.report({"output": output, "reports": reports}, request)


@pytest.mark.parametrize("field", [{"keyword": "a"}, {"collect_only": True}, {"markers": "slow"}])
def test_what_a_command_cannot_do_is_refused(field):
    with pytest.raises(ValueError, match="junit"):
        RunRequest(runner=runner_with(), timeout=MINUTE, **field)


def test_pattern_of_the_report_is_one_word_of_the_shell():
    runner = runner_with(report="out/$(touch x) '*.xml")
    assert "'./out/$(touch x) '\"'\"'*.xml'" in runner.before
    assert "'./out/$(touch x) '\"'\"'*.xml'" in runner.after


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("sh -c 'make check | ./to-tap' tests/a.sh", "tests/a.sh"),
        ("sh -c 'cd build && ctest'", "sh"),
        ("./build.sh --test", "build.sh"),
    ],
)
def test_a_script_for_the_shell_is_no_file_of_tests(line, file):
    runner = runner_with(Runner.TAP, line, report="")
    request = RunRequest(runner=runner, timeout=MINUTE)
    (case,) = runner.report({"output": "ok 1 - adds\n1..1\n"}, request).cases
    assert case.node_id == f"{file}::adds"


def test_a_result_that_names_a_file_keeps_its_name_as_printed():
    runner = runner_with(Runner.TAP, report="")
    request = RunRequest(runner=runner, timeout=MINUTE)
    output = "ok 1 - tests/jqtest\nok 2 - tests/a.rb > adds > twice\n1..2\n"
    files = {"output": output, "sources": "./tests/jqtest\n./tests/a.rb\n"}
    whole, inner = runner.report(files, request).cases
    assert whole.node_id == "tests/jqtest::the whole file"
    assert "tests/jqtest" in whole.names
    assert inner.node_id == "tests/a.rb::adds > twice"
    assert "adds > twice" in inner.names


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "\x00",
        "<testsuite",
        "<testsuite><testcase/>",
        '<!DOCTYPE a [<!ENTITY b "c">]><testsuite/>',
        "<!-- <testsuite> --><!DOCTYPE a><testsuite/>",
        "<?x <testsuite ?><!DOCTYPE a><testsuite/>",
        "<testsuite>&undefined;</testsuite>",
        "<other/>",
    ],
)
def test_a_damaged_file_leaves_the_report_incomplete(damage):
    good = '<testsuite><testcase classname="a.B" name="c"/></testsuite>'
    assert report_of(good).finished
    report = report_of(good, damage)
    assert (report.finished, len(report.cases)) == (False, 1)


def test_a_prolog_without_an_end_is_refused_at_once():
    # With a pattern that may divide it in every way, this takes time beyond all limits.
    assert not report_of("<?a?>" * 5000).finished


@pytest.mark.parametrize("time", ["", "1.2.3", "nan", "-1", "soon"])
def test_durations_that_are_no_numbers_are_none(time):
    (case,) = report_of(f'<testsuite><testcase name="a" time="{time}"/></testsuite>').cases
    assert case.duration == 0.0


@pytest.mark.parametrize(
    "output",
    ["TAP version 12\nok 1 - a\n1..1", "1..1\n\x00\nok 1 - a", "1..1\r\nok 1 - a\r\n"],
)
def test_unusual_lines_are_no_reason_to_lose_the_others(output):
    report = report_of(runner=Runner.TAP, output=output)
    assert report.finished
    assert [case.node_id for case in report.cases] == ["build.sh::a"]


@pytest.mark.parametrize(
    ("path", "tampers"),
    [
        ("src/test/java/a/FooTest.java", False),
        ("spec/foo_spec.rb", False),
        ("t/a.t", False),
        ("src/foo.test.ts", False),
        ("lib/FooIT.java", False),
        ("build.sh", True),
        ("mvnw", True),
        (".mvn/extensions.xml", True),
        ("gradle/wrapper/gradle-wrapper.jar", True),
        ("pom.xml", False),
        ("core/build.gradle.kts", False),
        ("src/main/java/a/Foo.java", None),
        ("src/latest.py", None),
        ("src/Contest.java", None),
        ("src/testing.py", None),
    ],
)
def test_files_that_steer_the_tests_are_protected(path, tampers):
    protected = runner_with().protection([]).why(PurePosixPath(path))
    assert (None if protected is None else protected.tampers) == tampers
