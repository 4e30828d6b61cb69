"""Reads pytest-json-report's files, and stores repeated words once.

Outcomes, keywords, and node ids that collectors repeat take half of a large report's memory.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.scoring.evidence import NodeId, ReportSource
from agentbench.test_runs import model
from agentbench.test_runs.fallback import error_line, skip_reason

_OBJECT_DECODER: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST_DECODER: Final = msgspec.json.Decoder(list[msgspec.Raw])
_VALUE_DECODER: Final = msgspec.json.Decoder()
# The last is xdist's name of the phase in which a worker died.
_REPORTED_PHASES = (*model.PASSED_PHASES, "???")
_XFAIL_WORDS = ("xfailed", "xpassed")


def parse_json_report(source: str) -> JsonObject | None:
    """The result of `untrusted_json.json_object`, with less memory for reports."""
    try:
        return _parse_by_elements(source)
    except (ValueError, RecursionError):
        return untrusted_json.json_object(source)


def _parse_by_elements(source: str) -> JsonObject:
    """Decode test by test, so that repeated words are freed with each test."""
    shared = _SharedWords()
    sharing = {"tests": shared.in_test, "collectors": shared.in_collector}
    report: JsonObject = {}
    for name, part in _OBJECT_DECODER.decode(source).items():
        share = sharing.get(name)
        report[name] = _VALUE_DECODER.decode(part) if share is None else _elements(part, share)
    return report


def _elements(part: msgspec.Raw, share: Callable[[JsonObject], None]) -> object:
    try:
        remaining = _LIST_DECODER.decode(part)
    except msgspec.ValidationError:  # not a list: another tool's report
        return _VALUE_DECODER.decode(part)
    decode = _VALUE_DECODER.decode
    elements = []
    remaining.reverse()
    while remaining:
        element = decode(remaining.pop())
        if type(element) is dict:
            share(element)
        elements.append(element)
    return elements


class _SharedWords:
    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        # Of the previous test; the next one's are mostly the same.
        self._keywords: list[object] = []

    def in_test(self, test: JsonObject) -> None:
        """Share the words of a test."""
        self._share(test, "nodeid", "outcome")
        for name in model.PASSED_PHASES:
            stage = test.get(name)
            if type(stage) is dict:
                self._share(stage, "outcome")
        keywords = test.get("keywords")
        if type(keywords) is list and set(map(type, keywords)) == {str}:  # 1 equals True
            if len(self._keywords) == len(keywords):
                pairs = zip(self._keywords, keywords, strict=True)
                keywords[:] = [old if old == new else new for old, new in pairs]
            self._keywords = keywords

    def in_collector(self, collector: JsonObject) -> None:
        """Share the words of a collector and of its results."""
        self._share(collector, "nodeid", "outcome")
        for found in untrusted_json.objects(collector.get("result")):
            self._share(found, "nodeid", "type")

    def _share(self, values: JsonObject, *names: str) -> None:
        for name in names:
            word = values.get(name)
            if type(word) is str:
                values[name] = self._words.setdefault(word, word)


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


def merge_tests_one_by_one(
    stream: model.ReportedSession, tests: Iterator[JsonObject]
) -> model.ReportedSession:
    """Merge a stream with a report that is read test by test; an invalid one is ignored."""
    worse: dict[NodeId, tuple[model.Phase, ...]] = {}
    try:
        for test in tests:
            one = model.ReportedSession(source=ReportSource.JSON_REPORT)
            _read_test(one, test)
            for node_id, reported in one.phases.items():
                streamed = worse.get(node_id, stream.phases.get(node_id))
                if (
                    streamed is not None
                    and model.has_passed(streamed)
                    and not model.has_passed(reported)
                ):
                    worse[node_id] = reported
    except ValueError:
        return stream
    stream.phases.update(worse)
    stream.report_left_out = True
    return stream


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
