"""Real runs of the runners of other languages in a real sandbox, each told as what it was."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.patience import HANG_SECONDS, with_growing_limit
from tests.test_runs.situations import cargo, golang, junit, tap
from tests.test_runs.situations.expectations import check_run, has_begun

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
        back_end,
        id=f"{runner}{place}: {situation.name}",
        marks=marks or (pytest.mark.soak if is_soak(runner, situation) else ()),
    )
    for back_end, place, marks in (
        ("bubblewrap", "", ()),
        ("docker", " in docker", (pytest.mark.docker, pytest.mark.soak)),
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


@pytest.mark.parametrize(("runner", "situation", "back_end"), ROWS)
def test_outcome_of_each_situation_is_reported(open_isolated, runner, situation, back_end):
    run = with_growing_limit(
        # A fresh sandbox each time: the tests may have changed the files.
        lambda seconds: run_in(
            open_isolated(back_end, situation.files, *PROGRAMS[runner]), runner, situation, seconds
        ),
        lambda run: has_begun(run, situation),
        limits=situation.limits or (HANG_SECONDS,),
    )
    # The image of Docker has newer tools than the machine of the gate.
    check_run(run, replace(situation, **(situation.newer if back_end == "docker" else {})))
