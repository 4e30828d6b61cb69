from datetime import timedelta
from pathlib import Path, PurePosixPath

import pytest

from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.execution import run_command
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.fakes.local_sandbox import LocalSandbox

MINUTE = timedelta(minutes=1)


def request_with(**fields):
    return RunRequest(runner=runner_of(TestCommand(as_module=True)), timeout=MINUTE, **fields)


@pytest.fixture
def command_for(tmp_path):
    sandbox = LocalSandbox(tmp_path, Path("python"), reporter_mounts())

    def command_for_(request, **more):
        return run_command(sandbox, request, PurePosixPath("/results/x"), **more)

    return command_for_


def test_command_has_every_option(command_for):
    request = RunRequest(
        runner=runner_of(TestCommand(as_module=False, interpreter="python3", options=("-q", "-x"))),
        timeout=MINUTE,
        targets=("tests/a.py::t[x y]", "tests/b.py"),
        keyword="a or b",
        markers="not slow",
        max_failures=2,
        last_failed=True,
        env={"TZ": "UTC"},
    )
    command = command_for(request)
    end = command.argv.index("--")
    assert command.argv[:3] == ("python3", "-I", "-B")
    assert "--as-module" not in command.argv
    chosen = ("-q", "-x", "-k", "a or b", "-m", "not slow", "--maxfail=2", "--last-failed")
    assert command.argv[-8:] == chosen
    targets = ("--target=tests/a.py::t[x y]", "--target=tests/b.py")
    assert command.argv[end - 2 : end] == targets
    assert command.timeout == MINUTE
    assert command.env["TZ"] == "UTC"


def test_the_environment_is_the_same_for_every_run(command_for):
    env = command_for(request_with()).env
    assert env["PYTHONDONTWRITEBYTECODE"] == "1"
    assert env["PYTEST_ADDOPTS"] == env["PYTEST_PLUGINS"] == ""


def test_command_can_run_a_module_or_collect(command_for):
    argv = command_for(request_with(collect_only=True)).argv
    assert "--as-module" in argv[: argv.index("--")]
    assert argv[-2:] == ("--collect-only", "-q")


@pytest.mark.parametrize("target", ["-x", "--pdb", "@file", "", "a\x00b"])
def test_a_target_that_pytest_would_not_take_for_a_path_is_refused(target):
    with pytest.raises(ValueError, match="expected a path or a node id"):
        request_with(targets=("tests", target))


@pytest.mark.parametrize("field", ["keyword", "markers"])
@pytest.mark.parametrize("expression", ["-x", "a\x00"])
def test_an_expression_that_pytest_would_take_for_an_option_is_refused(field, expression):
    with pytest.raises(ValueError, match="expected an expression"):
        request_with(**{field: expression})


def test_fewer_than_one_failure_is_refused():
    with pytest.raises(ValueError, match="max_failures of 1 or more"):
        request_with(max_failures=0)
