"""Our files in an engine's containers: seen in place where it sees them too, else copied in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from agentbench.errors import SandboxError
from agentbench.sandbox.docker_archive import readable_copies
from agentbench.sandbox.docker_container import Container
from agentbench.sandbox.docker_engine import Engine
from agentbench.sandbox.docker_options import MOUNTS, ContainerPlan, readable_inside
from agentbench.sandbox.interface import ReadOnlyMount

_NOT_SEEN = ("bind source path", "statfs")  # what Docker and Podman say of a path that is not there


class Placing:
    """Launches containers with mounts; finds out, the first time, what their engine sees."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.shares_files = engine.is_local  # believed until a mount turns out empty

    @contextmanager
    def launched(self, plan: ContainerPlan, mounts: Sequence[ReadOnlyMount]) -> Iterator[Container]:
        """A container that runs, with its mounts; gone when the block ends.

        Raises:
            SandboxError: it could not be made or removed.
        """
        container = self._place(plan, mounts)
        try:
            self._launch(container)
            if not self.shares_files and container.plan.bound:
                container.remove()
                container = self._place(plan, mounts)
                self._launch(container)
            yield container
        except BaseException:
            with suppress(SandboxError):  # what went wrong first is what is to be told
                container.remove()
            raise
        container.remove()

    def _place(self, plan: ContainerPlan, mounts: Sequence[ReadOnlyMount]) -> Container:
        """A container, not yet made, with each mount bound, copied in, or left out if it lives."""
        bound = tuple(m for m in mounts if self.shares_files and readable_inside(m))
        copied = tuple(m for m in mounts if m not in bound and not m.live)
        return Container(self._engine, replace(plan, bound=bound, copied=copied))

    def _launch(self, container: Container) -> None:
        """Start it and look whether its mounts are there; if not, the engine is elsewhere."""
        bound, copied = container.plan.bound, container.plan.copied
        try:
            container.launch()
        except SandboxError as fault:
            if not bound or not any(said in str(fault) for said in _NOT_SEEN):
                raise
            self.shares_files = False
            return
        if bound and not all(map(container.sees, _probes(bound))):
            self.shares_files = False
            return
        if copied:
            with self._engine.speak("copy files into a container", moves_files=True) as api:
                api.put_archive(container.name, str(MOUNTS), readable_copies(copied))


def _probes(mounts: Sequence[ReadOnlyMount]) -> Iterator[str]:
    """One path inside for each mount that exists if the engine sees our files."""
    for mount in mounts:
        place = MOUNTS / mount.name
        if not mount.source.is_dir():
            yield str(place)
        elif child := next((entry.name for entry in mount.source.iterdir()), None):
            yield str(place / child)
