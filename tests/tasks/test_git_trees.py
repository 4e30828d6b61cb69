from pathlib import PurePosixPath

import pytest

from agentbench.core.files import FileContent
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.task import RepoSource

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
def test_a_file_becomes_what_it_was_when_the_patch_was_made(origin, mirror, name, text):
    origin.write(name, text)
    assert overlaid(patch_of(origin), mirror) == {name: plain(text.encode())}


def test_bytes_that_are_no_text_survive(origin, mirror):
    content = bytes(range(256)) * 9
    (origin.path / "a.py").write_bytes(content)
    assert overlaid(patch_of(origin), mirror) == {"a.py": plain(content)}


def test_a_deleted_file_and_a_deleted_link_are_none(origin, mirror):
    (origin.path / "a.py").unlink()
    (origin.path / "link").unlink()
    assert overlaid(patch_of(origin), mirror) == {"a.py": None, "link": None}


def test_a_changed_mode_carries_the_content_with_it(origin, mirror):
    (origin.path / "old.sh").chmod(0o755)
    assert overlaid(patch_of(origin), mirror) == {"old.sh": plain(b"#!/bin/sh\n", executable=True)}


@pytest.mark.parametrize("options", [("--no-renames",), ("-M",)])
def test_a_renamed_file_goes_in_one_place_and_comes_in_another(origin, mirror, options):
    origin.git("mv", "pkg/b.py", "pkg/c.py")
    origin.write("pkg/c.py", "b\n" * 19 + "c\n")
    assert overlaid(patch_of(origin, *options), mirror) == {
        "pkg/b.py": None,
        "pkg/c.py": plain(b"b\n" * 19 + b"c\n"),
    }


def test_a_folder_in_the_place_of_a_file_is_both(origin, mirror):
    (origin.path / "a.py").unlink()
    origin.write("a.py/__init__.py", "x\n")
    assert overlaid(patch_of(origin), mirror) == {"a.py": None, "a.py/__init__.py": plain(b"x\n")}


def test_paths_are_relative_and_pure(origin, mirror):
    origin.write("pkg/b.py", "b\n")
    assert list(apply_patch_to_commit(patch_of(origin), mirror)) == [PurePosixPath("pkg/b.py")]


def test_the_mirror_is_left_as_it_was(origin, mirror):
    def files():
        return sorted(path for path in mirror.path.rglob("*") if path.is_file())

    before = files()
    origin.write("a.py", "something quite new\n")
    apply_patch_to_commit(patch_of(origin), mirror)
    assert files() == before


def test_what_a_user_set_for_git_does_not_matter(origin, mirror, tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text(
        "[core]\nautocrlf = true\n[apply]\nwhitespace = fix\n[diff]\nnoprefix = true\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", "/")
    origin.write("crlf.txt", "one  \r\ntwo\r\n")
    assert overlaid(patch_of(origin), mirror) == {"crlf.txt": plain(b"one  \r\ntwo\r\n")}


def test_a_link_is_refused_whether_new_changed_or_in_the_place_of_a_file(origin, mirror):
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
    ("path", "said"),
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
def test_a_path_outside_the_repository_is_refused(mirror, path, said):
    with pytest.raises(PatchDoesNotApplyError, match=said):
        apply_patch_to_commit(new_file(path).encode(), mirror)


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (b"no patch at all\n", "No valid patches in input"),
        (b"\xff\0\xfe", "No valid patches in input"),
        (b"--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n", "corrupt patch"),
        (b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-six\n+1\n", "a.py: patch does not apply"),
        (b"--- a/z.py\n+++ b/z.py\n@@ -1 +1 @@\n-one\n+1\n", "z.py: does not exist in index"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_in_one_line_of_gits(mirror, patch, said):
    with pytest.raises(PatchDoesNotApplyError, match=said) as caught:
        apply_patch_to_commit(patch, mirror)
    assert "\n" not in str(caught.value)
