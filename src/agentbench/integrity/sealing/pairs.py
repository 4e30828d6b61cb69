"""Tells which of two computed sides of a comparison is the expected one, as far as the text says.

`assert point.distance(other) == sqrt(5)` expects `sqrt(5)`: it uses nothing that the test has
computed, whereas the other side does.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentbench.integrity.expectation_changes.scopes import name_of
from agentbench.integrity.sealing.agreement import same_as_reference
from agentbench.integrity.sealing.canonical import Recording
from agentbench.integrity.sealing.levels import FileNames, NameKey

_PARTS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.BinOp, ast.UnaryOp, ast.Constant)
_MADE = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Constant)
_TWO = 2


@dataclass(slots=True, kw_only=True)
class PairReader:
    """Reads the comparisons of one function."""

    names: FileNames
    owner: str
    _visited: set[NameKey] = field(default_factory=set)

    def expected(self, sides: Sequence[ast.expr]) -> int | None:
        """The position of the expected side; None if the text does not tell.

        A side that only repeats an input of the test is no expected value that could be hidden.
        """
        if len(sides) != _TWO:
            return None
        given = [self._is_given(side) for side in sides]
        if given[0] == given[1]:
            return None
        at = given.index(True)
        is_made = any(isinstance(node, _MADE) for node in ast.walk(sides[at]))
        return at if is_made else None

    def _is_given(self, node: ast.expr) -> bool:
        """Whether an expression uses only constants, imported names, and objects made of these."""
        match node:
            case ast.Name(id=name):
                return self._is_given_name(name)
            case ast.Attribute(value=ast.expr() as inner):
                return self._is_imported(inner)
            case ast.Call(func=func, args=args, keywords=keywords):
                parts = [*args, *(keyword.value for keyword in keywords)]
                is_class = name_of(func)[:1].isupper()
                return (
                    self._is_imported(func)
                    and (is_class or not any(map(self._has_variable, parts)))
                    and all(map(self._is_given, parts))
                )
            case _:
                parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
                return isinstance(node, _PARTS) and all(map(self._is_given, parts))

    def _is_given_name(self, name: str) -> bool:
        key = self.names.key(name, self.owner)
        cells = self.names.cells.get(key)
        if cells is None or key in self._visited:
            return not key[0] and key not in self._visited
        self._visited.add(key)
        found = all(
            PairReader(names=self.names, owner=cell.owner, _visited=self._visited)._is_given(
                cell.node
            )
            for cell in cells
        )
        self._visited.discard(key)
        return found

    def _is_imported(self, node: ast.expr) -> bool:
        """Whether a name, or a member of a name, is none of the function's variables."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and not self.names.key(node.id, self.owner)[0]

    def _has_variable(self, node: ast.expr) -> bool:
        names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        return any(self.names.key(name, self.owner)[0] for name in names)


def is_fixed(expected: int, pairs: Sequence[tuple[Recording, Recording]]) -> bool:
    """Whether only the side that is not expected differs before and after the fix."""
    differs = [False, False]
    for before, after in pairs:
        if len(before.values) < len(differs) or len(after.values) < len(differs):
            return False
        for at in range(len(differs)):
            differs[at] |= not same_as_reference(before.values[at], [after.values[at]])
    return differs[1 - expected] and not differs[expected]
