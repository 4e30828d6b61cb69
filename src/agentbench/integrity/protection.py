"""Drops tests, and the files that steer them, from an agent's change."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.integrity.extraction import WorkspaceChange
from agentbench.integrity.records import PROTECTED_BY_TASK, TEST_OF_TASK, DroppedPath
from agentbench.integrity.tool_caches import ToolCache
from agentbench.integrity.trees import BaseContent, WorkspaceTree
from agentbench.test_runs.python_files import PythonScriptFiles
from agentbench.test_runs.runner import Protected, ProtectedFiles, TestRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionRules:
    """The protected paths: the task's test paths, its patterns, and the hidden tests."""

    test_paths: tuple[str, ...]
    patterns: tuple[str, ...]
    hidden: frozenset[PurePosixPath]
    runner: TestRunner | None
    """The runner, whose files are protected, too; None: a script judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """The judged change, and the paths that were dropped from it."""

    files: dict[PurePosixPath, FileContent | None]
    emptied: tuple[PurePosixPath, ...]
    dropped: tuple[DroppedPath, ...]
    broken: str = ""
    """The first configuration file that the change made unreadable, and its fault."""
    tool_caches: tuple[ToolCache, ...] = ()  # of the change, and in neither of the others

    @property
    def is_empty(self) -> bool:
        return not self.files and not self.emptied


def protect(
    change: WorkspaceChange, rules: ProtectionRules, base: WorkspaceTree, base_content: BaseContent
) -> JudgedChange:
    """Drop protected paths from a change; a file that also configures tests keeps the base's part.

    Args:
        change: All files that the agent changed.
        rules: What is protected.
        base: The files at the base commit.
        base_content: Reads one of them.
    """
    # A conftest.py or a pytest.ini could make every test pass.
    steering = rules.runner.protection(base) if rules.runner else PythonScriptFiles(base)
    files: dict[PurePosixPath, FileContent | None] = {}
    dropped: list[DroppedPath] = []
    broken = ""
    for path, file in change.files.items():
        after = file.content if file is not None else None
        # A new file below the root may be data of a test.
        if after is not None and (len(path.parts) == 1 or path in base) and not broken:
            fault = steering.fault_in(path, after)
            if fault is not None and steering.fault_in(path, base_content(path) or b"") is None:
                broken = f"the change leaves {path} unreadable: {fault}"
        protected = _why_dropped(path, rules, steering, is_new=path not in base)
        if protected is None and (part := steering.judged(path, base_content, after)) is not None:
            content, protected = part
            if content is not None:
                executable = file is not None and file.executable
                files[path] = FileContent(content=content, executable=executable)
        elif protected is None:
            files[path] = file
        if protected is not None:
            why, tampers = protected
            dropped.append(DroppedPath(path=path.as_posix(), why=why, tampers=tampers))
    emptied = tuple(
        path
        for path in change.emptied
        if _why_dropped(path / "x", rules, steering, is_new=False) is None
    )
    return JudgedChange(files=files, emptied=emptied, dropped=tuple(dropped), broken=broken)


def _why_dropped(
    path: PurePosixPath, rules: ProtectionRules, steering: ProtectedFiles, *, is_new: bool
) -> Protected | None:
    is_test = path in rules.hidden or any(
        # If the test path is the whole repository, only its test files are protected.
        path.is_relative_to(root) if root.parts else steering.is_test(path)
        for root in map(PurePosixPath, rules.test_paths)
    )
    if is_test:  # a new test file cannot make other tests pass
        return Protected(TEST_OF_TASK, tampers=not is_new or steering.configures(path))
    if any(_matches(path, pattern) for pattern in rules.patterns):
        return Protected(PROTECTED_BY_TASK, tampers=True)
    return steering.why(path)


# Whether a path matches a pattern of `protected`, where `*` and `**` cross folders.
def _matches(path: PurePosixPath, pattern: str) -> bool:
    name = path.as_posix()
    if pattern.startswith("**/") and _matches(path, pattern[3:]):
        return True
    if pattern.endswith("/**"):
        return name.startswith(pattern[:-2]) or fnmatchcase(name, pattern)
    return fnmatchcase(name, pattern) or path.is_relative_to(pattern)
