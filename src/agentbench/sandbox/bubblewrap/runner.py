"""Runs the commands of one bubblewrap sandbox, each in namespaces of its own."""

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from agentbench.errors import SandboxError
from agentbench.sandbox.bubblewrap.cgroups import ControlGroup
from agentbench.sandbox.bubblewrap.profile import (
    WORKSPACE,
    command_arguments,
    data_arguments,
    limited_argv,
    start_argv,
)
from agentbench.sandbox.bubblewrap.program import BwrapProgram
from agentbench.sandbox.interface import Command, Limits
from agentbench.sandbox.supervise import ChildResult, memory_file, run_child, within_hard_limit
from agentbench.scoring.evidence import CommandResult

_SETS_UP_WITHIN = 30_000  # milliseconds
_NO_SUCH_FOLDER = "Can't chdir to"
_CANNOT_START = 126  # what a shell exits with when it finds a program and cannot start it


@dataclass(frozen=True, slots=True, kw_only=True)
class BwrapRunner:
    """Starts bwrap once a command; what is the same each time was worked out by the provider."""

    program: BwrapProgram
    arguments: Sequence[str]
    environment: Mapping[str, str]
    limits: Limits
    network: bool
    group: ControlGroup | None

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        """Run to the end, to the deadline, or until `stop` says so.

        Raises:
            SandboxError: bwrap could not set the sandbox up.
        """
        kills_before = self._oom_kills()
        with ExitStack() as keep:
            child, init = self._start(command, keep)
            attended = run_child(child, command, end=init.kill, stop=stop)
            if not (init.has_told_an_exit() or attended.timed_out or attended.stopped):
                attended = _explain_failure(attended)
        return attended.result(
            command,
            out_of_memory=self._oom_kills() > kills_before,
            peak_memory=None if self.group is None else self.group.peak_memory(),
        )

    def _start(self, command: Command, keep: ExitStack) -> tuple[subprocess.Popen[bytes], "_Init"]:
        """Start bwrap, and let it go on once its first process inside is limited."""
        data, files = data_arguments(network=self.network, keep=keep)
        environment = {**self.environment, **command.env}
        words = memory_file(command_arguments(environment, command.cwd or WORKSPACE), keep)
        status, status_end = os.pipe()
        keep.callback(os.close, status)
        go_end, go = os.pipe()
        try:
            child = self.program.start(
                (
                    *self.arguments,
                    *data,
                    *("--args", str(words)),
                    *("--json-status-fd", str(status_end)),
                    *("--block-fd", str(go_end)),
                    *("--", *self._limited(start_argv(command.argv))),
                ),
                (*files, words, status_end, go_end),
            )
            os.close(status_end)
            status_end = -1
            init = _Init(child, status, keep)
            self._limit(init.pid)
        finally:
            for end in (status_end, go_end, go):  # closing `go` is the signal to go on
                if end != -1:
                    os.close(end)
        return child, init

    def _limited(self, argv: Sequence[str]) -> Sequence[str]:
        return limited_argv(argv, file_bytes=self._file_bytes, open_files=self._open_files)

    def _limit(self, pid: int | None) -> None:
        """Limit the first process inside, before anything of the sandbox's runs."""
        if pid is None:
            return  # it failed before; `run_child` brings the reason
        covered = frozenset[str]() if self.group is None else self.group.controllers
        limits = [
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, self._file_bytes),
            (resource.RLIMIT_NOFILE, self._open_files),
        ]
        if "memory" not in covered:
            limits.append((resource.RLIMIT_DATA, self.limits.memory_mib << 20))
        if "pids" not in covered:  # counted within the sandbox's own user namespace
            limits.append((resource.RLIMIT_NPROC, self.limits.pids))
        for name, value in limits:
            # Refused to a root that lacks CAP_SYS_RESOURCE; control groups hold all the same.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                resource.prlimit(pid, name, (value, value))
        if self.group is not None:
            with contextlib.suppress(ProcessLookupError):  # it failed since
                self.group.admit(pid)

    @property
    def _file_bytes(self) -> int:
        return within_hard_limit(resource.RLIMIT_FSIZE, self.limits.disk_mib << 20)

    @property
    def _open_files(self) -> int:
        return within_hard_limit(resource.RLIMIT_NOFILE, self.limits.open_files)

    def _oom_kills(self) -> int:
        return 0 if self.group is None else self.group.oom_kills()


class _Init:
    """The first process inside; its death is the death of all of them."""

    def __init__(self, child: subprocess.Popen[bytes], status: int, keep: ExitStack) -> None:
        self._child = child
        self._status = status
        self._said = _read_line(status)
        self.pid = _status_value(self._said, "child-pid")
        self._handle: int | None = None
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                self._handle = os.pidfd_open(self.pid)
                keep.callback(os.close, self._handle)

    def kill(self) -> None:
        """Kill every process inside; bwrap then ends by itself, when they are all dead."""
        if self._handle is None:
            self._child.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def has_told_an_exit(self) -> bool:
        """Whether a command was started and ended. Asked once, after bwrap has ended."""
        while chunk := os.read(self._status, 4096):
            self._said += chunk
        return _status_value(self._said, "exit-code") is not None


def _explain_failure(attended: ChildResult) -> ChildResult:
    """What bwrap's own failure means for the command.

    Raises:
        SandboxError: it could not make the sandbox at all.
    """
    said = attended.stderr.text()
    if _NO_SUCH_FOLDER in said:
        return replace(attended, exit_code=_CANNOT_START)
    raise SandboxError(f"bubblewrap could not set up: {said.strip()[-500:]}")


def _read_line(status: int) -> bytes:
    """What bwrap says first, or nothing when it ends or is stuck before."""
    poll = select.poll()
    poll.register(status, select.POLLIN)
    said = b""
    while b"\n" not in said and poll.poll(_SETS_UP_WITHIN) and (chunk := os.read(status, 4096)):
        said += chunk
    return said


def _status_value(said: bytes, key: str) -> int | None:
    for line in said.splitlines():
        facts = json.loads(line)
        if key in facts:
            return int(facts[key])
    return None
