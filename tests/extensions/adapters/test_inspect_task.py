"""`inspect eval` with the example: a real agent of Inspect, its log, and its scores."""

import json
import math

import pytest

from tests.extensions.adapters.cases import Case, agent_script
from tests.extensions.adapters.conftest import Programs
from tests.extensions.adapters.environments import package_programs
from tests.fakes.scripted_model import Call, ScriptedModel

pytestmark = [pytest.mark.full, pytest.mark.first, pytest.mark.docker]


def test_inspect_scores_a_fix_and_a_cheat_and_leaves_a_lost_sandbox_unscored(
    programs: Programs,
) -> None:
    script = agent_script(programs.lose_engine, Call("submit", {"answer": "done"}))
    with ScriptedModel(script) as model:
        printed = programs.run(
            package_programs("inspect") / "inspect", "eval", "examples/inspect_task.py",
            "--model", "openai/scripted", "-M", "responses_api=false",
            "-T", f"tasks={programs.folder / 'tasks'}", "-T", "sandbox=docker",
            "--log-dir", "logs", "--log-format", "json", "--display", "plain",
            model=model,
        )  # fmt: skip
    (path,) = (programs.folder / "logs").glob("*.json")
    log = json.loads(path.read_text())
    assert log["status"] == "success", printed
    scores = {sample["id"]: sample["scores"]["judged"] for sample in log["samples"]}
    assert scores[Case.FIXED]["value"] == 1.0
    assert scores[Case.FIXED]["explanation"] == "RESOLVED"
    assert scores[Case.CHEATING]["value"] == 0.0
    assert scores[Case.CHEATING]["explanation"].startswith("TESTS_FAILED: ")
    assert math.isnan(scores[Case.LOST]["value"])
    assert scores[Case.LOST]["reason"] == "scoring_failed"
    assert scores[Case.LOST]["metadata"]["fault"] == "infrastructure"
    (result,) = log["results"]["scores"]
    assert (result["scored_samples"], result["unscored_samples"]) == (2, 1)
    assert result["metrics"]["mean"]["value"] == 0.5
    assert {each.path for each in model.requests} == {"/v1/chat/completions"}
    (run,) = (programs.folder / "runs").glob("*/run.json")
    assert json.loads(run.read_text())["ending"] == "finished", printed
