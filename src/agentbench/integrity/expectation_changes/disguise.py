"""Hides changed values: constants become expressions, and comments and messages lose their text."""

import ast
import re
import string
import tokenize
from collections.abc import Iterator
from random import Random

from agentbench.errors import InputError
from agentbench.python_source import source_text
from agentbench.python_source.constants import LiteralValue, Scalar, is_scalar
from agentbench.python_source.functions import functions_of

_LETTERS = string.ascii_lowercase
_LONGEST_TURNED = 60
_MOST_BITS = 1024  # Python refuses to write or read integers of more than 4,300 digits
_ANNOTATIONS = frozenset({"annotation", "returns", "type_params"})
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
_NO_CODE = re.compile(r"[ \t\f]*(?:#|$)")
_READS_DOCSTRINGS = ("__doc__", "getdoc")
_READS_MESSAGES = ("AssertionError",)
_EXAMPLE = ">>>"  # of a doctest, which is code


def disguise(value: Scalar, rng: Random) -> str | None:
    """Write a constant as another expression, in brackets; `None` if it should not change."""
    match value:
        case bool():
            low, high = sorted(rng.sample(range(2, 90), 2))
            if value:
                return rng.choice((f"({low} < {high})", f"({high} > {low})", f"({low} != {high})"))
            return rng.choice((f"({low} > {high})", f"({high} < {low})", f"({low} == {high})"))
        case float():
            return _real(value, rng)
        case int() if value.bit_length() <= _MOST_BITS:
            step = rng.randrange(2, 90)
            sum_of, difference = f"({value - step} + {step})", f"({value + step} - {step})"
            return rng.choice((sum_of, difference, difference, f"({value ^ step} ^ {step})"))
        case int() | complex():
            return None
        case str() | bytes():
            return _text(value, rng)
        case None:
            number = rng.randrange(2, 90)
            return rng.choice((f"((None, {number})[0])", f"(({number}, None)[1])"))


def write_disguised(value: LiteralValue, rng: Random) -> str | None:
    """Write a value with disguised constants; `None` if one cannot be written."""
    match value:
        case dict():
            pairs: list[str | None] = []
            for key, item in value.items():
                written, of = write_disguised(key, rng), write_disguised(item, rng)
                pairs.append(None if written is None or of is None else f"{written}: {of}")
            return _joined("{}", pairs)
        case set() if not value:
            return "(set())"
        case set() | list() | tuple():
            # A set's order differs between processes.
            ordered = sorted(value, key=repr) if isinstance(value, set) else value
            brackets = "{}" if isinstance(value, set) else "[]" if isinstance(value, list) else "()"
            return _joined(brackets, [write_disguised(item, rng) for item in ordered])
        case complex() if isinstance(value, complex):
            return f"({value!r})"
        case _:
            return disguise(value, rng)


def _joined(brackets: str, items: list[str | None]) -> str | None:
    if None in items:
        return None
    return brackets[0] + "".join(f"{item}, " for item in items) + brackets[1]


def _real(value: float, rng: Random) -> str | None:
    for step in rng.sample((0.25, 0.5, 0.75, 1.0, 1.5, 2.25, 3.5, 4.0, 6.75, 8.5), 4):
        for written, equal in (
            (f"({value + step!r} - {step!r})", (value + step) - step),
            (f"({value - step!r} + {step!r})", (value - step) + step),
        ):
            if _same_real(value, equal):
                return written
    doubled = value * 2
    return f"({doubled!r} / 2)" if _same_real(value, doubled / 2) else None


def _same_real(one: float, other: float) -> bool:
    return one.hex() == other.hex()  # unlike ==, it distinguishes 0.0 and -0.0


def _text(value: str | bytes, rng: Random) -> str:
    if len(value) < 2:
        letter = rng.choice(_LETTERS)
        longer = letter + value if isinstance(value, str) else letter.encode() + value
        return f"({longer!a}[1:])"
    if len(value) <= _LONGEST_TURNED and rng.random() < 0.3:
        return f"({value[::-1]!a}[::-1])"
    cut = rng.randrange(1, len(value))
    return f"({value[:cut]!a} + {value[cut:]!a})"


# Newer than Python 3.11: t-strings, `type X = ...` and type parameters of functions.
_NEWER = tuple(
    getattr(ast, name) for name in ("TemplateStr", "TypeAlias", "type_param") if hasattr(ast, name)
)
_SKIPPED_NODES: tuple[type[ast.AST], ...] = (ast.JoinedStr, ast.pattern, ast.Import, *_NEWER)


def disguised_constants(
    source: source_text.SourceText, rng: Random
) -> list[source_text.SourceEdit]:
    """Edits that write constants as expressions wherever only their values count."""
    edits: list[source_text.SourceEdit] = []
    waiting: list[ast.AST] = [source.tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.Constant):
            waiting += _child_nodes(node)
        elif is_scalar(node.value) and (text := disguise(node.value, rng)) is not None:
            edits.append(source_text.edit_keeping_lines(source, source.span(node), text))
    return edits


def _child_nodes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring, or another text that is not used
    if isinstance(node, _SKIPPED_NODES):
        return
    alone = _compared_by_identity(node)
    for name, part in ast.iter_fields(node):
        children = part if isinstance(part, list) else [part]
        if name not in _ANNOTATIONS:
            yield from (c for c in children if isinstance(c, ast.AST) and c not in alone)


def _compared_by_identity(node: ast.AST) -> list[ast.AST]:
    """Numbers and texts that are compared by `is`."""
    if not isinstance(node, ast.Compare):
        return []
    if not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        return []
    sides = [side for side in (node.left, *node.comparators) if isinstance(side, ast.Constant)]
    return [side for side in sides if not isinstance(side.value, bool | None)]


def without_comments(source: source_text.SourceText) -> str:
    """The text with empty comments and unchanged code positions.

    Raises:
        InputError: the text cannot be tokenized.
    """
    first, kept = source.line(1), set()  # the lines with a shebang or an encoding stay
    if first.startswith("#!") or _COOKIE.match(first):
        kept.add(1)
    if source.line_count > 1 and _NO_CODE.match(first) and _COOKIE.match(source.line(2)):
        kept.add(2)
    lines = (f"{source.line(number)}\n" for number in range(1, source.line_count + 1))
    edits = []
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            line, column = token.start
            if token.type == tokenize.COMMENT and line not in kept:
                start = source.line_start(line) + column
                span = source_text.SourceSpan(start, start + len(token.string))
                edits.append(source_text.SourceEdit(span=span, text="#"))
    except (tokenize.TokenError, SyntaxError) as error:
        raise InputError(
            f"{source.path}: its comments cannot be found: {error}; give valid Python"
        ) from error
    return source_text.apply_edits(source.text, edits)


def without_prose(source: source_text.SourceText) -> str:
    """The text with emptied docstrings and messages of tests, unless the file reads them itself."""
    docstrings = not any(word in source.text for word in _READS_DOCSTRINGS)
    messages = not any(word in source.text for word in _READS_MESSAGES)
    prose: list[ast.expr] = []
    for found in functions_of(source.tree).functions.values():
        match found.node.body[0]:
            case ast.Expr(value=ast.Constant(value=str() as text) as node) if (
                found.looks_like_a_test and docstrings and _EXAMPLE not in text
            ):
                prose.append(node)
            case _:
                pass
        if found.looks_like_a_test and messages:
            asserts = (node for node in ast.walk(found.node) if isinstance(node, ast.Assert))
            prose += [one.msg for one in asserts if one.msg is not None]
    edits = [source_text.edit_keeping_lines(source, source.span(node), '("")') for node in prose]
    return source_text.apply_edits(source.text, edits)
