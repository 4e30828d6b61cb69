"""One way in which the tests of a repository may run, and why it is thought so."""

from dataclasses import dataclass, field

from agentbench.tasks.task_file import EnvironmentTable, PytestTable, SetupTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The tables of a task.toml by which a repository's tests may run."""

    environment: EnvironmentTable = field(default_factory=EnvironmentTable)
    setup: SetupTable = field(default_factory=SetupTable)
    tests: PytestTable = field(default_factory=PytestTable)
    reasons: tuple[str, ...] = ()
    """Where each piece was read, as in "extra `test`: pyproject.toml"."""
