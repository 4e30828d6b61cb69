import pytest

from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs.runners import runner_of


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("pytest -q", "PytestRunner"),
        ("python -m unittest", "UnittestRunner"),
        ("python tests/runtests.py", "DjangoRunner"),
        ("go test ./...", "GoRunner"),
        ("cargo test", "CargoRunner"),
    ],
)
def test_the_command_of_a_task_chooses_its_runner(line, name):
    assert type(runner_of(parse_test_command(line))).__name__ == name


@pytest.mark.parametrize(
    ("runner", "name"), [(Runner.JUNIT, "JunitRunner"), (Runner.TAP, "TapRunner")]
)
def test_any_command_may_write_a_standard_report(runner, name):
    command = parse_test_command("./build.sh --test", runner, "out/*")
    assert type(runner_of(command)).__name__ == name
