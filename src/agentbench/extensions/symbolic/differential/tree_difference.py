"""The Python modules of two trees, their differences, and the functions that can show these."""

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from agentbench.extensions.symbolic.differential.trees import AttemptTrees, SourceTree
from agentbench.python_source import python_syntax

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_INIT = "__init__.py"
_PROGRAM_FILES = frozenset({"__main__.py", "setup.py", "conftest.py", "noxfile.py"})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_MAX_CALL_DISTANCE = 8  # calls from what differs
_MAX_CACHED_FILES = 4_096


class DefinitionKind(StrEnum):
    """The kind of object that a name defines."""

    FUNCTION = "function"
    CLASS = "class"
    """Its bases, decorators and all of its body except functions."""
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Something that a module defines."""

    kind: DefinitionKind
    shape: str  # a checksum; equal for two that differ only in layout, comments or docstrings
    uses: frozenset[str]  # names and attributes that it mentions


# The trees of a task have nearly all files in common, and to read those of a large project takes a
# minute: 29 MB of sympy 50 s.
@lru_cache(maxsize=_MAX_CACHED_FILES)
def definitions_of(source: bytes) -> Mapping[str, Definition] | None:
    """The definitions of a module by their qualified names; `None` if it is not Python."""
    parts: dict[str, list[ast.AST]] = defaultdict(list)
    kinds: dict[str, DefinitionKind] = {}
    # By identity: one statement may define many names. Generated modules of sympy define 1,500
    # names in one `if`, which took minutes when each name read the statement again.
    read: dict[int, tuple[str, frozenset[str]]] = {}
    definitions: dict[str, Definition] = {}
    try:
        for name, kind, node in _named(python_syntax.parse(source).body, ""):
            parts[name].append(node)
            kinds.setdefault(name, kind)
            if id(node) not in read:
                uses = frozenset(_uses(node))
                shape = ast.dump(_WithoutDocstrings().visit(node)).encode("utf-8", "surrogatepass")
                read[id(node)] = hashlib.sha256(shape).hexdigest(), uses
        for name, nodes in parts.items():
            shapes, uses_of_parts = zip(*(read[id(node)] for node in nodes), strict=True)
            definitions[name] = Definition(
                kind=kinds[name],
                shape="\n".join(shapes),
                # The same object for all names of a statement: `_reached` looks at it once.
                uses=uses_of_parts[0] if len(nodes) == 1 else frozenset().union(*uses_of_parts),
            )
    except python_syntax.UNPARSABLE:
        return None
    return definitions


def _named(body: list[ast.stmt], scope: str) -> Iterator[tuple[str, DefinitionKind, ast.AST]]:
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield scope + node.name, DefinitionKind.FUNCTION, node
        elif isinstance(node, ast.ClassDef):
            head = copy(node)
            head.body = [one for one in node.body if not isinstance(one, _SCOPES)]
            yield scope + node.name, DefinitionKind.CLASS, head
            yield from _named(node.body, f"{scope}{node.name}.")
        elif not scope and not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
            # The names that a statement of a module defines, or else uses.
            inner = [child for child in ast.walk(node) if isinstance(child, _SCOPES)]
            names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
            stored = [one.id for one in names if isinstance(one.ctx, ast.Store)]
            for child in inner:  # under an `if` or `try`
                yield child.name, DefinitionKind.FUNCTION, node
            for name in dict.fromkeys(stored or [one.id for one in names if not inner]):
                yield name, DefinitionKind.VALUE, node


class _WithoutDocstrings(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, _SCOPES):
            node.body = [one for one in node.body if not _is_text(one)]
        return node


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _uses(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonModule:
    """A file and the name that it is imported by."""

    path: PurePosixPath
    root: PurePosixPath  # the folder that has to be on sys.path
    name: str
    definitions: Mapping[str, Definition] | None  # None: it is not Python

    @property
    def is_program(self) -> bool:
        """Whether importing it would start something."""
        return self.path.name in _PROGRAM_FILES


class DefinitionId(NamedTuple):
    """A definition: its file, and its qualified name."""

    path: PurePosixPath
    name: str

    def __str__(self) -> str:
        return f"{self.path}::{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeModules:
    """The modules of a tree that are not tests, and all that they define."""

    modules: Mapping[PurePosixPath, PythonModule]
    definitions: Mapping[DefinitionId, Definition]


def modules_of(tree: SourceTree, test_paths: Sequence[str]) -> TreeModules:
    """Read the modules of a tree."""
    files = {path for path in tree.paths() if path.suffix == ".py"}
    paths = (path for path in sorted(files) if not is_test_path(path, test_paths))
    modules = {path: _module(tree, path, files) for path in paths}
    definitions = {
        DefinitionId(path, name): definition
        for path, module in modules.items()
        for name, definition in (module.definitions or {}).items()
    }
    return TreeModules(modules=modules, definitions=definitions)


def is_test_path(path: PurePosixPath, test_paths: Sequence[str]) -> bool:
    """Whether a file belongs to the tests."""
    return any(path.is_relative_to(test_path.rstrip("/")) for test_path in test_paths)


def _module(tree: SourceTree, path: PurePosixPath, files: set[PurePosixPath]) -> PythonModule:
    root = path.parent
    while root / _INIT in files and root.name:
        root = root.parent
    inner = path.relative_to(root).with_suffix("")
    parts = inner.parts[:-1] if path.name == _INIT else inner.parts
    return PythonModule(
        path=path,
        root=root,
        name=".".join(parts),
        definitions=definitions_of(tree.content(path) or b""),
    )


class NotCompared(NamedTuple):
    """Something that is not compared."""

    where: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDifference:
    """The difference between two trees."""

    differing: tuple[DefinitionId, ...]  # in both trees, and not the same
    one_sided: tuple[NotCompared, ...]  # public, and only in one tree; and non-Python files
    callable: tuple[DefinitionId, ...]  # what a user can call, nearest to what differs first
    modules: Mapping[PurePosixPath, PythonModule]  # of the reference's tree

    @property
    def none(self) -> bool:
        """Whether the trees differ only in comments, docstrings and layout."""
        return not self.differing and not self.one_sided and not self.callable


def compare_trees(
    trees: AttemptTrees, test_paths: Sequence[str], tested: frozenset[str]
) -> TreeDifference:
    """Find what differs outside of the tests.

    Args:
        trees: The trees.
        test_paths: The paths of tests, which are not compared.
        tested: Names that tests import: they are part of a contract, even if they are private.
    """
    reference = modules_of(trees.reference, test_paths)
    agents = modules_of(trees.agents, test_paths)
    ours, theirs = reference.definitions, agents.definitions
    differing = [
        definition_id
        for definition_id in ours
        if definition_id in theirs and ours[definition_id].shape != theirs[definition_id].shape
    ]
    lone = [
        definition_id
        for definition_id in [*ours, *theirs]
        if (definition_id in ours) != (definition_id in theirs)
    ]
    reached = map(_class_if_constructor, _reached([*differing, *lone], reference, agents))
    return TreeDifference(
        differing=tuple(differing),
        one_sided=(
            *_only_in_one(lone, reference, tested),
            *_other_files(trees, test_paths),
            *_unparsed(reference, agents),
        ),
        callable=tuple(
            definition_id
            for definition_id in dict.fromkeys(reached)
            if _is_callable(definition_id, reference, agents, tested)
        ),
        modules=reference.modules,
    )


# The differing definitions and their possible callers, by name, the nearest first.
def _reached(changed: Iterable[DefinitionId], *trees: TreeModules) -> list[DefinitionId]:
    found = dict.fromkeys(changed)
    front = list(found)
    for _ in range(_MAX_CALL_DISTANCE):
        names = dict.fromkeys(
            _class_if_constructor(definition_id).name.rpartition(".")[2] for definition_id in front
        )
        users: dict[str, dict[DefinitionId, None]] = defaultdict(dict)
        met: dict[int, set[str]] = {}
        for tree in trees:
            for definition_id, definition in tree.definitions.items():
                if id(definition.uses) not in met:
                    met[id(definition.uses)] = names.keys() & definition.uses
                for use in met[id(definition.uses)]:
                    users[use][definition_id] = None
        front = [user for name in names for user in users.get(name, ()) if user not in found]
        found.update(dict.fromkeys(front))
    return list(found)


# A constructor is called by its class.
def _class_if_constructor(definition_id: DefinitionId) -> DefinitionId:
    scope, _, own = definition_id.name.rpartition(".")
    return (
        DefinitionId(definition_id.path, scope) if own in _CONSTRUCTORS and scope else definition_id
    )


def _is_callable(
    definition_id: DefinitionId, reference: TreeModules, agents: TreeModules, tested: frozenset[str]
) -> bool:
    ours, theirs = (tree.definitions.get(definition_id) for tree in (reference, agents))
    if ours is None or theirs is None or reference.modules[definition_id.path].is_program:
        return False
    return DefinitionKind.VALUE not in {ours.kind, theirs.kind} and _is_public(
        definition_id.name, tested
    )


def _is_public(name: str, tested: frozenset[str]) -> bool:
    parts = name.split(".")
    private = (part for part in parts if part.startswith("_") and not part.endswith("__"))
    return all(part in tested for part in private)


def _only_in_one(
    lone: Iterable[DefinitionId], reference: TreeModules, tested: frozenset[str]
) -> Iterator[NotCompared]:
    for definition_id in lone:
        if _is_public(definition_id.name, tested):
            owner = "reference" if definition_id in reference.definitions else "agent"
            yield NotCompared(str(definition_id), f"only the {owner} has it")


def _other_files(trees: AttemptTrees, test_paths: Sequence[str]) -> Iterable[NotCompared]:
    changed = dict.fromkeys([*trees.reference.change, *trees.agents.change])
    for path in sorted(changed):
        same = trees.reference.content(path) == trees.agents.content(path)
        if path.suffix != ".py" and not same and not is_test_path(path, test_paths):
            yield NotCompared(path.as_posix(), "is not Python")
    for name in trees.unread:
        yield NotCompared(name, "its content is not in patch.diff: it is binary or large")


def _unparsed(reference: TreeModules, agents: TreeModules) -> Iterable[NotCompared]:
    for path, module in agents.modules.items():
        before = reference.modules.get(path)
        if module.definitions is None and (before is None or before.definitions is not None):
            yield NotCompared(path.as_posix(), "cannot be parsed")
