"""What the rules look at in a task: all of it read once, none of it run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.audit.base_tree import BaseTree, read_base
from agentbench.audit.judging import JudgingFile, judging_files
from agentbench.audit.needles import Needles, blocks_of, needles_of
from agentbench.audit.patch import FilePatch, parse_patch
from agentbench.errors import GitCloneError
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of
from agentbench.tasks.patched_file import PatchedFile
from agentbench.tasks.task import Task

Files = Mapping[PurePosixPath, PatchedFile | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """A task with its base tree, its hidden tests and its fix."""

    task: Task
    base: BaseTree
    hidden: Files  # what tests.patch makes of the base
    fixed: Files  # what solution.patch makes of it
    solution: tuple[FilePatch, ...]
    judging: tuple[JudgingFile, ...]
    hidden_needles: Needles  # what tells of the hidden tests and stands nowhere in the base
    hidden_names: frozenset[str]  # of hidden test functions that the base does not mention
    unread: tuple[str, ...] = ()  # why some of it is not there

    def solution_needles(self) -> Needles:
        """What tells of the fix: its lines with those around them, as no changed file had them.

        A fix is often one short line; only where it stands makes it telling.
        """
        sides = [side for file in self.solution for side in file.sides()]
        needles = needles_of(after for _, after in sides)
        known = [
            *("\n".join(before) for before, _ in sides),
            *(self.base.text(file.path) or "" for file in self.solution),
        ]
        for text in known:
            needles = needles.without(needles.found_in(text))
        return needles


def read_task_facts(task: Task, mirrors: Mirrors) -> TaskFacts:
    """Read all that is known of a task; of a URL without a mirror yet, one is made."""
    key = task.answer_key
    base, hidden, fixed, unread = _from_mirror(task, mirrors)
    judging = judging_files(task, base, hidden)
    needles, names = _marks_of_hidden(judging, base)
    return TaskFacts(
        task=task,
        base=base,
        hidden=hidden,
        fixed=fixed,
        solution=parse_patch(key.solution_patch),
        judging=judging,
        hidden_needles=needles,
        hidden_names=names,
        unread=unread,
    )


def _marks_of_hidden(
    judging: tuple[JudgingFile, ...], base: BaseTree
) -> tuple[Needles, frozenset[str]]:
    hidden = [file for file in judging if file.hidden]
    blocks = (blocks_of(enumerate(file.source.splitlines())) for file in hidden)
    needles = needles_of(block for found in blocks for block in found)
    names = {name.rpartition("::")[2] for file in hidden for name, _ in file.deciding}
    for _, text in base.texts():
        needles = needles.without(needles.found_in(text))
        names.difference_update(re.findall(r"\btest\w*", text))
    return needles, frozenset(names)


def _from_mirror(task: Task, mirrors: Mirrors) -> tuple[BaseTree, Files, Files, tuple[str, ...]]:
    if task.source.workdir is not None:
        return BaseTree(), {}, {}, (f"the base tree is the image's own {task.source.workdir}",)
    try:
        mirror = mirrors.of(task.source)
        base = read_base(mirror)
    except GitCloneError as error:
        return BaseTree(), {}, {}, (f"the base tree cannot be had: {error}",)
    key = task.answer_key
    faults: list[str] = []
    overlays: list[Files] = []
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        overlay, why = _overlay(patch, mirror)
        overlays.append(overlay)
        faults.extend(f"{name} does not apply to the base commit: {fault}" for fault in why)
    if base.unread:
        faults.append(f"{base.unread} files of the base tree are too large to be looked into")
    return base, overlays[0], overlays[1], tuple(faults)


def _overlay(patch: bytes, mirror: Mirror) -> tuple[Files, tuple[str, ...]]:
    try:
        return overlay_of(patch, mirror).files, ()
    except PatchDoesNotApplyError as error:
        return {}, (str(error),)
