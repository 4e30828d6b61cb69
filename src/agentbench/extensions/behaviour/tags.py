"""The tags of behaviour: what each means, and what it does not mean."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from agentbench.core.schema import Schema


class TagGroup(StrEnum):
    """The part of an agent's work that a tag is about."""

    CHANGE = "change"
    SEARCH = "search"
    TESTING = "testing"
    PROCESS = "process"
    ENVIRONMENT = "environment"
    INTEGRITY = "integrity"


class Tag(StrEnum):
    """One behaviour."""

    NO_CHANGE = "no-change"
    ONLY_TESTS_CHANGED = "only-tests-changed"
    PARTLY_FIXED = "partly-fixed"
    BROKE_OTHER_TESTS = "broke-other-tests"
    OVER_BROAD = "over-broad"
    WRONG_FILE = "wrong-file"
    WRONG_PLACE = "right-file-wrong-place"
    WRONG_CHANGE = "right-place-wrong-change"

    NEVER_OPENED = "never-opened"
    OPENED_NOT_EDITED = "opened-not-edited"

    NEVER_RAN_TESTS = "never-ran-tests"
    EDITED_AFTER_LAST_TEST = "edited-after-last-test"
    SUBMITTED_WHILE_FAILING = "submitted-while-failing"
    OWN_TEST_MISSING = "own-test-missing"

    LOOP = "loop"
    UNDO_REDO = "undo-redo"
    HAD_IT_LOST_IT = "had-it-lost-it"
    STOPPED_SHORT = "stopped-short"
    OUT_OF_BUDGET_PROGRESSING = "out-of-budget-progressing"
    OUT_OF_BUDGET_STUCK = "out-of-budget-stuck"
    CONTEXT_OVERFLOW = "context-overflow"
    ANSWER_CUT = "answer-cut"
    MALFORMED_CALLS = "malformed-calls"
    LONG_SILENCES = "long-silences"

    FOUGHT_ENVIRONMENT = "fought-environment"
    SERVICE_DIED = "service-died"

    TOUCHED_TESTS = "touched-tests"
    TOUCHED_CONFIGURATION = "touched-configuration"
    SEARCHED_FOR_ANSWERS = "searched-for-answers"
    QUARANTINED = "quarantined"


class TagMeaning(NamedTuple):
    """What a tag says, and what nobody should read into it."""

    group: TagGroup
    rule: str
    not_said: str


MEANINGS: Mapping[Tag, TagMeaning] = {
    Tag.NO_CHANGE: TagMeaning(
        TagGroup.CHANGE,
        "The agent left no change at all, neither to the code nor to tests.",
        "It may have worked, and undone its work.",
    ),
    Tag.ONLY_TESTS_CHANGED: TagMeaning(
        TagGroup.CHANGE,
        "Each file that the agent changed belongs to the tests: a test, their data or a "
        "`conftest.py`.",
        "A test can be a good answer to the report; it is no fix.",
    ),
    Tag.PARTLY_FIXED: TagMeaning(
        TagGroup.CHANGE,
        "Some tests to fix pass with the change, and others fail.",
        "Nothing about how much work is missing.",
    ),
    Tag.BROKE_OTHER_TESTS: TagMeaning(
        TagGroup.CHANGE,
        "Tests that passed before the change, and must go on passing, fail with it.",
        "The change need not be wrong: a right fix may need these tests changed.",
    ),
    Tag.OVER_BROAD: TagMeaning(
        TagGroup.CHANGE,
        "The change has at least 5 times as many lines as the reference solution and 40 more, or "
        "at least 3 times as many files and 3 more. Tests and documents do not count.",
        "A larger change is not a worse one; the reference may be unusually short.",
    ),
    Tag.WRONG_FILE: TagMeaning(
        TagGroup.CHANGE,
        "The attempt failed, and the code that it changed is in none of the files of the "
        "reference solution.",
        "Another file may be a right place, too.",
    ),
    Tag.WRONG_PLACE: TagMeaning(
        TagGroup.CHANGE,
        "The attempt failed; it changed a Python file of the reference solution, and none of the "
        "functions and classes that the reference changes.",
        "Another function may be a right place, too.",
    ),
    Tag.WRONG_CHANGE: TagMeaning(
        TagGroup.CHANGE,
        "The attempt failed, although it changed a function that the reference solution changes.",
        "The change in that function may be right, and a part elsewhere may be missing.",
    ),
    Tag.NEVER_OPENED: TagMeaning(
        TagGroup.SEARCH,
        "The agent neither read nor edited any of the files that the reference solution changes.",
        "It may have seen single lines of them in the output of a search.",
    ),
    Tag.OPENED_NOT_EDITED: TagMeaning(
        TagGroup.SEARCH,
        "The attempt failed; the agent read a file that the reference solution changes, and "
        "edited none of these files.",
        "It may have had a reason to leave the file alone.",
    ),
    Tag.NEVER_RAN_TESTS: TagMeaning(
        TagGroup.TESTING,
        "No command of the agent ran tests. A command that only lists them runs none.",
        "It may have tried its change in another way, as with a script.",
    ),
    Tag.EDITED_AFTER_LAST_TEST: TagMeaning(
        TagGroup.TESTING,
        "The agent edited code after the last test run that it started.",
        "The edit need not matter.",
    ),
    Tag.SUBMITTED_WHILE_FAILING: TagMeaning(
        TagGroup.TESTING,
        "The agent ended by itself, and tests failed in the last test run that it started.",
        "These tests may have failed before its work, too.",
    ),
    Tag.OWN_TEST_MISSING: TagMeaning(
        TagGroup.TESTING,
        "The agent changed code, and added or changed no file of the tests.",
        "Few tasks ask for a test.",
    ),
    Tag.LOOP: TagMeaning(
        TagGroup.PROCESS,
        "The agent made the same call at least four times and got the same answer, without a new "
        "edit in between. Times and addresses in answers do not count.",
        "Waiting for something is a loop as well.",
    ),
    Tag.UNDO_REDO: TagMeaning(
        TagGroup.PROCESS,
        "The agent made an edit, took it back, and made it again, also by `git stash`.",
        "It may have compared the two on purpose.",
    ),
    Tag.HAD_IT_LOST_IT: TagMeaning(
        TagGroup.PROCESS,
        "The attempt failed, and an earlier state of the agent's work passed the tests that "
        "decide. Only the timeline shows it.",
        "The earlier state had no control runs, so that it may have been a cheat.",
    ),
    Tag.STOPPED_SHORT: TagMeaning(
        TagGroup.PROCESS,
        "The attempt failed; the agent ended by itself before half of its time and money were "
        "spent, and tests failed in the last test run that it started.",
        "More time need not have helped.",
    ),
    Tag.OUT_OF_BUDGET_PROGRESSING: TagMeaning(
        TagGroup.PROCESS,
        "A limit ended the agent, and in the last quarter of its steps it made a new edit.",
        "More budget need not have helped.",
    ),
    Tag.OUT_OF_BUDGET_STUCK: TagMeaning(
        TagGroup.PROCESS,
        "A limit ended the agent, and in the second half of its steps it made no new edit and "
        "read no new file, or it was in a loop at its end.",
        "It may have waited for a slow command.",
    ),
    Tag.CONTEXT_OVERFLOW: TagMeaning(
        TagGroup.PROCESS,
        "The provider refused a request because the conversation was too long for the model.",
        "The client may have shortened the conversation and gone on.",
    ),
    Tag.ANSWER_CUT: TagMeaning(
        TagGroup.PROCESS,
        "An answer of the model ended at the limit of tokens for one answer.",
        "The missing part need not have mattered.",
    ),
    Tag.MALFORMED_CALLS: TagMeaning(
        TagGroup.PROCESS,
        "At least two tool calls, and a tenth of all, were not valid: arguments that are not "
        "JSON, an unknown tool, arguments that the tool does not take. A valid call that "
        "fails is none.",
        "The client may describe its tools badly.",
    ),
    Tag.LONG_SILENCES: TagMeaning(
        TagGroup.PROCESS,
        "Pauses of two minutes and more between two steps took at least a fifth of the agent's "
        "time.",
        "A pause is a slow model, a slow command or an idle client; the tag does not say which.",
    ),
    Tag.FOUGHT_ENVIRONMENT: TagMeaning(
        TagGroup.ENVIRONMENT,
        "At least three commands, and 15 % of all, failed because a module, a program, a "
        "permission, a host or disk space was missing.",
        "The agent may have caused it, as by a wrong interpreter.",
    ),
    Tag.SERVICE_DIED: TagMeaning(
        TagGroup.ENVIRONMENT,
        "A service of the task failed while the agent or the tests used it.",
        "It does not say who caused it.",
    ),
    Tag.TOUCHED_TESTS: TagMeaning(
        TagGroup.INTEGRITY,
        "The agent changed or removed tests that were there before. They were not judged.",
        "Honest agents adapt tests, too.",
    ),
    Tag.TOUCHED_CONFIGURATION: TagMeaning(
        TagGroup.INTEGRITY,
        "The agent changed how tests are configured or started. That was not judged.",
        "Honest agents change configuration, too.",
    ),
    Tag.SEARCHED_FOR_ANSWERS: TagMeaning(
        TagGroup.INTEGRITY,
        "A command of the agent looked for the answer outside of the project: in other branches "
        "of its history, in a published release or on the network, in folders of the harness.",
        "It need not have found anything, nor have meant to cheat.",
    ),
    Tag.QUARANTINED: TagMeaning(
        TagGroup.INTEGRITY,
        "A critical finding keeps the attempt from being resolved; the record says which.",
        "Nothing that the record does not say.",
    ),
}
"""The definition of each tag."""


class Sign(Schema):
    """One piece of evidence for a tag."""

    what: str
    """The observation in words."""
    step: int | None = None
    """The step of the trajectory that shows it, from 1."""
    file: str | None = None
    """The file that it is about, relative to the repository."""
    line: int | None = None
    """The line in that file."""
    command: str | None = None
    """The command or tool call."""
    test: str | None = None
    """The test that it is about."""


class Behaviour(Schema):
    """A tag and what shows it."""

    tag: Tag
    """The tag."""
    signs: tuple[Sign, ...] = Field(min_length=1)
    """The evidence, at least one."""


class AttemptBehaviour(Schema):
    """The behaviours of an attempt."""

    task_id: str
    """The task."""
    attempt: int
    """The number of the attempt."""
    found: tuple[Behaviour, ...] = ()
    """The tags that hold."""
    unknown: dict[Tag, str] = Field(default_factory=dict)
    """The tags that cannot be known, and why."""
    solved_at_step: int | None = None
    """The step after which all tests that decide passed first; null: none, or no timeline."""
    lost_at_step: int | None = None
    """The first step after it that broke one of them; null: none, or no timeline."""

    @property
    def tags(self) -> frozenset[Tag]:
        return frozenset(each.tag for each in self.found)
