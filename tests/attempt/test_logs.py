from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from agentbench.attempt.logs import EVENTS, AttemptFiles, EventKind, read_events
from agentbench.attempt.outages import CircuitBreaker
from agentbench.errors import StorageError
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


def test_events_are_read_in_the_order_they_happened(tmp_path):
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
def test_a_stage_says_how_it_ended(tmp_path, evidence, detail):
    files(tmp_path).ended(ended(evidence))
    (event,) = read_events(tmp_path)
    assert (event.detail, event.cached) == (detail, False)


def test_an_event_is_on_disk_at_once_and_says_only_what_it_knows(tmp_path):
    files(tmp_path).started(StageName.AGENT_RUN)
    (line,) = (tmp_path / EVENTS).read_text().splitlines()
    assert line.endswith('"event":"stage_started","stage":"agent_run"}')


def test_a_torn_line_hides_no_other(tmp_path):
    files(tmp_path).registered()
    with (tmp_path / EVENTS).open("a") as file:
        file.write('{"at": "20')
    assert [each.event for each in read_events(tmp_path)] == [EventKind.REGISTERED]


def test_an_attempt_without_events_has_none(tmp_path):
    assert read_events(tmp_path) == ()


def test_a_disk_that_takes_nothing_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        files(tmp_path / "file").registered()
