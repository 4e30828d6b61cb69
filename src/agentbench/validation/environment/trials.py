"""Tries proposals in a sandbox, one after the other, until one works.

A proposal that works for one change is used for all changes with the same declarations.
"""

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path, PurePosixPath

from agentbench.attempt.context import limits_of
from agentbench.attempt.preparing import prepare_task
from agentbench.attempt.resources import RunResources
from agentbench.errors import InputError, SandboxError, UnavailableError
from agentbench.runs.options import RunOptions
from agentbench.sandbox.registry import select_back_end
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.task import AnswerKey, RepoSource, Task, TaskEnvironment
from agentbench.tasks.test_runner_name import PYTHON_RUNNERS
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.model import PytestResult
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from agentbench.validation.environment.other_proposals import propose_other
from agentbench.validation.environment.proposals import Proposal, propose
from agentbench.validation.languages import Language, language_of

_MOST_FAILING = 0.2
"""The share of a project's own tests that may fail: some need a network or a display."""
_MAX_CHARACTERS = 300  # characters of a trial's result
# Failed changes before giving up; a single change may need more than the sandbox has.
_MAX_TRIALS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingProposal:
    """The first proposal that worked."""

    proposal: Proposal
    passed: int  # the number of tests that passed
    ran: int  # the number of tests that were not skipped
    seconds: float = 0.0  # the duration of all tests together, with one core


def try_proposals(
    tree: Path, proposals: Sequence[Proposal], options: RunOptions
) -> WorkingProposal:
    """Try proposals on a repository's files until its set-up runs and most of its tests pass.

    The result of the set-up is cached for tasks with these files, environment and set-up.

    Args:
        tree: The repository's files, at the commit in question.
        proposals: The most specific one first.
        options: The sandbox, the cache, and the function that is called about each trial.

    Raises:
        InputError: no proposal works; says why each failed.
    """
    provider = select_back_end(options.sandbox, cache_dir=options.cache_dir).provider
    resources = RunResources.of(provider, options.settings(), cache_dir=options.cache_dir)
    faults: list[str] = []
    absent: dict[str | None, str] = {}
    try:
        for number, proposal in enumerate(proposals, 1):
            image = proposal.environment.image
            if image not in absent:
                try:
                    provider.resolve_image(image)
                except UnavailableError as error:
                    absent[image] = _short(str(error))
            if image in absent:
                continue
            options.say(f"trying {number} of {len(proposals)}: {'; '.join(proposal.reasons)}")
            try:
                result = _run_tests(tree, proposal, resources)
            except (UnavailableError, SandboxError) as error:
                ending = _short(str(error))
            else:
                ending = _short(_why_not(result))
                if not ending:
                    return WorkingProposal(
                        proposal=proposal,
                        passed=result.summary.passed,
                        ran=_ran(result),
                        seconds=result.summary.duration,
                    )
            options.say(f"  {ending}")
            commands = "; ".join(proposal.setup.commands) or "no set-up"
            faults.append(f"{ending} (tried: {commands})")
    finally:
        resources.background.finish()
    # One missing image is enough to say how to get one.
    raise InputError(*faults, *list(absent.values())[:1])


def task_for_trial(tree: Path, proposal: Proposal) -> Task:
    """A repository with a proposal's tables, as a task without an instruction."""
    tests = proposal.tests
    return Task(
        problem=Problem(
            id=TaskId("trial"),
            title="A trial of the environment",
            instruction="",
            test_command=tests.command,
            test_runner=tests.runner if tests.runner not in PYTHON_RUNNERS else None,
            test_report=tests.report,
            test_paths=tests.paths,
            test_timeout_s=tests.timeout_s,
            test_env=proposal.environment.env,
        ),
        answer_key=AnswerKey(),
        folder=tree,
        source=RepoSource(files=tree.resolve()),
        environment=TaskEnvironment(
            **proposal.environment.model_dump(
                exclude={"dockerfile", "compose", "mcp_servers", "skills"}
            )
        ),
        setup=proposal.setup,
        digest="",
    )


def _run_tests(tree: Path, proposal: Proposal, resources: RunResources) -> PytestResult:
    task = task_for_trial(tree, proposal)
    prepared = prepare_task(task, resources).prepared
    runner = runner_of(task.problem.tests)
    request = RunRequest(
        runner=runner,
        targets=proposal.tests.paths,
        timeout=timedelta(seconds=proposal.tests.timeout_s),
        env=task.environment.env,
    )
    with resources.provider.open(
        prepared.snapshot, limits=limits_of(task), network=False, mounts=runner.mounts()
    ) as sandbox:
        return execute_tests(sandbox, request, end_sandbox=True).result


def _why_not(result: PytestResult) -> str:
    """Why a run shows that the environment is wrong; empty if it is right."""
    summary = result.summary
    if not result.complete or result.collection_errors:
        error = next((f"{e.file}: {e.message}" for e in result.collection_errors), "")
        reason = error or result.detail or result.text_output[-_MAX_CHARACTERS:]
        return f"the tests ended in {result.outcome}: {reason}"
    # Some tests of a project need a network or a display, so a few may fail.
    ran = _ran(result)
    if summary.passed == 0:
        return f"no test passed, of {summary.total}"
    if ran - summary.passed > _MOST_FAILING * ran:
        return f"{ran - summary.passed} of {ran} tests do not pass"
    return ""


def _ran(result: PytestResult) -> int:
    summary = result.summary
    return summary.total - summary.skipped - summary.xfailed


def _short(text: str) -> str:
    line, half = " ".join(text.split()), _MAX_CHARACTERS // 2
    return line if len(line) <= _MAX_CHARACTERS else f"{line[:half]} … {line[-half:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryChange:
    """A state of a repository, and a later one whose tests pass in the right environment."""

    before: Path  # a folder with the files of the first state, which declare the requirements
    after: Path  # a folder with the files of the later state
    tests: tuple[PurePosixPath, ...]  # the test files that must pass in the later state
    on: date  # the day of the change


@dataclass(slots=True)
class EnvironmentFinder:
    """Finds environments for changes; states with the same declarations share one."""

    options: RunOptions
    proposal: Proposal | None = None
    _known: list["_TriedProposals"] = field(default_factory=list)

    def of(self, change: RepositoryChange) -> Proposal:
        """The environment in which the tests of a change run.

        Raises:
            InputError: no proposal works; says why each failed.
            UnavailableError: no sandbox is available.
        """
        if self.proposal is not None:
            return self.proposal
        # One day for all changes of a month, so that they share the result for the first.
        day = change.on.replace(day=monthrange(change.on.year, change.on.month)[1])
        language = language_of(change.tests[0]) if change.tests else None
        if language in {None, Language.PYTHON}:
            proposals = propose(change.before, on=day)
        else:
            proposals = propose_other(change.before, language, on=day)
        known = next((each for each in self._known if each.proposals == proposals), None)
        if known is None:
            known = _TriedProposals(proposals=proposals)
            self._known.append(known)
        if known.found is None and len(known.failures) < _MAX_TRIALS:
            paths = tuple(str(path) for path in change.tests)
            narrowed = [
                replace(proposal, tests=proposal.tests.replace(paths=paths))
                for proposal in proposals
            ]
            try:
                chosen = try_proposals(change.after, narrowed, self.options)
            except InputError as error:
                known.failures.append(error)
            else:
                self.options.say(f"environment: {chosen.passed} of {chosen.ran} tests pass with it")
                known.found = proposals[narrowed.index(chosen.proposal)]
        if known.found is None:
            raise known.failures[-1]
        return known.found


@dataclass(slots=True, kw_only=True)
class _TriedProposals:
    proposals: tuple[Proposal, ...]
    found: Proposal | None = None
    failures: list[InputError] = field(default_factory=list)
