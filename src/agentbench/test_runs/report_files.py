"""Reads the reporters' files in a sandbox, after a run or for its progress, or on this machine.

In a sandbox only named files are read, of bounded size, as a stream.
"""

import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from threading import Event, Thread

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.errors import SandboxError
from agentbench.sandbox.archives import limited, open_tar_stream
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import Ending
from agentbench.test_runs import model
from agentbench.test_runs.parse import PytestExit, ReportFiles, result_of, session_of
from agentbench.test_runs.stream import lines_of

STREAM_FILE = "stream.jsonl"  # the launcher also has this name and the next one
JSON_REPORT_FILE = "report.json"
JUNIT_FILE = "junit.xml"
RECORDINGS_FILE = "recordings.jsonl"

_MIB = 1024 * 1024
REPORT_LIMIT = 256 * _MIB  # the most bytes of a report; a larger one counts as missing
_LIMITS = {
    STREAM_FILE: 256 * _MIB,
    JSON_REPORT_FILE: REPORT_LIMIT,
    JUNIT_FILE: 64 * _MIB,
    RECORDINGS_FILE: 20 * _MIB,
}
TOTAL_LIMIT = 1024 * _MIB  # the most bytes to read from a sandbox
_MEMBER_LIMIT = 1000
_POLL_SECONDS = 0.2
# Reading takes at most a twentieth of the time, since a long stream is read again each time.
_MAX_SHARE_OF_TIME = 20


def read_report_files(sandbox: Sandbox, folder: PurePosixPath) -> ReportFiles:
    """The report files of agentbench's launcher in a folder, which may be missing.

    Raises:
        SandboxError: the sandbox is lost. A missing folder is not an error.
    """
    files = read_files(sandbox, folder, _LIMITS)
    return ReportFiles(
        stream=files.get(STREAM_FILE),
        json_report=files.get(JSON_REPORT_FILE),
        junit=files.get(JUNIT_FILE),
        recordings=files.get(RECORDINGS_FILE),
    )


def read_files(
    sandbox: Sandbox,
    folder: PurePosixPath,
    limits: Mapping[str, int],
    total_limit: int = TOTAL_LIMIT,
) -> dict[str, str]:
    """Some files of a folder with untrusted content, which may be missing.

    Args:
        sandbox: The sandbox.
        folder: The folder.
        limits: The files by their names in the folder, each with its largest size in bytes.
        total_limit: The most bytes to read from the sandbox.

    Raises:
        SandboxError: the sandbox is lost. A missing folder is not an error.
    """
    found: dict[str, str] = {}
    try:
        with (
            sandbox.read_tree(folder) as chunks,
            suppress(tarfile.TarError),  # truncated, or beyond the limit: earlier files count
            open_tar_stream(limited(chunks, total_limit)) as archive,
        ):
            for member in islice(archive, _MEMBER_LIMIT):
                name = str(PurePosixPath(member.name))
                # By its header a regular file; sparse files and links are none.
                is_file = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
                if is_file and name not in found and 0 <= member.size <= limits.get(name, -1):
                    file = archive.extractfile(member) or BytesIO()
                    found[name] = file.read().decode("utf-8", "replace")
    except SandboxError:
        # A test may have removed the folder. If the sandbox is lost, this raises as well.
        with sandbox.read_tree(sandbox.results) as chunks:
            next(iter(chunks), None)
        return {}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """The number of finished tests, and of tests that should run."""

    done: int
    collected: int


ProgressSink = Callable[[RunProgress], None]  # is called with every change, from its own thread


@contextmanager
def follow_progress(
    sandbox: Sandbox, folder: PurePosixPath, tell: ProgressSink | None
) -> Iterator[None]:
    """Follow a run that writes its reports into a folder while the block runs."""
    if tell is None:
        yield
        return
    over = Event()
    follower = Thread(target=_follow, args=(sandbox, folder, tell, over), daemon=True)
    follower.start()
    try:
        yield
    finally:
        over.set()
        follower.join()


def _follow(sandbox: Sandbox, folder: PurePosixPath, tell: ProgressSink, over: Event) -> None:
    tally = ProgressCounter()
    latest: RunProgress | None = None
    pause = _POLL_SECONDS
    while not over.wait(pause):
        started = time.monotonic()
        try:
            tally.read_lines(lines_of(read_report_files(sandbox, folder).stream or ""))
        except SandboxError:
            return  # the run itself reports it
        if tally.progress.collected and tally.progress != latest:
            latest = tally.progress
            tell(latest)
        pause = max(_POLL_SECONDS, _MAX_SHARE_OF_TIME * (time.monotonic() - started))


class ProgressCounter:
    """Counts the finished tests in a growing stream."""

    def __init__(self) -> None:
        self._read = 0  # lines
        self._collected: set[str] = set()
        self._done: set[str] = set()

    @property
    def progress(self) -> RunProgress:
        """The progress at the last read."""
        collected = max(len(self._collected), len(self._done))
        return RunProgress(done=len(self._done), collected=collected)

    def read_lines(self, lines: Iterable[str]) -> None:
        """Read the new complete lines."""
        for line in islice(lines, self._read, None):
            if not line.endswith("\n"):
                break  # the line is incomplete
            self._read += 1
            record = untrusted_json.json_object(line) or {}
            ids = record.get("ids")
            if record.get("kind") == "collected" and isinstance(ids, list):
                self._collected.update(map(untrusted_json.text, ids))
            elif record.get("kind") == "phase" and record.get("when") == "teardown":
                self._done.add(untrusted_json.text(record.get("id")))


def serialize_pytest_results(
    exit_code: int, json_report_path: Path | None, text_output: str
) -> JsonObject:
    """The result of a run in ADR-006's form; a missing or broken report is not an error.

    A negative exit code is a signal, as in `subprocess`.
    """
    ending = Ending.EXITED if exit_code >= 0 else Ending.KILLED
    ended = PytestExit(ending=ending, exit_code=exit_code)
    # Without names, the text and the session are freed before the dictionary is created.
    result = result_of(
        session_of(ReportFiles(json_report=_read(json_report_path)), text_output),
        ended,
        text_output=text_output,
    )
    return result_as_dict(result)


def result_as_dict(result: model.PytestResult) -> JsonObject:
    """A result as plain JSON values; the report is not copied."""
    report: JsonObject = {"json_report": result.json_report}
    return result.model_dump(mode="json", exclude={"json_report"}) | report


def _read(path: Path | None) -> str | None:
    try:
        if path is None or not path.is_file() or path.stat().st_size > REPORT_LIMIT:
            return None
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
