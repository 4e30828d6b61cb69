"""Other texts for those of a fix that an instruction leaves open: words and white space."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from agentbench.audit.unstated import is_message, plain
from agentbench.extensions.test_quality.fix_variants import GivenText
from agentbench.validation.fairness_results import VariantKind

# `%s`, `%(name)d`, `{}` and `{name!r}` stand for values and are kept; words are `\w+`.
_TOKENS = re.compile(r"%(?:\(\w+\))?[-+ #0]*[\d.]*[a-zA-Z]|\{[^{}]*\}|\w+|\s+|.", re.DOTALL)
_WIDTH = re.compile(r"[<>^]?\d+")
_SPACES = re.compile(r"(?<! ) (?! )")
_REPORTING = frozenset({"warn", "warning", "error", "info", "debug", "critical", "exception"}) | {
    *("log", "print", "echo", "fail", "exit", "skip")
}
_MESSAGE_NAMES = re.compile(r"(?i)(^|_)(msg|message|error|reason|help|warning|description)s?$")
_NEW_WORD = "problem:"


def other_texts(
    path: Sequence[ast.AST], given: GivenText
) -> Iterator[tuple[VariantKind, str, str]]:
    """The kind, the source and the description of each other form of the text that ends a path."""
    node = path[-1]
    if isinstance(node, ast.JoinedStr):
        parts = (str(n.value) if isinstance(n, ast.Constant) else "{}" for n in node.values)
        text = "".join(parts)
    else:
        assert isinstance(node, ast.Constant)
        text = str(node.value)
    if len(text) > 1 and given.says(text) and plain(text):
        return
    if is_message(plain(text)) and _is_reported(path):
        if (reworded := _rebuilt(node, lambda part: _reworded(part, given))) is not None:
            yield VariantKind.MESSAGE, reworded, "a message in other words"
    elif _is_output(path) and not given.shows_output:
        spaced = _rebuilt(node, _other_spaces)
        if spaced is not None:
            yield VariantKind.LAYOUT, spaced, "other spaces in a text"


def _other_spaces(text: str) -> str:
    return _SPACES.sub("  ", text) if text.strip(" ") or len(text) == 1 else text[:1]


def _rebuilt(node: ast.AST, changed: Callable[[str], str]) -> str | None:
    """A text or a formatted text with other words, as source; None: nothing is changed."""
    if isinstance(node, ast.Constant):
        text = changed(str(node.value))
        return None if text == node.value else repr(text)
    assert isinstance(node, ast.JoinedStr)
    values: list[ast.expr] = []
    for value in node.values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            value = ast.Constant(changed(value.value))
        elif isinstance(value, ast.FormattedValue) and value.format_spec is not None:
            is_width = _WIDTH.fullmatch(ast.unparse(value.format_spec)[2:-1])
            value = ast.FormattedValue(value.value, value.conversion) if is_width else value
        values.append(value)
    new = ast.unparse(ast.JoinedStr(values))
    return None if new == ast.unparse(node) else new


def _reworded(text: str, given: GivenText) -> str:
    """A message without the words that nothing gives; values and stated words are kept."""
    tokens = _TOKENS.findall(text)
    kept = [one for one in tokens if not re.match(r"\w", one) or given.has_word(one)]
    if kept == tokens:
        return text
    start, end = (re.search(edge, text) for edge in (r"^\s*", r"\s*$"))
    assert start is not None  # both match anything
    assert end is not None
    words = " ".join(f"{_NEW_WORD} {''.join(kept)}".split())
    return f"{start.group()}{words}{end.group()}"


def _is_reported(path: Sequence[ast.AST]) -> bool:
    """Whether a text is a message for people: of an exception, a warning, a log, an option."""
    for node in reversed(path[:-1]):
        match node:
            case ast.Raise():
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _REPORTING:
                return True
            case ast.keyword(arg=str() as name) if _MESSAGE_NAMES.search(name):
                return True
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)]):
                return bool(_MESSAGE_NAMES.search(name))
            case ast.stmt():
                return False
            case _:
                pass
    return False


def _is_output(path: Sequence[ast.AST]) -> bool:
    """Whether a text is a part of what a function returns or writes."""
    for node in reversed(path[:-1]):
        match node:
            case ast.Return() | ast.Yield():
                return True
            case ast.Call(func=ast.Attribute(attr="append" | "write" | "extend" | "join")):
                return True
            case ast.Call(func=ast.Name(id="print")):
                return True
            case ast.Subscript() | ast.Compare() | ast.keyword() | ast.stmt():
                return False
            case _:
                pass
    return False
