import ast
import gc
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentbench.python_source import python_syntax

SOURCE = "".join(f"def f{n}(a):\n    return [a + {n}, {{'b': (a, -{n})}}]\n" for n in range(300))


class Garbage:
    """Its end lets another thread go on, in the midst of whatever it was collected in."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def frequent_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(200)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("frequent_collections")
def test_threads_do_not_disturb_each_other() -> None:
    """Without the lock this ends in SystemError, seen with 3.11.7."""

    def work(_round: int) -> int:
        Garbage()
        tree = python_syntax.parse(SOURCE, "t.py")
        python_syntax.check(tree, "t.py")
        return len(tree.body)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(40))) == {300}


def test_every_parse_holds_the_lock() -> None:
    from importlib.resources import files
    from pathlib import Path

    root = Path(str(files("agentbench")))
    calls = {"parse", "literal_eval", "compile"}
    found = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "mounted" not in path.parts  # programs of their own, with one thread, in sandboxes
        for node in ast.walk(python_syntax.parse(path.read_bytes()))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "compile")
            or (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in calls
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "ast"
            )
        )
    ]
    assert set(found) == {"python_source/python_syntax.py"}


@pytest.mark.parametrize("source", ["def f(:", b"x = '\xff'", "  x"])
def test_invalid_source_is_a_syntax_error(source: str | bytes) -> None:
    with pytest.raises(SyntaxError):
        python_syntax.parse(source)


def test_a_null_byte_is_a_value_error_or_a_syntax_error() -> None:
    with pytest.raises((ValueError, SyntaxError)):
        python_syntax.parse("x = \0")


def test_checking_finds_what_parsing_does_not() -> None:
    with pytest.raises(SyntaxError, match="outside loop"):
        python_syntax.check(python_syntax.parse("break"))


def test_a_warning_of_the_source_is_not_ours() -> None:
    python_syntax.check(
        python_syntax.parse("assert (1, 'x')\n'\\d'\n")
    )  # pytest makes warnings errors


def test_literals_are_read_and_nothing_else() -> None:
    assert python_syntax.literal("('a', 3)") == ("a", 3)
    with pytest.raises(ValueError, match="malformed"):
        python_syntax.literal("f()")


@pytest.mark.usefixtures("frequent_collections")
def test_no_garbage_is_collected_while_a_tree_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    collections: list[str] = []

    def count(phase: str, _facts: dict[str, int]) -> None:
        collections.append(phase)

    def parse(source: str, filename: str) -> ast.Module:
        gc.callbacks.append(count)
        try:
            return compile(source, filename, "exec", ast.PyCF_ONLY_AST)
        finally:
            gc.callbacks.remove(count)

    assert parse(SOURCE, "t.py").body
    if sys.version_info < (3, 12):  # later ones collect only between two instructions
        assert collections, "without the pause there are some"
    collections.clear()
    monkeypatch.setattr(ast, "parse", parse)
    assert python_syntax.parse(SOURCE, "t.py").body
    assert not collections
    assert gc.isenabled()
