"""Writes a data set from runs: selects attempts, checks them, and writes rows and the card."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from agentbench.errors import InputError
from agentbench.extensions.export.attempts import AttemptReader, ExportedAttempt, LeftOutError
from agentbench.extensions.export.card import CardFacts, card_text
from agentbench.extensions.export.data_files import RowFile, json_lines, parquet
from agentbench.extensions.export.folder import CARD, DATA, data_set_folder
from agentbench.extensions.export.option_values import ExportFormat
from agentbench.extensions.export.pairs import AttemptRef, PairPlan, pair_row
from agentbench.extensions.export.redaction import RowRedactor
from agentbench.extensions.export.rows import (
    SftRow,
    TableFinding,
    TableRow,
    TableTest,
    chat_json,
    table_messages,
)
from agentbench.extensions.export.selection import verdict_kind
from agentbench.extensions.export.settings import ExportCounts, ExportOptions
from agentbench.extensions.export.sources import SourceRun, TaskSources
from agentbench.runs.store.summaries import AttemptSummary

_JSON: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
_ORACLE = "oracle"
_UNCHECKED_NAMED = 10  # tasks that a message names


class DataSetExport:
    """One export."""

    def __init__(
        self,
        runs: Sequence[SourceRun],
        tasks: TaskSources,
        options: ExportOptions,
        environ: Mapping[str, str],
    ) -> None:
        self._runs = runs
        self._tasks = tasks
        self._options = options
        self._reader = AttemptReader(tasks=tasks, reward=options.reward)
        self._redactor = RowRedactor(environ)
        self.counts = ExportCounts()

    def write(self, target: Path, now: datetime) -> ExportCounts:
        """Write the data set into a folder.

        Raises:
            InputError: a task cannot be read, a record is damaged, or no attempt gives a row.
            UsageError: the folder has other files, or cannot be written.
        """
        selected = self._select()
        with data_set_folder(target, overwrite=self._options.overwrite) as folder:
            with self._open(folder / DATA) as file:
                rows = (
                    self._pair_rows(selected)
                    if self._options.format is ExportFormat.PREFERENCE
                    else self._rows(selected)
                )
                for row in rows:
                    file.write(self._redactor.row(row))
                    self.counts.rows += 1
            self.counts.redacted = self._redactor.rows
            if not self.counts.rows:
                raise InputError("expected at least one row, found none", *self.left_out())
            runs = [run.configuration for run in self._runs]
            facts = CardFacts(options=self._options, counts=self.counts, runs=runs, now=now)
            (folder / CARD).write_text(card_text(facts), "utf-8")
        return self.counts

    def left_out(self) -> Iterator[str]:
        """A line for each reason why attempts are not in the data set."""
        counts = self.counts
        if counts.attempts > counts.selected:
            yield f"{counts.attempts - counts.selected} left out: not selected by the filters"
        for reason, number in sorted(counts.left_out.items()):
            yield f"{number} left out: {reason}"

    def _open(self, folder: Path) -> AbstractContextManager[RowFile]:
        if self._options.format is ExportFormat.PARQUET:
            return parquet(folder / "train.parquet", TableRow)
        return json_lines(folder / "train.jsonl")

    def _select(self) -> list[list[int]]:
        """The numbers of each run's selected records.

        Raises:
            InputError: the task of one cannot be read, so that it cannot be checked.
        """
        selected: list[list[int]] = []
        problems: dict[str, str] = {}
        for run in self._runs:
            numbers = []
            for number, attempt in run.summaries():
                self.counts.attempts += 1
                if not self._options.selection.takes(attempt):
                    continue
                self.counts.selected += 1
                if attempt.agent == _ORACLE:
                    self.counts.left_out["the agent is the oracle, which applies the solution"] += 1
                    continue
                numbers.append(number)
                problem = self._tasks.find(run, attempt)
                if problem is not None:
                    problems.setdefault(attempt.task_id, problem)
            selected.append(numbers)
        if problems and not self._options.unchecked:
            raise InputError(*_problem_lines(problems))
        return selected

    def _read(self, selected: list[list[int]]) -> Iterator[tuple[AttemptRef, ExportedAttempt]]:
        for at, (run, numbers) in enumerate(zip(self._runs, selected, strict=True)):
            for number, record in zip(numbers, run.records(numbers), strict=True):
                try:
                    attempt = self._reader.read(run, record)
                    self._check_contents(attempt)
                except LeftOutError as error:
                    self.counts.left_out[str(error)] += 1
                    continue
                yield (
                    AttemptRef(record.run_id, record.task_id, record.attempt, at, number),
                    attempt,
                )

    def _check_contents(self, attempt: ExportedAttempt) -> None:
        match self._options.format:
            case ExportFormat.ATIF:
                if attempt.trajectory is None:
                    raise LeftOutError("no conversation with a model was recorded")
            case ExportFormat.SFT | ExportFormat.PREFERENCE:
                if attempt.kind is None:
                    raise LeftOutError("it has neither a conversation nor a patch to show")
                if not attempt.is_complete:
                    raise LeftOutError("its log lacks a part of a text")
            case ExportFormat.PARQUET:
                pass

    def _rows(self, selected: list[list[int]]) -> Iterator[dict[str, object]]:
        for _, attempt in self._read(selected):
            self._count(attempt)
            self.counts.unchecked += not attempt.facts.checked
            yield _row(attempt, self._options)

    def _pair_rows(self, selected: list[list[int]]) -> Iterator[dict[str, object]]:
        options, counts = self._options, self.counts
        plan = PairPlan(pairs_per_task=options.pairs_per_task, seed=options.seed)
        for ref, attempt in self._read(selected):
            plan.add(ref, attempt)
        alone = plan.without_partner()
        if alone:
            counts.left_out["no attempt with the other verdict has the same prompt"] += alone
        known: set[AttemptRef] = set()
        for pair in plan.pairs():
            chosen, rejected = map(self._again, pair)
            row = pair_row(chosen, rejected)
            if row is None:
                continue
            for ref, attempt in zip(pair, (chosen, rejected), strict=True):
                if ref not in known:
                    known.add(ref)
                    self._count(attempt)
            counts.unchecked += not row.checked
            chats = {"prompt": row.prompt, "chosen": row.chosen, "rejected": row.rejected}
            short = {name: chat_json(messages) for name, messages in chats.items()}
            yield row.model_dump(mode="json") | short

    def _again(self, ref: AttemptRef) -> ExportedAttempt:
        run = self._runs[ref.run]
        (record,) = run.records([ref.record])
        return self._reader.read(run, record)

    def _count(self, attempt: ExportedAttempt) -> None:
        counts, facts = self.counts, attempt.facts
        counts.verdicts[verdict_kind(AttemptSummary.of(attempt.record))] += 1
        if facts.reason is not None:
            counts.reasons[facts.reason] += 1
        counts.models[f"{facts.agent}, {facts.model or 'no model of ours'}"] += 1
        counts.tasks[facts.task_digest] = facts.task_id


def _row(attempt: ExportedAttempt, options: ExportOptions) -> dict[str, object]:
    facts = dict(attempt.facts)
    match options.format:
        case ExportFormat.ATIF:
            assert attempt.trajectory is not None
            extra = _JSON.validate_python(attempt.facts.model_dump(mode="json"))
            trajectory = attempt.trajectory.replace(extra=extra)
            return trajectory.model_dump(mode="json", exclude_none=True)
        case ExportFormat.SFT | ExportFormat.PREFERENCE:
            assert attempt.kind is not None
            row = SftRow(
                **facts,
                kind=attempt.kind,
                conversations=attempt.conversations,
                messages=attempt.messages,
                tools=attempt.tools,
            )
            return row.model_dump(mode="json") | {"messages": chat_json(attempt.messages)}
        case ExportFormat.PARQUET:
            return _table_row(attempt, test_names=options.test_names).model_dump()


def _table_row(attempt: ExportedAttempt, *, test_names: bool) -> TableRow:
    record, usage, verdict = attempt.record, attempt.record.usage, attempt.verdict
    run = record.agent_run
    return TableRow(
        **dict(attempt.facts),
        kind=attempt.kind,
        conversations=attempt.conversations,
        complete=attempt.is_complete,
        messages=table_messages(attempt.messages),
        tools=attempt.tools,
        instruction=attempt.instruction,
        patch=attempt.patch,
        ending=run.ending if run is not None else None,
        steps=run.steps if run is not None else 0,
        tests_to_fix=verdict.to_fix,
        tests_fixed=verdict.fixed,
        tests_regressed=verdict.regressed,
        findings=tuple(TableFinding(rule=f.rule, severity=f.severity) for f in record.findings),
        requests=usage.requests if usage is not None else None,
        input_tokens=usage.input_tokens if usage is not None else None,
        output_tokens=usage.output_tokens if usage is not None else None,
        cached_tokens=usage.cached_tokens if usage is not None else None,
        cost_usd=usage.cost_usd if usage is not None else None,
        seconds=record.timing.total_s,
        agent_seconds=record.timing.agent_s,
        detail=record.detail if test_names else None,
        tests=tuple(TableTest(**dict(test)) for test in record.tests if test_names),
    )


def _problem_lines(problems: Mapping[str, str]) -> Iterator[str]:
    yield (
        f"{len(problems)} of the tasks cannot be read, so nothing can be searched for their hidden "
        "tests and solutions; name the tasks' folders with --tasks PATH, or add --unchecked"
    )
    for task_id, why in list(problems.items())[:_UNCHECKED_NAMED]:
        yield f"  {task_id}: {why}"
    if len(problems) > _UNCHECKED_NAMED:
        yield f"  and {len(problems) - _UNCHECKED_NAMED} more"
