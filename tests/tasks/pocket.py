"""A repository with a history: features, a fix with its test, prose, a change of layout."""

from pathlib import Path

from tests.e2e.small_task import BUGGY, HIDDEN, VISIBLE
from tests.tasks.origins import Origin

ADDED = BUGGY + '\n\ndef dearest(prices):\n    """The highest price."""\n    return max(prices)\n'
ADDED_FIXED = ADDED.replace("prices[1:]", "prices")
MESSAGE = """Count every price (#12)

The first price was left out of the total.
    return sum(prices)

Co-authored-by: A Friend <friend@example.org>
"""
COMMITS = ("begin", "feature", "prose", "fix", "layout", "tests_only", "source_only")


class Pocket(Origin):
    """The repository, and its commits by what they do."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.commits: dict[str, str] = {}
        self._change("begin", "Begin", {"basket.py": BUGGY, "tests/test_basket.py": VISIBLE})
        dearest = f"{VISIBLE}\n\ndef test_dearest():\n    assert basket.dearest([1, 2]) == 2\n"
        self._change(
            "feature", "Add dearest", {"basket.py": ADDED, "tests/test_basket.py": dearest}
        )
        self._change("prose", "Tell about it", {"README.md": "# Basket\n"})
        self.git("tag", "v1.0")
        fix = {"basket.py": ADDED_FIXED, "tests/test_hidden.py": HIDDEN, "CHANGES.md": "mended\n"}
        self._change("fix", MESSAGE, fix)
        prose = ADDED_FIXED.replace("The highest price.", "The highest of all prices.")
        more = f"{HIDDEN}\n\ndef test_nothing_costs_nothing():\n    assert basket.total([]) == 0\n"
        self._change("layout", "Say it better", {"basket.py": prose, "tests/test_hidden.py": more})
        self._change("tests_only", "Test more", {"tests/test_more.py": "def test_a():\n    pass\n"})
        self._change("source_only", "Be quick", {"basket.py": f"{prose}\nLIMIT = 3\n"})

    def _change(self, name: str, message: str, files: dict[str, str]) -> None:
        for path, text in files.items():
            self.write(path, text)
        self.commits[name] = self.commit(message)
