"""The card of a data set: README.md with metadata in YAML, as the Hugging Face Hub reads it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType, NoneType, UnionType
from typing import Union, get_args, get_origin

import yaml

from agentbench import __version__
from agentbench.core.display_text import counted, printable
from agentbench.core.schema import Schema
from agentbench.extensions.export.chat import ChatMessage
from agentbench.extensions.export.folder import MARK
from agentbench.extensions.export.option_values import ExportFormat
from agentbench.extensions.export.rows import PreferenceRow, SftRow, TableRow
from agentbench.extensions.export.settings import ExportCounts, ExportOptions
from agentbench.judge.reward_kind import RewardKind
from agentbench.models.trajectory import Trajectory
from agentbench.report.json_documents import field_docstrings
from agentbench.runs.store.configuration import RunConfiguration

_ROWS: Mapping[ExportFormat, type[Schema]] = MappingProxyType(
    {
        ExportFormat.ATIF: Trajectory,
        ExportFormat.SFT: SftRow,
        ExportFormat.PREFERENCE: PreferenceRow,
        ExportFormat.PARQUET: TableRow,
    }
)
_TITLES: Mapping[ExportFormat, str] = MappingProxyType(
    {
        ExportFormat.ATIF: "Trajectories of coding agents (ATIF)",
        ExportFormat.SFT: "Chats of coding agents",
        ExportFormat.PREFERENCE: "Preference pairs of coding agents",
        ExportFormat.PARQUET: "Attempts of coding agents",
    }
)
_TAGS: Mapping[ExportFormat, tuple[str, ...]] = MappingProxyType(
    {
        ExportFormat.ATIF: ("atif", "trajectories"),
        ExportFormat.SFT: ("sft", "tool-calling"),
        ExportFormat.PREFERENCE: ("dpo", "preference"),
        ExportFormat.PARQUET: ("trajectories", "rewards"),
    }
)
_ATIF_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "schema_version": "The version of ATIF.",
        "session_id": "The run, the task and the number of the attempt.",
        "agent": "The agent with its version and its model.",
        "steps": "What was said, in the order of time, over all of the agent's conversations.",
        "notes": "Always null.",
        "final_metrics": "The tokens and the cost of the attempt.",
        "extra": "The verdict and the origin: the columns of the chat format before `kind`.",
    }
)
_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
)
_SCALARS: Mapping[object, str] = MappingProxyType(
    {bool: "bool", int: "int64", float: "float64", str: "string"}
)
_LISTED_TASKS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """What a card is written from."""

    options: ExportOptions
    counts: ExportCounts
    runs: Sequence[RunConfiguration]
    now: datetime


def card_text(facts: CardFacts) -> str:
    """The whole card."""
    metadata = yaml.safe_dump(_metadata(facts), sort_keys=False, allow_unicode=True)
    sections = (_introduction, _statistics, _columns, _provenance, _limits)
    body = "\n".join(line for section in sections for line in (*section(facts), ""))
    return f"---\n{metadata}---\n{MARK}\n\n{body}".rstrip() + "\n"


def _metadata(facts: CardFacts) -> dict[str, object]:
    chosen, rows = facts.options.format, facts.counts.rows
    is_table = chosen is ExportFormat.PARQUET
    file = "data/train.parquet" if is_table else "data/train.jsonl"
    size = next((name for most, name in _SIZES if rows < most), "100M<n<1B")
    metadata: dict[str, object] = {
        "pretty_name": _TITLES[chosen],
        "size_categories": [size],
        "task_categories": ["text-generation"],
        "tags": ["agentbench", "code", "coding-agents", *_TAGS[chosen]],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": file}]}],
    }
    if not is_table:
        # A reader of JSON would guess the types from the first rows.
        metadata["dataset_info"] = {"features": _features(_ROWS[chosen])}
    if facts.options.license is not None:
        metadata = {"license": facts.options.license, **metadata}
    return metadata


def _introduction(facts: CardFacts) -> Iterator[str]:
    options, counts = facts.options, facts.counts
    yield f"# {_TITLES[options.format]}"
    yield ""
    rows = "pair" if options.format is ExportFormat.PREFERENCE else "attempt"
    yield (
        f"{counted(counts.rows, rows)} of coding agents at {counted(len(counts.tasks), 'task')}, "
        "judged by hidden tests. Written by `agentbench export`."
    )
    yield ""
    if options.license is None:
        yield "No license was chosen. Add one before you publish this data set."
        yield ""
    if counts.unchecked:
        yield (
            f"**Not checked for leaks: {counts.unchecked} of {counts.rows} rows.** Their tasks "
            "could not be read, so nothing was searched for the hidden tests and the solutions. "
            "The column `checked` is false."
        )
    else:
        yield (
            "All rows were searched for the hidden tests of their tasks and for solutions that the "
            "agent did not write. Attempts with such text are left out."
        )
    if options.test_names:
        yield ""
        yield "The columns `tests` and `detail` name hidden tests (`--test-names`)."


def _statistics(facts: CardFacts) -> Iterator[str]:
    counts = facts.counts
    yield "## Statistics"
    yield ""
    yield "| | attempts |"
    yield "| --- | ---: |"
    yield f"| in the runs | {counts.attempts} |"
    yield f"| selected by the filters | {counts.selected} |"
    for title, counter in (
        ("verdict", counts.verdicts),
        ("reason", counts.reasons),
        ("agent, model", counts.models),
        ("left out", counts.left_out),
    ):
        for name, number in sorted(counter.items(), key=lambda each: (-each[1], each[0])):
            yield f"| {title}: {_cell(name)} | {number} |"
    if counts.redacted:
        yield ""
        yield f"Secrets were replaced by `[removed]` in {counted(counts.redacted, 'row')}."


def _columns(facts: CardFacts) -> Iterator[str]:
    chosen = facts.options.format
    yield "## Columns"
    yield ""
    yield "| column | meaning |"
    yield "| --- | --- |"
    if chosen is ExportFormat.ATIF:
        meanings = _ATIF_COLUMNS
    else:
        known = field_docstrings(_ROWS[chosen])
        meanings = {name: known[name] for name in _ROWS[chosen].model_fields}
    for name, meaning in meanings.items():
        yield f"| `{name}` | {_cell(' '.join(meaning.split()))} |"


def _provenance(facts: CardFacts) -> Iterator[str]:
    options = facts.options
    yield "## Origin"
    yield ""
    yield f"- Exported on {facts.now:%Y-%m-%d} by agentbench {__version__}."
    yield f"- Verdicts: {_reward_rule(options.reward)}"
    verdicts = ", ".join(sorted(options.selection.verdicts))
    yield f"- Verdicts that were selected: {verdicts}."
    if options.format is ExportFormat.PREFERENCE:
        yield f"- At most {options.pairs_per_task} pairs per task, drawn with seed {options.seed}."
    for run in facts.runs:
        state = "" if run.ended_at is not None else "; it was not finished"
        yield (
            f"- Run `{_cell(run.run_id)}` of {run.started_at:%Y-%m-%d}: agentbench "
            f"{_cell(run.agentbench_version)}, agent {_cell(run.agent)}, model "
            f"{_cell(run.model or 'none')}, sandbox {_cell(run.sandbox)}{state}."
        )
    yield ""
    yield "| task | digest |"
    yield "| --- | --- |"
    tasks = sorted((name, digest) for digest, name in facts.counts.tasks.items())
    for name, digest in tasks[:_LISTED_TASKS]:
        yield f"| {_cell(name)} | `{_cell(digest)}` |"
    if len(tasks) > _LISTED_TASKS:
        yield f"| and {len(tasks) - _LISTED_TASKS} more, in the rows | |"


def _reward_rule(kind: RewardKind) -> str:
    share = (
        "1 if the task is resolved, otherwise the share of the tests to fix that pass"
        if kind is RewardKind.FIXED_SHARE
        else "1 if the task is resolved, 0 if it is not by the agent's fault"
    )
    return (
        f"{share}; 0 for quarantined attempts; null if the infrastructure or the task failed. "
        "A task is resolved if each test to fix passes, no other test broke, and the integrity "
        "checks found nothing critical."
    )


def _limits(facts: CardFacts) -> Iterator[str]:
    yield "## Limits"
    yield ""
    yield (
        "- The check for leaks compares lines: one of 60 characters, or three in a row. It does "
        "not find hidden text that was encoded, translated or retold."
    )
    yield (
        "- The check also leaves out some honest attempts: those in which a tool, such as a "
        "formatter, wrote lines of the solution that do not follow from the agent's own words."
    )
    if facts.options.format in {ExportFormat.SFT, ExportFormat.PREFERENCE}:
        yield (
            "- An agent with several conversations, such as sub-agents, is shown with the longest "
            "one only."
        )
    yield "- Weak tests accept wrong fixes; `agentbench validate` measures how many."


def _features(row: type[Schema]) -> list[dict[str, object]]:
    fields = row.model_fields.items()
    return [{"name": name, **_feature(field.annotation)} for name, field in fields]


def _feature(annotation: object) -> dict[str, object]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        (annotation,) = (each for each in arguments if each is not NoneType)
        return _feature(annotation)
    if origin is tuple:
        return {"list": "json"}
    if isinstance(annotation, type):
        if issubclass(annotation, ChatMessage) or annotation is dict:
            return {"dtype": "json"}
        if issubclass(annotation, Schema):
            is_flat = annotation.__module__.startswith("agentbench.extensions.export")
            return {"struct": _features(annotation)} if is_flat else {"dtype": "json"}
        if annotation in _SCALARS:
            return {"dtype": _SCALARS[annotation]}
    return {"dtype": "json" if origin is dict else "string"}


# A text in a table of Markdown, in which it means only itself.
def _cell(text: str) -> str:
    plain = printable(text, limit=300)
    for character in "\\`|<>[]*":
        plain = plain.replace(character, f"&#{ord(character)};")
    return plain
