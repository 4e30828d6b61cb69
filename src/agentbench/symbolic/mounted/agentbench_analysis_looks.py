"""What each tool looks for on a path: a broken contract, an exception, ways that are gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import BoundArguments

from agentbench_alarm import OverError
from agentbench_analysis_code import cut
from agentbench_analysis_contract import Behaviour, Contract, behave
from agentbench_analysis_paths import Look, Path
from agentbench_analysis_wall import BlockedError
from crosshair.util import ControlFlowException

_MOST_FINDINGS = 5
_MOST_CALLS = 250
_MORE_SECONDS = 2.0  # that a search goes on for, once it has found something
_PLAIN_SECONDS = 0.5
_MOST_CALL = 1500  # characters of a call that is shown
_FAILING = ("raised", "broken", "changed")

Json = dict[str, object]


@dataclass
class Calling(Look):
    """Calls the function on each path, and what is of interest once more, for real."""

    name: str
    contract: Contract
    replay: Callable[[Json], Json]
    of_class: bool = False
    findings: list[Json] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    hits: int = 0
    calls: int = 0
    _until: float = float("inf")

    def run(self, given: BoundArguments, old: Mapping[str, object]) -> Behaviour:
        """Call it."""
        try:
            return behave(self.contract, given, old)
        except (Exception, ControlFlowException, OverError, BlockedError):
            raise
        except BaseException as fault:  # noqa: BLE001 - such as SystemExit
            return Behaviour("raised", fault=fault)

    def failed(self, fault: BaseException) -> Behaviour:
        """It raised."""
        return Behaviour("raised", fault=fault)

    def skips(self, seen: Behaviour) -> bool:
        """An input that the contract excludes."""
        return seen.ending == "outside"

    def take(self, path: Path) -> bool:
        """Keep it, if it is new and really so."""
        self.hits += 1
        real = self._called(path)
        call = self._shown(path)
        if not self._is_so(real):
            self.unconfirmed.append(call)
        elif _key(real) not in map(_key, self.findings):
            self.findings.append({"call": call, **_kept(real)})
            self._until = min(self._until, time.monotonic() + _MORE_SECONDS)
        return self._has_enough()

    def try_plain(self, arguments: str) -> bool:
        """Really call it with arguments that no search has found; says whether that ended."""
        path = Path(arguments=arguments, references=(), seen=None)
        real = self.replay({"arguments": arguments, "references": [], "seconds": _PLAIN_SECONDS})
        if self._is_so(real) and real.get("type") != "MemoryError":  # what there is here is little
            self.hits += 1
            self.findings.append({"call": self._shown(path), **_kept(real)})
        return real.get("ending") not in ("hung", "died")

    def _shown(self, path: Path) -> str:
        """A call as one would write it: a class method's class stands before its name already."""
        arguments = path.arguments.partition(", ")[2] if self.of_class else path.arguments
        return cut(f"{self.name}({arguments})", _MOST_CALL)

    def _called(self, path: Path) -> Json:
        self.calls += 1
        return self.replay({"arguments": path.arguments, "references": path.references})

    def _is_so(self, real: Json) -> bool:
        return real.get("ending") in _FAILING

    def _has_enough(self) -> bool:
        many = len(self.findings) >= _MOST_FINDINGS or self.calls >= _MOST_CALLS
        return many or time.monotonic() >= self._until


class Checking(Calling):
    """Looks for what breaks the contract."""

    def wants(self, seen: Behaviour) -> bool:
        """It does."""
        return seen.ending in _FAILING


@dataclass
class Raising(Calling):
    """Looks for an exception."""

    kind: type[BaseException] = BaseException

    def wants(self, seen: Behaviour) -> bool:
        """It was raised."""
        return isinstance(seen.fault, self.kind)

    def _is_so(self, real: Json) -> bool:
        return real.get("ending") == "raised" and real.get("matches") is True


@dataclass
class Branching(Calling):
    """Looks at which ways are gone, for real, and keeps a call for each."""

    went: set[int] = field(default_factory=set)
    examples: dict[int, str] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)

    def run(self, given: BoundArguments, old: Mapping[str, object]) -> Behaviour:
        """Call it, with nothing marked yet."""
        self.went.clear()
        return super().run(given, old)

    def wants(self, seen: Behaviour) -> bool:
        """Each path may show a line that no other does."""
        del seen
        return True

    def take(self, path: Path) -> bool:
        """Keep what a real call goes through."""
        self.hits += 1
        real = self._called(path)
        went = set(real.get("went", ()))
        if not self.went <= went:  # the search went where the call does not
            self.unconfirmed.append(self._shown(path))
        for number in went:
            self.examples.setdefault(number, self._shown(path))
        self.lines |= set(real.get("lines", ()))
        return self.calls >= _MOST_CALLS


def _key(real: Json) -> tuple[object, ...]:
    return real.get("type"), real.get("line"), real.get("what")


def _kept(real: Json) -> Json:
    names = ("inputs", "ending", "said", "type", "line", "what")
    return {name: real.get(name) for name in names}
