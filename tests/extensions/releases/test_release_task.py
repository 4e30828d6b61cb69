from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest
from packaging.version import Version

from agentbench.errors import InputError
from agentbench.extensions.releases import release_task as difference_module
from agentbench.extensions.releases.package_index import parse_requested_releases
from agentbench.extensions.releases.release_task import (
    MAX_CHANGELOG,
    ChangelogSection,
    changed_test_names,
    fix_between,
    instruction_of,
    sections_between,
    task_id_of,
    why_compiler_needed,
    without_code,
    write_release_task,
)
from agentbench.tasks.git_history import Commit, apply_patch_to_commit
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import RepoSource
from agentbench.tasks.task_file import is_task_id
from agentbench.validation.fix_commit import FixCommit
from tests.extensions.releases.local_index import NEW, OLD, LocalIndex
from tests.validation.environment.trees import write_tree

COMMIT = Commit(hash="0" * 40, parents=(), date=datetime(2026, 1, 1, tzinfo=UTC), message="x")
FIX = FixCommit(
    commit=COMMIT,
    base="0" * 40,
    tests=(),
    tests_patch=b"",
    solution_patch=(
        b"diff --git a/NEWS.md b/NEWS.md\n+++ b/NEWS.md\n+- last is right now\n"
        b"diff --git a/x.py b/x.py\n+++ b/x.py\n+    return items[-1] or None\n+else:\n"
    ),
)
SECTION = ChangelogSection(
    file="CHANGES.md",
    version=Version("1.1"),
    text="- last is right now\nreturn items[-1] or None\nelse:\n```python\n"
    "x = 1\nreturn items[-1] or None\n```\n```\nlast([1])\n```\n- done",
)
VERSIONS = ("1.0", "1.1")


def test_instruction_quotes_changelog():
    text = instruction_of("demo", VERSIONS, [SECTION], ["test_a"])
    assert text.startswith("# demo 1.0: make it do what 1.1 does\n")
    assert "changelog (CHANGES.md)" in text
    assert "- last is right now" in text
    assert "names of the tests" not in text


def test_lines_of_solution_are_removed_from_changelog():
    (result,) = without_code([SECTION], FIX)
    assert result.text == "- last is right now\nelse:\n```\nlast([1])\n```\n- done"


def test_unclosed_block_is_quoted():
    open_block = replace(SECTION, text="```\nx = 1")
    assert without_code([open_block], FIX)[0].text == "```\nx = 1"


def test_instruction_names_tests_without_changelog():
    text = instruction_of("demo", VERSIONS, [], ["test_the_last_item_is_given", "test_"])
    assert "changelog does not say" in text
    assert "- the last item is given\n- test_\n" in text


def test_number_of_named_tests_is_limited():
    text = instruction_of("demo", VERSIONS, [], [f"test_{n}" for n in range(45)])
    assert "- and 5 more" in text


def test_instruction_without_changelog_and_tests():
    assert "does not mention it" in instruction_of("demo", VERSIONS, [], [])


def test_a_very_long_changelog_is_cut_at_a_line():
    long = replace(SECTION, text="\n".join(f"- line {n}" for n in range(5_000)))
    text = instruction_of("demo", VERSIONS, [long], [])
    assert len(text) < MAX_CHANGELOG + 1_000
    assert "\n…\n" in text


def made(index: LocalIndex, tmp_path, *words):
    pair = index.client.pair(parse_requested_releases(words or ("demo",)))
    return write_release_task(pair, index.client, tmp_path / "tasks", None)


def test_two_releases_become_a_task_that_loads(index, tmp_path):
    folder = made(index, tmp_path)
    task = load_task(folder, mirrors=Mirrors(tmp_path / "mirrors"))
    assert task.id == "demo-1.1"
    assert task.problem.title == "demo: from 1.0 to 1.1"
    assert task.problem.tags == ("release", "demo")
    assert "`last` gave the last but one" in task.problem.instruction
    assert (folder / "repo/demo.py").read_text() == OLD["demo.py"]


def test_solution_has_no_new_version(index, tmp_path):
    patch = (made(index, tmp_path) / "solution.patch").read_text()
    assert "+    return items[-1]" in patch
    assert "__version__ = " not in patch.replace(' __version__ = "1.0"', "")
    assert "PKG-INFO" not in patch
    assert "CHANGES.md" not in patch


def test_instruction_has_no_tests_and_no_fix(index, tmp_path):
    folder = made(index, tmp_path)
    assert "items[-1]" not in (folder / "instruction.md").read_text()
    assert "test_the_last_item" not in (folder / "repo/test_demo.py").read_text()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({**NEW, "test_demo.py": OLD["test_demo.py"]}, "adds or changes no file of tests"),
        ({**OLD, "PKG-INFO": NEW["PKG-INFO"]}, "changes no file"),
        ({**OLD, "demo.py": OLD["demo.py"].replace("1.0", "1.2")}, "changes no file"),
        ({**NEW, "setup.py": "setup(ext_modules=[x])"}, "binary extension"),
    ],
    ids=["same-tests", "metadata", "version", "extension"],
)
def test_unsuitable_releases_are_refused(index, tmp_path, files, said):
    index.add("demo", "1.2", files)
    with pytest.raises(InputError, match=said):
        made(index, tmp_path, "demo", "1.0", "1.2")
    assert not (tmp_path / "tasks").exists()


def test_a_release_without_tests_is_refused(index, tmp_path):
    index.add("demo", "1.2", {name: NEW[name] for name in ("PKG-INFO", "demo.py")})
    with pytest.raises(InputError, match="the newer source distribution holds no tests"):
        made(index, tmp_path, "demo", "1.0", "1.2")


def test_test_paths_exist_with_hidden_tests(index, tmp_path):
    moved = {name: text for name, text in NEW.items() if name != "test_demo.py"}
    moved |= {"checks/test_demo.py": NEW["test_demo.py"], "tests/testmore.py": NEW["test_demo.py"]}
    index.add("demo", "1.2", moved)
    folder = made(index, tmp_path, "demo", "1.0", "1.2")
    task = load_task(folder, mirrors=Mirrors(tmp_path / "mirrors"))
    assert task.problem.test_paths == ("checks/test_demo.py", "tests/testmore.py")


def test_newer_release_gives_environment_without_older_tests(index, tmp_path):
    index.add("bare", "1.0", {name: OLD[name] for name in ("PKG-INFO", "demo.py")})
    index.add("bare", "1.1", {**NEW, "test_demo.py": f"import yaml\n{NEW['test_demo.py']}"})
    folder = made(index, tmp_path, "bare")
    task = load_task(folder, mirrors=Mirrors(tmp_path / "mirrors"))
    assert task.problem.test_paths == ("test_demo.py",)
    assert "pyyaml" in " ".join(task.setup.commands)


def test_an_id_is_the_package_and_the_newer_release(index):
    index.add("demo", "2!1.0.post1", NEW)
    found = task_id_of(index.client.pair(parse_requested_releases(["demo", "1.1", "2!1.0.post1"])))
    assert found == "demo-2-1.0.post1"
    assert is_task_id(found)


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


def test_project_without_changelog_has_no_sections(tmp_path):
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


def between(tmp_path, before, after):
    (tmp_path / "scratch").mkdir()
    old, new = write_tree(tmp_path / "old", before), write_tree(tmp_path / "new", after)
    return fix_between(old, new, tmp_path / "scratch")


def test_difference_is_split_into_tests_and_solution(tmp_path):
    fix = between(tmp_path, OLD, NEW)
    assert fix.tests == (PurePosixPath("test_demo.py"),)
    assert b"test_demo.py" not in fix.solution_patch
    assert b"demo.py" in fix.solution_patch
    assert b"\n--- a/demo.py" not in fix.tests_patch


def test_both_patches_apply_to_the_older_files(tmp_path):
    odd = {"crlf.txt": b"a\r\nb\r\n", "latin.py": b"x = 'Jos\xe9'\n", "picture.png": b"\0\1\2"}
    new = {"crlf.txt": b"a\r\nc\r\n", "latin.py": b"x = 'Jos\xe9!'\n", "picture.png": b"\0\3\2"}
    fix = between(tmp_path, {**OLD, **odd}, {**NEW, **new})
    mirror = Mirrors(tmp_path / "mirrors").of(RepoSource(files=tmp_path / "old"))
    files = apply_patch_to_commit(fix.solution_patch, mirror)
    made = {str(path): file.content for path, file in files.items() if file is not None}
    assert made["picture.png"] == b"\0\3\2"
    assert made["crlf.txt"] == b"a\r\nc\r\n"
    assert made["latin.py"] == b"x = 'Jos\xe9!'\n"
    assert apply_patch_to_commit(fix.tests_patch, mirror)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "the newer release changes no file"),
        ({"README": "new"}, "the newer release changes no source except tests"),
        ({"demo.py": NEW["demo.py"]}, "the newer release adds or changes no file of tests"),
    ],
)
def test_unsuitable_difference_is_refused(tmp_path, changed, said):
    with pytest.raises(InputError, match=said):
        between(tmp_path, OLD, {**OLD, **changed})


def test_a_huge_difference_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(difference_module, "_MAX_PATCH", 100)
    with pytest.raises(InputError, match="MiB of patches"):
        between(tmp_path, OLD, NEW)


def test_the_names_of_added_and_changed_tests_are_read_from_the_patch(tmp_path):
    many = "".join(f"    y = {n}\n" for n in range(20))
    before = f"{OLD['test_demo.py']}\n\ndef test_long():\n{many}    assert 1\n"
    more = "\n\nasync def test_later(x):\n    def helper(): ...\n"
    after = f"{before.replace('assert 1', 'assert 2')}{more}"
    old, new = {**OLD, "test_demo.py": before}, {**NEW, "test_demo.py": after}
    assert changed_test_names(between(tmp_path, old, new)) == ("test_long", "test_later")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"pyproject.toml": '[build-system]\nrequires = ["setuptools", "Cython>=3"]'}, "cython"),
        ({"pyproject.toml": '[build-system]\nbuild-backend = "maturin"'}, "maturin"),
        ({"setup.py": "setup(ext_modules=[Extension('x', ['x.c'])])"}, "ext_modules"),
    ],
)
def test_compiled_project_is_recognised(tmp_path, files, said):
    why = why_compiler_needed(write_tree(tmp_path, files))
    assert why is not None
    assert why.startswith("it has a binary extension")
    assert said in why


@pytest.mark.parametrize(
    "files",
    [{}, {"setup.py": "setup()"}, {"pyproject.toml": '[build-system]\nrequires = ["./x", "flit"]'}],
)
def test_pure_python_needs_no_compiler(tmp_path, files):
    assert why_compiler_needed(write_tree(tmp_path, files)) is None
