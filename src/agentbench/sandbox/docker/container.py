"""One container: its options, its launch with its mounts, its commands' end, its removal.

Mounts are bind mounts, or copies if the engine does not see our files.
"""

import json
import os
import stat
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TypeVar

import tenacity

from agentbench.errors import SandboxError
from agentbench.sandbox import interface
from agentbench.sandbox.docker.archives import readable_copies
from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.engine import DockerApi, DockerNotFoundError, Engine
from agentbench.sandbox.docker.main_process import MAIN_PROCESS, MainProcess, ProcessCensus
from agentbench.sandbox.docker.networks import ENGINES_OWN, NO_DNS, QUICK_DNS
from agentbench.sandbox.docker.private_files import (
    HOSTS,
    MASKED_PATHS,
    RESOLVERS,
    PrivateFiles,
    private_files,
)
from agentbench.sandbox.host_environment import resolvers
from agentbench.sandbox.interface import MOUNTS, ReadOnlyMount
from agentbench.sandbox.ownership import ProcessOwner, labels_of
from agentbench.sandbox.supervise import ResourceUse
from agentbench.tasks.users import AGENT_USER, ROOT_USER, UserName
from agentbench.taxonomy import Fault

LOG_FOLDERS = ("/logs/agent", "/logs/artifacts", "/logs/verifier")
SCRIPT_FOLDERS = ("/tests", "/solution", *LOG_FOLDERS)
"""The folders of input and output for scripts of tasks with their own tests."""

ROOT_HOME = PurePosixPath("/root")

NESTING_FOLDER = interface.MOUNTS / "nesting"
"""The scripts and programs of a container that holds sandboxes (`shared_containers.py`)."""
NESTING_READY = interface.RESULTS / "nests"
"""A file that exists after a sandbox has worked in the container."""
_NESTING_CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_ADMIN", "SETGID", "SETPCAP",
    "SETUID", "SYS_ADMIN",
)  # fmt: skip
_TRY_NESTING = f"""
echo 0 | sh {NESTING_FOLDER}/enter {interface.RESULTS}/try / true > /dev/null 2>&1 &&
  : > {NESTING_READY}
"""

_TMP = "/tmp"
_OWN_PROCESSES = 3  # init, main process and the shell around a command
_OTHER_RUNTIME = 16  # times as many processes, since gVisor adds its own to each
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_VENV_BIN = f"{interface.VENV}/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAttachment:
    """A network of services, and the container's names in it."""

    name: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """The settings of a container to create."""

    image: str
    image_env: tuple[str, ...]
    limits: interface.Limits
    owner: ProcessOwner
    network: bool = False
    public_network: str = ENGINES_OWN  # for `network`
    networks: tuple[NetworkAttachment, ...] = ()  # of its services
    network_holder: str | None = None  # the container whose network it shares
    shared: tuple[Mapping[str, object], ...] = ()  # mounts of its services, in the engine's terms
    bound: tuple[interface.ReadOnlyMount, ...] = ()  # mounted from the host
    copied: tuple[interface.ReadOnlyMount, ...] = ()  # copied, since the user could not read them
    replaced: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType({}))
    """Host files that replace the container's own, by their paths inside."""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables for commands only; the container's own ones would become part of its snapshots."""
    workspace: PurePosixPath = interface.WORKSPACE
    own_workspace: bool = False  # whether it is a folder of the image
    entrypoint: str | None = None  # the label of its image
    use: interface.SandboxUse = interface.ORDINARY_USE
    """A plain workspace is a volume with a copy, and not a part of the layers."""
    main_env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables of the service `main`, for commands."""
    hostname: str = "sandbox"
    dropped: tuple[str, ...] = ()  # capabilities
    tmpfs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    ulimits: tuple[Mapping[str, object], ...] = ()
    extra: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    """Further settings of the service `main`, in the engine's terms."""
    command: tuple[str, ...] = ()  # runs alongside the commands of the sandbox
    command_user: UserName | None = None
    command_folder: str | None = None
    user_processes: int | None = None  # of its user in all containers; None: the engine's default

    @property
    def never_has_network(self) -> bool:
        gets_one = self.network or self.use.changes_network or self.use.services is not None
        return not gets_one and not self.networks and self.network_holder is None

    @property
    def network_left_out(self) -> bool:
        """Whether the engine does not set up a network, since our files give it its names."""
        # The engine's set-up takes half of the time of a start. Without it, the runtime gives the
        # container a network namespace of its own with a loopback interface.
        return self.never_has_network and HOSTS in self.replaced

    @property
    def keeps_processes(self) -> bool:
        return self.use.lasting or bool(self.command)

    def is_in_memory(self, path: PurePosixPath) -> bool:
        return any(path.is_relative_to(folder) for folder in self.memory_folders(0))

    def memory_folders(self, memory: int) -> dict[str, str]:
        """The folders in memory with their options, for a container with `memory` bytes."""
        # A workspace in /tmp is part of the layers instead: memory would hide the image's files,
        # and no snapshot would have it.
        if self.workspace.is_relative_to(_TMP):
            return {**self.tmpfs}
        # Half, since files in a full /tmp must be removable.
        return {**self.tmpfs, _TMP: f"exec,mode=1777,size={memory // 2}"}

    @property
    def owner_id(self) -> int:
        """The owner of files written for commands: root, unless all commands are the agent's."""
        return interface.USER_ID if self.limits.user == AGENT_USER else 0


def account_of(user: UserName) -> str:
    """A user as the engine understands it."""
    own = {AGENT_USER: f"{interface.USER_ID}:{interface.USER_ID}", ROOT_USER: "0:0"}
    return own.get(user, user)


def variables_of(user: UserName) -> dict[str, str]:
    """The variables that name a user and its home; the engine finds the home of other users."""
    names = {AGENT_USER: ("agentbench", interface.HOME), ROOT_USER: ("root", ROOT_HOME)}
    if user not in names:
        return {}
    name, home = names[user]
    return {"HOME": str(home), "USER": name, "LOGNAME": name}


def readable_inside(mount: interface.ReadOnlyMount) -> bool:
    """Whether the sandbox's user may read it in place; for a folder, its content is not checked."""
    status = mount.source.stat()
    if status.st_uid == interface.USER_ID:
        return True
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    return status.st_mode & needed == needed


def create_container(api: DockerApi, name: str, plan: ContainerPlan, cpus: int) -> str:
    """Create a container without starting it; returns its id."""
    image_env = dict(item.partition("=")[::2] for item in plan.image_env)
    path = image_env.get("PATH") or _DEFAULT_PATH
    if _VENV_BIN not in path.split(":"):
        path = f"{_VENV_BIN}:{path}"
    environment = {
        "PATH": path,
        # A command of another user gets that user's variables.
        **(variables_of(AGENT_USER) if plan.limits.user == AGENT_USER else {}),
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        **plan.use.env,
    }
    networking = None
    if plan.networks:
        # The engine refuses several at the creation; the others follow.
        first = plan.networks[0]
        endpoints = {first.name: api.create_endpoint_config(aliases=[*first.aliases])}
        # The stubs take one endpoint, the SDK takes all of them by the names of their networks.
        networking = api.create_networking_config(endpoints)  # type: ignore[arg-type]
    created = api.create_container(
        plan.image,
        name=name,
        entrypoint=["/bin/sh", "-c", (_TRY_NESTING if plan.use.nests else "") + MAIN_PROCESS],
        command=[],
        user="0:0",
        working_dir="/",
        hostname=plan.hostname if plan.network_holder is None else None,
        stdin_open=True,
        environment=environment,
        labels=labels_of("sandbox", plan.owner),
        healthcheck={"test": ["NONE"]},
        network_disabled=plan.network_left_out,
        host_config=_host_config(plan, cpus),
        networking_config=networking,
    )
    for each in plan.networks[1:]:
        api.connect_container_to_network(name, each.name, aliases=[*each.aliases])
    return str(created["Id"])


def _host_config(plan: ContainerPlan, cpus: int) -> dict[str, object]:
    limits = plan.limits
    memory = limits.memory_mib * 1024 * 1024
    disk = limits.disk_mib * 1024 * 1024
    most = plan.user_processes
    # Root has Docker's default capabilities except one. No user can gain any, such as by a setuid
    # bit.
    is_root = limits.user != AGENT_USER
    folders = [interface.RESULTS, *([interface.MOUNTS] if plan.copied else [])]
    if plan.use.plain_workspace:
        folders.append(plan.workspace)
    labels = labels_of("sandbox", plan.owner)
    volumes: list[dict[str, object]] = [
        {"Type": "volume", "Target": str(folder), "VolumeOptions": {"Labels": labels}}
        for folder in folders
        if str(folder) not in {each["Target"] for each in plan.shared}
    ]
    sources = {str(interface.MOUNTS / mount.name): mount.source for mount in plan.bound}
    binds: list[dict[str, object]] = [
        {"Type": "bind", "Source": os.path.realpath(source), "Target": target, "ReadOnly": True}
        for target, source in {**sources, **plan.replaced}.items()
    ]
    user_limits = [] if most is None else [{"Name": "nproc", "Soft": most, "Hard": most}]
    own = [
        {"Name": "core", "Soft": 0, "Hard": 0},
        {"Name": "fsize", "Soft": disk, "Hard": disk},
        {"Name": "nofile", "Soft": limits.open_files, "Hard": limits.open_files},
        *user_limits,
    ]
    named = {each["Name"] for each in plan.ulimits}
    network: dict[str, object] = {"NetworkMode": "none"}
    may_leave = plan.network or plan.use.changes_network
    if plan.network_holder is not None:
        network = {"NetworkMode": f"container:{plan.network_holder}"}
    elif plan.networks:
        closed = {} if may_leave else {"Dns": [NO_DNS], "DnsOptions": [*QUICK_DNS]}
        network = {"NetworkMode": plan.networks[0].name, **closed}
    elif may_leave:
        network = {"NetworkMode": plan.public_network}
    # The privileges of the main process; the user of commands gets none of them.
    added, security = ([] if is_root else ["KILL"]), ["no-new-privileges"]
    if plan.use.nests:
        # Sandboxes in it get their own filter. The default profiles do not let bubblewrap mount.
        added = [*_NESTING_CAPABILITIES]
        security += ["seccomp=unconfined", "apparmor=unconfined"]
    return {
        "Init": True,
        # Raw packets could deceive other containers.
        "CapDrop": ["NET_RAW", *plan.dropped] if is_root else ["ALL"],
        "CapAdd": added,
        "SecurityOpt": security,
        **network,
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int(min(limits.cpus, cpus) * 1e9),
        "PidsLimit": limits.pids * (1 if limits.runtime is None else _OTHER_RUNTIME)
        + _OWN_PROCESSES,
        "Ulimits": [*(each for each in own if each["Name"] not in named), *plan.ulimits],
        "Tmpfs": plan.memory_folders(memory),
        "LogConfig": {"Type": "none"},
        **({"MaskedPaths": [*MASKED_PATHS]} if limits.runtime is None else {}),
        "Runtime": limits.runtime,
        "Mounts": [*volumes, *binds, *map(dict, plan.shared)],
        **plan.extra,
    }


def mount_paths(mounts: Sequence[interface.ReadOnlyMount]) -> Mapping[str, PurePosixPath]:
    """The paths of the mounts in the container, by name."""
    return MappingProxyType({mount.name: interface.MOUNTS / mount.name for mount in mounts})


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
        with self._engine.api("see how a command ended") as api:
            code = api.exec_inspect(command)["ExitCode"]
        return None if code is None else int(code)

    @cached_property
    def writable(self) -> WritableFolders:
        # They stay the same after a restart.
        return WritableFolders.of(self._engine, self.name)

    def pid(self) -> int:
        """The number of its first process on the engine's machine; 0 when it does not run."""
        # A frozen engine would delay the answer for a minute.
        self._engine.require_answer()
        with self._engine.api("find a container's first process") as api:
            return int(api.inspect_container(self.name)["State"]["Pid"])

    def signal(self, name: str) -> None:
        if self._main is not None:
            self._main.ask(name, patience=1.0)

    @property
    def has_loopback(self) -> bool:
        return self._main is not None and self._main.has_loopback

    def path_exists(self, path: str) -> bool:
        return self._main is not None and self._main.sees(path)

    def end_processes(self) -> EndedProcesses:
        """End every process except init and the main process, if necessary by a restart.

        In a lasting container, they continue.
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
        """End every process permanently; the files stay. `idle`: no command runs."""
        if not self.killed:
            self.killed = True  # from now on, no program can be started in it
            # If there are no other processes, the main process stays until the removal: ending it
            # takes the engine a tenth of a second.
            try:
                main = self._main if idle else None
                is_empty = main is not None and main.end_others(patience=_DIES_WITHIN) is not None
            except SandboxError:
                is_empty = False
            if not is_empty:
                self._kill()

    def require_alive(self) -> None:
        """Raise SandboxError if the container was killed."""
        if self.killed:
            raise SandboxError("the sandbox was killed: open a fresh one to run more commands")

    def remove(self) -> None:
        """Remove it with its volumes; a missing one is no error."""
        if self._main is not None:
            self._main.close()
        self._engine.require_answer()
        _repeated(
            lambda: remove_container(self._engine, self.name), lambda _fault: True, attempts=4
        )

    def _switch(self, api: DockerApi, *, connected: bool) -> None:
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
        # Its main process is dead, or cannot end the others.
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
    """Remove a container with its anonymous volumes; a missing one is no error."""
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
        """Launch a container with its mounts; it is removed when the block ends."""
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
        bound = tuple(m for m in mounts if self.shares_files and readable_inside(m))
        copied = tuple(m for m in mounts if m not in bound and not m.live)
        return DockerContainer(self._engine, replace(plan, bound=bound, copied=copied))

    def _launch(self, container: DockerContainer) -> None:
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
        # An engine that does not see our files may mount an empty folder instead of refusing.
        for mount in bound:
            path = MOUNTS / mount.name
            if mount.source.is_dir():
                child = next((entry.name for entry in mount.source.iterdir()), None)
                if child is None:
                    continue
                path /= child
            if not container.path_exists(str(path)):
                self.shares_files = False
                return
        if copied:
            with self._engine.api("copy files into a container", moves_files=True) as api:
                api.put_archive(container.name, str(MOUNTS), readable_copies(copied))
