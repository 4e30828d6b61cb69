import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from rich.console import Console

from agentbench.attempt.record import AttemptRecord
from agentbench.report.attempt_columns import COLUMNS
from agentbench.report.formats import JUnitSuite, junit_lines, print_table, xml_text
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.taxonomy import Fault
from tests.report.hostile import HOSTILE
from tests.report.rendered import as_csv, as_json, as_table, rows_of
from tests.report.several import attempts
from tests.runs.records import failed, interrupted, records, resolved


def in_csv(attempts):
    return list(csv.reader(io.StringIO(as_csv(attempts))))


@given(st.lists(records(), max_size=4))
def test_json_holds_every_record_whole(attempts):
    found = json.loads(as_json(attempts))
    assert [AttemptRecord.model_validate(each) for each in found["attempts"]] == attempts
    assert sum(each["summary"]["overall"]["total"] for each in found["results"]) == len(attempts)


@given(st.lists(records(), max_size=4))
def test_csv_has_a_header_and_a_line_for_each_record(attempts):
    header, *lines = in_csv(attempts)
    assert header == [column.name for column in COLUMNS]
    plain = [[cell.removeprefix("'") for cell in line] for line in lines]
    assert plain == [[cell.removeprefix("'") for cell in row.values()] for row in rows_of(attempts)]


@pytest.mark.parametrize("detail", ["=1+1", "+1", "-1", "@x"])
def test_no_cell_of_csv_is_a_formula(detail):
    _, line = in_csv([failed(detail=detail)])
    assert line[-1] == f"'{detail}"


def test_a_table_without_colours_takes_no_markup_from_a_text():
    text = as_table([failed(detail="[red]x[/red] [bold]")])
    assert "[red]x[/red] [bold]" in text
    assert "\x1b" not in text


def test_a_table_at_a_terminal_colours_the_verdict_alone():
    buffer = io.StringIO()
    console = Console(file=buffer, width=160, force_terminal=True, color_system="standard")
    print_table([resolved(), failed(quarantined=True)], console)
    assert "\x1b[32mresolved" in buffer.getvalue()
    assert "\x1b[35mquarantined" in buffer.getvalue()


def columns(*attempts):
    return as_table(attempts).splitlines()[0].split()


def test_a_single_failure_shows_its_reason_and_detail():
    assert columns(failed()) == ["task", "verdict", "reason", "tests", "seconds", "detail"]
    assert "TESTS_FAILED" in as_table([failed()])


def test_columns_that_tell_nothing_stay_away():
    assert columns(resolved()) == ["task", "verdict", "tests", "seconds"]
    assert "attempt" in columns(resolved(), resolved(attempt=2))


def test_of_several_runs_the_table_says_which_and_whose():
    assert columns(resolved(), resolved(run_id="other"))[:2] == ["run", "task"]
    assert columns(resolved(), resolved(agent="noop"))[:2] == ["task", "agent"]


def test_a_table_of_very_many_rows_is_plain_lines_of_the_same_columns():
    attempts = [resolved(task_id=f"task-{number:04}") for number in range(2000)]
    attempts.append(failed(task_id="task-long-name"))
    head, first, *_, last = as_table(attempts).splitlines()
    assert head.split() == ["task", "verdict", "reason", "tests", "seconds", "detail"]
    assert first.split() == ["task-0000", "resolved", "1", "fixed", "1.0"]
    assert last.startswith("task-long-name  failed")
    assert head.index("verdict") == first.index("resolved") == last.index("failed")


def text_of(*suites):
    return "".join(junit_lines(suites))


def cases(text):
    return {case.name: case for suite in JUnitXml.fromstring(text.encode()) for case in suite}


def test_a_failure_is_the_agent_s_and_an_error_is_not():
    told = cases(text_of(JUnitSuite(label="x", attempts=attempts("a", "r", "f", "l"))))
    assert told["task-0"].is_passed
    assert [type(result) for result in told["task-1"].result] == [Failure]
    assert [type(result) for result in told["task-2"].result] == [Error]
    assert told["task-1"].result[0].type == "TESTS_FAILED"
    assert told["task-2"].result[0].message.startswith("SANDBOX_ERROR: ")
    assert "attempts/task-1/1" in told["task-1"].result[0].text


def test_an_attempt_that_was_planned_and_not_made_is_skipped_and_not_passed():
    suite = JUnitSuite(label="x", attempts=attempts("a", "r"), unmade=[("task-7", 2)])
    told = cases(text_of(suite))
    assert [type(result) for result in told["task-7 attempt 2"].result] == [Skipped]
    assert not told["task-7 attempt 2"].is_passed


def test_the_counts_of_a_suite_are_those_of_its_cases():
    made = [*attempts("a", "rff", "l", "r"), AttemptSummary.of(interrupted(task_id="cut"))]
    suite = JUnitSuite(label="x", attempts=made, unmade=[("more", 1), ("more", 2)])
    (told,) = JUnitXml.fromstring(text_of(suite).encode())
    written = (told.tests, told.failures, told.errors, told.skipped, told.time)
    assert written == (8, 2, 2, 2, 6.0)
    told.update_statistics()
    assert (told.tests, told.failures, told.errors, told.skipped, told.time) == written


def test_a_quarantined_attempt_does_not_pass():
    one = AttemptSummary.of(failed(quarantined=True))
    (case,) = cases(text_of(JUnitSuite(label="x", attempts=[one]))).values()
    assert not case.is_passed
    assert "quarantined, fault: agent" in case.result[0].text
    assert one.fault is Fault.AGENT


def test_each_run_is_a_suite_with_its_rates():
    suites = [JUnitSuite(label=name, attempts=attempts(name, "r", "l")) for name in "ab"]
    told = list(JUnitXml.fromstring(text_of(*suites).encode()))
    assert [suite.name for suite in told] == ["a", "b"]
    rates = {prop.name: prop.value for prop in told[0].properties()}
    assert rates["resolved"].startswith("1/2")
    assert rates["resolved, judged attempts"].startswith("1/1")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text)[:30])
def test_a_hostile_text_leaves_the_document_whole(text):
    suite = JUnitSuite(label=text, attempts=attempts("a", "r", "f", "l", detail=text, agent=text))
    told = text_of(suite)
    tags = {element.tag for element in ElementTree.fromstring(told.encode()).iter()}
    assert tags == {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "error",
    }  # fmt: skip
    assert len(told) < 50_000


@given(st.text(st.characters(codec=None), max_size=40))
def test_any_text_is_xml(text):
    told = text_of(JUnitSuite(label="x", attempts=attempts("a", "f", detail=text)))
    (result,) = cases(told)["task-0"].result
    assert result.text.endswith("files: attempts/task-0/1")


def test_what_xml_cannot_hold_is_made_visible():
    assert xml_text("a\x00b\x0c\ufffe\n", limit=50) == "a\\u0000b\\u000c\\ufffe\n"


def test_pieces_are_made_one_at_a_time():
    pieces = junit_lines([JUnitSuite(label="x", attempts=attempts("a", "f" * 20))])
    assert max(len(piece) for piece in pieces) < 1000
