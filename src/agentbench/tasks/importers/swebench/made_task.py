"""An instance as a task's folder that is yet to be written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agentbench.scoring.evidence import NodeId
from agentbench.tasks.importers.swebench.instance import Instance
from agentbench.tasks.importers.swebench.instance_id import task_id_of
from agentbench.tasks.importers.swebench.names import Kind, kind_of
from agentbench.tasks.importers.swebench.origin import FILE, Origin, origin_json
from agentbench.tasks.importers.swebench.patches import as_bytes
from agentbench.tasks.importers.swebench.reversal import Reversed
from agentbench.tasks.importers.swebench.surroundings import Surroundings
from agentbench.tasks.new_task import NewTask
from agentbench.tasks.task_file import PytestTable, RepoTable, TaskFile

_TAG = "swebench"
_LONGEST_TITLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """In what the two ways to make a task differ."""

    repo: RepoTable
    test_files: tuple[str, ...]
    tests_patch: bytes
    solution_patch: bytes
    folders: Mapping[str, Path] = field(default_factory=dict)


def task_of(
    instance: Instance, url: str, surroundings: Surroundings, test_files: Iterable[PurePosixPath]
) -> NewTask:
    """The task of an instance whose patch mends the bug."""
    assert instance.test_patch is not None  # only what makes the bug has none
    parts = _Parts(
        repo=RepoTable(url=url, commit=instance.base_commit),
        test_files=tuple(map(str, test_files)),
        tests_patch=as_bytes(instance.test_patch),
        solution_patch=as_bytes(instance.patch),
    )
    return _task(instance, surroundings, parts)


def reversed_task_of(
    instance: Instance, turned: Reversed, surroundings: Surroundings, test_files: Iterable[str]
) -> NewTask:
    """The task of an instance whose patch makes the bug."""
    parts = _Parts(
        repo=RepoTable(path="repo"),
        test_files=tuple(test_files),
        tests_patch=turned.tests_patch,
        solution_patch=turned.solution_patch,
        folders={"repo": turned.files},
    )
    return _task(instance, surroundings, parts)


def _task(instance: Instance, surroundings: Surroundings, parts: _Parts) -> NewTask:
    task_id = task_id_of(instance.instance_id)
    table = TaskFile(
        schema_version=1,
        id=task_id,
        title=_title(instance),
        tags=(_TAG, instance.repo),
        repo=parts.repo,
        environment=surroundings.environment,
        setup=surroundings.setup,
        tests=_tests(instance, surroundings),
    )
    origin = Origin(
        instance_id=instance.instance_id,
        repo=instance.repo,
        base_commit=instance.base_commit,
        version=instance.version,
        fail_to_pass=instance.fail_to_pass,
        pass_to_pass=instance.pass_to_pass,
        test_files=parts.test_files,
    )
    return NewTask(
        id=task_id,
        table=table,
        instruction=instance.problem_statement or _stand_in(instance),
        tests_patch=parts.tests_patch,
        solution_patch=parts.solution_patch,
        folders=parts.folders,
        files={**surroundings.files, FILE: origin_json(origin)},
    )


def _tests(instance: Instance, surroundings: Surroundings) -> PytestTable:
    """Those whose names are ids; what the others mean is found out by running them."""
    return surroundings.tests().model_copy(
        update={
            "fail_to_pass": _whole(instance.fail_to_pass),
            "pass_to_pass": _whole(instance.pass_to_pass),
        }
    )


def _whole(names: Iterable[str]) -> tuple[NodeId, ...]:
    return tuple(NodeId(name) for name in names if kind_of(name) is Kind.NODE_ID)


def _title(instance: Instance) -> str:
    lines = (line.strip("#* \t") for line in instance.problem_statement.splitlines())
    first = next((line for line in lines if line), instance.instance_id)
    printable = "".join(char if char.isprintable() else " " for char in first)
    title = " ".join(printable.split()) or instance.instance_id
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _stand_in(instance: Instance) -> str:
    """What an agent is told where nobody wrote a report, as in parts of SWE-smith."""
    return f"Some tests of {instance.repo} fail. Find the bug in its code and mend it.\n"
