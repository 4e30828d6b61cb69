"""`agentbench show` and `explain`: one attempt, and the meanings of reasons and exit codes."""

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import completion, options
from agentbench.cli.paged_text import line_style, print_paged
from agentbench.cli.process_setup import EXIT_CODE_MEANINGS, ExitCode
from agentbench.cli.run_execution import print_warnings
from agentbench.core.display_text import list_with_more, printable
from agentbench.core.extensions import Slot, offers
from agentbench.core.host import usable_cache_dir
from agentbench.errors import AgentbenchError, InputError, UsageError
from agentbench.report.taxonomy_page import WORDS, explain_exit_code, explain_reason, reason_facts
from agentbench.taxonomy import FailureReason, StageName

if TYPE_CHECKING:
    from agentbench.attempt.record import AttemptRecord
    from agentbench.runs.store.store import RunStore

_MAX_NAMED = 100  # attempts that a message names


def show(
    run: Annotated[
        str,
        typer.Argument(
            help="A run's folder, its id, or 'last'.", autocompletion=completion.run_names
        ),
    ],
    task: Annotated[
        str | None,
        typer.Argument(
            help="The task's id; needed if the run has several.",
            autocompletion=completion.tasks_of_run,
        ),
    ] = None,
    attempt: Annotated[int, typer.Argument(help="Which attempt.", min=1)] = 1,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    log: Annotated[
        StageName | None,
        typer.Option("--log", help="Print this stage's log instead.", metavar="STAGE"),
    ] = None,
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Never open a pager for a long text.")
    ] = False,
) -> None:
    """Show one attempt: why it failed, its stages, tests, patch and transcript.

    A text longer than the terminal opens in $PAGER.

    Example: agentbench show last lru-expiry --log agent_run
    """
    from agentbench.report.attempt_files import log_name
    from agentbench.report.attempt_text import render_attempt
    from agentbench.report.reported_run import ReportedRun
    from agentbench.runs.store.reading import read_run
    from agentbench.runs.store.store import RunStore, find_run

    if as_json and log is not None:
        raise UsageError("--json prints the record, and --log a stage's log; give one of them")
    store = RunStore.open(find_run(run, runs_dir))
    reading = read_run(store.folder)
    reported = ReportedRun(folder=store.folder, reading=reading, latest=reading.latest())
    print_warnings(reported.warnings())
    if task is None:
        tasks = sorted({each.task_id for each in reading.summaries})
        if len(tasks) != 1:
            # Those that one looks for first.
            failed = {each.task_id for each in reported.attempts if not each.resolved}
            tasks.sort(key=lambda each: each not in failed)
            known = list_with_more(tasks, _MAX_NAMED) or "none yet"
            raise UsageError(f"TASK is missing; tasks of {store.folder}, failed first: {known}")
        (task,) = tasks
    key = (task, attempt)
    found = [n for n, each in enumerate(reading.summaries) if (each.task_id, each.attempt) == key]
    if not found:
        names = sorted({f"{each.task_id} {each.attempt}" for each in reading.summaries})
        known = list_with_more(names, _MAX_NAMED)
        raise InputError(
            f"{store.folder}: no attempt {attempt} at {task}; known: {known or 'none'}"
        )
    (record,) = reading.records(found[-1:])
    if as_json:
        typer.echo(record.model_dump_json(indent=1))
        return
    folder = store.folder_of(record)
    if log is None:
        print_paged(
            render_attempt(record, folder, _work(store, record)),
            pager=not no_pager,
            style=line_style,
        )
        return
    path = folder / log_name(log)
    if not path.is_file():
        others = ", ".join(s for s in StageName if (folder / log_name(s)).is_file())
        raise InputError(
            f"{folder}: no log of {log}, since the stage did not run or came from the cache; "
            f"logs: {others or 'none'}"
        )
    # What an agent printed may hold control sequences that change the terminal.
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    text = "".join(f"{printable(line, newlines=True)}\n" for line in lines)
    if not text:
        controls = record.controls if log is StageName.FINAL_TEST else None
        why = controls.skipped if controls is not None else None
        typer.echo(f"the log of {log} is empty{f': {printable(why)}' if why else ''}", err=True)
    print_paged(text, pager=not no_pager)


def _work(store: "RunStore", record: "AttemptRecord") -> Iterable[str]:
    """What the agent did; nothing without the extension that knows it."""
    from agentbench.audit.run_facts import RunFolder

    story = offers(Slot.BEHAVIOUR).get("story")
    if story is None:
        return ()
    try:
        # A list, so that a fault of run.json, the task or the cache shows here, not in the page.
        return list(story.load()(RunFolder.with_one(store, record), usable_cache_dir()))
    except (AgentbenchError, OSError) as error:
        why = printable(str(error).partition("; ")[0])
        return ("what the agent did", f"  is not known, since {why}")


def explain(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A failure reason, an exit code, the rule of a finding, a tag of behaviour, or a "
            "word of reports such as quarantined; default: the list of all.",
            metavar="REASON|EXIT_CODE|WORD",
            autocompletion=completion.failure_reasons,
        ),
    ] = None,
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage",
            help="The stage that ended with the exit code.",
            autocompletion=completion.stage_names,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Explain a failure reason, an exit code, or a word of reports.

    --json prints the list of all reasons.

    Example: agentbench explain 137 --stage setup
    """
    if as_json:
        if what is not None or stage is not None:
            raise UsageError("--json prints the list of all reasons; omit REASON and --stage")
        typer.echo(json.dumps([reason_facts(each) for each in _reasons()], indent=1))
        return
    typer.echo(explanation(what, stage).rstrip("\n"))


def explanation(what: str | None, stage: str | None) -> str:
    """The text for a reason, an exit code or a word; for none of them, the list of all.

    Raises:
        UsageError: there is no such reason or stage.
    """
    is_code = what is not None and re.fullmatch(r"-?[0-9]{1,5}", what)
    if stage is not None and not is_code:
        raise UsageError(
            "--stage goes with an exit code, as in `agentbench explain 137 --stage setup`"
        )
    if stage is not None and stage not in set(StageName):
        raise UsageError(f"--stage: {stage!r} is not a stage; expected {', '.join(StageName)}")
    if what is None:
        reasons = "\n".join(f"{r.precedence:>2} {r:<22} {r.description}" for r in _reasons())
        listed = fill(", ".join(sorted(_words())), width=100, break_on_hyphens=False)
        return f"{reasons}\n\nWords of reports, and rules of findings:\n{listed}"
    if is_code:
        code = int(what)
        of_stage = explain_exit_code(code, stage)
        if stage is not None or code not in set(ExitCode):
            return of_stage
        own = EXIT_CODE_MEANINGS[ExitCode(code)]
        return f"Exit code {code} of agentbench itself: {own}\n{of_stage}"
    name = what.upper().replace("-", "_")
    if name in FailureReason.__members__:
        return explain_reason(FailureReason(name))
    words = _words()
    word = what.lower().replace("_", "-").replace(" ", "-").removesuffix("-with-tests")
    if word in words:
        return f"{word}: {words[word]}"
    close = get_close_matches(name, FailureReason, n=1) or get_close_matches(word, words)
    hint = f"did you mean {' or '.join(close)}?" if close else "`agentbench explain` lists them"
    raise UsageError(f"{what!r} is neither an exit code nor a reason nor a word of reports; {hint}")


def _words() -> dict[str, str]:
    """The words of reports and the rules of findings, with their explanations."""
    from agentbench.audit.audit import ATTEMPT_RULES, RUN_RULES, TASK_RULES

    words: dict[str, str] = {}
    for subject, rules in {
        "a task": TASK_RULES,
        "a run": RUN_RULES,
        "an attempt": ATTEMPT_RULES,
    }.items():
        for name, rule in rules.items():
            why = " ".join((rule.__doc__ or "").split())
            words[name] = f"A finding of the audit about {subject}.\n  {why}"
    for offer in offers(Slot.WORDS).values():
        words |= offer.load()
    # A tag of behaviour has the name of a verdict, and the verdict is what a reader asks about.
    return {**words, **WORDS}


def _reasons() -> list[FailureReason]:
    return sorted(FailureReason, key=lambda reason: reason.precedence)
