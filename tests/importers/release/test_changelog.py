import pytest
from packaging.version import Version

from agentbench.importers.release.release_task import sections_between
from tests.validation.environment.trees import write_tree


def said(tmp_path, name, text, old="1.0", new="1.2"):
    tree = write_tree(tmp_path, {name: text})
    return {str(s.version): s.text for s in sections_between(tree, Version(old), Version(new))}


@pytest.mark.parametrize(
    "text",
    [
        "# Changelog\n\n## [1.2] - 2024-01-01\n\n- two\n\n## 1.1\n\n- one\n\n## 1.0\n\n- old\n",
        "Changes\n=======\n\n1.2 (2024-01-01)\n----------------\n\n- two\n\n"
        "Version 1.1\n-----------\n\n- one\n\nVersion 1.0\n-----------\n\n- old\n",
        "`v1.2 <https://x.example/v1.2>`__\n--------\n- two\n\n`v1.1 <x>`__\n----\n- one\n\n"
        "`v1.0 <x>`__\n----\n- old\n",
        "v1.2, 2024-01-01\n\n- two\n\nv1.1\n\n- one\n\nv1.0\n\n- old\n",
        "**1.2**\n\n- two\n\n**1.1**\n\n- one\n\n**1.0**\n\n- old\n",
        "x 1.2\n~~~~~\n- two\nx 1.1\n~~~~~\n- one\nx 1.0\n~~~~~\n- old\n",
        "\ufeff## 1.2\r\n\r\n- two\r\n\r\n## 1.1\r\n- one\r\n## 1.0\r\n- old\r\n",
    ],
    ids=["markdown", "underlined", "linked", "plain", "bold", "named", "crlf"],
)
def test_the_sections_after_the_older_release_up_to_the_newer_one(tmp_path, text):
    assert said(tmp_path, "CHANGELOG.md", text) == {"1.2": "- two", "1.1": "- one"}


@pytest.mark.parametrize(
    "name", ["CHANGES.rst", "HISTORY.md", "NEWS", "docs/changelog.md", "ChangeLog", "doc/news.rst"]
)
def test_changelogs_go_by_many_names(tmp_path, name):
    assert said(tmp_path, name, "## 1.2\n\ntwo") == {"1.2": "two"}


def test_a_version_in_a_sentence_or_a_list_begins_no_section(tmp_path):
    text = "## 1.2\n\n- 1.1 was wrong\nSince 1.1 it is slow.\n    1.1\n1.1 is no longer built\n"
    assert list(said(tmp_path, "NEWS", text)) == ["1.2"]


def test_a_project_without_a_changelog_or_without_that_section_says_nothing(tmp_path):
    assert said(tmp_path, "README", "## 1.2\n\ntwo") == {}
    assert said(tmp_path, "CHANGES", "## 0.9\n\nold") == {}
    assert said(tmp_path, "HISTORY", "See the pages on the web.\n") == {}
    assert said(tmp_path, "RELEASES", "") == {}
    assert said(tmp_path, "NEWS", "## 1.2\n\n## 1.1\n") == {}


def test_a_changelog_that_is_a_link_is_not_followed(tmp_path):
    write_tree(tmp_path, {"elsewhere": "## 1.2\n\nsecret"})
    tree = write_tree(tmp_path / "tree", {})
    (tree / "CHANGES").symlink_to(tmp_path / "elsewhere")
    assert sections_between(tree, Version("1.0"), Version("1.2")) == ()
