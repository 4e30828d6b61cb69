"""Variants of a reference solution that are right as far as an instruction goes.

Each changes what the fix itself adds and the instruction leaves open: names, words, types, orders.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from agentbench.audit.unstated import NAME
from agentbench.extensions.test_quality.fix_variants import (
    FUNCTIONS,
    GivenText,
    Variant,
    parsed_files,
    variant_of,
)
from agentbench.extensions.test_quality.mutants import FixedFile, ParsedFile
from agentbench.extensions.test_quality.mutation_rewrites import Rewrite
from agentbench.extensions.test_quality.other_texts import other_texts
from agentbench.python_source import python_syntax
from agentbench.python_source.source_text import SourceEdit, SourceSpan, SourceText
from agentbench.validation.fairness_results import VariantKind

# "In the order of the list" is no order that sorting makes.
_ORDERED = re.compile(
    r"(?i)\b(sort|alphabet|ascend|descend|order(?!\w* (of the (list|input)|in which|as given)))"
)
_ANY_ORDER = re.compile(r"(?i)\bany order\b")
_TYPES = frozenset({"list", "sorted", "tuple", "set"})
_TUPLE_FOR_LIST = "a tuple returned for a list"


def equal_variants(files: Sequence[FixedFile], given: GivenText) -> Iterator[Variant]:
    """The variants of a fix's Python files; a file that cannot be parsed has none."""
    parsed = list(parsed_files(files))
    yield from _other_names(parsed, given)
    for file in parsed:
        for kind, rewrite in _rewrites(file, given):
            yield variant_of(file, kind, rewrite)
        yield from _moved_functions(file)


def _rewrites(file: ParsedFile, given: GivenText) -> Iterator[tuple[VariantKind, Rewrite]]:
    """The rewrites of the fix's own lines."""
    before = list(ast.walk(_tree_of(file.before)))
    known = {ast.dump(node) for node in before}
    typed = {node.name for node in before if isinstance(node, FUNCTIONS) and _is_typed(node)}
    for parents in _paths_in(file.source.tree):
        node = parents[-1]
        if not isinstance(node, ast.expr | ast.stmt) or node.lineno not in file.touched.changed:
            continue
        if ast.dump(node) in known:
            continue  # the fix only moves it
        scopes = [one.name for one in parents if isinstance(one, FUNCTIONS)]
        for kind, text, what in _other_forms(parents, file.source, given):
            if kind is VariantKind.TYPE and (not scopes or scopes[-1] in typed):
                continue  # the function had a result of a certain type before
            span = file.source.span(node)
            yield kind, Rewrite(span=span, text=text, what=what)


def _moved_functions(file: ParsedFile) -> Iterator[Variant]:
    """A new function of the module in a module of its own, imported from there."""
    old = {node.name for node in _tree_of(file.before).body if isinstance(node, FUNCTIONS)}
    defined = _defined_names(file.source.tree)
    if not file.before or file.file.path.name == "__init__.py":
        return
    for node in file.source.tree.body:
        is_new = isinstance(node, ast.FunctionDef) and node.name not in old
        if not is_new or not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        needed = sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & defined)
        head = [node.args, *([node.returns] if node.returns else [])]
        signature = {n.id for part in head for n in ast.walk(part) if isinstance(n, ast.Name)}
        if signature & defined or any(isinstance(n, ast.Global) for n in ast.walk(node)):
            continue  # its defaults and annotations would need a circular import
        yield _moved(file, node, [name for name in needed if name != node.name])


def _moved(file: ParsedFile, node: ast.FunctionDef, needed: Sequence[str]) -> Variant:
    path = file.file.path
    name = f"{path.stem}_{node.name.strip('_')}"
    dot = "." if file.file.in_package else ""
    start = SourceSpan(file.source.span(node.body[0]).start, file.source.span(node).end)
    head = file.source.text[file.source.span(node).start : start.start]
    body = file.source.text[start.start : start.end]
    indent = " " * node.body[0].col_offset
    own = f"from {dot}{path.stem} import {', '.join(needed)}\n{indent}" if needed else ""
    what = f"{node.name} moved into a new module, and imported from it"
    text = f"from {dot}{name} import {node.name}"
    rewrite = Rewrite(span=file.source.span(node), text=text, what=what)
    one = variant_of(file, VariantKind.STRUCTURE, rewrite)
    return Variant(
        kind=one.kind,
        change=one.change,
        edits=one.edits,
        new_files={path.with_name(f"{name}.py"): f"{head}{own}{body}\n"},
    )


def _tree_of(text: str) -> ast.Module:
    try:
        return python_syntax.parse(text)
    except python_syntax.UNPARSABLE:
        return ast.Module(body=[], type_ignores=[])


def _is_text_alone(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defined_names(tree: ast.Module) -> frozenset[str]:
    """The names that the statements of a module define."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        else:
            stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            found |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    return frozenset(found)


def _other_names(files: Sequence[ParsedFile], given: GivenText) -> Iterator[Variant]:
    """Another name for each one that the fix introduces and a hidden test uses."""
    places: dict[str, list[tuple[ParsedFile, SourceSpan]]] = {}
    for file in files:
        for found in NAME.finditer(file.source.text):
            name = found.group()
            if name in given.new_names and not hasattr(builtins, name):
                places.setdefault(name, []).append((file, SourceSpan(found.start(), found.end())))
    for name, spans in places.items():
        start = re.search(r"[A-Za-z]", name)
        at = start.start() if start else 0
        other = f"{name[:at]}other_{name[at:]}".replace("other_", "other-" if at == 2 else "other_")
        edits: dict[PurePosixPath, tuple[SourceEdit, ...]] = {}
        for file, span in spans:
            edit = SourceEdit(span=span, text=other)
            edits[file.file.path] = (*edits.get(file.file.path, ()), edit)
        file, span = spans[0]
        what = f"{name} named {other}"
        first = variant_of(file, VariantKind.NAME, Rewrite(span=span, text=other, what=what))
        yield Variant(kind=first.kind, change=first.change, edits=edits)


def _paths_in(tree: ast.AST) -> Iterator[tuple[ast.AST, ...]]:
    """Each node with its ancestors before it; parts of formatted texts and docstrings excepted."""
    stack: list[tuple[ast.AST, ...]] = [(tree,)]
    while stack:
        path = stack.pop()
        yield path
        if isinstance(path[-1], ast.JoinedStr) or _is_text_alone(path[-1]):
            continue
        stack += [(*path, child) for child in ast.iter_child_nodes(path[-1])]


def _other_forms(
    path: Sequence[ast.AST], source: SourceText, given: GivenText
) -> Iterator[tuple[VariantKind, str, str]]:
    """The kind, the text and the description of each other form of the last node of a path."""
    node = path[-1]
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield from other_texts(path, given)
        case ast.Raise(exc=ast.expr() as raised):
            yield from _other_exceptions(node, raised, source, given)
        case ast.Return(value=ast.expr() as value):
            if (other := _other_type(value, source)) is not None:
                yield VariantKind.TYPE, f"return {other[0]}", other[1]
                if _is_iterated(path, given):
                    yield VariantKind.TYPE, f"return iter({other[0]})", "an iterator returned"
            elif _is_called_alone(path, given):
                new = "return (lambda one: tuple(one) if type(one) is list else one)({})"
                yield VariantKind.TYPE, new.format(source.segment(value)), _TUPLE_FOR_LIST
        case ast.Call(func=ast.Name(id="sorted"), args=[items], keywords=[]):
            # It may be sorted only to be the same in each run.
            if _ANY_ORDER.search(given.instruction) or not _ORDERED.search(given.instruction):
                yield VariantKind.ORDER, f"list({source.segment(items)})", "not sorted"
        case ast.Dict(keys=[_, _, *_]) if all(node.keys):
            pairs = [
                f"{source.segment(key)}: {source.segment(value)}"
                for key, value in zip(node.keys, node.values, strict=True)
                if key is not None
            ]
            yield VariantKind.ORDER, f"{{{', '.join(reversed(pairs))}}}", "items in another order"
        case ast.Call(keywords=[_, _, *_]) if all(word.arg for word in node.keywords):
            positional = [source.segment(argument) for argument in node.args]
            named = [f"{word.arg}={source.segment(word.value)}" for word in node.keywords]
            arguments = ", ".join([*positional, *reversed(named)])
            text = f"{source.segment(node.func)}({arguments})"
            yield VariantKind.ORDER, text, "keyword arguments in another order"
        case ast.Call(keywords=[_]) if (moved := _by_position(node, path[0], source)) is not None:
            yield VariantKind.ORDER, moved, "a keyword argument given by position"


def _is_called_alone(path: Sequence[ast.AST], given: GivenText) -> bool:
    """Whether hidden tests call the function, and it does not use its own result."""
    functions = [node for node in path if isinstance(node, FUNCTIONS)]
    if not functions or functions[-1].name not in given.called:
        return False
    name = functions[-1].name
    return all(python_syntax.name_of(node) != name for node in ast.walk(path[0]))


def _is_iterated(path: Sequence[ast.AST], given: GivenText) -> bool:
    """Whether the instruction goes through what the function returns, in a loop."""
    names = [node.name for node in path if isinstance(node, FUNCTIONS)]
    loop = rf"\bfor\b[^\n]*\bin\b[^\n]*\b{re.escape(names[-1])}\(" if names else "$."
    return re.search(loop, given.instruction) is not None


def _by_position(call: ast.Call, tree: ast.AST, source: SourceText) -> str | None:
    """A call whose first keyword argument is given by position; None: it is no next parameter."""
    name = python_syntax.name_of(call.func)
    keyword = call.keywords[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            parameters = [one.arg for one in node.args.args]
            is_method = parameters[:1] == ["self"] and isinstance(call.func, ast.Attribute)
            following = parameters[len(call.args) + is_method :]
            if following[:1] == [keyword.arg]:
                arguments = [source.segment(one) for one in (*call.args, keyword.value)]
                rest = [f"{one.arg}={source.segment(one.value)}" for one in call.keywords[1:]]
                return f"{source.segment(call.func)}({', '.join([*arguments, *rest])})"
    return None


def _other_exceptions(
    node: ast.Raise, raised: ast.expr, source: SourceText, given: GivenText
) -> Iterator[tuple[VariantKind, str, str]]:
    call = raised if isinstance(raised, ast.Call) else None
    kind = call.func if call is not None else raised
    if not isinstance(kind, ast.Name) or not kind.id[:1].isupper():
        return
    name = kind.id
    cause = f" from {source.segment(node.cause)}" if node.cause is not None else ""
    rest = source.segment(call)[len(source.segment(kind)) :] if call is not None else "()"
    what = f"an own kind of {name} raised"
    own = f'type("Own{name}", ({name},), {{}})'
    yield VariantKind.EXCEPTION, f"raise {own}{rest}{cause}", what
    if given.has_word(name) or (call is not None and call.keywords):
        return
    known = getattr(builtins, name, None)
    if isinstance(known, type) and known.__mro__[1] is not BaseException:
        parent = known.__mro__[1].__name__
        if parent != "object":
            yield VariantKind.EXCEPTION, f"raise {parent}{rest}{cause}", f"{name} to {parent}"


def _is_typed(function: ast.AST) -> bool:
    """Whether a function returns a list, a tuple or a set that stands there."""
    displays = (ast.List, ast.ListComp, ast.Tuple, ast.Set, ast.SetComp)
    return any(
        isinstance(node, ast.Return)
        and (
            isinstance(node.value, displays)
            or python_syntax.name_of(getattr(node.value, "func", node)) in _TYPES
        )
        for node in ast.walk(function)
    )


def _other_type(value: ast.expr, source: SourceText) -> tuple[str, str] | None:
    text = source.segment(value)
    match value:
        case ast.List() | ast.ListComp():
            return f"tuple({text})", _TUPLE_FOR_LIST
        case ast.Call(func=ast.Name(id="list" | "sorted")):
            return f"tuple({text})", _TUPLE_FOR_LIST
        case ast.Tuple() | ast.Call(func=ast.Name(id="tuple")):
            return f"list(({text}))", "a list returned for a tuple"
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set")):
            return f"frozenset({text})", "a frozenset returned for a set"
        case _:
            return None
