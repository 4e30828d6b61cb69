"""A back end whose engine is away for a while, in front of a real one or of none."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import ImageId, Sandbox, SandboxProvider

_NONE = SimpleNamespace(
    name="process",
    promises=frozenset(),
    describe=dict,
    disk_folders=(),
    check=lambda: None,
    resolve_image=lambda *_asked, **_more: ImageId("none"),
    find=lambda _key: None,
    discard=lambda _snapshot: None,
)


class UnreliableProvider:
    """Refuses the first so many times that it is asked for a sandbox; without `inner` always."""

    def __init__(self, inner: SandboxProvider | None = None, *, refusals: int = 0) -> None:
        self._inner = inner
        self._refusals = refusals
        self.asked = 0

    def __getattr__(self, name: str) -> object:
        if name not in vars(_NONE):  # nor has it what only some back ends can do
            raise AttributeError(name)
        return getattr(self._inner or _NONE, name)

    @contextmanager
    def open(self, *source, **more) -> Iterator[Sandbox]:
        self.asked += 1
        if self._inner is None or self.asked <= self._refusals:
            raise SandboxError("the engine is away")
        with self._inner.open(*source, **more) as sandbox:
            yield sandbox
