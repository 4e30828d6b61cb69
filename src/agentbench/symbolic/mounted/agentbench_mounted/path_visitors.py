"""What each tool looks for on a path: a broken contract, an exception, a branch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosshair.util import ControlFlowException

from .contract import Behaviour, behave
from .foreign_code import OutOfTimeError, call_foreign
from .path_search import PathInput
from .side_effects import BlockedError
from .submitted_code import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from inspect import BoundArguments

    from .contract import Contract
    from .messages import Json

_MOST_FINDINGS = 5
_MOST_CALLS = 250
_MORE_SECONDS = 2.0  # for which a search goes on after its first finding
_PLAIN_SECONDS = 0.5
_MOST_CALL = 1500  # characters of a call that is shown
_FAILING = ("raised", "broken", "changed")
_SHOWN = ("inputs", "ending", "said", "type", "line", "what")


@dataclass
class ContractVisitor:
    """Looks for a broken contract: calls the function on each path, and for real if it breaks."""

    name: str
    contract: Contract
    replay: Callable[[Json], Json]
    is_class_method: bool = False
    findings: list[Json] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    hits: int = 0
    calls: int = 0
    _until: float = float("inf")

    def run(self, given: BoundArguments, old: Mapping[str, object]) -> Behaviour:
        """Call it."""
        result = call_foreign(
            lambda: behave(self.contract, given, old),
            catch=BaseException,
            let_through=(Exception, ControlFlowException, OutOfTimeError, BlockedError),
        )
        # An error that is no Exception, such as SystemExit, is a behaviour like another.
        return result.value or Behaviour("raised", fault=result.error)

    def wants(self, behaviour: Behaviour) -> bool:
        """Whether the behaviour breaks the contract."""
        return behaviour.ending in _FAILING

    def take(self, path: PathInput) -> bool:
        """Add a finding if a real call confirms it and it is new."""
        self.hits += 1
        real = self._call(path)
        if not self._is_confirmed(real):
            self.unconfirmed.append(self._shown(path))
        elif _identity(real) not in map(_identity, self.findings):
            self._add(path, real)
            self._until = min(self._until, time.monotonic() + _MORE_SECONDS)
        many = len(self.findings) >= _MOST_FINDINGS or self.calls >= _MOST_CALLS
        return many or time.monotonic() >= self._until

    def try_plain(self, arguments: str) -> bool:
        """Really call it with arguments that no search has found; returns whether that ended."""
        real = self.replay({"arguments": arguments, "references": [], "seconds": _PLAIN_SECONDS})
        if self._is_confirmed(real) and real.get("type") != "MemoryError":  # memory is limited here
            self.hits += 1
            self._add(PathInput(arguments=arguments), real)
        return real.get("ending") not in ("hung", "died")

    def _add(self, path: PathInput, real: Json) -> None:
        self.findings.append(
            {"call": self._shown(path), **{name: real.get(name) for name in _SHOWN}}
        )

    def _shown(self, path: PathInput) -> str:
        """The call as a user would write it; the name of a class method includes its class."""
        arguments = path.arguments.partition(", ")[2] if self.is_class_method else path.arguments
        return cut(f"{self.name}({arguments})", _MOST_CALL)

    def _call(self, path: PathInput) -> Json:
        self.calls += 1
        return self.replay({"arguments": path.arguments, "references": path.references})

    def _is_confirmed(self, real: Json) -> bool:
        return real.get("ending") in _FAILING


@dataclass
class ExceptionVisitor(ContractVisitor):
    """Looks for an exception."""

    kind: type[BaseException] = BaseException

    def wants(self, behaviour: Behaviour) -> bool:
        """Whether the exception was raised."""
        return isinstance(behaviour.fault, self.kind)

    def _is_confirmed(self, real: Json) -> bool:
        return real.get("ending") == "raised" and real.get("matches") is True


@dataclass
class BranchVisitor(ContractVisitor):
    """Looks for the branches that real calls take, and keeps a call for each."""

    taken: set[int] = field(default_factory=set)  # filled by the marked code
    examples: dict[int, str] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)

    def run(self, given: BoundArguments, old: Mapping[str, object]) -> Behaviour:
        """Call it, and record the branches of this call only."""
        self.taken.clear()
        return super().run(given, old)

    def wants(self, behaviour: Behaviour) -> bool:
        """Each path may show a line that no other shows."""
        del behaviour
        return True

    def take(self, path: PathInput) -> bool:
        """Keep the branches and lines of a real call."""
        self.hits += 1
        real = self._call(path)
        taken = set(real.get("went", ()))
        if not self.taken <= taken:  # the search took a branch that the real call does not take
            self.unconfirmed.append(self._shown(path))
        for number in taken:
            self.examples.setdefault(number, self._shown(path))
        self.lines |= set(real.get("lines", ()))
        return self.calls >= _MOST_CALLS


def _identity(real: Json) -> tuple[object, ...]:
    return real.get("type"), real.get("line"), real.get("what")
