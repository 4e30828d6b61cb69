"""A sandbox over a temporary folder: enough of the protocol to run pytest and read results."""

import io
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command, ReadOnlyMount, SnapshotId, Stream
from agentbench.scoring.evidence import CommandResult, Ending


class LocalSandbox:
    """Runs commands as ordinary processes; a process group is killed at its deadline."""

    def __init__(self, root: Path, python: Path, mounts: tuple[ReadOnlyMount, ...]) -> None:
        self._mounts = {mount.name: mount.source for mount in mounts}
        self._python = python
        self._killed = False
        self.lost = False
        self.workspace = PurePosixPath(root / "workspace")
        self.results = PurePosixPath(root / "results")
        for folder in (self.workspace, self.results):
            Path(folder).mkdir(parents=True)

    def mounted(self, name: str) -> PurePosixPath:
        return PurePosixPath(self._mounts[name])

    def run(self, command: Command) -> CommandResult:
        if self._killed or self.lost:
            raise SandboxError("the sandbox was killed before")
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                self._argv(command),
                cwd=command.cwd or self.workspace,
                env={"PATH": f"{self._python.parent}:{os.defpath}", **command.env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            return self._result(command, started, code=127)
        try:
            output = process.communicate(command.stdin, timeout=command.timeout.total_seconds())
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()
            return self._result(command, started, output=output, ending=Ending.TIMED_OUT)
        if process.returncode < 0:
            return self._result(
                command, started, output=output, ending=Ending.KILLED, number=-process.returncode
            )
        return self._result(command, started, output=output, code=process.returncode)

    def _argv(self, command: Command) -> tuple[str, ...]:
        program, *rest = command.argv
        return (str(self._python) if program == "python" else program, *rest)

    def _result(
        self,
        command: Command,
        started: float,
        *,
        output: tuple[bytes, bytes] = (b"", b""),
        ending: Ending = Ending.EXITED,
        code: int | None = None,
        number: int | None = None,
    ) -> CommandResult:
        if command.sink is not None:
            command.sink(Stream.STDOUT, output[0])
        return CommandResult(
            argv=command.argv,
            ending=ending,
            exit_code=code,
            signal=number,
            duration=timedelta(seconds=time.monotonic() - started),
            stdout=output[0].decode("utf-8", "replace"),
            stderr=output[1].decode("utf-8", "replace"),
        )

    def kill(self) -> None:
        self._killed = True

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        if self.lost or not Path(path).exists():
            raise SandboxError(f"{path}: the sandbox is lost, or there is no such path")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            archive.add(path, arcname=".")
        data = buffer.getvalue()
        yield (data[start : start + 65536] for start in range(0, len(data), 65536))

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            archive.extractall(path, filter="data")

    def snapshot(self, key: str) -> SnapshotId:
        shutil.copytree(self.workspace, f"{self.workspace}-{key}")
        return SnapshotId(key)
