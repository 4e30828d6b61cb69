"""The three trees of an attempt: the base, the reference fix's and the agent's."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.audit.attempt_facts import AttemptFacts
from agentbench.audit.base_tree import BaseTree
from agentbench.audit.patch import FilePatch, applied
from agentbench.audit.task_facts import TaskFacts
from agentbench.tasks.patched_file import PatchedFile

Change = Mapping[PurePosixPath, PatchedFile | None]
"""What files become, and `None` for those that go."""

_HEAD = re.compile(rb"^diff --git a/(.+) b/\1\n((?:new file mode .*\n)?)(?=diff --git |\Z)", re.M)
_UNSHOWN = re.compile(rb"^diff --git a/(.+) b/\1\n(?:[a-z ]+mode \d+\n)*Binary or large", re.M)


class NoTreesError(ValueError):
    """An attempt cannot be compared with the reference; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The base and what a change makes of it."""

    base: BaseTree
    change: Change

    def content(self, path: PurePosixPath) -> bytes | None:
        """A file's content; `None` where there is none, or it was too large to be read."""
        if path in self.change:
            file = self.change[path]
            return None if file is None else file.content
        return self.base.content(path)

    def paths(self) -> Iterator[PurePosixPath]:
        """All files whose content is known."""
        yield from (path for path in self.base.contents if path not in self.change)
        yield from (path for path, file in self.change.items() if file is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """What is compared, and with what."""

    base: Tree
    reference: Tree
    agents: Tree
    unread: tuple[
        str, ...
    ] = ()  # files of the agent's change whose content its patch does not show


def trees_of(facts: AttemptFacts) -> Trees:
    """Make the trees of a resolved attempt.

    Raises:
        NoTreesError: the task or the patch is gone or another one, or there is no reference fix.
    """
    task = _reference(facts)
    if facts.record.patch is None or _digest(facts) != facts.record.patch.sha256:
        raise NoTreesError("patch.diff is not the one that was judged")
    tree = Tree(base=task.base, change={})
    return Trees(
        base=tree,
        reference=Tree(base=task.base, change=task.fixed),
        agents=Tree(base=task.base, change=_change(facts, tree)),
        unread=tuple(_named(found[1]) for found in _UNSHOWN.finditer(facts.patch_text)),
    )


def _reference(facts: AttemptFacts) -> TaskFacts:
    task = facts.task
    if task is None:
        raise NoTreesError("the task is not where run.json says")
    if task.task.digest != facts.record.task_digest:
        raise NoTreesError("the task is not what it was then; its fix may be another one")
    if not task.base.blobs:
        raise NoTreesError(task.unread[0] if task.unread else "the base has no files")
    if not task.fixed:
        raise NoTreesError("the task has no solution.patch to compare with")
    return task


def _digest(facts: AttemptFacts) -> str:
    return hashlib.sha256(facts.patch_text).hexdigest()


def _change(facts: AttemptFacts, base: Tree) -> Change:
    files: dict[PurePosixPath, PatchedFile | None] = {}
    for file in facts.patch:
        path = _inside(file.path)
        files[path] = None if file.removed else _file(base.content(path), file)
    for found in _HEAD.finditer(facts.patch_text):
        if found[2]:  # new, and without a line
            files[_inside(_named(found[1]))] = PatchedFile(content=b"", executable=False)
    return files


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise NoTreesError(f"patch.diff names {name}, which is outside of the tree")
    return path


def _file(before: bytes | None, file: FilePatch) -> PatchedFile:
    content = applied(before, file)
    if content is None:
        raise NoTreesError(f"patch.diff does not fit {file.path} of the base")
    return PatchedFile(content=content, executable=False)


def _named(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
