"""A file of instances as task folders: what cannot be taken is refused, the rest is written."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agentbench.errors import GitCloneError, InputError
from agentbench.tasks.host_git import git
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.importers.swebench.clone_url import clone_url, is_local
from agentbench.tasks.importers.swebench.instance import Instance, name_of, parse_instance
from agentbench.tasks.importers.swebench.instance_id import task_id_of
from agentbench.tasks.importers.swebench.made_task import reversed_task_of, task_of
from agentbench.tasks.importers.swebench.names import Kind, are_whole, kind_of
from agentbench.tasks.importers.swebench.patches import UnfitPatchError, as_bytes, files_of
from agentbench.tasks.importers.swebench.reversal import ReversalError, reversed_bug
from agentbench.tasks.importers.swebench.rows import Row, read_rows
from agentbench.tasks.importers.swebench.surroundings import (
    Sources,
    Surroundings,
    UnknownSurroundingsError,
    surroundings_of,
)
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.new_task import write_task
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of
from agentbench.tasks.problem import TaskId
from agentbench.tasks.source import RepoSource

_PYTHON = frozenset({"", "python"})
_OTHER_RUNNERS = frozenset({"parse_log_django"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which instances are taken, and what they become."""

    out: Path
    replace: bool = False
    instances: frozenset[str] | None = None
    """Their ids; None: all."""
    limit: int | None = None
    """How many are written; None: all that can be."""
    repos: Path | None = None
    """Where clones of repositories are."""
    sources: Sources = field(default_factory=Sources)


@dataclass(slots=True, kw_only=True)
class Imported:
    """What came of a file."""

    written: list[Path] = field(default_factory=list)
    unnamed: list[Path] = field(default_factory=list)
    """Those of the written ones that list names that are no node ids."""
    refused: list[Refusal] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """The ids of all instances that were looked at."""


class _RefusedError(Exception):
    """One instance cannot be taken."""

    def __init__(self, field_name: str, what: str) -> None:
        super().__init__(what)
        self.field = field_name


def import_file(path: Path, choice: Choice, mirrors: Mirrors) -> Imported:
    """Write a task's folder for each instance of a file that can be taken.

    Raises:
        InputError: the file cannot be read.
        UsageError: a folder cannot be written, or the file is of an unknown kind.
    """
    imported = Imported()
    makers = _Maker(choice, mirrors)
    for row in _chosen(read_rows(path), choice, imported):
        if choice.limit is not None and len(imported.written) >= choice.limit:
            return imported
        if isinstance(row, Refusal):
            imported.refused.append(row)
            continue
        parsed = parse_instance(row)
        if isinstance(parsed, tuple):
            imported.refused.extend(parsed)
            continue
        try:
            folder = makers.make(parsed)
        except _RefusedError as error:
            imported.refused.append(
                Refusal(
                    where=row.where, instance=parsed.instance_id, field=error.field, what=str(error)
                )
            )
            continue
        imported.written.append(folder)
        if not are_whole((*parsed.fail_to_pass, *parsed.pass_to_pass)):
            imported.unnamed.append(folder)
    for name in sorted(set(choice.instances or ()) - imported.seen):
        imported.refused.append(
            Refusal(where=str(path), instance=name, what="the file has no such instance")
        )
    return imported


def _chosen(
    rows: Iterable[Row | Refusal], choice: Choice, imported: Imported
) -> Iterator[Row | Refusal]:
    """Those that were asked for, each id once."""
    taken: dict[TaskId, str] = {}
    for row in rows:
        name = "" if isinstance(row, Refusal) else name_of(row.value)
        if choice.instances is not None and name not in choice.instances:
            if isinstance(row, Refusal):
                yield row  # it may have been one of them
            continue
        imported.seen.add(name)
        task_id = task_id_of(name)
        if name and task_id in taken:
            said = f"an instance of that id is at {taken[task_id]} already; each needs its own"
            yield Refusal(where=row.where, instance=name, field="instance_id", what=said)
            continue
        taken[task_id] = row.where
        yield row


class _Maker:
    """Makes the folder of one instance after another."""

    def __init__(self, choice: Choice, mirrors: Mirrors) -> None:
        self._choice = choice
        self._mirrors = mirrors

    def make(self, instance: Instance) -> Path:
        """Write the folder of an instance.

        Raises:
            _RefusedError: it cannot be taken; says which field is why.
            UsageError: its folder cannot be written.
        """
        _refuse_other_runners(instance)
        place = self._choice.out / task_id_of(instance.instance_id)
        if os.path.lexists(place) and not self._choice.replace:
            said = f"{place} is there already; give another --out, or --replace"
            raise _RefusedError("instance_id", said)
        try:
            surroundings = surroundings_of(instance, self._choice.sources)
        except UnknownSurroundingsError as error:
            raise _RefusedError("repo", str(error)) from None
        try:
            if instance.makes_the_bug:
                return self._turned_round(instance, surroundings)
            return self._as_it_is(instance, surroundings)
        except InputError as error:
            raise _RefusedError("", "; ".join(error.faults)) from None

    def _as_it_is(self, instance: Instance, surroundings: Surroundings) -> Path:
        assert instance.test_patch is not None  # parse_instance has seen to it
        assert instance.base_commit is not None
        _files("patch", instance.patch)
        test_files = _files("test_patch", instance.test_patch)
        url = clone_url(instance.repo, self._choice.repos)
        if is_local(url):
            mirror = self._mirror(url, instance.base_commit)
            for name, patch in (("patch", instance.patch), ("test_patch", instance.test_patch)):
                _refuse_unfit(name, patch, mirror)
        new = task_of(instance, url, surroundings, [p for p in test_files if p.suffix == ".py"])
        return write_task(new, self._choice.out, replace=self._choice.replace)

    def _turned_round(self, instance: Instance, surroundings: Surroundings) -> Path:
        _files("patch", instance.patch)
        url = clone_url(instance.repo, self._choice.repos)
        mirror = self._mirror(url, instance.base_commit or _head_of(url))
        showing = sorted({name.partition("::")[0] for name in instance.fail_to_pass})
        try:
            with reversed_bug(as_bytes(instance.patch), mirror, showing) as turned:
                new = reversed_task_of(instance, turned, surroundings, showing)
                return write_task(new, self._choice.out, replace=self._choice.replace)
        except ReversalError as error:
            raise _RefusedError("patch", f"does not apply to the base commit: {error}") from None

    def _mirror(self, url: str, commit: str) -> Mirror:
        try:
            mirror = self._mirrors.of(RepoSource(url=url, commit=commit))
        except GitCloneError as error:
            raise _RefusedError("repo", f"cannot be cloned: {error}") from None
        if not mirror.has_commit:
            raise _RefusedError("base_commit", f"{url} has no commit {commit}")
        return mirror


def _refuse_other_runners(instance: Instance) -> None:
    if instance.language.lower() not in _PYTHON:
        raise _RefusedError("language", f"{instance.language!r}; agentbench judges with pytest")
    if instance.log_parser in _OTHER_RUNNERS:
        raise _RefusedError("log_parser", f"{instance.log_parser} reads no log of pytest")
    for name in instance.fail_to_pass:
        if kind_of(name) in {Kind.UNITTEST, Kind.OTHER}:
            what = f"{name[:80]!r} is no test of pytest's, and agentbench judges with pytest"
            raise _RefusedError("FAIL_TO_PASS", what)


def _files(name: str, patch: str) -> tuple[PurePosixPath, ...]:
    try:
        return files_of(as_bytes(patch))
    except UnfitPatchError as error:
        raise _RefusedError(name, str(error)) from None


def _refuse_unfit(name: str, patch: str, mirror: Mirror) -> None:
    try:
        overlay_of(as_bytes(patch), mirror)
    except PatchDoesNotApplyError as error:
        raise _RefusedError(name, f"does not apply to the base commit: {error}") from None


def _head_of(url: str) -> str:
    """The commit that a clone begins with."""
    answer = git("ls-remote", "--", url, "HEAD", cwd=Path.cwd(), sealed=is_local(url))
    commit = answer.stdout.decode("utf-8", "replace").partition("\t")[0]
    if not answer.ok or not commit:
        raise _RefusedError("repo", f"cannot be cloned: {answer.complaint}")
    return commit
