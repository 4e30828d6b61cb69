"""The three trees of an attempt: the base, the reference fix's and the agent's."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.audit.base_tree import BaseTree
from agentbench.audit.patch import FilePatch, apply_patch
from agentbench.audit.run_facts import AttemptFacts
from agentbench.audit.task_facts import FilesByPath
from agentbench.core.files import FileContent

_EMPTY_FILE = re.compile(
    rb"^diff --git a/(.+) b/\1\n((?:new file mode .*\n)?)(?=diff --git |\Z)", re.M
)
_BINARY_OR_LARGE = re.compile(
    rb"^diff --git a/(.+) b/\1\n(?:[a-z ]+mode \d+\n)*Binary or large", re.M
)


class NotComparableError(ValueError):
    """An attempt cannot be compared with the reference; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """The base with a change."""

    base: BaseTree
    change: FilesByPath

    def content(self, path: PurePosixPath) -> bytes | None:
        """A file's content; `None` if there is none, or it was too large to be read."""
        if path in self.change:
            file = self.change[path]
            return None if file is None else file.content
        return self.base.contents.get(path)

    def paths(self) -> Iterator[PurePosixPath]:
        """All files whose content is known."""
        yield from (path for path in self.base.contents if path not in self.change)
        yield from (path for path, file in self.change.items() if file is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTrees:
    """The three trees."""

    base: SourceTree
    reference: SourceTree
    agents: SourceTree
    unread: tuple[str, ...] = ()  # changed files whose content the agent's patch does not show


def trees_of(facts: AttemptFacts) -> AttemptTrees:
    """Make the trees of a resolved attempt."""
    task = facts.task
    if task is None:
        raise NotComparableError("the task is not where run.json says")
    if task.task.digest != facts.record.task_digest:
        raise NotComparableError("the task has changed since; its fix may be different")
    if not task.base.blobs:
        raise NotComparableError(task.unread[0] if task.unread else "the base has no files")
    if not task.fixed:
        raise NotComparableError("the task has no solution.patch to compare with")
    if (
        facts.record.patch is None
        or hashlib.sha256(facts.patch_text).hexdigest() != facts.record.patch.sha256
    ):
        raise NotComparableError("patch.diff is not the one that was judged")
    tree = SourceTree(base=task.base, change={})
    files: dict[PurePosixPath, FileContent | None] = {}
    for file in facts.patch:
        path = _inside(file.path)
        files[path] = None if file.removed else _file(tree.content(path), file)
    for found in _EMPTY_FILE.finditer(facts.patch_text):
        if found[2]:  # new, and without a line
            files[_inside(_decoded(found[1]))] = FileContent(content=b"", executable=False)
    return AttemptTrees(
        base=tree,
        reference=SourceTree(base=task.base, change=task.fixed),
        agents=SourceTree(base=task.base, change=files),
        unread=tuple(_decoded(found[1]) for found in _BINARY_OR_LARGE.finditer(facts.patch_text)),
    )


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise NotComparableError(f"patch.diff names {name}, which is outside of the tree")
    return path


def _file(before: bytes | None, file: FilePatch) -> FileContent:
    content = apply_patch(before, file)
    if content is None:
        raise NotComparableError(f"patch.diff does not apply to {file.path} of the base")
    return FileContent(content=content, executable=False)


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
