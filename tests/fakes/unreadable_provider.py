"""A back end of which the first sandbox cannot be read, as where an agent took its files away."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Sandbox, SandboxProvider


class _Unreadable:
    """A sandbox whose trees are gone."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        raise SandboxError(f"{path} cannot be read")
        yield  # a generator, as the protocol has it


class UnreadableProvider:
    """Opens one such sandbox; after that real ones, or with `dies` none at all."""

    def __init__(self, inner: SandboxProvider, *, dies: bool) -> None:
        self._inner = inner
        self._dies = dies
        self._opened = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def open(self, *source, **more) -> Iterator[Sandbox | _Unreadable]:
        self._opened += 1
        if self._dies and self._opened > 1:
            raise SandboxError("the engine is away")
        with self._inner.open(*source, **more) as sandbox:
            yield _Unreadable(sandbox) if self._opened == 1 else sandbox
