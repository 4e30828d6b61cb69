"""Renames tests and their classes, since their names often reveal expected values."""

import ast
import string
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from agentbench.integrity.expectation_changes.parsed_file import ParsedFile
from agentbench.python_source.functions import (
    definition_index,
    readers_of_own_ids,
    split_id,
)

_LENGTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueNames:
    """The new names of test functions and of their classes."""

    functions: Mapping[str, str]
    classes: Mapping[str, str]

    def renamed_id(self, test: str) -> str:
        """The node id of a test with the new names."""
        name, case = split_id(test)
        *owners, last = name.split("::")
        parts = [*(self.classes.get(one, one) for one in owners), self.functions.get(last, last)]
        bracket = "" if case is None else f"[{case}]"
        return f"{'::'.join([test.partition('::')[0], *parts])}{bracket}"


def opaque_names(file: ParsedFile, rng: Random) -> OpaqueNames:
    """New names for the tests and test classes of a file that no other code names.

    They sort like the old names, since unittest runs tests in the order of their names.

    Args:
        file: The parsed file.
        rng: Gives the names.
    """
    index = definition_index(file.source.tree, file.functions)
    readers = readers_of_own_ids(file.source.tree, file.functions.functions.values())
    tests = {
        name.rpartition("::")[2]
        for name, function in file.functions.functions.items()
        if function.node.name.startswith("test") and name not in readers and index.is_sure(name)
    }
    owners = {
        name.partition("::")[0]
        for name, function in file.functions.functions.items()
        if function.node.name.startswith("test")
    }
    classes = {
        name
        for name in file.functions.classes
        if name.startswith("Test")
        and name in owners
        and name not in index.used | index.again  # nothing reads the old name
    }
    return OpaqueNames(
        functions=_new_names(tests, "test_", rng), classes=_new_names(classes, "Test", rng)
    )


def _new_names(names: set[str], prefix: str, rng: Random) -> dict[str, str]:
    return {
        name: f"{prefix}{rank:05d}_{''.join(rng.choices(string.ascii_lowercase, k=_LENGTH))}"
        for rank, name in enumerate(sorted(names))
    }


def rename_definitions(tree: ast.Module, names: OpaqueNames) -> None:
    """Rename the test functions and classes in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name in names.functions:
                node.name = names.functions[node.name]
        elif isinstance(node, ast.ClassDef):
            node.name = names.classes.get(node.name, node.name)
