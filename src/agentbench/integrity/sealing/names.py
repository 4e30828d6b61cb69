"""Finds the values that the names of a test file can have, and the names that can be taken out."""

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentbench.integrity.expectation_changes import parsed_file
from agentbench.integrity.sealing.levels import Cell, FileNames, NameKey, attribute_key
from agentbench.python_source import scopes
from agentbench.python_source.functions import FoundFunction
from agentbench.python_source.parametrize import tables
from agentbench.python_source.python_syntax import name_of

_STANDARD = sys.stdlib_module_names - {"test"}  # projects have such a package, too
_FILES_OF_TESTS = ("test", "tests", "testing", "conftest")


def file_names(
    file: parsed_file.ParsedFile,
    opaque: Collection[str],
    used: Collection[str] = (),
    modules: Collection[str] = (),
) -> FileNames:
    """The names of a parsed file.

    Args:
        file: the file.
        opaque: the functions whose tables are read.
        used: names in other files, whose classes may give another value to an attribute.
        modules: the modules of the files of tests, whose values stay.
    """
    imported, foreign, standard = _imports(file.source.tree, modules)
    finder = _CellFinder(file=file, opaque=opaque, used=used, imported=imported)
    cells = {key: tuple(found) for key, found in finder.found().items() if found}
    found = FileNames(
        module=file.module,
        functions=finder.by_function,
        cells=cells,
        imported=imported,
        standard=standard,
        foreign=foreign,
        classes=frozenset(file.functions.classes),
        given={
            name: frozenset(() if function.looks_like_a_test else _parameters(function))
            for name, function in file.functions.functions.items()
        },
        changed=frozenset(finder.changed),
        measured=Counter(),
    )
    uses = name_uses(file.source.tree, file.functions.functions)
    measured = Counter(found.key(use.name, use.owner) for use in uses if use.is_measured)
    return replace(found, measured=measured)


@dataclass(slots=True, kw_only=True)
class _CellFinder:
    file: parsed_file.ParsedFile
    opaque: Collection[str]
    used: Collection[str]
    imported: Collection[str]
    by_function: dict[str, scopes.NameScope] = field(default_factory=dict)
    changed: set[NameKey] = field(default_factory=set)
    _cells: dict[NameKey, list[Cell]] = field(default_factory=dict)

    def found(self) -> dict[NameKey, list[Cell]]:
        """The values of all names whose values the file shows completely."""
        functions = self.file.functions.functions
        self.by_function.update({n: scopes.function_scope(f.node) for n, f in functions.items()})
        for name, node in self.file.module.constants.items():
            self._add(("", name), [Cell(node=node, owner="")])
        for name, function in functions.items():
            self._read_function(name, function)
        for name, function in functions.items():
            self._read_parameters(name, function)
        for name, cells in _class_attributes(self.file).items():
            if name not in self.used:
                self._cells[attribute_key(name)] = cells
        return self._cells

    def _add(self, key: NameKey, cells: Iterable[Cell], bindings: int = 1) -> None:
        owner, name = key
        scope = self.by_function[owner] if owner else self.file.module
        if scope.bound.get(name) == bindings and key not in self._cells:
            self._cells[key] = list(cells)

    def _read_function(self, owner: str, function: FoundFunction) -> None:
        scope = self.by_function[owner]
        for name, node in scope.constants.items():
            self._add((owner, name), [Cell(node=node, owner=owner)])
        for name, nodes in _assigned(function.node).items():
            cells = [Cell(node=node, owner=owner) for node in nodes]
            self._add((owner, name), cells, bindings=len(cells))
        if owner in self.opaque:
            for table in tables(self.file.source, function.node, self.file.module):
                for at, name in enumerate(table.names):
                    cells = [Cell(node=row.values[at], owner="") for row in table.rows]
                    self._add((owner, name), cells)
        for loop in ast.walk(function.node):
            if isinstance(loop, ast.For):
                is_own = name_of(loop.iter) in scope.bound
                table_scope = scope if is_own else self.file.module
                for name, column in parsed_file.loop_columns(loop, table_scope):
                    cells = [Cell(node=cell, owner=owner) for _, cell in column]
                    self._add((owner, name), cells)

    # Read parameters: helpers' get their callers' arguments, and tests' may be fixtures.
    def _read_parameters(self, owner: str, function: FoundFunction) -> None:
        if function.node.name.startswith("test"):
            for name in _parameters(function):
                fixture = self.file.functions.functions.get(name)
                returned = _returned(fixture.node) if fixture is not None else None
                if returned is not None:
                    self._add((owner, name), [Cell(node=returned, owner=name)])
        elif not function.node.decorator_list:
            assigned = _assigned(function.node)
            for name, cells in self._arguments(function).items():
                forms = assigned.get(name, [])
                if all(self._is_form(node, name) for node in forms):
                    cells += [Cell(node=node, owner=owner) for node in forms]
                    self._add((owner, name), cells, bindings=1 + len(forms))
                    self.changed.update([(owner, name)] if forms else ())

    # Whether an expression depends on no value of the test except that of a name.
    def _is_form(self, node: ast.expr, name: str) -> bool:
        names = [child for child in ast.walk(node) if isinstance(child, ast.Name)]
        bound = {child.id for child in names if isinstance(child.ctx, ast.Store)}
        given = {name, "self", *bound, *self.imported}
        return all(one.id in given or hasattr(builtins, one.id) for one in names)

    def _arguments(self, helper: FoundFunction) -> dict[str, list[Cell]]:
        parameters = _parameters(helper)
        found: dict[str, list[Cell]] = {name: [] for name in parameters}
        calls = [
            (owner, node)
            for owner, function in self.file.functions.functions.items()
            for node in ast.walk(function.node)
            if isinstance(node, ast.Call)
            and name_of(node.func) == helper.node.name
            and isinstance(node.func, ast.Attribute) == helper.is_method
        ]
        mentions = sum(
            isinstance(node, ast.Name | ast.Attribute) and name_of(node) == helper.node.name
            for node in ast.walk(self.file.source.tree)
        )
        if not calls or len(calls) != mentions:  # it may be called in a way that is not seen
            return {}
        for owner, call in calls:
            if scopes.has_starred(call.args):
                return {}
            given = dict(zip(parameters, call.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
            for name, node in given.items():
                if name in found:
                    found[name].append(Cell(node=node, owner=owner))
        return {name: cells for name, cells in found.items() if len(cells) == len(calls)}


def _assigned(function: scopes.FunctionNode) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for statement, doubt in scopes.statements(function.body):
        for name, node in scopes.assigned(statement) if doubt < scopes.UNCERTAIN else ():
            found.setdefault(name, []).append(node)
    return found


def _class_attributes(file: parsed_file.ParsedFile) -> dict[str, list[Cell]]:
    classes = file.functions.classes
    found: dict[str, list[Cell]] = {}
    bound = Counter(
        node.attr
        for node in ast.walk(file.source.tree)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    )
    for node in classes.values():
        bound.update(scopes.module_scope(ast.Module(node.body, [])).bound)
        for name, value in (pair for s in node.body for pair in scopes.assigned(s)):
            found.setdefault(name, []).append(Cell(node=value, owner=""))
    inherited = {
        node.attr
        for owner, function in file.functions.functions.items()
        for node in ast.walk(function.node)
        if isinstance(node, ast.Attribute)
        and node.attr in found
        and not _has_attribute(classes, owner.rpartition("::")[0], node.attr)
    }
    return {
        name: cells
        for name, cells in found.items()
        if bound[name] == len(cells) and name not in inherited
    }


def _has_attribute(classes: Mapping[str, ast.ClassDef], owner: str, attribute: str) -> bool:
    node = classes.get(owner)
    if node is None:
        return False
    if any(name == attribute for s in node.body for name, _ in scopes.assigned(s)):
        return True
    rest = {name: other for name, other in classes.items() if name != owner}
    return any(_has_attribute(rest, name_of(base), attribute) for base in node.bases)


def _parameters(function: FoundFunction) -> list[str]:
    arguments = function.node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    is_static = any(name_of(d) == "staticmethod" for d in function.node.decorator_list)
    return names[function.is_method and not is_static :]


def is_parameter(function: scopes.FunctionNode, name: str) -> bool:
    """Whether a function has a parameter of this name."""
    arguments = function.args
    return any(name == one.arg for one in (*arguments.args, *arguments.kwonlyargs))


def _returned(function: scopes.FunctionNode) -> ast.expr | None:
    decorators = function.decorator_list
    bare = [one.func if isinstance(one, ast.Call) else one for one in decorators]
    if not any(name_of(one) == "fixture" for one in bare):
        return None
    if any(isinstance(one, ast.Call) and (one.args or one.keywords) for one in decorators):
        return None  # it may have parameters or another name
    match [
        statement
        for statement in function.body
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
    ]:
        case [ast.Return(value=ast.expr() as value)]:
            return value
        case _:
            return None


# The imported names, those that other files of tests define, and those of Python itself.
def _imports(
    tree: ast.Module, modules_of_tests: Collection[str]
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    imported: set[str] = set()
    foreign: set[str] = set()
    standard = set(dir(builtins))
    others: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            imported |= names
            modules = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                modules = ["" if node.level else node.module or ""]
                parts = modules[0].split(".")
                if node.level or any(p in _FILES_OF_TESTS or p.startswith("test_") for p in parts):
                    foreign |= names
            if any(module in modules_of_tests for module in modules):
                foreign |= names
            is_standard = all(module.partition(".")[0] in _STANDARD for module in modules)
            (standard if is_standard else others).update(names)
    if "*" in others:
        standard.clear()  # it may replace any name
    return frozenset(imported), frozenset(foreign), frozenset(standard - others)


def name_uses(tree: ast.Module, functions: Mapping[str, FoundFunction]) -> list["NameUse"]:
    """Every place where a file reads a name or an attribute."""
    owners: dict[int, str] = {}
    for name, function in functions.items():
        for statement in function.node.body:
            owners.update({id(node): name for node in ast.walk(statement)})
    nodes = list(ast.walk(tree))
    measured: set[int] = set()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as sized]):
                measured.add(id(sized))
            case _:
                pass
    return [
        NameUse(node=node, owner=owners.get(id(node), ""), is_measured=id(node) in measured)
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
    ]


def length_of(node: ast.expr) -> int | None:
    """The length of a literal; None if the text does not show it."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return None if scopes.has_starred(items) else len(items)
        case ast.Constant(value=str() | bytes() as text):
            return len(text)
        case _:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameUse:
    """A place where a function, or the module, reads a name or an attribute."""

    node: ast.Name | ast.Attribute
    owner: str
    is_measured: bool  # whether only its length is taken

    @property
    def name(self) -> str:
        """The name; that of an attribute starts with a dot."""
        return self.node.id if isinstance(self.node, ast.Name) else attribute_key(self.node.attr)[1]


def removable_names(names: FileNames, uses: Sequence[NameUse], gone: set[int]) -> set[NameKey]:
    """The names whose values can be taken out, since only removed expressions read them.

    Args:
        names: The names of the file and their values.
        uses: All places where the file reads names.
        gone: The ids of the nodes that are taken out with assertions.
    """
    reads: dict[NameKey, list[int]] = {}
    sized = {
        key
        for key, cells in names.cells.items()
        if all(length_of(cell.node) is not None for cell in cells)
    }
    for use in uses:
        key = names.key(use.name, use.owner)
        if not (use.is_measured and key in sized):
            reads.setdefault(key, []).append(id(use.node))
    inside = {
        key: {id(node) for cell in cells for node in ast.walk(cell.node)}
        for key, cells in names.cells.items()
    }
    found = set(names.cells)
    while True:
        covered = gone.union(*(inside[key] for key in found)) if found else gone
        kept = {key for key in found if key in reads and covered.issuperset(reads[key])}
        kept = _compared(kept, reads, gone, inside)
        # A cell of a name whose value stays is not taken out of another one.
        staying = {
            id(cell.node) for key, cells in names.cells.items() if key not in kept for cell in cells
        }
        kept = {key for key in kept if staying.isdisjoint(id(c.node) for c in names.cells[key])}
        if kept == found:
            return found
        found = kept


# The names whose values reach a comparison, directly or through other names. A method that calls a
# method of the same name of another object seems to call itself.
def _compared(
    keys: set[NameKey],
    reads: Mapping[NameKey, Sequence[int]],
    gone: set[int],
    inside: Mapping[NameKey, set[int]],
) -> set[NameKey]:
    found: set[NameKey] = set()
    reached = gone
    while more := {key for key in keys - found if not reached.isdisjoint(reads[key])}:
        found |= more
        reached = reached.union(*(inside[key] for key in more))
    return found
