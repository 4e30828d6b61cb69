"""What a project is called in a package index, as its own files say."""

import ast
import configparser
import re
import tomllib
from collections.abc import Iterator

from agentbench import syntax
from agentbench.audit.base_tree import BaseTree

_LONGEST_LINE = 500  # configparser's time grows with the square of it


def normalised(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).strip("-").lower()


def project_names(base: BaseTree) -> frozenset[str]:
    """The names that a base tree's own configuration gives it, normalised."""
    found = {
        normalised(name)
        for file, names_in in (
            ("pyproject.toml", _of_pyproject),
            ("setup.cfg", _of_setup_cfg),
            ("setup.py", _of_setup_py),
        )
        if (text := base.text(file)) is not None
        for name in names_in(text)
    }
    return frozenset(found - {""})


def _of_pyproject(text: str) -> Iterator[str]:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    tool = table.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    for owner in (table.get("project"), poetry):
        name = owner.get("name") if isinstance(owner, dict) else None
        if isinstance(name, str):
            yield name


def _of_setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.RawConfigParser(strict=False)
    short = (line for line in text.splitlines() if len(line) <= _LONGEST_LINE)
    try:
        parser.read_file(short)
        yield parser.get("metadata", "name", fallback="")
    except configparser.Error:
        return


def _of_setup_py(text: str) -> Iterator[str]:
    try:
        tree = syntax.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                value = keyword.value
                if keyword.arg == "name" and isinstance(value, ast.Constant):
                    yield str(value.value)
