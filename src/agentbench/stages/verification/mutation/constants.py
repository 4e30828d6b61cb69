"""All constants of a file that may be written otherwise, tested or not."""

import ast
from collections.abc import Iterator
from random import Random

from agentbench.stages.verification.mutation.disguise import disguise
from agentbench.stages.verification.mutation.edits import Edit, replaced
from agentbench.stages.verification.mutation.source_text import SourceText
from agentbench.stages.verification.mutation.values import is_scalar

# Newer than Python 3.11: t-strings, `type X = ...` and the parameters of generic functions.
_NEWER = tuple(
    getattr(ast, name) for name in ("TemplateStr", "TypeAlias", "type_param") if hasattr(ast, name)
)
_LEFT_ALONE: tuple[type[ast.AST], ...] = (ast.JoinedStr, ast.pattern, ast.Import, *_NEWER)
_ANNOTATIONS = frozenset({"annotation", "returns", "type_params"})


def disguised_constants(source: SourceText, rng: Random) -> list[Edit]:
    """Edits that write every constant as an expression, where only its value counts."""
    edits: list[Edit] = []
    for node in _constants(source.tree):
        text = disguise(node.value, rng) if is_scalar(node.value) else None
        if text is not None:
            edits.append(replaced(source, source.span(node), text))
    return edits


def _constants(root: ast.AST) -> Iterator[ast.Constant]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            yield node
        else:
            waiting += _parts(node)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, _LEFT_ALONE) or _is_bare_text(node):
        return
    alone = _compared_by_identity(node)
    for name, part in ast.iter_fields(node):
        if name in _ANNOTATIONS:
            continue
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST) and child not in alone:
                yield child


def _is_bare_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _compared_by_identity(node: ast.AST) -> list[ast.AST]:
    """Numbers and texts of which `is` asks whether they are one object."""
    if not isinstance(node, ast.Compare):
        return []
    if not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        return []
    sides = [node.left, *node.comparators]
    return [
        side
        for side in sides
        if isinstance(side, ast.Constant) and not isinstance(side.value, bool | None)
    ]
