"""Reads what pytest-json-report wrote."""

from collections.abc import Iterator

from agentbench.pytest_results import untrusted
from agentbench.pytest_results.cases import passed
from agentbench.pytest_results.longrepr import error_line, skip_reason
from agentbench.pytest_results.model import CollectionError, JsonObject
from agentbench.pytest_results.session import (
    PASSED,
    Phase,
    PhaseOutcome,
    Session,
    When,
    phase_words,
)
from agentbench.scoring.evidence import NodeId, ReportSource

_STAGES = (*PASSED, "???")  # the last is what xdist calls the phase in which a worker died
_XFAIL_WORDS = ("xfailed", "xpassed")


def read_json_report(report: JsonObject) -> Session:
    """What the report tells. It is written when the session finishes, or not at all."""
    session = Session(source=ReportSource.JSON_REPORT, json_report=report)
    status = untrusted.exit_status(report.get("exitcode"))
    session.started = session.finished = session.collection_finished = status is not None
    session.exit_status = status
    session.duration = untrusted.seconds(report.get("duration"))
    _read_summary(session, report.get("summary"))
    for collector in untrusted.objects(report.get("collectors")):
        _read_collector(session, collector)
    for test in untrusted.objects(report.get("tests")):
        _read_test(session, test)
    return session


def merge_bit_by_bit(stream: Session, tests: Iterator[JsonObject]) -> Session:
    """What `merge` makes of a stream and a report, of which no more than a test is held at a time.

    A report that turns out to be none has no say, as if it had been read as a whole.
    """
    worse: dict[NodeId, tuple[Phase, ...]] = {}
    try:
        for test in tests:
            one = Session(source=ReportSource.JSON_REPORT)
            _read_test(one, test)
            for node_id, reported in one.phases.items():
                told = worse.get(node_id, stream.phases.get(node_id))
                if told is not None and passed(told) and not passed(reported):
                    worse[node_id] = reported
    except ValueError:
        return stream
    stream.phases.update(worse)
    stream.report_left_out = True
    return stream


def _read_summary(session: Session, summary: object) -> None:
    if isinstance(summary, dict):
        session.deselected = untrusted.count(summary.get("deselected")) or 0
        collected = untrusted.count(summary.get("collected"))
        if collected is not None:
            session.collected_count = max(0, collected - session.deselected)


def _read_collector(session: Session, collector: JsonObject) -> None:
    file = untrusted.text(collector.get("nodeid")).split("::")[0] or "unknown"
    longrepr = untrusted.text(collector.get("longrepr"))
    if collector.get("outcome") == "failed":
        error = CollectionError(file=file, message=error_line(longrepr), traceback=longrepr)
        session.add_collection_error(error)
    elif collector.get("outcome") == "skipped":
        session.tell_skipped(NodeId(file), skip_reason(longrepr))


def _read_test(session: Session, test: JsonObject) -> None:
    plain = test.get("outcome") not in _XFAIL_WORDS
    phases: list[Phase] = []
    duration = 0.0
    for word in _STAGES:
        stage = test.get(word)
        if not isinstance(stage, dict):
            continue
        duration += untrusted.seconds(stage.get("duration"))
        if plain and stage.get("outcome") == "passed" and word in PASSED:
            phases.append(PASSED[word])
        else:
            phases.append(_read_stage(word, stage, expected_to_fail=not plain))
    node_id = NodeId(untrusted.text(test.get("nodeid")))
    session.add(node_id, *phases, duration=duration)


def _read_stage(word: str, stage: JsonObject, *, expected_to_fail: bool) -> Phase:
    when, outcome = phase_words(word, stage.get("outcome"))
    longrepr = untrusted.text(stage.get("longrepr"))
    crash = stage.get("crash")
    message = untrusted.text(crash.get("message")) if isinstance(crash, dict) else ""
    if not message:
        skipped = outcome is PhaseOutcome.SKIPPED
        message = skip_reason(longrepr) if skipped else error_line(longrepr)
    return Phase(
        when=when,
        outcome=outcome,
        message=message or None,
        traceback=longrepr or None,
        expected_to_fail=expected_to_fail and when is not When.TEARDOWN,
    )
