"""A backtracking search for one version of every package that is needed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from depsolve.index import Index
from depsolve.ranges import Range
from depsolve.version import Version


class Conflict(Exception):
    """No choice of versions satisfies all requirements."""

    def __init__(self, package: str, wanted: list[tuple[str, Range]]) -> None:
        self.package = package
        self.wanted = wanted
        reasons = ", ".join(f"{who} wants {what}" for who, what in wanted)
        super().__init__(f"no version of {package} fits: {reasons}")


@dataclass
class _State:
    """Versions chosen so far, and who asked for what."""

    chosen: dict[str, Version] = field(default_factory=dict)
    wanted: dict[str, list[tuple[str, Range]]] = field(default_factory=dict)

    def copy(self) -> "_State":
        wanted = {name: list(ranges) for name, ranges in self.wanted.items()}
        return _State(dict(self.chosen), wanted)

    def want(self, name: str, who: str, what: Range) -> None:
        self.wanted.setdefault(name, []).append((who, what))

    def admits(self, name: str, version: Version) -> bool:
        return all(what.admits(version) for _, what in self.wanted.get(name, []))

    def open_package(self) -> str | None:
        """The next package without a version, in the order of names."""
        return min((name for name in self.wanted if name not in self.chosen), default=None)


def resolve(index: Index, requirements: Mapping[str, str], root: str = "you") -> dict[str, Version]:
    """Choose a version of each required package and of all that these require in turn.

    Args:
        index: The packages to choose from.
        requirements: Ranges by package name.
        root: What messages call the one who asks.

    Raises:
        Conflict: No choice satisfies everybody.
        UnknownPackage: Somebody requires a package that the index does not list.
    """
    state = _State()
    for name, text in requirements.items():
        state.want(name, root, Range.parse(text))
    found = _search(index, state)
    return dict(sorted(found.chosen.items()))


def _search(index: Index, state: _State) -> _State:
    name = state.open_package()
    if name is None:
        return state
    failure = Conflict(name, state.wanted[name])
    for version in index.versions(name):
        if not state.admits(name, version):
            continue
        attempt = _choose(index, state, name, version)
        try:
            _check_chosen(attempt)
            return _search(index, attempt)
        except Conflict as conflict:
            failure = conflict
    raise failure


def _choose(index: Index, state: _State, name: str, version: Version) -> _State:
    attempt = state.copy()
    attempt.chosen[name] = version
    for other, what in index.requirements(name, version).items():
        attempt.want(other, f"{name} {version}", what)
    return attempt


def _check_chosen(state: _State) -> None:
    for name, version in state.chosen.items():
        if not state.admits(name, version):
            raise Conflict(name, state.wanted[name])
