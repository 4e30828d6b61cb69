"""Which function of a file decides a test, where no other reading of the file is possible."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agentbench.stages.verification.mutation.functions import FunctionsOfFile

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definers:
    """The functions of a file whose names stand for nothing else in it."""

    functions: FunctionsOfFile
    again: frozenset[str]
    """Names that are defined in more places than are known, or bound in another way."""
    used: frozenset[str]
    """Names that are read, so that what they stand for may have a second name."""
    bases: frozenset[str]
    """Classes at the top of the file of whose name there is no other, at the top of a class."""

    def is_sure(self, name: str) -> bool:
        """Whether the file's function of this name is known to be the one that pytest takes."""
        parts = name.split("::")
        return not self.again.intersection(parts) and parts[-1] not in self.used

    def find(self, name: str) -> str | None:
        """The name of the function that a node id's name surely stands for."""
        seen: set[str] = set()
        while name not in seen and self.is_sure(name):
            if name in self.functions.functions:
                return name
            seen.add(name)
            owner, _, method = name.rpartition("::")
            base = self._only_base(owner)
            if base is None:
                return None
            name = f"{base}::{method}"
        return None

    def _only_base(self, owner: str) -> str | None:
        found = self.functions.classes.get(owner)
        match found.bases if found is not None else []:
            case [ast.Name(id=name)] if name in self.bases:
                return name
            case _:
                return None


def definers(tree: ast.Module, functions: FunctionsOfFile) -> Definers:
    """The functions of a file, with the names that make their being the only ones uncertain."""
    known = Counter(_last(name) for name in (*functions.functions, *functions.classes))
    defined: Counter[str] = Counter()
    bound: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS):
            defined[node.name] += 1
        for name, is_read in _other_names(node):
            (used if is_read else bound).add(name)
    again = {name for name, count in defined.items() if count > known[name]}
    return Definers(
        functions=functions,
        again=frozenset(again | bound),
        used=frozenset(used),
        bases=frozenset(name for name in functions.classes if known[name] == 1),
    )


def _last(name: str) -> str:
    return name.rpartition("::")[2]


def _other_names(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Names with whether they are read, or bound by anything but a definition."""
    match node:
        case ast.Name(id=name, ctx=context) | ast.Attribute(attr=name, ctx=context):
            yield name, isinstance(context, ast.Load)
        case ast.alias(name=name, asname=asname):
            yield asname or name.rpartition(".")[2], False
        case ast.Global(names=names):
            for name in names:
                yield name, False
        case _:
            pass
