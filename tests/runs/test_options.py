from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.attempt.executor_name import ExecutorName
from agentbench.errors import UsageError
from agentbench.runs.options import RunOptions


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"attempts": 0}, "--attempts: 0 is not above 0"),
        ({"jobs": 0}, "--jobs: 0 is not above 0"),
        ({"retries": -1}, "--retries: -1 is below 0"),
        ({"max_failures": 0}, "--max-failures: 0 is not above 0"),
        ({"max_outage": timedelta(seconds=-1)}, "--max-outage: "),
        ({"attempt_timeout": timedelta(0)}, "--attempt-timeout: 0:00:00 is not above 0"),
        ({"timeout_scale": float("nan")}, "--timeout-scale: nan"),
        ({"run_id": "../x"}, "--run-id: '../x' is not a plain name"),
        ({"run_id": "last"}, "--run-id: 'last' is reserved"),
        ({"run_id": "validation"}, "--run-id: 'validation' is reserved"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(wrong, said):
    with pytest.raises(UsageError) as caught:
        RunOptions(**wrong).check()
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("option", ["record", "replay"])
def test_a_cluster_s_attempts_share_no_recording_and_that_is_said(option):
    with pytest.raises(UsageError, match="the one gateway of one machine"):
        RunOptions(executor=ExecutorName.RAY, **{option: Path("answers")}).check()
    RunOptions(executor=ExecutorName.RAY, model="openai/x").check()


def test_what_is_usual_makes_sense():
    RunOptions().check()


def test_agent_files_are_refused_for_other_machines():
    options = RunOptions(executor="ray", agent_command="./fix.sh", agent_files=(Path("fix.sh"),))
    with pytest.raises(UsageError, match=r"--executor ray: --agent-files names files of this mach"):
        options.check()
