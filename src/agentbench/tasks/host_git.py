"""Runs git on the host, with every feature disabled by which a repository could run programs.

Clones and fetches need the user's own settings and go through GitPython. Commands that read a
mirror are isolated from these settings and started directly, since GitPython's import and its
search for git would add a tenth of a second to every command's start.

It is only used on repositories that the harness made itself (mirrors), never on a tree that an
agent could write to.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import BinaryIO, cast

from agentbench.core.display_text import without_credentials
from agentbench.errors import RunCancelled, UnavailableError

_ACCEPTED_FSCK_FAULTS = (
    # Real histories have these; old versions of git wrote them.
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

# For every git command, also for a clone, which otherwise keeps the user's settings.
_COMMON_ENV = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # an origin's refs/replace/* would swap a commit's content
}

# These name another repository, for example in a git hook (git rev-parse --local-env-vars).
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
_POLL_SECONDS = 0.2  # seconds; the delay until a cancelled git ends


@dataclass(frozen=True, slots=True, kw_only=True)
class GitResult:
    """The ending and the output of one git command."""

    status: int
    stdout: bytes
    stderr: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether it exited 0."""
        return self.status == 0

    @property
    def error_message(self) -> str:
        """Its error messages, on one line and without credentials."""
        lines = (" ".join(line.split()) for line in self.stderr.splitlines())
        useful = [line for line in lines if line and not line.startswith(_BOILERPLATE)]
        text = without_credentials("; ".join(useful)) or f"git exited {self.status}"
        return text if len(text) <= _MAX_MESSAGE_LENGTH else f"{text[: _MAX_MESSAGE_LENGTH - 1]}…"

    def output_or(self, error: Callable[[str], Exception]) -> bytes:
        """Its standard output if it exited 0; else raises `error(error_message)`."""
        if not self.ok:
            raise error(self.error_message)
        return self.stdout


def git(
    *arguments: str,
    cwd: Path,
    isolated: bool = True,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    timeout: timedelta | None = None,
    cancel: Event | None = None,
) -> GitResult:
    """Run git until it ends or until its deadline, which kills git and all its processes.

    Args:
        *arguments: The command and its arguments.
        cwd: The folder that it runs in.
        isolated: Whether to ignore the user's configuration. A commit's hash must not depend on
            it, but a fetch needs the user's credentials.
        env: More environment variables.
        stdin: The file for its standard input; None: empty.
        timeout: The time limit; None: unlimited.
        cancel: Cancels the command when it is set.

    Raises:
        UnavailableError: git is not installed.
        RunCancelled: `cancel` was set; git and all its processes are dead.
    """
    settings = {**_COMMON_ENV, **(_ISOLATED_ENV if isolated else {}), **(env or {})}
    options = [part for setting in _SAFE_SETTINGS for part in ("-c", setting)]
    argv = ["git", *options, *arguments]
    start = _start_isolated if isolated else _start_as_user
    with (stdin or Path(os.devnull)).open("rb") as source:
        process = start(argv, cwd, settings, source)
        try:
            output = _output(process, timeout, cancel)
        finally:
            _kill(process)
    if output is None:
        assert timeout is not None
        message = f"still running after {timeout.total_seconds():g} s"
        return GitResult(status=-signal.SIGKILL, stdout=b"", stderr=message, timed_out=True)
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
        from git import Git  # its import is slow and looks for git
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
    running.proc = None  # or it would terminate the process when `running` is collected
    return process


def _output(
    process: subprocess.Popen[bytes], timeout: timedelta | None, cancel: Event | None
) -> tuple[bytes, bytes] | None:
    """The output of git until it ends; `None` if the deadline comes first."""
    deadline = None if timeout is None else time.monotonic() + timeout.total_seconds()
    while True:
        if cancel is not None and cancel.is_set():
            raise RunCancelled
        remaining = _POLL_SECONDS if deadline is None else deadline - time.monotonic()
        if remaining <= 0:
            return None
        try:
            return process.communicate(timeout=min(remaining, _POLL_SECONDS))
        except subprocess.TimeoutExpired:
            continue


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command that still runs at its deadline or when it is cancelled."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def catalogue_state(folder: Path) -> tuple[str | None, bool | None]:
    """The git commit of the tasks, and whether they were changed since; None: no git."""
    where = folder if folder.is_dir() else folder.parent
    commit = git("rev-parse", "--verify", "HEAD", cwd=where)
    if not commit.ok:
        return None, None
    status = git("status", "--porcelain", "--", ".", cwd=where)
    return commit.stdout.decode().strip(), bool(status.stdout.strip()) if status.ok else None
