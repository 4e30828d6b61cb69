"""Everything that the rules about behaviour read, and why parts of it are missing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from agentbench.attempt.logs import EXCHANGE_LOG, TRAJECTORY_FILE
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.timeline.document import TIMELINE_FILE, Timeline
from agentbench.attempt.timeline.steps import answer_times, read_time, step_before
from agentbench.audit.patch import FilePatch, parse_patch
from agentbench.audit.run_facts import RunFolder, UnreadableRunFileError, read_attempt
from agentbench.errors import GitCloneError, InputError
from agentbench.extensions.behaviour.actions import Action, Call, actions_of, calls_of
from agentbench.extensions.behaviour.changed_scopes import CodeScope, changed_scopes
from agentbench.extensions.behaviour.commands import ActionKind
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Step, Trajectory
from agentbench.report.transcript_text import parse_trajectory
from agentbench.runs.store.configuration import TaskEntry
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.problem import AgentLimits
from agentbench.tasks.task import RepoSource

_TIME = re.compile(rb'"time":"([^"]+)"')
# In a line of the log, the answer comes last. It is a text of JSON: its quotation marks have one
# backslash, and those in a text of the model have more.
_ANSWER = b',"answer":"'
_CUT = re.compile(
    rb'(?<!\\)\\"(?:finish_reason|stop_reason|finishReason|reason)\\": ?'
    rb'\\"(?:length|max_tokens|MAX_TOKENS|max_output_tokens)\\"'
)
_TEST_FILE = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|fixtures)/|(^|/)(test_[^/]*|conftest)\.\w+$"
    r"|(_test|_spec|\.test|\.spec)\.\w+$"
)
_DOCUMENT = re.compile(
    r"\.(md|rst|txt|adoc)$|(^|/)(docs?|changes|changelog|news|newsfragments)(/|\.\w+$|$)",
    re.IGNORECASE,
)
_ENDED_BY_LIMIT = frozenset(
    {AgentEnding.STEP_LIMIT, AgentEnding.COST_LIMIT, AgentEnding.TIME_LIMIT}
)


class Need(StrEnum):
    """A part of the facts that a rule cannot do without."""

    CHANGE = "change"
    REFERENCE = "reference"
    SCOPES = "scopes"
    TRAJECTORY = "trajectory"
    ANSWERS = "answers"
    TIMELINE = "timeline"


def is_test_file(path: str) -> bool:
    """Whether a path is that of a test or of its data, by the customs of most projects."""
    return _TEST_FILE.search(path) is not None


def is_code(path: str) -> bool:
    """Whether a path is neither a test nor a document."""
    return not is_test_file(path) and _DOCUMENT.search(path) is None


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The reference solution of a task."""

    patch: tuple[FilePatch, ...]  # without tests and documents
    mirror: Mirror | None = None  # None: the base commit is not at hand
    _read: dict[str, bytes | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.patch)

    @cached_property
    def scopes(self) -> frozenset[CodeScope] | None:
        """The places that it changes; None: unknown."""
        return changed_scopes(self.patch, self.base) if self.mirror is not None else None

    def base(self, path: str) -> bytes | None:
        """The content of a file at the base commit; None: there is none, or it is unknown."""
        if self.mirror is not None and path not in self._read:
            shown = self.mirror.git("cat-file", "blob", f"{self.mirror.commit}:{path}")
            self._read[path] = shown.stdout if shown.ok else None
        return self._read.get(path)


@dataclass(frozen=True, kw_only=True)
class BehaviourFacts:
    """One attempt: its record, its change, the reference solution and the agent's actions."""

    record: AttemptRecord
    change: tuple[FilePatch, ...] = ()  # all of it, also what is not judged
    reference: Reference | None = None
    trajectory: Trajectory | None = None
    cut_answers: frozenset[str] = frozenset()
    """The timestamps of the model's answers that ended at their limit of tokens."""
    timeline: Timeline | None = None
    limits: AgentLimits | None = None
    """The agent's limits; None: the task is not at hand."""
    lacking: Mapping[Need, str] = field(default_factory=dict)
    """Why parts of the facts are missing."""

    @cached_property
    def code(self) -> tuple[FilePatch, ...]:
        """The changed files that are neither tests nor documents."""
        return tuple(file for file in self.change if is_code(file.path))

    @cached_property
    def scopes(self) -> frozenset[CodeScope] | None:
        """The places that the change is in; None: unknown."""
        return changed_scopes(self.code, self.reference.base) if self.reference else None

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.trajectory.steps if self.trajectory is not None else ()

    @cached_property
    def agent_steps(self) -> tuple[Step, ...]:
        """The steps of the model."""
        return tuple(step for step in self.steps if step.source is Role.AGENT)

    @cached_property
    def answer_times(self) -> list[tuple[int, datetime]]:
        """The model's steps with the times of their requests, as far as they can be read."""
        return answer_times(self.steps)

    @cached_property
    def calls(self) -> list[Call]:
        return calls_of(self.steps)

    @cached_property
    def actions(self) -> list[Action]:
        return [action for call in self.calls for action in actions_of(call)]

    @cached_property
    def code_edits(self) -> list[Action]:
        """The edits of code; an edit of an unknown file counts, too."""
        return [
            action
            for action in self.actions
            if action.kind is ActionKind.EDIT
            and (not action.paths or any(map(is_code, action.paths)))
        ]

    def step_of_state(self, number: int) -> int | None:
        """The step that made a noted state: the model's last one before it was noted."""
        assert self.timeline is not None
        return step_before(self.answer_times, self.timeline.noted[number].at)

    @property
    def test_actions(self) -> list[Action]:
        return [action for action in self.actions if action.kind is ActionKind.TEST]

    @property
    def ending(self) -> AgentEnding | None:
        return self.record.agent_run.ending if self.record.agent_run is not None else None

    @property
    def ended_by_itself(self) -> bool:
        return self.ending is AgentEnding.SUBMITTED

    @property
    def ended_by_limit(self) -> bool:
        return self.ending in _ENDED_BY_LIMIT


def _is_cache(record: AttemptRecord, path: str) -> bool:
    caches = record.patch.tool_caches if record.patch is not None else ()
    return any(PurePosixPath(path).is_relative_to(cache.path) for cache in caches)


class BehaviourReader:
    """Reads the facts of a run's attempts; each task is read once."""

    def __init__(self, run: RunFolder, mirrors: Mirrors) -> None:
        self._run = run
        self._mirrors = mirrors
        self._entries = {entry.id: entry for entry in run.configuration.tasks}
        self._references: dict[str, Reference | str] = {}
        self._limits: dict[str, AgentLimits] = {}

    def read(self, record: AttemptRecord) -> BehaviourFacts:
        """The facts of an attempt."""
        files = read_attempt(self._run, record, None)
        lacking: dict[Need, str] = {}
        trajectory = self._trajectory(record)
        if isinstance(trajectory, str):
            lacking[Need.TRAJECTORY] = trajectory
        elif not calls_of(trajectory.steps):
            lacking[Need.TRAJECTORY] = "its model made no tool calls that can be read"
        cut_answers = self._cut_answers(record)
        if cut_answers is None:
            why = "there is no log of the model's answers"
            lacking[Need.ANSWERS] = lacking.get(Need.TRAJECTORY, why)  # one reason is enough
        timeline = self._timeline(record)
        if timeline is None:
            lacking[Need.TIMELINE] = "the run noted no timeline (--timeline)"
        reference = self._reference(record)
        if isinstance(reference, str):
            lacking[Need.REFERENCE] = lacking[Need.SCOPES] = reference
        if record.patch is None:
            why = "no change of the agent could be read"
            lacking |= dict.fromkeys((Need.CHANGE, Need.SCOPES), why)
        facts = BehaviourFacts(
            record=record,
            # What tools leave behind, such as .pytest_cache, is no work of the agent.
            change=tuple(f for f in files.raw_patch if not _is_cache(record, f.path)),
            reference=None if isinstance(reference, str) else reference,
            trajectory=None if isinstance(trajectory, str) else trajectory,
            cut_answers=cut_answers or frozenset(),
            timeline=timeline,
            limits=self._limits.get(record.task_digest),
            lacking=lacking,
        )
        known = facts.reference is not None and facts.reference.scopes and facts.scopes is not None
        if not known:
            lacking.setdefault(Need.SCOPES, "the changed functions are not known")
        return facts

    def _trajectory(self, record: AttemptRecord) -> Trajectory | str:
        try:
            return parse_trajectory(self._file(record, TRAJECTORY_FILE))
        except UnreadableRunFileError as error:
            return f"there is no trajectory ({TRAJECTORY_FILE} {error})"
        except ValueError:
            return f"{TRAJECTORY_FILE} is not a trajectory"

    def _timeline(self, record: AttemptRecord) -> Timeline | None:
        try:
            return Timeline.model_validate_json(self._file(record, TIMELINE_FILE))
        except (UnreadableRunFileError, ValidationError):
            return None

    def _cut_answers(self, record: AttemptRecord) -> frozenset[str] | None:
        """The times of cut answers; None if there is no log.

        The trajectory does not have the reason why an answer ended, as its format has no place
        for it. The log is searched and not parsed: one attempt's may have 256 MB.
        """
        try:
            log = self._file(record, EXCHANGE_LOG)
        except UnreadableRunFileError:
            return None
        cut: set[str] = set()
        for line in log.splitlines():
            # The request before the answer has what the agent read, which may name such an end.
            answer = line[line.rfind(_ANSWER) :]
            found = _TIME.search(line) if _CUT.search(answer) else None
            if found is not None and (time := read_time(found.group(1).decode("ascii", "replace"))):
                cut.add(time.isoformat())
        return frozenset(cut)

    def _file(self, record: AttemptRecord, name: Path | str) -> bytes:
        """A file of an attempt.

        Raises:
            UnreadableRunFileError: it is missing, irregular or too large.
        """
        return self._run.read(f"{self._run.attempt_folder_of(record)}/{name}")

    def _reference(self, record: AttemptRecord) -> Reference | str:
        if record.task_digest not in self._references:
            entry = self._entries.get(record.task_id)
            found = "the run does not list the task" if entry is None else self._read_task(entry)
            self._references[record.task_digest] = found
        return self._references[record.task_digest]

    def _read_task(self, entry: TaskEntry) -> Reference | str:
        folder = Path(entry.folder)
        try:
            # Of a folder without a task, nothing is read: run.json may name any path.
            if not (folder.is_absolute() and (folder / "task.toml").is_file()):
                return f"{folder} is not a task's folder"
            task = load_task(folder, mirrors=self._mirrors)
            if task.digest != entry.digest:
                return "the task has changed since"
            mirror = self._mirror_of(task.source)
        except InputError as error:
            return error.faults[0]
        except GitCloneError as error:
            return f"the task's repository cannot be read: {error}"
        except (OSError, ValueError) as error:  # a name too long, or one with a NUL
            return f"the task's folder cannot be read: {error}"
        self._limits[task.digest] = task.problem.limits
        patch = tuple(
            file for file in parse_patch(task.answer_key.solution_patch) if is_code(file.path)
        )
        if not patch:
            return "the task has no reference solution that is a patch of code"
        return Reference(patch=patch, mirror=mirror)

    def _mirror_of(self, source: RepoSource) -> Mirror | None:
        """The mirror with the base commit; a URL's is not fetched, since `show` works offline."""
        if source.files is not None:
            return self._mirrors.of(source)
        return self._mirrors.find_complete(source) if source.url is not None else None
