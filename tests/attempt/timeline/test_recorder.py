"""States are noted once, within limits, whatever a workspace answers."""

import base64
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from agentbench.attempt.timeline import recorder as recorder_module
from agentbench.attempt.timeline.recorder import (
    ScannedChanges,
    TimelineRecorder,
    scan_of,
    timeline_sidecar,
)
from agentbench.core.files import FileContent
from agentbench.sandbox.mounted import changes
from agentbench.sandbox.mounted.changes import Changes

BASE = FileContent(content=b"1", executable=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.py").write_text("1")
    return folder


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[TimelineRecorder]:
    made = TimelineRecorder(
        tmp_path / "agent" / "timeline.zip",
        lambda path: BASE if path == PurePosixPath("a.py") else None,
    )
    yield made
    made.close()


def scanned(
    files: dict[str, bytes | None], *, special: list[str] | None = None, has_more: bool = False
) -> ScannedChanges:
    encoded = {
        path: (None if content is None else base64.b64encode(content).decode(), False)
        for path, content in files.items()
    }
    return ScannedChanges(
        files=encoded,
        special=special or [],
        removed=[],
        marks={},
        truncated=False,
        has_more=has_more,
    )


def states(recorder: TimelineRecorder) -> list[dict[str, str | None]]:
    return [
        {
            str(path): None if file is None else file.content.decode()
            for path, file in recorder.states.files_of(each.state).items()
        }
        for each in recorder.noted
    ]


def test_states_are_noted_in_order_and_equal_ones_have_one_name(
    recorder: TimelineRecorder, workspace: Path
) -> None:
    file = workspace / "a.py"
    with recorder.scanning(scan_of(Changes(str(workspace)))):
        for text in ("2", "2", "1", "2"):
            file.write_text(text)
            recorder.note()
        file.unlink()
        recorder.note()
    assert states(recorder) == [{}, {"a.py": "2"}, {}, {"a.py": "2"}, {"a.py": None}]
    names = [each.state for each in recorder.noted]
    assert (names[0], names[1]) == (names[2], names[3])


def test_state_in_the_middle_of_work_waits_for_a_pause(
    recorder: TimelineRecorder, workspace: Path
) -> None:
    with recorder.scanning(scan_of(Changes(str(workspace)))):
        (workspace / "b.py").write_text("half")
        recorder.note(is_waiting=False)
        (workspace / "b.py").write_text("whole")
        recorder.note(is_waiting=False)
        recorder.note(is_waiting=False)
    assert states(recorder) == [{}, {"b.py": "whole"}]


def test_state_that_nobody_could_look_at_has_the_time_when_it_began(
    recorder: TimelineRecorder, workspace: Path
) -> None:
    watched = Changes(str(workspace))
    with recorder.scanning(scan_of(watched)):
        pass
    (workspace / "a.py").write_text("2")
    at = datetime(2026, 11, 29, tzinfo=UTC)
    recorder.note(at)
    recorder.note()
    with recorder.scanning(scan_of(watched)):
        pass
    assert [each.at for each in recorder.noted][1:] == [at]


def test_last_state_is_the_extracted_one(recorder: TimelineRecorder) -> None:
    content = FileContent(content=b"2", executable=False)
    caches = {PurePosixPath("__pycache__/a.pyc"): content}
    recorder.note_last({PurePosixPath("a.py"): content, **caches})
    recorder.note_last({PurePosixPath("a.py"): BASE})
    assert states(recorder) == [{"a.py": "2"}, {}]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", ""])
def test_path_out_of_the_workspace_is_no_state(recorder: TimelineRecorder, path: str) -> None:
    with recorder.scanning(lambda: scanned({path: b"x"})):
        recorder.note()
    assert recorder.noted == []


GOOD = (
    b'{"files": {}, "special": [], "removed": [], "marks": {}, "truncated": false, '
    b'"has_more": false}'
)


def sized(answer: bytes) -> bytes:
    return len(answer).to_bytes(8, "big") + answer


@contextmanager
def answering(recorder: TimelineRecorder, *answers: bytes) -> Iterator[None]:
    """A program in the sandbox that answers with these bytes, whatever it is asked."""
    ours, theirs = socket.socketpair()
    sandbox: Any = SimpleNamespace(mounted=PurePosixPath, workspace=PurePosixPath("/w"))
    with ours, theirs:
        for answer in answers:
            theirs.sendall(answer)
        with timeline_sidecar(recorder, sandbox).attend(ours):
            yield


@pytest.mark.parametrize(
    "answer",
    [
        sized(b"{}"),
        sized(b"[" * 10_000),
        sized(GOOD.replace(b'"files": {}', b'"files": 1')),
        sized(GOOD.replace(b'"files": {}', b'"files": {"a": ["x"]}')),
        sized(GOOD.replace(b'"files": {}', b'"files": {"a": ["no base64", false]}')),
        sized(GOOD.replace(b'"removed": []', b'"removed": [1]')),
        sized(GOOD.replace(b'"removed": []', b'"removed": ["../x"]')),
        sized(GOOD.replace(b'"special": []', b'"special": ["/x"]')),
        sized(GOOD.replace(b'"marks": {}', b'"marks": {"a": "x"}')),
        (1 << 60).to_bytes(8, "big"),
    ],
)
def test_malformed_answer_is_no_state_and_no_error(
    recorder: TimelineRecorder, answer: bytes
) -> None:
    with answering(recorder, answer, sized(GOOD.replace(b"false", b"1"))):
        recorder.note()
    assert recorder.noted == []


def test_late_answer_holds_nothing_up(
    recorder: TimelineRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_ANSWERS_WITHIN", 0.2)
    with answering(recorder, (100).to_bytes(8, "big"), b"{"):
        recorder.note()
    assert recorder.noted == []


def test_flood_of_files_and_bytes_is_announced(
    recorder: TimelineRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_MAX_CONTENTS", 0)
    flood = iter([scanned({}), scanned({str(n): b"x" for n in range(4)})])
    with recorder.scanning(lambda: next(flood)):
        recorder.note()
        recorder.note()  # asks for no further scan
    assert states(recorder) == [{}]
    assert list(recorder.notes) == [
        "later states are missing, since they have too many files or bytes"
    ]


def test_state_of_too_many_files_is_left_out_and_later_ones_are_noted(
    recorder: TimelineRecorder, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_MAX_CHANGED", 3)
    with recorder.scanning(scan_of(Changes(str(workspace)))):
        for number in range(4):
            (workspace / f"{number}.txt").write_text("x")
        recorder.note()
        for number in range(3):
            (workspace / f"{number}.txt").unlink()
        recorder.note()
    assert states(recorder) == [{}, {"3.txt": "x"}]
    assert list(recorder.notes) == ["some states are missing, since they have too many files"]


def test_state_of_more_bytes_than_a_scan_reads_is_noted_whole(
    recorder: TimelineRecorder, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_BYTES", 1)
    with recorder.scanning(scan_of(Changes(str(workspace)))):
        for number in range(3):
            (workspace / f"{number}.txt").write_text("x")
        recorder.note()
    assert states(recorder) == [{}, {f"{number}.txt": "x" for number in range(3)}]
    assert not recorder.notes


def test_program_that_always_has_more_holds_nothing_up(
    recorder: TimelineRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_ANSWERS_WITHIN", 0.2)
    with recorder.scanning(lambda: scanned({}, has_more=True)):
        recorder.note()
    assert recorder.noted == []


def test_file_that_becomes_a_link_is_as_before_the_work_as_in_the_extracted_change(
    recorder: TimelineRecorder, workspace: Path
) -> None:
    with recorder.scanning(scan_of(Changes(str(workspace)))):
        (workspace / "a.py").write_text("2")
        recorder.note()
        (workspace / "a.py").rename(workspace / "b.py")
        (workspace / "a.py").symlink_to("b.py")
        recorder.note()
    assert states(recorder) == [{}, {"a.py": "2"}, {"b.py": "2"}]


def test_names_that_no_change_may_have_are_left_out(
    recorder: TimelineRecorder, workspace: Path
) -> None:
    with recorder.scanning(scan_of(Changes(str(workspace)))):
        for name in ("two\nlines.py", "turned\u202ename.py", "not\udcffutf8.py", "größe.py"):
            (workspace / name).write_text("2")
        recorder.note()
    assert states(recorder) == [{}, {"größe.py": "2"}]


def test_file_that_changes_all_the_time_hides_no_pause(
    recorder: TimelineRecorder, workspace: Path
) -> None:
    with recorder.scanning(scan_of(Changes(str(workspace)))):
        for number in range(6):
            (workspace / "log.txt").write_text(str(number))
            if number == 4:
                (workspace / "a.py").write_text("2")
            recorder.note(is_waiting=False)
        (workspace / "log.txt").write_text("6")
        recorder.note(is_waiting=False)
    assert states(recorder) == [
        {},
        {"log.txt": "3"},
        {"a.py": "2", "log.txt": "5"},
        {"a.py": "2", "log.txt": "6"},
    ]


def test_many_states_are_thinned_out_evenly(
    recorder: TimelineRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "MAX_NOTED", 8)
    numbers = iter(range(1000))
    with recorder.scanning(lambda: scanned({"b.py": str(next(numbers)).encode()})):
        for _ in range(60):
            recorder.note()
    found = [int(str(state["b.py"])) for state in states(recorder)]
    assert len(found) < 8
    assert (found[0], found[-1]) == (0, 60)
    gaps = {after - before for before, after in pairwise(found[:-1])}
    assert len(gaps) == 1
    assert any("many states" in note for note in recorder.notes)


def test_states_that_were_thinned_out_take_no_memory(
    recorder: TimelineRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "MAX_NOTED", 8)
    numbers = iter(range(1000))
    with recorder.scanning(lambda: scanned({"b.py": str(next(numbers)).encode()})):
        for _ in range(60):
            recorder.note()
    assert set(recorder.states.files) == {each.state for each in recorder.noted}


def test_large_file_is_named_and_the_rest_is_noted(recorder: TimelineRecorder) -> None:
    with recorder.scanning(lambda: scanned({"big": None, "b.py": b"2"})):
        pass
    assert states(recorder) == [{"b.py": "2"}]
    assert list(recorder.notes) == [
        "files such as big are too large or cannot be read; their changes are missing"
    ]


@contextmanager
def program_beside(recorder: TimelineRecorder, workspace: Path) -> Iterator[None]:
    """The program of a container as a process here, on a socket."""
    ours, theirs = socket.socketpair()
    sandbox: Any = SimpleNamespace(
        mounted=lambda _name: PurePosixPath(changes.__file__), workspace=workspace
    )
    sidecar = timeline_sidecar(recorder, sandbox)
    argv = [sys.executable, *sidecar.argv[4:]]
    with ours, theirs, subprocess.Popen(argv, stdin=theirs, stdout=theirs) as program:
        with sidecar.attend(ours):
            yield
        program.kill()


def test_program_of_a_later_command_goes_on_where_the_last_one_ended(
    recorder: TimelineRecorder, workspace: Path
) -> None:
    with program_beside(recorder, workspace):
        (workspace / "a.py").write_text("2")
    with program_beside(recorder, workspace):
        (workspace / "b.py").write_text("3")
        recorder.note()
    assert states(recorder) == [{}, {"a.py": "2"}, {"a.py": "2", "b.py": "3"}]
