"""The expected values that stay in a sealed file: parts of texts, and arguments of helpers."""

import ast
import builtins
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from agentbench.integrity.sealing.checks import Site
from agentbench.integrity.sealing.levels import FileNames, NameKey, attribute_key
from agentbench.python_source.constants import evaluate, is_telling
from agentbench.python_source.python_syntax import variables_in
from agentbench.python_source.scopes import names_in

ELSEWHERE = "line {}: its expected value is an input elsewhere in the file"
SHARED = "line {}: its expected value is an input of the test, too"
FOREIGN = "line {}: its expected value is in another file"
_NOT_TEXT = "\0"
_COMPUTED = "line {}: the test computes the expected text"


@dataclass(slots=True, kw_only=True)
class ExpectedText:
    """The parts of an expected text: literals that are taken out, and names that stay."""

    names: FileNames
    removable: Collection[NameKey]
    _literals: list[str] = field(default_factory=list)
    _inserted: list[str] = field(default_factory=list)
    _staying: set[NameKey] = field(default_factory=set)
    _visited: set[NameKey] = field(default_factory=set)

    def add(self, node: ast.AST, owner: str, *, is_whole: bool = True) -> None:
        """Read an expression of a function, with the values of names that are taken out.

        Args:
            node: The expression.
            owner: The function.
            is_whole: Whether its value is the whole text.
        """
        match node:
            case ast.Constant(value=str() as text):
                self._literals.append(text)
            case ast.Name(id=name):
                self._add_name(self.names.key(name, owner), is_whole=is_whole)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
                self._add_name(attribute_key(attr), is_whole=is_whole)
            case ast.Subscript(value=value):  # a key is not part of the text
                self.add(value, owner, is_whole=False)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.add(child, owner, is_whole=False)

    def _add_name(self, key: NameKey, *, is_whole: bool) -> None:
        if key not in self.removable:
            self._staying.add(key)
        elif key not in self._visited:
            self._visited.add(key)
            for cell in self.names.cells[key]:
                value = evaluate(cell.node)
                if isinstance(value, str) and not is_whole:
                    self._inserted.append(value)
                else:
                    self.add(cell.node, cell.owner, is_whole=is_whole)

    @property
    def telling(self) -> Iterator[str]:
        """The literals that are long enough to be found again."""
        yield from filter(_is_telling, self._literals)

    @property
    def inserted(self) -> Iterator[str]:
        """The values of names that are parts of the text, if they are that long, too."""
        yield from filter(_is_telling, self._inserted)

    def unsealed(self, line: int) -> str | None:
        """Why the text is not taken out; None if it is taken out, or only the project knows it."""
        is_partial = any(True for _ in self.telling)
        for key in sorted(self._staying):
            owner, name = key
            cells = self.names.cells.get(key)
            if not owner and name in self.names.foreign:
                return FOREIGN.format(line)
            if cells is not None:  # a part may be an input of the test
                if not (is_partial and owner) and not self.names.is_inert(key):
                    return SHARED.format(line)
            elif not owner and (name in self.names.imported or hasattr(builtins, name)):
                continue  # only the project knows it
            elif not (is_partial and self._is_local(key)):
                return _COMPUTED.format(line)
        return None

    # Whether a test computes it; parameters and results of helpers may be texts that stay.
    def _is_local(self, key: NameKey) -> bool:
        owner, name = key
        if name.startswith("."):
            methods = {function.rpartition("::")[2] for function in self.names.functions}
            return name.lstrip(".") not in methods
        return bool(owner) and name not in self.names.given[owner]


def _is_telling(text: str) -> bool:
    return is_telling(text.strip())


def whole_values(site: Site, names: FileNames) -> Iterator[str]:
    """The values that an assertion expects in every test, and the numbers and bytes in them.

    Values of tables are excluded.
    """
    for one in site.removed:
        nodes = [one.node]
        for name in variables_in(one.node):
            cells = names.cells.get(names.key(name, site.function), ())
            nodes += [cell.node for cell in cells if len(cells) == 1]
        yield from filter(None, map(telling_form, nodes))
        for part in (part for node in nodes for part in ast.walk(node)):
            if (form := telling_form(part)) is not None and form.startswith(_NOT_TEXT):
                yield form


def telling_form(node: ast.AST) -> str | None:
    """A form of a constant expression to compare with others; None if many are equal by chance.

    It is the text itself, or another value behind `_NOT_TEXT`.
    """
    if not isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.UnaryOp):
        return None
    value = evaluate(node)
    if not is_telling(value):
        return None
    return value if isinstance(value, str) else f"{_NOT_TEXT}{value!r}"


def given_input(
    owners: Collection[str], names: FileNames, removable: Collection[NameKey]
) -> str | None:
    """Why the values that functions give to a changed parameter stay: they use names of inputs."""
    for key in names.changed:
        for cell in names.cells[key] if key[0] in owners else ():
            if cell.owner == key[0] or cell.owner not in owners:
                continue
            for used in (names.key(name, cell.owner) for name in names_in(cell.node)):
                is_own = used[0] and used[1] != "self"
                is_inert = used in names.cells and names.is_inert(used)
                if used not in removable and not is_inert and (is_own or used in names.cells):
                    return SHARED.format(cell.node.lineno)
    return None
