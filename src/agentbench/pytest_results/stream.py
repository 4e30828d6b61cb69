"""Reads the lines of our own streaming reporter."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from agentbench.pytest_results import untrusted
from agentbench.pytest_results.collection_cause import collection_fact
from agentbench.pytest_results.model import CollectionError, JsonObject, Versions
from agentbench.pytest_results.session import PASSED, Phase, PhaseOutcome, Session, phase_words
from agentbench.scoring.evidence import NodeId, ReportSource

LINE_LIMIT = 16 * 1024 * 1024
"""Characters of the longest line that is read."""

FORGED = "agentbench stream"
"""Stands among the changed internals when lines are missing, repeated or not ours."""

Record = JsonObject  # one line


def read_stream(lines: Iterable[str]) -> Session:
    """What the stream tells; a torn last line is how a killed process leaves it."""
    session = Session(source=ReportSource.STREAM)
    expected = 0
    forged = False
    for line in lines:
        record = untrusted.json_object(line) if len(line) <= LINE_LIMIT else None
        if record is None:
            forged = forged or line.endswith("\n")
            continue
        forged = forged or record.get("n") != expected
        expected += 1
        handler = _HANDLERS.get(untrusted.text(record.get("kind")))
        if handler is not None:
            handler(session, record)
    if forged:
        session.internals_changed.append(FORGED)
    return session


def _start(session: Session, record: Record) -> None:
    session.started = True
    session.root = untrusted.text(record.get("root"), 4096)
    session.versions = Versions(
        pytest=untrusted.text(record.get("pytest"), 100),
        python=untrusted.text(record.get("python"), 100),
        in_project=record.get("in_project") is True,
    )


def _spawn(session: Session, record: Record) -> None:
    if not session.started:  # once pytest is there, only a forger says that it is not
        session.spawn_error = untrusted.text(record.get("error"))


def _collect_error(session: Session, record: Record) -> None:
    file, message = _file(record), untrusted.text(record.get("message"))
    traceback = untrusted.text(record.get("traceback"))
    frames = f"{traceback}\n{untrusted.text(record.get('where'))}"  # --tb=no shows no other one
    session.add_collection_error(
        CollectionError(
            file=file,
            message=message,
            traceback=traceback,
            fact=collection_fact(file, message, frames, session.root),
        )
    )


def _collect_skip(session: Session, record: Record) -> None:
    session.tell_skipped(NodeId(_file(record)), untrusted.text(record.get("message")))


def _file(record: Record) -> str:
    return untrusted.text(record.get("file")).split("::")[0] or "unknown"


def _collected(session: Session, record: Record) -> None:
    ids = record.get("ids")
    if isinstance(ids, list):
        session.collected.update((NodeId(untrusted.text(node_id)), None) for node_id in ids)


def _collection_finish(session: Session, record: Record) -> None:
    session.collection_finished = True
    session.deselected = untrusted.count(record.get("deselected")) or 0


def _begin(session: Session, record: Record) -> None:
    session.add(NodeId(untrusted.text(record.get("id"))))


def _phase(session: Session, record: Record) -> None:
    node_id = NodeId(untrusted.text(record.get("id")))
    duration = untrusted.seconds(record.get("duration"))
    session.add(node_id, _read_phase(record), duration=duration)


def _subtest(session: Session, record: Record) -> None:
    """A subtest happens within the call of its test: its duration is in there already."""
    phase = replace(_read_phase(record), is_subtest=True)
    session.add(NodeId(untrusted.text(record.get("id"))), phase)


def _read_phase(record: Record) -> Phase:
    when, outcome = phase_words(record.get("when"), record.get("outcome"))
    expected_to_fail = "xfail" in record
    if outcome is PhaseOutcome.PASSED and not expected_to_fail:
        return PASSED[when]
    return Phase(
        when=when,
        outcome=outcome,
        message=_optional(record, "xfail") or _optional(record, "message"),
        traceback=_optional(record, "traceback"),
        expected_to_fail=expected_to_fail,
    )


def _optional(record: Record, field: str) -> str | None:
    return untrusted.text(record.get(field)) or None


def _interrupt(session: Session, record: Record) -> None:
    session.detail = session.detail or untrusted.text(record.get("message"))


def _changed(session: Session, record: Record) -> None:
    names = record.get("names")
    if isinstance(names, list):
        session.internals_changed += [untrusted.text(name, 200) for name in names[:100]]


def _finish(session: Session, record: Record) -> None:
    session.finished = True
    session.exit_status = untrusted.exit_status(record.get("exit"))
    session.duration = untrusted.seconds(record.get("duration"))


def _exit(session: Session, record: Record) -> None:
    session.exit_status = untrusted.exit_status(record.get("code"))


_HANDLERS: dict[str, Callable[[Session, Record], None]] = {
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
    "subtest": _subtest,
}
