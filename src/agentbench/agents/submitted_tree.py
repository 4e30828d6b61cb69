"""The agent that submits a whole tree: the files of a workspace that was changed elsewhere."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.errors import SandboxError
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.archives import open_tar_stream
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.problem import Problem

_LISTING: Final = "tracked-files"
_REMOVE_EMPTY: Final = 'for folder; do rmdir -- "$folder" 2> /dev/null || :; done'


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAgent:
    """Replaces the files of the repository by those of a tree; other files stay.

    Files that the task's set-up made, such as build results, are no part of the repository.
    """

    name: str
    tar: bytes
    paths: frozenset[PurePosixPath]  # of the files and links in the tar
    writes_files_only: bool = True

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Remove the repository's files that the tree lacks, and write the tree."""
        del problem, model
        listing = sandbox.results / _LISTING
        listed = _run(sandbox, budget, ("sh", "-c", 'git ls-files -z > "$0"', str(listing)))
        if not listed.ok:
            return _failed("git ls-files", listed)
        files = {PurePosixPath(os.fsdecode(name)) for name in _listed(sandbox).split(b"\0") if name}
        missing = sorted(files - self.paths)
        folders = {parent for path in missing for parent in path.parents if parent.name}
        deepest_first = sorted(folders, key=lambda folder: len(folder.parts), reverse=True)
        for argv, paths in (
            (("rm", "-rf", "--"), missing),
            (("sh", "-c", _REMOVE_EMPTY, "sh"), deepest_first),
        ):
            removed = _run(sandbox, budget, ("xargs", "-0", "-r", *argv), _joined(paths))
            if not removed.ok:
                return _failed("removing files", removed)
        sandbox.write_tree(sandbox.workspace, self.tar)
        return AgentOutcome(ending=AgentEnding.SUBMITTED, steps=1, tool_calls=1)


def _joined(paths: Iterable[PurePosixPath]) -> bytes:
    return b"".join(b"./" + bytes(path) + b"\0" for path in paths)


def _listed(sandbox: Sandbox) -> bytes:
    """The list of the repository's files; a file, since output would fill the stage's log."""
    listing: bytes | None = None
    with sandbox.read_tree(sandbox.results) as chunks, open_tar_stream(chunks) as archive:
        for member in archive:  # to the end, or the stream would count as truncated
            if PurePosixPath(member.name).name == _LISTING and member.isreg():
                source = archive.extractfile(member)
                listing = None if source is None else source.read()
    if listing is None:
        raise SandboxError("the list of the repository's files is missing")
    return listing


def _run(
    sandbox: Sandbox, budget: Budget, argv: tuple[str, ...], stdin: bytes = b""
) -> CommandResult:
    return sandbox.run(Command(argv=argv, stdin=stdin, timeout=budget.remaining()))


def _failed(what: str, result: CommandResult) -> AgentOutcome:
    message = result.stderr.strip()[:300] or f"it ended in {result.ending.value}"
    detail = f"the tree could not be written: {what}: {message}"
    return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=detail, command=result)
