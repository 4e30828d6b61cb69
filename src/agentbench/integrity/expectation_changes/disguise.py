"""Hides changed values: constants get one form, and comments and messages lose their text."""

import ast
import math
import re
import tokenize
from collections.abc import Iterator

from agentbench.errors import InputError
from agentbench.python_source import source_text
from agentbench.python_source.constants import LiteralValue, is_scalar
from agentbench.python_source.functions import functions_of

_ANNOTATIONS = frozenset({"annotation", "returns", "type_params"})
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
_NO_CODE = re.compile(r"[ \t\f]*(?:#|$)")
_READS_DOCSTRINGS = ("__doc__", "getdoc")
_READS_MESSAGES = ("AssertionError",)
_EXAMPLE = ">>>"  # of a doctest, which is code


def write_disguised(value: LiteralValue) -> str | None:
    """Write a value in the one form that all constants get, in brackets; `None` if it has none."""
    try:
        if isinstance(value, set) and value:  # its order differs between processes
            return f"({{{', '.join(sorted(map(ascii, value)))}}})"
        text = f"({value!a})"
    except ValueError:
        return None  # Python refuses to write or read integers of more than 4,300 digits
    return None if isinstance(value, float) and not math.isfinite(value) else text


# Newer than Python 3.11: t-strings, `type X = ...` and type parameters of functions.
_NEWER = tuple(
    getattr(ast, name) for name in ("TemplateStr", "TypeAlias", "type_param") if hasattr(ast, name)
)
_SKIPPED_NODES: tuple[type[ast.AST], ...] = (ast.JoinedStr, ast.pattern, ast.Import, *_NEWER)


def disguised_constants(source: source_text.SourceText) -> list[source_text.SourceEdit]:
    """Edits that write constants in one form wherever only their values count."""
    edits: list[source_text.SourceEdit] = []
    waiting: list[ast.AST] = [source.tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.Constant):
            waiting += _child_nodes(node)
        elif is_scalar(node.value) and (text := write_disguised(node.value)) is not None:
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


# Numbers and texts that are compared by `is`.
def _compared_by_identity(node: ast.AST) -> list[ast.AST]:
    if not isinstance(node, ast.Compare):
        return []
    if not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        return []
    sides = [side for side in (node.left, *node.comparators) if isinstance(side, ast.Constant)]
    return [side for side in sides if not isinstance(side.value, bool | None)]


def without_comments(source: source_text.SourceText) -> str:
    """The text with empty comments and unchanged code positions."""
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
