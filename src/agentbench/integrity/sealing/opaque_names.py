"""Gives test functions other names, because a name often says what a test expects."""

import ast
import string
from collections.abc import Mapping
from random import Random

from agentbench.integrity.expectation_changes.functions import (
    definition_index,
    readers_of_own_ids,
    split_id,
)
from agentbench.integrity.expectation_changes.parsed_file import ParsedFile

_LENGTH = 10


def opaque_names(file: ParsedFile, rng: Random) -> dict[str, str]:
    """New names for the test functions of a file that nothing else names.

    They sort as the old ones: unittest runs tests in the order of their names.

    Args:
        file: The parsed file.
        rng: Gives the names.
    """
    index = definition_index(file.source.tree, file.functions)
    readers = readers_of_own_ids(file.source.tree, file.functions.functions.values())
    tests = [
        name
        for name, function in file.functions.functions.items()
        if function.node.name.startswith("test") and name not in readers and index.is_sure(name)
    ]
    lasts = {name.rpartition("::")[2] for name in tests}
    return {
        last: f"test_{rank:05d}_{''.join(rng.choices(string.ascii_lowercase, k=_LENGTH))}"
        for rank, last in enumerate(sorted(lasts))
    }


def rename_functions(tree: ast.Module, names: Mapping[str, str]) -> None:
    """Rename the definitions of test functions in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names:
            node.name = names[node.name]


def renamed_id(test: str, names: Mapping[str, str]) -> str:
    """The node id of a test with the new name of its function."""
    name, case = split_id(test)
    owner, colons, last = name.rpartition("::")
    file = test.partition("::")[0]
    bracket = "" if case is None else f"[{case}]"
    return f"{file}::{owner}{colons}{names.get(last, last)}{bracket}"
