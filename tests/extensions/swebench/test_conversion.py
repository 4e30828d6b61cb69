from pathlib import PurePosixPath

import pytest

from agentbench.extensions.swebench.conversion import (
    TaskContent,
    UnsupportedPatchError,
    convert_instance,
    patched_files,
    reverse_bug_patch,
)
from agentbench.extensions.swebench.environments import InstanceEnvironment
from agentbench.extensions.swebench.instance import SwebenchInstance
from agentbench.tasks.dataset_rows import patch_bytes
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import RepoSource, TaskSetup
from agentbench.tasks.task_file import EnvironmentTable, RepoTable
from tests.tasks.origins import Origin


@pytest.fixture
def origin(tmp_path):
    made = Origin(tmp_path / "origin")
    made.write("a.py", "1\n2\n3\n4\n5\n6\n")
    made.write("sub/two words.py", "x\n")
    made.commit()
    return made


def test_changed_files_of_patch_are_listed(origin):
    origin.write("a.py", "1\n2\n3\n4\n5\n7\n")
    origin.write("new\u00e9.bin", "\0")
    origin.git("mv", "sub/two words.py", "moved.py")
    origin.git("add", "--all")
    named = patched_files(origin.diff("--find-renames"))
    assert set(map(str, named)) == {"a.py", "new\u00e9.bin", "moved.py"}


def test_code_like_a_header_is_no_file(origin):
    origin.write("a.sql", "-- /etc/passwd\n++ ../x\nnew file mode 120000\r\n")
    origin.git("add", "--all")
    assert patched_files(origin.diff()) == (PurePosixPath("a.sql"),)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../up", "'../up' leaves the repository"),
        ("a/../../up", "'a/../../up' leaves the repository"),
        ("/etc/passwd", "'/etc/passwd' leaves the repository"),
        (".git/config", "'.git/config' is one of git's own files"),
        ("a/.Git/config", "'a/.Git/config' is one of git's own files"),
        ("-x", "'-x' is not a plain path"),
    ],
)
def test_escaping_path_is_refused(name, why):
    patch = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n"
    with pytest.raises(UnsupportedPatchError) as result:
        patched_files(patch.encode())
    assert str(result.value) == why


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_irregular_file_in_patch_is_refused(mode):
    patch = f"diff --git a/x b/x\nnew file mode {mode}\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n"
    with pytest.raises(UnsupportedPatchError, match="creates a symlink or a submodule"):
        patched_files(patch.encode())


@pytest.mark.parametrize("patch", [b"", b"hello\n", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n"])
def test_malformed_patch_is_refused(patch):
    with pytest.raises(UnsupportedPatchError, match=r"^is not a git patch: error: "):
        patched_files(patch)


def test_missing_last_line_end_is_added():
    assert patch_bytes("a\n") == b"a\n"
    assert patch_bytes("a") == b"a\n"


URL = "https://github.com/a/b.git"
NOTHING = InstanceEnvironment(
    environment=EnvironmentTable(), setup=TaskSetup(), files={"x/y": b"z"}
)


def made(**changes):
    given = {
        "instance_id": "A__b-1",
        "repo": "a/b",
        "base_commit": "0" * 40,
        "patch": "mended",
        "test_patch": "tested",
        "problem_statement": "It breaks.",
        "FAIL_TO_PASS": ["t.py::a"],
        "PASS_TO_PASS": [],
        **changes,
    }
    instance = SwebenchInstance.model_validate(given)
    content = TaskContent(
        repo=RepoTable(url=URL, commit=instance.base_commit),
        test_files=(),
        tests_patch=patch_bytes(instance.test_patch),
        solution_patch=patch_bytes(instance.patch),
    )
    return convert_instance(instance, NOTHING, content)


def test_task_has_patches_and_tag_of_instance():
    new = made()
    assert (new.id, new.table.id, new.table.tags) == ("a__b-1", "a__b-1", ("swebench", "a/b"))
    assert (new.solution_patch, new.tests_patch) == (b"mended\n", b"tested\n")
    assert new.instruction == "It breaks."
    assert set(new.files) == {"swebench.json", "x/y"}


@pytest.mark.parametrize(
    ("statement", "title"),
    [
        ("\r\n## **Wrong** sum\r\n---", "Wrong** sum"),
        ("\n\n" + "long " * 60, f"{('long ' * 20)[:99]}\u2026"),
        ("a\x1b[31m\u202eb", "a [31m b"),
        ("# \n*\n", "A__b-1"),
    ],
)
def test_first_line_with_words_is_the_title(statement, title):
    assert made(problem_statement=statement).table.title == title


def test_only_whole_ids_are_listed():
    new = made(FAIL_TO_PASS=["t.py::a[x", "t.py::b[y z]"], PASS_TO_PASS=["[100%]", "t.py::c"])
    assert new.table.tests.fail_to_pass == ("t.py::b[y z]",)
    assert new.table.tests.pass_to_pass == ("t.py::c",)


@pytest.fixture
def tested_origin(tmp_path):
    made = Origin(tmp_path / "origin")
    made.write("code.py", "right\n")
    made.write("tests/test_a.py", "a\n")
    made.write("tests/test_b.py", "b\n")
    made.commit()
    return made


@pytest.fixture
def mirrors(tmp_path):
    return Mirrors(tmp_path / "mirrors")


@pytest.fixture
def mirror(tested_origin, mirrors):
    commit = tested_origin.git("rev-parse", "HEAD")
    return mirrors.of(RepoSource(url=tested_origin.url, commit=commit))


def bug(tested_origin):
    tested_origin.write("code.py", "wrong\n")
    tested_origin.git("add", "--all")
    return tested_origin.diff()


def test_reversed_state_has_bug_and_no_tests(tested_origin, mirror):
    with reverse_bug_patch(bug(tested_origin), mirror, ["tests/test_a.py"]) as turned:
        files = {
            str(path.relative_to(turned.folders["repo"])): path.read_text()
            for path in turned.folders["repo"].rglob("*")
            if path.is_file()
        }
    assert files == {"code.py": "wrong\n", "tests/test_b.py": "b\n"}


def test_patches_of_reversed_bug_apply(tested_origin, mirror, mirrors):
    with reverse_bug_patch(bug(tested_origin), mirror, ["tests/test_a.py"]) as turned:
        base = mirrors.of(RepoSource(files=turned.folders["repo"]))
        solution = apply_patch_to_commit(turned.solution_patch, base)
        tests = apply_patch_to_commit(turned.tests_patch, base)
    assert {str(path): file.content for path, file in solution.items()} == {"code.py": b"right\n"}
    assert {str(path): file.content for path, file in tests.items()} == {"tests/test_a.py": b"a\n"}


def test_patch_that_does_not_fit_gives_message_of_git(tested_origin, mirror):
    patch = bug(tested_origin).replace(b"-right", b"-left")
    with (
        pytest.raises(PatchDoesNotApplyError, match=r"patch failed: code\.py:1"),
        reverse_bug_patch(patch, mirror, []),
    ):
        pass


def test_missing_tests_are_named(tested_origin, mirror):
    with (
        pytest.raises(PatchDoesNotApplyError, match=r"tests/gone\.py"),
        reverse_bug_patch(bug(tested_origin), mirror, ["tests/gone.py"]),
    ):
        pass
