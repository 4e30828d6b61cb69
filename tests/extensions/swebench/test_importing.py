import json
import tomllib

import pytest

from agentbench.errors import InputError, UsageError
from agentbench.extensions.swebench.environments import EnvironmentSources
from agentbench.extensions.swebench.importing import ImportSelection, clone_url, is_local
from agentbench.extensions.swebench.recipes import InstallRecipe, InstallRecipes
from agentbench.extensions.swebench.report import reported_instances
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore
from agentbench.tasks.dataset_rows import ORIGIN_FILE, SwebenchOrigin, origin_json, read_origin
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.e2e.small_task import patch_of
from tests.extensions.swebench.conftest import import_all
from tests.extensions.swebench.instances import ID
from tests.runs.records import configuration, failed, resolved

pytestmark = pytest.mark.full


@pytest.mark.parametrize("name", ["acme/x", "acme/x.git", "acme__x", "acme__x.git"])
def test_a_clone_is_found_under_each_of_the_usual_names(tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    url = clone_url("acme/x", tmp_path)
    assert url == (tmp_path / name).as_uri()
    assert is_local(url)


def test_a_folder_with_blanks_in_its_name_gives_a_url_without(tmp_path):
    (tmp_path / "my mirrors" / "acme" / "x").mkdir(parents=True)
    assert " " not in clone_url("acme/x", tmp_path / "my mirrors")


@pytest.mark.parametrize("with_folder", [False, True])
def test_missing_clone_gives_url_of_github(tmp_path, with_folder):
    url = clone_url("acme/x", tmp_path if with_folder else None)
    assert url == "https://github.com/acme/x.git"
    assert not is_local(url)


def test_run_gives_last_record_of_first_attempts(tmp_path):
    origin = SwebenchOrigin(instance_id="One__x-1", repo="One/x", fail_to_pass=("t.py::a",))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ORIGIN_FILE).write_bytes(origin_json(origin))
    names = ("one", "gone", "unmade")
    tasks = tuple(TaskEntry(id=n, folder=str(tmp_path / n), digest="d") for n in names)
    store = RunStore.create(tmp_path / "runs", configuration(attempts=2, tasks=tasks))
    for record in (
        failed(task_id="one"),
        resolved(task_id="one", retry_of=1),
        failed(task_id="one", attempt=2),
        failed(task_id="gone"),
    ):
        folder, _ = store.attempt_folder(record.task_id, record.attempt)
        store.append(record, folder)
    one, gone, unmade = reported_instances(ReportedRun.read(store.folder))
    assert (one.instance_id, one.record.resolved, one.origin) == ("One__x-1", True, origin)
    assert (gone.instance_id, gone.record.resolved, gone.origin) == ("gone", False, None)
    assert (unmade.instance_id, unmade.record) == ("unmade", None)


GIT = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
LINK = """\
diff --git a/escape b/escape
new file mode 120000
--- /dev/null
+++ b/escape
@@ -0,0 +1 @@
+/etc/passwd
\\ No newline at end of file
"""


def test_an_instance_becomes_a_task_that_loads(take, project, tmp_path):
    imported = take(project.instance())
    assert (imported.rejections, imported.without_node_ids) == ([], [])
    (folder,) = imported.written
    assert folder == tmp_path / "tasks" / "acme__counting-7"
    task = load_task(folder, mirrors=Mirrors(tmp_path / "mirrors"))
    assert task.source.url == project.origin.url
    assert task.source.commit == project.base_commit
    assert task.problem.title == "The last item is lost"
    assert task.answer_key.fail_to_pass == ("tests/test_counting.py::test_last[one]",)
    assert task.answer_key.pass_to_pass == ("tests/test_counting.py::test_first",)
    assert task.answer_key.solution_patch.decode() == project.patch
    assert task.answer_key.tests_patch.decode() == project.test_patch
    assert task.problem.test_paths == (), "an agent is not told which files bear the hidden tests"


def test_origin_has_id_and_names_of_instance(take, project):
    (folder,) = take(project.instance()).written
    origin = read_origin(folder)
    assert (origin.instance_id, origin.repo, origin.version) == (ID, project.repo, "1.0")
    assert origin.fail_to_pass == ("tests/test_counting.py::test_last[one]",)
    assert origin.test_files == ("tests/test_counting.py",)
    assert "items[-1]" not in (folder / "swebench.json").read_text()


@pytest.mark.parametrize(
    ("tag", "version", "given"),
    [
        (None, "1.0", "1.0"),
        (None, "1.0'; touch x", None),
        (None, "", None),
        ("v0.9", "1.0", None),
    ],
)
def test_untagged_version_is_set_in_set_up(take, project, tag, version, given):
    if tag is not None:
        project.origin.git("tag", tag, project.base_commit)
    recipes = InstallRecipes(recipe=(InstallRecipe(repo=project.repo, install="make"),))
    sources = EnvironmentSources(own=[recipes])
    (folder,) = take(project.instance(version=version), sources=sources).written
    commands = tomllib.loads((folder / "task.toml").read_text())["setup"]["commands"]
    exported = "" if given is None else f"export SETUPTOOLS_SCM_PRETEND_VERSION={given}; "
    assert commands == [f"{exported}make"]


def test_truncated_names_are_recognised(take, project):
    names = ["tests/test_counting.py::test_last[two", "tests/test_counting.py::test_last[one]"]
    imported = take(project.instance(FAIL_TO_PASS=names))
    assert imported.without_node_ids == list(imported.written)
    listed = tomllib.loads((imported.without_node_ids[0] / "task.toml").read_text())["tests"]
    assert listed["fail_to_pass"] == ["tests/test_counting.py::test_last[one]"]


def test_bug_of_swe_smith_is_reversed(take, project, tmp_path):
    (folder,) = take(project.smith()).written
    assert not (folder / "repo" / "tests" / "test_counting.py").exists()
    assert "items[-2]" in (folder / "repo" / "counting.py").read_text()
    task = load_task(folder, mirrors=Mirrors(tmp_path / "mirrors"))
    assert b"+    return items[-1]" in task.answer_key.solution_patch
    assert b"+++ b/tests/test_counting.py" in task.answer_key.tests_patch
    assert task.problem.instruction.startswith("Some tests of swesmith/")


NUL = "its name\0"
TRICKS = {
    "above": GIT.format("../../outside.py"),
    "absolute": GIT.format("/etc/passwd"),
    "git's own": GIT.format(".git/hooks/post-checkout"),
    "git's own, in other letters": GIT.format("sub/.GIT/config"),
    "a symlink": LINK,
    "an option": GIT.format("--output=x"),
}
BROKEN = [
    ({"instance_id": ...}, "instance_id", "is missing"),
    ({"instance_id": ""}, "instance_id", "is empty"),
    ({"instance_id": 7}, "instance_id", "7 is not a string"),
    ({"instance_id": "x" * 101}, "instance_id", "is longer than 100 characters"),
    ({"instance_id": "__"}, "instance_id", "'__' is not valid as a task id"),
    ({"repo": ...}, "repo", "is missing"),
    ({"repo": "counting"}, "repo", "'counting' is not an owner/name"),
    ({"repo": "acme/.."}, "repo", "'acme/..' is not an owner/name"),
    ({"repo": "../acme"}, "repo", "'../acme' is not an owner/name"),
    ({"repo": "--upload-pack=touch/x"}, "repo", "is not an owner/name"),
    ({"repo": "acme/counting/more"}, "repo", "is not an owner/name"),
    ({"base_commit": ...}, "base_commit", "is missing"),
    ({"base_commit": "main"}, "base_commit", "'main' is not a full hash of 40 hex digits"),
    ({"base_commit": "a" * 39}, "base_commit", "is not a full hash"),
    ({"base_commit": "0" * 40}, "base_commit", f"has no commit {'0' * 40}"),
    ({"patch": ...}, "patch", "is missing"),
    ({"patch": ""}, "patch", "is empty"),
    ({"patch": 3}, "patch", "3 is not a string"),
    ({"patch": "mend it"}, "patch", "is not a git patch"),
    ({"patch": GIT.format("counting.py")}, "patch", "does not apply to the base commit"),
    ({"patch": f"{GIT.format('x')}\0"}, "patch", "contains a NUL"),
    ({"patch": "diff --git \ud800"}, "patch", "unable to parse raw data as a unicode string"),
    ({"test_patch": ...}, "test_patch", "is missing"),
    ({"test_patch": GIT.format("gone.py")}, "test_patch", "does not apply to the base commit"),
    ({"problem_statement": " \n"}, "problem_statement", "is missing"),
    ({"problem_statement": NUL}, "problem_statement", "contains a NUL"),
    ({"problem_statement": "\ud800"}, "problem_statement", "half of a surrogate pair"),
    ({"FAIL_TO_PASS": ...}, "FAIL_TO_PASS", "is missing"),
    ({"FAIL_TO_PASS": "['tests/a.py::a'"}, "FAIL_TO_PASS", "is not JSON"),
    ({"FAIL_TO_PASS": "[__import__('os')]"}, "FAIL_TO_PASS", "is not JSON"),
    ({"FAIL_TO_PASS": "[" * 100_000}, "FAIL_TO_PASS", "is not JSON"),
    ({"FAIL_TO_PASS": "a.py::x[1], a.py::x[2]"}, "FAIL_TO_PASS", "is not JSON"),
    ({"FAIL_TO_PASS": "test_a, test_b"}, "FAIL_TO_PASS", "is not JSON"),
    ({"FAIL_TO_PASS": {"a.js": ["x"]}}, "FAIL_TO_PASS", "expected lists of names by file"),
    ({"FAIL_TO_PASS": {"a.py": "x"}}, "FAIL_TO_PASS", "expected lists of names by file"),
    ({"FAIL_TO_PASS": None}, "FAIL_TO_PASS", "found none"),
    ({"FAIL_TO_PASS": " "}, "FAIL_TO_PASS", "found none"),
    ({"FAIL_TO_PASS": ["a.py::\ud800"]}, "FAIL_TO_PASS.0", "unicode"),
    ({"FAIL_TO_PASS": list(range(5000))}, "FAIL_TO_PASS.0", "0 is not a string"),
    ({"FAIL_TO_PASS": ..., "PASS_TO_PASS": ...}, "FAIL_TO_PASS", "no test judges this instance"),
    ({"PASS_TO_PASS": ...}, "PASS_TO_PASS", "is missing"),
    ({"PASS_TO_PASS": [None]}, "PASS_TO_PASS.0", "None is not a string"),
    ({"version": True}, "version", "True is not a string"),
    ({"version": ["1"]}, "version", "is not a string"),
    ({"version": "1\0"}, "version", "contains a NUL"),
    ({"test_cmds": 7}, "test_cmds", "7 is not a list"),
    ({"test_cmds": ["a", None]}, "test_cmds.1", "None is not a string"),
    ({"install_config": []}, "install_config", "is not a table"),
    ({"install_config": {"python": 3.1}}, "install_config.python", "3.1 is not a string"),
    ({"install_config": {"env_vars": [1]}}, "install_config.env_vars", "is not a table"),
    ({"install_config": {"pre_install": [1]}}, "install_config.pre_install.0", "1 is not a string"),
    ({"docker_image": ["x"]}, "docker_image", "is not a string"),
    ({"language": 7}, "language", "7 is not a string"),
    ({"instance_id": "../../etc/passwd"}, "instance_id", "is not valid as a task id"),
    ({"instance_id": "/etc/passwd"}, "instance_id", "is not valid as a task id"),
    ({"instance_id": ".."}, "instance_id", "is not valid as a task id"),
    ({"instance_id": "a\0b"}, "instance_id", "contains a NUL"),
    ({"patch": f"{'x' * 3_000_000}"}, "patch", "is not a git patch"),
    ({"FAIL_TO_PASS": '["a.py::a'}, "FAIL_TO_PASS", "is not JSON"),
    ({"FAIL_TO_PASS": "{}"}, "FAIL_TO_PASS", "found none"),
    ({"FAIL_TO_PASS": 5}, "FAIL_TO_PASS", "expected a list of names"),
    ({"FAIL_TO_PASS": []}, "FAIL_TO_PASS", "found none"),
    ({"FAIL_TO_PASS": ["a.py::a", 2]}, "FAIL_TO_PASS.1", "2 is not a string"),
    ({"FAIL_TO_PASS": ["test_a (app.tests.Case)"]}, "FAIL_TO_PASS", "is not a pytest test"),
    ({"FAIL_TO_PASS": ["should add a, b"]}, "FAIL_TO_PASS", "is not a pytest test"),
    ({"PASS_TO_PASS": "nothing"}, "PASS_TO_PASS", "is not JSON"),
    ({"install_config": "{"}, "install_config", "is not JSON"),
    ({"log_parser": "parse_log_django"}, "log_parser", "does not read logs of pytest"),
    ({"repo_language": "go"}, "language", "'go', and no recipe says how its tests run"),
    *(({"patch": patch}, "patch", "") for patch in TRICKS.values()),
    *(({"test_patch": patch}, "test_patch", "") for patch in TRICKS.values()),
]


@pytest.mark.parametrize(("changes", "field", "what"), BROKEN)
def test_invalid_instance_is_rejected_and_others_imported(
    take, project, tmp_path, changes, field, what
):
    wrong = project.instance(**{"instance_id": "Acme__counting-8", **changes})
    imported = take(wrong, project.instance())
    assert [folder.name for folder in imported.written] == ["acme__counting-7"]
    (refusal,) = imported.rejections
    assert (refusal.where, refusal.field) == (f"{tmp_path}/in.jsonl:1", field)
    if isinstance(wrong.get("instance_id"), str):
        assert wrong["instance_id"].startswith(refusal.instance)
    assert what in refusal.what
    assert "\n" not in str(refusal)
    assert sorted(path.name for path in (tmp_path / "tasks").iterdir()) == ["acme__counting-7"]


@pytest.mark.parametrize("field", ["patch", "test_patch"])
def test_patch_with_crlf_lines_is_converted(take, project, field):
    crlf = getattr(project, field).replace("\n", "\r\n")
    (folder,) = take(project.instance(**{field: crlf})).written
    stored = {"patch": "solution.patch", "test_patch": "tests.patch"}[field]
    assert (folder / stored).read_text() == getattr(project, field)


@pytest.mark.parametrize("field", ["patch", "test_patch"])
def test_patch_with_some_crlf_lines_is_named(take, project, field):
    mixed = getattr(project, field).replace("\n", "\r\n").removesuffix("\r\n") + "\n"
    (refusal,) = take(project.instance(**{field: mixed})).rejections
    assert (refusal.field, refusal.what.partition(";")[0]) == (field, "its lines end in CRLF")


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 1},
        {"FAIL_TO_PASS": "['tests/test_counting.py::test_last[one]']"},
        {"FAIL_TO_PASS": {"tests/test_counting.py": ["test_last[one]"]}},
        {"FAIL_TO_PASS": ["tests/test_counting.py::test_last[one]"] * 2},
        {"PASS_TO_PASS": None},
        {"PASS_TO_PASS": "tests/test_counting.py::test_first"},
        {"install_config": ""},
        {"patch": "strip"},
    ],
)
def test_fields_are_read_in_all_known_forms(take, project, changes):
    if changes == {"patch": "strip"}:
        changes = {"patch": project.patch.removesuffix("\n")}
    (folder,) = take(project.instance(**changes)).written
    listed = tomllib.loads((folder / "task.toml").read_text())["tests"]
    assert listed["fail_to_pass"] == ["tests/test_counting.py::test_last[one]"]


def test_the_instance_in_a_row_of_nemo_gym_is_read(take, project):
    inner = json.dumps(project.instance())
    row = {"responses_create_params": {"metadata": {"instance_dict": inner}}, "agent_ref": {}}
    assert [folder.name for folder in take(row).written] == ["acme__counting-7"]
    imported = take(row, instances=frozenset({"Acme__*"}), replace=True)
    assert (len(imported.written), imported.rejections) == (1, [])


FOREIGN = [
    ({"instance_id": "a-1", "trajectory": []}, "is the trajectory of an agent; import the data"),
    ({"uuid": "x", "messages": [], "tools": []}, "is the trajectory of an agent; import the data"),
    ({"repo_name": "a", "commit_hash": "0", "expected_output_json": "{}"}, "is a row of R2E-Gym"),
    ({"org": "a", "repo": "b", "fix_patch": ""}, "is a row of Multi-SWE-bench"),
    ({"instance_id": "a-1", "patch": "", "F2P": "[]"}, "is a row of SWE-PolyBench"),
    ({"instance_id": "a-1", "model_patch": "x"}, "is a prediction; judge it with `agentbench run"),
    ({"responses_create_params": "{"}, "found 'responses_create_params'"),
    (
        {"responses_create_params": {"metadata": {"instance_dict": "["}}},
        "expected the fields of an",
    ),
    ({}, "expected the fields of an instance, such as instance_id; found none"),
    ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}, "found 'a', 'b', 'c', 'd', 'e' and 1 more"),
]


@pytest.mark.parametrize(("row", "what"), FOREIGN)
def test_row_that_is_no_instance_is_rejected(take, project, row, what):
    imported = take(row, project.instance())
    assert len(imported.written) == 1
    (refusal,) = imported.rejections
    assert what in str(refusal)


def test_row_in_another_language_is_imported_with_the_runner_of_its_recipe(take, project):
    recipe = InstallRecipe(repo=project.repo, runner="go", test_command="go test ./...", install="")
    row = project.instance(
        patch=patch_of("src/a.go", "", "package a\n"),
        test_patch=patch_of("src/a_test.go", "", "package a\n") + patch_of("src/data", "", "1\n"),
        FAIL_TO_PASS=["TestSum/three"],
        PASS_TO_PASS=[],
    )
    imported = take(row, sources=EnvironmentSources(own=[InstallRecipes(recipe=(recipe,))]))
    assert imported.rejections == []
    (folder,) = imported.written
    assert imported.without_node_ids == [folder]  # its tests are found by running them
    table = tomllib.loads((folder / "task.toml").read_text())
    assert (table["tests"]["runner"], table["tests"]["command"]) == ("go", "go test ./...")
    origin = read_origin(folder)
    assert origin is not None
    assert origin.test_files == ("src/a_test.go",)


def test_row_of_v2_in_another_language_is_imported_with_its_own_command(take, project):
    row = project.instance(
        patch=patch_of("src/a.go", "", "package a\n"),
        test_patch=patch_of("src/a_test.go", "", "package a\n") + patch_of("src/data", "", "1\n"),
        FAIL_TO_PASS=["TestSum/three"],
        PASS_TO_PASS=[],
        language="go",
        image_name="docker.io/swerebenchv2/acme-counting:7-0a1b2c3",
        install_config={"install": ["go mod download"], "test_cmd": ["go test -v ./..."]},
    )
    imported = take(row, sources=EnvironmentSources())
    assert imported.rejections == []
    (folder,) = imported.written
    table = tomllib.loads((folder / "task.toml").read_text())
    assert (table["tests"]["runner"], table["tests"]["command"]) == ("go", "go test -v ./...")
    origin = read_origin(folder)
    assert origin is not None
    assert origin.test_files == ("src/a_test.go",)


def test_row_of_v2_whose_command_needs_a_recipe_is_rejected_in_one_line(take, project):
    config = {"install": ["npm ci"], "test_cmd": ["npm test", "cat report.txt"]}
    row = project.instance(language="js", install_config=config, image_name="x/y:z")
    (refusal,) = take(row, sources=EnvironmentSources()).rejections
    assert refusal.what == "'js', and no recipe says how its tests run; give one with --recipes"
    config["test_cmd"] = ["npx jest --verbose", "npm test"]
    row = project.instance(language="js", install_config=config, image_name="x/y:z")
    (refusal,) = take(row, sources=EnvironmentSources()).rejections
    assert refusal.what.startswith("install_config.test_cmd is 'npm test', and agentbench judges")


def test_row_in_another_language_is_rejected(take, project):
    row = project.instance(
        instance_id="chart__chart-1",
        patch=GIT.format("src/a.js"),
        test_patch=GIT.format("test/b.ts"),
        FAIL_TO_PASS=["adds numbers"],
    )
    imported = take(row, project.instance())
    assert len(imported.written) == 1
    (refusal,) = imported.rejections
    assert (refusal.instance, refusal.field) == ("chart__chart-1", "language")
    assert refusal.what == (
        "its patches touch only .js, .ts files, and no recipe says how its tests run; give one "
        "with --recipes"
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"instance_id": "x", "repo": ', "is not JSON"),
        ("[]", "expected an object, found []"),
        ("null", "expected an object, found null"),
        (b"\xff\xfe{}", "is not JSON"),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        ("[" * 100_000, "is not JSON"),
        (b"\0\0\0\0", "is not JSON"),
    ],
)
def test_malformed_line_is_rejected_with_number(take, project, tmp_path, line, what):
    imported = take("", line, project.instance())
    assert len(imported.written) == 1
    (refusal,) = imported.rejections
    assert refusal.where == f"{tmp_path}/in.jsonl:2", "empty lines are passed over, and counted"
    assert refusal.what.startswith(what)


def test_lines_that_end_in_crlf_are_lines(take, project):
    line = json.dumps(project.instance())
    assert len(take(f"{line}\r").written) == 1


@pytest.mark.parametrize("second", [ID, ID.lower()])
def test_first_of_duplicate_instances_is_imported(take, project, tmp_path, second):
    imported = take(project.instance(), project.instance(instance_id=second))
    assert len(imported.written) == 1
    (refusal,) = imported.rejections
    assert str(refusal) == (
        f"{tmp_path}/in.jsonl:2: {second}: instance_id: "
        f"{tmp_path}/in.jsonl:1 already has an instance of this id; each needs its own"
    )


def test_all_faults_of_an_instance_are_reported(take, project):
    refused = take(project.instance(base_commit="x", repo="y", FAIL_TO_PASS=3)).rejections
    assert {refusal.field for refusal in refused} == {"base_commit", "repo", "FAIL_TO_PASS"}


def test_only_requested_instances_are_imported(take, project, tmp_path):
    other = project.instance(instance_id="Acme__counting-8", repo="wrong")
    imported = take(other, project.instance(), instances=frozenset({ID, "gone-1"}))
    assert len(imported.written) == 1
    assert [str(each) for each in imported.rejections] == [
        f"{tmp_path}/in.jsonl: gone-1: the data has no instance with this id"
    ]


def test_limit_of_instances_holds(take, project):
    entries = [project.instance(instance_id=f"a__b-{number}") for number in range(3)]
    wrong = project.instance(instance_id="a__b-9", patch="")
    imported = take(wrong, *entries, limit=2)
    assert [folder.name for folder in imported.written] == ["a__b-0", "a__b-1"]


def test_existing_task_is_replaced_only_on_request(take, project):
    (folder,) = take(project.instance()).written
    (refusal,) = take(project.instance()).rejections
    assert refusal.what == f"{folder} already exists; give another --out, or --replace"
    (again,) = take(project.instance(version="2.0"), replace=True).written
    assert read_origin(again).version == "2.0"


def test_instance_without_environment_is_rejected(take, project):
    (refusal,) = take(project.instance(), sources=EnvironmentSources()).rejections
    assert (refusal.field, refusal.what) == (
        "repo",
        "no recipe for Acme/counting 1.0; give one with --recipes, an image with "
        "--image-template, or find the set-up by trying with --detect",
    )


def test_a_folder_that_is_no_repository_is_refused_by_name(take, project, repos):
    project.origin.path.rename(repos / "elsewhere")
    project.origin.path.mkdir()
    (refusal,) = take(project.instance()).rejections
    assert refusal.field == "repo"
    assert refusal.what.startswith("cannot be cloned: file://")


def test_url_of_github_is_used_and_not_fetched(project, take):
    (folder,) = take(project.instance(base_commit="1" * 40), repos=None).written
    repo = tomllib.loads((folder / "task.toml").read_text())["repo"]
    assert repo == {"url": "https://github.com/Acme/counting.git", "commit": "1" * 40}


def test_a_bug_that_does_not_apply_is_refused(take, project):
    (refusal,) = take(project.smith(patch=GIT.format("counting.py"))).rejections
    assert refusal.field == "patch"
    assert refusal.what.startswith("does not apply to the base commit: ")


def test_bug_without_tests_is_rejected(take, project):
    (refusal,) = take(project.smith(FAIL_TO_PASS=["tests/test_gone.py::test_a"])).rejections
    assert refusal.field == "patch"
    assert "tests/test_gone.py" in refusal.what


def test_unknown_or_missing_file_is_an_error(tmp_path):
    choice, mirrors = ImportSelection(out=tmp_path), Mirrors(tmp_path / "mirrors")
    with pytest.raises(UsageError, match=r"expected a name that ends in \.jsonl"):
        import_all(tmp_path / "in.csv", choice, mirrors)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        import_all(tmp_path / "in.jsonl", choice, mirrors)


def test_the_three_kinds_of_files_give_the_same(project, tmp_path, sources, repos):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    rows = [project.instance(), project.instance(instance_id="a__b-2")]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "in.json").write_text(json.dumps(rows))
    (tmp_path / "dict.json").write_text(json.dumps({row["instance_id"]: row for row in rows}))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    created = []
    for name in ("in.jsonl", "in.json", "dict.json", "in.parquet"):
        out = tmp_path / name.replace(".", "-")
        choice = ImportSelection(out=out, repos=repos, sources=sources)
        imported = import_all(tmp_path / name, choice, Mirrors(tmp_path / "mirrors"))
        assert imported.rejections == []
        created.append(
            {p.relative_to(out): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
        )
    assert created[0]
    assert all(each == created[0] for each in created)


def test_local_repository_is_not_changed(take, project):
    before = project.origin.git("for-each-ref"), project.origin.git("count-objects")
    take(project.instance())
    take(project.smith())
    assert (project.origin.git("for-each-ref"), project.origin.git("count-objects")) == before
