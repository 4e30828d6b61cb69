"""Every task of the corpus has its files, and Harbor's own results or a note why not."""

import json
from pathlib import Path

import pytest

from agentbench.errors import UsageError
from agentbench.extensions.harbor.export import export_tasks
from agentbench.extensions.harbor.importing import HARBOR, read_harbor_task, without_canary
from agentbench.importers.task_folders import ConvertedTask, import_folders
from agentbench.tasks.loading import load_task, load_tasks, read_draft
from agentbench.tasks.mirror import Mirrors
from tests.extensions.harbor.harbor_folders import ALL_AGES, ONE_FOUR, ONE_ZERO, harbor_folder


def task(folder) -> ConvertedTask:
    found = read_harbor_task(folder)
    assert isinstance(found, ConvertedTask), [str(each) for each in found]
    return found


def refused(folder) -> list[str]:
    found = read_harbor_task(folder)
    assert isinstance(found, list)
    return [str(each).replace(f"{folder}/", "") for each in found]


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("Do it.\n", "Do it.\n"),
        ("<!-- harbor-canary GUID 1 -->\n# another canary\n\n\nDo it.", "Do it."),
        ("# Do it\n<!-- canary -->\n", "# Do it\n<!-- canary -->\n"),
    ],
)
def test_canary_is_removed_from_instruction(text, output):
    assert without_canary(text) == output


def test_the_first_schema_becomes_a_task_whose_script_judges(tmp_path):
    created = task(harbor_folder(tmp_path / "Hello_1"))
    table = created.new.table
    assert (created.new.id, table.title) == ("hello_1", "hello_1")
    assert table.tags == ("harbor", "text", "first", "easy", "files")
    assert (table.repo.workdir, table.environment.dockerfile) == ("/app", "environment/Dockerfile")
    assert (table.environment.memory_mib, table.environment.disk_mib) == (1024, 2048)
    assert table.verifier is not None
    assert (table.verifier.timeout_s, table.verifier.network) == (120.0, True)
    assert (table.verifier.dockerfile, table.verifier.is_shared) == (None, True)
    assert table.solution is not None
    assert table.agent.timeout_s == 60.0


def test_answers_are_not_in_build_context(tmp_path):
    created = task(harbor_folder(tmp_path / "hello"))
    assert sorted(created.new.folders) == ["environment", "solution", "tests"]
    assert sorted(created.new.copies) == [
        "harbor/README.md",
        "harbor/instruction.md",
        "harbor/task.toml",
    ]
    assert created.new.instruction == "Write `hello` into hello.txt."


def test_a_name_of_a_package_gives_the_id_and_its_description_the_title(tmp_path):
    text = '[task]\nname = "org/A Task"\ndescription = "First line.\\nSecond."\nkeywords = ["k"]\n'
    created = task(harbor_folder(tmp_path / "x", {"task.toml": text}))
    assert (created.new.id, created.new.table.title) == ("a-task", "First line.")
    assert created.new.table.tags == ("harbor", "k")


def test_a_prebuilt_image_is_used_as_it_is(tmp_path):
    changes = {
        "task.toml": '[environment]\ndocker_image = "python:3.12"\n',
        "environment/Dockerfile": None,
        "environment/notes.txt": None,
    }
    created = task(harbor_folder(tmp_path / "x", changes))
    table = created.new.table
    assert (table.environment.image, table.environment.dockerfile) == ("python:3.12", None)
    assert table.repo.workdir == "/app"
    assert any("/app is assumed" in note for note in created.notes)


def test_a_separate_verifier_has_its_own_image(tmp_path):
    changes = {"task.toml": ONE_FOUR, "tests/Dockerfile": "FROM a\n"}
    table = task(harbor_folder(tmp_path / "x", changes)).new.table
    assert table.verifier is not None
    assert (table.verifier.image, table.verifier.dockerfile) == (None, "tests/Dockerfile")
    with_image = ONE_FOUR + '[verifier.environment]\ndocker_image = "b:1"\nenv = { A = "1" }\n'
    table = task(harbor_folder(tmp_path / "x", {"task.toml": with_image})).new.table
    assert table.verifier is not None
    assert (table.verifier.image, table.verifier.dockerfile) == ("b:1", None)
    assert table.verifier.env == {"A": "1"}


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("", True),
        ("[environment]\nallow_internet = false\n", False),
        ('[environment]\nnetwork_mode = "no-network"\n', False),
        ("[environment]\nallow_internet = true\n", True),
        ('[environment]\nnetwork_mode = "public"\n', True),
        ('[verifier]\nnetwork_mode = "public"\n', True),
        ('[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.org"]\n', ("a.org",)),
    ],
)
def test_the_script_has_a_network_where_the_task_says_so(tmp_path, text, network):
    table = task(harbor_folder(tmp_path / "x", {"task.toml": text})).new.table
    assert table.verifier is not None
    assert table.verifier.network == network


def test_task_without_solution_has_a_note(tmp_path):
    created = task(harbor_folder(tmp_path / "x", {"solution/solve.sh": None}))
    assert created.new.table.solution is None
    assert any("the task cannot be proved" in note for note in created.notes)


def test_an_environment_folder_decides_the_workdir_over_the_dockerfile(tmp_path):
    text = '[environment]\nworkdir = "/srv/work"\n'
    assert task(harbor_folder(tmp_path, {"task.toml": text})).new.table.repo.workdir == "/srv/work"


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"task.toml": None}, "task.toml: is missing"),
        ({"task.toml": "\ufeff" + ONE_ZERO}, "task.toml: begins with a byte order mark"),
        ({"instruction.md": None}, "instruction.md: is missing"),
        ({"tests/test.sh": None}, "tests/test.sh: is missing"),
        ({"solution/solve.sh": None, "solution/x": "1"}, "solution/solve.sh: is missing"),
        ({"tests/test.sh": "#!/bin/bash\r\nexit 0\r\n"}, "tests/test.sh: has Windows line ends"),
        ({"task.toml": "[environment]\ngpus = 1\n"}, "task.toml: environment.gpus: requires 1"),
        (
            {"environment/Dockerfile": "FROM a\nWORKDIR $HOME\n"},
            "environment/Dockerfile: WORKDIR: 'WORKDIR $HOME' depends on a variable",
        ),
        (
            {"environment/Dockerfile": "FROM a\nWORKDIR /etc\n"},
            "task.toml: repo.workdir: '/etc' is a folder of the system",
        ),
        (
            {"task.toml": ONE_FOUR.replace("/app/hello.txt", "/app/../out")},
            "task.toml: artifacts.0: '/app/../out' is not a path of files",
        ),
        ({"task.toml": '[task]\nname = "org/-"\n'}, "task.toml: task.name: '-' gives no id"),
    ],
)
def test_unsupported_folder_is_rejected_with_field(tmp_path, changes, messages):
    (one,) = refused(harbor_folder(tmp_path / "x", changes))
    assert one.startswith(messages)


def contents(folder) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


STEPS = """\
multi_step_reward_strategy = "final"
artifacts = ["/app/a"]
[agent]
timeout_sec = 60.0
user = "root"
[verifier]
timeout_sec = 5.0
environment_mode = "separate"
env = { A = "1", B = "1" }
[verifier.environment]
docker_image = "judge:1"
[[steps]]
name = "one"
min_reward = 1
healthcheck = { command = "true", interval_sec = 0.5 }
[[steps]]
name = "two"
artifacts = ["/app/b"]
min_reward = { style = 0.5 }
[steps.agent]
timeout_sec = 30.0
user = "nobody"
[steps.verifier]
environment_mode = "shared"
user = "nobody"
timeout_sec = 7.0
env = { B = "2" }
"""


def test_steps_inherit_values_as_in_harbor(tmp_path):
    changes = {
        "task.toml": STEPS,
        "instruction.md": None,
        "steps/one/instruction.md": "<!-- canary -->\nFirst.\n",
        "steps/one/tests/Dockerfile": "FROM judge:2\n",
        "steps/two/instruction.md": "Second.\n",
        "steps/two/solution/solve.sh": "#!/bin/sh\n",
    }
    theirs, mirrors = harbor_folder(tmp_path / "x", changes), Mirrors(tmp_path / "mirrors")
    loaded = load_task(
        import_folders(HARBOR, [theirs], tmp_path / "out").written[0], mirrors=mirrors
    )
    (back,) = export_tasks([loaded], tmp_path / "back", mirrors, image="a:1").written
    assert contents(back) == contents(theirs)
    one, two = loaded.steps
    assert loaded.reward_strategy == "final"
    assert (one.instruction, two.instruction) == ("First.\n", "Second.\n")
    assert (one.timeout_s, one.user, one.min_reward) == (60.0, "root", {"reward": 1.0})
    assert one.healthcheck is not None
    assert one.healthcheck.interval_s == 0.5
    # 600 seconds are Harbor's default; [verifier] timeout_sec is not that of steps.
    assert (one.verifier.timeout_s, one.verifier.env) == (600.0, {"A": "1", "B": "1"})
    assert one.verifier.dockerfile == "steps/one/tests/Dockerfile"
    assert (one.verifier.takes, one.verifier.threshold) == (("/logs/artifacts", "a"), 0.999)
    assert (two.timeout_s, two.user, two.min_reward) == (30.0, "nobody", {"style": 0.5})
    assert (two.verifier.is_shared, two.verifier.user, two.verifier.image) == (True, "nobody", None)
    assert (two.verifier.timeout_s, two.verifier.env) == (7.0, {"A": "1", "B": "2"})
    assert loaded.scripted_solution is not None
    assert loaded.scripted_solution.step_folders == {
        "two": loaded.folder / "steps" / "two" / "solution"
    }


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"steps/one/instruction.md": None}, "steps/one/instruction.md: is missing"),
        ({"tests/test.sh": None}, "tests/test.sh: is missing"),
        ({"steps/one/solution/other.sh": "#!/bin/sh\n"}, "steps/one/solution/solve.sh: is missing"),
        ({"task.toml": "steps = [{}]\n"}, "task.toml: steps.0.name: is missing"),
        ({"task.toml": '[[steps]]\nname = "../x"\n'}, "steps/../x/instruction.md: is missing"),
    ],
)
def test_a_step_without_its_files_is_refused(tmp_path, changes, messages):
    usual = {"task.toml": '[[steps]]\nname = "one"\n', "steps/one/instruction.md": "Do it.\n"}
    assert refused(harbor_folder(tmp_path / "x", {**usual, **changes}))[0].startswith(messages)


def test_links_out_of_the_folder_are_refused_before_anything_is_copied(tmp_path):
    folder = harbor_folder(tmp_path / "x")
    (folder / "tests" / "passwd").symlink_to("/etc/passwd")
    (folder / "environment" / "up").symlink_to("../../..")
    assert refused(folder) == [
        "environment/up: is a symlink that leaves the task's folder",
        "tests/passwd: is a symlink that leaves the task's folder",
    ]


@pytest.fixture
def folders(tmp_path):
    for name, changes in ALL_AGES.items():
        harbor_folder(tmp_path / "theirs" / name, changes)
    return tmp_path / "theirs"


def test_a_folder_of_folders_becomes_tasks_that_load(folders, tmp_path):
    imported = import_folders(HARBOR, [folders], tmp_path / "ours")
    assert (imported.rejections, len(imported.written)) == ([], 4)
    tasks = load_tasks([tmp_path / "ours"], mirrors=Mirrors(tmp_path / "mirrors")).tasks
    assert [task.id for task in tasks] == ["hello", "separate", "several-rewards", "unsolved"]
    assert {task.source.workdir for task in tasks} == {"/app"}
    several = tasks[2].answer_key
    assert several.verifier is not None
    assert several.verifier.env == {"WANTED": "hello"}
    assert several.solution is not None
    assert several.solution.env == {"SAID": "hello"}


def test_valid_folders_are_imported_despite_rejections(folders, tmp_path):
    harbor_folder(folders / "broken", {"task.toml": "["})
    harbor_folder(folders / "hello-again", {"task.toml": '[task]\nname = "org/hello"\n'})
    harbor_folder(folders / "silent", {"instruction.md": "<!-- canary -->\n"})
    imported = import_folders(HARBOR, [folders], tmp_path / "ours")
    assert len(imported.written) == 4
    messages = [str(refusal).replace(f"{folders}/", "") for refusal in imported.rejections]
    assert messages[0].startswith("broken/task.toml: not valid TOML")
    assert messages[1] == "hello-again: has the id hello, as an earlier folder"
    assert messages[2].startswith("silent: ")
    assert "instruction.md: is empty" in messages[2]


def test_existing_import_is_replaced_only_on_request(folders, tmp_path):
    out = tmp_path / "ours"
    import_folders(HARBOR, [folders / "hello"], out)
    (out / "hello" / "instruction.md").write_text("mine\n")
    again = import_folders(HARBOR, [folders / "hello"], out)
    assert again.written == []
    assert "already exists" in again.rejections[0].what
    assert (out / "hello" / "instruction.md").read_text() == "mine\n"
    assert import_folders(HARBOR, [folders / "hello"], out, replace=True).written == [out / "hello"]
    assert read_draft(out / "hello").instruction == "Write `hello` into hello.txt.\n"


def test_modes_are_kept(folders, tmp_path):
    (task,) = import_folders(HARBOR, [folders / "hello"], tmp_path / "ours").written
    assert (task / "tests" / "test.sh").stat().st_mode & 0o777 == 0o755
    assert (task / "environment" / "notes.txt").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("source", ["nothing", "empty"])
def test_a_source_without_a_task_is_wrong_usage(tmp_path, source):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"task\.toml"):
        import_folders(HARBOR, [tmp_path / source], tmp_path / "ours")


CORPUS = Path(__file__).parent / "harbor_corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())
TASKS = {file.parent.name for file in CORPUS.glob("*/task.toml")}
NEVER_JUDGED = {"28-unhealthy", "29-unset-variable"}


def test_every_task_has_harbors_results_or_a_note():
    assert TASKS - set(EXPECTED["tasks"]) == TASKS & set(EXPECTED["notes"])
    assert set(EXPECTED["tasks"]) <= TASKS
    assert len(EXPECTED["tasks"]) >= 25


@pytest.mark.parametrize("task", sorted(EXPECTED["tasks"]))
def test_only_the_solution_has_the_full_reward(task):
    of = {agent: judged["rewards"] for agent, judged in EXPECTED["tasks"][task].items()}
    assert of.keys() == {"oracle", "nop", "wrong"}
    if task in NEVER_JUDGED:
        assert set(of.values()) == {None}
    else:
        assert of["oracle"] not in (None, of["nop"], of["wrong"])


@pytest.mark.parametrize("task", sorted(TASKS))
def test_each_task_has_the_files_that_a_run_needs(task):
    folder = CORPUS / task
    for file in ("wrong/solve.sh", "environment"):
        assert (folder / file).exists(), file
    assert list(folder.glob("**/tests/test.sh"))
    assert list(folder.glob("**/solution/solve.sh"))
