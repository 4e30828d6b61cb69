"""A failure at the end of a test that has no value to change, and its like that never fails."""

import ast
from random import Random

from agentbench.stages.verification.mutation.changes import changed
from agentbench.stages.verification.mutation.disguise import write
from agentbench.stages.verification.mutation.edits import Edit
from agentbench.stages.verification.mutation.names import FunctionNode, own_nodes
from agentbench.stages.verification.mutation.source_text import SourceText, Span

_COMPOUND = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.Match, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


def can_end_with_assertion(function: FunctionNode) -> bool:
    """Whether an assertion at its end is run: a generator's is not, as nobody asks for it."""
    return not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function.body))


def final_assertion(
    source: SourceText, function: FunctionNode, rng: Random, *, fails: bool
) -> list[Edit]:
    """An assertion wherever a test ends, before each `return` and after its last statement."""
    edits: list[Edit] = []
    for node in own_nodes(function.body):
        if isinstance(node, ast.Return):
            at = source.span(node).start
            edits.append(Edit(span=Span(at, at), text=f"{_assertion(rng, fails=fails)}; "))
    last = function.body[-1]
    if isinstance(last, ast.Return):
        return edits
    at = source.span(last).end
    text = f"; {_assertion(rng, fails=fails)}"
    if isinstance(last, _COMPOUND):
        text = source.line_end(last.lineno) + _indentation(source, function) + text[2:]
    return [*edits, Edit(span=Span(at, at), text=text)]


def _assertion(rng: Random, *, fails: bool) -> str:
    value = rng.choice((rng.randrange(40), "".join(rng.sample("aeilnorst", 5))))
    other = changed(value, rng) if fails else value
    return f"assert {write(value, rng)} == {write(other, rng)}"


def _indentation(source: SourceText, function: FunctionNode) -> str:
    first = source.span(function.body[0]).start
    before = source.text[:first]
    return before[len(before.rstrip(" \t\f")) :]
