"""Which functions a patch changes."""

import pytest

from agentbench.audit.patch import parse_patch
from agentbench.extensions.behaviour.changed_scopes import CodeScope, changed_scopes
from tests.e2e.small_task import patch_of

SOURCE = """\
import os


def one():
    return 1


class Box:
    size = 3

    @property
    def area(self):
        def inner():
            return self.size
        return inner() ** 2
"""


def scopes(after: str, before: str = SOURCE) -> frozenset[CodeScope] | None:
    patch = parse_patch(patch_of("a.py", before, after).encode())
    return changed_scopes(patch, lambda path: before.encode() if path == "a.py" else None)


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("return 1", "return 2", {"one"}),
        ("return self.size", "return 4", {"Box.area.inner"}),
        ("inner() ** 2", "inner() ** 3", {"Box.area"}),
        ("    @property\n", "", {"Box.area"}),
        ("size = 3", "size = 4", {"Box"}),
        ("import os", "import sys", {""}),
        ("import os\n\n\ndef one():\n    return 1", "import sys\n\n\ndef one():\n    return 2",
         {"one"}),
        ("    return 1\n", "    return 1\n\n\ndef two():\n    return 2\n", {"two"}),
    ],
)  # fmt: skip
def test_change_is_in_the_innermost_function(old: str, new: str, names: set[str]) -> None:
    assert scopes(SOURCE.replace(old, new)) == {CodeScope("a.py", name) for name in names}


def test_invalid_python_is_unknown() -> None:
    assert scopes(SOURCE + "def (:\n") is None


def test_patch_of_another_text_is_unknown() -> None:
    patch = parse_patch(patch_of("a.py", SOURCE, SOURCE.replace("1", "2")).encode())
    assert changed_scopes(patch, lambda _: b"other\n") is None


def test_files_of_other_languages_have_no_places() -> None:
    patch = parse_patch(patch_of("a.js", "x = 1\n", "x = 2\n").encode())
    assert changed_scopes(patch, lambda _: b"x = 1\n") == frozenset()
