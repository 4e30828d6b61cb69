"""`tasks new` and `tasks mine`: tasks from the commits of a repository, and their options."""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.options import HistoryValidationOptions, expand_groups
from agentbench.cli.tasks import history
from agentbench.core.display_text import printable
from agentbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from agentbench.importers.history import MinedCommit
    from agentbench.validation.environment.proposals import Proposal


class RepositoryForm(StrEnum):
    """How a task keeps its repository."""

    AUTO = "auto"
    URL = "url"
    FILES = "files"

    def as_files(self, url: str) -> bool:
        """Whether a task gets the repository's files, and not its URL."""
        local = url.startswith("file://")
        return local if self is RepositoryForm.AUTO else self is RepositoryForm.FILES


TestGlobs = Annotated[
    list[str] | None,
    typer.Option(
        "--tests",
        help="A glob of paths that are tests, such as 'checks/**'; repeat it for more. "
        "Default: test_*.py, *_test.py, conftest.py, and files in folders of tests.",
        show_default=False,
    ),
]
Image = Annotated[
    str | None, typer.Option("--image", help="The image to start from; default: found out.")
]
SetupCommand = Annotated[
    list[str] | None,
    typer.Option(
        "--setup",
        help="A command that installs the project; repeat it for more. Default: found out.",
        show_default=False,
    ),
]
PytestCommand = Annotated[
    str | None, typer.Option("--test-command", help="How pytest is called; default: found out.")
]
WholeSuite = Annotated[
    bool,
    typer.Option(
        "--whole-suite/--touched-files",
        help="Which tests have to go on passing: those of the whole suite, or only those in the "
        "test files that the fix touches.",
    ),
]
KeepOption = Annotated[
    RepositoryForm,
    typer.Option(
        "--keep",
        help="The part of the repository that a task stores: its URL, or its files. "
        "auto: the URL, but the files of a repository on this machine.",
    ),
]


def repository_url(repo: str) -> str:
    """The URL of what `--repo` names: a URL as it is, a folder as a file URL.

    Raises:
        UsageError: it is neither.
    """
    if "://" in repo or (":" in repo and not Path(repo).exists()):
        return repo
    folder = Path(repo)
    if not folder.is_dir():
        raise UsageError(f"{repo}: expected a git repository's URL or folder, found neither")
    return folder.resolve().as_uri()


def given_environment(
    image: str | None, setup: Sequence[str] | None, command: str | None
) -> "Proposal | None":
    """The environment that options describe; None where they leave it to be found out.

    Raises:
        UsageError: a value is none that a task.toml may hold.
    """
    if image is None and not setup and command is None:
        return None
    from pydantic import ValidationError

    from agentbench.tasks.task_file import EnvironmentTable, PytestTable, SetupTable
    from agentbench.validation.environment.proposals import Proposal

    try:
        return Proposal(
            environment=EnvironmentTable(image=image),
            setup=SetupTable(commands=tuple(setup or ())),
            tests=PytestTable(command=command) if command is not None else PytestTable(),
            reasons=("given on the command line",),
        )
    except ValidationError as error:
        text = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UsageError(f"--image, --setup, --test-command: {text}") from error


@expand_groups
def new_task(
    repo: Annotated[str, typer.Option("--repo", help="A repository's URL or folder.")],
    fix: Annotated[
        str, typer.Option("--fix", help="The commit that fixes the bug: its hash, or a name.")
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(help="The task's folder; default: tasks/, by the repository and commit."),
    ] = None,
    tests: history.TestGlobs = None,
    image: history.Image = None,
    setup: history.SetupCommand = None,
    test_command: history.PytestCommand = None,
    whole_suite: history.WholeSuite = True,
    keep: history.KeepOption = history.RepositoryForm.AUTO,
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    validation: HistoryValidationOptions = HistoryValidationOptions(),  # noqa: B008 - typer gets its fields
) -> None:
    """Make a task of a real fix: its tests become hidden, the rest the reference solution.

    The commit before it is the task's state. How its tests run is found out by trying, unless
    --image, --setup or --test-command say so; then the task is validated.

    Example: agentbench tasks new --repo https://example.org/project.git --fix 0a1b2c3d
    """
    from agentbench.cli.tasks.validation import (
        print_result,
        validate_new_tasks,
        validation_settings,
    )
    from agentbench.importers.history import FixSource, TaskDestination, write_fix_task
    from agentbench.tasks.fix_commit import FixCommit, split_fix
    from agentbench.tasks.git_history import find_commit, mirror_of_head
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.environment.trials import EnvironmentFinder

    settings = validation_settings(validation, write_ids=True)
    given = history.given_environment(image, setup, test_command)
    url = history.repository_url(repo)
    mirrors = Mirrors(settings.options.cache_dir / "mirrors")
    head = mirror_of_head(url, mirrors)
    commit = find_commit(head, fix)
    found = split_fix(head, commit, tests=tuple(tests or ()))
    if not isinstance(found, FixCommit):
        raise InputError(f"{commit.hash}: cannot become a task: {found}")
    origin = FixSource(
        url=url,
        mirrors=mirrors,
        environments=EnvironmentFinder(settings.options, given),
        as_files=keep.as_files(url),
    )
    place = TaskDestination.of(folder, replace=replace)
    written = write_fix_task(found, origin, place, whole_suite=whole_suite)
    proven = None if no_prove else validate_new_tasks([written], settings, validation)
    print_result((), [written], proven, as_json=validation.as_json)


@expand_groups
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
        int | None, typer.Option("--limit", help="At most so many candidates are tried.", min=1)
    ] = None,
    tests: history.TestGlobs = None,
    image: history.Image = None,
    setup: history.SetupCommand = None,
    test_command: history.PytestCommand = None,
    whole_suite: history.WholeSuite = True,
    keep: history.KeepOption = history.RepositoryForm.AUTO,
    validation: HistoryValidationOptions = HistoryValidationOptions(),  # noqa: B008 - typer gets its fields
) -> None:
    """Make tasks of a repository's own fixes: commits that change source and tests.

    Each task is validated: its tests always fail before the fix and pass with it. The result for
    each commit is in OUT/mined.jsonl; the same command goes on after an interruption.

    Example: agentbench tasks mine https://example.org/project.git --since 2026-01-01 --limit 20
    """
    from agentbench.cli.tasks.validation import follow_validation, validation_settings
    from agentbench.importers.history import FixSource, MiningSettings
    from agentbench.importers.history import mine as mine_history
    from agentbench.tasks.git_history import mirror_of_head
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.environment.trials import EnvironmentFinder

    settings = validation_settings(validation, write_ids=True)
    given = history.given_environment(image, setup, test_command)
    url = history.repository_url(repo)
    mirrors = Mirrors(settings.options.cache_dir / "mirrors")
    mining = MiningSettings(
        origin=FixSource(
            url=url,
            mirrors=mirrors,
            environments=EnvironmentFinder(settings.options, given),
            as_files=keep.as_files(url),
        ),
        out=out,
        gate=settings,
        tests=tuple(tests or ()),
        since=since,
        until=until,
        limit=limit,
        whole_suite=whole_suite,
        say=settings.options.say,
    )
    head = mirror_of_head(url, mirrors)
    entries = mine_history(mining, head, follow_validation(validation))
    _print_commits(entries, out, as_json=validation.as_json)


def _print_commits(entries: "Sequence[MinedCommit]", out: Path, *, as_json: bool) -> None:
    from agentbench.importers.history import MINING_LOG, CandidateOutcome

    if as_json:
        typer.echo(json.dumps([entry.model_dump(mode="json") for entry in entries], indent=1))
    else:
        for entry in entries:
            what = entry.task or "; ".join(entry.reasons)
            line = f"{entry.commit[:12]}  {entry.fate.value:<9}  {entry.subject}  ({what})"
            typer.echo(printable(line, limit=300))
    tried = [entry for entry in entries if entry.candidate]
    kept = sum(entry.fate is CandidateOutcome.KEPT for entry in entries)
    undecided = sum(entry.fate is CandidateOutcome.UNDECIDED for entry in entries)
    lost = f", {undecided} not decided (run it again)" if undecided else ""
    typer.echo(
        f"{len(entries)} commits, {len(tried)} candidates, {kept} kept{lost}: {out / MINING_LOG}",
        err=True,
    )
