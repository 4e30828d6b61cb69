"""Finds the node ids of bare function names in the source of the tests, without running them."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentbench.core.display_text import list_with_more
from agentbench.errors import GitCloneError, InputError
from agentbench.importers.swebench.instance import NameKind, name_kind
from agentbench.python_source import python_syntax
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.dataset_rows import SwebenchOrigin
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import Runner

_PARAMETERS = "parametrize"


class UnclearNameError(ValueError):
    """Only a run of the tests can show the meaning of a name; the text says why."""


def ids_of_functions(
    folder: Path, origin: SwebenchOrigin, mirrors: Mirrors
) -> dict[str, tuple[NodeId, ...]]:
    """The node ids of all names of an instance's lists that are not node ids.

    Lines of logs in PASS_TO_PASS mean no test.

    Raises:
        UnclearNameError: a name is not that of a function in the files of the test patch, a name in
            FAIL_TO_PASS belongs to several functions, or a function has parameters.
    """
    kinds = {name: name_kind(name) for name in origin.names}
    to_fix = set(origin.fail_to_pass)
    odd = [
        name
        for name, kind in kinds.items()
        if kind not in {NameKind.NODE_ID, NameKind.FUNCTION}
        and (kind is not NameKind.OTHER or name in to_fix)
    ]
    if odd:
        raise UnclearNameError(f"{_listed(odd)} is not the name of a function")
    found = dict[str, list[NodeId]]()
    parametrized = set[str]()
    for file, source in _sources(folder, mirrors).items():
        for node_id, has_parameters in _functions(file, source):
            name = node_id.rpartition("::")[2]
            found.setdefault(name, []).append(node_id)
            if has_parameters:
                parametrized.add(name)
    named = [name for name, kind in kinds.items() if kind is NameKind.FUNCTION]
    unclear = [
        name
        for name in named
        if name not in found or name in parametrized or (name in to_fix and len(found[name]) > 1)
    ]
    if unclear:
        raise UnclearNameError(
            f"{_listed(unclear)} is not the name of one function without parameters in the files "
            "of the test patch"
        )
    ids = {name: tuple(found[name]) for name in named}
    return ids | {name: () for name, kind in kinds.items() if kind is NameKind.OTHER}


def _listed(names: list[str]) -> str:
    return list_with_more([repr(name) for name in names], 3)


def _sources(folder: Path, mirrors: Mirrors) -> Mapping[str, bytes]:
    """The Python files of the test patch, with the patch applied."""
    try:
        task = load_task(folder, mirrors=mirrors)
        if parse_test_command(task.problem.test_command).runner is not Runner.PYTEST:
            raise UnclearNameError("its runner prints its own names")
        mirror = mirrors.of(task.source)
        files = apply_patch_to_commit(task.answer_key.tests_patch, mirror)
    except (InputError, GitCloneError, PatchDoesNotApplyError) as error:
        raise UnclearNameError(str(error)) from error
    return {
        str(path): file.content
        for path, file in files.items()
        if file is not None and path.suffix == ".py"
    }


def _functions(file: str, source: bytes) -> Iterator[tuple[NodeId, bool]]:
    """The functions at the top of a module and in its classes, and whether they have parameters."""
    try:
        module = python_syntax.parse(source, file)
    except python_syntax.UNPARSABLE as error:
        raise UnclearNameError(f"{file} cannot be parsed: {error}") from None
    for statement in module.body:
        owner = f"{statement.name}::" if isinstance(statement, ast.ClassDef) else ""
        inner = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        for each in inner:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                has_parameters = any(_PARAMETERS in ast.unparse(d) for d in each.decorator_list)
                yield NodeId(f"{file}::{owner}{each.name}"), has_parameters
