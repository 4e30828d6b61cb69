"""TRL's reward function: alone, and in a real step of GRPOTrainer with the example."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from agentbench import Judge, RunOptions
from agentbench.errors import UsageError
from agentbench.extensions.adapters.trl_reward import JudgedReward, patch_in
from agentbench.sandbox.docker.engine import Engine
from agentbench.tasks.task import Task
from tests.e2e.small_task import BUGGY, FIXED, patch_of
from tests.extensions.adapters.cases import CHEATING_PATCH, FIX_PATCH, Case, LostSandbox
from tests.extensions.adapters.conftest import Programs, model_variables
from tests.extensions.adapters.environments import package_programs
from tests.fakes.scripted_model import Say, ScriptedModel
from tests.fakes.staging import local_provider, own_task
from tests.patience import wait_until

pytestmark = [pytest.mark.full, pytest.mark.first]

_ANSWER = "The cause is clear.\n\n```diff\n{}```\nThat mends it."
_OTHER = "```diff\n-a\n+b\n```"
_TINY_MODEL = Path(__file__).parent / "tiny_model.py"


def _parts(*parts: object) -> Mapping[str, object]:
    return {"role": "assistant", "content": list(parts)}


@pytest.mark.parametrize(
    "completion",
    [
        _ANSWER.format(FIX_PATCH),
        f"```patch\nnot this one\n```\n{_ANSWER.format(FIX_PATCH)}",
        f"Here it is:\n{FIX_PATCH}",
        FIX_PATCH,
        f"```diff\n{FIX_PATCH}",  # cut off
        [{"role": "assistant", "content": _ANSWER.format(FIX_PATCH)}],
        [{"role": "assistant", "content": None}, {"role": "assistant", "content": FIX_PATCH}],
        [_parts({"type": "text", "text": _ANSWER.format(FIX_PATCH)})],
        [_parts({"type": "output_text", "text": FIX_PATCH})],
        [_parts("Here it is:\n", FIX_PATCH)],
        [
            _parts(
                {"type": "text", "text": FIX_PATCH[:40]}, {"type": "text", "text": FIX_PATCH[40:]}
            )
        ],
        [_parts({"type": "thinking", "thinking": "-"}, {"text": FIX_PATCH}, {"type": "image_url"})],
        [_parts({"type": "reasoning", "text": _OTHER}, {"type": "text", "text": FIX_PATCH})],
        [{"content": FIX_PATCH}],
        *(
            [
                {"role": "assistant", "content": _ANSWER.format(FIX_PATCH)},
                {"role": role, "content": content},
            ]
            for role in ("tool", "user", "system", "function")
            for content in (_OTHER, [{"type": "text", "text": _OTHER}])
        ),
    ],
)
def test_patch_is_found_in_a_completion(
    completion: str | Sequence[Mapping[str, object]],
) -> None:
    assert patch_in(completion) == FIX_PATCH


def test_text_without_a_patch_stays_as_it_is() -> None:
    assert patch_in("I do not know.") == "I do not know."


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return own_task(tmp_path_factory.mktemp("task") / "small")


def test_each_completion_gets_its_reward_and_a_broken_task_none(task: Task, tmp_path: Path) -> None:
    broken = own_task(tmp_path / "broken", setup='commands = ["exit 3"]')
    tasks = [*[str(task.folder)] * 3, str(broken.folder)]
    completions = [
        _ANSWER.format(FIX_PATCH),
        _ANSWER.format(CHEATING_PATCH),
        "I do not know.",
        _ANSWER.format(FIX_PATCH),
    ]
    logged: dict[str, list[Any]] = {}
    options = RunOptions(runs_dir=tmp_path / "runs")
    with Judge(sandbox=local_provider(), options=options, use_verdicts=False) as judge:
        reward = JudgedReward(judge)
        rewards = reward(completions, task=tasks, log_extra=logged.__setitem__, prompts=["p"] * 4)
        assert rewards == [1.0, 0.0, 0.0, None]
        assert reward(completions[:1], task=tasks[:1]) == [1.0]
        with pytest.raises(UsageError, match=r"expected a column 'task' .* found prompts"):
            reward(completions, prompts=["p"] * 4)
        assert JudgedReward(judge, column="folder", deadline=0)(
            completions[:1], folder=tasks[:1]
        ) == [None]
    assert logged == {"verdict": ["RESOLVED", "TESTS_FAILED", "TOOL_ERROR", "SETUP_FAILED"]}


@pytest.mark.docker
def test_step_of_grpo_learns_from_verdicts_and_leaves_a_lost_sandbox_out(
    programs: Programs,
) -> None:
    lost = LostSandbox(Engine.connect())
    hangs = f"open({lost.marker!r}, 'w')\nwhile True: pass\n"
    patches = {
        Case.FIXED: FIX_PATCH,
        Case.CHEATING: CHEATING_PATCH,
        Case.LOST: patch_of("basket.py", BUGGY, hangs + FIXED),
    }
    python = package_programs("trl") / "python"
    subprocess.run([python, _TINY_MODEL, programs.folder / "model"], check=True, timeout=300)
    for case in (Case.CHEATING, Case.LOST):  # one task: its group of completions
        (programs.folder / "tasks" / case).rename(programs.folder / case)
    with ScriptedModel([Say(_ANSWER.format(patches[case])) for case in Case]) as model:
        argv = (
            python, "examples/trl_grpo.py", "--model", "model", "--sandbox", "docker",
            "--jobs", "1", "--retries", "0", "--server", f"{model.base_url}/v1",
            "--num_generations", "3", "--per_device_train_batch_size", "3", "--max_steps", "1",
            "--use_cpu", "true", "--bf16", "false", "--max_completion_length", "4096",
            "--report_to", "none", "--save_strategy", "no", "--output_dir", "out",
            "--logging_steps", "1", "--log_completions", "true",
        )  # fmt: skip
        env = {**model_variables(model), "HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1"}
        with programs.started(*argv, env=env) as trainer:
            wait_until(lambda: lost.remove(trainer.pid) or trainer.poll() is not None, within=600)
            printed, errors = trainer.communicate(timeout=600)
        assert trainer.returncode == 0, printed + errors
        assert len(model.asked) == len(Case)
    assert lost.removed == 1
    (path,) = (programs.folder / "out" / "completions").glob("*.parquet")
    rows = pyarrow.parquet.read_table(path).to_pylist()
    told = {row["verdict"]: (row["JudgedReward"], row["advantage"]) for row in rows}
    assert told.keys() == {"RESOLVED", "TESTS_FAILED", "SANDBOX_ERROR"}
    assert told["RESOLVED"][0] == 1.0
    assert told["TESTS_FAILED"][0] == 0.0
    assert told["SANDBOX_ERROR"][0] is None or told["SANDBOX_ERROR"][0] != told["SANDBOX_ERROR"][0]
    assert told["RESOLVED"][1] == pytest.approx(-told["TESTS_FAILED"][1])
    assert told["RESOLVED"][1] > 0
    assert told["SANDBOX_ERROR"][1] == 0.0
    assert "'reward': '0.5'" in printed.replace('"', "'"), printed
