import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped

from agentbench.report.formats import JUnitSuite, junit_lines, xml_text
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.taxonomy import Fault
from tests.report.hostile import HOSTILE
from tests.report.several import attempts
from tests.runs.records import failed, interrupted


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
