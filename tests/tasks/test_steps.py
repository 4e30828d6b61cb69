"""Tasks with several instructions: their tables, their files, and what steps have in common."""

from pathlib import Path

import pytest

from agentbench.attempt.task_image import check_services
from agentbench.errors import InputError, UnavailableError
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.scripts import VerifierEnvironment
from agentbench.tasks.task import Task
from agentbench.tasks.task_file import parse_task_file
from agentbench.tasks.writing import task_toml
from tests.fakes.unreliable_provider import UnreliableProvider

HEAD = 'schema_version = 1\ntitle = "t"\n'
TABLE = """\
reward_strategy = "final"
[repo]
workdir = "/app"
[environment]
image = "i"
user = "root"
[verifier]
timeout_s = 100
env = { A = "1", B = "1" }
dockerfile = "tests/Dockerfile"
takes = ["a"]
[solution]
[agent]
timeout_s = 50
[[steps]]
name = "one"
min_reward = 0.5
[[steps]]
name = "two"
min_reward = { style = 1 }
healthcheck = { command = "true" }
[steps.agent]
timeout_s = 20
user = "agent"
network = true
[steps.verifier]
environment = "shared"
timeout_s = 600
user = "nobody"
env = { B = "2" }
"""
FILES = {
    "tests/Dockerfile": "FROM x\n",
    "tests/test.sh": "common\n",
    "tests/data": "common\n",
    "solution/solve.sh": "common\n",
    "steps/one/instruction.md": "First.\n",
    "steps/one/workdir/setup.sh": "true\n",
    "steps/one/workdir/kept": "one\n",
    "steps/two/instruction.md": "Second.\n",
    "steps/two/tests/test.sh": "own\n",
    "steps/two/solution/solve.sh": "own\n",
    "steps/two/workdir/more": "two\n",
}


def folder_of(place: Path, changes: dict[str, str | None] | None = None) -> Path:
    for name, text in ({"task.toml": HEAD + TABLE} | FILES | (changes or {})).items():
        if text is not None:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    return place


def loaded(place: Path, changes: dict[str, str | None] | None = None) -> Task:
    return load_task(folder_of(place / "task", changes), mirrors=Mirrors(place / "mirrors"))


def test_a_step_has_its_own_values_and_otherwise_those_of_the_task(tmp_path):
    one, two = loaded(tmp_path).steps
    assert (one.name, one.instruction, one.timeout_s, one.user) == ("one", "First.\n", 50.0, "root")
    assert (one.network, two.network) == (False, True)
    assert one.verifier.dockerfile == "tests/Dockerfile"
    assert (one.verifier.timeout_s, one.min_reward) == (100.0, {"reward": 0.5})
    assert (two.timeout_s, two.user, two.min_reward) == (20.0, "agent", {"style": 1.0})
    # A shared verifier takes no files and has no image, whatever the task's table says.
    assert two.verifier.environment is VerifierEnvironment.SHARED
    assert (two.verifier.dockerfile, two.verifier.takes) == (None, None)
    # A value that is the default of [verifier] still outranks that table.
    assert (two.verifier.timeout_s, two.verifier.env) == (600.0, {"A": "1", "B": "2"})


def test_a_task_in_a_step_looks_like_a_task_with_one_instruction(tmp_path):
    task = loaded(tmp_path)
    assert task.problem.instruction == "# one\n\nFirst.\n\n# two\n\nSecond."
    assert (task.agent_seconds, task.judged_seconds) == (70.0, 700.0)
    assert task.agent_sandbox_user == "root"  # it has several users
    assert sorted(map(str, task.step_files())) == []
    second = task.in_step(task.steps[1])
    assert (second.problem.step, second.problem.instruction) == ("two", "Second.\n")
    assert second.problem.network is True
    assert second.problem.limits.timeout_s == second.agent_seconds == 20.0
    assert (second.environment.user, second.judged_seconds) == ("agent", 600.0)
    assert second.answer_key.verifier == task.steps[1].verifier
    assert second.agent_sandbox_user == "root"
    names = [each.relative_to(task.folder).as_posix() for each in second.script_folders]
    assert names == ["tests", "steps/two/tests"]
    assert sorted(map(str, second.step_files())) == ["kept", "more", "setup.sh"]
    assert task.in_step(task.steps[0]).step_files().keys() < second.step_files().keys()


def test_step_uses_own_or_common_solution(tmp_path):
    script = loaded(tmp_path).scripted_solution
    assert script is not None
    assert script.step_folders == {"two": tmp_path / "task/steps/two/solution"}


def test_a_file_with_steps_is_written_as_it_was_read(tmp_path):
    del tmp_path
    table = parse_task_file(HEAD + TABLE, name="x")
    again = parse_task_file(task_toml(table), name="x")
    assert again.reward_strategy == "final"
    assert table.verifier is not None
    assert again.verifier is not None
    for before, after in zip(table.steps, again.steps, strict=True):
        assert (after.name, after.min_reward) == (before.name, before.min_reward)
        assert after.with_common(again.verifier) == before.with_common(table.verifier)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[steps]]\n[verifier]\n", "steps.0.name: is missing"),
        ('[[steps]]\nname = "a/b"\n', "steps.0.name: 'a/b' does not match"),
        ('[[steps]]\nname = "a"\nminimum = 1\n', "steps.0.minimum: unknown key"),
        ('[[steps]]\nname = "a"\nmin_reward = "1"\n',
         "steps.0.min_reward: '1' is neither a number nor a table of numbers"),
        ('[[steps]]\nname = "a"\nmin_reward = nan\n',
         "steps.0.min_reward.reward: nan is not a finite number"),
        ('[[steps]]\nname = "a"\n[steps.verifier]\nthreshold = 1\n',
         "steps.0: takes no `verifier.threshold`, since all steps have one; give `min_reward`"),
        ('[[steps]]\nname = "a"\n[[steps]]\nname = "A"\n',
         "takes each step name once, found 'A' again"),
        ('[verifier]\nenvironment = "shared"\n[[steps]]\nname = "a"\n[steps.verifier]\n'
         'image = "b"\n',
         'needs other keys in step a, verifier: takes no `image` with `environment = "shared"`'),
    ],
)  # fmt: skip
def test_invalid_table_of_step_is_refused(text, said):
    verifier = "" if "[verifier]" in text else "[verifier]\n"
    with pytest.raises(InputError) as caught:
        parse_task_file(f'{HEAD}[repo]\nworkdir = "/app"\n{verifier}{text}', name="x")
    assert len(caught.value.faults) == 1
    assert caught.value.faults[0].startswith(f"x: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[steps]]\nname = "a"\n', "needs a [verifier] for [[steps]]: scripts judge them"),
        ('reward_strategy = "mean"\n', "takes `reward_strategy` only with [[steps]]"),
    ],
)
def test_steps_and_their_strategy_belong_together(text, said):
    with pytest.raises(InputError) as caught:
        parse_task_file(f'{HEAD}repo = {{ path = "repo" }}\n{text}', name="x")
    assert caught.value.faults == (f"x: {said}",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps/one/instruction.md": None}, "steps/one/instruction.md: is missing"),
        ({"steps/two/instruction.md": " "}, "steps/two/instruction.md: is empty"),
        ({"instruction.md": "Do it."},
         "instruction.md: is not used with [[steps]]; move it to steps/NAME/instruction.md"),
        ({"solution/solve.sh": None},
         "steps/one/solution: is not a folder; [solution] needs the files of its script there"),
        ({"tests/Dockerfile": None},
         "task.toml: verifier.dockerfile: {folder}/tests/Dockerfile is not a file"),
    ],
)  # fmt: skip
def test_missing_files_of_step_are_reported(tmp_path, changes, said):
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, changes)
    folder = tmp_path / "task"
    assert len(caught.value.faults) == 1
    assert caught.value.faults[0].removeprefix(f"{folder}/").startswith(said.format(folder=folder))


def test_folder_of_steps_without_tables_is_refused(tmp_path):
    text = HEAD + '[repo]\nworkdir = "/app"\n[environment]\nimage = "i"\n[verifier]\n'
    with pytest.raises(InputError, match=r"steps: is not used; add \[\[steps\]\] to task.toml"):
        loaded(tmp_path, {"task.toml": text, "instruction.md": "Do it."})


def test_back_end_without_lasting_processes_is_refused(tmp_path):
    task = loaded(tmp_path)
    steps = tuple(step.replace(network=False) for step in task.steps)
    task = task.replace(steps=steps)
    with pytest.raises(UnavailableError, match=r"keeps no sandbox running .* --sandbox docker"):
        check_services(task, UnreliableProvider())
