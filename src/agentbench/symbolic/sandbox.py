"""Where code that somebody hands in is run.

A fresh sandbox for each question, with our programs and their libraries.

No network, no privileges, limits on all it may use, and a deadline that no code can move.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event

from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import Command, ImageId, Limits, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult
from agentbench.symbolic.libraries import PythonVersion, program_argv, python_of, symbolic_mounts

SUBMITTED_MODULE = "submitted"
"""What the code is called as a module, in the folder of the workspace."""

ANALYSIS_LIMITS = Limits(
    cpus=1.0, memory_mib=1024, pids=64, disk_mib=64, files=2000, open_files=256
)

_OUTPUT_CAP = 1 << 20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSandbox:
    """An open sandbox with the code in it."""

    sandbox: Sandbox

    @property
    def path(self) -> str:
        """Where the code is."""
        return f"{self.sandbox.workspace}/{SUBMITTED_MODULE}.py"

    def run(self, program: str, question: str, *, seconds: float) -> CommandResult:
        """Ask one of the mounted programs.

        Raises:
            SandboxError: the sandbox is lost.
            RunCancelled: it was called off; its processes are dead.
        """
        return self.sandbox.run(
            Command(
                argv=program_argv(self.sandbox, program),
                timeout=timedelta(seconds=seconds),
                stdin=question.encode(),
                output_cap=_OUTPUT_CAP,
            )
        )


class AnalysisSandboxes:
    """Opens benches; connects to its back end when the first is asked for. Safe among threads."""

    def __init__(self, connect: Callable[[], SandboxProvider], cache_dir: Path) -> None:
        self._connect = connect
        self._cache_dir = cache_dir
        self._lock = threading.RLock()
        self._provider: SandboxProvider | None = None
        self._base: tuple[ImageId, PythonVersion] | None = None

    def provider(self) -> SandboxProvider:
        """The back end.

        Raises:
            UnavailableError: no sandbox works here.
            SandboxError: the engine is lost.
        """
        with self._lock:
            if self._provider is None:
                self._provider = self._connect()
            return self._provider

    @contextmanager
    def bench(self, code: str, *, cancel: Event) -> Iterator[AnalysisSandbox]:
        """A fresh sandbox with the code in it; all of it is gone when the block ends.

        Raises:
            UnavailableError: no sandbox works here, or the libraries are not to be had.
            SandboxError: the sandbox is lost.
            RunCancelled: it was called off.
        """
        image, python = self._ready()
        lent = symbolic_mounts(self._cache_dir, python)
        with self.provider().open(
            image, limits=ANALYSIS_LIMITS, network=False, mounts=lent, cancel=cancel
        ) as sandbox:
            submitted = tar_of_file(f"{SUBMITTED_MODULE}.py", code.encode())
            sandbox.write_tree(sandbox.workspace, submitted)
            yield AnalysisSandbox(sandbox=sandbox)

    def _ready(self) -> tuple[ImageId, PythonVersion]:
        provider = self.provider()
        with self._lock:
            if self._base is None:
                image = provider.resolve_image(None)
                with provider.open(image, limits=ANALYSIS_LIMITS, network=False) as sandbox:
                    self._base = image, python_of(sandbox)
            return self._base
