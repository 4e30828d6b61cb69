import json

import pytest

from trimerge import Commit, History, HistoryError, merge_commits
from trimerge.__main__ import main


def history(**parents):
    """A history in which each commit's parents are given as words."""
    return History(Commit(id_, tuple(of.split())) for id_, of in parents.items())


def base(of, ours, theirs):
    found = of.merge_base(ours, theirs)
    return found and found.id


def test_ancestors_include_the_commit_itself():
    tree = history(a="", b="a", c="a", d="b c")
    assert tree.ancestors("b") == {"a", "b"}
    assert tree.ancestors("d") == {"a", "b", "c", "d"}


def test_two_branches_meet_where_they_parted():
    tree = history(a="", b="a", c="b", d="c", x="b", y="x")
    assert base(tree, "d", "y") == "b"


def test_an_ancestor_is_its_own_base():
    tree = history(a="", b="a", c="b")
    assert base(tree, "c", "a") == "a"
    assert base(tree, "a", "c") == "a"


def test_after_a_merge_the_merged_commit_is_the_base():
    tree = history(a="", m1="a", f1="a", f2="f1 m1", m2="m1")
    assert base(tree, "m2", "f2") == "m1"


def test_of_equally_good_ancestors_the_first_id_is_taken():
    tree = history(root="", p="root", q="root", x="p q", y="p q")
    assert base(tree, "x", "y") == "p"


def test_nothing_in_common():
    assert base(history(a="", b=""), "a", "b") is None


def test_branches_are_followed():
    tree = History([Commit("a"), Commit("b", ("a",))], {"main": "b"})
    assert tree.commit("main").id == "b"
    with pytest.raises(HistoryError, match="no commit or branch 'dev'"):
        tree.commit("dev")


@pytest.mark.parametrize(
    ("commits", "message"),
    [
        ([Commit("a", ("z",))], "'a' has an unknown parent 'z'"),
        ([Commit("a"), Commit("a")], "two commits have the id 'a'"),
        ([Commit("a", ("b",)), Commit("b", ("a",))], "runs in a circle"),
    ],
)
def test_bad_histories(commits, message):
    with pytest.raises(HistoryError, match=message):
        History(commits)


def test_unrelated_texts_conflict():
    tree = History([Commit("a", (), "x\n"), Commit("b", (), "y\n")])
    assert len(merge_commits(tree, "a", "b").conflicts) == 1


def test_the_command_line(tmp_path, capsys):
    commits = [
        {"id": "c", "parents": ["a"], "text": "1\n2\n3\n4\nfour\n"},
        {"id": "a", "parents": [], "text": "1\n2\n3\n4\n"},
        {"id": "b", "parents": ["a"], "text": "one\n2\n3\n4\n"},
    ]
    file = tmp_path / "history.json"
    file.write_text(json.dumps({"commits": commits, "branches": {"main": "b"}}), encoding="utf-8")
    assert main([str(file), "main", "c"]) == 0
    assert capsys.readouterr().out == "one\n2\n3\n4\nfour\n"
    assert main([str(file), "main", "dev"]) == 2
    assert capsys.readouterr().err == "trimerge: no commit or branch 'dev'\n"
