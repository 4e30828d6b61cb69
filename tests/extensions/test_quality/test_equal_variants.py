"""The variants of small fixes, and which of them can be applied together."""

from pathlib import PurePosixPath

import pytest

from agentbench.extensions.test_quality.equal_variants import equal_variants
from agentbench.extensions.test_quality.fix_variants import GivenText, apply_variants, groups_of
from agentbench.extensions.test_quality.mutants import FixedFile
from agentbench.validation.fairness_results import VariantKind

PATH = PurePosixPath("shop.py")
HEAD = "def price(text):\n"
BEFORE = f"{HEAD}    return int(text)\n"


def file_of(after, before=BEFORE, **more):
    return FixedFile(path=PATH, before=before.encode(), after=after.encode(), **more)


def given(instruction="", new_names=(), called=()):
    return GivenText(
        instruction=instruction, new_names=frozenset(new_names), called=frozenset(called)
    )


NEW = f"{BEFORE}\n\ndef halved(text):\n    "


def forms(body, kind, **known):
    """The new texts of the variants of one kind of a new function's body."""
    file = file_of(f"{NEW}{body}\n")
    texts = [
        apply_variants([file], [one])[PATH].decode().removeprefix(NEW).strip()
        for one in equal_variants([file], given(**known))
        if one.kind is kind
    ]
    for text in texts:
        compile(f"{NEW}{text}\n", "shop.py", "exec")
    return texts


@pytest.mark.parametrize(
    ("body", "instruction", "new"),
    [
        (
            "raise ValueError('the price is negative')",
            "",
            "raise ValueError('problem:')",
        ),
        (
            "raise ValueError(f'the price {text} is negative')",
            "Name the price.",
            "raise ValueError(f'the price {text} problem:')",
        ),
        (
            "raise ValueError('price %r is negative' % text)",
            "",
            "raise ValueError('problem: %r' % text)",
        ),
        ("warnings.warn('a negative price')", "", "warnings.warn('problem:')"),
        ("message = 'a negative price'", "", "message = 'problem:'"),
    ],
)
def test_words_of_a_message_that_nothing_gives_are_replaced(body, instruction, new):
    assert forms(body, VariantKind.MESSAGE, instruction=instruction) == [new]


@pytest.mark.parametrize(
    ("body", "instruction"),
    [
        ("raise ValueError('the price is negative')", "It says: the price is negative"),
        ("return {'a negative price': 1}[text]", ""),
        ("raise ValueError(text)", ""),
        ("raise KeyError('price')", ""),
    ],
    ids=["stated", "data", "no text", "a key"],
)
def test_other_texts_keep_their_words(body, instruction):
    assert forms(body, VariantKind.MESSAGE, instruction=instruction) == []


@pytest.mark.parametrize(
    ("body", "instruction", "new"),
    [
        (
            "raise ValueError(text)",
            "",
            [
                'raise type("OwnValueError", (ValueError,), {})(text)',
                "raise Exception(text)",
            ],
        ),
        (
            "raise ValueError(text)",
            "Raise a ValueError.",
            ['raise type("OwnValueError", (ValueError,), {})(text)'],
        ),
        (
            "raise KeyError from None",
            "",
            [
                'raise type("OwnKeyError", (KeyError,), {})() from None',
                "raise LookupError() from None",
            ],
        ),
        ("raise", "", []),
        ("raise text", "", []),
    ],
)
def test_exceptions_are_more_special_and_if_nothing_gives_them_more_general(body, instruction, new):
    assert forms(body, VariantKind.EXCEPTION, instruction=instruction) == new


@pytest.mark.parametrize(
    ("body", "new"),
    [
        ("return [text]", ["return tuple([text])"]),
        ("return sorted(text)", ["return tuple(sorted(text))"]),
        ("return text, 1", ["return list((text, 1))"]),
        ("return {text}", ["return frozenset({text})"]),
        ("return text", []),
    ],
)
def test_results_have_another_equal_type(body, new):
    assert forms(body, VariantKind.TYPE) == new


def test_items_and_keyword_arguments_have_another_order():
    assert forms("return {1: text, 2: ''}", VariantKind.ORDER) == ["return {2: '', 1: text}"]
    assert forms("return dict(text, a=1, b=2)", VariantKind.ORDER) == [
        "return dict(text, b=2, a=1)"
    ]
    assert forms("return dict(text, a=1, **text)", VariantKind.ORDER) == []


@pytest.mark.parametrize(
    ("instruction", "new"),
    [
        ("Count them.", ["return list(text)"]),
        ("Give them in any order.", ["return list(text)"]),
        ("Sort them.", []),
        ("In the order of the alphabet.", []),
    ],
)
def test_what_nobody_asked_to_sort_is_not_sorted(instruction, new):
    assert forms("return sorted(text)", VariantKind.ORDER, instruction=instruction) == new


@pytest.mark.parametrize(
    ("function", "call", "new"),
    [
        ("def send(to, urgent=False): ...", "send(text, urgent=True)", "send(text, True)"),
        ("def send(to, urgent=False): ...", "send(to=text, urgent=True)", None),
        ("def send(to, *, urgent=False): ...", "send(text, urgent=True)", None),
        ("def send(to, cc, urgent=False): ...", "send(text, urgent=True)", None),
    ],
)
def test_a_keyword_argument_of_the_next_parameter_is_given_by_position(function, call, new):
    file = file_of(f"{function}\n\n\n{HEAD}    return {call}\n", before=f"{function}\n\n\n{BEFORE}")
    found = [one for one in equal_variants([file], given()) if "position" in one.change.what]
    assert [one.change.added for one in found] == ([f"return {new}"] if new else [])


def test_the_type_of_what_a_called_function_returns_is_another():
    found = forms("return price(text)", VariantKind.TYPE, called=["halved"])
    assert found == ["return (lambda one: tuple(one) if type(one) is list else one)(price(text))"]
    assert forms("return price(text)", VariantKind.TYPE) == []
    assert forms("return halved(text)", VariantKind.TYPE, called=["halved"]) == []


@pytest.mark.parametrize(
    ("before", "found"),
    [("return text", True), ("return [1]", False), ("return sorted(text)", False)],
)
def test_a_type_that_the_function_had_before_stays(before, found):
    file = file_of(f"{HEAD}    return [text]\n", before=f"{HEAD}    {before}\n")
    kinds = [one.kind for one in equal_variants([file], given())]
    assert (VariantKind.TYPE in kinds) is found


def test_a_result_that_the_instruction_goes_through_may_be_an_iterator():
    shown = "for one in halved(x): ..."
    assert forms("return [text]", VariantKind.TYPE, instruction=shown) == [
        "return tuple([text])",
        "return iter(tuple([text]))",
    ]


def test_widths_and_separators_of_output_differ():
    assert forms("print(f'{text:>4} {text}')", VariantKind.LAYOUT) == ["print(f'{text}  {text}')"]
    assert forms("return '  '.join(text)", VariantKind.LAYOUT) == ["return ' '.join(text)"]
    assert forms("return f'{text:.2f}'", VariantKind.LAYOUT) == []


def test_white_space_of_output_differs_and_that_of_data_does_not():
    assert forms("return f'{text} of {text}'", VariantKind.LAYOUT) == [
        "return f'{text}  of  {text}'"
    ]
    assert forms("return text == 'a b'", VariantKind.LAYOUT) == []
    assert forms("return 'one of two'", VariantKind.LAYOUT, instruction="as one of two") == []


ADDED = "\n\ndef halved(text):\n    return price(text) / 2\n"


def test_a_name_that_a_test_uses_and_nothing_gives_is_another_everywhere():
    file = file_of(BEFORE + ADDED + "\nHALVED = halved\n")
    known = given(new_names=["halved"])
    (found,) = (one for one in equal_variants([file], known) if one.kind is VariantKind.NAME)
    text = apply_variants([file], [found])[PATH].decode()
    assert "def other_halved(text):" in text
    assert "HALVED = other_halved" in text
    assert found.change.what == "halved named other_halved"


def test_other_names_stay():
    found = equal_variants([file_of(BEFORE + ADDED)], given())
    assert [one for one in found if one.kind is VariantKind.NAME] == []


def test_an_option_keeps_its_dashes():
    file = file_of(BEFORE + "\nOPTIONS = ['--co']\n")
    known = given(new_names=["--co"])
    (found,) = (one for one in equal_variants([file], known) if one.kind is VariantKind.NAME)
    assert b"['--other-co']" in apply_variants([file], [found])[PATH]


@pytest.mark.parametrize(("in_package", "dot"), [(True, "."), (False, "")])
def test_a_new_function_moves_into_another_module(in_package, dot):
    file = file_of(BEFORE + ADDED, in_package=in_package)
    (found,) = (one for one in equal_variants([file], given()) if one.kind is VariantKind.STRUCTURE)
    contents = apply_variants([file], [found])
    assert f"from {dot}shop_halved import halved\n" in contents[PATH].decode()
    moved = contents[PurePosixPath("shop_halved.py")].decode()
    assert moved == (
        f"def halved(text):\n    from {dot}shop import price\n    return price(text) / 2\n"
    )


def test_a_function_whose_defaults_need_its_module_stays():
    file = file_of(f"{BEFORE}LIMIT = 3\n\n\ndef halved(text=LIMIT):\n    return text\n")
    found = [one.kind for one in equal_variants([file], given())]
    assert VariantKind.STRUCTURE not in found


def test_what_the_fix_only_moves_has_no_variant():
    body = "    raise ValueError('the price is negative')\n"
    file = file_of(f"{HEAD}    if text:\n    {body}", before=f"{HEAD}{body}")
    assert list(equal_variants([file], given())) == []


def test_variants_of_the_same_text_are_not_applied_together():
    file = file_of(f"{HEAD}    raise ValueError('the price is negative')\n")
    groups = groups_of(list(equal_variants([file], given())))
    assert [len(group) for group in groups] == [1, 1, 1]
    file = file_of(f"{HEAD}    warn('a negative price')\n    return {{1: text, 2: text}}\n")
    (group,) = groups_of(list(equal_variants([file], given())))
    text = apply_variants([file], group)[PATH].decode()
    assert "warn('problem:')" in text
    assert "return {2: text, 1: text}" in text


def test_a_file_that_is_not_python_has_no_variant():
    assert list(equal_variants([file_of("def price(:\n")], given())) == []
