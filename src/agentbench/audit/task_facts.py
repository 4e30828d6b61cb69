"""The facts of a task that rules check; they are read once, and nothing is run.

These are its base tree, its deciding test files, and the lines that identify copies of its answers.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from agentbench.audit.base_tree import BaseTree, read_base
from agentbench.audit.own_history import histories_with_answers
from agentbench.audit.patch import FilePatch, parse_patch
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError
from agentbench.python_source import python_syntax
from agentbench.python_source.functions import FoundFunction, functions_of, split_id
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

_LONG_LINE = 60  # characters, from which on a line is distinctive by itself
_WINDOW = 3  # lines of any length that are distinctive together
_LEAST_WINDOW = 40  # characters of these lines
_LEAST_DISTINCTIVE = 2  # of them that are not ordinary
# White space, and the marks of diffs, quotations and tables.
_LINE_MARKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + "+>|"
_ORDINARY = re.compile(
    r"""(import\s|from\s+\S+\s+import\b|\#|@|\W*$|(\"\"\"|''')\W*$|(else|try|finally)\s*:$
    |pass$|continue$|break$|return(\s+(None|True|False|self))?$|yield$|raise$
    |def\s+__init__\(self\)|class\s+\w+:$)""",
    re.VERBOSE,
)

LeakFingerprint = tuple[str, ...]
"""One long line, or three consecutive lines."""


LeakFingerprints = frozenset[LeakFingerprint]
_MAX_PARSED_BYTES = 2 * 1024 * 1024
FilesByPath = Mapping[PurePosixPath, FileContent | None]
"""The new contents of files, and `None` for removed ones."""


def found_in(text: str, fingerprints: LeakFingerprints) -> dict[LeakFingerprint, int]:
    """The fingerprints in a text, each with the number of its first line there."""
    if not fingerprints:
        return {}
    lines = [_plain(line) for line in text.splitlines()]
    found: dict[LeakFingerprint, int] = {}
    if _first_lines(fingerprints).isdisjoint(lines):
        return found
    for number, fingerprint in _candidates(enumerate(lines, start=1)):
        if fingerprint in fingerprints:
            found.setdefault(fingerprint, number)
    return found


def without(fingerprints: LeakFingerprints, texts: Iterable[str]) -> LeakFingerprints:
    """The fingerprints that occur in none of some texts."""
    for text in texts:
        fingerprints = fingerprints.difference(found_in(text, fingerprints))
    return fingerprints


def fingerprints_of(blocks: Iterable[Sequence[str]]) -> LeakFingerprints:
    """The fingerprints of pieces of text, each given by its consecutive lines."""
    candidates = (each for block in blocks for _, each in _candidates(enumerate(block)))
    return frozenset(filter(_is_distinctive, candidates))


def blocks_of(lines: Iterable[tuple[int, str]]) -> Iterator[list[str]]:
    """Numbered lines as pieces without a gap."""
    block: list[str] = []
    last = None
    for number, line in lines:
        if block and number != last:
            yield block
            block = []
        block.append(line)
        last = number + 1
    if block:
        yield block


@lru_cache(maxsize=8)
def _first_lines(fingerprints: LeakFingerprints) -> frozenset[str]:
    return frozenset(fingerprint[0] for fingerprint in fingerprints)


def _plain(line: str) -> str:
    return line.lstrip(_LINE_MARKS).rstrip()


def _candidates(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, LeakFingerprint]]:
    before: list[tuple[int, str]] = []
    for number, line in lines:
        plain = _plain(line)
        if not plain:
            continue
        if len(plain) >= _LONG_LINE:
            yield number, (plain,)
        before = [*before[1 - _WINDOW :], (number, plain)]
        if len(before) == _WINDOW:
            yield before[0][0], tuple(text for _, text in before)


def _is_distinctive(fingerprint: LeakFingerprint) -> bool:
    distinctive = sum(not _ORDINARY.match(line) for line in fingerprint)
    if len(fingerprint) == 1:
        return distinctive == 1
    return distinctive >= _LEAST_DISTINCTIVE and sum(map(len, fingerprint)) >= _LEAST_WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidingTestFile:
    """A file that holds hidden tests, or tests that are listed."""

    path: str
    source: str
    hidden: bool  # tests.patch writes it
    functions: Mapping[str, FoundFunction]  # none if it is not Python
    before: Mapping[str, FoundFunction]  # those of the same file in the base
    listed: tuple[NodeId, ...]  # its fail_to_pass ids

    @property
    def listed_functions(self) -> list[str]:
        """The functions that fail_to_pass names."""
        return list(dict.fromkeys(split_id(node_id)[0] for node_id in self.listed))

    @property
    def deciding(self) -> Iterator[tuple[str, FoundFunction]]:
        """The listed functions; if none are listed, the tests that the base does not have."""
        listed = self.listed_functions
        for name, function in self.functions.items():
            new = self.hidden and function.looks_like_a_test and not self.is_visible(name)
            if name in listed if listed else new:
                yield name, function

    def is_visible(self, name: str) -> bool:
        """Whether the base has a function as it is here."""
        function, function_before = self.functions.get(name), self.before.get(name)
        if function is None or function_before is None:
            return False
        return ast.dump(function.node) == ast.dump(function_before.node)


def deciding_test_files(
    task: Task, base: BaseTree, hidden: FilesByPath
) -> tuple[DecidingTestFile, ...]:
    """The Python files of tests.patch, and the other ones that fail_to_pass names."""
    listed: dict[str, list[NodeId]] = {}
    for node_id in dict.fromkeys(task.answer_key.fail_to_pass):
        listed.setdefault(node_id.partition("::")[0], []).append(node_id)
    names = dict.fromkeys([*(path.as_posix() for path in hidden), *listed])
    files: list[DecidingTestFile] = []
    for name in names:
        path = PurePosixPath(name)
        overlaid, before = hidden.get(path), base.contents.get(path)
        content = overlaid.content if overlaid is not None else before
        if content is None or not (name.endswith(".py") or name in listed):
            continue
        files.append(
            DecidingTestFile(
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
    """The functions of a Python text; none if it is not Python."""
    try:
        if len(content) > _MAX_PARSED_BYTES:
            return {}
        return functions_of(python_syntax.parse(content)).functions
    except python_syntax.UNPARSABLE:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """A task with its base tree, its hidden tests and its fix."""

    task: Task
    base: BaseTree
    hidden: FilesByPath  # what tests.patch makes of the base
    fixed: FilesByPath  # what solution.patch makes of it
    solution: tuple[FilePatch, ...]
    deciding_files: tuple[DecidingTestFile, ...]
    hidden_fingerprints: LeakFingerprints  # of the hidden tests, and nowhere in the base
    hidden_names: frozenset[str]  # of hidden test functions that the base does not mention
    unread: tuple[str, ...] = ()  # why some of it is missing
    own_histories: tuple[tuple[Path, str], ...] = ()
    """Each `.git` among its files that holds an answer, and the path of that answer."""

    def solution_fingerprints(self) -> LeakFingerprints:
        """The fingerprints of the fix: lines with those around them, if no changed file had them.

        A fix is often one short line, which only its surroundings make distinctive.
        """
        sides = [side for file in self.solution for side in file.sides()]
        known = [
            *("\n".join(before) for before, _ in sides),
            *(self.base.text(file.path) or "" for file in self.solution),
        ]
        return without(fingerprints_of(after for _, after in sides), known)


def read_task_facts(task: Task, mirrors: Mirrors) -> TaskFacts:
    """Read all facts of a task; a URL without a mirror gets one."""
    key = task.answer_key
    base, hidden, fixed, unread = _read_from_mirror(task, mirrors)
    deciding = deciding_test_files(task, base, hidden)
    fingerprints, names = _fingerprints_of_hidden(deciding, base)
    solution, files = parse_patch(key.solution_patch), task.source.files
    histories = (
        () if files is None else histories_with_answers(files, base, {**hidden, **fixed}, solution)
    )
    return TaskFacts(
        task=task,
        base=base,
        hidden=hidden,
        fixed=fixed,
        solution=solution,
        deciding_files=deciding,
        hidden_fingerprints=fingerprints,
        hidden_names=names,
        unread=unread,
        own_histories=tuple(histories),
    )


def _fingerprints_of_hidden(
    deciding: tuple[DecidingTestFile, ...], base: BaseTree
) -> tuple[LeakFingerprints, frozenset[str]]:
    hidden = [file for file in deciding if file.hidden]
    blocks = (blocks_of(enumerate(file.source.splitlines())) for file in hidden)
    fingerprints = fingerprints_of(block for found in blocks for block in found)
    names = {name.rpartition("::")[2] for file in hidden for name, _ in file.deciding}
    for _, text in base.texts():
        names.difference_update(re.findall(r"\btest\w*", text))
    return without(fingerprints, (text for _, text in base.texts())), frozenset(names)


def _read_from_mirror(
    task: Task, mirrors: Mirrors
) -> tuple[BaseTree, FilesByPath, FilesByPath, tuple[str, ...]]:
    if task.source.workdir is not None:
        return BaseTree(), {}, {}, (f"the base tree is the image's {task.source.workdir}",)
    try:
        mirror = mirrors.of(task.source)
        base = read_base(mirror)
    except GitCloneError as error:
        return BaseTree(), {}, {}, (f"the base tree is unavailable: {error}",)
    key = task.answer_key
    faults: list[str] = []
    overlays: list[FilesByPath] = []
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        try:
            overlays.append(apply_patch_to_commit(patch, mirror))
        except PatchDoesNotApplyError as error:
            overlays.append({})
            faults.append(f"{name} {error}")
    if base.unread:
        faults.append(f"{base.unread} files of the base tree are too large to be searched")
    return base, overlays[0], overlays[1], tuple(faults)
