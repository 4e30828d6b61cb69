from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import PurePosixPath

import pytest

from agentbench.core.files import FileContent
from agentbench.errors import InputError
from agentbench.tasks.git_history import (
    PatchDoesNotApplyError,
    apply_patch_to_commit,
    changed_files,
    content_at,
    find_commit,
    list_commits,
    mirror_of_head,
    patch_between,
    write_commit_files,
)
from agentbench.tasks.task import RepoSource
from tests.fakes.staging import mirrors
from tests.tasks.origins import Origin
from tests.tasks.pocket import COMMITS


def test_commits_are_listed_newest_first(pocket, head):
    walked = list(list_commits(head))
    assert [commit.hash for commit in walked] == [pocket.commits[n] for n in reversed(COMMITS)]
    assert walked[-1].base is None
    assert all(one.base == other.hash for one, other in pairwise(walked))
    assert datetime.now(UTC) - walked[0].date < timedelta(hours=6)


def test_whole_message_is_read(pocket, head):
    fix = find_commit(head, pocket.commits["fix"])
    assert fix.subject == "Count every price (#12)"
    assert "Co-authored-by: A Friend" in fix.message


def test_merges_are_left_out(tmp_path):
    origin = Origin(tmp_path / "merged")
    origin.write("a", "1")
    first = origin.commit("first")
    origin.git("checkout", "-q", "-b", "side")
    origin.write("b", "1")
    side = origin.commit("side")
    origin.git("checkout", "-q", "main")
    origin.write("c", "1")
    other = origin.commit("other")
    origin.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    walked = {commit.hash for commit in list_commits(mirror_of_head(origin.url, mirrors()))}
    assert walked == {first, side, other}


def test_commits_are_limited_by_dates(head):
    assert list(list_commits(head, until="2001-01-01")) == []
    assert list(list_commits(head, since="2001-01-01", until="2090-01-01")) != []


@pytest.mark.parametrize("name", ["main", "v1.0", "HEAD"])
def test_a_commit_is_found_by_name(head, name):
    assert len(find_commit(head, name).hash) == 40


def test_a_commit_is_found_by_the_beginning_of_its_hash(pocket, head):
    assert find_commit(head, pocket.commits["fix"][:10]).hash == pocket.commits["fix"]


@pytest.mark.parametrize("name", ["nothing", "--all", "-h", "", "0" * 40, "HEAD:README.md"])
def test_unknown_commit_is_refused(head, name):
    with pytest.raises(InputError, match="expected a commit of the repository"):
        find_commit(head, name)


@pytest.mark.parametrize("make", ["missing", "empty", "plain"])
def test_missing_repository_is_refused(tmp_path, make):
    place = tmp_path / make
    if make == "empty":
        Origin(place)
    if make == "plain":
        place.mkdir()
    with pytest.raises(InputError, match=place.as_uri()):
        mirror_of_head(place.as_uri(), mirrors())


def test_changes_and_patches_are_those_of_git(pocket, head):
    base, fix = pocket.commits["prose"], pocket.commits["fix"]
    changed = {str(file.path): file.regular for file in changed_files(head, base, fix)}
    assert changed == {
        "CHANGES.md": True,
        "basket.py": True,
        "tests/test_hidden.py": True,
    }
    patch = patch_between(head, base, fix, [PurePosixPath("basket.py")])
    assert patch.startswith(b"diff --git a/basket.py b/basket.py\n")
    assert b"test_hidden" not in patch
    assert patch_between(head, base, fix, []) == b""


def test_glob_characters_in_path_are_literal(tmp_path):
    origin = Origin(tmp_path / "odd")
    origin.write("a*.py", "1")
    origin.write("ab.py", "1")
    base = origin.commit()
    origin.write("a*.py", "2")
    origin.write("ab.py", "2")
    mirror = mirror_of_head(origin.url, mirrors())
    commit = origin.commit()
    mirror = mirror_of_head(origin.url, mirrors())
    patch = patch_between(mirror, base, commit, [PurePosixPath("a*.py")])
    assert b"ab.py" not in patch


def test_a_file_is_read_at_a_commit(pocket, head):
    fix = pocket.commits["fix"]
    assert content_at(head, fix, PurePosixPath("CHANGES.md")) == b"mended\n"
    assert content_at(head, pocket.commits["begin"], PurePosixPath("CHANGES.md")) is None


def test_the_files_are_those_of_the_commit(pocket, head, tmp_path):
    write_commit_files(head, pocket.commits["begin"], tmp_path / "tree")
    found = {path.name for path in (tmp_path / "tree").rglob("*") if path.is_file()}
    assert found == {"basket.py", "test_basket.py"}


def test_export_ignored_files_are_written(tmp_path):
    origin = Origin(tmp_path / "odd")
    origin.write(".gitattributes", "tests export-ignore\nrun.sh export-subst\n")
    origin.write("tests/test_a.py", "A = 1\n")
    origin.write("run.sh", "$Format:%H$\n")
    (origin.path / "run.sh").chmod(0o755)
    commit = origin.commit()
    write_commit_files(mirror_of_head(origin.url, mirrors()), commit, tmp_path / "tree")
    assert (tmp_path / "tree/tests/test_a.py").read_text() == "A = 1\n"
    assert (tmp_path / "tree/run.sh").read_text() == "$Format:%H$\n"
    assert (tmp_path / "tree/run.sh").stat().st_mode & 0o100


def test_missing_commit_is_refused(head, tmp_path):
    with pytest.raises(InputError, match="cannot be checked out"):
        write_commit_files(head, "0" * 40, tmp_path / "tree")


BASE = {
    "a.py": "one\ntwo\nthree\n",
    "pkg/b.py": "b\n" * 20,
    "crlf.txt": "one\r\ntwo\r\nthree\r\n",
    "bare.txt": "no newline at the end",
    "ünï cödé.txt": "x\n",
    "old.sh": "#!/bin/sh\n",
}


@pytest.fixture
def mirror(origin, mirrors):
    for name, text in BASE.items():
        origin.write(name, text)
    (origin.path / "link").symlink_to("pkg")
    return mirrors.of(RepoSource(url=origin.url, commit=origin.commit()))


def patch_of(origin, *options):
    origin.git("add", "--all", ".")
    return origin.diff(*options)


def plain(content, *, executable=False):
    return FileContent(content=content, executable=executable)


def overlaid(patch, mirror):
    return {str(path): file for path, file in apply_patch_to_commit(patch, mirror).items()}


@pytest.mark.parametrize("patch", [b"", b"\n \n"])
def test_an_empty_patch_changes_nothing(mirror, patch):
    assert overlaid(patch, mirror) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("new/deep/file.py", "x = 1\n"),
        ("empty.py", ""),
        ("a.py", "one\n2\nthree\n"),
        ("crlf.txt", "one\r\n2\r\nthree\r\n"),
        ("crlf.txt", "one\ntwo\nthree\n"),
        ("a.py", "one\r\ntwo\r\nthree\r\n"),
        ("bare.txt", "still no newline at the end"),
        ("bare.txt", "a newline at the end\n"),
        ("a.py", "one\ntwo\nthree"),
        ("a.py", "one  \n\n\n\ttwo \nthree\n"),
        ("ünï cödé.txt", "y\n"),
        ('odd "name"\t.txt', "y\n"),
        (" leading", "y\n"),
        ("binary", "\0\1\2" * 300),
    ],
)
def test_patched_file_has_expected_content(origin, mirror, name, text):
    origin.write(name, text)
    assert overlaid(patch_of(origin), mirror) == {name: plain(text.encode())}


def test_binary_content_is_kept(origin, mirror):
    content = bytes(range(256)) * 9
    (origin.path / "a.py").write_bytes(content)
    assert overlaid(patch_of(origin), mirror) == {"a.py": plain(content)}


def test_deleted_entries_are_none(origin, mirror):
    (origin.path / "a.py").unlink()
    (origin.path / "link").unlink()
    assert overlaid(patch_of(origin), mirror) == {"a.py": None, "link": None}


def test_changed_mode_includes_content(origin, mirror):
    (origin.path / "old.sh").chmod(0o755)
    assert overlaid(patch_of(origin), mirror) == {"old.sh": plain(b"#!/bin/sh\n", executable=True)}


@pytest.mark.parametrize("options", [("--no-renames",), ("-M",)])
def test_renamed_file_is_deleted_and_added(origin, mirror, options):
    origin.git("mv", "pkg/b.py", "pkg/c.py")
    origin.write("pkg/c.py", "b\n" * 19 + "c\n")
    assert overlaid(patch_of(origin, *options), mirror) == {
        "pkg/b.py": None,
        "pkg/c.py": plain(b"b\n" * 19 + b"c\n"),
    }


def test_folder_may_replace_file(origin, mirror):
    (origin.path / "a.py").unlink()
    origin.write("a.py/__init__.py", "x\n")
    assert overlaid(patch_of(origin), mirror) == {"a.py": None, "a.py/__init__.py": plain(b"x\n")}


def test_mirror_is_not_changed(origin, mirror):
    def files():
        return sorted(path for path in mirror.path.rglob("*") if path.is_file())

    before = files()
    origin.write("a.py", "something quite new\n")
    apply_patch_to_commit(patch_of(origin), mirror)
    assert files() == before


def test_git_settings_of_user_are_ignored(origin, mirror, tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text(
        "[core]\nautocrlf = true\n[apply]\nwhitespace = fix\n[diff]\nnoprefix = true\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", "/")
    origin.write("crlf.txt", "one  \r\ntwo\r\n")
    assert overlaid(patch_of(origin), mirror) == {"crlf.txt": plain(b"one  \r\ntwo\r\n")}


def test_symlinks_in_patch_are_refused(origin, mirror):
    for name in ("new", "link", "a.py"):
        (origin.path / name).unlink(missing_ok=True)
        (origin.path / name).symlink_to("/etc/passwd")
        with pytest.raises(PatchDoesNotApplyError, match=f"^makes {name} a symlink; "):
            apply_patch_to_commit(patch_of(origin, "--", name), mirror)


def test_a_submodule_is_refused(origin, mirror):
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{mirror.commit},sub")
    with pytest.raises(PatchDoesNotApplyError, match=r"^makes sub a submodule; "):
        apply_patch_to_commit(origin.diff("--", "sub"), mirror)


def new_file(path):
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n"
    return f"{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize(
    ("path", "result"),
    [
        ("../x", "invalid path '../x'"),
        ("a/../../x", "invalid path 'a/../../x'"),
        ("/etc/x", "invalid path '/etc/x'"),
        (".git/config", "invalid path '.git/config'"),
        ("sub/.git/hooks/post-checkout", "invalid path"),
        ("link/x", "link/x' is beyond a symbolic link"),
        ("a.py", "a.py: already exists in index"),
    ],
)
def test_a_path_outside_the_repository_is_refused(mirror, path, result):
    with pytest.raises(PatchDoesNotApplyError, match=result):
        apply_patch_to_commit(new_file(path).encode(), mirror)


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        (b"no patch at all\n", "No valid patches in input"),
        (b"\xff\0\xfe", "No valid patches in input"),
        (b"--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n", "corrupt patch"),
        (b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-six\n+1\n", "a.py: patch does not apply"),
        (b"--- a/z.py\n+++ b/z.py\n@@ -1 +1 @@\n-one\n+1\n", "z.py: does not exist in index"),
    ],
)
def test_patch_that_does_not_fit_is_refused(mirror, patch, result):
    with pytest.raises(PatchDoesNotApplyError, match=result) as caught:
        apply_patch_to_commit(patch, mirror)
    assert "\n" not in str(caught.value)
