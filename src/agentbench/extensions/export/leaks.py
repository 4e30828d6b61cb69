"""Whether an attempt's texts have hidden tests, or a solution that the agent did not write.

A correct change may have the lines of the solution, so these count only if the agent was given
them: if they are in a text that it received before it wrote them itself, or if its patch has lines
whose new words it never wrote. Text of hidden tests counts wherever it is.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from agentbench.audit.patch import parse_patch
from agentbench.audit.task_facts import LeakFingerprint
from agentbench.extensions.export.answers import TaskAnswers, fingerprints_found, words_in
from agentbench.extensions.export.chat import ChatMessage
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Trajectory

# A call that can have changed a file, by the name of its tool or by its command.
_CALL_WRITES = re.compile(
    r"edit|write|creat|insert|replac|modif|updat|apply|patch\s+-p"
    r"|\b(sed\s[^\n]{0,200}-i|perl\s+-\w*i|tee|mv|cp)\b|[^-=]>\s*\S|open\(",
    re.IGNORECASE,
)
# A change that an agent reads from its model's text.
_TEXT_WRITES = re.compile(r"```|<<<<<<<|^\+\+\+ ", re.MULTILINE)


class Leak(StrEnum):
    """What an attempt's texts have that they must not have."""

    HIDDEN_TESTS = "it has text of the hidden tests"
    GIVEN_SOLUTION = "the agent received lines of the solution before it wrote them"
    FOREIGN_PATCH = "its patch has lines of the solution that the agent did not write"
    EQUAL_PATCH = "its patch equals the solution, and no conversation shows who wrote it"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenText:
    """A text of an attempt, and whether the agent wrote it."""

    text: str
    is_own: bool
    is_call: bool = False


def find_leak(
    answers: TaskAnswers,
    trajectory: Trajectory | None,
    messages: Iterable[ChatMessage],
    patch: bytes,
    *,
    tools: str | None = None,
) -> Leak | None:
    """The first leak of an attempt.

    Args:
        answers: The answers of its task.
        trajectory: All of its conversations, in the order of time; None: there is none.
        messages: Further texts of the row. Those that the trajectory has are checked there.
        patch: The agent's change.
        tools: The descriptions of its tools.
    """
    reader = _Reader(answers)
    texts = list(_texts_of_trajectory(trajectory)) if trajectory is not None else []
    known = {each.text for each in texts}
    rest = (
        each
        for message in messages
        for each in _texts_of_message(message)
        if each.text not in known
    )
    described = SpokenText(text=tools or "", is_own=False)
    for spoken in (*texts, *rest, described) if texts else ():
        found = reader.leak_in(spoken)
        if found is not None:
            return found
    added = "\n".join(line for file in parse_patch(patch) for _, line in file.added())
    after = "\n".join(
        line for file in parse_patch(patch) for _, new in file.sides() for line in new
    )
    # Also if the agent wrote it: a copied hidden test must not be in any row.
    if fingerprints_found(added, answers.hidden):
        return Leak.HIDDEN_TESTS
    if texts:
        return None if reader.explains(after) else Leak.FOREIGN_PATCH
    # No conversation shows who wrote it.
    return Leak.EQUAL_PATCH if answers.is_equal_to_solution(patch) else None


class _Reader:
    """Reads an attempt's texts in their order, and remembers what the agent wrote."""

    def __init__(self, answers: TaskAnswers) -> None:
        self._answers = answers
        self._lines: set[str] = set()
        self._words: set[str] = set()
        self._has_written = False  # a file

    def leak_in(self, spoken: SpokenText) -> Leak | None:
        answers = self._answers
        if fingerprints_found(spoken.text, answers.hidden):
            return Leak.HIDDEN_TESTS
        words = words_in(spoken.text)
        if spoken.is_own:
            self._words |= words
            self._lines.update(line.strip() for line in spoken.text.splitlines())
            writes = _CALL_WRITES if spoken.is_call else _TEXT_WRITES
            self._has_written = self._has_written or writes.search(spoken.text) is not None
            return None
        # A name that the agent has written before is its own.
        if (answers.hidden_names & words) - self._words:
            return Leak.HIDDEN_TESTS
        return None if self.explains(spoken.text) else Leak.GIVEN_SOLUTION

    # Whether all lines of the solution in a text can be the agent's own work so far.
    def explains(self, text: str) -> bool:
        found = fingerprints_found(text, self._answers.solution)
        return all(map(self._is_own, found))

    def _is_own(self, fingerprint: LeakFingerprint) -> bool:
        new = {
            line: self._answers.new_words[line]
            for line in fingerprint
            if line in self._answers.new_words
        }
        # A fix that only removes lines has no new words: then a tool or a command must have changed
        # a file.
        if not self._has_written and not all(line in self._lines for line in fingerprint):
            return False
        return all(line in self._lines or words <= self._words for line, words in new.items())


def _texts_of_trajectory(trajectory: Trajectory) -> Iterator[SpokenText]:
    for step in trajectory.steps:
        is_own = step.source is Role.AGENT
        yield SpokenText(text=step.message, is_own=is_own)
        if step.reasoning_content:
            yield SpokenText(text=step.reasoning_content, is_own=is_own)
        for call in step.tool_calls or ():
            texts = "\n".join(texts_in(call.arguments))
            yield SpokenText(text=f"{call.function_name}\n{texts}", is_own=True, is_call=True)
        for result in step.observation.results if step.observation else ():
            yield SpokenText(text=result.content, is_own=False)


def _texts_of_message(message: ChatMessage) -> Iterator[SpokenText]:
    is_own = message.role == "assistant"
    yield SpokenText(text=message.content, is_own=is_own)
    if message.reasoning_content:
        yield SpokenText(text=message.reasoning_content, is_own=is_own)
    for call in message.tool_calls or ():
        texts = "\n".join(texts_in(call.function.arguments))
        yield SpokenText(text=f"{call.function.name}\n{texts}", is_own=True, is_call=True)


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value, also the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from texts_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in(each)
