"""Styles of hidden tests: each is a few tests of the kit in one way of writing them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A way to write tests."""

    name: str
    tests: str
    ids: tuple[str, ...]
    imports: tuple[str, ...] = ()
    is_doctest: bool = False


_PYTEST = ("import pytest",)

SIGNED_MOCKS = Style(
    name="mocks with a signature",
    imports=("from unittest import mock",),
    tests="""
def send(name, retries=1):
    return name


def test_a_name_is_sent_by_a_function():
    sent = mock.create_autospec(send)
    kit.notify(sent, ["acorn"])
    sent.assert_called_once_with("acorn", retries=3)


def test_names_are_sent_in_order_by_a_function():
    sent = mock.create_autospec(send)
    kit.notify(sent, ["acorn", "beech"])
    sent.assert_has_calls([mock.call("acorn", retries=3), mock.call(name="beech", retries=3)])
    sent.assert_any_call("beech", 3)
""",
    ids=("test_a_name_is_sent_by_a_function", "test_names_are_sent_in_order_by_a_function"),
)

STYLES: tuple[Style, ...] = (
    Style(
        name="plain assertions",
        tests="""
def test_the_words_of_a_text():
    assert kit.words("A b a") == {"a", "b"}


def test_a_text_in_bytes():
    data = kit.encode("é")
    assert data == b"\\xc3\\xa9"
""",
        ids=("test_the_words_of_a_text", "test_a_text_in_bytes"),
    ),
    Style(
        name="operators",
        tests="""
def test_operators():
    assert "b" in kit.words("A B")
    assert "A" not in kit.words("A B")
    assert len(kit.words("a a b")) == 2
    assert 1.4 < kit.mean([1, 2]) <= 1.6
    assert kit.level(11) > kit.level(3)
    assert kit.level(11) != 1
    assert kit.find(["pear"], "x") is None
    assert not kit.find(["fig"], "y")
    assert kit.find(["pear", "fig"], "f") is not None
    assert isinstance(kit.mean([1]), float)
""",
        ids=("test_operators",),
    ),
    Style(
        name="parametrized",
        imports=_PYTEST,
        tests="""
@pytest.mark.parametrize(
    ("numbers", "expected"), [([1, 2], 1.5), ([3], 3), ([0, 0, 1, 1], 0.5)]
)
def test_means(numbers, expected):
    assert kit.mean(numbers) == expected


@pytest.mark.parametrize("start", ["f", "p"])
@pytest.mark.parametrize(
    "names", [("fig", "pear"), ("pear", "fig")], ids=["figs first", "pears first"]
)
def test_the_first_name_with_a_start(names, start):
    assert kit.find(names, start) == {"f": "fig", "p": "pear"}[start]
""",
        ids=(
            "test_means[numbers0-1.5]",
            "test_means[numbers2-0.5]",
            "test_the_first_name_with_a_start[figs first-p]",
            "test_the_first_name_with_a_start[pears first-f]",
        ),
    ),
    Style(
        name="fixtures and classes",
        imports=_PYTEST,
        tests="""
@pytest.fixture(params=["nut: 3", " nut :3"])
def line(request):
    return request.param


@pytest.fixture
def item(line):
    return kit.parse(line)


class TestItems:
    expected_price = 3

    def test_the_price_is_a_number(self, item):
        assert item.price == self.expected_price

    def test_the_item_is_equal(self, item):
        assert item == kit.Item("nut", 3)
        assert item == kit.Item(name="nut", price=self.expected_price)
""",
        ids=(
            "TestItems::test_the_price_is_a_number[nut: 3]",
            "TestItems::test_the_price_is_a_number[ nut :3]",
            "TestItems::test_the_item_is_equal[nut: 3]",
            "TestItems::test_the_item_is_equal[ nut :3]",
        ),
    ),
    Style(
        name="loops over tables",
        tests="""
MEANS = {(1, 2): 1.5, (5, 6): 5.5, (1, 1, 2, 2): 1.5}
LEVELS = [(3, 1), (11, 2), (10, 1)]


def test_a_table_of_means():
    for numbers, expected in MEANS.items():
        assert kit.mean(list(numbers)) == expected, numbers


def test_a_table_of_levels():
    for score, expected in LEVELS:
        assert kit.level(score) == expected
    assert [kit.level(score) for score, _ in LEVELS] == [level for _, level in LEVELS]
""",
        ids=("test_a_table_of_means", "test_a_table_of_levels"),
    ),
    Style(
        name="helpers with assertions",
        tests="""
def assert_parsed(line, name, price):
    item = kit.parse(line)
    assert item.name == name
    assert item.price == price


def middle_of(*numbers):
    return tuple(kit.middle(numbers[:2], numbers[2:]))


def test_spaces_are_ignored():
    assert_parsed(" fig : 12", "fig", 12)


def test_the_middle():
    assert middle_of(0, 0, 2, 4) == (1, 2)
    assert kit.middle((0, 0), (1, 1)) == kit.Point(0.5, 0.5)
    assert kit.middle((0, 0), (1, 1)).x == 0.5
""",
        ids=("test_spaces_are_ignored", "test_the_middle"),
    ),
    Style(
        name="approximate numbers",
        imports=_PYTEST,
        tests="""
def test_near_means():
    assert kit.mean([1, 2]) == pytest.approx(1.5)
    assert kit.mean([0.1, 0.2]) == pytest.approx(0.15, abs=1e-9)
    assert [kit.mean([1, 2]), kit.mean([2, 3])] == pytest.approx([1.5, 2.5])
    assert {"mean": kit.mean([1, 1, 2])} == pytest.approx({"mean": 1.333}, rel=1e-2)
    assert round(kit.mean([1, 1, 2]), 2) == 1.33
    assert abs(kit.mean([1, 2]) - 1.5) < 1e-6
""",
        ids=("test_near_means",),
    ),
    Style(
        name="expected errors",
        imports=_PYTEST,
        tests="""
def test_a_negative_value_is_refused():
    with pytest.raises(kit.KitError, match="-3 is negative"):
        kit.check(-3)


def test_the_error_is_a_value_error():
    with pytest.raises(ValueError) as caught:
        kit.check(-1)
    assert str(caught.value) == "-1 is negative"
    assert caught.type.__name__ == "KitError"


def test_an_error_by_call():
    pytest.raises(kit.KitError, kit.check, -2)


def test_an_error_by_hand():
    try:
        kit.check(-4)
    except kit.KitError as error:
        assert "negative" in str(error)
    else:
        pytest.fail("no error")
""",
        ids=(
            "test_a_negative_value_is_refused",
            "test_the_error_is_a_value_error",
            "test_an_error_by_call",
            "test_an_error_by_hand",
        ),
    ),
    Style(
        name="expected warnings",
        imports=("import warnings", *_PYTEST),
        tests="""
def test_old_warns():
    with pytest.warns(DeprecationWarning, match="use upper"):
        assert kit.old("x") == "X"


def test_the_warning_is_recorded():
    with pytest.warns(DeprecationWarning) as caught:
        kit.old("y")
    assert len(caught) == 1
    assert "deprecated" in str(caught[0].message)


def test_the_warning_is_caught_by_hand():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kit.old("z")
    assert [each.category for each in caught] == [DeprecationWarning]
""",
        ids=(
            "test_old_warns",
            "test_the_warning_is_recorded",
            "test_the_warning_is_caught_by_hand",
        ),
    ),
    Style(
        name="output",
        tests="""
def test_a_greeting(capsys):
    kit.greet("Ann")
    assert capsys.readouterr().out == "Hello, Ann!\\n"


def test_two_greetings(capfd):
    kit.greet("Ann")
    kit.greet("Bob")
    out, err = capfd.readouterr()
    assert out.splitlines() == ["Hello, Ann!", "Hello, Bob!"]
    assert err == ""
""",
        ids=("test_a_greeting", "test_two_greetings"),
    ),
    Style(
        name="temporary files",
        tests="""
def test_lines_are_saved(tmp_path):
    path = tmp_path / "lines.txt"
    kit.save(path, ["x", "y"])
    assert path.read_text() == "x\\ny\\n"
    assert [each.name for each in tmp_path.iterdir()] == ["lines.txt"]


def test_lines_are_saved_by_name(tmpdir):
    kit.save(str(tmpdir.join("one")), ["a"])
    assert tmpdir.join("one").read() == "a\\n"
""",
        ids=("test_lines_are_saved", "test_lines_are_saved_by_name"),
    ),
    Style(
        name="monkeypatch",
        tests="""
def test_home_is_configured(monkeypatch):
    monkeypatch.setenv("KIT_HOME", "/srv/kit")
    assert kit.home() == "/srv/kit"


def test_home_without_configuration(monkeypatch):
    monkeypatch.delenv("KIT_HOME", raising=False)
    assert kit.home() == "/"
""",
        ids=("test_home_is_configured",),
    ),
    Style(
        name="mocks",
        imports=("from unittest import mock",),
        tests="""
def test_each_name_is_sent():
    send = mock.Mock()
    kit.notify(send, ["a", "b"])
    assert send.call_args_list == [mock.call("a", retries=3), mock.call("b", retries=3)]
    assert send.call_count == 2


def test_one_name_is_sent():
    send = mock.MagicMock(return_value=None)
    kit.notify(send, ["a"])
    send.assert_called_once_with("a", retries=mock.ANY)


def test_names_are_sent_in_order():
    post = mock.Mock()
    kit.notify(post.send, ["a", "b"])
    post.assert_has_calls([mock.call.send("a", retries=3), mock.call.send("b", retries=3)])
    post.send.assert_any_call("b", retries=mock.ANY)


def test_nothing_is_sent():
    with mock.patch.object(kit, "log") as log:
        kit.report({"nut": 0})
    log.warning.assert_called_once()
    assert log.warning.call_args[0][1] == "nut"
""",
        ids=(
            "test_each_name_is_sent",
            "test_one_name_is_sent",
            "test_names_are_sent_in_order",
            "test_nothing_is_sent",
        ),
    ),
    Style(
        name="logs",
        imports=("import logging",),
        tests="""
def test_missing_stock_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        kit.report({"nut": 0, "fig": 3, "fir": 0})
    assert [record.getMessage() for record in caplog.records] == ["no fir left", "no nut left"]
    assert caplog.record_tuples[0] == ("kit", logging.WARNING, "no fir left")
    assert "fig" not in caplog.text
""",
        ids=("test_missing_stock_is_logged",),
    ),
    Style(
        name="unittest",
        imports=("import unittest",),
        tests="""
class KitTest(unittest.TestCase):
    def setUp(self):
        self.line = " nut : 3"

    def test_equal(self):
        self.assertEqual(kit.parse(self.line), kit.Item("nut", 3))
        self.assertEqual(kit.mean([1, 2]), 1.5)
        self.assertSetEqual(kit.words("A"), {"a"})

    def test_truth(self):
        self.assertIsNone(kit.find(["a"], "b"))
        self.assertIn("b", kit.words("B"))
        self.assertTrue(kit.level(11) > 1)

    def test_near(self):
        self.assertAlmostEqual(kit.mean([1, 1, 2]), 1.3333, places=3)

    def test_errors(self):
        with self.assertRaisesRegex(kit.KitError, "negative"):
            kit.check(-1)
        with self.assertRaises(kit.KitError) as caught:
            kit.check(-2)
        self.assertEqual(str(caught.exception), "-2 is negative")
        with self.assertWarns(DeprecationWarning):
            kit.old("x")

    def test_cases(self):
        for score, expected in ((3, 1), (11, 2)):
            with self.subTest(score=score):
                self.assertEqual(kit.level(score), expected)
""",
        ids=(
            "KitTest::test_equal",
            "KitTest::test_truth",
            "KitTest::test_near",
            "KitTest::test_errors",
            "KitTest::test_cases",
        ),
    ),
    Style(
        name="generators",
        tests="""
def test_even_numbers_one_by_one():
    assert list(kit.evens(5)) == [0, 2, 4]
    numbers = kit.evens(3)
    assert next(numbers) == 0
    assert next(numbers) == 2
    assert sum(kit.evens(7)) == 12
    assert next(kit.evens(0), None) is None
""",
        ids=("test_even_numbers_one_by_one",),
    ),
    Style(
        name="values of the library",
        imports=("import datetime", "from decimal import Decimal"),
        tests="""
def test_a_day():
    assert kit.due(datetime.date(2024, 2, 20), 2) == datetime.date(2024, 3, 5)
    assert kit.due(datetime.date(2024, 2, 20), 1).isoformat() == "2024-02-27"


def test_a_tax():
    assert kit.taxed("10") == Decimal("11.0")
    assert str(kit.taxed("2.50")) == "2.750"


def test_a_colour():
    assert kit.colour(11) is kit.Colour.RED
    assert kit.colour(11) == kit.Colour.RED
    assert kit.colour(11).value == "red"
    assert kit.level(11) is kit.Level.HIGH
""",
        ids=("test_a_day", "test_a_tax", "test_a_colour"),
    ),
    Style(
        name="blocks and coroutines",
        imports=("import asyncio",),
        tests="""
def test_a_block():
    events = []
    with kit.opened(events) as same:
        same.append("used")
    assert events == ["open", "used", "close"]


def test_a_coroutine():
    assert asyncio.run(kit.fetch(4)) == 8


def test_coroutines():
    async def both():
        return await asyncio.gather(kit.fetch(1), kit.fetch(2))

    assert asyncio.run(both()) == [2, 4]
""",
        ids=("test_a_block", "test_a_coroutine", "test_coroutines"),
    ),
    Style(
        name="computed expectations",
        imports=("import random", "import statistics"),
        tests="""
def test_means_like_the_library():
    for size in range(1, 6):
        numbers = [random.randrange(100) for _ in range(size)]
        assert kit.mean(numbers) == statistics.fmean(numbers)


def depth_of(tree):
    return 0 if tree is None else 1 + max(map(depth_of, tree.values()))


def test_depths():
    for depth in (0, 1, 3):
        assert depth_of(kit.tree(depth)) == depth
    assert kit.tree(2) == {
        "left": {"left": None, "right": None},
        "right": {"left": None, "right": None},
    }
""",
        ids=("test_means_like_the_library", "test_depths"),
    ),
    Style(
        name="doctests",
        is_doctest=True,
        tests='''
def examples():
    """
    >>> kit.mean([1, 2])
    1.5
    >>> sorted(kit.words("B a"))
    ['a', 'b']
    >>> kit.check(-1)
    Traceback (most recent call last):
        ...
    kit.KitError: -1 is negative
    """
''',
        ids=("test_hidden.examples",),
    ),
)
