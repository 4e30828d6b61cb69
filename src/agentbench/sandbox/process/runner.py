"""Runs the commands of one process sandbox, each below a subreaper."""

import contextlib
import json
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agentbench.sandbox.interface import Command, Limits
from agentbench.sandbox.process import subreaper
from agentbench.sandbox.supervise import memory_file, run_child, within_hard_limit
from agentbench.sandbox.trees import FileOwner
from agentbench.scoring.evidence import CommandResult

_SHARED_BY_ALL = 8  # sandboxes of one user at once, whose processes the kernel counts together


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRunner:
    """Starts a keeper once a command."""

    python: Path
    user: FileOwner | None
    folder: Path  # the workspace
    limits: Limits | None  # None: what the machine itself allows
    environment: Mapping[str, str]

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        """Run to the end, to the deadline, or until `stop` says so.

        Raises:
            SandboxError: the keeper does not end.
        """
        order = {
            "argv": command.argv,
            "cwd": str(command.cwd or self.folder),
            "env": {**self.environment, **command.env},
            "user": None if self.user is None else self.user.uid,
            "limits": self._limits(),
        }
        with ExitStack() as keep:
            read_from = memory_file(json.dumps(order).encode(), keep)
            child = subprocess.Popen(
                (self.python, "-I", "-S", subreaper.__file__, str(read_from)),
                env={},
                cwd="/",
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(read_from,),
                start_new_session=True,  # Ctrl-C at our terminal is ours to pass on
            )
        return run_child(child, command, end=lambda: _terminate(child), stop=stop).result(command)

    def _limits(self) -> list[tuple[int, int]]:
        limits = [(resource.RLIMIT_CORE, 0)]
        if self.limits is None:
            return limits
        limits += [
            (
                resource.RLIMIT_NOFILE,
                within_hard_limit(resource.RLIMIT_NOFILE, self.limits.open_files),
            ),
            (
                resource.RLIMIT_FSIZE,
                within_hard_limit(resource.RLIMIT_FSIZE, self.limits.disk_mib << 20),
            ),
            (resource.RLIMIT_DATA, self.limits.memory_mib << 20),
        ]
        if self.user is not None:
            limits.append((resource.RLIMIT_NPROC, self.limits.pids * _SHARED_BY_ALL))
        return limits


def _terminate(child: subprocess.Popen[bytes]) -> None:
    """Have the keeper kill the tree; it then ends by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGTERM)
