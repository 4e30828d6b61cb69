"""A richer program for hidden tests of many kinds: it has one bug in every function."""

from collections.abc import Sequence

from tests.e2e.small_task import SERIAL, SmallTask, patch_of

BUGGY = '''\
"""A small shop: labels, sums and orders."""


class OrderError(ValueError):
    """An order that cannot be filled."""


def label(name, count):
    """How many of what, as people say it."""
    return f"{count} {name}"


def totals(lines):
    """What each name costs in all lines of (name, count, price)."""
    found = {}
    for name, count, price in lines:
        found[name] = count * price
    return found


def names(lines):
    """The names in all lines, each once, in order."""
    return [name for name, _count, _price in lines]


def share(total, people):
    """What each of some people pays."""
    return total // people


def is_dear(price):
    """Whether something costs more than ten."""
    return price < 10


def order(name, count):
    """An order; a count below one is refused."""
    return (name, count)
'''
FIXED = (
    BUGGY.replace('f"{count} {name}"', 'f"{count} {name}" + ("" if count == 1 else "s")')
    .replace("= count * price", "= found.get(name, 0) + count * price")
    .replace("[name for name, _count, _price in lines]", "sorted({line[0] for line in lines})")
    .replace("total // people", "total / people")
    .replace("price < 10", "price > 10")
    .replace(
        "    return (name, count)",
        '    if count < 1:\n        raise OrderError(f"{count} is below 1")\n'
        "    return (name, count)",
    )
)
VISIBLE = """\
import shop


def test_one_of_a_kind():
    assert shop.label("pear", 1) == "1 pear"


def test_an_order_is_a_pair():
    assert shop.order("pear", 2) == ("pear", 2)
"""
HEAD = "import unittest\n\nimport pytest\n\nimport shop\n"
LABELS = """

@pytest.mark.parametrize(
    ("name", "count", "text"),
    [("pear", 2, "2 pears"), ("box", 4, "4 boxs"), ("fig", 12, "12 figs")],
)
def test_a_label_counts(name, count, text):
    assert shop.label(name, count) == text
"""
CONTAINERS = """

def test_lines_of_one_name_add_up():
    assert shop.totals([("fig", 2, 3), ("pear", 1, 5), ("fig", 1, 3)]) == {"fig": 9, "pear": 5}


def test_the_sums_are_whole():
    assert {"plum": 42} == shop.totals([("plum", 4, 8), ("plum", 1, 10)])


def test_names_come_once_and_in_order():
    assert shop.names([("pear", 1, 5), ("fig", 2, 3), ("pear", 1, 5)]) == ["fig", "pear"]
"""
TEXTS = """

def test_two_of_a_kind():
    assert shop.label("plum", 2) == "2 plums"


def test_none_of_a_kind():
    text = shop.label("nut", 0)
    assert text == "0 nuts"
"""
ERRORS = """

def test_an_order_of_nothing_is_refused():
    with pytest.raises(shop.OrderError):
        shop.order("pear", 0)


def test_a_refusal_says_why():
    with pytest.raises(shop.OrderError, match="-3 is below 1"):
        shop.order("fig", -3)
"""
SHARES = """

def test_shares_have_fractions():
    assert shop.share(7, 2) == pytest.approx(3.5)


def test_shares_are_fair():
    assert shop.share(1, 3) == pytest.approx(0.3333333, abs=1e-6)
"""
CASES = """

class ShopTest(unittest.TestCase):
    def test_names(self):
        self.assertEqual(shop.names([("b", 1, 1), ("a", 1, 1)]), ["a", "b"])

    def test_dear(self):
        self.assertTrue(shop.is_dear(11))

    def test_refused(self):
        with self.assertRaises(shop.OrderError):
            shop.order("pear", 0)
"""
IDS = {
    LABELS: tuple(
        f"test_a_label_counts[{case}]"
        for case in ("pear-2-2 pears", "box-4-4 boxs", "fig-12-12 figs")
    ),
    CONTAINERS: (
        "test_lines_of_one_name_add_up",
        "test_the_sums_are_whole",
        "test_names_come_once_and_in_order",
    ),
    TEXTS: ("test_two_of_a_kind", "test_none_of_a_kind"),
    ERRORS: ("test_an_order_of_nothing_is_refused", "test_a_refusal_says_why"),
    SHARES: ("test_shares_have_fractions", "test_shares_are_fair"),
    CASES: ("ShopTest::test_names", "ShopTest::test_dear", "ShopTest::test_refused"),
}


def shop_task(*parts: str) -> SmallTask:
    """The task whose hidden tests are these parts."""
    return rich_task("".join([HEAD, *parts]), [id_ for part in parts for id_ in IDS[part]])


def rich_task(hidden: str, ids: Sequence[str]) -> SmallTask:
    """A task of the shop with hidden tests of one's own."""
    return SmallTask(
        files={"shop.py": BUGGY, "tests/test_shop.py": VISIBLE, "serial.txt": SERIAL},
        hidden=hidden,
        fail_to_pass=tuple(f"tests/test_hidden.py::{id_}" for id_ in ids),
    )


FIX = f"git apply <<'END'\n{patch_of('shop.py', BUGGY, FIXED)}END\n"
"""The fix as a command."""

EQUALITIES = shop_task(LABELS, CONTAINERS, TEXTS)
EVERYTHING = shop_task(*IDS)
