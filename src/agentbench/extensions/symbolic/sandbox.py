"""Fresh sandboxes for submitted code: no network, no privileges, limits, and a fixed deadline."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event, RLock

from agentbench.extensions.symbolic.libraries import (
    PythonVersion,
    program_argv,
    python_of,
    symbolic_mounts,
)
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import Command, ImageId, Limits, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult

SUBMITTED_MODULE = "submitted"  # the module name of the code in the workspace
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
        return f"{self.sandbox.workspace}/{SUBMITTED_MODULE}.py"

    def run(self, program: str, question: str, *, seconds: float) -> CommandResult:
        """Ask one of the mounted programs.

        Raises:
            SandboxError: the sandbox is lost.
            RunCancelled: it was cancelled; all its processes have ended.
        """
        argv, timeout = program_argv(self.sandbox, program), timedelta(seconds=seconds)
        stdin = question.encode()
        command = Command(argv=argv, timeout=timeout, stdin=stdin, output_cap=_OUTPUT_CAP)
        return self.sandbox.run(command)


class AnalysisSandboxes:
    """Opens sandboxes for code; connects to its back end at the first one. Thread-safe."""

    def __init__(self, connect: Callable[[], SandboxProvider], cache_dir: Path) -> None:
        self._connect = connect
        self._cache_dir = cache_dir
        self._lock = RLock()
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
    def opened(self, code: str, *, cancel: Event) -> Iterator[AnalysisSandbox]:
        """Open a fresh sandbox with the code in it, and remove it when the block ends.

        Raises:
            UnavailableError: no sandbox works here, or the libraries are not available.
            SandboxError: the sandbox is lost.
            RunCancelled: it was cancelled.
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
