"""The tests of a judged run, and their expected outcomes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import PreparedContext, StageContext
from agentbench.attempt.pipeline import stage_timeout
from agentbench.core.choices import ControlLevel
from agentbench.core.files import FileContent
from agentbench.pytest_results.execution import PytestRequest
from agentbench.scoring.evidence import Evidence, ReportFacts
from agentbench.scoring.expectation import ExpectedTests, outcomes_of
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.problem import parse_pytest_command
from agentbench.tasks.task import Task


def expected_tests(task: Task) -> ExpectedTests:
    """The expected outcomes of a task's tests."""
    key = task.answer_key
    return ExpectedTests(
        fail_to_pass=key.fail_to_pass,
        pass_to_pass=key.pass_to_pass,
        quarantined=key.quarantined,
        reward_above=key.verifier.threshold if key.verifier is not None else None,
    )


_RUN_ALL_TESTS = "--maxfail=0"


def judged_request(context: StageContext) -> PytestRequest:
    """The pytest run that judges a task: the same in the baseline, the final test and controls.

    It runs all tests, whatever the task's command or configuration says: a control run has to go
    on after a failure, and code under test must not be able to tell it from the final test.
    """
    problem = context.task.problem
    command = parse_pytest_command(problem.test_command)
    return PytestRequest(
        command=replace(command, options=(*command.options, _RUN_ALL_TESTS)),
        targets=judged_targets(context.task),
        timeout=judged_timeout(context),
        env=context.task.environment.env,
    )


def judged_timeout(context: StageContext) -> timedelta:
    """The time limit of a judged run."""
    return stage_timeout(StageName.FINAL_TEST, context.task, context.settings)


def judged_targets(task: Task) -> tuple[str, ...]:
    """The files of the listed ids; the task's test paths where ids alone do not decide.

    Files and not ids: one id that does not exist would make pytest run nothing at all.
    """
    key = task.answer_key
    kept = () if key.pass_to_pass == "baseline" else key.pass_to_pass
    files = dict.fromkeys(node_id.partition("::")[0] for node_id in (*key.fail_to_pass, *kept))
    if key.fail_to_pass and key.pass_to_pass != "baseline":
        return tuple(files)
    return tuple(dict.fromkeys((*task.problem.test_paths, *_outside_test_paths(files, task))))


def _outside_test_paths(files: dict[str, None], task: Task) -> tuple[str, ...]:
    paths = [path.rstrip("/") for path in task.problem.test_paths]
    if not paths and task.answer_key.pass_to_pass == "baseline":
        return ()  # pytest's own default: everything, these files included
    return tuple(
        file for file in files if not any(file == p or file.startswith(f"{p}/") for p in paths)
    )


def listed_only(facts: ReportFacts, task: Task) -> ReportFacts:
    """A report without the tests that decide nothing, so that a record stays small."""
    key = task.answer_key
    if not key.fail_to_pass or key.pass_to_pass == "baseline":
        return facts
    listed = {*key.fail_to_pass, *key.pass_to_pass}
    return facts.model_copy(
        update={"cases": tuple(case for case in facts.cases if case.node_id in listed)}
    )


def judged_evidence(context: StageContext, evidence: Evidence) -> Evidence:
    """The evidence of a judged run: its listed tests, their memory limit and their time."""
    command = evidence.command
    report = evidence.report
    return evidence.model_copy(
        update={
            "report": listed_only(report, context.task) if report else None,
            "memory_limit_mib": context.task.environment.memory_mib,
            "own_seconds": command.duration.total_seconds() if command else 0.0,
        }
    )


def unchanged_tests(
    context: PreparedContext, baseline: Evidence
) -> Mapping[PurePosixPath, FileContent]:
    """The files of the base that control runs may rewrite, as they are.

    The final test writes them too: else their time stamps would differ from a control run's.
    """
    prepared = context.prepared
    if context.control_level is ControlLevel.OFF:
        return {}
    listed = context.task.answer_key.fail_to_pass or outcomes_of(baseline)
    found = {}
    for name in dict.fromkeys(node_id.partition("::")[0] for node_id in listed):
        path = PurePosixPath(name)
        content = prepared.content(path)
        if content is not None:
            executable = prepared.base.entries[path].executable
            found[path] = FileContent(content=content, executable=executable)
    return found
