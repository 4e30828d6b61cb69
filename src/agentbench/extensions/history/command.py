"""`tasks new` and `tasks mine`: tasks from the commits of a repository."""

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.run_execution import say_line
from agentbench.cli.tasks import validation as validating
from agentbench.core.display_text import counted, printable
from agentbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from agentbench.extensions.history.mining import FixSource
    from agentbench.validation.environment.proposals import Proposal
    from agentbench.validation.task_validation import ValidationSettings


class RepositoryForm(StrEnum):
    """The form in which a task stores its repository."""

    AUTO = "auto"
    URL = "url"
    FILES = "files"

    def as_files(self, url: str) -> bool:
        """Whether a task gets the repository's files, and not its URL."""
        # The URL of a folder of this machine means nothing on another one.
        local = url.startswith("file://")
        return local if self is RepositoryForm.AUTO else self is RepositoryForm.FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions:
    """The options for making tasks of fixes; omitted ones are found by trying."""

    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--tests",
            help="A glob of paths that are tests, such as 'checks/**'; repeat it for more. "
            "Default: the names that the language's runners use, and files in folders of tests.",
            show_default=False,
        ),
    ] = None
    image: Annotated[
        str | None,
        typer.Option("--image", help="The image to start from; default: found by trying."),
    ] = None
    setup: Annotated[
        list[str] | None,
        typer.Option(
            "--setup",
            help="A command that installs the project; repeat it for more. Default: found by "
            "trying.",
            show_default=False,
        ),
    ] = None
    test_command: Annotated[
        str | None,
        typer.Option(
            "--test-command", help="The command that runs the tests; default: found by trying."
        ),
    ] = None
    whole_suite: Annotated[
        bool,
        typer.Option(
            "--whole-suite/--touched-files",
            help="The tests that must still pass: those of the whole suite, or only those in "
            "the test files that the fix touches.",
        ),
    ] = True
    keep: Annotated[
        RepositoryForm,
        typer.Option(
            "--keep",
            help="The part of the repository that a task stores: its URL, or its files. "
            "auto: the URL, or the files if the repository is on this machine.",
        ),
    ] = RepositoryForm.AUTO

    def source(self, repo: str, settings: "ValidationSettings") -> "FixSource":
        """The repository that `--repo` names, and the search for the environments of its tasks."""
        from agentbench.extensions.history.mining import FixSource
        from agentbench.tasks.mirror import Mirrors
        from agentbench.validation.environment.trials import EnvironmentFinder

        environment = environment_from_options(self.image, self.setup, self.test_command)
        url = repository_url(repo)
        return FixSource(
            url=url,
            mirrors=Mirrors(settings.options.cache_dir / "mirrors", say=settings.options.say),
            environments=EnvironmentFinder(settings.options, environment),
            as_files=self.keep.as_files(url),
        )


def repository_url(repo: str) -> str:
    """The URL of the repository that `--repo` names; a folder becomes a file URL.

    Raises:
        UsageError: it is neither.
    """
    if "://" in repo or (":" in repo and not Path(repo).exists()):
        return repo
    folder = Path(repo)
    if not folder.is_dir():
        raise UsageError(f"{repo}: expected a git repository's URL or folder, found neither")
    return folder.resolve().as_uri()


def environment_from_options(
    image: str | None, setup: Sequence[str] | None, command: str | None
) -> "Proposal | None":
    """The environment that options describe; None if it has to be found by trying.

    Raises:
        UsageError: a value is not allowed in a task.toml.
    """
    if image is None and not setup and command is None:
        return None
    from pydantic import ValidationError

    from agentbench.core.schema import describe_wrong_value
    from agentbench.tasks.task import TaskSetup
    from agentbench.tasks.task_file import EnvironmentTable, TestsTable
    from agentbench.validation.environment.proposals import Proposal

    try:
        return Proposal(
            environment=EnvironmentTable(image=image),
            setup=TaskSetup(commands=tuple(setup or ())),
            tests=TestsTable.of_command(command) if command is not None else TestsTable(),
            reasons=("given on the command line",),
        )
    except ValidationError as error:
        # Each option has one key, and the message of typer's kind names the option and the value.
        fault = error.errors()[0]
        option = {"image": "--image", "commands": "--setup"}.get(
            str(fault["loc"][0]) if fault["loc"] else ""
        )
        raise UsageError(f"{option or '--test-command'}: {describe_wrong_value(fault)}") from error


@options.expand_groups
def new_task(
    repo: Annotated[str, typer.Option("--repo", help="A repository's URL or folder.")],
    fix: Annotated[
        str, typer.Option("--fix", help="The commit that fixes the bug: its hash, or a name.")
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(help="The task's folder; default: tasks/, by the repository and commit."),
    ] = None,
    *,
    fixes: FixOptions,
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    validation: options.HistoryValidationOptions,
) -> None:
    """Make a task of a real fix: its tests become hidden, the rest the reference solution.

    The commit before the fix is the task's state. Its environment is found by trying, unless
    --image, --setup or --test-command describe it; then the task is validated.

    Example: agentbench tasks new --repo https://example.org/project.git --fix 0a1b2c3d
    """
    from agentbench.extensions.history.mining import TaskDestination, write_fix_task
    from agentbench.tasks.git_history import find_commit, mirror_of_head
    from agentbench.tasks.steps import INSTRUCTION_FILE
    from agentbench.validation.fix_commit import FixCommit, split_fix

    settings = validating.validation_settings(validation, write_ids=True)
    source = fixes.source(repo, settings)
    head = mirror_of_head(source.url, source.mirrors)
    commit = find_commit(head, fix)
    found = split_fix(head, commit, tests=tuple(fixes.tests or ()))
    if not isinstance(found, FixCommit):
        raise InputError(f"{commit.hash}: cannot become a task: {found}")
    destination = TaskDestination.of(folder, replace=replace)
    written = write_fix_task(found, source, destination, whole_suite=fixes.whole_suite)
    validating.validate_and_print((), [written], None if no_prove else settings, validation)
    if not (validation.quiet or no_prove):
        say_line(
            f"read {written / INSTRUCTION_FILE}: it is the commit's message, which may give the "
            "fix away"
        )
        say_line(f"next: agentbench run {shlex.quote(str(written))} --agent-command ./fix.sh")


@options.expand_groups
def mine(
    repo: Annotated[str, typer.Argument(help="A repository's URL or folder.", metavar="REPO")],
    out: options.Out = Path("tasks"),
    since: Annotated[
        str | None, typer.Option("--since", help="Only commits after this date, as git reads it.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="Only commits before this date.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Try at most this many candidates.", min=1)
    ] = None,
    *,
    fixes: FixOptions,
    validation: options.HistoryValidationOptions,
) -> None:
    """Make tasks of a repository's own fixes: commits that change source and tests.

    Each task is validated: its tests always fail before the fix and pass with it. The result for
    each commit is in OUT/mined.jsonl; the same command continues after an interruption.

    Example: agentbench tasks mine https://example.org/project.git --since 2026-01-01 --limit 20
    """
    from agentbench.extensions.history import mining
    from agentbench.importers.candidates import CandidateOutcome
    from agentbench.tasks.git_history import mirror_of_head

    settings = validating.validation_settings(validation, write_ids=True)
    source = fixes.source(repo, settings)
    mining_settings = mining.MiningSettings(
        origin=source,
        out=out,
        gate=settings,
        tests=tuple(fixes.tests or ()),
        since=since,
        until=until,
        limit=limit,
        whole_suite=fixes.whole_suite,
    )
    head = mirror_of_head(source.url, source.mirrors)
    entries = mining.mine(mining_settings, head, validating.follow_validation(validation))
    if validation.as_json:
        typer.echo(json.dumps([entry.model_dump(mode="json") for entry in entries], indent=1))
    else:
        for entry in entries:
            what = entry.task or "; ".join(entry.reasons)
            line = f"{entry.commit[:12]}  {entry.fate.value:<9}  {entry.subject}  ({what})"
            typer.echo(printable(line, limit=300))
    candidates = sum(bool(entry.candidate) for entry in entries)
    count = Counter(entry.fate for entry in entries)
    undecided = count[CandidateOutcome.UNDECIDED]
    again = f", {undecided} not decided (run it again)" if undecided else ""
    typer.echo(
        f"{counted(len(entries), 'commit')}, {counted(candidates, 'candidate')}, "
        f"{count[CandidateOutcome.KEPT]} kept{again}: {out / mining.MINING_LOG}",
        err=True,
    )
