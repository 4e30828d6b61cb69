from pathlib import Path

import pytest

from agentbench.extensions.llm.in_sandbox.paths import RefusedError
from agentbench.extensions.llm.in_sandbox.reading import list_files, search


@pytest.fixture
def root(tmp_path):
    """A small project."""
    files = {
        "src/app.py": "import os\nx = 1\n",
        "src/deep/er/est.py": "y = 2\n",
        "README.md": "About x\n",
        ".git/config": "x\n",
        "src/__pycache__/app.pyc": "x\n",
        "node_modules/m/i.js": "x\n",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "binary").write_bytes(b"x\0x")
    return str(tmp_path)


def test_files_are_listed_with_folders_marked_and_links_shown(root):
    assert list_files(root).splitlines() == [
        "README.md",
        "binary",
        "link -> /etc",
        "src/",
        "src/app.py",
        "src/deep/",
        "src/deep/er/",
    ]


def test_depth_counts_folders_from_the_one_that_is_listed(root):
    assert list_files(root, "src", 1).splitlines() == ["app.py", "deep/"]
    assert list_files(root, "src/deep", 2).splitlines() == ["er/", "er/est.py"]


def test_of_many_entries_the_rest_is_counted(root):
    for number in range(500):
        Path(root, f"src/deep/{number:03}").touch()
    lines = list_files(root, "src/deep", 1).splitlines()
    assert len(lines) == 401
    assert lines[-1] == "[101 more; list a folder of these, or less depth]"


def test_an_empty_folder_is_said_to_be_empty(root):
    Path(root, "none").mkdir()
    assert list_files(root, "none") == "none is an empty folder"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nowhere", "there is no nowhere"),
        ("README.md", "is a file; read_file"),
        ("link", "leads out"),
        ("link/ssl", "leads out"),
        ("../..", "leads out"),
    ],
)
def test_what_cannot_be_listed_is_refused(root, path, told):
    with pytest.raises(RefusedError, match=told):
        list_files(root, path)


def test_matches_are_shown_with_file_and_line_and_nothing_but_text_is_searched(root):
    assert search(root, "x") == "README.md:1: About x\nsrc/app.py:2: x = 1"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"pattern": "^x = \\d$"}, "src/app.py:2: x = 1"),
        ({"pattern": "about", "ignore_case": True}, "README.md:1: About x"),
        ({"pattern": "x", "glob": "*.py"}, "src/app.py:2: x = 1"),
        ({"pattern": "=", "glob": "src/deep/*"}, "src/deep/er/est.py:1: y = 2"),
        ({"pattern": "x", "path": "src"}, "src/app.py:2: x = 1"),
        ({"pattern": "x", "path": "README.md"}, "README.md:1: About x"),
        ({"pattern": "z"}, "no line of the searched files fits"),
    ],
)
def test_a_search_can_be_narrowed_down(root, given, found):
    assert search(root, **given) == found


def test_too_many_matches_are_cut(root):
    Path(root, "many").write_text("z\n" * 5000)
    lines = search(root, "z").splitlines()
    assert len(lines) == 101
    assert lines[-1] == "[there are more: narrow it down by path or glob]"


@pytest.mark.parametrize("pattern", ["(", "*", "[z-a]", "(?P<a", "a{99999999999}"])
def test_what_is_no_expression_is_refused(root, pattern):
    with pytest.raises(RefusedError, match="no regular expression of Python"):
        search(root, pattern)


@pytest.mark.parametrize("path", ["link", "..", "/etc", "nowhere"])
def test_a_search_stays_inside(root, path):
    with pytest.raises(RefusedError):
        search(root, "root", path)
