"""The test functions of a file, and which of them a node id is about."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentbench.stages.verification.mutation.names import FunctionNode, name_of

_BLOCKS = (ast.If, ast.Try, ast.ExceptHandler, ast.With, ast.For)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFunction:
    """A function at the top of a file or of a class."""

    name: str
    """As in a node id: `TestX::test_y`."""
    node: FunctionNode
    is_method: bool

    @property
    def looks_like_a_test(self) -> bool:
        """Whether pytest takes it for a test, as far as its name tells."""
        return self.node.name.startswith("test") or self.node.name.endswith("_test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A function with the tests of it that are selected."""

    function: FoundFunction | None
    """`None` if the file does not define it."""
    cases: tuple[str | None, ...]
    """The parts of node ids in brackets; `None` stands for all that there are."""
    tests: tuple[str, ...]
    """Their node ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsOfFile:
    """All functions of a file, and the classes that hand theirs down."""

    functions: Mapping[str, FoundFunction]
    classes: Mapping[str, ast.ClassDef]

    def find(self, name: str) -> FoundFunction | None:
        """The function that a node id names, also if a base class of the file defines it."""
        return self._find(name, set())

    def select(self, tests: Iterable[str]) -> dict[str, Selected]:
        """Node ids by the function that decides them; unknown ones by the name they give."""
        grouped: dict[str, list[str]] = {}
        for test in sorted(tests):
            name, _ = split_id(test)
            function = self.find(name)
            grouped.setdefault(name if function is None else function.name, []).append(test)
        return {
            name: Selected(
                function=self.find(name),
                cases=tuple(split_id(test)[1] for test in found),
                tests=tuple(found),
            )
            for name, found in grouped.items()
        }

    def _find(self, name: str, seen: set[str]) -> FoundFunction | None:
        if name in self.functions or name in seen:
            return self.functions.get(name)
        seen.add(name)
        owner, _, method = name.rpartition("::")
        for base in self.classes[owner].bases if owner in self.classes else ():
            found = self._find(f"{name_of(base)}::{method}", seen)
            if found is not None:
                return found
        return None


def split_id(test: str) -> tuple[str, str | None]:
    """The function's part of a node id, and the one in brackets if there is one."""
    _, _, inner = test.partition("::")
    name, bracket, case = inner.partition("[")
    return name, case.removesuffix("]") if bracket else None


def functions_of(tree: ast.Module) -> FunctionsOfFile:
    """All functions that a file defines outside of functions."""
    functions: dict[str, FoundFunction] = {}
    classes: dict[str, ast.ClassDef] = {}
    for prefix, node in _definitions(tree.body, ""):
        if isinstance(node, ast.ClassDef):
            classes[prefix + node.name] = node
        else:
            name = prefix + node.name
            functions[name] = FoundFunction(name=name, node=node, is_method=bool(prefix))
    return FunctionsOfFile(functions=functions, classes=classes)


def _definitions(
    body: Iterable[ast.AST], prefix: str
) -> Iterator[tuple[str, FunctionNode | ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix, node
        elif isinstance(node, ast.ClassDef):
            yield prefix, node
            yield from _definitions(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, _BLOCKS):
            yield from _definitions(list(ast.iter_child_nodes(node)), prefix)
