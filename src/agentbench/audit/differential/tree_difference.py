"""What differs between the reference's tree and the agent's, and what a user can call of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from agentbench.audit.differential.modules import (
    DefinitionKind,
    PythonModule,
    TreeModules,
    is_test_path,
    modules_of,
)
from agentbench.audit.differential.trees import AttemptTrees

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_MAX_CALL_DISTANCE = 8  # calls from what differs


class DefinitionId(NamedTuple):
    """A definition: its file, and its qualified name."""

    path: PurePosixPath
    name: str

    def __str__(self) -> str:
        """As findings name it."""
        return f"{self.path}::{self.name}"


class NotCompared(NamedTuple):
    """Something that is not compared."""

    where: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDifference:
    """Two trees held against each other."""

    differing: tuple[DefinitionId, ...]  # in both trees, and not the same
    one_sided: tuple[NotCompared, ...]  # public, and in one tree only; and whatever is no Python
    callable: tuple[DefinitionId, ...]  # what a user can call, nearest to what differs first
    modules: Mapping[PurePosixPath, PythonModule]  # of the reference's tree

    @property
    def none(self) -> bool:
        """Whether the trees are the same but for comments, docstrings and layout."""
        return not self.differing and not self.one_sided and not self.callable


def compare_trees(
    trees: AttemptTrees, test_paths: Sequence[str], tested: frozenset[str]
) -> TreeDifference:
    """Find what differs.

    Args:
        trees: The trees.
        test_paths: Where the tests are, which do not count.
        tested: Names that tests import: they are part of a contract, also where they are private.
    """
    reference = modules_of(trees.reference, test_paths)
    agents = modules_of(trees.agents, test_paths)
    differing, lone = _differing(reference, agents)
    reached = map(_made_by_class, _reached([*differing, *lone], reference, agents))
    return TreeDifference(
        differing=tuple(differing),
        one_sided=(
            *(_one_sided(spot, reference) for spot in lone if _is_public(spot.name, tested)),
            *_other_files(trees, test_paths),
            *_unparsed(reference, agents),
        ),
        callable=tuple(
            spot for spot in dict.fromkeys(reached) if _is_callable(spot, reference, agents, tested)
        ),
        modules=reference.modules,
    )


def _differing(
    reference: TreeModules, agents: TreeModules
) -> tuple[list[DefinitionId], list[DefinitionId]]:
    """The definitions that differ, and those that only one tree has."""
    ours, theirs = _shapes(reference), _shapes(agents)
    differing = [spot for spot in ours if spot in theirs and ours[spot] != theirs[spot]]
    lone = [spot for spot in [*ours, *theirs] if (spot in ours) != (spot in theirs)]
    return differing, lone


def _shapes(package: TreeModules) -> dict[DefinitionId, str]:
    return {
        DefinitionId(module.path, name): definition.shape
        for module, name, definition in package.everything()
    }


def _reached(changed: Iterable[DefinitionId], *packages: TreeModules) -> list[DefinitionId]:
    """What differs and what may call it, by name, the nearest first."""
    users: dict[str, dict[DefinitionId, None]] = defaultdict(dict)
    for package in packages:
        for module, name, definition in package.everything():
            for use in sorted(definition.uses):
                users[use][DefinitionId(module.path, name)] = None
    found = dict.fromkeys(changed)
    front = list(found)
    for _ in range(_MAX_CALL_DISTANCE):
        names = dict.fromkeys(_called_by(spot.name) for spot in front)
        front = [user for name in names for user in users.get(name, ()) if user not in found]
        found.update(dict.fromkeys(front))
    return list(found)


def _made_by_class(spot: DefinitionId) -> DefinitionId:
    """Nobody calls a constructor but by its class."""
    scope, _, own = spot.name.rpartition(".")
    return DefinitionId(spot.path, scope) if own in _CONSTRUCTORS and scope else spot


def _called_by(name: str) -> str:
    """The name by which others make use of something."""
    scope, _, own = name.rpartition(".")
    return scope.rpartition(".")[2] if own in _CONSTRUCTORS and scope else own


def _is_callable(
    spot: DefinitionId, reference: TreeModules, agents: TreeModules, tested: frozenset[str]
) -> bool:
    ours, theirs = (package.definition(*spot) for package in (reference, agents))
    if ours is None or theirs is None or reference.modules[spot.path].is_program:
        return False
    return DefinitionKind.VALUE not in {ours.kind, theirs.kind} and _is_public(spot.name, tested)


def _is_public(name: str, tested: frozenset[str]) -> bool:
    parts = name.split(".")
    private = (part for part in parts if part.startswith("_") and not part.endswith("__"))
    return all(part in tested for part in private)


def _one_sided(spot: DefinitionId, reference: TreeModules) -> NotCompared:
    here = reference.definition(*spot) is not None
    return NotCompared(str(spot), f"only the {'reference' if here else 'agent'} has it")


def _other_files(trees: AttemptTrees, test_paths: Sequence[str]) -> Iterable[NotCompared]:
    changed = dict.fromkeys([*trees.reference.change, *trees.agents.change])
    for path in sorted(changed):
        same = trees.reference.content(path) == trees.agents.content(path)
        if path.suffix != ".py" and not same and not is_test_path(path, test_paths):
            yield NotCompared(path.as_posix(), "is no Python")
    for name in trees.unread:
        yield NotCompared(name, "its content is not in patch.diff: it is binary or large")


def _unparsed(reference: TreeModules, agents: TreeModules) -> Iterable[NotCompared]:
    for path, module in agents.modules.items():
        before = reference.modules.get(path)
        if module.definitions is None and (before is None or before.definitions is not None):
            yield NotCompared(path.as_posix(), "cannot be parsed")
