from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import PurePosixPath

import pytest

from agentbench.errors import InputError
from agentbench.tasks.git_history import (
    changed_files,
    content_at,
    find_commit,
    list_commits,
    mirror_of_head,
    patch_between,
    write_commit_files,
)
from tests.fakes.staging import mirrors
from tests.tasks.origins import Origin
from tests.tasks.pocket import COMMITS


def test_history_is_walked_from_the_newest(pocket, head):
    walked = list(list_commits(head))
    assert [commit.hash for commit in walked] == [pocket.commits[n] for n in reversed(COMMITS)]
    assert walked[-1].base is None
    assert all(one.base == other.hash for one, other in pairwise(walked))
    assert datetime.now(UTC) - walked[0].date < timedelta(hours=6)


def test_a_message_is_read_whole(pocket, head):
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


def test_dates_bound_what_is_walked(head):
    assert list(list_commits(head, until="2001-01-01")) == []
    assert list(list_commits(head, since="2001-01-01", until="2090-01-01")) != []


@pytest.mark.parametrize("name", ["main", "v1.0", "HEAD"])
def test_a_commit_is_found_by_name(head, name):
    assert len(find_commit(head, name).hash) == 40


def test_a_commit_is_found_by_the_beginning_of_its_hash(pocket, head):
    assert find_commit(head, pocket.commits["fix"][:10]).hash == pocket.commits["fix"]


@pytest.mark.parametrize("name", ["nothing", "--all", "-h", "", "0" * 40, "HEAD:README.md"])
def test_what_is_no_commit_is_refused(head, name):
    with pytest.raises(InputError, match="expected a commit of the repository"):
        find_commit(head, name)


@pytest.mark.parametrize("make", ["missing", "empty", "plain"])
def test_what_is_no_repository_is_refused(tmp_path, make):
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


def test_a_path_with_glob_characters_is_that_file(tmp_path):
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


def test_links_are_no_regular_files(tmp_path):
    origin = Origin(tmp_path / "linked")
    origin.write("a", "1")
    base = origin.commit()
    (origin.path / "b").symlink_to("a")
    commit = origin.commit()
    (changed,) = changed_files(mirror_of_head(origin.url, mirrors()), base, commit)
    assert not changed.regular


def test_a_file_is_read_at_a_commit(pocket, head):
    fix = pocket.commits["fix"]
    assert content_at(head, fix, PurePosixPath("CHANGES.md")) == b"mended\n"
    assert content_at(head, pocket.commits["begin"], PurePosixPath("CHANGES.md")) is None


def test_the_files_are_those_of_the_commit(pocket, head, tmp_path):
    write_commit_files(head, pocket.commits["begin"], tmp_path / "tree")
    found = {path.name for path in (tmp_path / "tree").rglob("*") if path.is_file()}
    assert found == {"basket.py", "test_basket.py"}


def test_what_archives_leave_out_is_there(tmp_path):
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


def test_a_commit_that_is_not_there_is_refused(head, tmp_path):
    with pytest.raises(InputError, match="cannot be checked out"):
        write_commit_files(head, "0" * 40, tmp_path / "tree")
