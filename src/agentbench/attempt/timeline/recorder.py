"""Notes the states of an agent's workspace while it works: only what changed, each state once.

A state is noted whenever the agent waits: at each request to its model, between two commands of an
agent in Python, and for other agents in pauses of their work. What an agent leaves there is
untrusted, and can at most spoil its own timeline.
"""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, repeat
from pathlib import Path, PurePosixPath
from socket import socket
from threading import Event, Lock, Thread
from zipfile import ZIP_DEFLATED, ZipFile

from agentbench.attempt.timeline.document import MAX_NOTED, NotedState
from agentbench.attempt.timeline.states import NotedStates, StoredFile
from agentbench.core.display_text import printable
from agentbench.core.files import FileContent
from agentbench.core.schema import Schema
from agentbench.integrity.extraction import has_control_characters
from agentbench.sandbox.interface import Command, HasHostWorkspace, ReadOnlyMount, Sandbox, Sidecar
from agentbench.sandbox.mounted import changes
from agentbench.sandbox.relay import python_program

_MOUNT = "agentbench-changes.py"
_PROGRAM = Path(changes.__file__)
_MAX_CHANGED = 1_000  # files of a state that is noted
_MAX_STORED = 64 << 20  # bytes of all different contents
_MAX_CONTENTS = changes.MAX_FILES
_MAX_ANSWER = 2 * changes.MAX_BYTES  # bytes of JSON
_ANSWERS_WITHIN = 10.0  # seconds; a scan of 50,000 files on a busy machine takes two
_PAUSE = 1.0  # seconds between two scans of the work of an agent without a model
_RESTLESS = 3  # scans in a row; a file that changed in each of them, as a log does, is no work
_SHARE = 50  # a scan takes at most 1/50 of the time, however large the workspace is


class ScannedChanges(Schema):
    """What one scan found; see `Changes.scan`."""

    files: dict[str, tuple[str | None, bool]]
    special: list[str]
    removed: list[str]
    marks: dict[str, list[int]]
    truncated: bool
    has_more: bool


Scan = Callable[[], ScannedChanges]
StateFiles = dict[PurePosixPath, FileContent | None]


class TimelineRecorder:
    """The noted states of one attempt; thread-safe, and no failure of it reaches the agent."""

    def __init__(self, archive: Path, base: Callable[[PurePosixPath], FileContent | None]) -> None:
        """A recorder that has noted nothing.

        Args:
            archive: A new file for the contents.
            base: A file as it is before the agent's work; None: there is none.
        """
        archive.parent.mkdir(parents=True, exist_ok=True)
        self._archive = ZipFile(archive, "w", ZIP_DEFLATED)
        self._lock = Lock()
        self._base = base
        self._scan: Scan | None = None
        self._unseen_since: datetime | None = None
        self._files: dict[PurePosixPath, StoredFile] = {}
        self._states: dict[str, dict[PurePosixPath, StoredFile]] = {}
        self._marks: dict[str, list[int]] = {}  # of all files, for the next program that scans
        self._stored_bytes = 0
        self._is_full = False  # for good: an agent must not fill the memory of the harness
        self._stored: set[str] = set()
        self._count = 0
        self._stride = 1  # of the counted states that stay
        self._has_extra = False  # whether the last one stays only until the next one
        self.noted: list[NotedState] = []
        self.notes: dict[str, None] = {}  # in order, each once
        self._unreadable: str | None = None  # the first such file
        self._streaks: dict[PurePosixPath, int] = {}  # scans in a row that found it changed

    def note(self, at: datetime | None = None, *, is_waiting: bool = True) -> None:
        """Note the state of now, unless it is that of the last time.

        Args:
            at: The time to note; None: now.
            is_waiting: Whether the agent waits. If it may be in the middle of its work, the state
                counts once nothing has changed since the last call, except for files that change
                all the time.
        """
        with self._lock, suppress(OSError, ValueError):  # a ValidationError is a ValueError
            if self._is_full:
                return
            at = self._unseen_since or at or datetime.now(UTC)
            if self._scan is None:
                # Between two commands in a container nothing can scan; the next scan shows what
                # the workspace was like since then.
                self._unseen_since = at
                return
            changed, deadline = set[PurePosixPath](), time.monotonic() + _ANSWERS_WITHIN
            has_more = True
            while has_more and not self._is_full:
                if time.monotonic() > deadline:
                    raise OSError("the rest of the state takes too long")
                has_more = self._add_files(self._scan(), changed)
            self._streaks = {path: self._streaks.get(path, 0) + 1 for path in changed}
            if is_waiting or all(scans > _RESTLESS for scans in self._streaks.values()):
                self._note_state(at)
                self._unseen_since = None

    def note_last(self, files: StateFiles) -> None:
        """Note the state that the harness extracted after the agent's end."""
        with self._lock:
            self._files = {}
            for path, file in files.items():
                if changes.SKIPPED.isdisjoint(path.parts):
                    self._set(path, file)
            self._note_state(self._unseen_since or datetime.now(UTC))

    @contextmanager
    def scanning(self, scan: Scan) -> Iterator[None]:
        """Scan in this way during the block, and note the state at its start."""
        with self._lock:
            self._scan = scan
        self.note()
        try:
            yield
        finally:
            with self._lock:
                self._scan = None

    def known_marks(self) -> bytes:
        """What a program in the sandbox has to know to go on, as a line of JSON."""
        with self._lock:
            return json.dumps(self._marks or None).encode() + b"\n"

    def with_sidecar(self, command: Command, sandbox: Sandbox) -> Command:
        """The command with a program that scans, where the workspace is not on this machine."""
        if _host_workspace(sandbox) is not None:
            return command
        sidecar = timeline_sidecar(self, sandbox)
        return replace(command, sidecars=(*command.sidecars, sidecar))

    @property
    def states(self) -> NotedStates:
        """The states so far."""
        return NotedStates(self._archive, self.noted, self._states, tuple(self.notes))

    def close(self) -> None:
        """Finish the archive: from now on its states can be judged."""
        self.states.write_index()
        self._archive.close()

    def _add_files(self, scanned: ScannedChanges, changed: set[PurePosixPath]) -> bool:
        """Add the changes of a scan, and their paths; returns whether the next scan has more."""
        for name in scanned.removed:
            self._marks.pop(name, None)
            if self._set(_safe(name), None):
                changed.add(_safe(name))
        # As in the extracted change: what may not be in one is as it was at the start.
        refused = {*scanned.special, *filter(has_control_characters, scanned.files)}
        for name in refused:
            if self._files.pop(_safe(name), None) is not None:
                changed.add(_safe(name))
        self._marks.update(scanned.marks)
        if scanned.truncated:
            self.notes["the workspace has more files than are scanned"] = None
        for name, (encoded, executable) in scanned.files.items():
            if name in refused:
                continue
            if encoded is not None:
                content = base64.b64decode(encoded, validate=True)
                if self._set(_safe(name), FileContent(content=content, executable=executable)):
                    changed.add(_safe(name))
            elif self._unreadable is None:
                self._unreadable = printable(name)
                why = "are too large or cannot be read; their changes are missing"
                self.notes[f"files such as {self._unreadable} {why}"] = None
            if self._has_too_much():
                self._give_up()
                break
        return scanned.has_more

    def _set(self, path: PurePosixPath, file: FileContent | None) -> bool:
        """Set a file of the state; None: it was removed. Returns whether this changes the state.

        What is as at the start is no change.
        """
        before = self._files.get(path, ("", False))
        if file == self._base(path):
            self._files.pop(path, None)
        else:
            stored = None if file is None else (self._digest_of(file.content), file.executable)
            self._files[path] = stored
        return before != self._files.get(path, ("", False))

    def _digest_of(self, content: bytes) -> str:
        """The digest of a content, which is stored if it is new."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._stored and self._stored_bytes <= _MAX_STORED:
            self._archive.writestr(digest, content)
            self._stored.add(digest)
            self._stored_bytes += len(content)
        return digest

    def _note_state(self, at: datetime) -> None:
        if self._has_too_much():
            self._give_up()
            return
        if len(self._files) > _MAX_CHANGED:
            self.notes["some states are missing, since they have too many files"] = None
            return
        written = json.dumps([(str(path), file) for path, file in sorted(self._files.items())])
        state = hashlib.sha256(written.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        if self.noted and self.noted[-1].state == state:
            return
        if self._has_extra:
            self._drop(self.noted[:-1])
        self._has_extra = self._count % self._stride != 0
        self._count += 1
        self.noted.append(NotedState(at=at, state=state))
        self._states[state] = dict(self._files)
        if len(self.noted) >= MAX_NOTED:
            self._drop(self.noted[::2])
            self._stride *= 2
            self._has_extra = False
            self.notes["there were many states, so that some between them are missing"] = None

    def _give_up(self) -> None:
        self.notes["later states are missing, since they have too many files or bytes"] = None
        self._is_full = True

    def _drop(self, kept: list[NotedState]) -> None:
        """Forget all other states."""
        self.noted = kept
        names = {each.state for each in kept}
        self._states = {name: files for name, files in self._states.items() if name in names}

    def _has_too_much(self) -> bool:
        most_files = max(len(self._files), len(self._marks))
        too_many = most_files > changes.MAX_FILES or len(self._stored) > _MAX_CONTENTS
        return too_many or self._stored_bytes > _MAX_STORED


def _safe(path: str) -> PurePosixPath:
    """The path that an untrusted scan gave.

    Raises:
        ValueError: it leads out of the workspace.
    """
    if not path or path[0] == "/" or ".." in path.split("/"):
        raise ValueError(path)
    return PurePosixPath(path)


def timeline_mount() -> ReadOnlyMount:
    """The mount of the program that scans from inside a container."""
    return ReadOnlyMount(name=_MOUNT, source=_PROGRAM)


@contextmanager
def recording(recorder: TimelineRecorder, sandbox: Sandbox, *, has_model: bool) -> Iterator[None]:
    """Note the states of a sandbox's workspace while the block runs."""
    with ExitStack() as stack:
        if (folder := _host_workspace(sandbox)) is not None:
            stack.enter_context(recorder.scanning(scan_of(changes.Changes(str(folder)))))
        if not has_model:
            stack.enter_context(noting_pauses(recorder))
        yield


def scan_of(watched: changes.Changes) -> Scan:
    """Scans of a folder of this machine."""
    return lambda: ScannedChanges.model_validate(watched.scan())


def _host_workspace(sandbox: Sandbox) -> Path | None:
    return sandbox.host_workspace if isinstance(sandbox, HasHostWorkspace) else None


def timeline_sidecar(recorder: TimelineRecorder, sandbox: Sandbox) -> Sidecar:
    """A program beside a command of the agent that scans the workspace from inside."""

    @contextmanager
    def attend(stream: socket) -> Iterator[None]:
        with recorder.scanning(_AskedProgram(stream, recorder.known_marks())):
            yield

    argv = python_program(sandbox.mounted(_MOUNT), str(sandbox.workspace))
    return Sidecar(argv=argv, attend=attend)


class _AskedProgram:
    """Asks the program in a sandbox, which the agent may have replaced, for its scans.

    A whole answer has to come in time: otherwise an agent could hold the harness up. After one that
    did not, the stream is no longer in step, and every further scan fails at once.
    """

    def __init__(self, stream: socket, known_marks: bytes) -> None:
        self._stream = stream
        self._lines = chain([known_marks], repeat(b"\n"))
        self._is_in_step = True

    def __call__(self) -> ScannedChanges:
        if not self._is_in_step:
            raise OSError("an earlier answer was late or malformed")
        self._is_in_step = False
        deadline = time.monotonic() + _ANSWERS_WITHIN
        self._stream.settimeout(_ANSWERS_WITHIN)
        self._stream.sendall(next(self._lines))
        size = int.from_bytes(self._received(8, deadline), "big")
        if size > _MAX_ANSWER:
            raise ValueError("too long")
        scanned = ScannedChanges.model_validate_json(self._received(size, deadline))
        self._is_in_step = True
        return scanned

    def _received(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._stream.settimeout(max(deadline - time.monotonic(), 0.001))
            chunk = self._stream.recv(min(1 << 16, size - len(data)))
            if not chunk:
                raise OSError("the program in the sandbox has ended")
            data += chunk
        return bytes(data)


@contextmanager
def noting_pauses(recorder: TimelineRecorder) -> Iterator[None]:
    """Note the states of an agent whose requests nobody sees, while the block runs."""
    ended = Event()

    def watch() -> None:
        wait = _PAUSE
        while not ended.wait(wait):
            started = time.monotonic()
            recorder.note(is_waiting=False)
            wait = max(_PAUSE, _SHARE * (time.monotonic() - started))

    thread = Thread(target=watch, name="agentbench-timeline", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
