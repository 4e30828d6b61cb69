"""Converts an instance to a new task, and checks its patches.

SWE-smith's instances are reversed, since their patch creates the bug: the agent starts with the bug
and without the test files that show it, which the hidden tests restore.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile

from agentbench.extensions.swebench.environments import InstanceEnvironment
from agentbench.extensions.swebench.instance import NameKind, SwebenchInstance, name_kind
from agentbench.scoring.evidence import NodeId
from agentbench.tasks import dataset_rows
from agentbench.tasks.git_history import index_git, scratch_index
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.scripts import CONTROL
from agentbench.tasks.task_file import RepoTable, TaskFile
from agentbench.tasks.writing import NewTask

_CRLF_HEADER = re.compile(rb"^diff --git [^\n]*\r$", re.MULTILINE)
_LINK_OR_SUBMODULE = re.compile(rb"^(?:new file mode|new mode) (?:120000|160000)$", re.MULTILINE)
_TAG = "swebench"
_MAX_TITLE_LENGTH = 100


class UnsupportedPatchError(ValueError):
    """A patch that a task cannot have; the text says why."""


def patched_files(patch: bytes) -> tuple[PurePosixPath, ...]:
    """The files that a patch touches, in its order.

    Raises:
        UnsupportedPatchError: it is not a git patch, creates a symlink, or leaves the repository.
    """
    if b"\0" in patch:
        raise UnsupportedPatchError("contains a NUL character, which no text patch can hold")
    if _CRLF_HEADER.search(patch):
        raise UnsupportedPatchError("its lines end in CRLF; give it the line ends that git wrote")
    if _LINK_OR_SUBMODULE.search(patch):
        raise UnsupportedPatchError("creates a symlink or a submodule; expected only regular files")
    with NamedTemporaryFile(prefix="agentbench-patch-") as scratch:
        scratch.write(patch)
        scratch.flush()
        answer = git("apply", "--numstat", "-z", "--", scratch.name, cwd=Path(scratch.name).parent)
    listed = answer.output_or(lambda text: UnsupportedPatchError(f"is not a git patch: {text}"))
    # Added lines, removed lines, and the path; for a moved file the new one.
    fields = listed.decode("utf-8", "replace").split("\0")[:-1]
    paths = tuple(PurePosixPath(field.split("\t", 2)[2]) for field in fields)
    for path in paths:
        parts = path.parts
        if path.is_absolute() or ".." in parts:
            raise UnsupportedPatchError(f"{str(path)!r} leaves the repository")
        if any(part.lower() == ".git" for part in parts):
            raise UnsupportedPatchError(f"{str(path)!r} is one of git's own files")
        if not parts or parts[0].startswith("-") or CONTROL.search(str(path)):
            raise UnsupportedPatchError(f"{str(path)!r} is not a plain path")
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContent:
    """The parts in which the two kinds of instances differ."""

    repo: RepoTable
    test_files: tuple[str, ...]
    tests_patch: bytes
    solution_patch: bytes
    folders: Mapping[str, Path] = field(default_factory=dict)
    untagged_version: str | None = None  # the project's version, if no git tag gives it


@contextmanager
def reverse_bug_patch(
    patch: bytes, mirror: Mirror, test_files: Iterable[str]
) -> Iterator[TaskContent]:
    """Apply a bug to a mirror's commit, and yield the task of fixing it.

    The agent does not get the test files, which show the bug; the folder ends with the block.

    Args:
        patch: The patch that creates the bug.
        mirror: The project's mirror; its commit is the state without the bug.
        test_files: The files whose tests show the bug; agents do not get them.

    Raises:
        PatchDoesNotApplyError: the patch does not apply to the commit, or a test file is missing.
    """
    with scratch_index(mirror) as (folder, env):
        (folder / "repo").mkdir()
        (folder / "patch").write_bytes(patch)
        env["GIT_WORK_TREE"] = str(folder / "repo")
        names = tuple(sorted(set(test_files)))
        index_git(env, "read-tree", mirror.commit)
        for name in names:
            index_git(env, "rm", "--cached", "--quiet", "--", f":(literal){name}")
        mended = _tree(env)
        apply = ("apply", "--cached", "--whitespace=nowarn", str(folder / "patch"))
        index_git(env, *apply)
        buggy = _tree(env)
        index_git(env, "checkout-index", "--all")
        index_git(env, "read-tree", mirror.commit)
        index_git(env, *apply)
        yield TaskContent(
            repo=RepoTable(path="repo"),
            folders={"repo": folder / "repo"},
            test_files=names,
            tests_patch=_diff(env, buggy, _tree(env)),
            solution_patch=_diff(env, buggy, mended),
        )


def _tree(env: Mapping[str, str]) -> str:
    return index_git(env, "write-tree").decode().strip()


def _diff(env: Mapping[str, str], before: str, after: str) -> bytes:
    return index_git(env, "diff-tree", "-p", "--binary", "--no-renames", before, after)


def convert_instance(
    instance: SwebenchInstance,
    surroundings: InstanceEnvironment,
    content: TaskContent,
    *,
    dataset: str = "",
) -> NewTask:
    """The task of an instance; names of tests that are not node ids are resolved by running."""
    task_id = dataset_rows.task_id_of(instance.instance_id)
    # The first line of the problem statement with words
    lines = (line.strip("#* \t") for line in instance.problem_statement.splitlines())
    first = next((line for line in lines if line), instance.instance_id)
    printable = "".join(char if char.isprintable() else " " for char in first)
    title = " ".join(printable.split()) or instance.instance_id
    if len(title) > _MAX_TITLE_LENGTH:
        title = f"{title[: _MAX_TITLE_LENGTH - 1]}…"
    lists = {
        "fail_to_pass": _node_ids(instance.fail_to_pass),
        "pass_to_pass": _node_ids(instance.pass_to_pass),
    }
    table = TaskFile(
        schema_version=1,
        id=task_id,
        title=title,
        tags=(_TAG, instance.repo),
        repo=content.repo,
        environment=surroundings.environment,
        setup=surroundings.setup,
        tests=surroundings.tests().replace(**lists),
    )
    origin = dataset_rows.SwebenchOrigin(
        instance_id=instance.instance_id,
        repo=instance.repo,
        base_commit=instance.base_commit,
        version=instance.version,
        fail_to_pass=instance.fail_to_pass,
        pass_to_pass=instance.pass_to_pass,
        test_files=content.test_files,
        dataset=dataset,
    )
    # Parts of SWE-smith have no problem statement.
    default = f"Some tests of {instance.repo} fail. Find the bug in its code and fix it.\n"
    return NewTask(
        id=task_id,
        table=table,
        instruction=instance.problem_statement or default,
        tests_patch=content.tests_patch,
        solution_patch=content.solution_patch,
        folders=content.folders,
        files={**surroundings.files, dataset_rows.ORIGIN_FILE: dataset_rows.origin_json(origin)},
    )


def _node_ids(names: Iterable[str]) -> tuple[NodeId, ...]:
    return tuple(NodeId(name) for name in names if name_kind(name) is NameKind.NODE_ID)
