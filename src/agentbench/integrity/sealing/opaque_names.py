"""Renames tests, their classes and their variables, since names often reveal expected values."""

import ast
import string
from collections.abc import Mapping
from random import Random

from msgspec import Struct

from agentbench.integrity.expectation_changes.parsed_file import ParsedFile
from agentbench.python_source.functions import (
    definition_index,
    readers_of_own_ids,
    split_id,
)
from agentbench.python_source.scopes import FunctionNode

_LENGTH = 10
_READS_VARIABLES = frozenset(
    ["locals", "vars", "eval", "exec", "globals", "dir", "_getframe", "currentframe", "stack"]
)


class OpaqueNames(Struct, frozen=True, kw_only=True):
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
    """Rename the test functions and classes in a tree, and the variables of the functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name in names.functions:
                node.name = names.functions[node.name]
                _rename_variables(node)
        elif isinstance(node, ast.ClassDef):
            node.name = names.classes.get(node.name, node.name)


def _rename_variables(function: FunctionNode) -> None:
    """Number the variables that a function only assigns to, unless it reads them by name."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    read = {n.id for n in nodes if isinstance(n, ast.Name)}
    read |= {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    if read & _READS_VARIABLES:
        return
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    kept = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    for node in nodes:
        kept.update(_other_bindings(node))
    names = {name: f"v{rank}" for rank, name in enumerate(sorted(stored - kept - {"_"}))}
    if set(names.values()) & (read | stored | kept):
        return
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)


def _other_bindings(node: ast.AST) -> list[str]:
    """The names that a node binds without a variable's node."""
    match node:
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
        case ast.alias(name=name, asname=asname):
            return [asname or name.partition(".")[0]]
        case ast.ClassDef():  # the names in its body are attributes
            return [node.name, *(n.id for n in ast.walk(node) if isinstance(n, ast.Name))]
        case (
            ast.FunctionDef(name=str() as name)
            | ast.AsyncFunctionDef(name=str() as name)
            | ast.ExceptHandler(name=str() as name)
            | ast.MatchAs(name=str() as name)
            | ast.MatchStar(name=str() as name)
            | ast.MatchMapping(rest=str() as name)
        ):
            return [name]
        case _:
            return []
