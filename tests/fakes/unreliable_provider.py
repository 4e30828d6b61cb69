"""A back end whose engine is away for a while, in front of a real one or of none."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import Event

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import (
    ORDINARY_USE,
    ImageId,
    Limits,
    Promise,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
    SandboxUse,
    SnapshotId,
)
from agentbench.tasks.users import AGENT_USER, UserName


class UnreliableProvider:
    """Refuses the first so many times that it is asked for a sandbox; without `inner` always."""

    def __init__(self, inner: SandboxProvider | None = None, *, refusals: int = 0) -> None:
        self._inner = inner
        self._refusals = refusals
        self.asked = 0

    @property
    def name(self) -> str:
        return self._inner.name if self._inner else "process"

    @property
    def promises(self) -> frozenset[Promise]:
        return self._inner.promises if self._inner else frozenset()

    def describe(self) -> Mapping[str, str]:
        return self._inner.describe() if self._inner else {}

    @property
    def disk_folders(self) -> tuple[Path, ...]:
        return self._inner.disk_folders if self._inner else ()

    def check(self) -> None:
        if self._inner:
            self._inner.check()

    def resolve_image(
        self,
        image: str | None,
        *,
        dockerfile: Path | None = None,
        workdir: PurePosixPath | None = None,
        user: UserName = AGENT_USER,
    ) -> ImageId:
        if self._inner is None:
            return ImageId("none")
        return self._inner.resolve_image(image, dockerfile=dockerfile, workdir=workdir, user=user)

    @contextmanager
    def open(
        self,
        source: ImageId | SnapshotId,
        *,
        limits: Limits,
        network: bool,
        mounts: Sequence[ReadOnlyMount] = (),
        cancel: Event | None = None,
        use: SandboxUse = ORDINARY_USE,
    ) -> Iterator[Sandbox]:
        self.asked += 1
        if self._inner is None or self.asked <= self._refusals:
            raise SandboxError("the engine is away")
        with self._inner.open(
            source,
            limits=limits,
            network=network,
            mounts=mounts,
            cancel=cancel,
            use=use,
        ) as sandbox:
            yield sandbox

    def find(self, key: str) -> SnapshotId | None:
        return self._inner.find(key) if self._inner else None

    def discard(self, snapshot: SnapshotId) -> None:
        if self._inner:
            self._inner.discard(snapshot)
