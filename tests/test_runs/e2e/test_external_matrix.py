"""Real runs of the runners of other languages in a real sandbox, each told as what it was."""

from datetime import timedelta

import pytest

from agentbench.scoring.evidence import PytestOutcome, ReportTrust
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.patience import HANG_SECONDS, with_growing_limit
from tests.test_runs.situations import cargo, golang, junit, tap

SITUATIONS = {
    Runner.GO: golang.SITUATIONS,
    Runner.CARGO: cargo.SITUATIONS,
    Runner.JUNIT: junit.SITUATIONS,
    Runner.TAP: tap.SITUATIONS,
}
PROGRAMS = {
    Runner.GO: ("go",),
    Runner.CARGO: ("cargo", "rustc"),
    Runner.JUNIT: (),
    Runner.TAP: ("prove",),
}
IN_THE_GATE = {
    "all pass",
    "one fails and one is skipped",
    "nested subtests and those of a table",
    "a panic, after which no test runs",
    "a TestMain that hides failures",
    "code that does not compile",
    "the time limit",
    "a test that prints of a test that is not there",
    "a process that is left behind and holds the output",
    "several packages with tests of the same name",
    "failures in two programs",
    "an exit with success in a test",
    "one thread, and output between a name and its outcome",
    "a workspace whose packages have files of the same name",
    "tests in the documentation",
    "chosen tests",
    "collecting",
}
COMPILED = {Runner.GO, Runner.CARGO}
"""The runners whose situations take seconds each, so that the gate has IN_THE_GATE of them."""


def is_soak(runner, situation):
    return situation.is_long or (runner in COMPILED and situation.name not in IN_THE_GATE)


ROWS = [
    pytest.param(
        runner,
        situation,
        id=f"{runner}: {situation.name}",
        marks=pytest.mark.soak if is_soak(runner, situation) else (),
    )
    for runner, situations in SITUATIONS.items()
    for situation in situations
]


def run_in(sandbox, runner, situation, seconds):
    line = situation.command or RUNNER_COMMANDS[runner].usual
    request = RunRequest(
        runner=runner_of(parse_test_command(line, runner, situation.report)),
        targets=situation.targets,
        timeout=timedelta(seconds=seconds),
        **situation.extra,
    )
    return execute_tests(sandbox, request)


@pytest.mark.parametrize(("runner", "situation"), ROWS)
def test_outcome_of_each_situation_is_reported(open_isolated, runner, situation):
    run = with_growing_limit(
        # A fresh sandbox each time: the tests may have changed the files.
        lambda seconds: run_in(
            open_isolated(situation.files, *PROGRAMS[runner]), runner, situation, seconds
        ),
        lambda run: has_begun(run, situation),
        limits=situation.limits or (HANG_SECONDS,),
    )
    result = run.result

    assert result.outcome is situation.outcome, result.text_output
    assert outcomes_of(result) == situation.tests, result.text_output
    assert [place_of(each) for each in result.collection_errors] == list(situation.errors)
    assert bool(run.facts.internals_changed) == situation.forged
    assert run.trust is ReportTrust.EXTERNAL_REPORT
    assert run.node_ids == situation.listed
    if situation.exit_zero is not None:
        assert (result.exit_code == 0) == situation.exit_zero
    if situation.complete is not None:
        assert result.complete == situation.complete
    for node_id, part in situation.messages.items():
        assert part in message_of(result, node_id)


def has_begun(run, situation):
    """Whether a run got as far as the situation needs, on a machine however slow."""
    if not situation.limits:
        return run.result.outcome is not PytestOutcome.TIMEOUT
    return outcomes_of(run.result).keys() >= situation.tests.keys()


def outcomes_of(result):
    found = {}
    for case in result.tests:
        found.setdefault(case.node_id, []).append(case.outcome.value)
    return {node_id: ", ".join(outcomes) for node_id, outcomes in found.items()}


def place_of(error):
    line = error.fact.line if error.fact is not None else None
    return error.file if line is None else f"{error.file}:{line}"


def message_of(result, node_id):
    if node_id:
        return next(case.message or "" for case in result.tests if case.node_id == node_id)
    errors = [error.message for error in result.collection_errors]
    return "\n".join(filter(None, (result.detail, result.spawn_error, *errors)))
