import os
import tomllib
from pathlib import Path

import pytest

from agentbench.errors import InputError
from agentbench.tasks.loading import load_task, load_tasks, read_draft, read_suite
from agentbench.tasks.task_file import is_git_bundle
from tests.tasks.folders import CODE, FIX, TESTS, TOML
from tests.tasks.origins import listing


@pytest.fixture
def suite(tmp_path):
    for name in ("tasks/a-1", "tasks/a-2", "tasks/b", "other/c"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tasks/a-readme.md").write_text("not a task")
    (tmp_path / "suites").mkdir()
    return tmp_path / "suites" / "suite.toml"


def members(suite, text):
    suite.write_text(text)
    root = suite.parent.parent.resolve()
    return [str(path.resolve().relative_to(root)) for path in read_suite(suite)]


def test_entries_are_relative_to_the_file_and_keep_its_order(suite):
    named = members(suite, 'tasks = ["../tasks/b", "../tasks/a-*", "../other/c"]')
    assert named == ["tasks/b", "tasks/a-1", "tasks/a-2", "other/c"]


def test_suite_may_name_absolute_and_own_folder(suite):
    folder = suite.parent.parent / "tasks" / "b"
    assert members(suite, f'tasks = ["{folder}", "."]') == ["tasks/b", "suites"]


def test_every_entry_that_matches_no_folder_is_named(suite):
    suite.write_text(
        'tasks = ["../tasks/z*", 3, "", "../tasks/a-readme.md", "x**y", "/a*", "\\u0000", "b"]'
    )
    with pytest.raises(InputError) as caught:
        read_suite(suite)
    assert [fault.split("tasks: ")[1] for fault in caught.value.faults] == [
        f"{entry!r} matches no folder"
        for entry in ("../tasks/z*", 3, "", "../tasks/a-readme.md", "x**y", "/a*", "\0", "b")
    ]


def test_suite_that_names_itself_is_refused(suite):
    suite.write_text('tasks = ["suite.toml"]')
    with pytest.raises(InputError, match=r"'suite\.toml' matches no folder"):
        read_suite(suite)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks = [", "not a suite file"),
        (f"tasks = {'9' * 5000}", "not a suite file"),
        (f"tasks = {'[' * 5000}", "not a suite file"),
        ("", r"expected one key, tasks = \[paths\], found none"),
        ("tasks = []\nname = 1", "found name, tasks"),
        ("tasks = 'a'", r"expected one key, tasks = \[paths\]"),
        ("tasks = []", "names no folder"),
    ],
)
def test_malformed_suite_is_refused(suite, text, said):
    suite.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_suite(suite)
    assert str(caught.value).startswith(f"{suite}: ")


def test_binary_suite_is_refused(suite):
    suite.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a suite file"):
        read_suite(suite)


CATALOGUE = Path(__file__).parents[2] / "tasks"


def faults(*paths, mirrors):
    with pytest.raises(InputError) as caught:
        load_tasks(paths, mirrors=mirrors)
    return caught.value.faults


def test_a_folder_becomes_a_task(task_folder, mirrors):
    folder = task_folder(toml=f'{TOML}[tests]\nfail_to_pass = ["test_code.py::test_last"]\n')
    task = load_task(folder, mirrors=mirrors)
    assert (task.id, task.folder, task.problem.title) == ("off-by-one", folder, "Last item is lost")
    assert task.problem.instruction == "The last item is lost.\n"
    assert task.source.files == folder / "repo"
    assert task.answer_key.tests_patch == TESTS.encode()
    assert task.answer_key.solution_patch == FIX.encode()
    assert task.answer_key.fail_to_pass == ("test_code.py::test_last",)
    assert listing(mirrors.of(task.source).path, "HEAD") == ["100644 blob code.py"]


def test_problem_has_no_part_of_the_answer(task_folder, mirrors):
    task = load_task(
        task_folder(
            toml=f'{TOML}[tests]\nfail_to_pass = ["secret.py::x"]\nprotected = ["secret"]\n'
        ),
        mirrors=mirrors,
    )
    assert "secret" not in task.problem.model_dump_json()
    assert "items[-1]" not in task.problem.model_dump_json()


def test_digest_ignores_debris(task_folder, mirrors):
    folder = task_folder()
    before = load_task(folder, mirrors=mirrors).digest
    (folder / "repo" / "__pycache__").mkdir()
    (folder / "repo" / "__pycache__" / "code.pyc").write_bytes(b"x")
    assert load_task(folder, mirrors=mirrors).digest == before
    (folder / "instruction.md").write_text("The last item is missing.\n")
    assert load_task(folder, mirrors=mirrors).digest != before


def test_a_task_without_patches_has_empty_ones(task_folder, mirrors):
    task = load_task(task_folder(patches={}), mirrors=mirrors)
    assert (task.answer_key.tests_patch, task.answer_key.solution_patch) == (b"", b"")


def test_url_is_not_fetched_when_loading(task_folder, mirrors):
    toml = TOML.replace(
        'path = "repo"', f'url = "https://host.invalid/a.git"\ncommit = "{"a" * 40}"'
    )
    task = load_task(task_folder(toml=toml), mirrors=mirrors)
    assert (task.source.url, task.source.commit) == ("https://host.invalid/a.git", "a" * 40)


def test_bundle_is_found_in_task_folder(task_folder, mirrors, origin):
    commit = origin.commit()
    toml = TOML.replace('path = "repo"', f'url = "o.bundle"\ncommit = "{commit}"')
    folder = task_folder(toml=toml)
    (fault,) = faults(folder, mirrors=mirrors)
    assert fault == f"{folder}/task.toml: repo.url: {folder}/o.bundle is not a file"
    origin.git("bundle", "create", "--quiet", str(folder / "o.bundle"), "main")
    task = load_task(folder, mirrors=mirrors)
    assert task.source.url == str(folder / "o.bundle")
    assert mirrors.of(task.source).has_commit


@pytest.mark.parametrize(
    "ways", ["tasks", "tasks/b tasks/a", "suite.toml", "tasks suite.toml tasks/./a"]
)
def test_each_task_is_loaded_once(task_folder, mirrors, tmp_path, ways):
    task_folder("a"), task_folder("b")
    (tmp_path / "suite.toml").write_text('tasks = ["tasks/*", "tasks/../tasks/b"]')
    found = load_tasks([tmp_path / way for way in ways.split()], mirrors=mirrors)
    assert sorted(task.id for task in found.tasks) == ["a", "b"]
    assert found.warnings == ()


def test_a_folder_without_a_task_is_named_in_a_warning(task_folder, mirrors, tmp_path):
    task_folder("a")
    for name in ("draft", ".git", "__pycache__"):
        (tmp_path / "tasks" / name).mkdir()
    (tmp_path / "empty").mkdir()
    found = load_tasks([tmp_path / "tasks", tmp_path / "empty"], mirrors=mirrors)
    assert found.warnings == (
        f"{tmp_path}/tasks/draft: contains no task.toml, skipped",
        f"{tmp_path}/empty: contains no task, skipped",
    )


def test_a_listed_test_that_no_file_has_is_named_in_a_warning(task_folder, mirrors, tmp_path):
    listed = '[tests]\nfail_to_pass = ["test_code.py::test_last[1]", "test_code.py::test_lasst"]\n'
    task_folder("a", toml=f"{TOML}{listed}")
    (warning,) = load_tasks([tmp_path / "tasks"], mirrors=mirrors).warnings
    assert "not found in the files, with the hidden tests: test_code.py::test_lasst;" in warning


def test_duplicate_ids_are_refused(task_folder, mirrors, tmp_path):
    task_folder("a", toml=TOML.replace("[repo]", 'id = "same"\n[repo]'))
    task_folder("b", toml=TOML.replace("[repo]", 'id = "same"\n[repo]'), instruction=" \n")
    found = faults(tmp_path / "tasks", mirrors=mirrors)
    where = f"{tmp_path}/tasks/a, {tmp_path}/tasks/b"
    assert found == (
        f"{tmp_path}/tasks/b/instruction.md: is empty; it holds the instruction for the agent",
        f"same: more than one task has this id: {where}; give each its own",
    )


def test_all_faults_of_all_tasks_are_reported_at_once(task_folder, mirrors, tmp_path):
    task_folder("a", toml=f"{TOML}[tests]\ntimeout_s = -3\npats = []\n", instruction=None)
    task_folder(
        "b", patches={"tests.patch": "nonsense", "solution.patch": FIX.replace("code", "gone")}
    )
    (tmp_path / "suite.toml").write_text("tasks = [1]")
    found = faults(tmp_path / "tasks", tmp_path / "suite.toml", mirrors=mirrors)
    root = tmp_path / "tasks"
    assert [fault.split(": ")[0] for fault in found] == [
        f"{root}/a/task.toml",
        f"{root}/a/task.toml",
        f"{root}/a/instruction.md",
        f"{root}/b/tests.patch",
        f"{root}/b/solution.patch",
        f"{tmp_path}/suite.toml",
    ]
    assert f"{root}/a/task.toml: tests.timeout_s: -3 is not above 0" in found


@pytest.mark.parametrize("name", ["Upper", "-dash", "sp ace"])
def test_invalid_folder_name_needs_id_in_file(task_folder, mirrors, name):
    (fault,) = faults(task_folder(name), mirrors=mirrors)
    assert "task.toml: id: the folder's name is not a valid id" in fault


@pytest.mark.parametrize("patch", ["tests.patch", "solution.patch"])
def test_patch_that_does_not_apply_is_refused(task_folder, mirrors, patch):
    folder = task_folder(files={"code.py": CODE.replace("items", "things")}, patches={patch: FIX})
    (fault,) = faults(folder, mirrors=mirrors)
    said = "does not apply to the base commit: error: patch failed: code.py:1; "
    assert fault == f"{folder}/{patch}: {said}error: code.py: patch does not apply"


HEAD, HUNK = FIX[: FIX.index("@@")], FIX[FIX.index("@@") :]
LINK = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n"
MODULE = LINK.replace("120000", "160000").replace("+x\n", f"+Subproject commit {'1' * 40}\n")


@pytest.mark.parametrize("name", ["tests.patch", "solution.patch"])
@pytest.mark.parametrize(
    ("patch", "fault"),
    [
        (FIX.rstrip("\n"), "lacks its last line feed; add one"),
        (FIX.replace("\n", "\r\n"), "has lines that end in CRLF, and the files have LF"),
        (FIX.replace("\n", "\r\n").rstrip(), "has lines that end in CRLF, and the files have LF"),
        (HEAD + HUNK.replace("\n", "\r\n"), "has lines that end in CRLF, and the files have LF"),
        (FIX + LINK, "makes l a symlink; a task's patches may only change regular files"),
        (FIX + MODULE, "makes l a submodule; a task's patches may only change regular files"),
        ("nonsense", "does not apply to the base commit: error: No valid patches in input"),
    ],
)
def test_malformed_line_ends_of_patch_are_named(task_folder, mirrors, patch, fault, name):
    folder = task_folder()
    (folder / name).write_bytes(patch.encode())
    (found,) = faults(folder, mirrors=mirrors)
    assert found.startswith(f"{folder}/{name}: {fault}")


@pytest.mark.parametrize("name", ["task.toml", "instruction.md"])
def test_file_with_other_encoding_is_refused(task_folder, mirrors, name):
    folder = task_folder()
    (folder / name).write_bytes(b"title = '\xe4'\n")
    (fault,) = faults(folder, mirrors=mirrors)
    assert fault.startswith(f"{folder}/{name}: cannot be read as UTF-8 text: ")


def test_instruction_with_nul_is_refused(task_folder, mirrors):
    (fault,) = faults(task_folder(instruction="a\0b"), mirrors=mirrors)
    assert fault.endswith(
        "instruction.md: contains a NUL character, which no command line can hold"
    )


@pytest.mark.parametrize(
    ("repo", "said"),
    [
        ("gone", "gone is not a folder"),
        ("empty", "empty is empty"),
        ("link", "link is a symlink; give"),
    ],
)
def test_missing_repository_folder_is_refused(task_folder, mirrors, repo, said):
    folder = task_folder(toml=TOML.replace('"repo"', f'"{repo}"'))
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("repo")
    (fault,) = faults(folder, mirrors=mirrors)
    assert fault.startswith(f"{folder}/task.toml: repo.path: {folder}/{said}")


def test_a_compose_file_is_checked_with_its_task(task_folder, mirrors):
    folder = task_folder(toml=f'{TOML}[environment]\ncompose = "env/compose.yaml"\n')
    (fault,) = faults(folder, mirrors=mirrors)
    assert fault.startswith(f"{folder}/task.toml: environment.compose: ")
    (folder / "env").mkdir()
    compose = folder / "env" / "compose.yaml"
    compose.write_text("services: {db: {image: postgres, env_file: ../task.toml}}\n")
    (fault,) = faults(folder, mirrors=mirrors)
    assert fault.startswith(f"{compose}: services.db.env_file: ")
    compose.write_text("services: {db: {image: postgres}}\n")
    assert load_task(folder, mirrors=mirrors).environment.compose == compose


def test_missing_dockerfile_is_refused(task_folder, mirrors):
    folder = task_folder(toml=f'{TOML}[environment]\ndockerfile = "environment/Dockerfile"\n')
    (fault,) = faults(folder, mirrors=mirrors)
    assert fault.startswith(f"{folder}/task.toml: environment.dockerfile: ")
    (folder / "environment").mkdir()
    (folder / "environment" / "Dockerfile").write_text("FROM scratch\n")
    task = load_task(folder, mirrors=mirrors)
    assert task.environment.dockerfile == folder / "environment" / "Dockerfile"


@pytest.mark.parametrize(
    ("link", "target", "what"),
    [
        ("notes", "/etc/passwd", "the task's folder"),
        ("notes", "../../secret", "the task's folder"),
        ("solution.patch", "../other.patch", "the task's folder"),
        ("repo/notes", "../solution.patch", "repo.path"),
        ("repo/a/notes", "../../task.toml", "repo.path"),
    ],
)
def test_a_symlink_that_leaves_its_folder_is_refused(task_folder, mirrors, link, target, what):
    folder = task_folder(patches={}, files={"code.py": CODE, "a/b": ""})
    (folder / link).symlink_to(target)
    assert f"{folder}/{link}: is a symlink that leaves {what}" in faults(folder, mirrors=mirrors)


def test_absolute_symlink_is_refused(task_folder, mirrors):
    folder = task_folder()
    (folder / "repo" / "link").symlink_to(folder / "repo" / "code.py")
    assert faults(folder, mirrors=mirrors) == (
        f"{folder}/repo/link: is a symlink that leaves repo.path",
    )


def test_links_within_repository_are_accepted(task_folder, mirrors):
    folder = task_folder(files={"code.py": CODE, "a/b": ""})
    for name, target in {"a/code": "../code.py", "gone": "nowhere", "loop": "loop"}.items():
        (folder / "repo" / name).symlink_to(target)
    task = load_task(folder, mirrors=mirrors)
    assert listing(mirrors.of(task.source).path, "HEAD") == [
        "100644 blob a/b",
        "120000 blob a/code",
        "100644 blob code.py",
        "120000 blob gone",
        "120000 blob loop",
    ]


def test_pipe_is_refused(task_folder, mirrors):
    folder = task_folder()
    os.mkfifo(folder / "repo" / "pipe")
    assert faults(folder, mirrors=mirrors) == (
        f"{folder}/repo/pipe: is neither a file nor a folder",
    )


def test_a_patch_that_is_a_folder_is_refused(task_folder, mirrors):
    folder = task_folder(patches={})
    (folder / "tests.patch").mkdir()
    assert faults(folder, mirrors=mirrors) == (f"{folder}/tests.patch: is not a file",)


def test_every_shipped_task_loads(mirrors):
    found = load_tasks([CATALOGUE], mirrors=mirrors)
    folders = sorted(path.parent for path in CATALOGUE.glob("*/task.toml"))
    assert [task.folder for task in found.tasks] == folders
    assert len(folders) >= 12
    assert found.warnings == ()
    assert all(tomllib.loads((f / "task.toml").read_text())["schema_version"] == 1 for f in folders)


def test_an_agent_runs_tests_with_the_environment_that_judges(task_folder, mirrors):
    toml = f'{TOML}[environment]\nenv = {{ TZ = "Asia/Kathmandu" }}\n'
    task = load_task(task_folder(toml=toml), mirrors=mirrors)
    assert task.problem.test_env == {"TZ": "Asia/Kathmandu"} == task.environment.env


def test_mirrors_of_user_cache_are_the_default(task_folder):
    folder = task_folder(toml=f'{TOML}[tests]\nfail_to_pass = ["test_code.py::test_last"]\n')
    assert [task.id for task in load_tasks([folder]).tasks] == ["off-by-one"]


def test_invalid_task_file_hides_no_other_fault(task_folder):
    folder = task_folder(toml="title = 3\n", instruction=None)
    (folder / "notes").symlink_to("/etc/passwd")
    draft = read_draft(folder)
    assert (draft.table, draft.task_id) == (None, None)
    assert [fault.split(": ")[1] for fault in draft.faults] == [
        "schema_version",
        "title",
        "repo",
        "is missing",
        "is a symlink that leaves the task's folder",
    ]


def test_id_of_file_has_priority_over_folder_name(task_folder):
    folder = task_folder("Folder", toml=TOML.replace("[repo]", 'id = "own"\n[repo]'))
    assert (read_draft(folder).task_id, read_draft(folder).faults) == ("own", ())


def test_task_folder_may_be_a_link(task_folder, tmp_path):
    (tmp_path / "link").symlink_to(task_folder())
    draft = read_draft(tmp_path / "link")
    assert (draft.task_id, draft.faults) == ("off-by-one", ())


@pytest.mark.parametrize(
    ("url", "expected"),
    [("a.bundle", True), ("a/b.bundle", True), ("https://h/a.bundle", False), ("a.git", False)],
)
def test_git_bundle_is_recognised_by_path(url, expected):
    assert is_git_bundle(url) is expected


def test_scripts_that_judge_and_solve_need_their_files(task_folder):
    folder = task_folder(toml=TOML + '[verifier]\ndockerfile = "tests/Dockerfile"\n[solution]\n')
    (folder / "solution").mkdir()
    assert [fault.removeprefix(f"{folder}/") for fault in read_draft(folder).faults] == [
        "tests: is not a folder; [verifier] needs the files of its script there",
        "solution: is empty; [solution] needs the files of its script there",
        f"task.toml: verifier.dockerfile: {folder}/tests/Dockerfile is not a file",
    ]
