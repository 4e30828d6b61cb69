"""Hidden tests that expect something else than the visible tests of the same name."""

import pytest

from agentbench.audit.changed_expectations import changed_expectations
from tests.audit.conftest import lines_of

PATH = "tests/test_prices.py"
HEAD = "import basket\n\n\n"


def source_of(body, decorator=""):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}{decorator}def test_totals():\n{lines}"


@pytest.fixture
def found(facts_of):
    def found(before, after, instruction="The first price is lost.\n", decorators=("", "")):
        facts = facts_of(
            base={PATH: source_of(before, decorators[0])},
            hidden={PATH: source_of(after, decorators[1])},
            listed=[f"{PATH}::test_totals"],
            instruction=instruction,
        )
        return lines_of(changed_expectations(facts))

    return found


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("assert basket.total([1]) == 17", "assert basket.total([1]) == 18", "`== 18`"),
        ("assert 1 in basket.total([1])", "assert 1 not in basket.total([1])", "`not in`"),
        ("assert basket.total([1])", "assert not basket.total([1])", "`False`"),
        ("self.assertEqual(basket.total([1]), 17)", "assert basket.total([1]) == 18", "`== 18`"),
        ("self.assertTrue(basket.total([1]))", "self.assertFalse(basket.total([1]))", "`False`"),
        (
            "with raises(KeyError):\n    basket.total([1])",
            "with raises(IndexError):\n    basket.total([1])",
            "`IndexError`",
        ),
        ("assert basket.PRICES['total'] == 17", "assert basket.PRICES['total'] == 18", "`== 18`"),
        ("assert basket.total == 17", "assert basket.total == 18", "`== 18`"),
        (
            "a = basket.total([1])\nassert a.total.strip() == 'one'",
            "a = basket.total([1])\nassert a.total.strip() == 'two'",
            "`== 'two'`",
        ),
    ],
    ids=[
        *("value", "membership", "truth", "unittest", "truth in unittest"),
        *("exception", "key", "attribute", "variable"),
    ],
)
def test_another_expectation_of_the_same_operation_is_a_warning(found, before, after, what):
    (line,) = found(before, after)
    assert line.startswith(f"warning {PATH}:")
    assert f"the test expects {what} of " in line
    assert line.endswith("and the instruction does not name `total`")


OLD, NEW = "assert basket.total([1]) == 17", "assert basket.total([1]) == 18"


@pytest.mark.parametrize(
    "instruction", ["`total` is wrong.\n", "It should be 18.\n", "I get 17, and want more.\n"]
)
def test_an_instruction_that_names_it_or_one_of_the_values_gives_it(found, instruction):
    assert found(OLD, NEW)
    assert found(OLD, NEW, instruction) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OLD, f"{OLD}\nassert basket.total([2]) == 18"),
        (f"{OLD}\n{OLD}", NEW),
        (OLD, f"basket.clear()\n{NEW}"),
        ("a = [1]\nassert basket.total(a) == 17", "a = [2]\nassert basket.total(a) == 18"),
        (
            "for a in [1]:\n    assert basket.total(a) == 17",
            "for a in [2]:\n    assert basket.total(a) == 18",
        ),
        ("assert len(a) == 17", "assert len(a) == 18"),
        ("assert test_totals() == 17", "assert test_totals() == 18"),
    ],
    ids=["more", "twice", "changed before", "variable", "loop", "built-in", "helper"],
)
def test_other_changes_of_a_test_are_no_finding(found, before, after):
    assert found(before, after) == []


def test_another_parametrization_is_no_finding(found):
    decorators = [f"@pytest.mark.parametrize('a', [{value}])\n" for value in (1, 2)]
    assert found(OLD, NEW, decorators=decorators) == []
    assert found(OLD, NEW, decorators=decorators[:1] * 2)


def test_a_test_that_is_new_has_no_other_version(facts_of):
    facts = facts_of(hidden={PATH: source_of(NEW)}, listed=[f"{PATH}::test_totals"])
    assert lines_of(changed_expectations(facts)) == []
