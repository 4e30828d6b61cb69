"""Where toolboxes are made, and kept between runs."""

import hashlib
import json
import logging
import os
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import ValidationError

from agentbench.agents.toolbox.recipe import ToolRecipe
from agentbench.agents.toolbox.unpack import UnsafeTreeError, unpack
from agentbench.errors import SandboxError, UnavailableError
from agentbench.in_use import Use, making, removing
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    Limits,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
)
from agentbench.sandbox.trees import remove_tree, size_of
from agentbench.scoring.evidence import CommandResult
from agentbench.seals.document import Sealed
from agentbench.seals.tree import is_whole, seal_tree
from agentbench.seals.whole_file import write_whole

TOOLS_MOUNT = "agentbench-tools"
"""The name by which a sandbox knows its agent's programs."""

Say = Callable[[str], None]

_FORMAT = 2  # raised whenever a toolbox of an older agentbench must not be used
_LIMITS = Limits(cpus=4.0, memory_mib=4096, pids=512, disk_mib=8192)
_INSTALLED_WITHIN = timedelta(minutes=20)
_LAST_LINES = 8
_UNFINISHED = ".new"
_FACTS, _TOOLS = "toolbox.json", "tools"
_LOG = logging.getLogger("agentbench.cache")


class ToolboxFacts(Sealed):
    """What is written beside a toolbox."""

    name: str
    provider: str
    image: str
    size_bytes: int
    seconds: float  # that its installation took
    tree: str  # the digest of all that was installed


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """One toolbox that is kept, or what is left of one that was never finished."""

    folder: Path
    size_bytes: int
    in_use: bool  # or being made


class Toolboxes:
    """Toolboxes below one folder of this machine, for one back end; safe to use from threads.

    What was made ready is not discarded by anybody until this object or its process is gone.
    """

    def __init__(
        self, folder: Path, provider: SandboxProvider, *, say: Say = lambda _line: None
    ) -> None:
        self._folder = folder
        self._provider = provider
        self._say = say
        self._uses: dict[Path, Use] = {}
        self._lock = threading.Lock()

    def ready(self, recipe: ToolRecipe, image: ImageId) -> ReadOnlyMount:
        """The programs of a recipe for sandboxes that start from an image, installed if need be.

        Raises:
            UnavailableError: they cannot be installed; says which command failed.
            SandboxError: the sandbox to install them in is lost.
        """
        folder = self._folder / _key(recipe, image, self._provider)
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._lock, making(folder):
            if not _is_there(folder):
                self._make(recipe, image, folder)
            if folder not in self._uses:
                self._uses[folder] = Use(folder)
        return ReadOnlyMount(name=TOOLS_MOUNT, source=folder / _TOOLS)

    def _make(self, recipe: ToolRecipe, image: ImageId, folder: Path) -> None:
        started = time.monotonic()
        self._say(f"installing {recipe.name} …")
        scratch = folder.with_name(folder.name + _UNFINISHED)
        remove_tree(scratch)  # of somebody who was killed
        remove_tree(folder)
        try:
            size = self._install(recipe, image, scratch / _TOOLS)
            facts = ToolboxFacts(
                name=recipe.name,
                provider=self._provider.name,
                image=image,
                size_bytes=size,
                seconds=round(time.monotonic() - started, 1),
                tree=seal_tree(scratch / _TOOLS),
            )
            write_whole(scratch / _FACTS, facts.sealed_json().encode())
            scratch.rename(folder)
        finally:
            remove_tree(scratch)
        self._say(f"installed {recipe.name}: {size / 2**20:.0f} MiB in {facts.seconds:.0f} s")

    def _install(self, recipe: ToolRecipe, image: ImageId, target: Path) -> int:
        target.mkdir(parents=True)
        for made in (target, target.parent):
            made.chmod(0o755)  # whatever the umask: the sandbox's user reads it
        with self._provider.open(image, limits=_LIMITS, network=True) as sandbox:
            for line in recipe.lines:
                _carry_out(line, sandbox, recipe.name)
            sandbox.kill()
            try:
                with sandbox.read_tree(sandbox.workspace) as chunks:
                    return unpack(chunks, target)
            except (UnsafeTreeError, tarfile.TarError, OSError) as error:
                raise UnavailableError(
                    f"{recipe.name} was installed, but cannot be kept: {error}"
                ) from error


def toolboxes_in(cache_dir: Path) -> Path:
    """The folder of toolboxes below the folder of all that can be made again."""
    return cache_dir / "toolboxes"


def kept_toolboxes(folder: Path) -> list[Toolbox]:
    """Every toolbox below a folder."""
    if not folder.is_dir():
        return []
    return [_toolbox(each) for each in sorted(folder.iterdir()) if each.is_dir()]


def remove_unfinished(folder: Path) -> int:
    """Remove what is left of toolboxes whose makers were killed; says how many there were."""
    halves = [each for each in folder.glob(f"*{_UNFINISHED}") if each.is_dir()]
    return sum(_discarded(each) for each in halves)


def _toolbox(folder: Path) -> Toolbox:
    with removing(_finished(folder)) as allowed:
        return Toolbox(folder=folder, size_bytes=size_of(folder), in_use=not allowed)


def discard_toolbox(toolbox: Toolbox) -> bool:
    """Remove one, unless somebody is making or using it; says whether it is gone."""
    return _discarded(toolbox.folder)


def _discarded(folder: Path) -> bool:
    with removing(_finished(folder)) as allowed:
        if allowed:
            remove_tree(folder)
    return allowed


def _carry_out(line: str, sandbox: Sandbox, name: str) -> None:
    try:
        result = sandbox.run(Command(argv=("sh", "-c", line), timeout=_INSTALLED_WITHIN))
    except SandboxError as error:
        raise SandboxError(f"while {name} was installed by `{line}`: {error}") from error
    if not result.ok:
        raise UnavailableError(
            f"{name} cannot be installed: `{line}` {_how(result)}\n{_last_lines(result)}"
        )


def _how(result: CommandResult) -> str:
    code = f"exit code {result.exit_code}" if result.exit_code is not None else result.ending
    return f"ended with {code} after {result.duration.total_seconds():.0f} s"


def _last_lines(result: CommandResult) -> str:
    lines = (result.stderr.strip() or result.stdout.strip()).splitlines()[-_LAST_LINES:]
    return "\n".join(f"  {line}" for line in lines) or "  and said nothing"


def _key(recipe: ToolRecipe, image: ImageId, provider: SandboxProvider) -> str:
    parts = [_FORMAT, provider.name, image, recipe.name, *recipe.lines]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
    return f"{recipe.name}-{digest}"


def _finished(folder: Path) -> Path:
    return folder.with_name(folder.name.removesuffix(_UNFINISHED))


def _is_there(folder: Path) -> bool:
    """Whether a toolbox is there, and as it was installed."""
    try:
        facts = ToolboxFacts.model_validate_json((folder / _FACTS).read_bytes())
        whole = is_whole(folder / _TOOLS, facts.tree)
    except FileNotFoundError:
        return False
    except (OSError, ValidationError):
        whole = False
    if whole:
        os.utime(folder)  # by which the least recently used is told
    else:
        _LOG.warning("%s was damaged on disk; it is installed again", folder)
    return whole
