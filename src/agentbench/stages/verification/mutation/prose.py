"""Tests without what they tell a reader, as people write down there what is to be found."""

import ast
from collections.abc import Iterator

from agentbench.stages.verification.mutation.edits import apply_edits, replaced
from agentbench.stages.verification.mutation.functions import functions_of
from agentbench.stages.verification.mutation.names import FunctionNode
from agentbench.stages.verification.mutation.source_text import SourceText

_READS_DOCSTRINGS = ("__doc__", "getdoc")
_READS_MESSAGES = ("AssertionError",)
_EXAMPLE = ">>>"  # of a doctest, which is code


def without_prose(source: SourceText) -> str:
    """The text with empty docstrings and messages in its tests, unless the file reads such itself.

    Every line stays where it is.
    """
    functions = functions_of(source.tree).functions.values()
    tests = [found.node for found in functions if found.looks_like_a_test]
    told: list[ast.expr] = []
    if not any(word in source.text for word in _READS_DOCSTRINGS):
        told += [text for test in tests for text in _docstring(test)]
    if not any(word in source.text for word in _READS_MESSAGES):
        told += [message for test in tests for message in _messages(test)]
    return apply_edits(source.text, [replaced(source, source.span(it), '("")') for it in told])


def _docstring(test: FunctionNode) -> Iterator[ast.expr]:
    match test.body[0]:
        case ast.Expr(value=ast.Constant(value=str() as text) as node) if _EXAMPLE not in text:
            yield node
        case _:
            pass


def _messages(test: FunctionNode) -> Iterator[ast.expr]:
    for node in ast.walk(test):
        if isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
