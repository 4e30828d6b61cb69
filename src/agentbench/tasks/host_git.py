"""Runs git on the host, with everything off that a repository could make it run.

What needs the user's own settings, a clone or a fetch, goes through GitPython. What reads a mirror
is isolated from them and started directly: GitPython's import and its search for git would add a
tenth of a second to every command's start.

Only ever used on repositories that the harness made itself (mirrors), never on a tree that an agent
could write to.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import BinaryIO, cast

from agentbench.errors import RunCancelled, UnavailableError
from agentbench.core.redaction import without_credentials

_ACCEPTED_FSCK_FAULTS = (
    # Real histories bear these; git itself wrote them long ago.
    "badTimezone",
    "zeroPaddedFilemode",
    "missingSpaceBeforeDate",
    "zeroPaddedDate",
    "missingEmail",
    "missingNameBeforeEmail",
    "badFilemode",
)

_SAFE_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=true",
    "core.autocrlf=false",
    "core.logAllRefUpdates=false",
    "core.sharedRepository=0644",  # a sandbox reads the mirror as another user, whatever our umask
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "transfer.fsckObjects=true",
    *(f"fetch.fsck.{fault}=warn" for fault in _ACCEPTED_FSCK_FAULTS),
    *(f"receive.fsck.{fault}=warn" for fault in _ACCEPTED_FSCK_FAULTS),
)

_ISOLATED_ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "agentbench",
    "GIT_AUTHOR_EMAIL": "agentbench@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+00:00",
    "GIT_COMMITTER_NAME": "agentbench",
    "GIT_COMMITTER_EMAIL": "agentbench@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00+00:00",
}

# Also around a clone: it needs the user's credentials, and nothing else that a shell may hold.
_COMMON_ENV = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # an origin's refs/replace/* would swap a commit's content
}

# What names another repository, as in a git hook or a rebase (git rev-parse --local-env-vars).
_REPOSITORY_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_DEFAULT_HASH",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_TEMPLATE_DIR",
        "GIT_WORK_TREE",
    }
)

_BOILERPLATE = (
    "Cloning into",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
    "hint:",
    "warning:",
)
_MAX_MESSAGE_LENGTH = 400
_NO_GIT = "git is not on PATH, or does not run: install git"
_POLL_SECONDS = 0.2  # seconds; how late a cancelled git ends


@dataclass(frozen=True, slots=True, kw_only=True)
class GitResult:
    """What one git command said."""

    status: int
    stdout: bytes
    stderr: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether it exited 0."""
        return self.status == 0

    @property
    def complaint(self) -> str:
        """What it complained about, on one line and without credentials."""
        lines = (" ".join(line.split()) for line in self.stderr.splitlines())
        telling = [line for line in lines if line and not line.startswith(_BOILERPLATE)]
        said = without_credentials("; ".join(telling)) or f"git exited {self.status}"
        return said if len(said) <= _MAX_MESSAGE_LENGTH else f"{said[: _MAX_MESSAGE_LENGTH - 1]}…"


def git(
    *arguments: str,
    cwd: Path,
    sealed: bool = True,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    timeout: timedelta | None = None,
    cancel: Event | None = None,
) -> GitResult:
    """Run git to its end, or to its deadline: then git and all that it started are killed.

    `sealed` leaves the user's configuration out (a commit's hash must not depend on it); a fetch
    needs it, for that is where credentials are.

    Raises:
        UnavailableError: there is no git.
        RunCancelled: `cancel` was set; git and all that it started are dead.
    """
    settings = {**_COMMON_ENV, **(_ISOLATED_ENV if sealed else {}), **(env or {})}
    options = [part for setting in _SAFE_SETTINGS for part in ("-c", setting)]
    argv = ["git", *options, *arguments]
    start = _start_isolated if sealed else _start_as_user
    with (stdin or Path(os.devnull)).open("rb") as source:
        process = start(argv, cwd, settings, source)
        try:
            output = _output(process, timeout, cancel)
        finally:
            _kill(process)
    if output is None:
        assert timeout is not None
        said = f"still running after {timeout.total_seconds():g} s"
        return GitResult(status=-signal.SIGKILL, stdout=b"", stderr=said, timed_out=True)
    stdout, stderr = output
    return GitResult(
        status=process.returncode, stdout=stdout, stderr=stderr.decode("utf-8", "replace")
    )




def _start_isolated(
    argv: list[str], cwd: Path, settings: Mapping[str, str], source: BinaryIO
) -> subprocess.Popen[bytes]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env={**ours, "LANGUAGE": "C", "LC_ALL": "C", **settings},
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a group of its own, so that its helpers can be killed with it
        )
    except (FileNotFoundError, PermissionError) as error:
        raise UnavailableError(_NO_GIT) from error


def _start_as_user(
    argv: list[str], cwd: Path, settings: Mapping[str, str], source: BinaryIO
) -> subprocess.Popen[bytes]:
    try:
        from git import Git  # here: it looks for git when it is imported, and takes its time
    except ImportError as error:
        raise UnavailableError(_NO_GIT) from error
    foreign = sorted(_REPOSITORY_VARIABLES & (os.environ.keys() - settings.keys()))
    unset = [part for name in foreign for part in ("-u", name)]
    running = Git(str(cwd)).execute(
        ["env", *unset, *argv],
        istream=source,
        env=dict(settings),
        as_process=True,
        start_new_session=True,
    )
    process = cast("subprocess.Popen[bytes]", running.proc)
    running.proc = None  # it would terminate the process as soon as nobody holds `running`
    return process


def _output(
    process: subprocess.Popen[bytes], timeout: timedelta | None, cancel: Event | None
) -> tuple[bytes, bytes] | None:
    """What git says until its end; `None` where the deadline comes first."""
    deadline = None if timeout is None else time.monotonic() + timeout.total_seconds()
    while True:
        if cancel is not None and cancel.is_set():
            raise RunCancelled
        left = _POLL_SECONDS if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return None
        try:
            return process.communicate(timeout=min(left, _POLL_SECONDS))
        except subprocess.TimeoutExpired:
            continue


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left at the deadline or at Ctrl-C; an ended command is left alone."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
