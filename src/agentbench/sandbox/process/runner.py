"""Runs the commands of one process sandbox, each as the child of a subreaper."""

import json
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from agentbench.sandbox.interface import Command, Limits
from agentbench.sandbox.process import subreaper
from agentbench.sandbox.supervise import memory_file, run_child, within_hard_limit
from agentbench.sandbox.trees import FileOwner
from agentbench.scoring.evidence import CommandResult

_MOST_SANDBOXES = 8  # of one user at a time, whose processes the kernel counts together


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRunner:
    """Starts a subreaper for each command."""

    python: Path
    user: FileOwner | None
    folder: Path  # the workspace
    limits: Limits | None  # None: only those of the machine
    environment: Mapping[str, str]

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        request = {
            "argv": command.argv,
            "cwd": str(command.cwd or self.folder),
            "env": {**self.environment, **command.env},
            "user": None if self.user is None else self.user.uid,
            "limits": self._limits(),
        }
        with ExitStack() as stack:
            descriptor = memory_file(json.dumps(request).encode(), stack)
            child = subprocess.Popen(
                (self.python, "-I", "-S", subreaper.__file__, str(descriptor)),
                env={},
                cwd="/",
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(descriptor,),
                start_new_session=True,  # we handle Ctrl-C in the terminal
            )

        def terminate() -> None:
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)

        return run_child(child, command, end=terminate, stop=stop).result(command)

    def _limits(self) -> list[tuple[int, int]]:
        limits = [(resource.RLIMIT_CORE, 0)]
        if self.limits is not None:
            for number, value in (
                (resource.RLIMIT_NOFILE, self.limits.open_files),
                (resource.RLIMIT_FSIZE, self.limits.disk_mib << 20),
            ):
                limits.append((number, within_hard_limit(number, value)))
            limits.append((resource.RLIMIT_DATA, self.limits.memory_mib << 20))
            if self.user is not None:
                limits.append((resource.RLIMIT_NPROC, self.limits.pids * _MOST_SANDBOXES))
        return limits
