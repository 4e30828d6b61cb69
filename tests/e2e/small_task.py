"""The one task of these tests: a program of a few lines that forgets the first price."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from uuid import uuid4

BUGGY = '''\
"""What a basket of goods costs."""


def total(prices):
    """The sum of all prices."""
    return sum(prices[1:])


def cheapest(prices):
    """The lowest price."""
    return min(prices)
'''
FIXED = BUGGY.replace("prices[1:]", "prices")
FIX = r"sed -i 's/prices\[1:\]/prices/' basket.py"
"""The fix as a command, for `command` agents."""

PARTIAL_FIX = r"sed -i 's/sum(prices\[1:\])/sum(prices[1:]) or sum(prices)/' basket.py"
"""Mends baskets of one price alone."""

VISIBLE = """\
import basket


def test_the_cheapest_is_found():
    assert basket.cheapest([3, 1, 2]) == 1


def test_an_empty_basket_costs_nothing():
    assert basket.total([]) == 0
"""
HIDDEN = """\
import basket


def test_every_price_counts():
    assert basket.total([1, 2, 3]) == 6


def test_one_price_is_the_total():
    assert basket.total([5]) == 5
"""
SERIAL = uuid4().hex
"""Makes the preparations of this process its own: what it discards, no other one uses."""

LISTED = (
    "tests/test_hidden.py::test_every_price_counts",
    "tests/test_hidden.py::test_one_price_is_the_total",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallTask:
    """What a test wants different about it; tables are lines of TOML."""

    repo: str = 'path = "repo"'
    environment: str = ""
    setup: str = ""
    tests: str = 'pass_to_pass = "baseline"'
    agent: str = ""
    paths: tuple[str, ...] = ("tests",)
    fail_to_pass: tuple[str, ...] = LISTED
    test_timeout_s: float = 60
    hidden: str = HIDDEN
    hidden_data: Mapping[str, str] = field(default_factory=dict)
    """Files beside the hidden tests, by path."""

    solution: str = ""
    """The reference solution as a patch; that of `basket.py` needs no mention."""

    files: Mapping[str, str] = field(
        default_factory=lambda: {
            "basket.py": BUGGY,
            "tests/test_basket.py": VISIBLE,
            "serial.txt": SERIAL,
        }
    )

    def write(self, folder: Path) -> Path:
        """Write the task into a new folder, and return that."""
        for name, text in self.files.items():
            path = folder / "repo" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / "task.toml").write_text(self._toml())
        (folder / "instruction.md").write_text("`total` leaves the first price out.\n")
        if self.hidden:
            (folder / "tests.patch").write_text(self.tests_patch)
        solution = self.solution
        if not solution and self.files.get("basket.py") == BUGGY:
            solution = patch_of("basket.py", BUGGY, FIXED)
        if solution:
            (folder / "solution.patch").write_text(solution)
        return folder

    @property
    def tests_patch(self) -> str:
        """The hidden tests and their data as a patch."""
        files = {"tests/test_hidden.py": self.hidden, **self.hidden_data}
        return "".join(patch_of(name, "", text) for name, text in files.items())

    def _toml(self) -> str:
        return "\n".join(
            [
                "schema_version = 1",
                'title = "The first price is left out"',
                "[repo]",
                self.repo,
                "[environment]",
                self.environment,
                "[setup]",
                self.setup,
                "[tests]",
                f"paths = {list(self.paths)}",
                f"timeout_s = {self.test_timeout_s}",
                f"fail_to_pass = {list(self.fail_to_pass)}",
                self.tests,
                "[agent]",
                self.agent,
            ]
        )


def patch_of(name: str, before: str, after: str) -> str:
    """A git patch that turns one text of a file into another; an empty one is not a file."""
    head = [f"diff --git a/{name} b/{name}\n"]
    if not before:
        head.append("new file mode 100644\n")
    old = f"a/{name}" if before else "/dev/null"
    lines = unified_diff(before.splitlines(True), after.splitlines(True), old, f"b/{name}")
    return "".join([*head, *lines])
