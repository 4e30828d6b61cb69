"""The options that `tasks new` and `tasks mine` share, and their values."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.errors import UsageError

if TYPE_CHECKING:
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
