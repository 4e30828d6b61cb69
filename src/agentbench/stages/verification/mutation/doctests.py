"""The expected output of examples in docstrings."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agentbench.stages.verification.mutation.changes import changed_text
from agentbench.stages.verification.mutation.expected import (
    ExpectedValue,
    Replacement,
)
from agentbench.stages.verification.mutation.source_text import SourceText, Span
from agentbench.stages.verification.mutation.value_kind import ValueKind

_NOT_PLAIN = ("...", "<BLANKLINE>", "Traceback")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One line of output, which cannot be disguised: it is text."""

    line: str

    def kept(self, rng: Random) -> str | None:  # noqa: ARG002 (it has no other form)
        """The line is left as it is."""
        return None

    def changed(self, rng: Random) -> Replacement | None:
        """A line that differs in a character."""
        new = changed_text(self.line, rng)
        return Replacement(text=new, shown=new) if "\\" not in new else None


def doctest_values(source: SourceText, name: str) -> list[ExpectedValue]:
    """The lines of output in the docstring that a doctest's name, `module.Class`, is about."""
    module = source.path.rpartition("/")[2].removesuffix(".py")
    parts = name.split(".")
    if module not in parts:
        return []
    owner = ".".join(parts[parts.index(module) + 1 :])
    found = [text for known, text in _docstrings(source.tree.body, "") if known == owner]
    return list(_outputs(source, found[-1])) if found else []


def _docstrings(body: Sequence[ast.stmt], name: str) -> Iterator[tuple[str, ast.Constant]]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str()) as text), *_]:
            yield name, text
        case _:
            pass
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _docstrings(node.body, f"{name}.{node.name}".lstrip("."))


def _outputs(source: SourceText, docstring: ast.Constant) -> Iterator[ExpectedValue]:
    from doctest import DocTestParser  # it loads the debugger

    text = str(docstring.value)
    try:
        examples = DocTestParser().get_examples(text)
    except ValueError:
        return  # its prompts are not in order; as a doctest it would fail
    lines = text.split("\n")
    for example in examples:
        if any(word in example.want for word in _NOT_PLAIN):
            continue
        first = example.lineno + example.source.count("\n")
        for at in range(first, first + example.want.count("\n")):
            value = _output(source, docstring, lines[at], at)
            if value is not None:
                yield value


def _output(
    source: SourceText, docstring: ast.Constant, line: str, at: int
) -> ExpectedValue | None:
    number = docstring.lineno + at
    start = source.line_start(number)
    written = source.text[start : start + len(line)]
    output = line.strip()
    if at == 0 or written != line or not output or "\\" in line:
        return None  # a text with escapes is not where it seems to be
    begin = start + line.index(output)
    return ExpectedValue(
        span=Span(begin, begin + len(output)),
        line=number,
        kind=ValueKind.DOCTEST,
        original=output,
        doubt=0,
        way=Output(line=output),
        site=at,
    )
