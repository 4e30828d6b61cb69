"""The examples are complete programs, and short ones."""

import ast

import pytest

from tests.extensions.adapters.environments import EXAMPLES

_LIMIT = 60
_PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def test_there_are_examples_and_nothing_else() -> None:
    assert len(_PROGRAMS) == 5
    others = [each.name for each in EXAMPLES.iterdir() if each.name != "__pycache__"]
    assert sorted(others) == [each.name for each in _PROGRAMS]


@pytest.mark.parametrize("path", _PROGRAMS, ids=lambda path: path.stem)
def test_an_example_has_less_than_sixty_lines_and_says_how_it_is_started(path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < _LIMIT
    assert f"{path.stem}" in (ast.get_docstring(ast.parse(text)) or "")
