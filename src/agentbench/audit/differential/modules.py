"""The Python files of a tree as modules: how each is imported, and what it defines."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from agentbench.audit.differential.trees import SourceTree
from agentbench.core import python_syntax

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)


class DefinitionKind(StrEnum):
    """What a name stands for."""

    FUNCTION = "function"
    CLASS = "class"
    """Its bases, decorators and whatever of its body is no function."""
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Something that a module defines."""

    kind: DefinitionKind
    shape: str  # equal for two that differ in layout, comments or docstrings alone
    uses: frozenset[str]  # names and attributes that it mentions


def definitions_of(source: bytes) -> Mapping[str, Definition] | None:
    """The definitions of a module by their qualified names; `None` where it is no Python."""
    try:
        tree = python_syntax.parse(source)
        return dict(_definitions(tree.body))
    except python_syntax.UNPARSABLE:
        return None


def _definitions(body: list[ast.stmt]) -> Iterator[tuple[str, Definition]]:
    parts: dict[str, list[ast.AST]] = defaultdict(list)
    kinds: dict[str, DefinitionKind] = {}
    for name, kind, node in _named(body, ""):
        parts[name].append(node)
        kinds.setdefault(name, kind)
    for name, nodes in parts.items():
        shape = "\n".join(ast.dump(_WithoutDocstrings().visit(node)) for node in nodes)
        uses = frozenset(use for node in nodes for use in _uses(node))
        yield name, Definition(kind=kinds[name], shape=shape, uses=uses)


def _named(body: list[ast.stmt], scope: str) -> Iterator[tuple[str, DefinitionKind, ast.AST]]:
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield scope + node.name, DefinitionKind.FUNCTION, node
        elif isinstance(node, ast.ClassDef):
            yield scope + node.name, DefinitionKind.CLASS, _head(node)
            yield from _named(node.body, f"{scope}{node.name}.")
        elif not scope and not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
            yield from _statement(node)


def _statement(node: ast.stmt) -> Iterator[tuple[str, DefinitionKind, ast.AST]]:
    """What a statement of a module defines, or else what it does something with."""
    inner = [child for child in ast.walk(node) if isinstance(child, _SCOPES)]
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    stored = [one.id for one in names if isinstance(one.ctx, ast.Store)]
    for child in inner:  # under an `if` or `try`
        yield child.name, DefinitionKind.FUNCTION, node
    for name in dict.fromkeys(stored or [one.id for one in names if not inner]):
        yield name, DefinitionKind.VALUE, node


def _head(node: ast.ClassDef) -> ast.ClassDef:
    body = [one for one in node.body if not isinstance(one, _SCOPES)]
    return ast.ClassDef(
        name=node.name,
        bases=node.bases,
        keywords=node.keywords,
        body=body,
        decorator_list=node.decorator_list,
    )


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


_INIT = "__init__.py"
_PROGRAM_FILES = frozenset({"__main__.py", "setup.py", "conftest.py", "noxfile.py"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonModule:
    """A file and the name that it is imported by."""

    path: PurePosixPath
    root: PurePosixPath  # the folder that has to be on sys.path
    name: str
    definitions: Mapping[str, Definition] | None  # None: it is no Python

    @property
    def is_program(self) -> bool:
        """Whether importing it would start something."""
        return self.path.name in _PROGRAM_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeModules:
    """The modules of a tree that are no tests, by their paths."""

    modules: Mapping[PurePosixPath, PythonModule]

    def definition(self, path: PurePosixPath, name: str) -> Definition | None:
        """A definition, if the tree has it."""
        module = self.modules.get(path)
        return None if module is None else (module.definitions or {}).get(name)

    def everything(self) -> Iterator[tuple[PythonModule, str, Definition]]:
        """All that is defined."""
        for module in self.modules.values():
            for name, definition in (module.definitions or {}).items():
                yield module, name, definition


def modules_of(tree: SourceTree, test_paths: Sequence[str]) -> TreeModules:
    """Read the modules of a tree."""
    files = {path for path in tree.paths() if path.suffix == ".py"}
    chosen = (path for path in sorted(files) if not is_test_path(path, test_paths))
    return TreeModules(modules={path: _module(tree, path, files) for path in chosen})


def is_test_path(path: PurePosixPath, test_paths: Sequence[str]) -> bool:
    """Whether a file belongs to the tests."""
    return any(path.is_relative_to(place.rstrip("/")) for place in test_paths)


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
