"""A project that git made, and instances of it in SWE-bench's form."""

import json
from pathlib import Path

from tests.tasks.origins import Origin

REPO = "Acme/counting"
ID = "Acme__counting-7"
BUGGY = "def last(items):\n    return items[-2]\n\n\ndef first(items):\n    return items[0]\n"
FIXED = BUGGY.replace("items[-2]", "items[-1]")
OLD_TESTS = "from counting import first\n\n\ndef test_first():\n    assert first([1, 2]) == 1\n"
NEW_TESTS = """\
import pytest

from counting import first, last


def test_first():
    assert first([1, 2]) == 1


@pytest.mark.parametrize("items", [[1, 2], [3]], ids=["two items", "one"])
def test_last(items):
    assert last(items) == items[-1]
"""


class Project:
    """A repository below a folder of mirrors; its first commit bears a bug."""

    def __init__(self, repos: Path, repo: str = REPO) -> None:
        self.repo = repo
        self.origin = Origin(repos / repo)
        self.base_commit = self._commit(BUGGY, OLD_TESTS)
        self.patch = self.diff("counting.py", FIXED)
        self.test_patch = self.diff("tests/test_counting.py", NEW_TESTS)

    def instance(self, **changes: object) -> dict[str, object]:
        """An instance, right but for what a test wants different; `...` leaves a field out."""
        fields = {
            "repo": self.repo,
            "instance_id": ID,
            "base_commit": self.base_commit,
            "patch": self.patch,
            "test_patch": self.test_patch,
            "problem_statement": "# The last item is lost\r\n\r\nlast([1, 2]) is 1.",
            "hints_text": "",
            "created_at": "2026-01-02T03:04:05Z",
            "version": "1.0",
            "FAIL_TO_PASS": json.dumps(["tests/test_counting.py::test_last[one]"]),
            "PASS_TO_PASS": json.dumps(["tests/test_counting.py::test_first"]),
            "environment_setup_commit": self.base_commit,
            **changes,
        }
        return {name: value for name, value in fields.items() if value is not ...}

    def smith(self, **changes: object) -> dict[str, object]:
        """An instance of SWE-smith: the commit is right, and the patch makes the bug."""
        repo = "swesmith/acme__counting.0a1b2c3d"
        mirror = Origin(self.origin.path.parents[1] / repo)
        mirror.write("counting.py", FIXED)
        mirror.write("tests/test_counting.py", NEW_TESTS)
        mirror.write("conftest.py", "")
        mirror.commit()
        mirror.write("counting.py", BUGGY)
        mirror.git("add", "--all")
        fields = {
            "instance_id": "acme__counting.0a1b2c3d.lm_rewrite__abc",
            "patch": mirror.diff().decode(),
            "FAIL_TO_PASS": ["tests/test_counting.py::test_last[one]"],
            "PASS_TO_PASS": ["tests/test_counting.py::test_first"],
            "image_name": "jyangballin/swesmith.x86_64.acme_1776_counting.0a1b2c3d",
            "repo": repo,
            "problem_statement": "",
            **changes,
        }
        mirror.git("reset", "--hard", "--quiet")
        return {name: value for name, value in fields.items() if value is not ...}

    def _commit(self, code: str, tests: str) -> str:
        self.origin.write("counting.py", code)
        self.origin.write("tests/test_counting.py", tests)
        self.origin.write("conftest.py", "")  # so that pytest puts this folder on its path
        return self.origin.commit()

    def diff(self, name: str, text: str) -> str:
        self.origin.write(name, text)
        self.origin.git("add", "--all")
        patch = self.origin.diff().decode()
        self.origin.git("reset", "--hard", "--quiet")
        return patch


def write_lines(path: Path, *entries: object) -> Path:
    """A file of JSON lines; texts and bytes are lines as they are."""
    lines = []
    for entry in entries:
        text = entry if isinstance(entry, str | bytes) else json.dumps(entry)
        lines.append(text.encode() if isinstance(text, str) else text)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


RECIPES = f"""\
[[recipe]]
repo = "{REPO}"
install = ""

[[recipe]]
repo = "swesmith/acme__counting.0a1b2c3d"
install = ""
"""
"""Nothing is to be installed: its tests run in any environment that has pytest."""
