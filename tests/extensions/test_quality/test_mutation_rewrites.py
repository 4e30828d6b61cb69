import ast
from pathlib import Path

import pytest

from agentbench.extensions.test_quality.mutation_rewrites import (
    changeable_nodes,
    omissions_at,
    rewrites_at,
)
from agentbench.python_source import python_syntax
from agentbench.python_source.source_text import parse_source


def constants(text):
    found = changeable_nodes(python_syntax.parse(text))
    return [node.value for node in found if isinstance(node, ast.Constant)]


def test_sites_are_in_the_order_of_the_source():
    assert constants("a = 1\nif b > 2:\n    c = [3, 4]\n") == [1, 2, 3, 4]


def test_documentation_and_annotations_are_no_sites():
    text = (
        '"""Module."""\nclass C:\n    """Class."""\n    x: "int" = 5\n\n'
        '    def f(self, a: "A" = 6) -> "B":\n        """Method."""\n'
    )
    assert constants(text) == [5, 6]


def test_logs_messages_and_f_strings_are_no_sites():
    text = "LOG.debug(1)\nlog(2)\nraise E(3)\nassert a > 4, 5\nx = f'{6}'\nself.error(7)\n"
    assert constants(text) == [2, 4, 7]


def rewritten(text, rewrites=rewrites_at):
    source = parse_source(text, "m.py")
    return [
        f"{text[: one.span.start]}{one.text}{text[one.span.end :]}"
        for node in changeable_nodes(source.tree)
        for one in rewrites(node, source)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a >= b", ["a > b", "a < b"]),
        ("a == b", ["a != b"]),
        ("a is  not None", ["a is None"]),
        ("(a) not   in (b)", ["(a) in (b)"]),
        ("a < b < c", ["a <= b < c", "a >= b < c", "a < b <= c", "a < b >= c"]),
        ("a and b", ["a or b", "True and b", "a and True"]),
        ("(a) or (b)", ["(a) and (b)", "(False) or (b)", "(a) or (False)"]),
        ("a + b", ["a - b"]),
        ("a // b", ["a / b"]),
        ("a += b", ["pass", "a -= b"]),
        ("not a", ["(a)"]),
        ("-a", ["(a)"]),
        ("x = 7", ["x = 8"]),
        ("x = -1", ["x = -2"]),
        ("x = 0.5", ["x = 1.5"]),
        ("x = True", ["x = False"]),
        ("x = 'text'", ["x = ''"]),
        ("x = b''", ["x = b'XX'"]),
        ("x = min(a, b)", ["x = max(a, b)"]),
        ("x = a.b.startswith(c)", ["x = a.b.endswith(c)"]),
        ("x = f(a, key=b)", ["x = f(a, )"]),
        ("x = f(key=b, other=c)", ["x = f(other=c)", "x = f(key=b, )"]),
        ("x = [a, b]", ["x = [b]", "x = [a]"]),
        ("x = {a, b}", ["x = {b}", "x = {a}"]),
        ("x = [a]", []),
        ("x = a, b", []),
        ("x = f(a, (B, C))", ["x = f(a, (C,))", "x = f(a, (B,))"]),
        ("a in (b, c)", ["a not in (b, c)", "a in (c,)", "a in (b,)"]),
        ("x = f(*a)", ["x = f(*())"]),
        ("x = f(**a)", ["x = f(**{})"]),
        ("f(a)", ["pass"]),
        ("a.b = c", ["pass"]),
        ("del a[b]", ["pass"]),
        ("raise ValueError('no')", ["pass"]),
        ("a if b else c", ["a if (not (b)) else c"]),
        ("[a for a in b if c(a)]", ["[a for a in b if (not (c(a)))]"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    return", ["def f():\n    pass"]),
        ("for a in b:\n    break", ["for a in b:\n    continue"]),
        ("for a in b:\n    continue", ["for a in b:\n    break"]),
        ("try:\n    a\nexcept E:\n    b", ["try:\n    a\nexcept ():\n    b"]),
    ],
)
def test_each_kind_of_node_is_changed_in_the_usual_ways(text, expected):
    assert rewritten(text) == expected
    for made in expected:
        ast.parse(made)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a:\n    b\n", ["if False:\n    b\n"]),
        ("if a: b\nelse: c", ["if False: b\nelse: c", "if True: b\nelse: c"]),
        ("if a: b\nelif c: d", ["if False: b\nelif c: d", "if a: b\nelif False: d"]),
        ("x = a if b else c", ["x = a if False else c", "x = a if True else c"]),
        ("[a for a in b if c(a)]", ["[a for a in b if True]"]),
        ("try:\n    a\nexcept E:\n    b", ["try:\n    a\nexcept ():\n    b"]),
        ("a and b", ["True and b", "a and True"]),
        ("any(a(b) for b in c)", ["any(True for b in c)"]),
        (
            "all(a(b) for b in c if d)",
            ["all(True for b in c if d)", "all(a(b) for b in c if True)"],
        ),
        ("x = [a, b]", ["x = [b]", "x = [a]"]),
        ("x = a < 1", []),
        (
            "def f():\n    if a: b\n    return b if c < d else e",
            [
                "def f():\n    if a: b\n    return b if (a and (c < d)) else e",
                "def f():\n    if a: b\n    return b if (not a and (c < d)) else e",
                "def f():\n    if False: b\n    return b if c < d else e",
                "def f():\n    if a: b\n    return b if False else e",
                "def f():\n    if a: b\n    return b if True else e",
            ],
        ),
    ],
)
def test_each_branch_condition_operand_or_element_is_left_out(text, expected):
    assert rewritten(text, omissions_at) == expected


def test_operator_is_found_behind_brackets_comments_and_letters_beyond_ascii():
    text = "x = ('ü' in é  # < is meant\n     and (é)\n     < b)"
    assert "x = ('ü' in é  # < is meant\n     and (é)\n     <= b)" in rewritten(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(a: 'str', b: int | None) -> 'x': ...",
        "'what this module is for'",
        "@cache(size=3)\ndef f(): ...",
        "x = f'{a + 1}'",
        "_log.warning('slow', seconds=3)",
        "if TYPE_CHECKING:\n    x = 1",
        "x = 'a' + b",
        "x = 'a %s' % b",
    ],
)
def test_what_is_no_behaviour_or_no_program_is_left_alone(text):
    made = [each for each in rewritten(text) if "''" not in each]
    assert made == []


def test_what_an_error_says_is_left_alone_but_not_that_it_is_raised():
    assert rewritten("raise E('no' + str(1)) from cause(2)") == ["pass"]


def test_every_change_of_a_real_module_can_be_compiled():
    text = Path(ast.__file__).read_text("utf-8")
    source = parse_source(text, "ast.py")
    tried = 0
    for node in list(changeable_nodes(source.tree))[::40]:
        for one in rewrites_at(node, source):
            compile(f"{text[: one.span.start]}{one.text}{text[one.span.end :]}", "m", "exec")
            tried += 1
    assert tried > 20
