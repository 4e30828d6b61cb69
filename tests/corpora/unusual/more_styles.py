"""More styles of hidden tests: assertions and structures that are harder to take apart."""

from tests.corpora.unusual.styles import Style

_PYTEST = ("import pytest",)

MORE_STYLES: tuple[Style, ...] = (
    Style(
        name="assertions of many shapes",
        tests="""
def test_shapes():
    assert (found := kit.mean([1, 2])) == 1.5, f"{found} is no mean"
    assert 1.5 == kit.mean([1, 2]) == found
    assert kit.level(11) == 2 and kit.level(3) == 1
    assert kit.level(11) in (2, 3) or kit.level(11) == 9
    assert all(kit.level(score) == 2 for score in (11, 12, 13))
    assert any(word == "b" for word in kit.words("A B"))
    assert (kit.find(["a"], "b") or "none") == "none"
    assert [*kit.evens(3), 9] == [0, 2, 9]
    assert {**{"x": kit.level(11)}, "y": 1} == {"x": 2, "y": 1}
    assert kit.parse("nut:3").name.upper() == "NUT"
    assert f"{kit.mean([1, 2]):.2f}" == "1.50"
    assert not (kit.find(["a"], "b") is not None)
    first, second = sorted(kit.words("B a"))
    assert (first, second) == ("a", "b")
    assert str(kit.taxed("10")) == "%s.%d" % (11, 0)
    assert "-".join(map(str, kit.evens(5))) == "0-2-4"
    assert type(kit.words("")) is set
    assert repr(kit.parse("a:1")) == "Item(name='a', price=1)"
    assert kit.encode("é").hex() == "c3a9"
    assert max(kit.evens(9)) - min(kit.evens(9)) == 8
""",
        ids=("test_shapes",),
    ),
    Style(
        name="closures and tables of functions",
        imports=_PYTEST,
        tests="""
CHECKS = [
    (kit.mean, ([1, 2],), 1.5),
    (kit.level, (11,), 2),
    (lambda text: sorted(kit.words(text)), ("B a",), ["a", "b"]),
]


@pytest.mark.parametrize(("function", "arguments", "expected"), CHECKS)
def test_functions_of_a_table(function, arguments, expected):
    assert function(*arguments) == expected


def test_a_closure():
    seen = []

    def check(score, expected):
        seen.append(kit.level(score))
        assert seen[-1] == expected

    check(3, 1)
    check(11, 2)
    assert seen == [1, 2]


def test_a_dict_of_cases():
    cases = {"nut: 3": ("nut", 3), "fig :12": ("fig", 12)}
    for line, (name, price) in cases.items():
        item = kit.parse(line)
        assert (item.name, item.price) == (name, price)
    for at, expected in enumerate([0, 2, 4]):
        assert list(kit.evens(5))[at] == expected
    for one, other in zip(kit.evens(5), (0, 2, 4), strict=True):
        assert one == other
""",
        ids=(
            "test_functions_of_a_table[mean-arguments0-1.5]",
            "test_a_closure",
            "test_a_dict_of_cases",
        ),
    ),
    Style(
        name="fixtures of many kinds",
        imports=_PYTEST,
        tests="""
@pytest.fixture
def stock():
    found = {"nut": 0}
    yield found
    assert found == {"nut": 0, "fig": 1}


@pytest.fixture(autouse=True)
def events():
    found = []
    with kit.opened(found):
        yield found
    assert found[-1] == "close"


@pytest.fixture
def mean(request):
    return kit.mean(request.param)


@pytest.fixture(scope="module")
def expected_levels():
    return {3: 1, 11: 2}


def test_a_fixture_with_an_end(stock, caplog):
    kit.report(stock)
    assert caplog.messages == ["no nut left"]
    stock["fig"] = 1


@pytest.mark.parametrize(
    ("mean", "expected"), [([1, 2], 1.5), ([2, 3], 2.5)], indirect=["mean"]
)
def test_an_indirect_fixture(mean, expected, events):
    assert mean == expected
    assert events == ["open"]


def test_expected_values_of_a_fixture(expected_levels):
    for score, level in expected_levels.items():
        assert kit.level(score) == level
""",
        ids=(
            "test_a_fixture_with_an_end",
            "test_an_indirect_fixture[mean0-1.5]",
            "test_an_indirect_fixture[mean1-2.5]",
            "test_expected_values_of_a_fixture",
        ),
    ),
    Style(
        name="inherited tests",
        imports=("import unittest",),
        tests="""
class Levels:
    score, expected = 3, 1

    def test_level(self):
        assert kit.level(self.score) == self.expected
        assert kit.colour(self.score).value == self.colour

    @property
    def colour(self):
        return "red" if self.expected == 2 else "green"


class TestHighLevels(Levels):
    score, expected = 11, 2


class TestHigherLevels(TestHighLevels):
    score = 99

    def setup_method(self):
        self.words = kit.words("A a")

    def test_words(self):
        assert self.words == {"a"}


class Base(unittest.TestCase):
    numbers, expected = [1, 2], 1.5

    @classmethod
    def setUpClass(cls):
        cls.mean = kit.mean(cls.numbers)

    def assert_mean(self, expected):
        self.assertEqual(self.mean, expected, msg="another mean")

    def test_mean(self):
        self.assert_mean(self.expected)


class OtherMean(Base):
    numbers, expected = [3, 4], 3.5
""",
        ids=(
            "TestHighLevels::test_level",
            "TestHigherLevels::test_level",
            "TestHigherLevels::test_words",
            "Base::test_mean",
            "OtherMean::test_mean",
        ),
    ),
    Style(
        name="unstable values",
        imports=("import datetime", "import uuid"),
        tests="""
def test_a_day_from_now():
    today = datetime.date.today()
    assert kit.due(today, 1) == today + datetime.timedelta(days=7)
    assert (kit.due(today, 2) - today).days == 14


def test_a_random_name():
    name = uuid.uuid4().hex
    assert kit.parse(f"{name}: 3") == kit.Item(name, 3)
    assert kit.words(f"{name} {name}") == {name}


def test_the_path_of_a_file(tmp_path):
    kit.save(tmp_path / "x", [str(tmp_path)])
    assert (tmp_path / "x").read_text() == f"{tmp_path}\\n"
""",
        ids=("test_a_day_from_now", "test_a_random_name", "test_the_path_of_a_file"),
    ),
    Style(
        name="skips and expected failures",
        imports=("import sys", *_PYTEST),
        tests="""
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.skipif(sys.version_info < (3, 0), reason="needs Python 3")
@pytest.mark.usefixtures("tmp_path")
def test_with_marks():
    assert kit.find(["pear", "fig"], "f") == "fig"


@pytest.mark.xfail(reason="known", raises=ZeroDivisionError, strict=True)
def test_no_mean_of_nothing():
    kit.mean([])


@pytest.mark.parametrize(
    ("value", "fails"),
    [pytest.param(3, False, id="three"), pytest.param(-3, True, id="less", marks=())],
)
def test_refusals(value, fails):
    if fails:
        with pytest.raises(kit.KitError):
            kit.check(value)
    else:
        assert kit.check(value) == value
""",
        ids=("test_with_marks", "test_refusals[less]"),
    ),
    Style(
        name="two computed sides",
        imports=("import json", "import shlex", "import statistics"),
        tests="""
def test_two_computed_sides():
    numbers, text, line = [1, 2], "B a", "nut: 3"
    assert kit.mean(numbers) == statistics.median([1, 2])
    assert statistics.median([0, 1]) == kit.mean([0, *numbers[:1]])
    assert sorted(kit.words(text)) == shlex.split("a b")
    item = kit.parse(line)
    assert [item.name, item.price] == json.loads('["nut", 3]')
""",
        ids=("test_two_computed_sides",),
    ),
)
