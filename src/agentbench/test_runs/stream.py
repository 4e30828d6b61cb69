"""Reads the lines of agentbench's streaming reporter."""

import re
from collections.abc import Callable, Iterable, Iterator

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.scoring.evidence import NodeId, ReportSource
from agentbench.test_runs import model
from agentbench.test_runs.fallback import collection_fact

LINE_LIMIT = 16 * 1024 * 1024  # the most characters of a line
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NAMES_OF_A_TEST = 2  # as unittest prints it: with its class, and by its documentation
FORGED = "agentbench stream"
"""The entry among changed internals if lines are missing, repeated or forged."""


def lines_of(text: str) -> Iterator[str]:
    """Lines with their ends; only a newline ends a line."""
    # One at a time: a list of 256 MiB of newlines takes 2 GB.
    return (line[0] for line in _LINE.finditer(text))


def read_stream(lines: Iterable[str]) -> model.ReportedSession:
    """The session in a stream; a killed process leaves a truncated last line."""
    session = model.ReportedSession(source=ReportSource.STREAM)
    expected = 0
    forged = False
    for line in lines:
        record = untrusted_json.json_object(line) if len(line) <= LINE_LIMIT else None
        if record is None:
            forged = forged or line.endswith("\n")
            continue
        forged = forged or record.get("n") != expected
        expected += 1
        handler = _HANDLERS.get(untrusted_json.text(record.get("kind")))
        if handler is not None:
            handler(session, record)
    if forged:
        session.internals_changed.append(FORGED)
    return session


def _start(session: model.ReportedSession, record: JsonObject) -> None:
    session.started = True
    session.root = untrusted_json.text(record.get("root"), 4096)
    session.versions = model.Versions(
        pytest=untrusted_json.text(record.get("pytest"), 100),
        python=untrusted_json.text(record.get("python"), 100),
        in_project=record.get("in_project") is True,
    )


def _spawn(session: model.ReportedSession, record: JsonObject) -> None:
    if not session.started:  # after pytest has started, only a forged line says otherwise
        session.spawn_error = untrusted_json.text(record.get("error"))


def _collect_error(session: model.ReportedSession, record: JsonObject) -> None:
    file, message = _file(record), untrusted_json.text(record.get("message"))
    traceback = untrusted_json.text(record.get("traceback"))
    where = untrusted_json.text(record.get("where"))  # with --tb=no the only location
    fact = collection_fact(file, message, f"{traceback}\n{where}", session.root)
    error = model.CollectionError(file=file, message=message, traceback=traceback, fact=fact)
    session.add_collection_error(error)


def _collect_skip(session: model.ReportedSession, record: JsonObject) -> None:
    session.add_skipped_file(NodeId(_file(record)), untrusted_json.text(record.get("message")))


def _file(record: JsonObject) -> str:
    return untrusted_json.text(record.get("file")).split("::")[0] or "unknown"


def _collected(session: model.ReportedSession, record: JsonObject) -> None:
    ids, names = record.get("ids"), record.get("names")
    if not isinstance(ids, list):
        return
    node_ids = [NodeId(untrusted_json.text(node_id)) for node_id in ids]
    session.collected.update(dict.fromkeys(node_ids))
    for node_id, texts in zip(node_ids, names if isinstance(names, list) else (), strict=False):
        if isinstance(texts, list):
            session.names[node_id] = tuple(map(untrusted_json.text, texts[:_NAMES_OF_A_TEST]))


def _collection_finish(session: model.ReportedSession, record: JsonObject) -> None:
    session.collection_finished = True
    session.deselected = untrusted_json.count(record.get("deselected")) or 0


def _begin(session: model.ReportedSession, record: JsonObject) -> None:
    session.begin(NodeId(untrusted_json.text(record.get("id"))))


def _phase(session: model.ReportedSession, record: JsonObject) -> None:
    """Add a phase or a subtest, whose duration is a part of its test's."""
    node_id = NodeId(untrusted_json.text(record.get("id")))
    is_subtest = record.get("kind") == "subtest"
    duration = 0.0 if is_subtest else untrusted_json.seconds(record.get("duration"))
    session.add(node_id, _read_phase(record, is_subtest=is_subtest), duration=duration)


def _read_phase(record: JsonObject, *, is_subtest: bool) -> model.Phase:
    when, outcome = model.parse_phase(record.get("when"), record.get("outcome"))
    expected_to_fail = "xfail" in record
    if outcome is model.PhaseOutcome.PASSED and not (expected_to_fail or is_subtest):
        return model.PASSED_PHASES[when]
    return model.Phase(
        when=when,
        outcome=outcome,
        message=_text_or_none(record, "xfail") or _text_or_none(record, "message"),
        traceback=_text_or_none(record, "traceback"),
        expected_to_fail=expected_to_fail,
        is_subtest=is_subtest,
    )


def _text_or_none(record: JsonObject, field: str) -> str | None:
    return untrusted_json.text(record.get(field)) or None


def _interrupt(session: model.ReportedSession, record: JsonObject) -> None:
    session.detail = session.detail or untrusted_json.text(record.get("message"))


def _changed(session: model.ReportedSession, record: JsonObject) -> None:
    names = record.get("names")
    if isinstance(names, list):
        session.internals_changed += [untrusted_json.text(name, 200) for name in names[:100]]


def _finish(session: model.ReportedSession, record: JsonObject) -> None:
    session.finished = True
    session.exit_status = untrusted_json.exit_status(record.get("exit"))
    session.duration = untrusted_json.seconds(record.get("duration"))


def _exit(session: model.ReportedSession, record: JsonObject) -> None:
    session.exit_status = untrusted_json.exit_status(record.get("code"))


_HANDLERS: dict[str, Callable[[model.ReportedSession, JsonObject], None]] = {
    "begin": _begin,
    "changed": _changed,
    "collect_error": _collect_error,
    "collect_skip": _collect_skip,
    "collected": _collected,
    "collection_finish": _collection_finish,
    "exit": _exit,
    "finish": _finish,
    "internal_error": _interrupt,
    "interrupt": _interrupt,
    "phase": _phase,
    "spawn": _spawn,
    "start": _start,
    "subtest": _phase,
}
