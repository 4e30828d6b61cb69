"""Which values a sealed test file loses, and why some functions are not sealed."""

import re
from random import Random
from textwrap import dedent

import pytest

from agentbench.errors import InputError
from agentbench.integrity.sealing.checks import Comparison, Raised, Recorded, Removed, Truthiness
from agentbench.integrity.sealing.seal import SealedFile, SealSettings, seal_file

IMPORTS = "import pytest\nimport shop\nfrom shop import Stats, Kind, parse, pool\n"


def sealed(
    body: str, *tests: str, relaxed: tuple[int, ...] = (), paired: tuple[int, ...] = ()
) -> SealedFile:
    listed = [f"test_it.py::{test}" for test in tests or ("test_it",)]
    settings = SealSettings(relaxed_sites=relaxed, paired_sites=paired)
    return seal_file(IMPORTS + dedent(body), "test_it.py", listed, Random(1), settings)


def plain(file: SealedFile) -> str:
    return file.source.replace("__import__('agentbench_recorder')", "R")


@pytest.mark.parametrize(
    ("statement", "recorded", "lost"),
    [
        ("assert parse('a') == 61", "R.value(1, parse('a'))", "61"),
        ("assert 61 == parse('a')", "R.value(1, parse('a'))", "61"),
        ("assert parse('a') == 61, 'says 61'", "R.value(1, parse('a'))", "61"),
        ("assert 10 < parse('a') <= 61", "R.value(1, parse('a'))", "61"),
        ("assert not parse('a') != 61", "R.value(1, parse('a'))", "61"),
        ("assert parse('a') is None", "R.value(1, parse('a'))", "None"),
        ("assert parse('a')", "R.value(1, parse('a'))", "assert"),
        ("assert not parse('a')", "R.value(1, parse('a'))", "not"),
        ("assert 'six one' in str(parse('a'))", "R.value(1, str(parse('a')))", "six one"),
        ("assert parse('a') in (61, 62)", "R.value(1, parse('a'))", "61"),
        ("assert parse('a') == Stats(leased=61)", "R.value(1, parse('a'))", "61"),
        ("assert parse('a') == [Kind.SIXTY, 61]", "R.value(1, parse('a'))", "SIXTY"),
        ("assert parse('a') == pytest.approx(61, rel=0.1)", "R.value(1, parse('a'))", "61"),
        ("assert all(x == 61 for x in pool())", "R.value(1, [x for x in pool()])", "61"),
        ("assert parse('a').startswith('sixty')", "R.value(1, parse('a'))", "sixty"),
        ("assert sorted(parse('a')) == [6, 1]", "R.value(1, sorted(parse('a')))", "[6, 1]"),
        ("assert str(Stats(1)) == 'sixty'", "R.value(1, str(Stats(1)))", "sixty"),
        ("assert {'k': 61} == pool().d", "R.value(1, pool().d)", "61"),
        ("pool().m.assert_called_with(61)", "R.value(1, pool().m.call_args)", "61"),
        ("pool().m.assert_any_call(61)", "R.value(1, pool().m.call_args_list)", "61"),
        ("pool().m.assert_any_await(a=61)", "R.value(1, pool().m.await_args_list)", "61"),
        ("pool().m.assert_called_with(*[61])", "R.value(1, pool().m.call_args)", "61"),
        (
            "pool().m.assert_called_with(parse('a'), 6)",
            "R.value(1, pool().m.call_args, ((parse('a'), 6), {}))",
            "assert",
        ),
        ("pool().assert_valid(parse('a'))", "R.value(1, pool(), parse('a'))", "assert"),
        ("pool().m.assert_not_called()", "R.value(1, pool().m.call_count)", "assert"),
        ("pytest.raises(KeyError, parse, 'a')", "R.raises(1, parse, 'a')", "KeyError"),
        ("assert Stats(1) < Stats(2)", "R.value(1, Stats(1) < Stats(2))", "assert"),
    ],
)
def test_assertions_become_recordings(statement, recorded, lost):
    file = sealed(f"def test_it():\n    {statement}\n")
    text = plain(file).partition("def test_")[2]
    assert recorded in text
    assert lost not in text
    assert file.functions["test_it"].unsealed is None


@pytest.mark.parametrize(
    ("statement", "recorded"),
    [
        ("self.assertEqual(parse('a'), 61)", "R.value(1, parse('a'))"),
        ("self.assertEqual(61, parse('a'))", "R.value(1, parse('a'))"),
        ("self.assertAlmostEqual(parse('a'), 61.5, places=3)", "R.value(1, parse('a'))"),
        ("self.assertIn('61', parse('a'))", "R.value(1, parse('a'))"),
        ("self.assertIsNone(parse('a'))", "R.value(1, parse('a'))"),
        ("self.assertTrue(parse('a') == 61)", "R.value(1, parse('a'))"),
        ("self.assertFalse(parse('a'))", "R.value(1, parse('a'))"),
        ("self.assertCountEqual(parse('a'), [61])", "R.value(1, parse('a'))"),
        ("self.assertQuerySetEqual(parse('a'), [61])", "R.value(1, parse('a'))"),
        (
            "self.assertQuerySetEqual(parse('a'), [61], lambda x: x.n, ordered=False)",
            "R.value(1, list(map(lambda x: x.n, parse('a'))))",
        ),
        ("self.assertRegex(parse('a'), '^61$')", "R.value(1, parse('a'))"),
        ("self.assertRaises(KeyError, parse, 'a')", "R.raises(1, parse, 'a')"),
        ("self.assertContains(parse('a'), '61')", "R.value(1, R.page(parse('a')))"),
        ("self.assertContains(parse('a'), '6', 61)", "R.value(1, R.page(parse('a')))"),
        ("self.assertNotContains(parse('a'), '61', 404)", "R.value(1, R.page(parse('a')))"),
        ("self.assertContains(parse('a'), '61', html=True)", "R.value(1, R.page(parse('a'))[1])"),
        ("self.assertContains(parse('a'), str(pool()))", "R.value(1, R.page(parse('a'))[1])"),
    ],
)
def test_methods_of_unittest_become_recordings(statement, recorded):
    head = "import unittest\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
    body = f"{head}        {statement}\n"
    file = sealed(body, "TestIt::test_it")
    text = plain(file).partition("def test_")[2]
    assert recorded in text
    assert "61" not in text
    assert "assert" not in text


OUTCOMES = "lambda n: [n.get('passed', 0), n.get('skipped', 0), n.get('failed', 0), "


@pytest.mark.parametrize(
    ("statement", "recorded"),
    [
        ("pool().stdout.fnmatch_lines(['*61*', 'six'])", "R.value(1, pool().stdout.lines)"),
        ("pool().stderr.re_match_lines_random('61.*')", "R.value(1, pool().stderr.lines)"),
        ("pool().stdout.no_fnmatch_line('*61*')", "R.value(1, pool().stdout.lines)"),
        (
            "pool().stdout.fnmatch_lines(['61', '62'], consecutive=True)",
            "R.value(1, pool().stdout.lines)",
        ),
        ("pool().assertoutcome(passed=61)", "R.value(1, pool().countoutcomes())"),
        ("pool().assert_outcomes(61, error=6)", f"R.value(1, ({OUTCOMES}"),
    ],
)
def test_assertions_of_pytests_own_tests_become_recordings(statement, recorded):
    file = sealed(f"def test_it():\n    {statement}\n")
    text = plain(file).partition("def test_")[2]
    assert recorded in text
    assert "61" not in text
    assert "assert" not in text
    assert file.functions["test_it"].unsealed is None


def test_expected_lines_of_a_table_become_tokens():
    body = (
        "@pytest.mark.parametrize('source, lines', [('a', ['*six*']), ('b', ['*61*'])])\n"
        "def test_it(source, lines):\n    parse(source).stdout.fnmatch_lines(lines)\n"
    )
    file = sealed(body, "test_it[a-lines0]", "test_it[b-lines1]")
    assert "R.value(1, parse(source).stdout.lines, lines)" in plain(file)
    assert "six" not in file.source
    assert file.functions["test_it"].unsealed is None


def test_lines_that_a_test_computes_are_not_sealed():
    file = sealed("def test_it():\n    pool().stdout.fnmatch_lines([str(pool()) + '*61*'])\n")
    assert "61" not in file.source
    assert file.functions["test_it"].unsealed == "line 5: the test computes the expected lines"


def test_test_of_a_line_matcher_keeps_its_patterns():
    body = "def test_it():\n    with pytest.raises(pytest.fail.Exception):\n"
    assert (
        "pool().fnmatch_lines(['61'])"
        in sealed(f"{body}        pool().fnmatch_lines(['61'])\n").source
    )


def test_block_that_must_raise_records_what_is_raised():
    file = sealed("""
        def test_it():
            with pytest.raises(KeyError, match="sixty one") as caught:
                parse("a")
            assert caught.value.args == ("sixty one",)
            caught.match("sixty")
    """)
    text = plain(file)
    assert re.search(r"with R\.raises\(\d\) as caught:", text)
    assert re.search(r"R\.value\(\d, str\(caught\.value\)\)", text)
    assert "sixty" not in text
    assert "KeyError" not in text
    assert sum(isinstance(site.check, Raised) for site in file.sites.values()) == 1


def test_columns_of_expected_values_become_tokens():
    file = sealed(
        """
        @pytest.mark.parametrize("source, expected", [("a", "sixty one"), ("b", "sixty two")])
        def test_it(source, expected):
            assert parse(source) == expected
        """,
        "test_it[a-sixty one]",
        "test_it[b-sixty two]",
    )
    assert "sixty" not in file.source
    assert "R.value(1, parse(source), expected)" in plain(file)
    assert [cell.node.value for cell in file.tokens.values()] == ["sixty one", "sixty two"]
    assert set(file.renamed) == {
        "test_it.py::test_it[a-sixty one]",
        "test_it.py::test_it[b-sixty two]",
    }
    assert all(re.search(r"\[[a-z]{10}\]$", new) for new in file.renamed.values())
    assert file.functions["test_it"].unsealed is None


@pytest.mark.parametrize(
    "body",
    [
        "WANTED = ['sixty']\ndef test_it():\n    assert parse('a') == WANTED\n",
        "def test_it():\n    wanted = 'sixty'\n    got = parse('a')\n    assert got == wanted\n",
        "@pytest.fixture\ndef wanted():\n    return 'sixty'\n"
        "def test_it(wanted):\n    assert parse('a') == wanted\n",
        "def check(x, wanted):\n    assert parse(x) == wanted\n"
        "def test_it():\n    check('a', 'sixty')\n    check('b', 'sixty one')\n",
        "CASES = [('a', 'sixty'), ('b', 'sixty one')]\n"
        "def test_it():\n    for x, wanted in CASES:\n        assert parse(x) == wanted\n",
        "WANTED = 'sixty'\ndef test_it():\n    assert parse('a') == [WANTED + '!', WANTED]\n",
        "def test_it():\n    cases = [(pool(), 'sixty'), (pool().x, 'sixty one')]\n"
        "    for x, y in cases:\n        with pool():\n            assert parse(x) == y\n",
        "CASES = [('a', 'b')]\ndef test_it():\n    CASES = [('a', 'sixty'), ('b', 'sixty one')]\n"
        "    for x, wanted in CASES:\n        assert parse(x) == wanted\n",
        "def test_it():\n    wanted = 'sixty'\n    assert parse('a') == wanted\n"
        "    wanted = 'sixty one'\n    assert parse('b') == wanted\n",
        "def test_it():\n    assert parse('a') == set([Stats('sixty')])\n",
    ],
)
def test_values_that_only_flow_into_comparisons_are_taken_out(body):
    file = sealed(body)
    assert "sixty" not in file.source
    assert file.functions["test_it"].unsealed is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("def test_it():\n    parse('a')\n", "it has no assertion with an expected value"),
        (
            "RAW, ROWS = 'sixty', (6, 1)\ndef test_it():\n"
            "    assert parse(RAW) == ROWS\n    assert shop.dump(ROWS) == RAW\n",
            "line 6: its expected value is an input of the test, too",
        ),
        (
            "from tests.data import WANTED\ndef test_it():\n    assert parse('a') == WANTED\n",
            "line 6: its expected value is in another file",
        ),
        (
            "def test_it(wanted):\n    assert parse('a') == wanted\n",
            "line 5: the values of wanted are not in the file",
        ),
    ],
)
def test_functions_that_are_not_sealed_say_why(body, why):
    assert sealed(body).functions["test_it"].unsealed == why


def test_round_trip_is_sealed_although_its_value_is_an_input():
    file = sealed("""
        def test_it():
            text = "sixty"
            out = parse(text)
            assert out == text
    """)
    assert file.functions["test_it"].unsealed is None


def test_arguments_for_a_method_of_the_same_name_are_no_expected_values():
    text = plain(
        sealed(
            """
        class TestIt:
            def pool(self, names):
                return Pool().pool(names)
            def test_it(self):
                assert self.pool(["sixty", "one"]) == 61
    """,
            "TestIt::test_it",
        )
    )
    assert "self.pool(['sixty', 'one'])" in text
    assert ".pool(names)" in text


def test_list_that_the_code_fills_is_no_expected_value():
    file = sealed("""
        def test_it():
            heard = []
            pool(heard)
            assert heard == ["sixty"]
    """)
    assert "R.value(1, heard)" in plain(file)
    assert "heard = []" in file.source
    assert "sixty" not in file.source


def test_condition_that_the_host_cannot_evaluate_can_be_relaxed():
    body = "def test_it():\n    assert 61 not in pool()\n"
    strict, relaxed = sealed(body), sealed(body, relaxed=(1,))
    assert "R.value(1, pool())" in plain(strict)
    assert isinstance(strict.sites[1].check, Comparison)
    assert strict.sites[1].may_relax
    assert "R.value(1, 61 not in pool())" in plain(relaxed)
    assert isinstance(relaxed.sites[1].check, Truthiness)


def test_equality_is_never_left_to_the_code_under_test():
    body = "def test_it():\n    assert pool() == Stats(61)\n"
    assert "61" not in sealed(body, relaxed=(1,)).source


def test_host_keeps_what_was_taken_out():
    site = sealed("def test_it():\n    assert parse('a') == 61, 'why'\n").sites[1]
    assert isinstance(site.check, Comparison)
    assert site.check.operands[0] == Recorded(0)
    assert isinstance(site.check.operands[1], Removed)
    assert (site.line, site.text) == (5, "assert parse('a') == 61")
    assert site.is_certain


def test_comments_and_docstrings_are_taken_out():
    file = sealed('def test_it():\n    """Gives sixty."""\n    assert parse("a") == 6  # sixty\n')
    assert "sixty" not in file.source


def test_no_python_is_refused():
    with pytest.raises(InputError, match=r"test_it\.py: line \d+: .*give valid Python"):
        sealed("def test_it(:\n")


def test_names_that_say_what_is_expected_are_replaced():
    body = """
        class TestSixty:
            def test_is_sixty_one(self):
                found = parse("a")
                assert found == 61

            def test_that_does_not_decide(self):
                assert parse("sixty") == 60
    """
    file = sealed(body, "TestSixty::test_is_sixty_one")
    assert "ixty" not in file.source
    (new,) = file.renamed.values()
    assert re.fullmatch(r"test_it\.py::Test00000_[a-z]{10}::test_\d{5}_[a-z]{10}", new)


def test_names_stay_where_the_test_reads_them():
    body = "def test_it():\n    sixty = parse('a')\n    assert locals()['sixty'] == 61\n"
    assert "sixty = parse" in sealed(body).source


def test_new_names_sort_as_the_old_ones():
    body = "".join(f"def test_{name}():\n    assert parse() == 1\n" for name in "cab")
    file = sealed(body, "test_a", "test_b", "test_c")
    new = [file.renamed[f"test_it.py::test_{name}"] for name in "abc"]
    assert new == sorted(new)


def test_value_that_a_relaxed_assertion_keeps_is_not_taken_out():
    body = "def test_it():\n    wanted = 'sixty'\n    assert wanted not in pool()\n"
    assert "sixty" not in sealed(body).source
    assert "sixty" in sealed(body, relaxed=(1,)).source


def test_value_that_only_messages_read_besides_is_taken_out():
    body = (
        "def test_it():\n    wanted = 'sixty'\n    assert parse('a') == wanted, f'not {wanted}'\n"
    )
    file = sealed(body)
    assert "sixty" not in file.source
    assert file.functions["test_it"].unsealed is None


def test_column_that_the_test_also_reads_elsewhere_is_not_sealed():
    body = """
        @pytest.mark.parametrize("x, expected", [("a", "sixty"), ("b", "sixty one")])
        def test_it(x, expected):
            pool(expected)
            assert parse(x) == expected
    """
    found = sealed(body, "test_it[a-sixty]", "test_it[b-sixty one]").functions["test_it"]
    assert "is an input of the test" in (found.unsealed or "")


def test_numbers_of_queries_become_recordings():
    file = sealed(
        """
        class TestIt(Base):
            def test_it(self):
                with self.assertNumQueries(61) as context:
                    parse(context)
                self.assertNumQueries(61, parse, "a")
        """,
        "TestIt::test_it",
    )
    assert "61" not in file.source
    assert "with self.assertNumQueries(R.count(1)) as " in plain(file)
    assert "self.assertNumQueries(R.count(2), parse, 'a')" in plain(file)
    assert file.functions["TestIt::test_it"].unsealed is None


@pytest.mark.parametrize("call", ["other.assertNumQueries(61)", "self.assertNumQueries(pool(61))"])
def test_numbers_of_queries_that_are_no_constants_stay(call):
    body = (
        f"class TestIt(Base):\n    def test_it(self):\n        with {call}:\n            parse(1)\n"
    )
    file = sealed(body, "TestIt::test_it")
    assert "61" in file.source
    assert file.functions["TestIt::test_it"].unsealed is not None


HELPER = """
class Base:
    def check(self, given, expected, exact=None):
        result = [str(one) for one in parse(given)]
        expected = [str(one) for one in expected]
        assert expected == result, f"{expected} is right"
"""


@pytest.mark.parametrize(
    ("helper", "call", "is_sealed"),
    [
        (HELPER, "self.check('a', [Stats('sixty')], exact=1)", True),
        (HELPER, "self.check('a', expected=['sixty'])", True),
        (HELPER, "self.check('a', ['sixty'])\n        self.check('a', [pool('six')])", True),
        (HELPER, "x = [Stats('sixty')]\n        self.check(x, x)", False),
        (HELPER, "x = Stats('sixty')\n        self.check(x, [x, 1])", False),
        (HELPER, "self.check('a', [pool('sixty')])", False),
        (HELPER, "self.check(*['a', ['sixty']])", False),
        (HELPER + "        print(expected)", "self.check('a', ['sixty'])", False),
        (HELPER.replace("in expected", "in expected[given:]"), "self.check('a', ['sixty'])", False),
        (HELPER.replace("== result", "!= result"), "self.check('a', ['sixty'])", False),
    ],
)
def test_parameter_to_which_a_helper_gives_another_form_is_taken_out(helper, call, is_sealed):
    test = f"class TestIt(Base):\n    def test_it(self):\n        {call}\n"
    file = sealed(f"{helper}\n{test}", "TestIt::test_it")
    assert (file.functions["TestIt::test_it"].unsealed is None) is is_sealed
    assert ("sixty" not in file.source) or not is_sealed
    if is_sealed:
        assert re.search(r"R\.value\(1, \w+, \w+\)", plain(file))


@pytest.mark.parametrize(
    ("statement", "recorded"),
    [
        ("assert parse(x) == shop.root(5)", "R.value(1, parse(x))"),
        ("assert shop.root(5) == parse(x)", "R.value(1, parse(x))"),
        ("assert x.distance() == [shop.root(5), -shop.root(2)]", "R.value(1, x.distance())"),
        ("assert parse(x) == shop.Stats(y) - 1", "R.value(1, parse(x))"),
    ],
)
def test_expected_one_of_two_computed_sides_is_removed_on_request(statement, recorded):
    body = f"def test_it():\n    x = pool.get()\n    y = shop.Kind(3)\n    {statement}\n"
    both, one = sealed(body), sealed(body, paired=(1,))
    assert "shop.root(" in plain(both) or "shop.Stats(" in plain(both)
    assert both.sites[1].pair is not None
    assert recorded in plain(one)
    assert "shop.root(" not in plain(one)
    assert "shop.Stats(" not in plain(one)


@pytest.mark.parametrize(
    "statement",
    [
        "assert parse(x) == parse(y)",  # both use what the test has computed
        "assert parse('a') == parse('b')",  # neither does
        "assert parse(x) == Kind",  # an input of the test, or a name that anybody can guess
        "assert parse(x) == shop.root(x)",
        "assert parse(x) != shop.root(5)",
        "assert parse(x) < shop.root(5)",
        "assert not parse(x) == shop.root(5)",
        "assert parse(x) is shop.root(5)",
    ],
)
def test_comparison_without_a_side_that_is_clearly_expected_is_no_pair(statement):
    file = sealed(f"def test_it():\n    x = pool.get()\n    y = pool.get()\n    {statement}\n")
    assert [site.pair for site in file.sites.values()] == [None]


COMPUTED_IDS = """
@pytest.mark.parametrize("name", "one two".split(){ids})
def test_it(name):
    assert parse(name) == {expected}
"""


@pytest.mark.parametrize(
    ("expected", "ids", "is_sealed"),
    [
        ("61", "", True),
        ("name", "", False),
        ("61", ", ids=['one', 'two']", False),
    ],
)
def test_ids_that_stay_must_not_show_what_is_expected(expected, ids, is_sealed):
    body = COMPUTED_IDS.format(expected=expected, ids=ids)
    function = sealed(body, "test_it[one]", "test_it[two]").functions["test_it"]
    assert (function.unsealed is None) is is_sealed


def test_ids_from_elsewhere_are_not_trusted():
    body = COMPUTED_IDS.format(expected="61", ids="")
    function = sealed(body, "test_it[one-gives61]", "test_it[two-gives61]").functions["test_it"]
    assert function.unsealed == "its parameters are part of ids that have to stay"


def test_ids_that_stay_must_not_show_what_a_helper_is_given():
    body = COMPUTED_IDS.format(expected="61", ids="") + "    assertFits(parse('a'), f'{name}')\n"
    function = sealed(body, "test_it[one]", "test_it[two]").functions["test_it"]
    assert function.unsealed == "its parameters are part of ids that have to stay"


def test_ids_of_a_common_fixture_show_nothing():
    body = "def test_a(db):\n    assert parse(db) == 'x61'\n\ndef test_b(db):\n    pass\n"
    alone = sealed(body, "test_a[memory]", "test_a[json]").functions["test_a"]
    assert alone.unsealed == "its parameters are part of ids that have to stay"
    both = sealed(body, "test_a[memory]", "test_a[json]", "test_b[memory]", "test_b[json]")
    assert both.functions["test_a"].unsealed is None
    numbers = sealed(body, "test_a[x61]", "test_b[x61]").functions["test_a"]
    assert numbers.unsealed == "its parameters are part of ids that have to stay"
