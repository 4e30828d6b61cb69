from pathlib import PurePosixPath as P

import pytest

from agentbench.core.files import FileContent
from agentbench.integrity.tool_caches import ToolCache, cache_of, separate_caches
from agentbench.integrity.trees import EntryKind, TreeEntry, WorkspaceTree


def plain(content: bytes = b"x") -> FileContent:
    return FileContent(content=content, executable=False)


def tree(*files: str, size: int = 1) -> WorkspaceTree:
    folders = {folder for name in files for folder in P(name).parents}
    entries = {folder: TreeEntry(kind=EntryKind.FOLDER) for folder in folders}
    return entries | {P(name): TreeEntry(kind=EntryKind.FILE, size=size) for name in files}


def code(size: int, flags: int = 0) -> FileContent:
    return plain(
        b"\xa7\r\r\n" + flags.to_bytes(4, "little") + bytes(4) + size.to_bytes(4, "little")
    )


def kept(files, base=None, tracked=()):
    files = {P(name): file for name, file in files.items()}
    separated = separate_caches(files, base or tree(), lambda: frozenset(map(P, tracked)))
    return {str(path) for path in separated.files}, separated.caches


@pytest.mark.parametrize(
    ("path", "cache"),
    [
        (".pytest_cache/v/cache/lastfailed", ".pytest_cache"),
        ("pkg/.mypy_cache/3.11/a.data.json", "pkg/.mypy_cache"),
        (".ruff_cache/0.9/123", ".ruff_cache"),
        (".hypothesis/examples/ab/cd", ".hypothesis"),
        ("htmlcov/index.html", "htmlcov"),
        ("htmlcov/coverage_html_cb_6fb7b396.js", "htmlcov"),
        (".coverage", ".coverage"),
        ("pkg/.coverage.host.12.XaBc", "pkg/.coverage.host.12.XaBc"),
        ("pkg/__pycache__/a.cpython-311.pyc", "pkg/__pycache__"),
        ("t/__pycache__/test_a.cpython-311-pytest-8.4.2.pyc", "t/__pycache__"),
        ("t/__pycache__/a.pypy310.opt-1.pyc", "t/__pycache__"),
        (".nyc_output/processinfo/1.json", ".nyc_output"),
        (".vitest/results.json", ".vitest"),
        ("node_modules/.cache/babel-loader/1.json", "node_modules/.cache"),
        ("a/node_modules/.vite/deps/chunk.js", "a/node_modules/.vite"),
        ("coverage/lcov-report/sorter.js", "coverage/lcov-report"),
        (".nyc_output/a.js", None),
        ("node_modules/.bin/jest", None),
        (".cache/a.json", None),
        (".coveragerc", None),
        (".coverage.rc", None),
        ("coverage/a.txt", None),
        ("htmlcov", None),
        ("pkg/a.pyc", None),
        ("pkg/__pycache__/a.pyc", None),
        ("pkg/__pycache__/a.py", None),
        ("pkg/__pycache__/deep/a.cpython-311.pyc", None),
        (".pytest_cache/conftest.py", None),
        (".mypy_cache/own.so", None),
        (".mypy_cache/own.pyc", None),
        ("htmlcov/site.pth", None),
        ("pytest_cache/a", None),
    ],
)
def test_cache_is_recognised_by_its_path(path, cache):
    assert cache_of(P(path)) == (P(cache) if cache else None)


def test_caches_are_listed_with_their_sizes():
    change = {
        "pkg/a.py": plain(b"four"),
        ".pytest_cache/README.md": plain(b"12345"),
        ".pytest_cache/v/x": plain(b"123"),
        ".coverage": plain(),
        "pkg/__pycache__/a.cpython-311.pyc": code(4),
        "pkg/__pycache__/b.cpython-311.pyc": code(9),
        "pkg/__pycache__/b.cpython-311-pytest-9.2.0.pyc": code(0, flags=3),  # it has a hash
        "pkg/__pycache__/gone.cpython-311.pyc": None,
    }
    work, caches = kept(change, tree("pkg/b.py", size=9))
    assert work == {"pkg/a.py"}
    assert caches == (
        ToolCache(path=".coverage", files=1, size=1),
        ToolCache(path=".pytest_cache", files=2, size=8),
        ToolCache(path="pkg/__pycache__", files=4, size=48),
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a.cpython-311.pyc", code(5)),  # of another source
        ("a.cpython-311.pyc", code(4, flags=1)),  # never held against its source
        ("none.cpython-311.pyc", code(4)),
        ("removed.cpython-311.pyc", code(4)),
        ("a.cpython-311.pyc", plain(b"")),
    ],
)
def test_byte_code_without_its_source_is_no_cache(name, file):
    change = {f"pkg/__pycache__/{name}": file, "pkg/removed.py": None}
    work, caches = kept(change, tree("pkg/a.py", "pkg/removed.py", size=4))
    assert work == set(change)
    assert caches == ()


@pytest.mark.parametrize(
    ("path", "tracked", "is_work"),
    [
        ("htmlcov/index.html", "htmlcov/index.html", True),
        ("htmlcov/new.html", "htmlcov/index.html", True),
        ("pkg/htmlcov/new.html", "htmlcov/index.html", False),
        (".coverage", ".coverage", True),
        (".pytest_cache/v/x", "pkg/a.py", False),  # of a set-up that ran tests
        ("pkg/__pycache__/a.cpython-311.pyc", "pkg/__pycache__/a.cpython-311.pyc", True),
        ("pkg/__pycache__/a.cpython-311.pyc", "pkg/__pycache__/b.cpython-311.pyc", False),
    ],
)
def test_tracked_file_is_no_cache(path, tracked, is_work):
    base = tree(path, tracked, "pkg/a.py", size=4)
    change = {path: None if path.endswith("pyc") else plain()}
    assert (kept(change, base, [tracked])[0] == {path}) is is_work


def test_git_is_called_only_for_caches_of_the_base():
    def asked():
        raise AssertionError

    separated = separate_caches({P(".coverage"): plain(), P("a.py"): plain()}, tree("a.py"), asked)
    assert [cache.path for cache in separated.caches] == [".coverage"]


def test_many_caches_are_added_up():
    change = {f"{number:03}/.pytest_cache/x": plain() for number in range(300)}
    _, caches = kept(change)
    assert len(caches) == 101
    assert caches[-1] == ToolCache(path="others", files=200, size=200)
