"""What a hidden test needs, the reference fix introduces, and nothing gives: names and messages.

A right fix that calls a new function by another name, or words an error in another way, fails such
a test. Whether a name is given is a question of text, so that this works in every language; in
Python only the names count that a deciding test looks up.
"""

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path, PurePosixPath

from agentbench.audit.rule import RuleHit, info, warning
from agentbench.audit.task_facts import DecidingTestFile, TaskFacts
from agentbench.python_source import python_syntax

NAME = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*|(?<![\w)\]])\.[A-Za-z]\w+|[A-Za-z_]\w*")
"""An identifier, an option, or the end of a file's name that stands alone."""
_SUFFIX = re.compile(r"\.[A-Za-z]\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TEXT = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
# `%s`, `%(name)d`, `{}`, `{name!r}` and `${name}` stand for values.
_PERCENT = re.compile(r"%(?:\(\w+\))?[-+ #0]*[\d.]*[a-zA-Z]")
_BRACES = re.compile(r"\$?\{[^{}]*\}")
ATTRIBUTES_OF_VALUES = frozenset(
    name
    for kind in (str, bytes, int, float, list, tuple, dict, set, frozenset, type, object, Path)
    for name in dir(kind)
)
"""The attributes that built-in values have in each project."""
_LEAST_NAME = 3  # characters
_LONGEST_END = 6  # characters of the end of a file's name, with its dot
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
    for name, where, guess in new_names(facts):
        what = f"`{name}` is new in the fix, and the instruction does not name it"
        yield info(where, f"{what}; {guess}") if guess else warning(where, what)


def new_names(facts: TaskFacts) -> Iterator[tuple[str, str, str]]:
    """The names that tests look up, the fix introduces and the instruction does not have.

    Each has its place in a test, and how it can be guessed; empty: there is no sign of it.
    """
    instruction = facts.task.problem.instruction
    stated = set(NAME.findall(instruction))
    known = set(ATTRIBUTES_OF_VALUES)
    for _, text in facts.base.texts():
        known.update(NAME.findall(text))
        known.update(_SUFFIX.findall(text))
    introduced = {
        name
        for _, text in _fixed_texts(facts)
        for name in NAME.findall(text)
        if name not in known and len(name) >= _LEAST_NAME
    }
    for used in _each_once(facts, _names_in):
        if used.text in introduced and used.text not in stated:
            yield used.text, used.where, _guess(used.text, instruction, known)


def unstated_messages(facts: TaskFacts) -> Iterator[RuleHit]:
    """A right fix words a message in its own way, so that the test rejects it."""
    introduced: set[str] = set()
    for path, text in _fixed_texts(facts):
        old = set(_pieces(path, facts.base.text(path.as_posix()) or ""))
        introduced |= {piece for piece in _pieces(path, text) if piece not in old}
    instruction = plain(facts.task.problem.instruction)
    given: list[str] = []  # read only if there is something to look for
    told: set[str] = set()
    for used in _each_once(facts, _messages_in):
        shared = [_common(piece, plain(used.text)) for piece in introduced]
        # Of several pieces the longest one says most.
        for piece in sorted(filter(is_message, shared), key=len)[-1:]:
            given = given or [instruction, *(plain(text) for _, text in facts.base.texts())]
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
            yield from ((name, number) for name in NAME.findall(_TEXT.sub("", line)))
        return
    deciding = [function.node for _, function in file.deciding]
    used = {node.id for each in deciding for node in ast.walk(each) if isinstance(node, ast.Name)}
    for statement in ast.walk(python_syntax.parse(file.source.encode())):
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        module = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) in used:
                names = NAME.findall(f"{module} {alias.name}")
                yield from ((name, statement.lineno) for name in names)
    for each in deciding:
        for node in ast.walk(each):
            if isinstance(node, ast.Attribute):
                yield node.attr, node.end_lineno or node.lineno
            elif isinstance(node, ast.keyword) and node.arg is not None:
                yield node.arg, node.value.lineno
            elif isinstance(node, ast.Name) and _is_exception(node.id):
                yield node.id, node.lineno
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                # An option, a key or an environment variable; other texts are values. And the end
                # of a file's name.
                whole, end = NAME.fullmatch(node.value), _SUFFIX.search(node.value[-_LONGEST_END:])
                if whole is not None:
                    yield node.value, node.lineno
                elif end is not None and node.value.endswith(end.group()):
                    yield end.group(), node.lineno


def _is_exception(name: str) -> bool:
    known = getattr(builtins, name, None)
    return isinstance(known, type) and issubclass(known, Exception)


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


def _pieces(path: PurePosixPath, text: str) -> Iterator[str]:
    """The messages in a program; of a formatted one the pieces between its values."""
    for found in _texts_in(path, text):
        for piece in _PERCENT.split(found):
            # Braces may be characters of the text, as in LaTeX.
            yield from filter(is_message, map(plain, {piece, *_BRACES.split(piece)}))


def _texts_in(path: PurePosixPath, text: str) -> Iterator[str]:
    if path.suffix == ".py":
        try:
            tree = python_syntax.parse(text.encode())
        except python_syntax.UNPARSABLE:
            return
        values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        yield from (value for value in values if isinstance(value, str))
    else:
        yield from (next(filter(None, each), "") for each in _TEXT.findall(text))


def plain(text: str) -> str:
    """A text without backslashes and with single spaces."""
    # A test may have the message as a regular expression.
    return " ".join(text.replace("\\", "").split())


def is_message(text: str) -> bool:
    """Whether a text is long enough to be a message, and not a key or a name."""
    return len(text) >= _LEAST_MESSAGE and len(NAME.findall(text)) >= _LEAST_WORDS


def _common(piece: str, test: str) -> str:
    """The longest text of whole words that two texts share."""
    if piece in test:
        return piece
    if not set(NAME.findall(piece)) & set(NAME.findall(test)):
        return ""
    at, _, size = SequenceMatcher(None, piece, test, autojunk=False).find_longest_match()
    start, end = at, at + size
    while start < end and start and piece[start - 1].isalnum() and piece[start].isalnum():
        start += 1
    while end > start and piece[end : end + 1].isalnum() and piece[end - 1].isalnum():
        end -= 1
    return piece[start:end].strip()


def _guess(name: str, instruction: str, known: Collection[str]) -> str:
    """How the author of a right fix may come to a name; empty: there is no sign of it."""
    if name.startswith("_") and not name.endswith("__"):
        return ""  # nobody else needs the same helper
    close = get_close_matches(name, set(NAME.findall(instruction)), n=1, cutoff=_CLOSE)
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
