"""The example's server under uvicorn, and its agent, which uses OpenEnv's own client."""

import json
import re
import subprocess
from typing import Any

import pytest

from tests.extensions.adapters.cases import Case, agent_script
from tests.extensions.adapters.conftest import Programs, model_variables
from tests.extensions.adapters.environments import package_programs
from tests.fakes.scripted_model import Call, ScriptedModel

pytestmark = [pytest.mark.full, pytest.mark.first, pytest.mark.docker]


def url_of(server: "subprocess.Popen[str]") -> str:
    assert server.stderr is not None
    read = ""
    for line in server.stderr:
        read += line
        if found := re.search(r"running on (http://\S+)", line):
            return found[1]
    raise AssertionError(read)


def test_openenv_rewards_a_fix_and_no_cheat_and_a_lost_sandbox_has_no_reward(
    programs: Programs,
) -> None:
    bin_folder = package_programs("openenv")
    ended: dict[str, Any] = {}
    with ScriptedModel(agent_script(programs.lose_engine, Call("submit", {}))) as model:
        env = {**model_variables(model), "AGENTBENCH_SANDBOX": "docker"}
        argv = (
            bin_folder / "uvicorn",
            "--app-dir",
            "examples",
            "openenv_server:app",
            "--port",
            "0",
        )
        with programs.started(*argv, env=env) as server:
            url = url_of(server)
            for case in Case:
                agent = subprocess.run(
                    [bin_folder / "python", "examples/openenv_agent.py", url, case, "scripted"],
                    cwd=programs.folder, env={**programs.environ, **env},
                    capture_output=True, text=True, timeout=600, check=False,
                )  # fmt: skip
                assert agent.returncode == 0, agent.stderr
                ended[case] = json.loads(agent.stdout)
            server.terminate()
            _, errors = server.communicate(timeout=600)
    assert "Application shutdown complete" in errors
    assert ended[Case.FIXED]["reward"] == 1.0
    assert ended[Case.FIXED]["verdict"]["resolved"]
    assert ended[Case.CHEATING]["reward"] == 0.0
    assert ended[Case.CHEATING]["verdict"]["reason"] == "TESTS_FAILED"
    assert ended[Case.LOST]["reward"] is None
    assert ended[Case.LOST]["verdict"]["reason"] == "SANDBOX_ERROR"
    assert ended[Case.LOST]["verdict"]["fault"] == "infrastructure"
    (run,) = (programs.folder / "runs").glob("*/run.json")
    assert json.loads(run.read_text())["ending"] == "finished"
