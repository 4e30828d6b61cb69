"""A Docker provider that a test changes in two places: what is asked for, and what comes back."""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event

from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import (
    ORDINARY_USE,
    ImageId,
    Limits,
    Sandbox,
    SandboxUse,
    SnapshotId,
)


class AdaptedProvider(DockerProvider):
    """Opens sandboxes as `adapted` and `shown` say, which are for tests to override."""

    def adapted(self, limits: Limits, use: SandboxUse) -> tuple[Limits, SandboxUse]:
        """The limits and the use with which a sandbox is opened."""
        return limits, use

    def shown(self, sandbox: Sandbox, cancel: Event | None) -> AbstractContextManager[Sandbox]:
        """What stands for a sandbox that was opened."""
        del cancel
        return nullcontext(sandbox)

    @contextmanager
    def open(
        self,
        source: ImageId | SnapshotId,
        *,
        limits: Limits,
        cancel: Event | None = None,
        use: SandboxUse = ORDINARY_USE,
        **more,
    ) -> Iterator[Sandbox]:
        limits, use = self.adapted(limits, use)
        with (
            super().open(source, limits=limits, cancel=cancel, use=use, **more) as opened,
            self.shown(opened, cancel) as sandbox,
        ):
            yield sandbox


class CountingProvider(AdaptedProvider):
    """Counts the containers that it opens; a copy of it counts with it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._opened: Counter[str] = Counter()

    @property
    def holding(self) -> int:
        """How many containers that hold sandboxes were opened."""
        return self._opened["holding"]

    @property
    def ordinary(self) -> int:
        """How many other containers were opened."""
        return self._opened["ordinary"]

    def adapted(self, limits: Limits, use: SandboxUse) -> tuple[Limits, SandboxUse]:
        if use.nests:
            self._opened["holding"] += 1
        elif not (use.brief and self._shared):
            self._opened["ordinary"] += 1
        return limits, use
