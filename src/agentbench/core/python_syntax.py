"""Parses and compiles Python source in one thread at a time.

CPython counts in one place for all threads how deep it is in the trees that it makes or reads. A
garbage collection in the middle of that can let another thread continue; if that one makes a tree,
too, one of them ends in SystemError (seen with 3.11.7; python/cpython#106905 is similar).
"""

import ast
import warnings
from threading import Lock
from types import CodeType

_LOCK = Lock()


def parse(source: str | bytes, path: str = "<unknown>") -> ast.Module:
    """The tree of a source; what Python would warn about is the source's own affair.

    Raises:
        SyntaxError: It is no Python that this interpreter can parse.
        ValueError: It has a null byte, or cannot be decoded.
        RecursionError: It is nested too deep.
        MemoryError: It is nested too deep for the parser.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source, filename=path)


def check(tree: ast.Module, path: str = "<unknown>") -> None:
    """Compile a tree, for faults that parsing does not find: `break` outside of a loop.

    Raises:
        SyntaxError: This interpreter cannot compile it.
        RecursionError: It is nested too deep.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(tree, path, "exec", dont_inherit=True)


def code_of(source: str | ast.Module) -> CodeType:
    """What a source, or its tree, compiles to.

    Raises:
        SyntaxError: It is no Python that this interpreter can compile.
        ValueError: It has a null byte, or cannot be encoded.
        RecursionError: It is nested too deep.
        MemoryError: It is nested too deep for the parser.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, "<unknown>", "exec", dont_inherit=True)


def literal(text: str) -> object:
    """The value of a text that is a literal.

    Raises:
        SyntaxError: It is no expression.
        ValueError: It is more than literals.
        TypeError: It is a literal that cannot be made, such as a set of lists.
        RecursionError: It is nested too deep.
        MemoryError: It is nested too deep for the parser.
    """
    with _LOCK:
        return ast.literal_eval(text)
