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
from agentbench.sandbox.bubblewrap import profile
from agentbench.sandbox.bubblewrap.cgroups import ControlGroup
from agentbench.sandbox.bubblewrap.program import BwrapProgram
from agentbench.sandbox.interface import WORKSPACE, Command, Limits
from agentbench.sandbox.supervise import memory_file, run_child, within_hard_limit
from agentbench.scoring.evidence import CommandResult

_SETS_UP_WITHIN = 30_000  # milliseconds
_NO_SUCH_FOLDER = "Can't chdir to"
_CANNOT_START = 126  # a shell's exit code for a program that it cannot start


@dataclass(frozen=True, slots=True, kw_only=True)
class BwrapRunner:
    """Starts bwrap for each command, with the arguments that all commands of a sandbox share."""

    program: BwrapProgram
    arguments: Sequence[str]
    environment: Mapping[str, str]
    limits: Limits
    network: bool
    group: ControlGroup | None

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        """See CommandRunner.run."""
        kills_before = self._oom_kills()
        with ExitStack() as stack:
            child, init = self._start(command, stack)
            ended = run_child(child, command, end=init.kill, stop=stop)
            if not (init.reported_exit() or ended.timed_out or ended.stopped):
                message = ended.stderr.text()
                if _NO_SUCH_FOLDER not in message:
                    raise SandboxError(f"bubblewrap setup failed: {message.strip()[-500:]}")
                ended = replace(ended, exit_code=_CANNOT_START)
        return ended.result(
            command,
            out_of_memory=self._oom_kills() > kills_before,
            peak_memory=None if self.group is None else self.group.peak_memory(),
        )

    def _start(self, command: Command, stack: ExitStack) -> tuple[subprocess.Popen[bytes], "_Init"]:
        """Start bwrap, and let it continue once its first process inside is limited."""
        data, files = profile.data_arguments(stack, network=self.network)
        environment = {**self.environment, **command.env}
        cwd = command.cwd or WORKSPACE
        words = memory_file(profile.command_arguments(environment, cwd), stack)
        argv = profile.start_argv(command.argv)
        argv = profile.limited_argv(argv, file_bytes=self._file_bytes, open_files=self._open_files)
        status, status_end = os.pipe()
        stack.callback(os.close, status)
        go_end, go = os.pipe()
        try:
            child = self.program.start(
                (
                    *self.arguments,
                    *data,
                    *("--args", str(words)),
                    *("--json-status-fd", str(status_end)),
                    *("--block-fd", str(go_end)),
                    *("--", *argv),
                ),
                (*files, words, status_end, go_end),
            )
            os.close(status_end)
            status_end = -1
            init = _Init(child, status, stack)
            self._limit(init.pid)
        finally:
            for end in (status_end, go_end, go):  # closing `go` lets bwrap continue
                if end != -1:
                    os.close(end)
        return child, init

    def _limit(self, pid: int | None) -> None:
        """Limit the first process inside, before the command runs."""
        if pid is None:
            return  # it failed; `run_child` returns the reason
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
            # Refused to a root without CAP_SYS_RESOURCE; the control group limits it, too.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                resource.prlimit(pid, name, (value, value))
        if self.group is not None:
            with contextlib.suppress(ProcessLookupError):  # it has failed meanwhile
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
    """The first process inside; all others die with it."""

    def __init__(self, child: subprocess.Popen[bytes], status: int, stack: ExitStack) -> None:
        self._child = child
        self._status = status
        self._report = _first_line(status)
        self.pid = _status_value(self._report, "child-pid")
        self._handle: int | None = None
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                self._handle = os.pidfd_open(self.pid)
                stack.callback(os.close, self._handle)

    def kill(self) -> None:
        """Kill every process inside; bwrap ends when they are dead."""
        if self._handle is None:
            self._child.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def reported_exit(self) -> bool:
        """Whether a command was started and has ended; call it once, after bwrap's end."""
        while chunk := os.read(self._status, 4096):
            self._report += chunk
        return _status_value(self._report, "exit-code") is not None


def _first_line(status: int) -> bytes:
    """The first line of bwrap's report, or nothing if bwrap ends or hangs before it."""
    poll = select.poll()
    poll.register(status, select.POLLIN)
    report = b""
    while b"\n" not in report and poll.poll(_SETS_UP_WITHIN) and (chunk := os.read(status, 4096)):
        report += chunk
    return report


def _status_value(report: bytes, key: str) -> int | None:
    for line in report.splitlines():
        facts = json.loads(line)
        if key in facts:
            return int(facts[key])
    return None
