"""What a hidden test needs, the reference fix introduces, and nothing gives: names and messages.

A right fix that calls a new function by another name, or words an error in another way, fails such
a test. Whether a name is given is a question of text, so that this works in every language; in
Python only the names count that a deciding test looks up.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath

from agentbench.audit.rule import RuleHit, info, warning
from agentbench.audit.task_facts import DecidingTestFile, TaskFacts
from agentbench.python_source import python_syntax

_NAME = re.compile(r"[A-Za-z_]\w*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TEXT = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
_LEAST_NAME = 3  # characters
_LEAST_WORDS = 2  # of a message: one word may be anything
_LEAST_MESSAGE = 10  # characters
_LEAST_PARALLEL = 3  # parts of a name: `read_csv_file` is parallel to `read_json_file`
_CLOSE = 0.85  # of difflib's ratio: `colour` and `color` have 0.91


@dataclass(frozen=True, slots=True)
class _Used:
    """A name or a text in a deciding test."""

    text: str
    where: str  # file and line


def unstated_names(facts: TaskFacts) -> Iterator[RuleHit]:
    """A right fix cannot know a name that only the reference has, so that the test rejects it."""
    known = {name for _, text in facts.base.texts() for name in _NAME.findall(text)}
    introduced = {
        name
        for _, text in _fixed_texts(facts)
        for name in _NAME.findall(text)
        if name not in known and len(name) >= _LEAST_NAME
    }
    instruction = facts.task.problem.instruction
    stated = set(_NAME.findall(instruction))
    for used in _each_once(facts, _names_in):
        if used.text in introduced and used.text not in stated:
            guess = _guess(used.text, instruction, known)
            what = f"`{used.text}` is new in the fix, and the instruction does not name it"
            yield info(used.where, f"{what}; {guess}") if guess else warning(used.where, what)


def unstated_messages(facts: TaskFacts) -> Iterator[RuleHit]:
    """A right fix words a message in its own way, so that the test rejects it."""
    before = [text for _, text in facts.base.texts()]
    given = [_plain(facts.task.problem.instruction), *before]
    introduced = {
        piece
        for path, text in _fixed_texts(facts)
        for piece in map(_plain, _texts_in(path, text))
        if _is_message(piece)
    }
    told: set[str] = set()
    for used in _each_once(facts, _messages_in):
        test = _plain(used.text)
        shared = [piece if piece in test else test for piece in introduced if _overlap(piece, test)]
        # Of several pieces the longest one says most.
        for piece in sorted(shared, key=len)[-1:]:
            if piece not in told and not any(piece in text for text in given):
                told.add(piece)
                what = f'the text "{piece}" is new in the fix, and the instruction does not give it'
                yield warning(used.where, what)


def _fixed_texts(facts: TaskFacts) -> Iterator[tuple[PurePosixPath, str]]:
    """The files that the reference fix writes."""
    for path, file in facts.fixed.items():
        if file is not None:
            yield path, file.content.decode("utf-8", "replace")


def _each_once(
    facts: TaskFacts, found_in: Callable[[DecidingTestFile, str | None], Iterator[tuple[str, int]]]
) -> Iterator[_Used]:
    """The names or texts of all deciding tests, each at its first place."""
    seen: set[str] = set()
    for file in facts.deciding_files:
        for text, line in found_in(file, facts.base.text(file.path)):
            if text not in seen:
                seen.add(text)
                yield _Used(text, f"{file.path}:{line}")


def _names_in(file: DecidingTestFile, before: str | None) -> Iterator[tuple[str, int]]:
    """The names that deciding tests look up, with their lines."""
    if not file.functions:
        for line, number in _new_lines(file, before):
            yield from ((name, number) for name in _NAME.findall(_TEXT.sub("", line)))
        return
    deciding = [function.node for _, function in file.deciding]
    used = {node.id for each in deciding for node in ast.walk(each) if isinstance(node, ast.Name)}
    for statement in ast.walk(python_syntax.parse(file.source.encode())):
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        module = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) in used:
                names = _NAME.findall(f"{module} {alias.name}")
                yield from ((name, statement.lineno) for name in names)
    for each in deciding:
        for node in ast.walk(each):
            if isinstance(node, ast.Attribute):
                yield node.attr, node.end_lineno or node.lineno
            elif isinstance(node, ast.keyword) and node.arg is not None:
                yield node.arg, node.value.lineno


def _messages_in(file: DecidingTestFile, before: str | None) -> Iterator[tuple[str, int]]:
    """The texts of deciding tests, with their lines."""
    if not file.functions:
        for line, number in _new_lines(file, before):
            yield from ((next(filter(None, each), ""), number) for each in _TEXT.findall(line))
        return
    for _, function in file.deciding:
        for node in ast.walk(function.node):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value, node.lineno


def _new_lines(file: DecidingTestFile, before: str | None) -> Iterator[tuple[str, int]]:
    old = set((before or "").splitlines())
    for number, line in enumerate(file.source.splitlines(), start=1):
        if line not in old:
            yield line, number


def _texts_in(path: PurePosixPath, text: str) -> Iterator[str]:
    """The literal texts of a program; of a formatted one the pieces between its values."""
    if path.suffix == ".py":
        try:
            tree = python_syntax.parse(text.encode())
        except python_syntax.UNPARSABLE:
            return
        values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        found = [value for value in values if isinstance(value, str)]
    else:
        found = [next(filter(None, each), "") for each in _TEXT.findall(text)]
    for each in found:
        # `%s`, `%(name)d`, `{}`, `{name!r}` and `${name}` stand for values.
        yield from re.split(r"%(?:\(\w+\))?[-+ #0]*[\d.]*[a-zA-Z]|\$?\{[^{}]*\}", each)


def _plain(text: str) -> str:
    # A test may have the message as a regular expression.
    return " ".join(text.replace("\\", "").split())


def _is_message(text: str) -> bool:
    return len(text) >= _LEAST_MESSAGE and len(_NAME.findall(text)) >= _LEAST_WORDS


def _overlap(piece: str, test: str) -> bool:
    return piece in test or (_is_message(test) and test in piece)


def _guess(name: str, instruction: str, known: set[str]) -> str:
    """How the author of a right fix may come to a name; empty: there is no sign of it."""
    close = get_close_matches(name, set(_NAME.findall(instruction)), n=1, cutoff=_CLOSE)
    if close:
        return f"it resembles `{close[0]}`, which is there"
    parts = _parts(name)
    words = _parts(instruction)
    if any(words[at : at + len(parts)] == parts for at in range(len(words))):
        return f"the instruction has its words: {' '.join(parts)}"
    if len(parts) >= _LEAST_PARALLEL:
        for other in sorted(known):
            theirs = _parts(other)
            if len(theirs) == len(parts) and sum(map(str.__ne__, parts, theirs)) == 1:
                return f"the project has `{other}`"
    return ""


def _parts(text: str) -> list[str]:
    return [part.lower() for part in _PARTS.findall(text)]
