"""What `inspect eval` loads beside its own task: the trials' solver, and SWE-bench's tables."""

from contextlib import suppress
from pathlib import Path

from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import sandbox
from inspect_ai.util._sandbox.docker import prereqs
from swebench.harness.constants import MAP_REPO_TO_EXT, MAP_REPO_VERSION_TO_SPECS
from swebench.harness.log_parsers import MAP_REPO_TO_PARSER
from swebench.harness.log_parsers.python import parse_log_pytest

# It wants an engine of 2023 or newer; what it asks of one, older ones do as well.
prereqs.validate_docker_engine.__defaults__ = ("20.10.0",)

# SWE-bench knows how to test a repository from these tables. Nothing is installed, since the
# trials' repositories are no packages; `python -m` lets their tests import them all the same.
_REPOSITORY = "benchmark/task"
MAP_REPO_TO_EXT[_REPOSITORY] = "py"
MAP_REPO_TO_PARSER[_REPOSITORY] = parse_log_pytest
MAP_REPO_VERSION_TO_SPECS[_REPOSITORY] = {
    "1": {"python": "3.11", "packages": "", "install": "", "test_cmd": "python -m pytest -rA"}
}


@solver
def trial(scripts: str, seconds: int) -> Solver:
    """The agent: it runs the script that has the sample's id, and has so many seconds."""

    async def solve(state: TaskState, _generate: Generate) -> TaskState:
        script = Path(scripts, f"{state.sample_id}.sh").read_text()
        # The log is a file, so that a process in the background does not hold the pipe open.
        command = ["sh", "-c", 'sh -e -c "$0" > /tmp/agent.log 2>&1', script]
        with suppress(TimeoutError):  # what it left is judged even so
            await sandbox().exec(command, timeout=seconds)
        return state

    return solve
