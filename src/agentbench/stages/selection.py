"""Which tests a judged run runs, and what of its report decides."""

from dataclasses import replace
from datetime import timedelta

from agentbench.pytest_results.run import PytestRequest
from agentbench.scoring.evidence import Evidence, ReportFacts
from agentbench.stages.interface import StageContext
from agentbench.tasks.pytest_command import parse_pytest_command
from agentbench.tasks.task import Task

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
    """How long a judged run may take."""
    return context.scaled(context.task.problem.test_timeout_s)


def judged_targets(task: Task) -> tuple[str, ...]:
    """The files of the listed ids; the task's test paths where ids alone do not decide.

    Files and not ids: one id that does not exist would make pytest run nothing at all.
    """
    key = task.answer_key
    kept = () if key.pass_to_pass == "baseline" else key.pass_to_pass
    files = dict.fromkeys(node_id.partition("::")[0] for node_id in (*key.fail_to_pass, *kept))
    if key.fail_to_pass and key.pass_to_pass != "baseline":
        return tuple(files)
    return tuple(dict.fromkeys((*task.problem.test_paths, *_outside(files, task))))


def _outside(files: dict[str, None], task: Task) -> tuple[str, ...]:
    paths = [path.rstrip("/") for path in task.problem.test_paths]
    if not paths and task.answer_key.pass_to_pass == "baseline":
        return ()  # pytest's own default: everything, these files included
    return tuple(
        file for file in files if not any(file == p or file.startswith(f"{p}/") for p in paths)
    )


def listed_only(facts: ReportFacts, task: Task) -> ReportFacts:
    """A report without the tests that no rule asks for, so that a record stays small."""
    key = task.answer_key
    if not key.fail_to_pass or key.pass_to_pass == "baseline":
        return facts
    listed = {*key.fail_to_pass, *key.pass_to_pass}
    return facts.model_copy(
        update={"cases": tuple(case for case in facts.cases if case.node_id in listed)}
    )


def judged_evidence(context: StageContext, evidence: Evidence) -> Evidence:
    """A judged run's evidence with what is common to baseline and final test filled in."""
    command = evidence.command
    report = evidence.report
    return evidence.model_copy(
        update={
            "report": listed_only(report, context.task) if report else None,
            "memory_limit_mib": context.task.environment.memory_mib,
            "own_seconds": command.duration.total_seconds() if command else 0.0,
        }
    )
