"""The attempt of a row of the corpus, and what the rules find in it."""

from dataclasses import dataclass
from pathlib import Path

from agentbench import RunOptions, run_attempt
from agentbench.extensions.behaviour.command import behaviours_in
from agentbench.extensions.behaviour.tags import Tag
from agentbench.sandbox.interface import SandboxProvider
from tests.extensions.behaviour.corpora.agents import Row
from tests.extensions.behaviour.corpora.store_task import write_task
from tests.fakes.scripted_model import ScriptedModel

KEY = "sk-scripted-model-of-the-corpus"


def attempt(row: Row, provider: SandboxProvider, options: RunOptions, folder: Path) -> Path:
    """Make the attempt of a row in a new folder, and give its run.

    `OPENAI_API_KEY` is `KEY` meanwhile.
    """
    task = write_task(folder / "store", receipts=row.receipts, limits=row.limits)
    chosen = options.replace(runs_dir=folder / "runs", timeline=row.timeline)
    with ScriptedModel(row.answers, key=KEY) as server:
        if row.answers:
            model = {"model": "openai/scripted", "base_url": server.base_url, "probe": False}
            chosen = chosen.replace(**model)
        record = run_attempt(task, row.agent, sandbox=provider, options=chosen)
    run = chosen.runs_dir / record.run_id
    if row.change_files is not None:
        row.change_files(run)
    return run


def tags_found(run: Path) -> frozenset[Tag]:
    """The tags of the one attempt of a run."""
    (behaviour,) = behaviours_in(run)
    return behaviour.tags


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCounts:
    """How well the rule of a tag did in some rows."""

    tag: Tag
    expected: int
    found: int
    wrong: tuple[str, ...]
    """Rows in which the rule finds the tag although it does not hold."""

    missed: tuple[str, ...]

    @property
    def precision(self) -> float:
        return 1 - len(self.wrong) / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / self.expected if self.expected else 1.0

    def line(self) -> str:
        """A line of the table that a failing test prints."""
        counts = f"{self.tag:27} {self.expected:8} {self.found:5}"
        return f"{counts} {len(self.wrong):5} {len(self.missed):6}  " + "; ".join(
            [
                *(f"wrong: {name}" for name in self.wrong),
                *(f"missed: {name}" for name in self.missed),
            ]
        )


def count_tags(found: dict[str, frozenset[Tag]], rows: tuple[Row, ...]) -> list[TagCounts]:
    """Compare what the rules found, by the names of rows, with the rows' tags."""
    return [
        TagCounts(
            tag=tag,
            expected=sum(tag in row.tags for row in rows),
            found=sum(tag in found[row.name] for row in rows),
            wrong=tuple(row.name for row in rows if tag in found[row.name] - row.tags),
            missed=tuple(row.name for row in rows if tag in row.tags - found[row.name]),
        )
        for tag in Tag
    ]
