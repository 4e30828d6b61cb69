import subprocess

import pytest

from agentbench.audit.patch import apply_patch, parse_patch
from tests.e2e.small_task import BUGGY, FIXED, patch_of

OLD = "".join(f"line {n}\n" for n in range(40))
NEW = OLD.replace("line 3\n", "").replace("line 20\n", "line 20\nnew\n").replace("line 39\n", "end")


def git_patch(folder, before, after, *, context=3):
    """What git itself writes for a change of one folder into another."""
    for name, files in (("a", before), ("b", after)):
        (folder / name).mkdir()
        for path, content in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_bytes(content)
    command = ["git", "diff", "--no-index", "--no-color", "--no-ext-diff", f"-U{context}", "a", "b"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OLD, NEW),
        ("", "one\n"),
        ("one\n", "one"),
        ("one", "one\ntwo"),
        ("a\n\nb\n", "a\n\n\nb\n"),
        ("--- x\n+++ y\n", "--- x\n--- z\n+++ z\n+++ y\n"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("x\fy\n", "x\fz\n\x0b\n"),
        ("ä\n", "ö\n"),
    ],
)
def test_patch_is_applied_as_git_does(tmp_path, before, after):
    files = {"x.py": before.encode()} if before else {"y": b""}
    (file,) = parse_patch(git_patch(tmp_path, files, files | {"x.py": after.encode()}))
    assert (file.path.removeprefix("a/").removeprefix("b/"), file.removed) == ("x.py", False)
    assert apply_patch(before.encode(), file) == after.encode()


def test_patch_without_context_is_applied_at_its_line(tmp_path):
    before = {"x.py": OLD.encode()}
    after = {"x.py": OLD.replace("line 20\n", "line 20\nnew\n").encode()}
    (file,) = parse_patch(git_patch(tmp_path, before, after, context=0))
    assert apply_patch(before["x.py"], file) == after["x.py"]


def test_patch_that_does_not_fit_is_not_applied():
    (file,) = parse_patch(patch_of("x.py", OLD, NEW).encode())
    assert apply_patch(b"something else\n", file) is None
    assert apply_patch(None, file) is None


def test_patch_of_several_files_is_split(tmp_path):
    patch = git_patch(
        tmp_path,
        {"a.py": b"1\n", "gone.py": b"1\n2\n", "x.bin": b"\0"},
        {"a.py": b"2\n", "new.py": b"3\n", "x.bin": b"\1"},
    )
    files = parse_patch(patch)
    assert [(file.path.rpartition("/")[2], file.removed) for file in files] == [
        ("a.py", False),
        ("gone.py", True),
        ("new.py", False),
    ]
    assert [list(file.added()) for file in files] == [[(1, "2")], [], [(1, "3")]]


def test_added_lines_have_numbers_of_the_new_file():
    (file,) = parse_patch(patch_of("basket.py", BUGGY, FIXED).encode())
    assert list(file.added()) == [(6, "    return sum(prices)")]
    assert set(file.changed()) == {"-return sum(prices[1:])", "+return sum(prices)"}


def test_quoted_names_are_read(tmp_path):
    (file,) = parse_patch(git_patch(tmp_path, {"y": b""}, {"y": b"", 'ä "x"\t.py': b"1\n"}))
    assert file.path.endswith('ä "x"\t.py')


@pytest.mark.parametrize("name", ["x b/conftest.py", "a b/c d.py", " b/x", "x a/y", "x y.py"])
def test_name_like_a_prefix_of_git_hides_no_file(tmp_path, name):
    patch = git_patch(tmp_path, {"y": b""}, {"y": b"", name: b"1\n"})
    assert [file.path.removeprefix("b/") for file in parse_patch(patch)] == [name]


def test_malformed_hunk_hides_no_file():
    good = patch_of("basket.py", BUGGY, FIXED).encode()
    short = b"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-x\n+y\n"
    expected = ["basket.py", "x", "basket.py"]
    for git_header in (b"diff --git a/x b/x\n", b""):
        assert [file.path for file in parse_patch(good + git_header + short + good)] == expected


@pytest.mark.parametrize(
    "patch",
    [
        b"",
        b"\0" * 100,
        b"\xff\xfe--- a\n+++ b\n@@ -1 +1 @@\n",
        b"--- a/x\n+++ b/x\n@@ -1,999999999 +1,999999999 @@\n x\n",
        b"--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n x\n",
        b"--- a/x\n+++ b/x\n@@ -" + b"9" * 5000 + b" +1 @@\n x\n",
        b"--- a/x\n+++ b/x\n@@ -5 +1 @@\n\\ No newline\n@@ -1 +1 @@\n-x\n+y\n",
        b'--- "a/\\\n+++ "\n@@ -0,0 +1 @@\n+x',
        b"--- a/x\n",
        b"--- a/x\n+++ ",
    ],
)
def test_malformed_patch_raises_no_error(patch):
    for file in parse_patch(patch):
        list(file.added())
        list(file.changed())
        apply_patch(b"x\n", file)


def test_sides_of_a_change_include_its_context():
    (file,) = parse_patch(patch_of("basket.py", BUGGY, FIXED).encode())
    ((before, after),) = file.sides()
    assert [line for line in before if line not in after] == ["    return sum(prices[1:])"]
    assert [line for line in after if line not in before] == ["    return sum(prices)"]
    assert "def total(prices):" in before


@pytest.mark.parametrize(
    ("before", "after", "removed"),
    [
        ({"y": b""}, {"y": b"", "pkg ä/__init__.py": b""}, False),
        ({"y": b"", "pkg ä/__init__.py": b""}, {"y": b""}, True),
        ({"pkg ä/__init__.py": b"\0"}, {"pkg ä/__init__.py": b"\0\0"}, False),
    ],
)
def test_file_without_lines_is_not_overlooked(tmp_path, before, after, removed):
    patch = git_patch(tmp_path, before, after)
    patch = patch.replace(b"a/a/", b"a/").replace(b"b/b/", b"b/")
    patch = patch.replace(b"a/b/", b"a/").replace(b"b/a/", b"b/")
    (file,) = parse_patch(patch)
    assert (file.path, file.removed, file.hunks) == ("pkg ä/__init__.py", removed, ())
