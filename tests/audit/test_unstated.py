"""Names and messages that a hidden test needs and that nothing gives."""

import pytest

from agentbench.audit.unstated import unstated_messages, unstated_names
from tests.audit.conftest import lines_of
from tests.e2e.small_task import FIXED

PATH = "tests/test_new.py"


def hidden(body, imports="import basket"):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return {
        "hidden": {PATH: f"{imports}\n\n\ndef test_new():\n{lines}"},
        "listed": [f"{PATH}::test_new"],
    }


def fixed(text):
    return {"basket.py": f"{FIXED}\n\n{text}\n"}


TOTAL = "def halved_total(p): ..."


@pytest.mark.parametrize(
    ("body", "imports", "fix", "line"),
    [
        ("assert basket.halved_total([2]) == 1", "import basket", TOTAL, 5),
        ("assert halved_total([2]) == 1", "from basket import halved_total", TOTAL, 1),
        ("basket.total([2],\n    halved=1)", "import basket", "def f(halved): ...", 6),
    ],
    ids=["attribute", "import", "keyword"],
)
def test_a_new_name_that_a_test_looks_up_is_a_warning(facts_of, body, imports, fix, line):
    facts = facts_of(fix=fixed(fix), **hidden(body, imports))
    (found,) = lines_of(unstated_names(facts))
    assert found.startswith(f"warning {PATH}:{line}: `halved")
    assert found.endswith("` is new in the fix, and the instruction does not name it")


@pytest.mark.parametrize(
    ("instruction", "base"),
    [
        ("Add `halved_total`.\n", {}),
        ("Prices.\n", {"docs/plan.md": "We want halved_total soon.\n"}),
    ],
    ids=["the instruction", "a document of the project"],
)
def test_a_name_that_is_given_is_no_finding(facts_of, instruction, base):
    facts = facts_of(
        fix=fixed("def halved_total(p): ..."),
        instruction=instruction,
        base=base,
        **hidden("assert basket.halved_total([2]) == 1"),
    )
    assert lines_of(unstated_names(facts)) == []


@pytest.mark.parametrize(
    ("instruction", "base", "guess"),
    [
        ("Add `halved_totals`.\n", {}, "it resembles `halved_totals`, which is there"),
        ("Give a halved total.\n", {}, "the instruction has its words: halved total"),
    ],
)
def test_a_name_that_can_be_guessed_is_for_information(facts_of, instruction, base, guess):
    facts = facts_of(
        fix=fixed("def halved_total(p): ..."),
        instruction=instruction,
        base=base,
        **hidden("assert basket.halved_total([2]) == 1"),
    )
    (line,) = lines_of(unstated_names(facts))
    assert line.startswith("info ")
    assert line.endswith(f"; {guess}")


def test_a_parallel_name_of_the_project_is_told(facts_of):
    facts = facts_of(
        fix=fixed("def read_csv_file(p): ..."),
        base={"files.py": "def read_json_file(p): ...\n"},
        **hidden("assert basket.read_csv_file([2]) == 1"),
    )
    (line,) = lines_of(unstated_names(facts))
    assert line.startswith("info ")
    assert line.endswith("; the project has `read_json_file`")


@pytest.mark.parametrize(
    ("body", "fix", "name"),
    [
        ("run(['--co'])", "OPTIONS = ['--co']", "--co"),
        ("set_variable('CART_RATE', 2)", "RATE = environ['CART_RATE']", "CART_RATE"),
        ("with pytest.raises(LookupError): ...", "def f(): raise LookupError", "LookupError"),
        ("basket._halved(2)", "def _halved(p): ...", "_halved"),
    ],
    ids=["an option", "a variable", "an exception", "a private name"],
)
def test_options_keys_exceptions_and_private_names_are_names(facts_of, body, fix, name):
    # The words of a private name are no sign of it: another fix needs no such helper.
    facts = facts_of(fix=fixed(fix), instruction="A price is halved.\n", **hidden(body))
    (line,) = lines_of(unstated_names(facts))
    assert line.startswith("warning ")
    assert f"`{name}` is new in the fix" in line


def test_what_each_value_has_and_a_text_that_is_a_value_are_no_names(facts_of):
    facts = facts_of(
        fix=fixed("def f(p): return p.casefold(), 'one halved price'"),
        **hidden("assert 'A'.casefold() == 'a'\nassert f() == 'one halved price'"),
    )
    assert lines_of(unstated_names(facts)) == []


def test_names_that_a_test_defines_or_that_only_the_fix_uses_do_not_count(facts_of):
    facts = facts_of(
        fix=fixed("def total_of(p, *, whole): ...\nmade = 1"),
        **hidden("made = basket.total([1])\nassert made == 1"),
    )
    assert lines_of(unstated_names(facts)) == []


def test_names_count_in_other_languages(facts_of):
    before = "package cart\n\nfunc Total() int { return 1 }\n\nfunc TestOld(t *testing.T) {}\n"
    test = 'package cart\n\nfunc TestIt(t *testing.T) { HalvedTotal("a SecondName") }\n'
    facts = facts_of(
        base={"cart.go": before},
        fix={"cart.go": before.replace("Total", "HalvedTotal") + "// SecondName\n"},
        hidden={"cart_test.go": test},
        listed=["cart_test.go::TestIt"],
    )
    (line,) = lines_of(unstated_names(facts))
    assert line.startswith("warning cart_test.go:3: `HalvedTotal` is new in the fix")


RAISES = "def check(p):\n    raise ValueError(f'the price {p!r} is not a number')"


@pytest.mark.parametrize(
    "body",
    [
        "assert basket.check(1) == 'error: the price 1 is not a number'",
        "with pytest.raises(ValueError, match=r'is not a number'): ...",
        "with pytest.raises(ValueError, match=r'price \\d is\\ not a number'): ...",
    ],
)
def test_a_new_text_that_a_test_compares_is_a_warning(facts_of, body):
    (line,) = lines_of(unstated_messages(facts_of(fix=fixed(RAISES), **hidden(body))))
    assert line == (
        f'warning {PATH}:5: the text "is not a number" is new in the fix, and the instruction does '
        "not give it"
    )


@pytest.mark.parametrize(
    ("instruction", "base", "body"),
    [
        ("It says: is not a number.\n", {}, "assert str(e) == 'is not a number'"),
        ("x\n", {"a.py": "# is not a number\n"}, "assert str(e) == 'is not a number'"),
        ("x\n", {}, "assert str(e) == 'number'"),
        ("x\n", {}, "assert str(e) == 'another text entirely'"),
    ],
    ids=["stated", "in the project", "one word", "not of the fix"],
)
def test_other_texts_are_no_finding(facts_of, instruction, base, body):
    facts = facts_of(fix=fixed(RAISES), instruction=instruction, base=base, **hidden(body))
    assert lines_of(unstated_messages(facts)) == []


@pytest.mark.parametrize(
    ("made", "compared", "found"),
    [
        (r"r'\mathrm{tr}\left (%s)' % p", r"r'\mathrm{tr}\left (A)'", "mathrm{tr}left ("),
        ("'Outside of a test this skips all of it.'", "'*Outside of a test*'", "Outside of a test"),
        ("'line {}: a bad price'.format(p)", "'line 3: a bad price'", ": a bad price"),
    ],
    ids=["braces that are text", "a pattern of a part", "a format"],
)
def test_the_text_that_a_message_and_a_test_share_is_named(facts_of, made, compared, found):
    fix = fixed(f"def check(p):\n    return {made}")
    (line,) = lines_of(unstated_messages(facts_of(fix=fix, **hidden(f"match({compared})"))))
    assert f'the text "{found}" is new in the fix' in line


def test_a_text_that_the_fix_only_keeps_is_no_finding(facts_of):
    before = "def check(p):\n    return 'a price below zero'\n"
    facts = facts_of(
        base={"basket.py": before},
        fix={"basket.py": before + "\n\ndef f(): ...\n"},
        **hidden("assert basket.check(1) == 'a price below zero'"),
    )
    assert lines_of(unstated_messages(facts)) == []
