"""Finds the expected one of two computed sides of a comparison, as far as the text shows it.

`assert point.distance(other) == sqrt(5)` expects `sqrt(5)`: unlike the other side, it uses nothing
that the test has computed.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agentbench.integrity.sealing.canonical import Recording
from agentbench.integrity.sealing.checks import PairedCheck
from agentbench.integrity.sealing.levels import Cell, FileNames, NameKey
from agentbench.integrity.sealing.references import same_as_reference
from agentbench.python_source.python_syntax import name_of, variables_in

_PARTS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.BinOp, ast.UnaryOp, ast.Constant)
_MADE = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Constant)


@dataclass(slots=True, kw_only=True)
class PairReader:
    """Reads the comparisons of one function."""

    names: FileNames
    owner: str
    _visited: set[NameKey] = field(default_factory=set)

    def expected(self, sides: Sequence[ast.expr]) -> int | None:
        """The position of the expected side; None if the text does not show it.

        A side that only repeats an input of the test is not an expected value that can be hidden.
        """
        if len(sides) != 2:
            return None
        given = [self._is_given(side) for side in sides]
        if given[0] == given[1]:
            return None
        at = given.index(True)
        is_made = any(isinstance(node, _MADE) for node in ast.walk(sides[at]))
        return at if is_made else None

    def is_known(self, node: ast.AST) -> bool:
        """Whether an expression uses only classes and parts of Python itself.

        Another function, or another value, may be what the agent has to write.
        """
        if not isinstance(node, ast.Attribute | ast.Name):
            return all(map(self.is_known, ast.iter_child_nodes(node)))
        root = _root_of(node)
        if not isinstance(root, ast.Name):
            return self.is_known(root)
        key = self.names.key(root.id, self.owner)
        cells = self.names.cells.get(key)
        if cells is None:
            name = name_of(node)
            is_class = name[:1].isupper() and not name.isupper()
            is_own = root.id in self.names.module.bound and root.id not in self.names.imported
            is_standard = root.id in self.names.standard and not is_own
            return not key[0] and (is_class or is_standard)
        return self._holds_for_all(cells, key, PairReader.is_known)

    # Whether an expression uses only constants, imported names, and objects made of these.
    def _is_given(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                key = self.names.key(name, self.owner)
                cells = self.names.cells.get(key)
                if cells is None or key in self._visited:
                    return not key[0] and key not in self._visited
                return self._holds_for_all(cells, key, PairReader._is_given)
            case ast.Attribute(value=ast.expr() as inner):
                return self._is_imported(inner)
            case ast.Call(func=func, args=args, keywords=keywords):
                parts = [*args, *(keyword.value for keyword in keywords)]
                names = [name for part in parts for name in variables_in(part)]
                is_class = name_of(func)[:1].isupper()
                has_variable = any(self.names.key(name, self.owner)[0] for name in names)
                return (
                    self._is_imported(func)
                    and (is_class or not has_variable)
                    and all(map(self._is_given, parts))
                )
            case _:
                parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
                return isinstance(node, _PARTS) and all(map(self._is_given, parts))

    # Whether `is_so` holds for all values of a name, each in the function that gives it.
    def _holds_for_all(
        self, cells: Sequence[Cell], key: NameKey, is_so: Callable[["PairReader", ast.expr], bool]
    ) -> bool:
        if key in self._visited:
            return False
        self._visited.add(key)
        found = all(
            is_so(PairReader(names=self.names, owner=c.owner, _visited=self._visited), c.node)
            for c in cells
        )
        self._visited.discard(key)
        return found

    # Whether a name, or the object of an attribute, is not a variable of the function.
    def _is_imported(self, node: ast.AST) -> bool:
        node = _root_of(node)
        return isinstance(node, ast.Name) and not self.names.key(node.id, self.owner)[0]


def _root_of(node: ast.AST) -> ast.AST:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def is_expected(pair: PairedCheck, runs: Sequence[tuple[Recording, Recording]]) -> bool:
    """Whether the side that looks expected is expected: a fix changes only the other side.

    Args:
        pair: The check without that side.
        runs: The recordings of code without the fix, and of the reference solution; none if the
            former does not reach the assertion.
    """
    if not runs:
        return pair.expected == 1 and pair.is_known
    differs = [False, False]
    for before, after in runs:
        if len(before.values) < len(differs) or len(after.values) < len(differs):
            return False
        for at in range(len(differs)):
            differs[at] |= not same_as_reference(before.values[at], [after.values[at]])
    return differs[1 - pair.expected] and not differs[pair.expected]
