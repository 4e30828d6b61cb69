import pytest
from msgspec.structs import replace

from agentbench.scoring.evidence import Ending, NodeId, ReportSource
from agentbench.test_runs.model import (
    PASSED_AT_ONCE,
    PASSED_PHASES,
    CollectionError,
    ReportedSession,
    cases_of,
)
from agentbench.test_runs.parse import PytestExit, decide_outcome

NODE = NodeId("a.py::t")


def whole(exit_status=0, *, source=ReportSource.STREAM, **changes):
    session = ReportedSession(
        source=source,
        started=True,
        finished=True,
        collection_finished=True,
        exit_status=exit_status,
        collected={NODE: None},
    )
    session.add(NODE, *PASSED_AT_ONCE)
    return replace(session, **changes)


def outcome(session, exit_code, ending=Ending.EXITED, **more):
    ended = PytestExit(ending=ending, exit_code=exit_code, **more)
    return decide_outcome(ended, session, cases_of(session))


NOTHING = ReportedSession(source=ReportSource.EXIT_CODE)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(0, "passed"), (1, "failed"), (2, "interrupted"), (3, "pytest_internal"), (4, "usage")],
)
def test_an_exit_code_that_the_session_agrees_with_is_believed(code, expected):
    assert outcome(whole(code), code) == expected


def test_no_tests_is_believed_when_nothing_ran():
    empty = whole(5, phases={}, collected={})
    assert outcome(empty, 5) == "no_tests"
    empty.add_skipped_file(NodeId("b.py"), "all of it")
    assert outcome(empty, 5) == "no_tests"
    assert outcome(whole(5), 5) == "unverified"


@pytest.mark.parametrize("code", [0, 1, 5])
@pytest.mark.parametrize(
    "changes", [{"finished": False}, {"exit_status": None}, {"exit_status": 3}]
)
def test_without_a_finish_record_that_agrees_nothing_is_verified(code, changes):
    session = whole(code, phases={}, collected={}) if code == 5 else whole(code)
    assert outcome(replace(session, **changes), code) == "unverified"


@pytest.mark.parametrize("code", [0, 1, 5])
def test_an_exit_code_alone_verifies_nothing(code):
    assert outcome(NOTHING, code) == "unverified"


@pytest.mark.parametrize(
    "changes",
    [
        {"collected": {NODE: None, NodeId("a.py::never_ran"): None}},
        {"collected_count": 2},
        {"collection_finished": False},
        {"phases": {}, "collected": {}},
        {"phases": {NODE: (PASSED_PHASES["setup"],)}},
        {
            "phases": {
                NODE: PASSED_AT_ONCE,
                NodeId("b"): (PASSED_PHASES["setup"], PASSED_PHASES["teardown"]),
            }
        },
        {"source": ReportSource.JUNIT},
        {"source": ReportSource.TEXT},
    ],
)
def test_success_needs_every_collected_test_run_to_its_end(changes):
    assert outcome(whole(**changes), 0) == "unverified"


def test_a_report_that_tells_the_number_of_tests_and_not_their_ids_can_pass():
    session = whole(source=ReportSource.JSON_REPORT, collected={}, collected_count=1)
    assert outcome(session, 0) == "passed"


def test_a_junit_file_names_no_exit_code_and_is_believed_about_failures():
    junit = ReportedSession(source=ReportSource.JUNIT, started=True, finished=True)
    assert outcome(junit, 1) == "failed"
    assert outcome(junit, 5) == "no_tests"
    assert outcome(junit, 0) == "unverified"


def test_collecting_succeeds_when_nothing_ran():
    collected = whole(phases={})
    assert outcome(collected, 0, collect_only=True) == "passed"
    assert outcome(whole(), 0, collect_only=True) == "unverified"


@pytest.mark.parametrize("code", [0, 1, 2, 4, 5, 42])
def test_a_failed_collector_counts_at_any_exit_code(code):
    session = whole(code, collection_errors=[CollectionError(file="a.py", message="m")])
    assert outcome(session, code) == "collection_error"


@pytest.mark.parametrize("code", [6, 42, 134, 139, 255, -9, None])
def test_any_other_exit_code_is_a_crash(code):
    assert outcome(whole(), code) == "crash"


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (Ending.TIMED_OUT, "timeout"),
        (Ending.OUT_OF_MEMORY, "crash"),
        (Ending.OUT_OF_DISK, "crash"),
        (Ending.KILLED, "crash"),
        (Ending.LOST, "spawn"),
    ],
)
def test_how_the_process_ended_outranks_its_report(ending, expected):
    session = whole(collection_errors=[CollectionError(file="a.py", message="m")])
    assert outcome(session, 0, ending) == expected


def test_a_missing_pytest_or_interpreter_is_told_from_a_crash():
    assert outcome(replace(NOTHING, spawn_error="no pytest"), 96) == "spawn"
    assert outcome(NOTHING, 127) == "spawn"
    assert outcome(NOTHING, 126) == "spawn"
    assert outcome(whole(), 127) == "crash"
