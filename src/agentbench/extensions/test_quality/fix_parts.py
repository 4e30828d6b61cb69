"""A fix without one of its parts: a changed place, a function, a branch, a call or a line."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from agentbench.extensions.test_quality.fix_variants import (
    FUNCTIONS,
    Variant,
    parsed_files,
    variant_of,
)
from agentbench.extensions.test_quality.mutants import FixedFile, ParsedFile, comparable_code
from agentbench.extensions.test_quality.mutation_rewrites import (
    Rewrite,
    changeable_nodes,
    omissions_at,
    undo_parts,
)
from agentbench.python_source import python_syntax
from agentbench.python_source.source_text import SourceSpan, SourceText
from agentbench.validation.fairness_results import VariantKind

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLURAL = re.compile(r"([^s])s$")
_LEAST_WORD = 4  # characters
_ORDINARY_WORD = re.compile(
    "also|assert(ion)?|error|false|from|have|into|more|must|names?|none|only|should|test|than|that"
    "|then|this|true|values?|when|where|which|will|with|without"
)


def partial_variants(files: Sequence[FixedFile]) -> Iterator[Variant]:
    """The fix without one of its parts, if it has several."""
    parsed = list(parsed_files(files))
    parts = [
        (file, rewrite, is_detail)
        for is_detail in (False, True)
        for file in parsed
        if file.file.before
        for rewrite in (_details(file) if is_detail else _places(file))
        if not _is_comment(file, rewrite)
    ]
    subjects = [words_of(*_scopes_at(file, rewrite.span)) for file, rewrite, _ in parts]
    made: list[Variant] = []
    for at, (file, rewrite, is_detail) in enumerate(parts):
        # `is_upper` and `is_upper_hessenberg`: what tells a part from the others is its own.
        others = (
            words
            for words, (other_file, other, _) in zip(subjects, parts, strict=True)
            if other_file is not file or not other.span.overlaps(rewrite.span)
        )
        subject = subjects[at].difference(*others)
        variant = variant_of(file, VariantKind.PART, rewrite)
        made.append(replace(variant, subject=subject, is_detail=is_detail))
    merged = list(_merged(made))
    if len(merged) > 1:
        yield from merged


def words_of(*names: str) -> frozenset[str]:
    """The words that names consist of, in lower case and without a plural's s."""
    found = (word.lower() for name in names for word in _WORDS.findall(name))
    long = (word for word in found if len(word) >= _LEAST_WORD)
    return frozenset(
        _PLURAL.sub(r"\1", word) for word in long if not _ORDINARY_WORD.fullmatch(word)
    )


def _merged(parts: Iterable[Variant]) -> Iterator[Variant]:
    """Parts that change the same lines in the same way, as one: who does one does the other."""
    same: dict[tuple[str, str], list[Variant]] = {}
    for part in parts:
        same.setdefault((part.change.removed, part.change.added), []).append(part)
    for first, *others in same.values():
        edits = dict(first.edits)
        for other in others:
            for path, own in other.edits.items():
                edits[path] = (*edits.get(path, ()), *own)
        what = f"{first.change.what}, in {len(others) + 1} places" if others else first.change.what
        subject = first.subject.union(*(other.subject for other in others))
        yield replace(first, change=first.change.replace(what=what), edits=edits, subject=subject)


def _places(file: ParsedFile) -> Iterator[Rewrite]:
    """The fix without one of its changed places or new functions."""
    yield from undo_parts(file.before, file.source.text)
    for node in changeable_nodes(file.source.tree):
        if isinstance(node, FUNCTIONS) and _is_new(node, file.touched.changed):
            what = f"{node.name} left out"
            yield Rewrite(span=file.source.span(node), text="pass", what=what)


def _details(file: ParsedFile) -> Iterator[Rewrite]:
    """The fix without a branch, an element, a call on a result, or one of several lines."""
    for node in changeable_nodes(file.source.tree):
        rewrites = [*omissions_at(node, file.source), *_without_calls(node, file.source)]
        for rewrite in rewrites:
            if file.source.line_of(rewrite.span.start) in file.touched.changed:
                yield rewrite
    yield from _undone_lines(file.before, file.source)


def _is_new(node: ast.stmt, lines: frozenset[int]) -> bool:
    return lines.issuperset(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _scopes_at(file: ParsedFile, span: SourceSpan) -> list[str]:
    """The names of the functions and classes around a range."""
    first, last = (file.source.line_of(at) for at in (span.start, max(span.start, span.end - 1)))
    return [
        node.name
        for node in ast.walk(file.source.tree)
        if isinstance(node, (*FUNCTIONS, ast.ClassDef))
        and node.lineno <= last
        and first <= (node.end_lineno or node.lineno)
    ]


def _is_comment(file: ParsedFile, rewrite: Rewrite) -> bool:
    """Whether a rewrite leaves the program as it is, except for comments and docstrings."""
    try:
        return comparable_code(file.with_rewrite(rewrite)) == comparable_code(file.source.text)
    except python_syntax.UNPARSABLE:
        return True  # not a program


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
