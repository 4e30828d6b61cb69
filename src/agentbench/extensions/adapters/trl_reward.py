"""A reward function for TRL's trainers, whose completions contain patches.

>>> trainer = GRPOTrainer(reward_funcs=JudgedReward(judge), ...)  # doctest: +SKIP
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from agentbench.errors import UsageError
from agentbench.judge.scoring import ScoresPatches, Seconds

Completion = str | Sequence[Mapping[str, object]]
"""A completion as TRL gives it: text, or the messages of a conversation."""

_FENCED: Final = re.compile(r"```(?:diff|patch)[ \t]*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)
_MODEL_ROLES: Final = ("assistant", "model")
_TEXT_PARTS: Final = ("text", "output_text")
_BEGINNING: Final = re.compile(r"^(?:diff --git |--- )", re.MULTILINE)


def patch_in(completion: Completion) -> str:
    """The patch in a completion: its last ```diff block, or else all from the first diff header.

    Text without either is returned as it is; the judge finds that it is no patch.
    """
    text = completion if isinstance(completion, str) else _content(completion)
    blocks = _FENCED.findall(text)
    if blocks:
        return str(blocks[-1])
    beginning = _BEGINNING.search(text)
    return text[beginning.start() :] if beginning is not None else text


class JudgedReward:
    """Judges the patch in each completion. A completion without a verdict gets None.

    TRL leaves a completion out of the advantages of its group if all reward functions return None
    for it. TRL's log gets the reason of each verdict as the column `verdict`.
    """

    def __init__(
        self,
        judge: ScoresPatches,
        *,
        column: str = "task",
        patch_in: Callable[[Completion], str] = patch_in,
        deadline: Seconds | None = None,
    ) -> None:
        """A reward function for an open judge.

        Args:
            judge: A `Judge` or a `RemoteJudge`, open as long as the training.
            column: The column of the data set with the path of each task's folder; with a
                `RemoteJudge`, with the id of each task.
            patch_in: Extracts the patch from a completion.
            deadline: Seconds for all completions of a call; later ones get None.
        """
        self._judge = judge
        self._column = column
        self._patch_in = patch_in
        self._deadline = deadline

    def __call__(self, completions: Sequence[Completion], **columns: object) -> list[float | None]:
        """The rewards of the completions, in their order.

        Raises:
            UsageError: the data set has no such column, or the judge is not open.
            InputError: a task is wrong.
        """
        tasks = columns.get(self._column)
        if not isinstance(tasks, Sequence) or len(tasks) != len(completions):
            raise UsageError(
                f"expected a column {self._column!r} in the data set, with the path of each "
                f"task's folder; found {', '.join(sorted(columns))}"
            )
        # All are submitted before the first result is awaited, so that they are judged in parallel.
        scorings = [
            self._judge.score(task, patch=self._patch_in(completion), deadline=self._deadline)
            for task, completion in zip(tasks, completions, strict=True)
        ]
        verdicts = [scoring.result() for scoring in scorings]
        log_extra = columns.get("log_extra")
        if callable(log_extra):
            log_extra("verdict", [str(each.reason or "RESOLVED") for each in verdicts])
        # None where the infrastructure failed: a zero would teach the model something wrong.
        return [verdict.reward for verdict in verdicts]


# The text of the model's own messages; what a tool or a user says is no answer.
def _content(messages: Sequence[Mapping[str, object]]) -> str:
    own = (m for m in messages if m.get("role", "assistant") in _MODEL_ROLES)
    return "\n".join(_text_of(message.get("content")) for message in own)


# The text of a content: a string, or the text parts of a list; thoughts are no part of it.
def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        is_text = content.get("type", "text") in _TEXT_PARTS
        return _text_of(content.get("text", content.get("content"))) if is_text else ""
    return "".join(map(_text_of, content)) if isinstance(content, Sequence) else ""
