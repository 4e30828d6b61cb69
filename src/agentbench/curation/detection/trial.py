"""Proposals tried in a sandbox, one after the other, until one holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from agentbench.agents.noop import NoopAgent
from agentbench.curation.detection.proposal import Proposal
from agentbench.errors import InputError, SandboxError, UnavailableError
from agentbench.owned_folder import owned_folder
from agentbench.pytest_results.model import PytestResult
from agentbench.pytest_results.run import PytestRequest, reporter_mounts
from agentbench.pytest_results.tools import execute_tests
from agentbench.runs.attempt import prepare
from agentbench.runs.options import RunOptions
from agentbench.runs.parts import chosen_sandbox, workshop_of
from agentbench.runs.workshop import Workshop
from agentbench.stages.interface import limits_of
from agentbench.tasks.answer_key import AnswerKey
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.pytest_command import parse_pytest_command
from agentbench.tasks.source import RepoSource
from agentbench.tasks.task import Environment, Setup, Task

_MOST_FAILING = 0.2
"""The share of a project's own tests that may fail; some need a network, or a display."""
_SHOWN = 300  # characters of what a trial ended in


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A proposal that did not hold, and what it ended in."""

    proposal: Proposal
    ending: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The first proposal that held."""

    proposal: Proposal
    passed: int
    """How many tests passed with it."""
    ran: int
    """How many there were that were not skipped."""
    seconds: float = 0.0
    """How long all tests together took, in a sandbox with a processor of its own."""
    refused: tuple[Refused, ...] = ()
    """Those tried before it."""


def choose(tree: Path, proposals: Sequence[Proposal], options: RunOptions) -> Chosen:
    """Try proposals on a repository's files until its set-up runs and most of its tests pass.

    What the set-up leaves is kept: a task with these files, environment and set-up finds it.

    Args:
        tree: The repository's files, at the commit in question.
        proposals: The most specific one first.
        options: Which sandbox, where what is prepared is kept, and who is told of each trial.

    Raises:
        InputError: none holds; what each ended in.
        UnavailableError: there is no sandbox.
    """
    workshop = workshop_of(options, chosen_sandbox(options).provider)
    refused: list[Refused] = []
    absent: dict[str | None, str] = {}
    try:
        for number, proposal in enumerate(proposals, 1):
            image = proposal.environment.image
            if (why := _absent(image, workshop, absent)) is not None:
                refused.append(Refused(proposal=proposal, ending=why))
                continue
            options.say(f"trying {number} of {len(proposals)}: {'; '.join(proposal.reasons)}")
            result, ending = _ended(tree, proposal, workshop)
            if result is not None and not ending:
                return _chosen(proposal, result, refused)
            options.say(f"  {ending}")
            refused.append(Refused(proposal=proposal, ending=ending))
    finally:
        workshop.aside.finish()
    tried = [each for each in refused if each.proposal.environment.image not in absent]
    faults = [f"{each.ending} (tried: {_shown(each.proposal)})" for each in tried]
    raise InputError(*faults, *absent.values())


def trial_task(tree: Path, proposal: Proposal) -> Task:
    """A repository with a proposal's tables, as a task that asks for nothing."""
    tests = proposal.tests
    return Task(
        problem=Problem(
            id=TaskId("trial"),
            title="A trial of the environment",
            instruction="",
            test_command=tests.command,
            test_paths=tests.paths,
            test_timeout_s=tests.timeout_s,
            test_env=proposal.environment.env,
        ),
        answer_key=AnswerKey(),
        folder=tree,
        source=RepoSource(files=tree.resolve()),
        environment=Environment(**proposal.environment.model_dump(exclude={"dockerfile"})),
        setup=Setup(**proposal.setup.model_dump()),
        digest="",
    )


def _absent(image: str | None, workshop: Workshop, absent: dict[str | None, str]) -> str | None:
    """Why an image cannot be had; asked again only for one that was there."""
    if image not in absent:
        try:
            workshop.provider.resolve_image(image)
        except UnavailableError as error:
            absent[image] = _short(str(error))
    return absent.get(image)


def _ended(tree: Path, proposal: Proposal, workshop: Workshop) -> tuple[PytestResult | None, str]:
    """What a trial came to, and why the proposal does not hold; nothing where it does."""
    try:
        result = _tried(tree, proposal, workshop)
    except (UnavailableError, SandboxError) as error:
        return None, _short(str(error))
    return result, _short(_why_not(result))


def _tried(tree: Path, proposal: Proposal, workshop: Workshop) -> PytestResult:
    """Set the proposal up, and run all tests without a network.

    Raises:
        UnavailableError: set-up failed.
        SandboxError: the sandbox is lost.
    """
    task = trial_task(tree, proposal)
    with owned_folder("agentbench-trial-") as logs:
        prepared = prepare(task, NoopAgent(), workshop, logs)
    request = PytestRequest(
        command=parse_pytest_command(proposal.tests.command),
        targets=proposal.tests.paths,
        timeout=timedelta(seconds=proposal.tests.timeout_s),
        env=task.environment.env,
    )
    with workshop.provider.open(
        prepared.snapshot, limits=limits_of(task), network=False, mounts=reporter_mounts()
    ) as sandbox:
        return execute_tests(sandbox, request, end_sandbox=True).result


def _why_not(result: PytestResult) -> str:
    """Why a run shows that the environment is not right; empty where it is."""
    summary = result.summary
    if not result.complete or result.collection_errors:
        error = next((f"{e.file}: {e.message}" for e in result.collection_errors), "")
        said = error or result.detail or result.text_output[-_SHOWN:]
        return f"pytest ended in {result.outcome}: {said}"
    ran = _ran(result)
    if summary.passed == 0:
        return f"no test passed, of {summary.total}"
    if ran - summary.passed > _MOST_FAILING * ran:
        return f"{ran - summary.passed} of {ran} tests do not pass"
    return ""


def _ran(result: PytestResult) -> int:
    summary = result.summary
    return summary.total - summary.skipped - summary.xfailed


def _chosen(proposal: Proposal, result: PytestResult, refused: Sequence[Refused]) -> Chosen:
    passed = result.summary.passed
    return Chosen(
        proposal=proposal,
        passed=passed,
        ran=_ran(result),
        seconds=result.summary.duration,
        refused=tuple(refused),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN // 2]} … {line[-_SHOWN // 2 :]}"


def _shown(proposal: Proposal) -> str:
    return "; ".join(proposal.setup.commands) or "no set-up"
