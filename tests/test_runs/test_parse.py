import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbench.scoring.evidence import Ending, NodeId, ReportSource, ReportTrust
from agentbench.test_runs import parse
from agentbench.test_runs.model import (
    PASSED_AT_ONCE,
    PASSED_PHASES,
    CollectionError,
    ReportedSession,
    cases_of,
)
from agentbench.test_runs.parse import PytestExit, ReportFiles, decide_outcome, session_of
from agentbench.test_runs.report_files import result_as_dict
from agentbench.test_runs.stream import FORGED

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
def test_exit_code_confirmed_by_the_session_counts(code, expected):
    assert outcome(whole(code), code) == expected


def test_no_tests_needs_an_empty_session():
    empty = whole(5, phases={}, collected={})
    assert outcome(empty, 5) == "no_tests"
    empty.add_skipped_file(NodeId("b.py"), "all of it")
    assert outcome(empty, 5) == "no_tests"
    assert outcome(whole(5), 5) == "unverified"


@pytest.mark.parametrize("code", [0, 1, 5])
@pytest.mark.parametrize(
    "changes", [{"finished": False}, {"exit_status": None}, {"exit_status": 3}]
)
def test_outcome_needs_a_matching_finish_record(code, changes):
    session = whole(code, phases={}, collected={}) if code == 5 else whole(code)
    assert outcome(replace(session, **changes), code) == "unverified"


@pytest.mark.parametrize("code", [0, 1, 5])
def test_exit_code_alone_is_unverified(code):
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


def test_report_with_a_count_of_tests_can_pass():
    session = whole(source=ReportSource.JSON_REPORT, collected={}, collected_count=1)
    assert outcome(session, 0) == "passed"


def test_junit_without_exit_code_proves_failures():
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


def test_missing_pytest_or_interpreter_differs_from_a_crash():
    assert outcome(replace(NOTHING, spawn_error="no pytest"), 96) == "spawn"
    assert outcome(NOTHING, 127) == "spawn"
    assert outcome(NOTHING, 126) == "spawn"
    assert outcome(whole(), 127) == "crash"


KINDS = (
    *("start", "begin", "phase", "subtest", "collected", "collect_error", "collect_skip"),
    *("collection_finish", "finish", "exit", "changed", "interrupt", "spawn"),
)
TRUST = ReportTrust.IN_PROCESS_STREAM
NODES = ("a.py::t", "a.py::u[x]", "b.py")


def result_of(exit_code=0, ending=Ending.EXITED, **files):
    session = session_of(ReportFiles(**files), "")
    return parse.result_of(session, PytestExit(ending=ending, exit_code=exit_code))


def stream_of(records):
    lines = [json.dumps({"n": number, **record}) for number, record in enumerate(records)]
    return "".join(line + "\n" for line in lines)


def phase(node_id, when, outcome="passed", **more):
    return {"kind": "phase", "id": node_id, "when": when, "outcome": outcome, **more}


def run_of(*outcomes, exit_code=0):
    """The records of a whole run whose tests' calls came to these outcomes."""
    ids = [f"a.py::t{number}" for number in range(len(outcomes))]
    tests = []
    for node_id, outcome in zip(ids, outcomes, strict=True):
        tests.append({"kind": "begin", "id": node_id})
        tests += [phase(node_id, "setup"), phase(node_id, "call", outcome)]
        tests.append(phase(node_id, "teardown"))
    return [
        {"kind": "start", "pytest": "9", "python": "3"},
        {"kind": "collected", "ids": ids},
        {"kind": "collection_finish", "deselected": 0},
        *tests,
        {"kind": "finish", "exit": exit_code, "duration": 0.5},
        {"kind": "exit", "code": exit_code},
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
words = st.sampled_from(["passed", "failed", "skipped", "rerun", "odd"])
records = st.fixed_dictionaries(
    {"kind": st.sampled_from(KINDS)},
    optional={
        "id": st.sampled_from(NODES) | json_values,
        "ids": st.lists(st.sampled_from(NODES)) | json_values,
        "when": st.sampled_from(["setup", "call", "teardown", "???"]) | json_values,
        "outcome": words | json_values,
        "duration": st.floats() | json_values,
        "file": st.sampled_from(NODES) | json_values,
        "message": json_values,
        "xfail": json_values,
        "exit": st.integers(-9, 9) | json_values,
        "code": st.integers(-9, 9) | json_values,
        "names": json_values,
        "error": json_values,
        "deselected": json_values,
    },
)
stages = st.fixed_dictionaries(
    {},
    optional={
        "outcome": words,
        "duration": st.floats(),
        "crash": json_values,
        "longrepr": json_values,
    },
)
reports = st.fixed_dictionaries(
    {},
    optional={
        "exitcode": st.integers(0, 5) | json_values,
        "duration": json_values,
        "summary": st.fixed_dictionaries(
            {}, optional={"collected": st.integers(), "deselected": json_values}
        ),
        "collectors": st.lists(
            st.fixed_dictionaries({"outcome": words}, optional={"nodeid": json_values})
        )
        | json_values,
        "tests": st.lists(
            st.fixed_dictionaries(
                {"outcome": words, "nodeid": st.sampled_from(NODES) | json_values},
                optional={"setup": stages, "call": stages | json_values, "teardown": stages},
            )
        )
        | json_values,
    },
)
codes = st.integers(-20, 260)
endings = st.sampled_from(Ending)


@settings(max_examples=150, deadline=None)
@given(st.lists(records | json_values, max_size=12), reports | json_values, codes, endings)
def test_any_report_is_read_and_counts_add_up(lines, report, code, ending):
    stream = "".join(json.dumps(line) + "\n" for line in lines)
    result = result_of(code, ending, stream=stream, json_report=json.dumps(report))

    json.dumps(result_as_dict(result), allow_nan=False).encode("utf-8")
    summary, described = result.summary, [case.outcome for case in result.tests]
    parts = summary.passed + summary.failed + summary.skipped + summary.xfailed
    parts += summary.xpassed + summary.unfinished + described.count("error")
    assert summary.total == parts == len(described)
    assert summary.errors == described.count("error") + len(result.collection_errors)
    assert len({case.node_id for case in result.tests}) == len(described)
    facts = parse.facts_of(result, TRUST)
    assert facts.passed == described.count("passed")
    assert facts.failed == described.count("failed") + described.count("error")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["passed", "failed", "skipped"]), min_size=1, max_size=4),
    st.data(),
)
def test_losing_or_damaging_lines_never_makes_a_test_pass(outcomes, data):
    lines = stream_of(run_of(*outcomes)).splitlines(keepends=True)
    before = result_of(stream="".join(lines))
    position = data.draw(st.integers(0, len(lines) - 1))
    torn = lines[position][: len(lines[position]) // 2] + "\n"
    lines[position] = data.draw(st.sampled_from(["", "\n", "{}\n", torn]))
    after = result_of(stream="".join(lines))

    assert passed(after) <= passed(before)
    if after.outcome == "passed":
        last_record_lost = position == len(lines) - 1
        assert before.outcome == "passed"
        assert FORGED in after.partial_facts.internals_changed or last_record_lost


def passed(result):
    return {case.node_id for case in result.tests if case.outcome == "passed"}


@pytest.mark.parametrize("outcome", ["failed", "skipped", "rerun"])
def test_worse_of_two_reporters_counts(outcome):
    good, bad = {"outcome": "passed"}, {"outcome": outcome}
    report = {
        "exitcode": 0,
        "tests": [{"nodeid": "a.py::t0", "setup": good, "call": bad, "teardown": good}],
    }
    stream = stream_of(run_of("passed"))
    described = result_of(stream=stream, json_report=json.dumps(report)).tests[0].outcome
    assert described != "passed" or outcome == "rerun"

    report["tests"][0]["call"] = good
    stream = stream_of(run_of(outcome))
    described = result_of(stream=stream, json_report=json.dumps(report)).tests[0].outcome
    assert described != "passed" or outcome == "rerun"


def test_test_of_one_reporter_stays_unchanged():
    report = {"exitcode": 0, "tests": [{"nodeid": "other.py::t", "setup": {"outcome": "failed"}}]}
    result = result_of(stream=stream_of(run_of("passed")), json_report=json.dumps(report))
    assert passed(result) == {"a.py::t0"}
    assert result.outcome == "passed"


def test_report_replaces_a_stream_that_never_started():
    report = {"exitcode": 5, "summary": {"collected": 0}}
    result = result_of(5, stream="nonsense\n", json_report=json.dumps(report))
    assert (result.outcome, result.source) == ("no_tests", "json_report")
    assert result.partial_facts.internals_changed == (FORGED,)


def test_facts_carry_phases_and_what_was_changed():
    changed = {"kind": "changed", "names": ["_pytest.runner.CallInfo.from_call"]}
    records = run_of("failed", exit_code=1)
    records.insert(3, changed)
    facts = parse.facts_of(result_of(1, stream=stream_of(records)), TRUST)

    assert (facts.outcome, facts.source, facts.complete) == ("failed", "stream", True)
    assert (facts.collected, facts.passed, facts.failed) == (1, 0, 1)
    assert facts.internals_changed == ("_pytest.runner.CallInfo.from_call",)
    (case,) = facts.cases
    assert (case.node_id, case.outcome, case.phases) == ("a.py::t0", "failed", (1, 1, 1))


def test_facts_name_the_files_that_could_not_be_collected():
    error = {"kind": "collect_error", "file": "b.py", "message": "m"}
    facts = parse.facts_of(result_of(2, stream=stream_of([run_of()[0], error])), TRUST)
    assert (facts.outcome, facts.collection_errors) == ("collection_error", ("b.py",))


@pytest.mark.parametrize(
    ("code", "ending", "said"),
    [
        (127, Ending.EXITED, "no such interpreter"),
        (126, Ending.EXITED, "may not be executed"),
        (None, Ending.LOST, "sandbox was lost"),
    ],
)
def test_run_that_never_began_has_a_reason(code, ending, said):
    result = result_of(code, ending)
    assert result.outcome == "spawn"
    assert said in result.spawn_error


def test_reporter_message_about_missing_pytest_comes_first():
    spawn = stream_of([{"kind": "spawn", "error": "ModuleNotFoundError: pytest"}])
    assert result_of(96, stream=spawn).spawn_error == "ModuleNotFoundError: pytest"


def test_the_duration_is_the_sessions_own_or_the_sum_of_its_tests():
    session = ReportedSession(source=ReportSource.STREAM)
    session.add(NodeId("a.py::t"), *PASSED_AT_ONCE, duration=1.5)
    ended = PytestExit(ending=Ending.TIMED_OUT, exit_code=None)
    assert parse.result_of(session, ended).summary.duration == 1.5
    session.duration = 2.0
    assert parse.result_of(session, ended).summary.duration == 2.0


def test_a_hundred_thousand_tests_are_read():
    passed = {"outcome": "passed"}
    stages = {"setup": passed, "call": passed, "teardown": passed}
    report = {
        "exitcode": 0,
        "summary": {"collected": 100_000},
        "tests": [{"nodeid": f"a.py::t{number}", **stages} for number in range(100_000)],
    }
    result = result_of(json_report=json.dumps(report))
    assert (result.outcome, result.summary.passed) == ("passed", 100_000)


STREAM = (
    '{"n": 0, "kind": "start", "pytest": "9", "python": "3"}\n'
    '{"n": 1, "kind": "begin", "id": "a.py::t"}\n'
)
REPORT = json.dumps({"exitcode": 0, "tests": []})
JUNIT = "<testsuites><testsuite><testcase name='t' file='a.py'/></testsuite></testsuites>"
TEXT = "=== short test summary info ===\nPASSED a.py::t\n"


def source(text="", **files):
    return session_of(ReportFiles(**files), text).source


def test_most_trusted_available_source_counts():
    everything = {"stream": STREAM, "json_report": REPORT, "junit": JUNIT}
    assert source(TEXT, **everything) == "stream"
    assert source(TEXT, json_report=REPORT, junit=JUNIT) == "json_report"
    assert source(TEXT, junit=JUNIT) == "junit"
    assert source(TEXT) == "text"
    assert source("nothing") == "exit_code"


def test_malformed_source_is_replaced_by_the_next():
    assert source(TEXT, stream="torn{", json_report="{", junit="<a") == "text"
    assert source(TEXT, stream=STREAM, json_report="{") == "stream"
    assert source(TEXT, json_report="{}", junit=JUNIT) == "junit"


def test_report_is_stored_with_the_stream():
    session = session_of(ReportFiles(stream=STREAM, json_report=REPORT), "")
    assert session.json_report == json.loads(REPORT)


def stage(outcome):
    return {"outcome": outcome, "duration": 0.1}


def reported(call):
    test = {
        "nodeid": "a.py::t",
        "setup": stage("passed"),
        "call": stage(call),
        "teardown": stage("passed"),
    }
    return json.dumps({"exitcode": 0, "tests": [test]})


PASSED = STREAM + "".join(
    json.dumps({"n": number, "kind": "phase", "id": "a.py::t", "when": when, "outcome": "passed"})
    + "\n"
    for number, when in enumerate(("setup", "call", "teardown"), 2)
)


def test_large_report_is_used_but_not_stored():
    for report in (reported("passed"), reported("failed")):
        files = ReportFiles(stream=PASSED, json_report=report)
        kept = session_of(files, "")
        left_out = session_of(files, "", report_limit=10)
        assert left_out.phases == kept.phases
        assert (left_out.json_report, left_out.report_left_out) == ({}, True)
        assert session_of(files, "", report_limit=10_000).json_report == json.loads(report)
    assert kept.phases != session_of(ReportFiles(stream=PASSED), "").phases


def test_truncated_large_report_is_ignored():
    files = ReportFiles(stream=PASSED, json_report=reported("failed")[:-2])
    left_out = session_of(files, "", report_limit=10)
    assert left_out.phases == session_of(files, "").phases
    assert not left_out.report_left_out
