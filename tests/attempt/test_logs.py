import itertools
import re
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.attempt.logs import (
    EVENTS,
    LOG_BYTES,
    AttemptFiles,
    EventKind,
    StageLog,
    read_events,
)
from agentbench.attempt.outages import CircuitBreaker
from agentbench.errors import StorageError
from agentbench.sandbox.interface import Stream
from agentbench.scoring.evidence import CommandResult, Ending, Evidence, ExceptionFact, StageResult
from agentbench.taxonomy import StageName


def files(folder: Path) -> AttemptFiles:
    return AttemptFiles(folder, CircuitBreaker(cancel=Event()))


def ended(evidence: Evidence) -> StageResult:
    return StageResult(
        stage=StageName.SETUP,
        evidence=evidence,
        started_at=datetime.now(UTC),
        duration=timedelta(),
    )


def test_events_are_read_in_order(tmp_path):
    log = files(tmp_path)
    log.registered()
    log.started(StageName.SETUP)
    log.ended(ended(Evidence()))

    events = read_events(tmp_path)
    assert [each.event for each in events] == list(EventKind)[:3]
    assert [each.at for each in events] == sorted(each.at for each in events)
    assert events[2].stage is StageName.SETUP


@pytest.mark.parametrize(
    ("evidence", "detail"),
    [
        (Evidence(), "done"),
        (
            Evidence(command=CommandResult(argv=(), ending=Ending.TIMED_OUT, duration=timedelta())),
            "timed_out",
        ),
        (
            Evidence(
                exception=ExceptionFact(type_name="SandboxError", message="", reason="UNKNOWN")
            ),
            "SandboxError",
        ),
    ],
)
def test_event_has_the_ending_of_a_stage(tmp_path, evidence, detail):
    files(tmp_path).ended(ended(evidence))
    (event,) = read_events(tmp_path)
    assert (event.detail, event.cached) == (detail, False)


def test_incomplete_line_is_skipped(tmp_path):
    files(tmp_path).registered()
    with (tmp_path / EVENTS).open("a") as file:
        file.write('{"at": "20')
    assert [each.event for each in read_events(tmp_path)] == [EventKind.REGISTERED]


def test_unwritable_folder_raises(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        files(tmp_path / "file").registered()


def logged(path, *chunks: bytes, cap: int = LOG_BYTES) -> bytes:
    ticks = itertools.count()
    with StageLog(path / "a" / "x.log", cap=cap, clock=lambda: float(next(ticks))) as log:
        for chunk in chunks:
            log.write(Stream.STDOUT, chunk)
    return (path / "a" / "x.log").read_bytes()


def test_log_line_has_time_and_stream(tmp_path):
    ticks = iter([10.0, 10.5, 71.25])
    with StageLog(tmp_path / "x.log", clock=lambda: next(ticks)) as log:
        log.write(Stream.STDOUT, b"one\ntwo\n")
        log.write(Stream.STDERR, b"no line end")
    assert (tmp_path / "x.log").read_bytes() == (
        b"[    0.500 stdout] one\ntwo\n[   61.250 stderr] no line end\n"
    )


def test_output_is_written_at_once(tmp_path):
    with StageLog(tmp_path / "x.log") as log:
        log.write(Stream.STDOUT, b"early\n")
        assert b"early" in (tmp_path / "x.log").read_bytes()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[31mred\x1b[0m", rb"\x1b[31mred\x1b[0m"),
        (b"\x1b]0;title\x07", rb"\x1b]0;title\x07"),
        (b"back\rover", rb"back\x0dover"),
        (b"\x00\x7f", rb"\x00\x7f"),
        ("c1 \x9b31m".encode(), rb"c1 \x9b31m"),
        (b"tab\there", b"tab\there"),
        ("caf\u00e9 \u4e2d".encode(), "caf\u00e9 \u4e2d".encode()),
        ("gnp\u202eexe\u2066".encode(), rb"gnp\u202eexe\u2066"),
        (b"\xff\xfe \x9b31m", rb"\xff\xfe \x9b31m"),
    ],
)
def test_control_characters_are_escaped(tmp_path, raw, shown):
    assert logged(tmp_path, raw) == b"[    1.000 stdout] " + shown + b"\n"


@given(st.lists(st.binary(max_size=300), max_size=30))
def test_log_stays_within_its_cap(tmp_path_factory, chunks):
    folder = tmp_path_factory.mktemp("log")
    whole = logged(folder / "whole", *chunks)
    text = logged(folder / "cut", *chunks, cap=400)
    head, rest = text[:200], text[200:]
    assert whole.startswith(head)
    note = re.match(rb"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", rest)
    if note is None or text == whole:
        assert text == whole
        return
    tail = rest[note.end() :]
    assert len(tail) <= 200
    assert len(head) + int(note[1]) + len(tail) == len(whole)
    assert whole.endswith(tail)


def test_closed_log_ignores_output(tmp_path):
    with StageLog(tmp_path / "x.log") as log:
        pass
    log.write(Stream.STDOUT, b"late")
    assert (tmp_path / "x.log").read_bytes() == b""


def test_log_is_thread_safe(tmp_path):
    with StageLog(tmp_path / "x.log") as log:
        threads = [
            threading.Thread(
                target=lambda: [log.write(Stream.STDOUT, b"line\n") for _ in range(200)]
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = (tmp_path / "x.log").read_bytes().splitlines()
    assert len(lines) == 800
    assert all(line.endswith(b"stdout] line") for line in lines)


def test_full_disk_does_not_fail_a_command():
    with StageLog(Path("/dev/full")) as log:
        log.write(Stream.STDOUT, b"nobody will read this\n")
