"""`agentbench tasks import swebench`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options

if TYPE_CHECKING:
    from agentbench.curation.gate import GateSettings
    from agentbench.tasks.importers.refusal import Refusal
    from agentbench.tasks.importers.swebench.importing import Imported
    from agentbench.tasks.importers.swebench.surroundings import Detect, Sources
    from agentbench.tasks.mirror import Mirrors

_REMEDY = "else give an image with --image-template, or a recipe with another Python with --recipes"


def import_swebench(
    file: Annotated[Path, typer.Argument(help="A .jsonl, .json or .parquet file of instances.")],
    out: options.Out = Path("tasks"),
    repos: Annotated[
        Path | None,
        typer.Option("--repos", help="Clones by owner/name; what is not there is of GitHub."),
    ] = None,
    recipes: Annotated[
        list[Path] | None,
        typer.Option("--recipes", help="A TOML file of set-ups, before those that ship."),
    ] = None,
    image_template: Annotated[
        str | None,
        typer.Option(
            "--image-template",
            help="Instance images to use; with {instance_id}, {hub_id}, {repo} or {image}.",
        ),
    ] = None,
    instance: Annotated[
        list[str] | None, typer.Option("--instance", help="Only the instance of this id.")
    ] = None,
    detect: Annotated[
        bool,
        typer.Option(
            "--detect", help="Try out how instances are set up that no recipe or image is for."
        ),
    ] = False,
    limit: options.Limit = None,
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    repeat: options.Repeat = 2,
    jobs: options.Jobs = "auto",
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Make tasks of SWE-bench's instances, or of SWE-rebench's, SWE-Gym's or SWE-smith's.

    Example: agentbench tasks import swebench verified.jsonl --repos ~/mirrors --limit 5
    """
    from agentbench.cli.gating import gate_settings, prove_made, tell
    from agentbench.curation.image_check import refuse_without_images
    from agentbench.runs.places import usable_cache_dir
    from agentbench.tasks.importers.swebench.importing import Choice, import_file
    from agentbench.tasks.mirror import Mirrors

    del debug  # read by the program itself
    settings = gate_settings(repeat=repeat, jobs=jobs, sandbox=sandbox, runs_dir=runs_dir)
    mirrors = Mirrors(usable_cache_dir() / "mirrors")
    choice = Choice(
        out=out,
        replace=replace,
        instances=frozenset(instance) if instance else None,
        limit=limit,
        repos=_folder(repos),
        sources=_sources(
            recipes or [],
            image_template,
            _detecting(settings, mirrors, repos) if detect else None,
        ),
    )
    imported = import_file(file, choice, mirrors)
    refused = [*imported.refused]
    if not no_prove:
        refused += refuse_without_images(imported.written, settings.options, remedy=_REMEDY)
    refused += _named(imported, settings, prove=not no_prove, quiet=quiet)
    made = [folder for folder in imported.written if folder.exists()]
    proven = None
    if not no_prove and made:
        proven = prove_made(made, settings, quiet=quiet, verbose=verbose)
    tell(refused, made, proven, as_json=as_json)


def _folder(repos: Path | None) -> Path | None:
    if repos is not None and not repos.is_dir():
        raise typer.BadParameter(f"{repos} is no folder", param_hint="--repos")
    return repos


def _detecting(settings: "GateSettings", mirrors: "Mirrors", repos: Path | None) -> "Detect":
    from agentbench.curation.environments import Environments
    from agentbench.curation.swebench_environments import InstanceEnvironments

    return InstanceEnvironments(Environments(settings.options), mirrors, repos=repos).detect


def _sources(recipes: list[Path], image_template: str | None, detect: "Detect | None") -> "Sources":
    from agentbench.tasks.importers.swebench.recipes import read_recipes, shipped_recipes
    from agentbench.tasks.importers.swebench.surroundings import Sources, check_template

    if image_template is not None:
        try:
            check_template(image_template)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--image-template") from None
    return Sources(
        own=[read_recipes(path) for path in recipes],
        image_template=image_template,
        shipped=[shipped_recipes()],
        detect=detect,
    )


def _named(
    imported: "Imported", settings: "GateSettings", *, prove: bool, quiet: bool
) -> "list[Refusal]":
    """Find out what names mean that are no node ids; gives the instances where none does."""
    from agentbench.cli.gating import showing
    from agentbench.curation.swebench_names import name_tests, refuse_unnamed

    if not prove:
        return refuse_unnamed(imported.unnamed)
    unnamed = [folder for folder in imported.unnamed if folder.exists()]
    if not unnamed:
        return []
    return name_tests(unnamed, settings.options, showing(quiet=quiet, verbose=False))
