"""The usual mutations of a syntax tree's nodes, and parts of a fix left out."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from agentbench.python_source.source_text import SourceSpan, SourceText

_LOGGERS = frozenset({"log", "logger", "logging", "warnings"})
_NOT_BEHAVIOUR = frozenset(
    {"annotation", "returns", "decorator_list", "type_params", "msg", "cause", "type_comment"}
)
_OPERATORS: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("/",)),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.BitXor: ("^", ("&",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_METHODS = {
    "startswith": "endswith",
    "endswith": "startswith",
    "find": "rfind",
    "rfind": "find",
    "partition": "rpartition",
    "rpartition": "partition",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
}
_COMMENT = re.compile(r"#[^\n]*")
_OMITTED = (ast.Delete, ast.Raise)
_STORED = (ast.Attribute, ast.Subscript)
_BRACKETS: dict[type[ast.expr], tuple[str, str]] = {
    ast.List: ("[", "]"),
    ast.Set: ("{", "}"),
    ast.Tuple: ("(", ")"),
}
_PART_UNDONE = "a part of the fix undone"
_IMPORT = re.compile(r"\s*(import|from)\s|\s*$")


def changeable_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes to change, in the order of the source.

    Annotations, decorators, docstrings, and arguments of logging and of exceptions are skipped, as
    are f-strings, whose nodes have correct positions only from Python 3.12 on.
    """
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in _NOT_BEHAVIOUR or (isinstance(tree, ast.Raise) and name == "exc"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_without_behaviour(child):
                yield from changeable_nodes(child)


def _is_without_behaviour(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name.lower().lstrip("_") in _LOGGERS
        case _:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """New text for a part of a source."""

    span: SourceSpan
    text: str
    what: str


def rewrites_at(node: ast.AST, source: SourceText) -> Iterator[Rewrite]:
    """All mutations of one node, without those of its children."""
    match node:
        case ast.Compare():
            operands = [node.left, *node.comparators]
            for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
                yield from _operators(source, (left, right), op)
            yield from _elements(node, source)
        case ast.BoolOp():
            yield from _connectives(node, source)
        case ast.BinOp() | ast.AugAssign():
            yield from _arithmetic(node, source)
        case ast.UnaryOp():
            if isinstance(node.op, ast.Not) or not isinstance(node.operand, ast.Constant):
                what = "not left out" if isinstance(node.op, ast.Not) else "sign left out"
                yield _in_place(source, node, f"({source.segment(node.operand)})", what)
        case ast.Constant():
            yield from _constants(node, source)
        case ast.Call():
            yield from _calls(node, source)
            yield from _elements(node, source)
        case ast.List() | ast.Set():
            yield from _elements(node, source)
        case _:
            yield from _statements(node, source)


def omissions_at(node: ast.AST, source: SourceText) -> Iterator[Rewrite]:
    """A branch, a condition, an operand or an element of one node left out."""
    match node:
        case ast.If() | ast.IfExp():
            # A branch that is never taken is left out, whatever comes after it.
            yield _in_place(source, node.test, "False", "branch left out")
            is_chain = isinstance(node.orelse, list) and [type(n) for n in node.orelse] == [ast.If]
            if node.orelse and not is_chain:
                yield _in_place(source, node.test, "True", "else left out")
        case ast.comprehension():
            for condition in node.ifs:
                yield _in_place(source, condition, "True", "condition left out")
        case ast.ExceptHandler(type=ast.expr() as caught):
            yield _in_place(source, caught, "()", "handler left out")
        case ast.BoolOp():
            yield from _operands(node, source)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _one_case(node, source)
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.GeneratorExp(elt=tested)]):
            yield _in_place(source, tested, "True", f"condition of {name} left out")
        case _:
            yield from _elements(node, source)


# A condition that holds in one case alone: with a flag that the function tests, or without it.
def _one_case(
    function: ast.FunctionDef | ast.AsyncFunctionDef, source: SourceText
) -> Iterator[Rewrite]:
    tests = [one.test for one in changeable_nodes(function) if isinstance(one, ast.If | ast.IfExp)]
    flags = dict.fromkeys(test.id for test in tests if isinstance(test, ast.Name))
    for test in tests:
        own = source.segment(test)
        for flag in flags:
            if flag != own:
                yield _in_place(source, test, f"({flag} and ({own}))", f"only if {flag}")
                yield _in_place(source, test, f"(not {flag} and ({own}))", f"only if not {flag}")


# The members of a list or a set; those of a tuple where it lists alternatives, since a tuple that
# is a result or is unpacked has a fixed length.
def _elements(node: ast.AST, source: SourceText) -> Iterator[Rewrite]:
    listings: list[ast.expr]
    match node:
        case ast.List(ctx=ast.Load()) | ast.Set():
            listings = [node]
        case ast.Compare():
            listings = [one for one in node.comparators if isinstance(one, ast.Tuple)]
        case ast.Call():
            listings = [one for one in node.args if isinstance(one, ast.Tuple)]
        case _:
            return
    if isinstance(node, ast.Call):
        yield from _unpacked(node, source)
    for listing in listings:
        assert isinstance(listing, ast.List | ast.Set | ast.Tuple)
        elements = [source.segment(element) for element in listing.elts]
        opening, closing = _BRACKETS[type(listing)]
        for at in range(len(elements) if len(elements) > 1 else 0):
            rest = [*elements[:at], *elements[at + 1 :]]
            comma = "," if isinstance(listing, ast.Tuple) and len(rest) == 1 else ""
            text = f"{opening}{', '.join(rest)}{comma}{closing}"
            yield _in_place(source, listing, text, f"{elements[at]} left out")


def _unpacked(call: ast.Call, source: SourceText) -> Iterator[Rewrite]:
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            text = source.segment(argument.value)
            yield _in_place(source, argument.value, "()", f"*{text} left out")
    for keyword in call.keywords:
        if keyword.arg is None:
            text = source.segment(keyword.value)
            yield _in_place(source, keyword.value, "{}", f"**{text} left out")


def _statements(node: ast.AST, source: SourceText) -> Iterator[Rewrite]:
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            yield from _conditions(node.test, source)
        case ast.comprehension():
            for condition in node.ifs:
                yield from _conditions(condition, source)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _in_place(source, value, "None", "returns None")
        case ast.ExceptHandler(type=ast.expr() as caught):
            yield _in_place(source, caught, "()", "handler that handles nothing")
        case ast.Break() | ast.Continue():
            new = "continue" if isinstance(node, ast.Break) else "break"
            yield _in_place(source, node, new, f"{source.segment(node)} to {new}")
        case ast.stmt() if _is_removable(node):
            yield _in_place(source, node, "pass", "statement left out")


def _is_removable(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Await | ast.Yield | ast.YieldFrom)
    if isinstance(node, ast.Assign):
        return any(isinstance(target, _STORED) for target in node.targets)
    bare_return = isinstance(node, ast.Return) and node.value is None
    return bare_return or isinstance(node, _OMITTED)


# The negation of a condition, if no other mutation gives it.
def _conditions(test: ast.expr, source: SourceText) -> Iterator[Rewrite]:
    if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.NamedExpr):
        yield _in_place(source, test, f"(not ({source.segment(test)}))", "condition negated")


def _connectives(node: ast.BoolOp, source: SourceText) -> Iterator[Rewrite]:
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield from _operators(source, (left, right), node.op)
    yield from _operands(node, source)


def _operands(node: ast.BoolOp, source: SourceText) -> Iterator[Rewrite]:
    word, neutral = ("and", "True") if isinstance(node.op, ast.And) else ("or", "False")
    for value in node.values:
        yield _in_place(source, value, neutral, f"operand of {word} left out")


def _arithmetic(node: ast.BinOp | ast.AugAssign, source: SourceText) -> Iterator[Rewrite]:
    if isinstance(node, ast.AugAssign):
        yield _in_place(source, node, "pass", "statement left out")
    left = node.left if isinstance(node, ast.BinOp) else node.target
    right = node.right if isinstance(node, ast.BinOp) else node.value
    if type(node.op) in _OPERATORS and not _is_text(left) and not _is_text(right):
        yield from _operators(source, (left, right), node.op)


# Whether a node is a text literal: texts cannot be subtracted.
def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _constants(node: ast.Constant, source: SourceText) -> Iterator[Rewrite]:
    value = node.value
    if isinstance(value, bool):
        yield _in_place(source, node, repr(not value), f"{value} to {not value}")
    elif isinstance(value, int | float):
        yield _in_place(source, node, repr(value + 1), f"{value} to {value + 1}")
    elif isinstance(value, str | bytes):
        new = type(value)() if value else "XX" if isinstance(value, str) else b"XX"
        yield _in_place(source, node, repr(new), "text emptied" if value else "text made up")


def _calls(node: ast.Call, source: SourceText) -> Iterator[Rewrite]:
    match node.func:
        case ast.Name(id=name) if name in _FUNCTIONS:
            new = _FUNCTIONS[name]
            yield _in_place(source, node.func, new, f"{name} to {new}")
        case ast.Attribute(attr=name) if name in _METHODS:
            end, new = source.span(node.func).end, _METHODS[name]
            span = SourceSpan(end - len(name), end)
            yield Rewrite(span=span, text=new, what=f"{name} to {new}")
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield _without(keyword, source)


# A call without one of its keyword arguments and the comma after it.
def _without(keyword: ast.keyword, source: SourceText) -> Rewrite:
    end = source.span(keyword.value).end
    start = source.text.rfind(f"{keyword.arg}", 0, source.span(keyword.value).start)
    comma = re.compile(r"[\s)]*?,[ \t]*").match(source.text, end)
    stop = comma.end() if comma is not None and ")" not in comma.group() else end
    return Rewrite(span=SourceSpan(start, stop), text="", what=f"argument {keyword.arg} left out")


# The replacements of an operator between operands, which may be in brackets.
def _operators(
    source: SourceText, operands: tuple[ast.expr, ast.expr], op: ast.AST
) -> Iterator[Rewrite]:
    old, others = _OPERATORS[type(op)]
    start, end = source.span(operands[0]).end, source.span(operands[1]).start
    gap = _COMMENT.sub(lambda found: " " * len(found.group()), source.text[start:end])
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    if found := re.search(pattern, gap):
        span = SourceSpan(start + found.start(), start + found.end())
        yield from (Rewrite(span=span, text=new, what=f"{old} to {new}") for new in others)


def _in_place(source: SourceText, node: ast.expr | ast.stmt, text: str, what: str) -> Rewrite:
    return Rewrite(span=source.span(node), text=text, what=what)


def undo_parts(before: str, after: str) -> Iterator[Rewrite]:
    """For each changed part of a file: the fixed file with that part undone.

    Imports are not parts: a missing import breaks everything, an extra one nothing.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in new:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        changed = [*old[first:last], *new[start:end]]
        if tag != "equal" and not all(map(_IMPORT.match, changed)):
            span = SourceSpan(starts[start], starts[end])
            yield Rewrite(span=span, text="".join(old[first:last]), what=_PART_UNDONE)
