"""Tasks of our own with a script that judges, and with services, as Harbor's folders."""

import tomllib

import pytest

from agentbench.importers.harbor.export import export_tasks
from agentbench.importers.harbor.importing import HARBOR
from agentbench.importers.task_folders import import_folders
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.scripts import Verifier
from tests.e2e.web_shop import COMPOSE, web_shop
from tests.importers.harbor.own_tasks import greeting
from tests.importers.harbor.test_export import tree
from tests.importers.harbor_corpus.run_harbor import CORPUS


@pytest.fixture
def mirrors(tmp_path):
    return Mirrors(tmp_path / "mirrors")


@pytest.fixture
def exported(tmp_path, mirrors):
    """A function that exports a task's folder and gives what came of it."""

    def export(folder):
        task = load_task(folder, mirrors=mirrors)
        return export_tasks([task], tmp_path / "out", mirrors, image="base:1", replace=True)

    return export


@pytest.fixture
def table_of(exported):
    """A function that exports a task's folder and reads Harbor's table."""

    def table(folder):
        (made,) = exported(folder).written
        return tomllib.loads((made / "task.toml").read_text())

    return table


def judging(task, image_env):
    """All that decides about an attempt, as a re-import must have it again.

    The variables of the task are in Harbor's image.
    """
    verifier, environment = task.answer_key.verifier, task.environment
    taken = {path for path in verifier.takes or () if path != "/logs/artifacts"}
    own = verifier.replace(takes=tuple(sorted(taken)), image=None)
    values = {
        "user": verifier.user or environment.user,
        "dockerfile": verifier.has_image,
        "env": {**image_env, **environment.env, **verifier.env},
        "env_from_host": {**environment.env_from_host, **verifier.env_from_host},
    }
    if not verifier.is_shared:
        values["workdir"] = verifier.workdir or str(task.workdir)
        values["cpus"] = verifier.cpus or environment.cpus
        values["memory_mib"] = verifier.memory_mib or environment.memory_mib
    hooks = tuple(
        hook.replace(user=hook.user or environment.user) if hook.service is None else hook
        for hook in verifier.collect
    )
    judge = own.replace(**values, collect=hooks)
    place = environment.replace(dockerfile=None, image=None, compose=None)
    problem = task.problem.replace(title="", tags=())
    limits = problem.limits.replace(network=None)
    problem = problem.replace(limits=limits, test_env={})
    return judge, place.replace(env={}), problem, task.answer_key.solution


CORPUS_TASKS = [path.parent for path in sorted(CORPUS.glob("*/task.toml"))]


@pytest.mark.parametrize("theirs", CORPUS_TASKS, ids=lambda path: path.name)
def test_what_judges_a_task_is_the_same_in_harbor(theirs, tmp_path, exported, mirrors):
    """The corpus as if the tasks were our own: Harbor's format has all that decides."""
    (ours,) = import_folders(HARBOR, [theirs], tmp_path / "ours").written
    (ours / "harbor" / "task.toml").unlink()
    (made,) = exported(ours).written
    (again,) = import_folders(HARBOR, [made], tmp_path / "again").written
    before, after = (load_task(folder, mirrors=mirrors) for folder in (ours, again))
    assert before.reward_strategy == after.reward_strategy
    assert [step.min_reward for step in before.steps] == [step.min_reward for step in after.steps]
    phases = zip(
        [before.in_step(step) for step in before.steps] or [before],
        [after.in_step(step) for step in after.steps] or [after],
        strict=True,
    )
    for one, other in phases:
        env = one.environment.env
        assert judging(other, env) == judging(one, env)


def test_a_command_of_its_own_becomes_a_script_and_a_patch_the_solution(tmp_path, exported):
    made = exported(greeting(tmp_path / "greeting"))
    (folder,) = made.written
    script = (folder / "tests" / "test.sh").read_text()
    assert script.endswith("exec sh -c 'python /tests/judge.py'\n")
    solve = (folder / "solution" / "solve.sh").read_text()
    assert "cd /workspace && git apply" in solve
    assert {"tests/test.sh", "solution/solve.sh"} <= {
        name for name, (_, mode) in tree(folder).items() if mode & 0o100
    }
    said = "resolved by a reward above 0.5; Harbor has no threshold and reports only the reward"
    assert made.notes == [f"greeting: {said}"]


def test_the_user_of_agents_owns_the_work_and_set_up_runs_in_the_image(tmp_path, exported):
    (folder,) = exported(greeting(tmp_path / "greeting")).written
    lines = (folder / "environment" / "Dockerfile").read_text().splitlines()
    assert lines[0] == "FROM agentbench/python:3.11"
    assert 'RUN ["/bin/sh", "-c", "echo done > prepared.txt"]' in lines
    assert lines[-2:] == ['RUN ["/bin/sh", "-c", "chown -Rh 1000:1000 /workspace"]', "USER 1000"]


def test_a_fresh_judge_gets_the_whole_work_as_an_artifact(tmp_path, table_of):
    table = table_of(greeting(tmp_path / "greeting"))
    assert table["artifacts"] == [{"source": "/workspace"}]
    verifier = table["verifier"]
    assert (verifier["environment_mode"], verifier["user"]) == ("separate", "1000")
    assert verifier["environment"]["workdir"] == "/workspace"
    assert table["environment"]["network_mode"] == verifier["network_mode"] == "no-network"


def test_a_judge_in_the_agents_container_is_shared_and_takes_nothing(tmp_path, table_of):
    table = table_of(greeting(tmp_path / "greeting", verifier='environment = "shared"'))
    assert table["verifier"]["environment_mode"] == "shared"
    assert "artifacts" not in table


def test_the_image_of_a_judge_holds_its_files(tmp_path, exported):
    lines = 'image = "judge:1"\ntakes = ["greet.py"]\nleaves = { "greet.py" = ["*.pyc"] }'
    (folder,) = exported(greeting(tmp_path / "greeting", verifier=lines)).written
    text = (folder / "tests" / "Dockerfile").read_text()
    assert text.startswith("FROM judge:1\nUSER root\nWORKDIR /workspace\nCOPY . /tests/\n")
    artifacts = tomllib.loads((folder / "task.toml").read_text())["artifacts"]
    assert artifacts == [{"source": "/workspace/greet.py", "exclude": ["*.pyc"]}]


def test_networks_and_variables_of_the_host_have_harbors_form(tmp_path, table_of):
    table = table_of(
        greeting(
            tmp_path / "greeting",
            environment='network = ["pypi.org"]\nenv_from_host = { PLAIN = "OURS", KEY = "KEY" }\n',
            verifier="network = true",
        )
    )
    assert table["environment"]["network_mode"] == "allowlist"
    assert table["environment"]["allowed_hosts"] == ["pypi.org"]
    assert table["verifier"]["network_mode"] == "public"
    assert table["environment"]["env"] == {"PLAIN": "${OURS:-x}", "KEY": "${KEY}"}


def test_what_set_up_and_steps_lack_there_is_said(tmp_path, exported):
    folder = greeting(tmp_path / "greeting", environment='env_from_host = { KEY = "KEY" }\n')
    table = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text(f'{table}\n[[steps]]\nname = "one"\n')
    (folder / "steps" / "one" / "workdir").mkdir(parents=True)
    (folder / "steps" / "one" / "workdir" / "names.txt").write_text("Ada\n")
    (folder / "instruction.md").rename(folder / "steps" / "one" / "instruction.md")
    made = exported(folder)
    assert made.notes[1:] == [
        "greeting: its set-up commands run without variables of the host there",
        "greeting: files of workdir/ belong to root there",
    ]
    step = made.written[0] / "steps" / "one"
    assert (step / "workdir" / "names.txt").read_text() == "Ada\n"
    assert {path.name for path in (step / "tests").iterdir()} == {"judge.py", "test.sh"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('dockerfile = "judge/Dockerfile"', "[verifier] dockerfile: is not in tests/, where"),
        ('env = { A = "${B}" }', "env.A: '${B}' would be a variable of the host in Harbor"),
    ],
)
def test_a_judge_without_a_form_there_is_refused(tmp_path, exported, lines, said):
    folder = greeting(tmp_path / "greeting", verifier=lines)
    (folder / "judge").mkdir()
    (folder / "judge" / "Dockerfile").write_text("FROM a\n")
    assert exported(folder).rejections[0].what.startswith(said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("test.sh", "[verifier] command: runs 'python /tests/judge.py', but Harbor only runs"),
        ("Dockerfile", "tests/: has a Dockerfile or compose file, from which Harbor would build"),
        (".harborignore", "tests/: has a .harborignore, which Harbor obeys"),
    ],
)
def test_a_file_that_harbor_would_take_otherwise_is_refused(tmp_path, exported, name, said):
    folder = greeting(tmp_path / "greeting")
    (folder / "tests" / name).write_text("x\n")
    assert exported(folder).rejections[0].what.startswith(said)


def test_services_go_along_with_a_public_network_and_that_is_said(tmp_path, exported):
    (tmp_path / "shop").mkdir()
    made = exported(web_shop(tmp_path / "shop"))
    (folder,) = made.written
    assert (folder / "environment" / "docker-compose.yaml").read_text() == COMPOSE
    assert (folder / "environment" / "db" / "Dockerfile").is_file()
    table = tomllib.loads((folder / "task.toml").read_text())
    places = (table["environment"], table["agent"], table["verifier"])
    assert {each["network_mode"] for each in places} == {"public"}
    said = "every phase has a public network there, without which services have no names"
    assert any(note.endswith(said) for note in made.notes)


def test_services_on_localhost_need_no_public_network(tmp_path, exported, table_of):
    (tmp_path / "shop").mkdir()
    folder = web_shop(tmp_path / "shop", environment="services_on_localhost = true")
    assert table_of(folder)["environment"]["network_mode"] == "no-network"
    assert not any("public network" in note for note in exported(folder).notes)


@pytest.mark.parametrize(
    ("main", "said"),
    [
        ("image: a:1", "services.main.image: Harbor builds it from its Dockerfile"),
        ("build: ./db", "services.main.build: Harbor needs `context: .`"),
    ],
)
def test_an_image_of_a_compose_file_is_refused(tmp_path, exported, main, said):
    (tmp_path / "shop").mkdir()
    compose = COMPOSE.replace("  main:\n", f"  main:\n    {main}\n")
    folder = web_shop(tmp_path / "shop", compose=compose)
    assert exported(folder).rejections[0].what.startswith(said)


def test_a_dockerfile_beside_the_answers_is_refused(tmp_path, exported):
    folder = greeting(tmp_path / "greeting")
    table = (folder / "task.toml").read_text()
    table = table.replace('image = "agentbench/python:3.11"', 'dockerfile = "Dockerfile"')
    (folder / "task.toml").write_text(table)
    (folder / "Dockerfile").write_text("FROM a\n")
    assert exported(folder).rejections[0].what.startswith("Dockerfile: is next to task.toml")


def test_usual_judges_need_no_script_of_ours(tmp_path, exported):
    folder = greeting(tmp_path / "greeting")
    usual = Verifier().command
    table = (folder / "task.toml").read_text().replace("python /tests/judge.py", usual)
    (folder / "task.toml").write_text(table)
    (folder / "tests" / "test.sh").write_text("#!/bin/bash\npython /tests/judge.py\n")
    (made,) = exported(folder).written
    assert (made / "tests" / "test.sh").read_bytes() == (folder / "tests" / "test.sh").read_bytes()
