"""One container: launches it with its mounts, ends its processes, removes it.

Mounts are bind mounts, or copies if the engine does not see our files.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TypeVar

import tenacity

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.archives import readable_copies
from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.container_options import (
    ContainerPlan,
    account_of,
    create_container,
    readable_inside,
    variables_of,
)
from agentbench.sandbox.docker.engine import DockerApi, DockerNotFoundError, Engine
from agentbench.sandbox.docker.main_process import MainProcess, ProcessCensus
from agentbench.sandbox.docker.private_files import (
    HOSTS,
    RESOLVERS,
    PrivateFiles,
    private_files,
)
from agentbench.sandbox.host_environment import resolvers
from agentbench.sandbox.interface import MOUNTS, ReadOnlyMount
from agentbench.sandbox.supervise import ResourceUse
from agentbench.tasks.users import UserName
from agentbench.taxonomy import Fault

T = TypeVar("T")
_ATTEMPTS = 10  # for a call whose error may be temporary
_DIES_WITHIN = 5.0  # seconds; then the whole container is killed
_MISSING_SOURCE = ("bind source path", "statfs")  # in messages of Docker and Podman


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedProcesses(ResourceUse):
    """The resources of a command whose processes were ended; no peak if it was higher before."""

    restarted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedExec:
    """A command that the engine has started."""

    id: str
    stream: AttachedStream


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableFolders:
    """The folders of the engine's machine that commands write to."""

    volumes: Mapping[PurePosixPath, str]
    layer: str | None  # None: unknown
    root: str | None  # the container's root, while it runs; None: unknown

    @classmethod
    def of(cls, engine: Engine, container: str) -> "WritableFolders":
        """The folders of an existing container."""
        with engine.api("see where a container's files are") as api:
            found = api.inspect_container(container)
        volumes = (m for m in found["Mounts"] if m["Type"] == "volume")
        driver = (found.get("GraphDriver") or {}).get("Data") or {}
        return cls(
            volumes={PurePosixPath(m["Destination"]): m["Source"] for m in volumes},
            layer=driver.get("UpperDir"),
            root=driver.get("MergedDir"),
        )

    @property
    def all(self) -> list[str]:
        """The volumes and the layer."""
        return [*self.volumes.values(), *([self.layer] if self.layer else [])]


class DockerContainer:
    """A container, from before its creation until after its removal."""

    def __init__(self, engine: Engine, plan: ContainerPlan) -> None:
        # The name is known before the creation, so that the container can be removed.
        self.name = f"agentbench-{uuid.uuid4().hex}"
        self.plan = plan
        self._engine = engine
        self._main: MainProcess | None = None
        self._last = ProcessCensus(yes=False)
        self.killed = False
        self._is_connected = plan.network

    def launch(self) -> None:
        """Create and start it.

        Raises:
            SandboxError: the engine refuses, or the image has no shell.
        """
        cpus = self._engine.facts.cpus
        with self._engine.api(f"create a container of {self.plan.image}", moves_files=True) as api:
            create_container(api, self.name, self.plan, cpus)
            # It was created in the engine's own network, unless its services have networks of their
            # own.
            was_connected = not self.plan.networks and self.plan.network_holder is None
            switches = self.plan.use.changes_network or self.plan.network_holder is not None
            if switches and self.plan.network != was_connected:
                self._switch(api, connected=self.plan.network)
        self._start()

    def begin(
        self, argv: list[str], env: dict[str, str], user: UserName | None = None
    ) -> StartedExec:
        """Start a program as the user of commands."""
        self.require_alive()
        who = user or self.plan.limits.user
        network = self.plan.env if self._is_connected else {}
        variables = {**network, **self.plan.main_env, **variables_of(who), **env}
        # Another runtime may leave the streams of commands open after the container's end.
        main = self._main if self.plan.limits.runtime is not None else None

        def start() -> StartedExec:
            with self._engine.api("start a command") as api:
                created = api.exec_create(
                    self.name, argv, user=account_of(who), environment=variables, stdin=True
                )
                stream = AttachedStream(
                    api.exec_start(created["Id"], socket=True),
                    is_orphaned=lambda: main is not None and main.has_ended,
                )
            return StartedExec(id=str(created["Id"]), stream=stream)

        # A busy engine may not yet have noticed that a container is unpaused.
        return _repeated(start, lambda fault: "is paused" in str(fault))

    def run_main(self) -> None:
        """Start the program that runs alongside commands: that of `main`, or the entrypoint."""
        plan = self.plan
        program, user, folder = json.loads(plan.entrypoint or '[[], "", ""]')
        who = plan.command_user or plan.limits.user
        given = plan.use.services.env if plan.use.services is not None else {}
        if plan.command:
            account, env = account_of(who), {**plan.main_env, **variables_of(who), **given}
            argv, folder = [*plan.command], plan.command_folder or str(plan.workspace)
        elif program and plan.use.lasting:
            account, env, argv = user, {**plan.main_env}, [*program, "sh", "-c", "sleep infinity"]
        else:
            return
        with self._engine.api("start the main command of a sandbox") as api:
            created = api.exec_create(
                self.name, argv, user=account, environment=env, workdir=folder or "/"
            )
            api.exec_start(created["Id"], detach=True)

    def set_connected(self, *, connected: bool) -> None:
        """Connect it to the engine's own network, or disconnect it."""
        if connected == self._is_connected:
            return
        with self._engine.api("connect a container to a network") as api:
            self._switch(api, connected=connected)
            if connected and self.plan.networks:  # the resolver in these only knows services
                lines = "".join(f"nameserver {each}\n" for each in resolvers())
                argv = ["/bin/sh", "-c", 'printf %s "$0" >> /etc/resolv.conf', lines]
                api.exec_start(api.exec_create(self.name, argv, user="0:0")["Id"])
        self._is_connected = connected

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Pause all processes during the block."""

        def pause() -> None:
            try:
                with self._engine.api("pause a container") as api:
                    api.pause(self.name)
            except SandboxError as fault:
                self._engine.require_answer()
                if self._is_running():
                    raise
                raise self._end_error() from fault

        # An engine cannot always freeze a busy container at once.
        _repeated(pause, lambda _fault: self._is_running())
        try:
            yield
        finally:
            with self._engine.api("unpause a container") as api:
                api.unpause(self.name)

    def exit_code_of(self, command: str) -> int | None:
        """The exit code of a command as the engine knows it."""
        with self._engine.api("see how a command ended") as api:
            code = api.exec_inspect(command)["ExitCode"]
        return None if code is None else int(code)

    @cached_property
    def writable(self) -> WritableFolders:
        """The folders that commands in it write to; they stay the same after a restart."""
        return WritableFolders.of(self._engine, self.name)

    def pid(self) -> int:
        """The number of its first process on the engine's machine; 0 when it does not run."""
        self._engine.require_answer()  # a frozen engine would delay the answer
        with self._engine.api("find a container's first process") as api:
            return int(api.inspect_container(self.name)["State"]["Pid"])

    def signal(self, name: str) -> None:
        """Send a signal to every process except init and the main process."""
        if self._main is not None:
            self._main.ask(name, patience=1.0)

    @property
    def has_loopback(self) -> bool:
        """Whether its loopback interface is up."""
        return self._main is not None and self._main.has_loopback

    def path_exists(self, path: str) -> bool:
        """Whether a path exists in the container."""
        return self._main is not None and self._main.sees(path)

    def end_processes(self) -> EndedProcesses:
        """End every process except init and the main process, if necessary by a restart.

        In a lasting container, they continue.

        Raises:
            SandboxError: another program killed or ended the container.
        """
        if self._main is None:
            raise SandboxError("the container is not running")
        if self.plan.keeps_processes:
            census = self._main.ask("0", patience=_DIES_WITHIN)
        else:
            census = self._main.end_others(patience=_DIES_WITHIN)
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
        """End every process permanently; the files stay.

        Args:
            idle: Whether no command runs. If there are no other processes then, the main process
                stays until the removal, since ending it takes the engine a tenth of a second.
        """
        if not self.killed:
            self.killed = True  # from now on, no program can be started in it
            try:
                main = self._main if idle else None
                is_empty = main is not None and main.end_others(patience=_DIES_WITHIN) is not None
            except SandboxError:
                is_empty = False
            if not is_empty:
                self._kill()

    def require_alive(self) -> None:
        """Check that the container was not killed.

        Raises:
            SandboxError: it was killed.
        """
        if self.killed:
            raise SandboxError("the sandbox was killed: open a fresh one to run more commands")

    def remove(self) -> None:
        """Remove it with its volumes; a missing one is no error.

        Raises:
            SandboxError: the engine refuses several times.
        """
        if self._main is not None:
            self._main.close()
        self._engine.require_answer()
        _repeated(
            lambda: remove_container(self._engine, self.name), lambda _fault: True, attempts=4
        )

    def _switch(self, api: DockerApi, *, connected: bool) -> None:
        """Connect or disconnect the public network, for it or the container that owns its own."""
        name, network = self.plan.network_holder or self.name, self.plan.public_network
        if connected:
            api.connect_container_to_network(name, network)
        else:
            api.disconnect_container_from_network(name, network)

    def _start(self) -> None:
        with self._engine.api("start a container") as api:
            attached = api.attach_socket(self.name, {"stdin": 1, "stdout": 1, "stream": 1})
            self._main = MainProcess(AttachedStream(attached))
            api.start(self.name)
        self._last = self._main.await_ready()

    def _restart(self) -> EndedProcesses:
        """Restart it, since its main process is dead or cannot end the others."""
        self._engine.require_answer()
        with self._engine.api("inspect a container that does not answer") as api:
            state = api.inspect_container(self.name)["State"]
        self.require_alive()
        lacked_memory = bool(state["OOMKilled"])
        if state["Running"]:
            self._kill()
        elif not lacked_memory:
            raise self._end_error()
        if self._main is not None:
            self._main.close()
        self._start()
        return EndedProcesses(out_of_memory=lacked_memory, restarted=True)

    def _is_running(self) -> bool:
        with self._engine.api("see whether a container runs") as api:
            return bool(api.inspect_container(self.name)["State"]["Running"])

    def _end_error(self) -> SandboxError:
        """The error for a container that no longer runs, which says what ended it."""
        # With another runtime, such as gVisor, a program that exceeds a limit can end it, too.
        if self.plan.owner_id == 0 or self.plan.limits.runtime is not None:
            filters = {"container": self.name, "event": ["kill", "stop"]}
            with self._engine.api("see how a container ended") as api:
                signals = [*api.events(since=0, until=int(time.time()) + 1, filters=filters)]
            if not signals:
                what = "a program in the sandbox ended the sandbox itself"
                return SandboxError(what).blamed_on(Fault.AGENT)
        return SandboxError(f"another program ended the container {self.name}")

    def _kill(self) -> None:
        with self._engine.api("kill a container") as api:
            if api.inspect_container(self.name)["State"]["Running"]:
                api.kill(self.name)


def _repeated(
    call: Callable[[], T], is_passing: Callable[[BaseException], bool], attempts: int = _ATTEMPTS
) -> T:
    """Make a call; repeat it for some seconds while its SandboxError may be temporary."""
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(attempts),
        wait=tenacity.wait_exponential(multiplier=0.1, max=1),
        retry=tenacity.retry_if_exception(
            lambda fault: isinstance(fault, SandboxError) and is_passing(fault)
        ),
        reraise=True,
    )
    return retrying(call)


def remove_container(engine: Engine, name: str) -> None:
    """Remove a container with its anonymous volumes; a missing one is no error.

    Raises:
        SandboxError: the engine refuses.
    """
    with suppress(DockerNotFoundError), engine.api("remove a container") as api:
        api.remove_container(name, v=True, force=True)


class ContainerLauncher:
    """Launches containers with mounts; the first launch shows whether the engine sees our files."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.shares_files = engine.address.is_local  # assumed until a mount turns out to be empty
        self._leaves_network_out = True  # assumed until a container has no loopback interface

    @contextmanager
    def launched(
        self, plan: ContainerPlan, mounts: Sequence[ReadOnlyMount]
    ) -> Iterator[DockerContainer]:
        """Launch a container with its mounts; it is removed when the block ends.

        Raises:
            SandboxError: it cannot be created or removed.
        """
        with ExitStack() as stack:
            files = PrivateFiles()
            if self.shares_files:
                names = self._leaves_network_out and plan.never_has_network
                made = private_files(self._engine, mounts, plan.limits, names=names)
                files = stack.enter_context(made)
            container = self._planned(
                replace(plan, replaced=files.replaced), files.mounts or mounts
            )
            try:
                self._launch(container)
                if not self.shares_files and (container.plan.bound or container.plan.replaced):
                    container.remove()
                    container = self._planned(plan, mounts)
                    self._launch(container)
                elif container.plan.network_left_out and not container.has_loopback:
                    self._leaves_network_out = False
                    container.remove()
                    kept = {k: v for k, v in files.replaced.items() if k not in (HOSTS, RESOLVERS)}
                    container = self._planned(replace(plan, replaced=kept), files.mounts or mounts)
                    self._launch(container)
                yield container
            except BaseException:
                with suppress(SandboxError):  # report the first error
                    container.remove()
                raise
            container.remove()

    def _planned(self, plan: ContainerPlan, mounts: Sequence[ReadOnlyMount]) -> DockerContainer:
        """A container before its creation; mounts are bound, or copied unless they are live."""
        bound = tuple(m for m in mounts if self.shares_files and readable_inside(m))
        copied = tuple(m for m in mounts if m not in bound and not m.live)
        return DockerContainer(self._engine, replace(plan, bound=bound, copied=copied))

    def _launch(self, container: DockerContainer) -> None:
        """Start it, and check its mounts, which are missing if the engine cannot see our files."""
        bound, copied = container.plan.bound, container.plan.copied
        try:
            container.launch()
        except SandboxError as fault:
            if not (bound or container.plan.replaced) or not any(
                text in str(fault) for text in _MISSING_SOURCE
            ):
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
    """A path inside for each mount, which exists if the engine sees our files."""
    for mount in mounts:
        path = MOUNTS / mount.name
        if not mount.source.is_dir():
            yield str(path)
        elif child := next((entry.name for entry in mount.source.iterdir()), None):
            yield str(path / child)
