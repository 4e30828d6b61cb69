"""Values that only a right fix gives, and that stay in a sealed test."""

from random import Random
from textwrap import dedent

import pytest

from agentbench.integrity.records import VisibleValue
from agentbench.integrity.sealing.canonical import Leaf, Recording, of_python
from agentbench.integrity.sealing.observation import Observation, what_stays
from agentbench.integrity.sealing.seal import SealedFile, SealSettings, seal_file

HEAD = "import json\nimport helpers\nfrom shop import Box, parse\n\n\ndef test_it(client):\n"


def observing(*lines: str) -> SealedFile:
    body = "".join(f"    {line}\n" for text in lines for line in dedent(text).splitlines())
    settings = SealSettings(observes=True, modules=("helpers",))
    return seal_file(HEAD + body, "test_it.py", ["test_it.py::test_it"], Random(1), settings)


def meeting(line: str, *, is_object: bool) -> set[object]:
    observed = observing(line).observed.values()
    skipped = {c for expression in observed for c in expression.arguments} if is_object else set()
    return {c for expression in observed for c in expression.constants if c not in skipped}


def shows(expression: Observation, right: object, base: object = None) -> VisibleValue | None:
    before = [] if base is None else [Recording(-1, (of_python(base),))]
    return what_stays({-1: expression}, [Recording(-1, (of_python(right),))], before)


@pytest.mark.parametrize(
    "statement",
    [
        "assert parse('a').split('61') == ['x', 'y']",
        "assert {parse('a'): 1}.get('61') == 1",
        "want = '61'\nok = parse('a') == want\nassert ok is True",
        "rest = parse('a')\nrest.remove('61')\nassert rest == []",
        "while parse('a') != '61':\n    raise AssertionError",
        "match parse('a'):\n    case '61':\n        found = 'yes'\nassert found == 'yes'",
        "for got, want in zip(parse('a'), ['61']):\n    if got != want:\n        1 / 0",
        "helpers.check(parse('a'), '61')",
        "print('61')\nassert parse('a') == '61'",
        "got = []\nclient.tell(got.append)\nassert got.count('61') == 1",
        "want = Box('a')\nwant.value = '61'\nassert Box('a') == want",
    ],
)
def test_constant_that_a_value_of_the_project_meets_is_found(statement):
    assert "61" in meeting(statement, is_object=False)


@pytest.mark.parametrize(
    "statement",
    [
        "assert parse('61') == 'x'",
        "assert client.get('61') == 'x'",
        "text = 'a'\nassert parse(text + '61') == 'x'",
        "assert parse('a')['61'] == 'x'",
        "assert [parse('a'), parse('61')] == ['x', 'y']",
        "assert parse('a') == '61'",
    ],
)
def test_input_of_the_project_meets_nothing(statement):
    assert "61" not in meeting(statement, is_object=True)


@pytest.mark.parametrize(
    ("constant", "right"),
    [
        ("61", "61"),
        ("61", 61),
        (61, 61),
        (61, ["x", {"y": 61}]),
        (61, 61.0),
        ("total", "the total is"),
        ('{"sum": 61}', 61),
        (r"sum (\d+) of 61 eggs", "sum 3 of 61 eggs"),
        (3.14, 3.1415),
    ],
)
def test_constant_shows_an_equal_value_and_a_part_of_one(constant, right):
    why = shows(Observation(line=7, constants=(constant,)), right, base="other")
    assert why is not None
    assert why.reason.startswith(f"line 7: {constant!r}, which only a right fix gives")
    assert str(why.value) in str(constant)


@pytest.mark.parametrize(
    ("constant", "right", "base"),
    [
        (61, 62, 0),
        (61, 61, 61),
        (1, 1, 0),
        ("61", "word 161 end", "x"),
        (",", "a,b", "x"),
        ("end", "word 61 end", "word 17 end"),
        ("name", {"name": "x"}, "y"),
        (10**400, 1.5, 0),
    ],
)
def test_values_of_unfixed_code_keys_and_chance_show_nothing(constant, right, base):
    assert shows(Observation(line=7, constants=(constant,)), right, base) is None


def test_keys_of_a_container_of_the_test_itself_count():
    expression = Observation(line=7, constants=(61,), is_own=True)
    assert shows(expression, {61: 1}) is not None


def test_numbers_that_are_keys_of_what_the_project_gives_count():
    files = observing("assert parse('a')[61] == 'right'")
    key = next(key for key, one in files.observed.items() if 61 in one.constants)
    assert what_stays(files.observed, [Recording(key, (of_python({61: "right"}),))], []) is not None


def test_arguments_of_an_object_are_inputs_and_those_of_a_text_are_not():
    expression = Observation(line=7, constants=("61",), arguments=frozenset(["61"]))
    text, parts = of_python("x 61"), of_python(["x 61"])
    assert what_stays({-1: expression}, [Recording(-1, (text,))], []) is not None
    assert what_stays({-1: expression}, [Recording(-1, (parts, Leaf("none", None)))], []) is None


def test_values_of_the_test_that_an_object_s_methods_get_are_inputs_and_those_of_a_text_are_not():
    files = observing("want = json.load(open('want.json'))", "assert parse('a').split(want) == []")
    key = next(key for key, expression in files.observed.items() if expression.other_arguments)
    (other,) = files.observed[key].other_arguments
    want = Recording(other, (of_python("61"),))
    text, parts = of_python("x 61"), of_python(["x 61"])
    assert what_stays(files.observed, [Recording(key, (text,)), want], []) is not None
    given = Recording(key, (parts, Leaf("none", None)))
    assert what_stays(files.observed, [given, want], []) is None


def test_one_value_is_drawn_and_equal_values_come_first():
    expression = Observation(line=7, constants=(61, 62, "61 eggs"))
    drawn = {str(shows(expression, [61, 62, "no 61 eggs"]).value) for _ in range(60)}
    assert drawn == {"61", "62"}


def test_negative_constant_is_found():
    assert -61 in meeting("assert sorted([parse('a'), -61]) == [-61, -61]", is_object=False)


def test_value_of_the_test_itself_is_compared_as_it_runs():
    files = observing("want = json.load(open('want.json'))", "assert parse('a') == want").observed
    (key,) = (key for key, expression in files.items() if expression.others)
    right = [Recording(key, (of_python(61),)), Recording(files[key].others[0], (of_python(61),))]
    assert what_stays(files, right, []) is not None
    assert what_stays(files, right[:1], []) is None


def test_oversized_value_may_be_any_constant():
    files = observing("assert parse('a').index(1001) == 7").observed
    cut = [Recording(key) for key, one in files.items() if 1001 in one.constants]
    stays = what_stays(files, cut, [])
    assert stays is not None
    assert (stays.stays, stays.is_unknown) == (True, True)
    unmet = observing("assert parse('a') == [1001]").observed
    assert what_stays(unmet, [Recording(key) for key in unmet], []) is None


def test_value_of_the_test_itself_that_changes_shows_nothing():
    files = observing("at = open('a').read()", "assert sorted([parse('a'), at])").observed
    (key,) = (key for key, one in files.items() if one.others)
    (own,) = files[key].others

    def given(text):
        return [Recording(key, (of_python(text),)), Recording(own, (of_python(text),))]

    assert what_stays(files, given("/tmp/one"), []) is not None
    assert what_stays(files, given("/tmp/one"), given("/tmp/two")) is None


def test_function_of_another_file_of_tests_may_compare_what_it_gets():
    files = observing("helpers.check(parse('a'))").observed
    (key,) = (key for key, expression in files.items() if expression.is_foreign_argument)
    right, base = Recording(key, (of_python(61),)), Recording(key, (of_python(17),))
    assert "another file" in str(what_stays(files, [right], [base]))
    assert what_stays(files, [right], [right]) is None


def test_observing_form_records_the_same_assertions():
    text = "want = '61'\nassert parse('a').split(want) == ['x', 'y']"
    body = "".join(f"    {line}\n" for line in text.splitlines())
    plain = seal_file(HEAD + body, "test_it.py", ["test_it.py::test_it"], Random(1))
    found = observing(text)
    assert [(s.number, s.line) for s in found.sites.values()] == [(1, 8)]
    assert found.sites.keys() == plain.sites.keys()
    assert "observe(" in found.source
    assert "observe(" not in plain.source
