"""The Python files of a tree as modules: where each is imported from, and what it defines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.audit.wrong_fixes.definitions import Definition, definitions_of
from agentbench.audit.wrong_fixes.trees import Tree

_INIT = "__init__.py"
_PROGRAMS = frozenset({"__main__.py", "setup.py", "conftest.py", "noxfile.py"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A file and the name that it is imported by."""

    path: PurePosixPath
    root: PurePosixPath  # the folder that has to be on sys.path
    name: str
    definitions: Mapping[str, Definition] | None  # None: it is no Python

    @property
    def is_program(self) -> bool:
        """Whether importing it would start something."""
        return self.path.name in _PROGRAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The modules of a tree that are no tests, by their paths."""

    modules: Mapping[PurePosixPath, Module]

    def definition(self, path: PurePosixPath, name: str) -> Definition | None:
        """A definition, if the tree has it."""
        module = self.modules.get(path)
        return None if module is None else (module.definitions or {}).get(name)

    def everything(self) -> Iterator[tuple[Module, str, Definition]]:
        """All that is defined."""
        for module in self.modules.values():
            for name, definition in (module.definitions or {}).items():
                yield module, name, definition


def package_of(tree: Tree, test_paths: Sequence[str]) -> Package:
    """Read the modules of a tree."""
    files = {path for path in tree.paths() if path.suffix == ".py"}
    chosen = (path for path in sorted(files) if not is_test(path, test_paths))
    return Package(modules={path: _module(tree, path, files) for path in chosen})


def is_test(path: PurePosixPath, test_paths: Sequence[str]) -> bool:
    """Whether a file belongs to the tests."""
    return any(path.is_relative_to(place.rstrip("/")) for place in test_paths)


def _module(tree: Tree, path: PurePosixPath, files: set[PurePosixPath]) -> Module:
    root = path.parent
    while root / _INIT in files and root.name:
        root = root.parent
    inner = path.relative_to(root).with_suffix("")
    parts = inner.parts[:-1] if path.name == _INIT else inner.parts
    return Module(
        path=path,
        root=root,
        name=".".join(parts),
        definitions=definitions_of(tree.content(path) or b""),
    )
