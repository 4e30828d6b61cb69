"""Reads the files of pytest-json-report."""

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.scoring.evidence import NodeId, ReportSource
from agentbench.test_runs import model
from agentbench.test_runs.fallback import error_line, skip_reason

# The last is xdist's name of the phase in which a worker died.
_REPORTED_PHASES = (*model.PASSED_PHASES, "???")
_XFAIL_WORDS = ("xfailed", "xpassed")


def read_json_report(report: JsonObject) -> model.ReportedSession:
    """The session in a report, which is only written when the session finishes."""
    session = model.ReportedSession(source=ReportSource.JSON_REPORT, json_report=report)
    status = untrusted_json.exit_status(report.get("exitcode"))
    session.started = session.finished = session.collection_finished = status is not None
    session.exit_status = status
    session.duration = untrusted_json.seconds(report.get("duration"))
    summary = report.get("summary")
    if isinstance(summary, dict):
        session.deselected = untrusted_json.count(summary.get("deselected")) or 0
        collected = untrusted_json.count(summary.get("collected"))
        if collected is not None:
            session.collected_count = max(0, collected - session.deselected)
    for collector in untrusted_json.objects(report.get("collectors")):
        file = untrusted_json.text(collector.get("nodeid")).split("::")[0] or "unknown"
        longrepr = untrusted_json.text(collector.get("longrepr"))
        if collector.get("outcome") == "failed":
            error = model.CollectionError(
                file=file, message=error_line(longrepr), traceback=longrepr
            )
            session.add_collection_error(error)
        elif collector.get("outcome") == "skipped":
            session.add_skipped_file(NodeId(file), skip_reason(longrepr))
    for test in untrusted_json.objects(report.get("tests")):
        _read_test(session, test)
    return session


def _read_test(session: model.ReportedSession, test: JsonObject) -> None:
    plain = test.get("outcome") not in _XFAIL_WORDS
    phases: list[model.Phase] = []
    duration = 0.0
    for word in _REPORTED_PHASES:
        stage = test.get(word)
        if not isinstance(stage, dict):
            continue
        duration += untrusted_json.seconds(stage.get("duration"))
        if plain and stage.get("outcome") == "passed" and word in model.PASSED_PHASES:
            phases.append(model.PASSED_PHASES[word])
        else:
            phases.append(_read_phase(word, stage, expected_to_fail=not plain))
    node_id = NodeId(untrusted_json.text(test.get("nodeid")))
    session.add(node_id, *phases, duration=duration)


def _read_phase(word: str, stage: JsonObject, *, expected_to_fail: bool) -> model.Phase:
    when, outcome = model.parse_phase(word, stage.get("outcome"))
    longrepr = untrusted_json.text(stage.get("longrepr"))
    crash = stage.get("crash")
    message = untrusted_json.text(crash.get("message")) if isinstance(crash, dict) else ""
    if not message:
        skipped = outcome is model.PhaseOutcome.SKIPPED
        message = skip_reason(longrepr) if skipped else error_line(longrepr)
    return model.Phase(
        when=when,
        outcome=outcome,
        message=message or None,
        traceback=longrepr or None,
        expected_to_fail=expected_to_fail and when is not model.PhaseName.TEARDOWN,
    )
