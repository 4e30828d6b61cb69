from pathlib import PurePosixPath

import pytest

from agentbench.importers.swebench.conversion import UnsupportedPatchError, patched_files
from agentbench.tasks.dataset_rows import patch_bytes
from tests.tasks.origins import Origin


@pytest.fixture
def origin(tmp_path):
    made = Origin(tmp_path / "origin")
    made.write("a.py", "1\n2\n3\n4\n5\n6\n")
    made.write("sub/two words.py", "x\n")
    made.commit()
    return made


def test_files_that_come_change_move_and_go_are_named(origin):
    origin.write("a.py", "1\n2\n3\n4\n5\n7\n")
    origin.write("new\u00e9.bin", "\0")
    origin.git("mv", "sub/two words.py", "moved.py")
    origin.git("add", "--all")
    named = patched_files(origin.diff("--find-renames"))
    assert set(map(str, named)) == {"a.py", "new\u00e9.bin", "moved.py"}


def test_a_line_of_code_that_looks_like_a_header_is_none(origin):
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
def test_a_path_that_leads_elsewhere_is_refused(name, why):
    patch = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n"
    with pytest.raises(UnsupportedPatchError) as told:
        patched_files(patch.encode())
    assert str(told.value) == why


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_what_makes_no_regular_file_is_refused(mode):
    patch = f"diff --git a/x b/x\nnew file mode {mode}\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n"
    with pytest.raises(UnsupportedPatchError, match="creates a symlink or a submodule"):
        patched_files(patch.encode())


@pytest.mark.parametrize("patch", [b"", b"hello\n", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n"])
def test_what_git_does_not_take_for_a_patch_is_refused_with_its_words(patch):
    with pytest.raises(UnsupportedPatchError, match=r"^is not a git patch: error: "):
        patched_files(patch)


def test_a_patch_that_was_cut_off_at_its_end_gets_its_line_end():
    assert patch_bytes("a\n") == b"a\n"
    assert patch_bytes("a") == b"a\n"
