"""A back end whose sandboxes cannot be read, as where an agent took its files away."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Sandbox, SandboxProvider


class _Unreadable:
    """A sandbox whose trees are gone."""

    def __init__(self, inner: Sandbox, is_read: Callable[[], None]) -> None:
        self._inner = inner
        self._is_read = is_read

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        self._is_read()
        raise SandboxError(f"{path} cannot be read")
        yield  # a generator, as the protocol has it


class UnreadableProvider:
    """Opens such sandboxes; with `dies` none any more once one was to be read."""

    def __init__(self, inner: SandboxProvider, *, dies: bool) -> None:
        self._inner = inner
        self._dies = dies
        self._is_dead = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def open(self, *source, **more) -> Iterator[_Unreadable]:
        if self._is_dead:
            raise SandboxError("the engine is away")
        with self._inner.open(*source, **more) as sandbox:
            yield _Unreadable(sandbox, self._read)

    def _read(self) -> None:
        self._is_dead = self._dies
