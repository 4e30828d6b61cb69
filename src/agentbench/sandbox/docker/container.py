"""One container: launched with its mounts, emptied of processes, killed, removed.

A mount is bound; where the engine does not see our files, it is copied in.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.archives import readable_copies
from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.container_options import (
    MOUNTS,
    RESULTS,
    USER,
    ContainerPlan,
    create_container,
    readable_inside,
)
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.main_process import MainProcess, ProcessCensus
from agentbench.sandbox.interface import ReadOnlyMount

_DIES_WITHIN = 5.0  # seconds; then the container goes as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedProcesses:
    """What was found when all processes of a command had been ended."""

    out_of_memory: bool = False
    restarted: bool = False
    peak_memory_bytes: int | None = None  # None also when an earlier command's was higher
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedExec:
    """A command that the engine has started."""

    id: str
    wire: AttachedStream


@dataclass(frozen=True, slots=True, kw_only=True)
class _WritableFolders:
    """Where the engine's machine holds what commands write."""

    volumes: Mapping[PurePosixPath, str]
    layer: str | None  # None: it does not say


class DockerContainer:
    """A container, from before it exists until after it is gone."""

    def __init__(self, engine: Engine, plan: ContainerPlan) -> None:
        self.name = f"agentbench-{uuid.uuid4().hex}"  # known before it is there: can be removed
        self.plan = plan
        self._engine = engine
        self._keeper: MainProcess | None = None
        self._last = ProcessCensus(yes=False)
        self._places: _WritableFolders | None = None
        self.killed = False

    def launch(self) -> None:
        """Create and start it.

        Raises:
            SandboxError: the engine refuses, or the image has no shell.
        """
        cpus = self._engine.facts.cpus
        with self._engine.api(f"create a container of {self.plan.image}", moves_files=True) as api:
            create_container(api, self.name, self.plan, cpus)
        self._start()

    def begin(self, argv: list[str], env: dict[str, str]) -> StartedExec:
        """Start a program as the unprivileged user.

        Raises:
            SandboxError: the engine or the container is lost.
        """
        self.require_alive()
        with self._engine.api("start a command") as api:
            made = api.exec_create(
                self.name,
                argv,
                user=USER,
                environment={**self.plan.env, **env},
                stdin=True,
            )
            wire = AttachedStream(api.exec_start(made["Id"], socket=True))
        return StartedExec(id=str(made["Id"]), wire=wire)

    def exit_code_of(self, started: StartedExec) -> int | None:
        """What the engine holds for a program's exit code.

        Raises:
            SandboxError: the engine or the container is lost.
        """
        with self._engine.api("see how a command ended") as api:
            code = api.exec_inspect(started.id)["ExitCode"]
        return None if code is None else int(code)

    def folders(self) -> list[str]:
        """The folders of the engine's machine that hold what commands write in it.

        Raises:
            SandboxError: the engine or the container is lost.
        """
        places = self._look_for_places()
        return [*places.volumes.values(), *([places.layer] if places.layer else [])]

    def volumes(self) -> Mapping[PurePosixPath, str]:
        """The folders of the engine's machine that are its volumes, by where they are seen inside.

        Raises:
            SandboxError: the engine or the container is lost.
        """
        return self._look_for_places().volumes

    def pid(self) -> int:
        """The number of its first process on the engine's machine; 0 when it does not run.

        Raises:
            SandboxError: the engine or the container is lost.
        """
        self._engine.require_answer()  # a frozen one would be waited for much longer
        with self._engine.api("find a container's first process") as api:
            return int(api.inspect_container(self.name)["State"]["Pid"])

    def signal(self, name: str) -> None:
        """Send every process but init and the keeper a signal."""
        if self._keeper is not None:
            self._keeper.ask(name, patience=1.0)

    def path_exists(self, path: str) -> bool:
        """Whether a path exists in it."""
        return self._keeper is not None and self._keeper.sees(path)

    def end_processes(self) -> EndedProcesses:
        """End every process but init and the keeper, if need be by starting it anew.

        Raises:
            SandboxError: it was killed or ended from outside, or the engine is lost.
        """
        if self._keeper is None:
            raise SandboxError("the container does not run")
        census = self._keeper.end_others(patience=_DIES_WITHIN)
        if census is None:
            return self._restart()
        before, self._last = self._last, census
        peak, cpu = census.peak_memory_bytes, census.cpu_nanoseconds
        return EndedProcesses(
            out_of_memory=census.oom_kills > before.oom_kills,
            peak_memory_bytes=peak if (peak or 0) > (before.peak_memory_bytes or 0) else None,
            cpu_seconds=None if cpu is None else (cpu - (before.cpu_nanoseconds or 0)) / 1e9,
        )

    def kill(self, *, idle: bool) -> None:
        """End every process but its own two, for good; its files stay.

        Args:
            idle: No command runs; where the keeper finds nobody beside itself then, the container
                is left to its removal: its death would cost the engine a tenth of a second.

        Raises:
            SandboxError: the engine or the container is lost.
        """
        if not self.killed:
            self.killed = True  # from here on nothing can be started in it
            if not (idle and self._is_empty()):
                self._kill()

    def require_alive(self) -> None:
        """Refuse to go on with a container that was killed.

        Raises:
            SandboxError: it was.
        """
        if self.killed:
            raise SandboxError("the sandbox was killed: open a fresh one to run more commands")

    def remove(self) -> None:
        """Remove it with its volumes; one that is not there is no fault.

        Raises:
            SandboxError: the engine does not do it, several times over, or it is lost.
        """
        import tenacity  # here: a start need not wait for it

        if self._keeper is not None:
            self._keeper.close()
        self._engine.require_answer()
        for attempt in tenacity.Retrying(
            stop=tenacity.stop_after_attempt(4),
            wait=tenacity.wait_exponential(multiplier=0.1),
            retry=tenacity.retry_if_exception_type(SandboxError),
            reraise=True,
        ):
            with attempt:
                remove_container(self._engine, self.name)

    def _look_for_places(self) -> _WritableFolders:
        if self._places is None:  # they stay where they are, also when it is started anew
            with self._engine.api("see where a container's files are") as api:
                found = api.inspect_container(self.name)
            there = {PurePosixPath(each["Destination"]): each["Source"] for each in found["Mounts"]}
            layer = ((found.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir")
            own = (self.plan.workspace, RESULTS)  # that the commands' user may write to
            volumes = {place: there[place] for place in own if place in there}
            self._places = _WritableFolders(volumes=volumes, layer=layer)
        return self._places

    def _is_empty(self) -> bool:
        """Whether the keeper answers that it has nobody left to kill."""
        if self._keeper is None:
            return False
        try:
            census = self._keeper.end_others(patience=_DIES_WITHIN)
        except SandboxError:
            return False
        return census is not None

    def _start(self) -> None:
        with self._engine.api("start a container") as api:
            attached = api.attach_socket(self.name, {"stdin": 1, "stdout": 1, "stream": 1})
            self._keeper = MainProcess(AttachedStream(attached))
            api.start(self.name)
        self._last = self._keeper.await_ready()

    def _restart(self) -> EndedProcesses:
        """Start it anew, since its keeper is dead or does not get its way."""
        self._engine.require_answer()
        with self._engine.api("look after a container that does not answer") as api:
            state = api.inspect_container(self.name)["State"]
        self.require_alive()
        lacked_memory = bool(state["OOMKilled"])
        if state["Running"]:
            self._kill()
        elif not lacked_memory:
            raise SandboxError(f"container {self.name} was ended from outside")
        if self._keeper is not None:
            self._keeper.close()
        self._start()
        return EndedProcesses(out_of_memory=lacked_memory, restarted=True)

    def _kill(self) -> None:
        with self._engine.api("kill a container") as api:
            if api.inspect_container(self.name)["State"]["Running"]:
                api.kill(self.name)


def remove_container(engine: Engine, name: str) -> None:
    """Remove a container with its anonymous volumes; one that is not there is no fault.

    Raises:
        SandboxError: the engine does not do it, or it is lost.
    """
    try:
        with engine.api("remove a container") as api:
            api.remove_container(name, v=True, force=True)
    except DockerNotFoundError:
        return


_NOT_SEEN = ("bind source path", "statfs")  # what Docker and Podman say of a path that is not there


class ContainerLauncher:
    """Launches containers with mounts; finds out, the first time, what their engine sees."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.shares_files = engine.is_local  # believed until a mount turns out empty

    @contextmanager
    def launched(
        self, plan: ContainerPlan, mounts: Sequence[ReadOnlyMount]
    ) -> Iterator[DockerContainer]:
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

    def _place(self, plan: ContainerPlan, mounts: Sequence[ReadOnlyMount]) -> DockerContainer:
        """A container, not yet made, with each mount bound, copied in, or left out if it lives."""
        bound = tuple(m for m in mounts if self.shares_files and readable_inside(m))
        copied = tuple(m for m in mounts if m not in bound and not m.live)
        return DockerContainer(self._engine, replace(plan, bound=bound, copied=copied))

    def _launch(self, container: DockerContainer) -> None:
        """Start it and look whether its mounts are there; if not, the engine is elsewhere."""
        bound, copied = container.plan.bound, container.plan.copied
        try:
            container.launch()
        except SandboxError as fault:
            if not bound or not any(said in str(fault) for said in _NOT_SEEN):
                raise
            self.shares_files = False
            return
        if bound and not all(map(container.path_exists, _mount_probes(bound))):
            self.shares_files = False
            return
        if copied:
            with self._engine.api("copy files into a container", moves_files=True) as api:
                api.put_archive(container.name, str(MOUNTS), readable_copies(copied))


def _mount_probes(mounts: Sequence[ReadOnlyMount]) -> Iterator[str]:
    """One path inside for each mount that exists if the engine sees our files."""
    for mount in mounts:
        place = MOUNTS / mount.name
        if not mount.source.is_dir():
            yield str(place)
        elif child := next((entry.name for entry in mount.source.iterdir()), None):
            yield str(place / child)
