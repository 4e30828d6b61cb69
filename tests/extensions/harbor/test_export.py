"""Tasks of our own with a script that judges, and with services, as Harbor's folders."""

import json
import subprocess
import sys
import tomllib
from pathlib import PurePosixPath

import pytest

from agentbench.errors import UsageError
from agentbench.extensions.harbor import export, exported_image
from agentbench.extensions.harbor.export import export_tasks
from agentbench.extensions.harbor.exported_table import WORKDIR
from agentbench.extensions.harbor.importing import HARBOR, harbor_format
from agentbench.importers.task_folders import import_folders
from agentbench.sandbox.interface import ImageSettings
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.scripts import Verifier
from agentbench.tasks.task import RepoSource
from agentbench.tasks.test_command import parse_test_command
from tests.e2e.small_task import LISTED, SmallTask
from tests.e2e.web_shop import COMPOSE, web_shop
from tests.extensions.harbor.harbor_corpus.run_harbor import CORPUS
from tests.extensions.harbor.harbor_folders import ALL_AGES, harbor_folder
from tests.extensions.harbor.own_tasks import greeting


@pytest.fixture
def mirrors(tmp_path):
    return Mirrors(tmp_path / "mirrors")


@pytest.fixture
def small(tmp_path, mirrors):
    (tmp_path / "small").mkdir()
    return load_task(SmallTask().write(tmp_path / "small"), mirrors=mirrors)


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", ALL_AGES)
def test_imported_task_is_exported_unchanged(tmp_path, mirrors, name):
    theirs = harbor_folder(tmp_path / name, ALL_AGES[name])
    (theirs / "assets").mkdir()
    (theirs / "assets" / "picture").write_bytes(b"\x00\xff")
    (ours,) = import_folders(HARBOR, [theirs], tmp_path / "ours").written
    exported = export_tasks(
        [load_task(ours, mirrors=mirrors)], tmp_path / "back", mirrors, image="x"
    )
    assert tree(exported.written[0]) == tree(theirs)


def test_a_task_that_pytest_judges_becomes_a_folder_with_hidden_tests_in_tests_alone(
    tmp_path, mirrors, small
):
    (made,) = export_tasks([small], tmp_path / "out", mirrors, image="base:1").written
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {"task.toml", "instruction.md", "environment/Dockerfile", "tests/test.sh"} <= files
    assert {"solution/solve.sh", "solution/solution.patch"} <= files
    assert [name for name in files if "test_hidden" in name] == [
        "tests/hidden/tests/test_hidden.py"
    ]
    dockerfile = (made / "environment" / "Dockerfile").read_text()
    assert dockerfile.startswith("FROM base:1\n")
    assert "solution" not in dockerfile
    assert (made / "tests" / "test.sh").stat().st_mode & 0o100


def test_limits_and_listed_tests_are_exported(tmp_path, mirrors, small):
    (made,) = export_tasks([small], tmp_path / "out", mirrors, image="base:1").written
    table = tomllib.loads((made / "task.toml").read_text())
    assert table["schema_version"] == "1.4"
    assert table["environment"]["memory_mb"] == small.environment.memory_mib
    assert table["verifier"]["timeout_sec"] == small.problem.test_timeout_s
    expected = json.loads((made / "tests" / "expected.json").read_text())
    assert expected["fail_to_pass"] == list(LISTED)


def test_exported_script_gives_the_reward(tmp_path, mirrors, small):
    (made,) = export_tasks([small], tmp_path / "out", mirrors, image="base:1").written
    place, logs = tmp_path / "app", tmp_path / "logs"
    logs.mkdir()
    subprocess.run(["cp", "-R", made / "environment" / "agentbench-repo", place], check=True)

    def reward() -> str:
        script = (made / "tests" / "test.sh").read_text()
        here = script.replace("/logs/verifier", str(logs)).replace("/app", str(place))
        here = here.replace("/tests/", f"{made}/tests/").replace("=/tests", f"={made}/tests")
        path = f"{sys.prefix}/bin:/usr/bin:/bin"
        subprocess.run(["bash", "-c", here], env={"PATH": path}, check=False, capture_output=True)
        return (logs / "reward.txt").read_text().strip()

    assert reward() == "0"
    patch = made / "solution" / "solution.patch"
    subprocess.run(["git", "apply", str(patch)], cwd=place, check=True)
    assert reward() == "1"


def test_existing_export_is_not_overwritten(tmp_path, mirrors, small):
    out = tmp_path / "out"
    (made,) = export_tasks([small], out, mirrors, image="a").written
    (made / "instruction.md").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        export_tasks([small], out, mirrors, image="a")
    assert (made / "instruction.md").read_text() == "mine"
    export_tasks([small], out, mirrors, image="a", replace=True)
    assert (made / "instruction.md").read_text() == small.problem.instruction


def test_inexpressible_task_is_rejected_and_others_exported(tmp_path, mirrors, small):
    problem = small.problem.replace(id="other", test_command="python -m unittest")
    other = small.replace(problem=problem)
    exported = export_tasks([other, small], tmp_path / "out", mirrors, image="a")
    assert exported.written == [tmp_path / "out" / small.id]
    assert [each.what for each in exported.rejections] == [
        "its tests run under unittest; expected pytest"
    ]


def test_baseline_list_gives_a_note(tmp_path, mirrors, small):
    key = small.answer_key.replace(pass_to_pass="baseline")
    unlisted = small.replace(answer_key=key)
    exported = export_tasks([unlisted], tmp_path / "out", mirrors, image="a")
    assert "Harbor does not know which tests pass before" in exported.notes[0]


@pytest.fixture
def task(tmp_path):
    (tmp_path / "small").mkdir()
    return load_task(SmallTask().write(tmp_path / "small"), mirrors=Mirrors(tmp_path / "mirrors"))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("python -m pytest -q", "python -m pytest -p agentbench_judge -q tests/a.py"),
        ("pytest -k 'a or b'", "pytest -p agentbench_judge -k 'a or b' tests/a.py"),
    ],
)
def test_the_projects_own_command_runs_with_the_judge(command, line):
    text = export.test_sh(parse_test_command(command), ["tests/a.py"], [], WORKDIR, ())
    assert text.splitlines()[-1].endswith(f" {line}")
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


def test_commands_before_the_tests_run_after_the_hidden_tests_are_copied():
    build = ("python setup.py build_ext", "echo 'a b'")
    text = export.test_sh(parse_test_command("pytest"), [], [], WORKDIR, build)
    lines = text[text.index("cp -R") :].splitlines()
    assert lines[1:3] == [
        "sh -c 'python setup.py build_ext' || exit 1",
        """sh -c 'echo '"'"'a b'"'"'' || exit 1""",
    ]
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


@pytest.mark.parametrize("folder", ["", "vendored", "a/b"])
def test_no_history_of_a_tasks_files_is_exported(task, tmp_path, folder):
    history = task.source.files / folder / ".git"
    history.mkdir(parents=True)
    (history / "HEAD").write_text("ref: refs/heads/main\n")
    exported_image.write_environment(task, tmp_path / "environment", "python:3")
    assert (tmp_path / "environment" / "agentbench-repo" / "basket.py").is_file()
    assert not list((tmp_path / "environment").rglob(".git"))


def test_no_history_is_exported_with_a_dockerfile_among_the_files(task, tmp_path):
    (task.source.files / ".git").mkdir()
    (task.source.files / "Dockerfile").write_text("FROM python:3\n")
    own = {"dockerfile": task.source.files / "Dockerfile"}
    environment = task.environment.replace(**own)
    changed = task.replace(environment=environment)
    exported_image.write_environment(changed, tmp_path / "environment", "python:3")
    assert not list((tmp_path / "environment").rglob(".git"))


def test_a_bundle_is_removed_from_the_image(task):
    source = RepoSource(url="/tasks/x/repo.bundle", commit="a" * 40)
    changed = task.replace(source=source)
    text = exported_image.dockerfile(changed, "FROM a", bundle="repo.bundle")
    (cloned,) = [line for line in text.splitlines() if "git clone" in line]
    assert "&& rm -rf .git /tmp/repo.bundle" in cloned


def test_files_deleted_by_hidden_tests_are_removed():
    text = export.test_sh(parse_test_command("pytest"), [], ["tests/old one.py"], WORKDIR, ())
    assert "rm -f -- 'tests/old one.py'\n" in text


def test_repository_of_url_is_cloned_without_history(task):
    source = RepoSource(url="https://example.org/x.git", commit="a" * 40)
    text = exported_image.dockerfile(task.replace(source=source), "FROM a")
    assert "git clone --quiet https://example.org/x.git . && git checkout --quiet aaaa" in text
    assert "rm -rf .git" in text


def test_variables_are_quoted_for_a_dockerfile(task):
    environment = task.environment.replace(env={"A": 'say "$HOME" \\ or'})
    text = exported_image.dockerfile(task.replace(environment=environment), "FROM a")
    assert 'ENV A="say \\"\\$HOME\\" \\\\ or"\n' in text


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
def test_exported_verifier_equals_original(theirs, tmp_path, exported, mirrors):
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


def test_own_command_and_patch_become_scripts(tmp_path, exported):
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


def test_fresh_verifier_gets_workspace_as_artifact(tmp_path, table_of):
    table = table_of(greeting(tmp_path / "greeting"))
    assert table["artifacts"] == [{"source": "/workspace"}]
    verifier = table["verifier"]
    assert (verifier["environment_mode"], verifier["user"]) == ("separate", "1000")
    assert verifier["environment"]["workdir"] == "/workspace"
    assert table["environment"]["network_mode"] == verifier["network_mode"] == "no-network"


def test_shared_verifier_has_no_artifacts(tmp_path, table_of):
    table = table_of(greeting(tmp_path / "greeting", verifier='environment = "shared"'))
    assert table["verifier"]["environment_mode"] == "shared"
    assert "artifacts" not in table


def test_image_of_verifier_has_its_files(tmp_path, exported):
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


def test_differences_of_set_up_and_steps_are_noted(tmp_path, exported):
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
def test_inexpressible_verifier_is_rejected(tmp_path, exported, lines, said):
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
def test_file_with_another_meaning_in_harbor_is_rejected(tmp_path, exported, name, said):
    folder = greeting(tmp_path / "greeting")
    (folder / "tests" / name).write_text("x\n")
    assert exported(folder).rejections[0].what.startswith(said)


def test_services_are_exported_with_public_network(tmp_path, exported):
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


def test_dockerfile_next_to_answers_is_rejected(tmp_path, exported):
    folder = greeting(tmp_path / "greeting")
    table = (folder / "task.toml").read_text()
    table = table.replace('image = "agentbench/python:3.11"', 'dockerfile = "Dockerfile"')
    (folder / "task.toml").write_text(table)
    (folder / "Dockerfile").write_text("FROM a\n")
    assert exported(folder).rejections[0].what.startswith("Dockerfile: is next to task.toml")


def test_default_verifier_needs_no_wrapper(tmp_path, exported):
    folder = greeting(tmp_path / "greeting")
    usual = Verifier().command
    table = (folder / "task.toml").read_text().replace("python /tests/judge.py", usual)
    (folder / "task.toml").write_text(table)
    (folder / "tests" / "test.sh").write_text("#!/bin/bash\npython /tests/judge.py\n")
    (made,) = exported(folder).written
    assert (made / "tests" / "test.sh").read_bytes() == (folder / "tests" / "test.sh").read_bytes()


def there_and_back(theirs, tmp_path):
    """Import a folder and export it; the folder that comes back, and what is said about it."""
    (ours,) = import_folders(HARBOR, [theirs], tmp_path / "ours").written
    mirrors = Mirrors(tmp_path / "mirrors")
    task = load_task(ours, mirrors=mirrors)
    exported = export_tasks([task], tmp_path / "back", mirrors, image="x", replace=True)
    (back,) = exported.written
    return back, exported.notes


@pytest.mark.parametrize("theirs", CORPUS_TASKS, ids=lambda path: path.name)
def test_each_task_of_the_corpus_comes_back_byte_for_byte(theirs, tmp_path):
    back, notes = there_and_back(theirs, tmp_path)
    assert tree(back) == tree(theirs)
    assert {path.name for path in back.iterdir()} == {path.name for path in theirs.iterdir()}
    assert notes == []


@pytest.fixture
def imported(tmp_path):
    """An imported task, and a function that exports it and gives the notes."""
    theirs = harbor_folder(tmp_path / "theirs" / "hello")
    (ours,) = import_folders(HARBOR, [theirs], tmp_path / "ours").written
    mirrors = Mirrors(tmp_path / "mirrors")

    def export():
        task = load_task(ours, mirrors=mirrors)
        return export_tasks([task], tmp_path / "back", mirrors, image="x", replace=True).notes

    return ours, export


def test_changes_since_import_are_noted(imported):
    ours, export = imported
    assert export() == []
    text = (ours / "task.toml").read_text()
    (ours / "task.toml").write_text(text.replace("timeout_s = 60.0", "timeout_s = 61.0"))
    (ours / "instruction.md").write_text("Say hello.\n")
    said = "changed since its import, and exported as it was: task.toml (agent), instruction.md"
    assert export() == [f"hello: {said}"]


def test_unimportable_originals_are_noted(imported):
    ours, export = imported
    (ours / "harbor" / "task.toml").write_text('[agent]\ntimeout_sec = "long"\n')
    assert export() == [
        "hello: its files of Harbor were changed since the import, and cannot be imported again"
    ]


def test_values_of_image_count_as_unchanged(tmp_path):
    changes = {"environment/Dockerfile": "FROM python:3.12\n"}
    theirs = harbor_folder(tmp_path / "hello", changes)
    settings = ImageSettings(workdir=PurePosixPath("/srv/own"), user="worker")
    form = harbor_format(lambda _: settings)
    (ours,) = import_folders(form, [theirs], tmp_path / "ours").written
    mirrors = Mirrors(tmp_path / "mirrors")
    task = load_task(ours, mirrors=mirrors)
    assert (str(task.workdir), task.environment.user) == ("/srv/own", "worker")
    assert export_tasks([task], tmp_path / "back", mirrors, image="x").notes == []
