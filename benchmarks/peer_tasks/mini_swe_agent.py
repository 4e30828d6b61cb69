"""The task for mini-swe-agent, which grades nothing itself: the last command runs the tests.

Run: python mini_swe_agent.py FOLDER_OF_PATCHES ATTEMPTS AT_A_TIME
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.docker import DockerEnvironment
from minisweagent.models.test_models import DeterministicModel, make_output

_APPLY = "git apply - <<'END_OF_PATCH'\n{}\nEND_OF_PATCH"
_JUDGE = "python -m pytest -q tests && echo all passed"
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def main() -> None:
    """Make the attempts; fails if the tests of one do."""
    place, attempts, jobs = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    patches = [(place / name).read_text() for name in ("solution.patch", "tests.patch")]
    commands = [*map(_APPLY.format, patches), _JUDGE, _SUBMIT]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: _attempt(commands), range(attempts)))


def _attempt(commands: list[str]) -> None:
    outputs = [make_output("", [{"command": command}], cost=0.0) for command in commands]
    agent = DefaultAgent(
        DeterministicModel(outputs=outputs),
        DockerEnvironment(
            image="agentbench-benchmark/peers",
            cwd="/app",
            run_args=["--rm", "--init"],
            interpreter=["bash", "-c"],  # a login shell would forget the image's PATH
        ),
        system_template="mend it",
        instance_template="{{task}}",
    )
    agent.run("the bug")
    said = [str(message.get("content")) for message in agent.messages]
    if not any("all passed" in text for text in said):
        sys.exit("\n".join(said))


if __name__ == "__main__":
    main()
