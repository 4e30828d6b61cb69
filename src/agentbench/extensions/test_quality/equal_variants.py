"""Variants of a reference solution that are right as far as an instruction goes.

Each changes what the fix itself adds and the instruction leaves open: names, words, types, orders.
"""

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from agentbench.audit.unstated import NAME, is_message, plain
from agentbench.errors import InputError
from agentbench.extensions.test_quality.mutants import (
    FixedFile,
    change_of,
    comparable_code,
    touched_lines,
)
from agentbench.extensions.test_quality.mutation_rewrites import (
    Rewrite,
    changeable_nodes,
    omissions_at,
    undo_parts,
)
from agentbench.python_source import python_syntax
from agentbench.python_source.source_text import (
    SourceEdit,
    SourceSpan,
    SourceText,
    apply_edits,
    parse_source,
)
from agentbench.validation.fairness_results import VariantKind
from agentbench.validation.mutation_results import MutantChange

# `%s`, `%(name)d`, `{}` and `{name!r}` stand for values and are kept; words are `\w+`.
_TOKENS = re.compile(r"%(?:\(\w+\))?[-+ #0]*[\d.]*[a-zA-Z]|\{[^{}]*\}|\w+|\s+|.", re.DOTALL)
_WIDTH = re.compile(r"[<>^]?\d+")
_SPACES = re.compile(r"(?<! ) (?! )")
_REPORTING = frozenset({"warn", "warning", "error", "info", "debug", "critical", "exception"}) | {
    *("log", "print", "echo", "fail", "exit", "skip")
}
_MESSAGE_NAMES = re.compile(r"(?i)(^|_)(msg|message|error|reason|help|warning|description)s?$")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLURAL = re.compile(r"([^s])s$")
_LEAST_WORD = 4  # characters
_ORDINARY_WORD = re.compile(
    "also|assert(ion)?|error|false|from|have|into|more|must|names?|none|only|should|test|than|that"
    "|then|this|true|values?|when|where|which|will|with|without"
)
# "In the order of the list" is no order that sorting makes.
_ORDERED = re.compile(
    r"(?i)\b(sort|alphabet|ascend|descend|order(?!\w* (of the (list|input)|in which|as given)))"
)
_ANY_ORDER = re.compile(r"(?i)\bany order\b")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TYPES = frozenset({"list", "sorted", "tuple", "set"})
_NEW_WORD = "problem:"
_TUPLE_FOR_LIST = "a tuple returned for a list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A change to the fixed files: edits of them, and new files."""

    kind: VariantKind
    change: MutantChange
    edits: Mapping[PurePosixPath, tuple[SourceEdit, ...]]
    new_files: Mapping[PurePosixPath, str] = field(default_factory=dict)
    subject: frozenset[str] = frozenset()  # of a part: the words of its names
    is_detail: bool = False  # of a part: whether it is less than a changed place


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenText:
    """What the author of another fix can read, and what not."""

    instruction: str
    new_names: frozenset[str]  # that hidden tests need, the fix introduces and nothing gives
    called: frozenset[str] = frozenset()  # new functions that hidden tests call
    shows_output: bool = False  # whether the instruction has a text of several words of a test

    def says(self, message: str) -> bool:
        """Whether the instruction gives a message."""
        return plain(message) in plain(self.instruction)

    def has_word(self, word: str) -> bool:
        return re.search(rf"(?i)\b{re.escape(word)}\b", self.instruction) is not None


def equal_variants(files: Sequence[FixedFile], given: GivenText) -> Iterator[Variant]:
    """The variants of a fix's Python files; a file that cannot be parsed has none."""
    parsed = list(_parsed(files))
    yield from _other_names(parsed, given)
    for file in parsed:
        for kind, rewrite in file.rewrites(given):
            yield file.variant(kind, rewrite)
        yield from file.moved_functions()


def partial_variants(files: Sequence[FixedFile]) -> Iterator[Variant]:
    """The fix without one of its parts, if it has several."""
    parsed = list(_parsed(files))
    parts = [
        (file, rewrite, is_detail)
        for is_detail in (False, True)
        for file in parsed
        if file.file.before
        for rewrite in (file.details() if is_detail else file.places())
        if not file.is_comment(rewrite)
    ]
    if len(parts) > 1:
        subjects = [words_of(*file.scopes_at(rewrite.span)) for file, rewrite, _ in parts]
        for at, (file, rewrite, is_detail) in enumerate(parts):
            # `is_upper` and `is_upper_hessenberg`: what tells a part from the others is its own.
            others = (
                words
                for words, (other_file, other, _) in zip(subjects, parts, strict=True)
                if other_file is not file or not other.span.overlaps(rewrite.span)
            )
            variant = file.variant(VariantKind.PART, rewrite)
            subject = subjects[at].difference(*others)
            yield replace(variant, subject=subject, is_detail=is_detail)


def words_of(*names: str) -> frozenset[str]:
    """The words that names consist of, in lower case and without a plural's s."""
    found = (word.lower() for name in names for word in _WORDS.findall(name))
    long = (word for word in found if len(word) >= _LEAST_WORD)
    return frozenset(
        _PLURAL.sub(r"\1", word) for word in long if not _ORDINARY_WORD.fullmatch(word)
    )


def apply_variants(
    files: Iterable[FixedFile], variants: Iterable[Variant]
) -> dict[PurePosixPath, bytes]:
    """The contents of the files that some variants change together."""
    edits: dict[PurePosixPath, list[SourceEdit]] = {}
    contents: dict[PurePosixPath, bytes] = {}
    for variant in variants:
        for path, own in variant.edits.items():
            edits.setdefault(path, []).extend(own)
        contents |= {path: text.encode() for path, text in variant.new_files.items()}
    for file in files:
        if file.path in edits:
            text = parse_source(file.after.decode(), file.path.as_posix()).text
            contents[file.path] = apply_edits(text, edits[file.path]).encode()
    return contents


def groups_of(variants: Sequence[Variant]) -> list[list[Variant]]:
    """The variants in groups that can be applied together: no edit lies in another."""
    groups: list[list[Variant]] = []
    for variant in variants:
        for group in groups:
            if not any(_overlap(variant, other) for other in group):
                group.append(variant)
                break
        else:
            groups.append([variant])
    return groups


def _overlap(one: Variant, other: Variant) -> bool:
    return any(
        mine.span.overlaps(theirs.span)
        for path, edits in one.edits.items()
        for mine in edits
        for theirs in other.edits.get(path, ())
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ParsedFile:
    file: FixedFile
    before: str
    source: SourceText
    lines: frozenset[int]  # that the fix adds or replaces

    def variant(self, kind: VariantKind, rewrite: Rewrite) -> Variant:
        text = self.source.text
        changed = f"{text[: rewrite.span.start]}{rewrite.text}{text[rewrite.span.end :]}"
        edit = SourceEdit(span=rewrite.span, text=rewrite.text)
        return Variant(
            kind=kind,
            change=change_of(self.source, rewrite, changed),
            edits={self.file.path: (edit,)},
        )

    def is_comment(self, rewrite: Rewrite) -> bool:
        """Whether a rewrite leaves the program as it is, except for comments and docstrings."""
        text = self.source.text
        changed = f"{text[: rewrite.span.start]}{rewrite.text}{text[rewrite.span.end :]}"
        try:
            return comparable_code(changed) == comparable_code(text)
        except python_syntax.UNPARSABLE:
            return True  # not a program

    def places(self) -> Iterator[Rewrite]:
        """The fix without one of its changed places or new functions."""
        yield from undo_parts(self.before, self.source.text)
        for node in changeable_nodes(self.source.tree):
            if isinstance(node, _FUNCTIONS) and self._is_new(node):
                what = f"{node.name} left out"
                yield Rewrite(span=self.source.span(node), text="pass", what=what)

    def details(self) -> Iterator[Rewrite]:
        """The fix without a branch, an element, a call on a result, or one of several lines."""
        for node in changeable_nodes(self.source.tree):
            rewrites = [*omissions_at(node, self.source), *_without_calls(node, self.source)]
            for rewrite in rewrites:
                if self.source.line_of(rewrite.span.start) in self.lines:
                    yield rewrite
        yield from _undone_lines(self.before, self.source)

    def _is_new(self, node: ast.stmt) -> bool:
        return self.lines.issuperset(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def rewrites(self, given: GivenText) -> Iterator[tuple[VariantKind, Rewrite]]:
        """The rewrites of the fix's own lines."""
        before = list(ast.walk(_tree_of(self.before)))
        known = {ast.dump(node) for node in before}
        typed = {node.name for node in before if isinstance(node, _FUNCTIONS) and _is_typed(node)}
        for parents in _paths_in(self.source.tree):
            node = parents[-1]
            if not isinstance(node, ast.expr | ast.stmt) or node.lineno not in self.lines:
                continue
            if ast.dump(node) in known:
                continue  # the fix only moves it
            scopes = [one.name for one in parents if isinstance(one, _FUNCTIONS)]
            for kind, text, what in _other_forms(parents, self.source, given):
                if kind is VariantKind.TYPE and (not scopes or scopes[-1] in typed):
                    continue  # the function had a result of a certain type before
                span = self.source.span(node)
                yield kind, Rewrite(span=span, text=text, what=what)

    def scopes_at(self, span: SourceSpan) -> list[str]:
        """The names of the functions and classes around a range."""
        first, last = (
            self.source.line_of(at) for at in (span.start, max(span.start, span.end - 1))
        )
        return [
            node.name
            for node in ast.walk(self.source.tree)
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef))
            and node.lineno <= last
            and first <= (node.end_lineno or node.lineno)
        ]

    def moved_functions(self) -> Iterator[Variant]:
        """A new function of the module in a module of its own, imported from there."""
        old = {node.name for node in _tree_of(self.before).body if isinstance(node, _FUNCTIONS)}
        defined = _defined_names(self.source.tree)
        if not self.before or self.file.path.name == "__init__.py":
            return
        for node in self.source.tree.body:
            is_new = isinstance(node, ast.FunctionDef) and node.name not in old
            if not is_new or not isinstance(node, ast.FunctionDef) or node.decorator_list:
                continue
            needed = sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & defined)
            head = [node.args, *([node.returns] if node.returns else [])]
            signature = {n.id for part in head for n in ast.walk(part) if isinstance(n, ast.Name)}
            if signature & defined or any(isinstance(n, ast.Global) for n in ast.walk(node)):
                continue  # its defaults and annotations would need a circular import
            yield self._moved(node, [name for name in needed if name != node.name])

    def _moved(self, node: ast.FunctionDef, needed: Sequence[str]) -> Variant:
        path = self.file.path
        name = f"{path.stem}_{node.name.strip('_')}"
        is_package = self.in_package
        dot = "." if is_package else ""
        start = SourceSpan(self.source.span(node.body[0]).start, self.source.span(node).end)
        head = self.source.text[self.source.span(node).start : start.start]
        body = self.source.text[start.start : start.end]
        indent = " " * node.body[0].col_offset
        own = f"from {dot}{path.stem} import {', '.join(needed)}\n{indent}" if needed else ""
        what = f"{node.name} moved into a new module, and imported from it"
        text = f"from {dot}{name} import {node.name}"
        rewrite = Rewrite(span=self.source.span(node), text=text, what=what)
        one = self.variant(VariantKind.STRUCTURE, rewrite)
        return Variant(
            kind=one.kind,
            change=one.change,
            edits=one.edits,
            new_files={path.with_name(f"{name}.py"): f"{head}{own}{body}\n"},
        )

    @property
    def in_package(self) -> bool:
        return self.file.in_package


def _parsed(files: Iterable[FixedFile]) -> Iterator[_ParsedFile]:
    for file in files:
        try:
            source = parse_source(file.after.decode(), file.path.as_posix())
        except (InputError, UnicodeDecodeError):
            continue
        before = file.before.decode("utf-8", "replace")
        lines = touched_lines(before, source.text).changed
        yield _ParsedFile(file=file, before=before, source=source, lines=lines)


def _without_calls(node: ast.AST, source: SourceText) -> Iterator[Rewrite]:
    """`x.strip()` without the call, where x is more than a name."""
    inner = node
    if isinstance(inner, ast.Subscript):
        inner = inner.value  # `x.partition("+")[0]`
    match inner:
        case ast.Call(func=ast.Attribute(value=ast.expr() as value, attr=name)):
            assert isinstance(node, ast.expr)
            if isinstance(value, ast.Constant):
                return  # `", ".join(x)` is a call on x
            if name == "get" and len(inner.args) > 1 and inner is node:
                text = f"{source.segment(value)}[{source.segment(inner.args[0])}]"
                yield Rewrite(span=source.span(node), text=text, what="the default left out")
                return
            what = f"the call of {name} left out"
            yield Rewrite(span=source.span(node), text=source.segment(value), what=what)
        case _:
            pass


def _undone_lines(before: str, source: SourceText) -> Iterator[Rewrite]:
    """Where a fix replaces lines by as many others: each of them undone alone."""
    old, new = before.splitlines(), source.text.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "replace" and last - first == end - start > 1:
            for offset in range(last - first):
                at = source.line_start(start + offset + 1)
                span = SourceSpan(at, at + len(new[start + offset]))
                yield Rewrite(span=span, text=old[first + offset], what="a line of the fix undone")


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
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        else:
            stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            found |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    return frozenset(found)


def _other_names(files: Sequence[_ParsedFile], given: GivenText) -> Iterator[Variant]:
    """Another name for each one that the fix introduces and a hidden test uses."""
    places: dict[str, list[tuple[_ParsedFile, SourceSpan]]] = {}
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
        first = file.variant(VariantKind.NAME, Rewrite(span=span, text=other, what=what))
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
            yield from _other_texts(path, given)
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
    functions = [node for node in path if isinstance(node, _FUNCTIONS)]
    if not functions or functions[-1].name not in given.called:
        return False
    name = functions[-1].name
    return all(python_syntax.name_of(node) != name for node in ast.walk(path[0]))


def _is_iterated(path: Sequence[ast.AST], given: GivenText) -> bool:
    """Whether the instruction goes through what the function returns, in a loop."""
    names = [node.name for node in path if isinstance(node, _FUNCTIONS)]
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


def _other_texts(
    path: Sequence[ast.AST], given: GivenText
) -> Iterator[tuple[VariantKind, str, str]]:
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
