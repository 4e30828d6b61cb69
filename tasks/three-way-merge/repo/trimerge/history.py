"""The commits that texts went through, and what two of them have in common."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trimerge.merge import Merge, merge3


class HistoryError(ValueError):
    """A history is not complete, or it runs in a circle."""


@dataclass(frozen=True)
class Commit:
    """A version of the text; a merge has several parents."""

    id: str
    parents: tuple[str, ...] = ()
    text: str = ""


class History:
    """All commits, by id, and the branches that point at some of them."""

    def __init__(self, commits: Iterable[Commit], branches: Mapping[str, str] | None = None):
        self._commits: dict[str, Commit] = {}
        for commit in commits:
            if commit.id in self._commits:
                raise HistoryError(f"two commits have the id {commit.id!r}")
            self._commits[commit.id] = commit
        self._branches = dict(branches or {})
        self._check()

    @classmethod
    def from_json(cls, text: str) -> History:
        """Read a history file.

        Raises:
            HistoryError: it is not complete, or not a history at all.
        """
        try:
            data = json.loads(text)
            commits = [Commit(c["id"], tuple(c["parents"]), c["text"]) for c in data["commits"]]
            branches = dict(data.get("branches", {}))
        except (KeyError, TypeError, ValueError) as error:
            raise HistoryError(f"not a history: {error}") from error
        return cls(commits, branches)

    def commit(self, name: str) -> Commit:
        """The commit of that id, or the one that a branch of that name points at.

        Raises:
            HistoryError: there is neither.
        """
        try:
            return self._commits[self._branches.get(name, name)]
        except KeyError:
            raise HistoryError(f"no commit or branch {name!r}") from None

    def ancestors(self, name: str) -> set[str]:
        """The ids of all that a commit comes from, itself included.

        Raises:
            HistoryError: there is no such commit.
        """
        start = self.commit(name).id
        seen = {start}
        waiting = [start]
        while waiting:
            for parent in self._commits[waiting.pop()].parents:
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return seen

    def merge_base(self, ours: str, theirs: str) -> Commit | None:
        """The best common ancestor of two commits, or None if they share no history.

        Raises:
            HistoryError: there is no such commit.
        """
        our_ancestors = self.ancestors(ours)
        waiting = deque([self.commit(theirs).id])
        seen = set(waiting)
        while waiting:
            candidate = waiting.popleft()
            if candidate in our_ancestors:
                return self._commits[candidate]
            for parent in self._commits[candidate].parents:
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return None

    def _check(self) -> None:
        """Parents and branches must point at commits, and no commit may come from itself."""
        for commit in self._commits.values():
            for parent in commit.parents:
                if parent not in self._commits:
                    raise HistoryError(f"{commit.id!r} has an unknown parent {parent!r}")
        for branch, target in self._branches.items():
            if target not in self._commits:
                raise HistoryError(f"branch {branch!r} points at unknown commit {target!r}")
        self._check_circles()

    def _check_circles(self) -> None:
        children: dict[str, list[str]] = {id_: [] for id_ in self._commits}
        missing = {}
        for commit in self._commits.values():
            missing[commit.id] = len(commit.parents)
            for parent in commit.parents:
                children[parent].append(commit.id)
        ready = [id_ for id_, count in missing.items() if count == 0]
        placed = 0
        while ready:
            placed += 1
            for child in children[ready.pop()]:
                missing[child] -= 1
                if missing[child] == 0:
                    ready.append(child)
        if placed < len(self._commits):
            raise HistoryError("the history runs in a circle")


def merge_commits(history: History, ours: str, theirs: str) -> Merge:
    """Merge the texts of two commits or branches.

    Raises:
        HistoryError: there is no such commit.
    """
    base = history.merge_base(ours, theirs)
    base_text = base.text if base else ""
    return merge3(base_text, history.commit(ours).text, history.commit(theirs).text)
