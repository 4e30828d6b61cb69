"""Reads the lines of agentbench's streaming reporter."""

import re
from collections.abc import Iterable, Iterator

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
        _read_record(session, record)
    if forged:
        session.internals_changed.append(FORGED)
    changed = tuple(dict.fromkeys(session.internals_changed))
    session.partial_facts = session.partial_facts.replace(internals_changed=changed)
    return session


def _read_record(session: model.ReportedSession, record: JsonObject) -> None:
    text = untrusted_json.text
    match record.get("kind"):
        case "start":
            session.started = True
            session.root = text(record.get("root"), 4096)
            session.versions = model.Versions(
                pytest=text(record.get("pytest"), 100),
                python=text(record.get("python"), 100),
                in_project=record.get("in_project") is True,
            )
            session.partial_facts = session.partial_facts.replace(python=session.versions.python)
        case "spawn" if not session.started:
            # After the start, only a forged line says so.
            session.spawn_error = text(record.get("error"))
        case "collect_error":
            file, message = _file(record), text(record.get("message"))
            traceback = text(record.get("traceback"))
            where = text(record.get("where"))  # with --tb=no the only location
            fact = collection_fact(file, message, f"{traceback}\n{where}", session.root)
            session.add_collection_error(
                model.CollectionError(file=file, message=message, traceback=traceback, fact=fact)
            )
        case "collect_skip":
            session.add_skipped_file(NodeId(_file(record)), text(record.get("message")))
        case "collected":
            ids, names = record.get("ids"), record.get("names")
            node_ids = [NodeId(text(each)) for each in ids] if isinstance(ids, list) else []
            session.collected.update(dict.fromkeys(node_ids))
            printed = names if isinstance(names, list) else []
            for node_id, texts in zip(node_ids, printed, strict=False):
                if isinstance(texts, list):
                    session.names[node_id] = tuple(map(text, texts[:_NAMES_OF_A_TEST]))
        case "collection_finish":
            session.collection_finished = True
            session.deselected = untrusted_json.count(record.get("deselected")) or 0
        case "begin":
            session.begin(NodeId(text(record.get("id"))))
        case "phase" | "subtest":
            _phase(session, record)
        case "interrupt" | "internal_error":
            session.detail = session.detail or text(record.get("message"))
        case "changed":
            names = record.get("names")
            if isinstance(names, list):
                session.internals_changed += [text(name, 200) for name in names[:100]]
        case "finish":
            session.finished = True
            session.exit_status = untrusted_json.exit_status(record.get("exit"))
            session.duration = untrusted_json.seconds(record.get("duration"))
        case "exit":
            session.exit_status = untrusted_json.exit_status(record.get("code"))
        case _:
            pass  # of a newer reporter, or forged


def _file(record: JsonObject) -> str:
    return untrusted_json.text(record.get("file")).split("::")[0] or "unknown"


def _phase(session: model.ReportedSession, record: JsonObject) -> None:
    is_subtest = record.get("kind") == "subtest"
    expected_to_fail = "xfail" in record
    when, outcome = model.parse_phase(record.get("when"), record.get("outcome"))
    if outcome is model.PhaseOutcome.PASSED and not (expected_to_fail or is_subtest):
        phase = model.PASSED_PHASES[when]
    else:
        reason, message, traceback = (
            untrusted_json.text(record.get(field)) or None
            for field in ("xfail", "message", "traceback")
        )
        phase = model.Phase(
            when=when,
            outcome=outcome,
            message=reason or message,
            traceback=traceback,
            expected_to_fail=expected_to_fail,
            is_subtest=is_subtest,
        )
    # A subtest's duration is a part of its test's.
    duration = 0.0 if is_subtest else untrusted_json.seconds(record.get("duration"))
    session.add(NodeId(untrusted_json.text(record.get("id"))), phase, duration=duration)
