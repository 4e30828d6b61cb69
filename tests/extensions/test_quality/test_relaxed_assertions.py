import ast
import textwrap

import pytest

from agentbench.extensions.test_quality.relaxed_assertions import (
    StrictAssertion,
    relaxations,
    stated_part,
)
from agentbench.python_source.source_text import apply_edits, parse_source
from agentbench.validation.fairness_results import VariantKind

INSTRUCTION = (
    "A negative age raises ValueError, and its message says: must be\npositive (`max_age`)."
)
RAISE = 'raise ValueError(f"the given age must be positive, found {age}")'


def relaxed(body, kind, instruction=INSTRUCTION, *, lines=(), **facts):
    """A test function with this body after all proposals, and what is said about each."""
    text = f"import pytest\n\n\ndef test_it():\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    source = parse_source(text, "t.py")
    found = [StrictAssertion(kind=kind, line=4 + line) for line in lines] or [
        StrictAssertion(kind=kind, function="test_it", **facts)
    ]
    proposals = relaxations(source, found, instruction)
    after = apply_edits(source.text, [each.edit for each in proposals if each.edit is not None])
    ast.parse(after)
    function = after.partition("def test_it():\n")[2]
    return textwrap.dedent(function).rstrip("\n"), [each.what for each in proposals]


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("the given age must be positive, found -1", "must be positive"),
        ("must be  positive", "must be  positive"),
        ("found `max_age` there", "max_age"),
        ("negative", ""),  # one usual word
        ("no such thing", ""),
        ("must be positively wrong", ""),  # words are whole, and `must be` says nothing
        ("", ""),
    ],
)
def test_stated_part_is_the_longest_in_whole_words(message, part):
    assert stated_part(message, " ".join(INSTRUCTION.split())) == part


MESSAGES = [
    (
        'assert str(error.value) == "the given age must be positive, found -1"',
        "assert 'must be positive' in str(error.value)",
    ),
    (
        'assert "the given age must be positive" == str(error.value), "why"',
        "assert 'must be positive' in str(error.value), \"why\"",
    ),
    (
        'assert error and str(error) == "the given age is wrong"',
        "assert error and str(error)",
    ),
    (
        'assert "the given age must be positive" in str(error.value)',
        "assert 'must be positive' in str(error.value)",
    ),
    (
        'assert a + b == "the given age must be positive"',
        "assert 'must be positive' in (a + b)",
    ),
    (
        'assert str(error).startswith("the given age must")',
        "assert str(error)",
    ),
    (
        'assert re.search(r"given age must be positive, found \\d+", text)',
        "assert 'must be positive' in text",
    ),
    (
        'with pytest.raises(ValueError, match="the given age must be positive, found .*"):\n'
        "    call()",
        "with pytest.raises(ValueError, match='must be positive'):\n    call()",
    ),
    (
        'with pytest.raises(ValueError, match=r"^the given age is \\(wrong\\)$") as caught:\n'
        "    call()",
        "with pytest.raises(ValueError) as caught:\n    call()",
    ),
    (
        "with pytest.raises(\n    ValueError,\n"
        '    match=("the given "\n           "age is wrong"),\n):\n    call()',
        "with pytest.raises(\n    ValueError,\n):\n    call()",
    ),
    (
        'with self.assertRaisesRegex(ValueError, "the given age is wrong"):\n    call()',
        "with self.assertRaises(ValueError):\n    call()",
    ),
    (
        'self.assertRaisesRegex(ValueError, "the given age is wrong", call, -1)',
        "self.assertRaises(ValueError, call, -1)",
    ),
    (
        'with self.assertRaisesMessage(ValueError, "the given age must be positive."):\n    call()',
        "with self.assertRaisesMessage(ValueError, 'must be positive'):\n    call()",
    ),
    (
        'self.assertEqual(str(e), "the given age must be positive")',
        "self.assertIn('must be positive', str(e))",
    ),
    (
        'self.assertEqual("the given age is wrong", str(e), "why")',
        'self.assertTrue(str(e), "why")',
    ),
    (
        'self.assertIn("the given age is wrong", str(e))',
        "self.assertTrue(str(e))",
    ),
]


@pytest.mark.parametrize(("before", "after"), MESSAGES)
def test_message_of_rejected_variant_is_compared_by_its_stated_part(before, after):
    assert relaxed(before, VariantKind.MESSAGE, removed=RAISE)[0] == after


@pytest.mark.parametrize(("before", "after"), MESSAGES)
def test_message_at_line_of_finding_is_compared_the_same(before, after):
    line = 1 + before[: before.index("given")].count("\n")
    assert relaxed(before, VariantKind.MESSAGE, lines=[line])[0] == after


@pytest.mark.parametrize(
    "body",
    [
        'assert str(e) != "the given age is wrong"',
        'assert not ("the given age is wrong" in str(e))',
        'assert "the given age is wrong" not in str(e)',
        'assert [str(e)] == ["the given age is wrong"]',
        'expected = "the given age is wrong"\nassert str(e) == expected',
        'assert str(e) == f"the given age {x}"',
        'assert e == "the given age is wrong" or e == "no"',
        'call(text="the given age is wrong")',
    ],
)
def test_message_in_another_form_stays_and_is_named(body):
    after, what = relaxed(body, VariantKind.MESSAGE, removed=RAISE)
    assert after == body
    assert what == ["no weaker form is known: other words of a message"]


def test_message_that_is_stated_or_of_another_fault_stays():
    body = 'assert x == "must be positive"\nassert y == "quite another text"'
    assert relaxed(body, VariantKind.MESSAGE, removed=RAISE)[0] == body


def test_match_of_stated_part_is_escaped():
    body = r'pytest.raises(ValueError, call, match=r"the given value \(x\+y\) is new")'
    instruction = "It says: given value (x+y), and then more."
    after, _ = relaxed(body, VariantKind.MESSAGE, instruction, removed="the given value")
    assert after == r'pytest.raises(ValueError, call, match=r"given value \(x\+y")'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("with pytest.raises(ValueError):\n    call()",
         "with pytest.raises((ValueError, TypeError)):\n    call()"),
        ("with pytest.raises((OSError, ValueError)):\n    call()",
         "with pytest.raises((OSError, ValueError, TypeError)):\n    call()"),
        ("self.assertRaises(ValueError, call)", "self.assertRaises((ValueError, TypeError), call)"),
        ("assert isinstance(e, ValueError)", "assert isinstance(e, (ValueError, TypeError))"),
    ],
)  # fmt: skip
def test_rejected_exception_is_accepted_too(before, after):
    facts = {"removed": "    raise ValueError(x)", "added": "    raise TypeError(x)"}
    assert relaxed(before, VariantKind.EXCEPTION, **facts)[0] == after


def test_base_of_an_exception_takes_its_place():
    facts = {"removed": "raise KeyError(x)", "added": "raise LookupError(x)"}
    after, what = relaxed("pytest.raises(KeyError, call)", VariantKind.EXCEPTION, **facts)
    assert after == "pytest.raises(LookupError, call)"
    assert what == ["LookupError is accepted, of which KeyError is one"]


def test_exception_that_the_test_does_not_know_is_named():
    facts = {"removed": "raise ValueError(x)", "added": "raise mod.OwnError(x)"}
    after, what = relaxed("pytest.raises(ValueError, call)", VariantKind.EXCEPTION, **facts)
    assert after == "pytest.raises(ValueError, call)"
    assert what == ["no weaker form is known: the test does not know OwnError, which is as right"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert f(x) == [1, 2]", "assert sorted(f(x)) == sorted([1, 2])"),
        ('assert ("a", None) == f(x)',
         'assert sorted(("a", None), key=repr) == sorted(f(x), key=repr)'),
        ("self.assertEqual(f(x), [1, 2])", "self.assertCountEqual(f(x), [1, 2])"),
        ("self.assertListEqual([b, a], f(x), msg='m')",
         "self.assertCountEqual([b, a], f(x), msg='m')"),
        ("assert f(x) == [1]", None),
        ("assert sorted(f(x)) == [1, 2]", None),
        ("assert f(x) == expected", None),
    ],
)  # fmt: skip
def test_order_that_was_rejected_is_free(before, after):
    assert relaxed(before, VariantKind.ORDER)[0] == (after or before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert f(x) == [1, 2]", "assert list(f(x)) == [1, 2]"),
        ("assert (1, 2) == f(x)", "assert (1, 2) == tuple(f(x))"),
        ("self.assertListEqual(f(x), [1])", "self.assertEqual(list(f(x)), [1])"),
        ("assert isinstance(f(x), list)", "assert isinstance(f(x), (list, tuple))"),
        ("assert type(f(x)) is tuple", "assert isinstance(f(x), (list, tuple))"),
        ("assert list(f(x)) == [1, 2]", None),
        ("assert len(f(x)) == 2", None),
    ],
)
def test_type_of_sequence_that_was_rejected_is_free(before, after):
    assert relaxed(before, VariantKind.TYPE)[0] == (after or before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('assert out == "a  b\\n"', 'assert out.split() == "a  b\\n".split()'),
        ('assert "a  b" in out',
         'assert " ".join("a  b".split()) in " ".join(out.split())'),
        ('self.assertEqual(out + x, "a b")', 'self.assertEqual((out + x).split(), "a b".split())'),
        ('self.assertIn("a b", out)',
         'self.assertIn(" ".join("a b".split()), " ".join(out.split()))'),
        ('assert out == (\n    "a b\\n"\n    "c d\\n"\n)',
         'assert out.split() == ("a b\\n"\n    "c d\\n").split()'),
        ('assert out == "word"', None),
    ],
)  # fmt: skip
def test_white_space_that_was_rejected_is_free(before, after):
    assert relaxed(before, VariantKind.LAYOUT)[0] == (after or before)


def test_only_the_assertion_that_failed_is_relaxed_if_it_is_known():
    body = "assert f(x) == [1, 2]\nassert g(x) == [3, 4]"
    after, _ = relaxed(body, VariantKind.ORDER, failure="assert [4, 3] == [3, 4]")
    assert after == "assert f(x) == [1, 2]\nassert sorted(g(x)) == sorted([3, 4])"
    after, _ = relaxed(body, VariantKind.ORDER, failure="ValueError")
    assert after.count("sorted(") == 4


@pytest.mark.parametrize("kind", [VariantKind.NAME, VariantKind.STRUCTURE, VariantKind.PART])
def test_names_and_parts_have_no_weaker_form(kind):
    after, what = relaxed("assert f(x) == [1, 2]", kind)
    assert after == "assert f(x) == [1, 2]"
    assert what == [f"no weaker form is known: {kind}"]


def test_two_proposals_for_one_assertion_are_not_combined():
    source = parse_source("def test_it():\n    assert f() == [1, 2]\n", "t.py")
    found = [
        StrictAssertion(kind=kind, function="test_it")
        for kind in (VariantKind.ORDER, VariantKind.TYPE, VariantKind.ORDER)
    ]
    first, second = relaxations(source, found, "")
    assert first.edit is not None
    assert second.edit is None
    assert second.what.endswith("not combined with the other proposal")


def test_function_of_a_class_is_found_and_a_missing_one_is_named():
    source = parse_source(
        "class TestA:\n    def test_it(self):\n        assert f() == [1, 2]\n", "t"
    )
    facts = {"kind": VariantKind.ORDER}
    (found,) = relaxations(source, [StrictAssertion(function="TestA::test_it", **facts)], "")
    assert (found.line, found.edit is not None) == (3, True)
    (found,) = relaxations(source, [StrictAssertion(function="TestB::test_it", **facts)], "")
    assert found.edit is None
