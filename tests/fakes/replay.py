"""A pytest run that is recorded in one sandbox and can be looked at again from another."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from agentbench.sandbox.interface import Command, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult


class Recording:
    """A sandbox that keeps the last pytest run, and stands in for the place where it ran."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner
        self.workspace = inner.workspace
        self.results = inner.results
        self.ended: CommandResult | None = None
        self.reports: bytes | None = None
        self.over = False

    def run(self, command: Command) -> CommandResult:
        if self.over:
            assert self.ended is not None
            return self.ended
        ended = self._inner.run(command)
        if "--results" in command.argv:
            self.ended = ended
        return ended

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        if not self.over:
            with self._inner.read_tree(path) as chunks:
                self.reports = b"".join(chunks)
        assert self.reports is not None
        yield iter([self.reports])


class RecordingProvider:
    """A provider whose last sandbox is a recording; it can be replayed after its end."""

    def __init__(self, inner: SandboxProvider) -> None:
        self._inner = inner
        self.last: Recording | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def open(self, source, **options) -> Iterator[Recording]:
        with self._inner.open(source, **options) as sandbox:
            self.last = Recording(sandbox)
            yield self.last
        self.last.over = True
