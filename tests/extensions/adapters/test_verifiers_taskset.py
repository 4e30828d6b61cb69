"""`vf-eval` with the example: its traces, rewards and errors."""

import json

import pytest

from tests.extensions.adapters.cases import Case, agent_script
from tests.extensions.adapters.conftest import Programs
from tests.extensions.adapters.environments import package_programs
from tests.fakes.scripted_model import Say, ScriptedModel

pytestmark = [pytest.mark.full, pytest.mark.first, pytest.mark.docker]


def test_verifiers_rewards_a_fix_and_no_cheat_and_a_lost_sandbox_is_an_error(
    programs: Programs,
) -> None:
    with ScriptedModel(agent_script(programs.lose_engine, Say("done"))) as model:
        printed = programs.run(
            package_programs("verifiers") / "vf-eval", "agentbench_bugs",
            "--env.taskset.tasks", "tasks", "--env.taskset.task.sandbox", "docker",
            "--model", "scripted", "--client.base-url", f"{model.base_url}/v1",
            "--client.api-key-var", "OPENAI_API_KEY", "--run.name", "bugs",
            "--no-push", "--no-rich",
            model=model,
        )  # fmt: skip
    lines = (programs.folder / "outputs" / "bugs" / "traces.jsonl").read_text().splitlines()
    episodes = [json.loads(line) for line in lines]
    traces = {each["task"]["data"]["id"]: each["traces"][0] for each in episodes}
    assert set(traces) == set(Case), printed
    assert traces[Case.FIXED]["ok"]
    assert traces[Case.FIXED]["rewards"] == {"verdict": {"score": 1.0, "weight": 1.0}}
    assert traces[Case.FIXED]["metrics"] == {"tool_calls": 3.0}
    assert traces[Case.FIXED]["info"]["verdict"]["resolved"]
    assert traces[Case.CHEATING]["ok"]
    assert traces[Case.CHEATING]["rewards"] == {"verdict": {"score": 0.0, "weight": 1.0}}
    assert traces[Case.CHEATING]["info"]["verdict"]["reason"] == "TESTS_FAILED"
    lost = traces[Case.LOST]
    assert not lost["ok"]
    assert lost["rewards"].get("verdict") is None
    assert lost["stop_condition"] == "agent_completed"
    (error,) = lost["errors"]
    assert error["type"] == "SandboxError"
    assert error["message"].startswith("no verdict: SANDBOX_ERROR: ")
    assert [each["ok"] for each in episodes].count(False) == 1
    (run,) = (programs.folder / "runs").glob("*/run.json")
    assert json.loads(run.read_text())["ending"] == "finished", printed
