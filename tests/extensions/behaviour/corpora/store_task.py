"""The two tasks of the corpus: a store of three modules that has a bug in each of two reports."""

from pathlib import Path

from tests.e2e.small_task import SmallTask, patch_of

STOCK = '''\
"""How many pieces of goods the store has."""


def free(counts, reserved, name):
    """The pieces that nobody has reserved."""
    return counts[name] - reserved[name]


def low(counts, least):
    """The goods of which there are fewer than `least`, sorted."""
    return sorted(name for name, count in counts.items() if count < least)


def total(counts):
    """All pieces."""
    return sum(counts.values())
'''
PRICES = '''\
"""What goods cost."""


def net(price, percent):
    """A price without its tax, in whole cents."""
    return price * 100 // (100 + percent)


def cheapest(prices):
    """The goods with the lowest price."""
    return min(prices, key=prices.get)
'''
REPORT = '''\
"""What the store prints."""


def line(name, cents):
    """A line of a receipt."""
    return f"{name}: {cents}"


def title(text):
    """The head of a receipt."""
    return text.upper()
'''
BUGGY_LINE = "counts[name] - reserved[name]"
FIXED_LINE = "counts.get(name, 0) - reserved.get(name, 0)"
PARTIAL_LINE = "counts[name] - reserved.get(name, 0)"
WRONG_LINE = "counts[name] - reserved.get(name, 1)"
"""Passes the tests that are there, and none of the hidden ones."""

NET, NET_FIXED = "price * 100 // (100 + percent)", "round(price * 100 / (100 + percent))"
CENTS, CENTS_FIXED = '"{name}: {cents}"', '"{name}: {cents / 100:.2f}"'

TEST_STOCK = """\
import stock


def test_reserved_pieces_are_not_free(counts):
    assert stock.free(counts, {"fig": 1, "nut": 0}, "fig") == 2


def test_low_goods_are_found(counts):
    assert stock.low(counts, 3) == ["nut"]


def test_total_counts_all(counts):
    assert stock.total(counts) == 4
"""
TEST_PRICES = """\
import prices
import report


def test_tax_is_taken_off():
    assert prices.net(119, 19) == 100


def test_title_is_in_capitals():
    assert report.title("store") == "STORE"
"""
CONFTEST = """\
import pytest


@pytest.fixture
def counts():
    return {"fig": 3, "nut": 1}
"""
PYPROJECT = """\
[project]
name = "store"
version = "1.0"

[tool.pytest.ini_options]
addopts = "-p no:cacheprovider"
pythonpath = ["."]
"""
FILES = {
    "stock.py": STOCK,
    "prices.py": PRICES,
    "report.py": REPORT,
    "tests/conftest.py": CONFTEST,
    "tests/test_stock.py": TEST_STOCK,
    "tests/test_prices.py": TEST_PRICES,
    "README.md": "# Store\n\nCounts goods, and prints receipts.\n",
    "pyproject.toml": PYPROJECT,
}
HIDDEN_FREE = """\
import stock


def test_goods_without_reservations_are_free():
    assert stock.free({"fig": 3}, {}, "fig") == 3


def test_unknown_goods_are_not_there():
    assert stock.free({}, {}, "fig") == 0
"""
HIDDEN_RECEIPT = """\
import prices
import report


def test_net_price_is_rounded():
    assert prices.net(102, 19) == 86


def test_line_has_euros():
    assert report.line("fig", 250) == "fig: 2.50"
"""
FREE_TESTS = (
    "tests/test_hidden.py::test_goods_without_reservations_are_free",
    "tests/test_hidden.py::test_unknown_goods_are_not_there",
)
RECEIPT_TESTS = (
    "tests/test_hidden.py::test_net_price_is_rounded",
    "tests/test_hidden.py::test_line_has_euros",
)


def write_task(folder: Path, *, receipts: bool, limits: str) -> Path:
    """Write one of the two tasks into a new folder, and return that.

    Args:
        folder: The new folder.
        receipts: Whether it is the task whose reference solution changes two files.
        limits: Lines of the task's `[agent]` table.
    """
    free = patch_of("stock.py", STOCK, STOCK.replace(BUGGY_LINE, FIXED_LINE))
    receipt = patch_of("prices.py", PRICES, PRICES.replace(NET, NET_FIXED)) + patch_of(
        "report.py", REPORT, REPORT.replace(CENTS, CENTS_FIXED)
    )
    task = SmallTask(
        files=FILES,
        hidden=HIDDEN_RECEIPT if receipts else HIDDEN_FREE,
        fail_to_pass=RECEIPT_TESTS if receipts else FREE_TESTS,
        solution=receipt if receipts else free,
        agent=limits,
    )
    return task.write(folder)
