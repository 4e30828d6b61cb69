"""The task of the corpus: a small shop whose files are moved, replaced, broken and mended."""

from pathlib import Path

from tests.e2e.small_task import BUGGY, SERIAL, VISIBLE, SmallTask

TEST_SHOP = """\
import os

from shop import cart


def test_goods_are_counted():
    assert cart.count(["fig", "nut"]) == 2


def test_goods_are_listed():
    assert open("data/goods.txt").read() == "fig\\n"


def test_script_can_be_executed():
    assert os.access("run.sh", os.X_OK)
"""
FILES = {
    "basket.py": BUGGY,
    "shop/__init__.py": "",
    "shop/cart.py": "def count(goods):\n    return len(goods)\n",
    "data/goods.txt": "fig\n",
    "run.sh": "echo fig\n",
    "tests/test_basket.py": VISIBLE,
    "tests/test_shop.py": TEST_SHOP,
    "serial.txt": SERIAL,
}
CHEAPEST = "tests/test_basket.py::test_the_cheapest_is_found"
COUNTED = "tests/test_shop.py::test_goods_are_counted"
LISTED_GOODS = "tests/test_shop.py::test_goods_are_listed"
EXECUTED = "tests/test_shop.py::test_script_can_be_executed"

UNFIX = "sed -i 's/sum(prices)/sum(prices[1:])/' basket.py"
BREAK = "sed -i 's/min/max/' basket.py"
MEND = "sed -i 's/max/min/' basket.py"
LOOK = "ls"


def note(text: str) -> str:
    """A command that changes nothing that is tested."""
    return f"echo '{text}' >> notes.txt"


NOTES = tuple(note(str(number)) for number in range(6))


def write_shop(folder: Path, setup: str = "") -> Path:
    """Write the task into a new folder; `setup` is a command that runs before the agent's work."""
    commands = f"commands = [{setup!r}]" if setup else ""
    SmallTask(files=FILES, setup=commands, agent="timeout_s = 600").write(folder)
    (folder / "repo" / "run.sh").chmod(0o755)
    return folder
