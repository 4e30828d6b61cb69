"""What a search for differences is given, and what it brings back."""

from collections.abc import Callable
from dataclasses import dataclass

from agentbench.audit.task_facts import TaskFacts
from agentbench.audit.wrong_fixes.bench import Bench
from agentbench.audit.wrong_fixes.contrast import Contrast, Left
from agentbench.audit.wrong_fixes.trees import Trees


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An attempt's trees, what differs in them, and where they can be run."""

    facts: TaskFacts
    trees: Trees
    contrast: Contrast
    bench: Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A difference that was confirmed: where, and in which words."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What came of a search."""

    differences: tuple[Told, ...] = ()
    left: tuple[Left, ...] = ()  # what was not compared
    effort: str = ""  # what was looked at, in words


Search = Callable[[Subject, float], Searched]
"""Looks for differences, for so many seconds; raises SandboxError where the sandbox is lost."""
