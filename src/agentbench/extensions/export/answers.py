"""What must not be in a data set of a task: the text of its hidden tests and its solution."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentbench.audit.patch import FilePatch, parse_patch
from agentbench.audit.task_facts import (
    LeakFingerprint,
    LeakFingerprints,
    TaskFacts,
    blocks_of,
    fingerprints_of,
    found_in,
    read_task_facts,
    without,
)
from agentbench.errors import InputError
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.scripts import SOLUTION_FOLDER, VERIFIER_FOLDER, script_files
from agentbench.tasks.steps import step_folder
from agentbench.tasks.task import Task

_LARGEST_FILE = 2 * 1024 * 1024
_LEAST_NAME = 14  # characters; shorter test names are easy to guess
_OBVIOUS_LINES = 8  # changed lines, from which on an equal change is no coincidence
_TOKEN = re.compile(r"\w+|[<>=!+\-*/%&|^~@]+")
# Numbers of lines, also after the name of a file, as grep, cat -n and tools of agents print them.
_LINE_NUMBER = re.compile(r"^(?:[\w./-]+[:-])?[ \t]*\d+[ \t]*[:|\t\u2192-][ \t]?", re.MULTILINE)
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAnswers:
    """The answers of one task as fingerprints, and the instruction that an agent gets."""

    instruction: str
    has_steps: bool
    hidden: LeakFingerprints
    hidden_names: frozenset[str]
    solution: LeakFingerprints
    solution_changes: frozenset[tuple[str, str]]  # path and signed line
    new_words: Mapping[str, frozenset[str]]
    """For each new line of the solution, its words that the line most like it did not have."""

    def is_equal_to_solution(self, patch: bytes) -> bool:
        """Whether a patch makes the same changes; short ones may do so by chance."""
        changes = changed_lines(parse_patch(patch))
        return len(changes) >= _OBVIOUS_LINES and changes == self.solution_changes


def read_answers(task: Task, mirrors: Mirrors) -> TaskAnswers:
    """Read what must not be in a data set."""
    facts = read_task_facts(task, mirrors)
    key, has_base = task.answer_key, bool(facts.base.blobs)
    lacks_tests = has_base and bool(key.tests_patch.strip()) and not facts.hidden
    if lacks_tests or (not has_base and task.source.workdir is None):
        why = facts.unread[0] if facts.unread else "its repository has no files"
        raise InputError(f"{task.folder}: {why}")
    known = [task.problem.instruction, *(step.instruction for step in task.steps)]
    # Those of all hidden files: tests, and the data beside them.
    files = (file.content for file in facts.hidden.values() if file is not None)
    added = [
        block
        for file in parse_patch(task.answer_key.tests_patch if not facts.hidden else b"")
        for block in blocks_of(file.added())
    ]
    found = fingerprints_of([*_lines_of(files), *added])
    if task.answer_key.verifier is not None or task.steps:
        found |= _script_fingerprints(task, VERIFIER_FOLDER, facts)
    hidden = without(facts.hidden_fingerprints | _not_in_base(found, facts), known)
    solution = without(
        facts.solution_fingerprints() | _script_fingerprints(task, SOLUTION_FOLDER, facts), known
    )
    words = {word for text in known for word in re.findall(r"\w+", text)}
    return TaskAnswers(
        instruction=task.problem.instruction,
        has_steps=bool(task.steps),
        hidden=hidden,
        hidden_names=frozenset(
            name for name in facts.hidden_names - words if len(name) >= _LEAST_NAME
        ),
        solution=solution,
        solution_changes=changed_lines(facts.solution),
        new_words=_new_words(solution, facts),
    )


def changed_lines(patch: tuple[FilePatch, ...]) -> frozenset[tuple[str, str]]:
    """The added and removed lines of a patch, each with its file."""
    return frozenset((file.path, line) for file in patch for line in file.changed())


def words_in(text: str) -> set[str]:
    """The names, numbers and operators in a text."""
    return set(_TOKEN.findall(text))


def readings(text: str) -> Iterator[str]:
    """A text as it is, and as it is without escapes and numbers of lines."""
    yield text
    plain = _ESCAPE.sub(lambda found: _ESCAPES[found.group()], text) if "\\" in text else text
    stripped = _LINE_NUMBER.sub("", plain)
    if stripped != text:
        yield stripped
        yield plain


def fingerprints_found(text: str, fingerprints: LeakFingerprints) -> set[LeakFingerprint]:
    """The fingerprints in any reading of a text."""
    return {each for reading in readings(text) for each in found_in(reading, fingerprints)}


# Those of a folder of the task, and of the folders of that name of its steps.
def _script_fingerprints(task: Task, name: str, facts: TaskFacts) -> LeakFingerprints:
    if name == SOLUTION_FOLDER and task.answer_key.solution is None:
        return frozenset()
    folders = [task.folder, *(step_folder(task.folder, step.name) for step in task.steps)]
    contents = (content for folder in folders for content in _contents(folder / name))
    return _not_in_base(fingerprints_of(_lines_of(contents)), facts)


def _contents(folder: Path) -> Iterator[bytes]:
    if folder.is_dir():
        yield from (file.content for file in script_files(folder).values())


def _lines_of(contents: Iterable[bytes]) -> Iterator[list[str]]:
    for content in contents:
        if len(content) <= _LARGEST_FILE and b"\0" not in content:
            yield content.decode("utf-8", "replace").splitlines()


def _not_in_base(found: LeakFingerprints, facts: TaskFacts) -> LeakFingerprints:
    return without(found, (text for _, text in facts.base.texts()))


def _new_words(solution: LeakFingerprints, facts: TaskFacts) -> dict[str, frozenset[str]]:
    texts = (facts.base.text(file.path) or "" for file in facts.solution)
    known = {line.strip(): words_in(line) for text in texts for line in text.splitlines()}
    new = {line for fingerprint in solution for line in fingerprint} - known.keys()
    words: dict[str, frozenset[str]] = {}
    for line in new:
        own = words_in(line)
        nearest = max(
            known.values(), key=lambda each: len(own & each) - len(each - own) / 1000, default=set()
        )
        words[line] = frozenset(own - nearest)
    return words
