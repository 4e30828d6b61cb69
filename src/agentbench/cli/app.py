"""The program and the names of its commands, whose modules are imported on use."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from agentbench.cli.file_defaults import file_defaults
from agentbench.cli.process_setup import EXIT_CODE_MEANINGS
from agentbench.core.display_text import printable
from agentbench.core.extensions import Slot, offers
from agentbench.errors import UsageError

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter
    from typer.core import TyperArgument, TyperOption

    Parameter = TyperArgument | TyperOption
    from typer._click.shell_completion import CompletionItem


CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}

_OWN_HELP = {
    "run": "Run tasks with an agent, and judge the result.",
    "validate": "Prove tasks: solvable, not solved already, not flaky.",
    "resume": "Continue an interrupted run.",
    "rescore": "Judge a run's records again with the current rules.",
    "runs": "List runs, the newest first.",
    "report": "Report on runs: a row per attempt, and the resolved rate.",
    "compare": "Compare two runs: flips, and statistical significance.",
    "show": "Show one attempt: why it failed, its stages and its patch.",
    "audit": "Search tasks and runs for known leaks without running anything.",
    "explain": "Explain a failure reason, an exit code or a word of reports.",
    "mcp": "Serve tests over the Model Context Protocol.",
    "gateway": "Run a gateway to a model: it counts, limits and records.",
    "doctor": "Check whether this machine has what agentbench needs.",
    "clean": "Remove remains of dead runs, and cache entries.",
    "tasks": "List, create, import and export tasks.",
    "agents": "List the available agents, and test presets.",
    "images": "List and build the base images of Docker sandboxes.",
}
SHORT_HELP = {**_OWN_HELP, **{name: row.about for name, row in offers(Slot.COMMAND).items()}}
"""Every command in the order of `--help`: ours, then those of extensions."""

_MODULES = {
    "resume": "run",
    "rescore": "run",
    "images": "doctor",
    "explain": "show",
    "mcp": "serve.commands",
    "gateway": "serve.commands",
    "tasks": "tasks.commands",
}
"""The module below agentbench.cli of each command whose module has another name."""
_EPILOG = "; ".join(f"{code.value} {meaning}" for code, meaning in EXIT_CODE_MEANINGS.items())


class LazyCommands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - whatever typer hands on
        super().__init__(**{**settings, "commands": _CommandsOnDemand()})

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        # Without the import of any command, `agentbench --help` takes a fifth of a second.
        self._names_only().format_commands(ctx, formatter)

    def shell_complete(self, ctx: "Context", incomplete: str) -> "list[CompletionItem]":
        named = self._names_only()
        return named.shell_complete(typer.Context(named, parent=ctx.parent), incomplete)

    def invoke(self, ctx: "Context") -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Our own output is guarded, so this pipe is another one: a bug, not exit code 1.
            raise RuntimeError(f"a pipe or socket broke: {error}") from error
        except typer.BadParameter as error:
            # typer puts each choice of a missing option on a line of its own.
            if "\n" in (text := error.format_message()):
                raise UsageError(" ".join(text.split())) from None
            from pydantic import ValidationError

            from agentbench.core.schema import describe_wrong_value

            # pydantic's messages ("Input should be a valid integer") do not name the value.
            if isinstance(error.__cause__, ValidationError):
                error.message = printable(describe_wrong_value(error.__cause__.errors()[0]))
            raise

    def _names_only(self) -> TyperGroup:
        named: dict[str, Command] = {
            name: TyperCommand(name, help=line) for name, line in SHORT_HELP.items()
        }
        return TyperGroup(commands=named, params=self.params, rich_markup_mode=None)


# typer would show the types of Python: <str>, <list[Path]>, <int range>.
_METAVARS = {"str": "TEXT", "int": "N", "float": "NUMBER", "path": "PATH"}
_RANGES = (
    (re.compile(r"(\d[\d.]*)<=x<=(\d[\d.]*)(?=[;\]])"), r"from \1 to \2"),
    (re.compile(r"x>=(\d[\d.]*)(?=[;\]])"), r"at least \1"),
    (re.compile(r"x<=(\d[\d.]*)(?=[;\]])"), r"at most \1"),
)


# How the help of an option begins that has no effect without another one, so that no list of such
# options stands beside their helps: "With --fairness: ", "With --format parquet: ".
_NEEDED = re.compile(r"With (-[^:]+): ")
_FLAG = re.compile(r"(?<!\S)(-[\w-]+)(?: (?!or\b)(\w+))?")


class GroupedCommand(TyperCommand):
    """A command whose help groups its options by their panels, and that has file defaults."""

    # typer groups them only with rich, whose import doubles the time of --help.

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: "Context | None" = None,
        **extra: Any,  # noqa: ANN401 - whatever typer hands on
    ) -> "Context":
        for param in self.params:
            _name_value(cast("Parameter", param))
        # Help and completion work whatever the file contains. A group's commands have no table.
        is_own = parent is not None and parent.parent is None
        if is_own and not extra.get("resilient_parsing"):
            is_help = not {"-h", "--help"}.isdisjoint(args)
            name, known = str(info_name), SHORT_HELP
            defaults = {} if is_help else file_defaults(name, self.params, commands=known)
            extra.setdefault("default_map", defaults)
        if not extra.get("resilient_parsing"):
            self._refuse_empty_values(args)
        ctx = super().make_context(info_name, args, parent, **extra)
        if not ctx.resilient_parsing:
            self._refuse_idle_options(ctx)
        return ctx

    def _refuse_empty_values(self, args: list[str]) -> None:
        """Refuse empty arguments and paths, as `--out "$UNSET"`: they would mean this folder."""
        options = {flag: param for param in self.params for flag in param.opts}
        for before, text in pairwise(["", *args]):
            flag, _, joined = text.partition("=")
            is_joined = text.startswith("--") and "=" in text
            if joined if is_joined else text:
                continue
            name = flag if is_joined else before
            option = options.get(name)
            is_argument = not is_joined and (option is None or getattr(option, "is_flag", False))
            # Of typer's types, several are of paths; all have the word in their name.
            kind = "" if option is None else cast("Parameter", option).bare_type()
            if is_argument or "path" in kind.lower():
                what = "expected an argument" if is_argument else f"{name}: expected a path"
                raise UsageError(f"{what}, found an empty text; is a shell variable not set?")

    def _refuse_idle_options(self, ctx: "Context") -> None:
        """Refuse options without the one that they need, which their helps begin with."""
        options = {flag: param for param in self.params for flag in param.opts}
        for param in self.params:
            needed = _NEEDED.match(getattr(param, "help", None) or "")
            source = ctx.get_parameter_source(str(param.name))
            # A file's defaults are for runs with and without the other option.
            if needed is None or source is None or source.name != "COMMANDLINE":
                continue
            for flag, word in _FLAG.findall(needed[1]):
                value = ctx.params.get(str(options[flag].name))
                if str(value) == word if word else value not in (None, False):
                    break
            else:
                raise UsageError(f"{param.opts[-1]} goes with {needed[1]}")

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        # typer would print {RUN} for a required argument.
        return [re.sub(r"^\{(.*)\}", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        others: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            for form, words in _RANGES:
                text = form.sub(words, text)
            if param.param_type_name == "argument":
                sections["Arguments"].append((str(param.metavar), text))
            else:
                record = name, text
                panel = getattr(param, "rich_help_panel", None)
                (sections.setdefault(panel, []) if panel else others).append(record)
        for title, rows in {**sections, "Options": others}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _name_value(param: "Parameter") -> None:
    """Name the value of a parameter in capitals, as TASKS, unless it has a name or choices."""
    description = param.type_descriptor
    if param.metavar is not None or getattr(param, "is_flag", False) or description.is_choice:
        return
    if param.param_type_name == "argument":
        param.metavar = str(param.name).upper()
        return
    kind = re.sub(r"list\[(.*)\]|(.*) range", r"\1\2", param.bare_type()).lower()
    param.metavar = _METAVARS.get(kind)


class _CommandsOnDemand(Mapping[str, "Command"]):
    """Commands by name, each created on request."""

    def __init__(self) -> None:
        self._created: dict[str, Command] = {}

    def __getitem__(self, name: str) -> "Command":
        if name not in SHORT_HELP:
            raise KeyError(name)
        if name not in self._created:
            found = command_named(name)
            if not isinstance(found, typer.Typer):
                alone = typer.Typer(
                    add_completion=False, rich_markup_mode=None, context_settings=CONTEXT_SETTINGS
                )
                alone.command(name, cls=GroupedCommand)(found)
                found = alone
            self._created[name] = typer.main.get_command(found)
            _add_debug_option(self._created[name])
        return self._created[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SHORT_HELP)

    def __len__(self) -> int:
        return len(SHORT_HELP)


def command_named(name: str) -> Any:  # noqa: ANN401 - a function, or a group of commands
    """Import the function or the group behind a command of `SHORT_HELP`."""
    if name not in _OWN_HELP:
        return offers(Slot.COMMAND)[name].load()
    module = _MODULES.get(name, name)
    return getattr(import_module(f"agentbench.cli.{module}"), name)


def _add_debug_option(command: "Command") -> None:
    """Give `--debug` to a command, or to each command of a group; `__main__.main` reads it."""
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            _add_debug_option(each)
        return
    # typer makes an option only of a function's parameter.
    holder = typer.Typer(add_completion=False)

    @holder.command()
    def _(
        debug: Annotated[
            bool, typer.Option("--debug", help="Show tracebacks of errors.", expose_value=False)
        ] = False,
    ) -> None:
        del debug

    command.params.append(typer.main.get_command(holder).params[0])


app = typer.Typer(
    name="agentbench",
    help="Tells whether a coding agent fixed a bug, why not, and whether it cheated.",
    epilog=f"Exit codes: {_EPILOG}.",
    no_args_is_help=True,
    rich_markup_mode=None,  # rich's markup would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings=CONTEXT_SETTINGS,
    cls=LazyCommands,
)


def _show_version(is_requested: bool) -> None:
    # The option needs a callback: the program's own runs only if there is a command.
    if is_requested:
        from agentbench import __version__

        typer.echo(f"agentbench {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    pass
