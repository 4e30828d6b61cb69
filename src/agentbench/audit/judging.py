"""The files of tests that decide a task, taken apart."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench import syntax
from agentbench.audit.base_tree import BaseTree
from agentbench.scoring.evidence import NodeId
from agentbench.stages.verification.mutation.functions import FoundFunction, functions_of, split_id
from agentbench.tasks.patched_file import PatchedFile
from agentbench.tasks.task import Task

_LARGEST = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingFile:
    """A file that holds hidden tests, or tests that are listed."""

    path: str
    source: str
    hidden: bool  # tests.patch writes it
    functions: Mapping[str, FoundFunction]  # none where it is no Python
    before: Mapping[str, FoundFunction]  # those of the same file in the base
    listed: tuple[NodeId, ...]  # its fail_to_pass ids

    @property
    def listed_functions(self) -> Mapping[str, tuple[NodeId, ...]]:
        """The functions that fail_to_pass names, with their ids."""
        names: dict[str, list[NodeId]] = {}
        for node_id in self.listed:
            names.setdefault(split_id(node_id)[0], []).append(node_id)
        return {name: tuple(ids) for name, ids in names.items()}

    @property
    def deciding(self) -> Iterator[tuple[str, FoundFunction]]:
        """The listed functions; where none are listed, the tests that the base does not have."""
        listed = self.listed_functions
        for name, function in self.functions.items():
            new = self.hidden and function.looks_like_a_test and not self.is_visible(name)
            if name in listed if listed else new:
                yield name, function

    def is_visible(self, name: str) -> bool:
        """Whether the base has a function as it is here."""
        here, there = self.functions.get(name), self.before.get(name)
        return (
            here is not None and there is not None and ast.dump(here.node) == ast.dump(there.node)
        )


def judging_files(
    task: Task, base: BaseTree, hidden: Mapping[PurePosixPath, PatchedFile | None]
) -> tuple[JudgingFile, ...]:
    """The Python files of tests.patch, and the other ones that fail_to_pass names."""
    listed: dict[str, list[NodeId]] = {}
    for node_id in dict.fromkeys(task.answer_key.fail_to_pass):
        listed.setdefault(node_id.partition("::")[0], []).append(node_id)
    names = dict.fromkeys([*(path.as_posix() for path in hidden), *listed])
    files: list[JudgingFile] = []
    for name in names:
        overlaid = hidden.get(PurePosixPath(name))
        content = overlaid.content if overlaid is not None else base.content(PurePosixPath(name))
        if content is None or not (name.endswith(".py") or name in listed):
            continue
        before = base.content(PurePosixPath(name))
        files.append(
            JudgingFile(
                path=name,
                source=content.decode("utf-8", "replace"),
                hidden=overlaid is not None,
                functions=functions_in(content),
                before=functions_in(before) if before is not None else {},
                listed=tuple(listed.get(name, ())),
            )
        )
    return tuple(files)


def functions_in(content: bytes) -> Mapping[str, FoundFunction]:
    """The functions of a Python text; none where it is not Python."""
    try:
        if len(content) > _LARGEST:
            return {}
        return functions_of(syntax.parse(content)).functions
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
