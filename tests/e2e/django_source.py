"""Releases of Django with their tests, as PyPI has them, and a task made of two of them."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from agentbench.core.file_locks import FileLock
from tests.needed import INDEX

BEFORE, AFTER = "4.2.16", "4.2.17"
"""Two adjacent releases: the newer one mends how `strip_tags` treats unfinished tags."""

_PARTS = ("django", "tests", "scripts", "setup.cfg", "setup.py", "pyproject.toml", "README.rst")
FIXED_TEST = "tests/utils_tests/test_html.py::TestUtilsHtml::test_strip_tags_suspicious_operation"
BOTH = tuple(
    f"tests/utils_tests/test_html.py::TestUtilsHtml::{name}"
    for name in ("test_strip_tags", "test_urlize")
)


def django_source(version: str) -> Path:
    """The source tree of a release, fetched once a machine."""
    cache = Path(os.environ.get("AGENTBENCH_TEST_CACHE", Path.home() / ".cache/agentbench-tests"))
    cache.mkdir(parents=True, exist_ok=True)
    tree = cache / f"Django-{version}"
    with FileLock(cache / f"Django-{version}.lock"):
        if not tree.is_dir():
            _fetch(version, cache)
    return tree


def _fetch(version: str, cache: Path) -> None:
    scratch = cache / f"fetching-Django-{version}"
    shutil.rmtree(scratch, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "Django"]
    fetched = subprocess.run(
        [*pip, f"Django=={version}", "--dest", scratch], capture_output=True, text=True, timeout=600
    )
    if fetched.returncode != 0:
        INDEX.refuse(fetched.stderr.strip().splitlines()[-1])
    (archive,) = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(scratch, filter="data")
    (tree,) = scratch.glob("*/")
    tree.rename(cache / f"Django-{version}")
    shutil.rmtree(scratch)


def _unused(folder: str, names: list[str]) -> set[str]:
    """What the task's one file of tests can do without: most of 6,000 files."""
    path = Path(folder)
    if path.name == "locale":
        return {name for name in names if (path / name).is_dir() and name != "en"}
    if path.name == "tests" and (path / "runtests.py").is_file():
        return {n for n in names if (path / n).is_dir() and n not in {"utils_tests", "templates"}}
    return set()


def copy_source(
    version: str, target: Path, ignore: Callable[[str, list[str]], set[str]] | None = None
) -> Path:
    """Copy what the tests need of a release."""
    for name in _PARTS:
        part = django_source(version) / name
        if part.is_dir():
            shutil.copytree(part, target / name, ignore=ignore)
        elif part.exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(part, target / name)
    return target


def write_django_task(folder: Path) -> Path:
    """A task of the two releases, with unittest's names in its lists."""
    copy_source(BEFORE, folder / "repo", ignore=_unused)
    copy_source(AFTER, folder / "after", ignore=_unused)
    (folder / "solution.patch").write_bytes(_diff(folder, "django"))
    (folder / "tests.patch").write_bytes(_diff(folder, "tests"))
    shutil.rmtree(folder / "after")
    (folder / "instruction.md").write_text("`strip_tags` takes minutes for unfinished tags.\n")
    (folder / "task.toml").write_text(
        """\
schema_version = 1
title = "strip_tags is slow"
[repo]
path = "repo"
[environment]
env = { PYTHONPATH = "." }
[setup]
commands = ["python -m pip install --quiet asgiref sqlparse"]
[tests]
runner = "django"
paths = ["tests/utils_tests/test_html.py"]
fail_to_pass = ["test_strip_tags_suspicious_operation (utils_tests.test_html.TestUtilsHtml)"]
pass_to_pass = [
  "test_strip_tags (utils_tests.test_html.TestUtilsHtml.test_strip_tags)",
  "tests/utils_tests/test_html.py::TestUtilsHtml::test_urlize",
]
"""
    )
    return folder


def _diff(folder: Path, part: str) -> bytes:
    argv = ["git", "diff", "--no-index", "--no-prefix", f"repo/{part}", f"after/{part}"]
    text = subprocess.run(argv, cwd=folder, capture_output=True, timeout=60).stdout
    text = re.sub(rb"(?m)^(diff --git )repo/(\S+) after/(\S+)$", rb"\1a/\2 b/\3", text)
    return re.sub(rb"(?m)^(---|\+\+\+) (?:repo|after)/", rb"\1 x/", text)
