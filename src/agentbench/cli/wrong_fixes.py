"""What `agentbench audit --wrong-fixes` runs in, and what it says while it runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench import extras
from agentbench.cli import options

if TYPE_CHECKING:
    from agentbench.audit.run_folder import RunFolder
    from agentbench.audit.runs import Further
    from agentbench.runs.workshop import Workshop
    from agentbench.tasks.mirror import Mirrors


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """What was asked for."""

    sandbox: options.SandboxName | None
    seconds: float
    cache_dir: Path

    @classmethod
    def asked(cls, sandbox: options.SandboxName | None, seconds: float) -> "Comparing":
        """Check what is needed.

        Raises:
            UsageError: the extra is not installed, or there is no folder for what is kept.
        """
        from agentbench.runs.places import usable_cache_dir

        extras.require("audit --wrong-fixes", extras.SYMBOLIC)
        return cls(sandbox=sandbox, seconds=seconds, cache_dir=usable_cache_dir())

    def of(self, run: "RunFolder", mirrors: "Mirrors", glob: str | None) -> "Further | None":
        """What compares the attempts of a run; `None` where none was resolved.

        Raises:
            UnavailableError: its sandbox does not work here.
        """
        from agentbench.audit.wrong_fixes.attempts import WrongFixes

        number = _resolved(run, glob)
        name = run.configuration.run_id
        if number == 0:
            _say(f"{name}: no attempt was resolved: there is nothing to compare")
            return None
        workshop = self._workshop(run, mirrors)
        attempts = f"{number} resolved attempt{'s' * (number != 1)}"
        _say(
            f"{name}: comparing {attempts} in {workshop.provider.name}, "
            f"{self.seconds:g} s each at most for the search"
        )
        return WrongFixes(
            workshop=workshop, cache_dir=self.cache_dir, seconds=self.seconds, say=_say
        ).findings

    def _workshop(self, run: "RunFolder", mirrors: "Mirrors") -> "Workshop":
        from threading import Event

        from agentbench.runs.workshop import Workshop
        from agentbench.sandbox.choose import choose_provider
        from agentbench.stages.preparation import PreparationCache

        name = run.configuration.sandbox if self.sandbox is None else self.sandbox.value
        chosen = choose_provider(name, cache_dir=self.cache_dir)
        for warning in chosen.warnings:
            _say(f"warning: {warning}")
        return Workshop(
            provider=chosen.provider,
            mirrors=mirrors,
            cache=PreparationCache(self.cache_dir / "prepared", chosen.provider),
            cancel=Event(),
        )


def _resolved(run: "RunFolder", glob: str | None) -> int:
    from fnmatch import fnmatchcase

    fitting = (one for one in run.latest if glob is None or fnmatchcase(one.task_id, glob))
    return sum(one.resolved for one in fitting)


def _say(line: str) -> None:
    from agentbench.report.harmless import harmless

    typer.echo(harmless(line, limit=1000), err=True)
