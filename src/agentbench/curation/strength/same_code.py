"""Whether two sources compile to the same, so that no test could tell them apart."""

import ast
from types import CodeType

from agentbench import syntax

_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def comparable_code(source: str) -> CodeType:
    """What a source compiles to, without its docstrings.

    Raises:
        SyntaxError: It is no Python that this interpreter can compile.
        ValueError: It has a null byte, or cannot be encoded.
        RecursionError: It is nested too deep.
        MemoryError: It is nested too deep for the parser.
    """
    tree = syntax.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body[:1] = [] if node.body[1:] else [ast.copy_location(ast.Pass(), node.body[0])]
    return syntax.code_of(tree)


def is_same(left: CodeType, right: CodeType) -> bool:
    """Whether two pieces of byte-code do the same; on which lines they stand does not matter."""
    return _shape(left) == _shape(right) and _are_same(left.co_consts, right.co_consts)


def _shape(code: CodeType) -> tuple[object, ...]:
    return (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        getattr(code, "co_exceptiontable", b""),
    )


def _are_same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    return len(left) == len(right) and all(map(_is_same_constant, left, right))


def _is_same_constant(left: object, right: object) -> bool:
    if isinstance(left, CodeType) and isinstance(right, CodeType):
        return is_same(left, right)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _are_same(left, right)
    return type(left) is type(right) and repr(left) == repr(right)  # 0.0 is not -0.0
