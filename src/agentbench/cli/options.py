"""The options that several commands share, and the tasks and values that they select."""

import inspect
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from agentbench.attempt.executor_name import ExecutorName
from agentbench.cli import completion, quantities
from agentbench.cli.app import GroupedCommand
from agentbench.cli.run_execution import print_warnings
from agentbench.core.display_text import list_with_more
from agentbench.errors import InputError, UsageError
from agentbench.sandbox.back_ends import SandboxName
from agentbench.tasks.problem import is_selected

if TYPE_CHECKING:
    from agentbench.tasks.loading import LoadedTasks
    from agentbench.tasks.problem import TaskId
    from agentbench.tasks.task import Task

_LARGEST_TIMEOUT_SCALE = 1_000_000
_MAX_NAMED = 10  # tasks
_Value = TypeVar("_Value")


class Panel:
    """The groups of options in the help of a command."""

    TASKS = "Tasks"
    AGENT = "Agent and model"
    ATTEMPTS = "Attempts"
    SANDBOX = "Sandbox and preparation"
    LIMITS = "Limits"
    VALIDATION = "Validation"
    OUTPUT = "Results and output"


task_option = partial(typer.Option, rich_help_panel=Panel.TASKS)
agent_option = partial(typer.Option, rich_help_panel=Panel.AGENT)
attempt_option = partial(typer.Option, rich_help_panel=Panel.ATTEMPTS)
sandbox_option = partial(typer.Option, rich_help_panel=Panel.SANDBOX)
limit_option = partial(typer.Option, rich_help_panel=Panel.LIMITS)
validation_option = partial(typer.Option, rich_help_panel=Panel.VALIDATION)
output_option = partial(typer.Option, rich_help_panel=Panel.OUTPUT)


Tasks = Annotated[
    list[Path], typer.Argument(help="Task folders, folders of task folders, or suite files.")
]
Executor = Annotated[
    ExecutorName,
    attempt_option("--executor", help="ray: run attempts on the nodes of a Ray cluster."),
]
RunsDir = Annotated[
    Path,
    output_option(
        "--runs-dir",
        help="The folder for results.",
        envvar="AGENTBENCH_RUNS_DIR",
        show_envvar=True,
    ),
]
RunNames = Annotated[
    list[str] | None,
    typer.Argument(
        help="Folders or ids of runs; default: the last run.",
        autocompletion=completion.run_names,
    ),
]
Json = Annotated[
    bool,
    output_option("--json", help="One JSON document on stdout, nothing else."),
]
GithubSummary = Annotated[
    bool,
    output_option(
        "--github-summary",
        help="Append the result as Markdown to the job's summary in GitHub Actions.",
    ),
]
Host = Annotated[
    str,
    typer.Option("--host", help="The address to listen on; others than loopback need a token."),
]
WithBehaviour = Annotated[
    bool,
    output_option("--behaviour", help="Add a table: how many attempts have each tag of behaviour."),
]
ExcludeUnfair = Annotated[
    bool,
    output_option(
        "--exclude-unfair",
        help="Add a table: the rates with and without tasks whose tests reject right fixes, as "
        "run.json and proof.json know.",
    ),
]
Quiet = Annotated[
    bool,
    output_option("-q", "--quiet", help="Show no progress, only the last line."),
]
Verbose = Annotated[
    bool,
    output_option("-v", "--verbose", help="Print a line for every attempt even with --quiet."),
]
Jobs = Annotated[
    str,
    attempt_option("-j", "--jobs", help="Parallel attempts; auto depends on cores and memory."),
]
NoCache = Annotated[
    bool,
    sandbox_option("--no-cache", help="Ignore environment snapshots and cached baselines."),
]
AllowEnv = Annotated[
    list[str] | None,
    sandbox_option(
        "--allow-env",
        help="Pass this environment variable to tasks that request it (repeatable).",
        metavar="NAME",
    ),
]
Runtime = Annotated[
    str | None,
    sandbox_option(
        "--runtime",
        help="Run all containers with this runtime of the engine, such as runsc (gVisor).",
        show_default="each task's own",
    ),
]
Registry = Annotated[
    str | None,
    sandbox_option(
        "--registry",
        help="Share prepared tasks through an image registry, HOST[:PORT][/PATH].",
        envvar="AGENTBENCH_REGISTRY",
        show_envvar=True,
    ),
]
Filter = Annotated[
    list[str] | None,
    task_option(
        "--filter",
        help="Only tasks whose ids match this glob (repeatable: one of them).",
        metavar="GLOB",
        autocompletion=completion.task_ids,
    ),
]
Exclude = Annotated[
    list[str] | None,
    task_option(
        "--exclude",
        help="No tasks whose ids match this glob (repeatable).",
        metavar="GLOB",
        autocompletion=completion.task_ids,
    ),
]
Tag = Annotated[str | None, task_option("--tag", help="Only tasks with this tag.")]
Limit = Annotated[
    int | None,
    task_option("--limit", help="At most this many tasks.", min=1),
]
Sample = Annotated[
    int | None,
    task_option(
        "--sample", help="A random sample of this many tasks, the same for the same seed.", min=1
    ),
]
SampleSeed = Annotated[int, task_option("--sample-seed", help="With --sample: its seed.")]
Model = Annotated[
    str | None,
    agent_option("-m", "--model", help="provider/name, or a name on your own server (--base-url)."),
]
BaseUrl = Annotated[
    str | None,
    agent_option(
        "--base-url", help="The URL of the model's server, for example http://localhost:8000/v1."
    ),
]
Prices = Annotated[
    Path | None,
    agent_option("--prices", help="A file of prices for models without a known price."),
]
NoProbe = Annotated[
    bool,
    agent_option("--no-probe", help="Do not try the model's key and name before the run."),
]
Record = Annotated[
    Path | None,
    agent_option("--record", help="Write the model's answers to a file, for --replay."),
]
Replay = Annotated[
    Path | None,
    agent_option("--replay", help="Read the model's answers from a file, without a network."),
]
Retries = Annotated[
    int,
    attempt_option("--retries", help="Retries after infrastructure failures.", min=0),
]
AllowUnsandboxed = Annotated[
    bool,
    sandbox_option("--allow-unsandboxed", help="Let any agent run in the process sandbox."),
]
Repeat = Annotated[
    int,
    attempt_option("--repeat", help="Runs per task, to find flaky tests.", min=1),
]
WriteIds = Annotated[
    bool,
    validation_option(
        "--write-ids", help="Run the tests to fill in fail_to_pass and pass_to_pass."
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The folder for the tasks.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace existing tasks.")]
NoProve = Annotated[bool, typer.Option("--no-prove", help="Do not validate the tasks.")]


def _refusing(parse: Callable[[str], _Value]) -> Callable[[str], _Value]:
    def parsed(text: str) -> _Value:
        try:
            # typer names the option only in messages of its own type.
            return parse(text)
        except UsageError as error:
            raise typer.BadParameter(str(error)) from None

    return parsed


def refuse_report_path(report: Path | None) -> None:
    """Refuse a `--report` that cannot be written, before the hours that its content takes.

    Raises:
        BadParameter: its folder does not exist, or it is a folder itself.
    """
    if report is not None and not report.parent.is_dir():
        raise typer.BadParameter(f"{report.parent} is not a folder", param_hint="--report")
    if report is not None and report.is_dir():
        raise typer.BadParameter(f"{report} is a folder; name a file", param_hint="--report")


def duration_option(flag: str, help_text: str, *, bare_unit: str, rich_help_panel: str) -> object:
    """An option for a duration; a number without a unit has `bare_unit`."""
    # --max-outage took minutes and --attempt-timeout seconds: plain numbers mean what they meant.
    parse = _refusing(partial(quantities.parse_duration, bare_unit=bare_unit))
    return typer.Option(
        flag, help=help_text, parser=parse, metavar="DURATION", rich_help_panel=rich_help_panel
    )


def rate_option(
    flag: str, help_text: str, *, bare_is_percent: bool = False, rich_help_panel: str
) -> object:
    """An option for a rate; a number without a percent sign has its former meaning."""
    parse = _refusing(partial(quantities.parse_rate, bare_is_percent=bare_is_percent))
    return typer.Option(
        flag, help=help_text, parser=parse, metavar="RATE", rich_help_panel=rich_help_panel
    )


def number_option(
    flag: str,
    help_text: str,
    *,
    least: float | None = 0,
    most: float | None = None,
    rich_help_panel: str,
) -> object:
    """An option for a number with limits."""

    # No value reaches or exceeds NaN, so such a limit would never hold.
    def refuse_nan(value: float | None) -> float | None:
        if value is not None and math.isnan(value):
            raise typer.BadParameter("expected a number, found nan")
        return value

    return typer.Option(
        flag,
        help=help_text,
        min=least,
        max=most,
        callback=refuse_nan,
        rich_help_panel=rich_help_panel,
    )


Sandbox = Annotated[
    SandboxName,
    sandbox_option("--sandbox", help="The sandbox; auto selects the strongest available one."),
]
TimeoutScale = Annotated[
    float,
    number_option(
        "--timeout-scale",
        "Multiplies every stage's time limit.",
        least=None,
        most=_LARGEST_TIMEOUT_SCALE,
        rich_help_panel=Panel.LIMITS,
    ),
]


class _CommandGroup(typer.Typer):
    """A group whose commands have the help of those at the top."""

    def command(self, name: str | None = None, **settings: Any) -> Any:  # noqa: ANN401 - whatever typer hands on
        return super().command(name, cls=GroupedCommand, **settings)


def command_group(help_text: str) -> typer.Typer:
    """A group of commands, which shows its help if none is named."""
    group = _CommandGroup(
        help=help_text, no_args_is_help=True, rich_markup_mode=None, add_completion=False
    )
    # Without a callback, typer makes a group with one command that command.
    group.callback()(lambda: None)
    return group


def parse_jobs(text: str) -> int | None:
    """The value of `--jobs`; `None` for auto.

    Raises:
        UsageError: it is neither `auto` nor a number above 0.
    """
    if text == "auto":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UsageError(f"--jobs: expected auto or a number above 0, found {text!r}")
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilters:
    """Selects some of the tasks that are loaded."""

    filter_globs: Filter = None
    exclude: Exclude = None
    tag: Tag = None
    sample: Sample = None
    sample_seed: SampleSeed = 0
    limit: Limit = None

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: two of them do.
        """
        if self.sample is not None and self.limit is not None:
            raise UsageError("--sample and --limit contradict each other: each sets the number")

    def select(self, catalogue: "LoadedTasks") -> "list[Task]":
        """Filter tasks; prints their warnings, and the seed of a sample, on stderr.

        Raises:
            InputError: none is left.
            UsageError: two options contradict each other.
        """
        print_warnings(catalogue.warnings)
        tagged = [t.id for t in catalogue.tasks if self.tag is None or self.tag in t.problem.tags]
        selected = set(self.select_ids(tagged, known=[task.id for task in catalogue.tasks]))
        return [task for task in catalogue.tasks if task.id in selected]

    def select_ids(
        self, ids: "Sequence[TaskId]", *, known: "Sequence[TaskId] | None" = None
    ) -> "Sequence[TaskId]":
        """Filter the ids of tasks, in their order; prints the seed of a sample on stderr.

        Args:
            ids: The ids.
            known: Those that the message lists; None: the same.

        Raises:
            InputError: none is left.
            UsageError: two options contradict each other.
        """
        self.check()
        selected = [
            each
            for each in ids
            if is_selected(each, self.filter_globs)
            and not (self.exclude and is_selected(each, self.exclude))
        ]
        if not (known or ids):
            raise InputError("no task to select from: none of its entries is a task")
        if not selected:
            filters = [" or ".join(f"--filter {glob!r}" for glob in self.filter_globs or ())]
            filters += [f"--exclude {glob!r}" for glob in self.exclude or ()]
            filters += [f"--tag {self.tag!r}"] if self.tag is not None else []
            which = " and ".join(filter(None, filters))
            listed = list_with_more(known or ids, _MAX_NAMED)
            raise InputError(f"no task matches {which}; known tasks: {listed}")
        if self.sample is not None and self.sample < len(selected):
            # By their ids, so that the order of the folders does not change the sample.
            drawn = set(random.Random(self.sample_seed).sample(sorted(selected), self.sample))
            typer.echo(
                f"sample: {self.sample} of {len(selected)} tasks (seed {self.sample_seed})",
                err=True,
            )
            selected = [each for each in selected if each in drawn]
        return selected[: self.limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSelection(TaskFilters):
    """The tasks that a command works on."""

    tasks: Tasks

    def load(self, cache_dir: Path) -> "list[Task]":
        """Load and filter the tasks; prints warnings on stderr.

        Raises:
            InputError: a task is wrong, or none is left.
        """
        from agentbench.tasks.loading import load_tasks
        from agentbench.tasks.mirror import Mirrors

        catalogue = load_tasks(self.tasks, mirrors=Mirrors(cache_dir / "mirrors"))
        return self.select(catalogue)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationOptions:
    """The options of preparing tasks and of their time limits."""

    no_cache: NoCache = False
    registry: Registry = None
    runtime: Runtime = None
    timeout_scale: TimeoutScale = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationOptions:
    """The options of commands that validate the tasks they write."""

    repeat: Repeat = 2
    jobs: Jobs = "auto"
    sandbox: Sandbox = SandboxName.AUTO
    allow_env: AllowEnv = None
    runs_dir: RunsDir = Path("runs")
    as_json: Json = False
    quiet: Quiet = False
    verbose: Verbose = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryValidationOptions(ValidationOptions):
    """The same for tasks from a repository's history, whose tests are flaky more often."""

    repeat: Repeat = 3


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each group (a dataclass) among its parameters."""
    # Typer makes options of a function's parameters. The returned function has the group's fields
    # as parameters instead of the group.
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type)}
    groups = {name: hint for name, hint in groups.items() if is_dataclass(hint)}

    @wraps(command)
    def expanded(**values: Any) -> None:  # noqa: ANN401 - what typer has parsed
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        command(**values)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += inspect.signature(groups[name]).parameters.values()
        else:
            parameters.append(parameter)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter.replace(kind=keyword) for parameter in parameters]
    # typer would follow it to the command, whose signature still has the groups.
    del expanded.__wrapped__
    vars(expanded)["__signature__"] = inspect.Signature(parameters)
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    return expanded
