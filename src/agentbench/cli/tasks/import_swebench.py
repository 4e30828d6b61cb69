"""`agentbench tasks import swebench`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.options import ValidationOptions, expand_groups

if TYPE_CHECKING:
    from agentbench.importers.swebench.environments import EnvironmentDetector, EnvironmentSources
    from agentbench.importers.swebench.importing import SwebenchImportResult
    from agentbench.tasks.dataset_rows import Rejection
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.task_validation import ValidationSettings

_REMEDY = "else give an image with --image-template, or a recipe with another Python with --recipes"


@expand_groups
def import_swebench(
    file: Annotated[Path, typer.Argument(help="A .jsonl, .json or .parquet file of instances.")],
    out: options.Out = Path("tasks"),
    repos: Annotated[
        Path | None,
        typer.Option(
            "--repos", help="Directory of local clones (owner/name); others are cloned from GitHub."
        ),
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
    validation: ValidationOptions = ValidationOptions(),  # noqa: B008 - typer gets its fields
) -> None:
    """Make tasks of SWE-bench's instances, or of SWE-rebench's, SWE-Gym's or SWE-smith's.

    Example: agentbench tasks import swebench verified.jsonl --repos ~/mirrors --limit 5
    """
    from agentbench.cli.tasks.validation import (
        print_result,
        validate_new_tasks,
        validation_settings,
    )
    from agentbench.importers.images import refuse_without_images
    from agentbench.importers.swebench.importing import ImportSelection, import_file
    from agentbench.runs.environment import usable_cache_dir
    from agentbench.tasks.mirror import Mirrors

    settings = validation_settings(validation)
    mirrors = Mirrors(usable_cache_dir() / "mirrors")
    choice = ImportSelection(
        out=out,
        replace=replace,
        instances=frozenset(instance) if instance else None,
        limit=limit,
        repos=_folder(repos),
        sources=_sources(
            recipes or [],
            image_template,
            _detect_by_trying(settings, mirrors, repos) if detect else None,
        ),
    )
    imported = import_file(file, choice, mirrors)
    refused = [*imported.rejections]
    if not no_prove:
        refused += refuse_without_images(imported.written, settings.options, remedy=_REMEDY)
    refused += _find_test_ids(imported, settings, prove=not no_prove, quiet=validation.quiet)
    made = [folder for folder in imported.written if folder.exists()]
    proven = None
    if not no_prove and made:
        proven = validate_new_tasks(made, settings, validation)
    print_result(refused, made, proven, as_json=validation.as_json)


def _folder(repos: Path | None) -> Path | None:
    if repos is not None and not repos.is_dir():
        raise typer.BadParameter(f"{repos} is not a folder", param_hint="--repos")
    return repos


def _detect_by_trying(
    settings: "ValidationSettings", mirrors: "Mirrors", repos: Path | None
) -> "EnvironmentDetector":
    from agentbench.importers.swebench.importing import InstanceEnvironmentFinder
    from agentbench.validation.environment.trials import EnvironmentFinder

    return InstanceEnvironmentFinder(
        EnvironmentFinder(settings.options), mirrors, repos=repos
    ).detect


def _sources(
    recipes: list[Path], image_template: str | None, detect: "EnvironmentDetector | None"
) -> "EnvironmentSources":
    from agentbench.importers.swebench.environments import (
        EnvironmentSources,
        check_image_template,
        read_recipes,
        shipped_recipes,
    )

    if image_template is not None:
        try:
            check_image_template(image_template)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--image-template") from None
    return EnvironmentSources(
        own=[read_recipes(path) for path in recipes],
        image_template=image_template,
        shipped=[shipped_recipes()],
        detect=detect,
    )


def _find_test_ids(
    imported: "SwebenchImportResult", settings: "ValidationSettings", *, prove: bool, quiet: bool
) -> "list[Rejection]":
    """Find out what names mean that are no node ids; gives the instances where none does."""
    from agentbench.cli.tasks.validation import follow_runs
    from agentbench.importers.swebench.located_tests import refuse_unlocated, write_located_tests

    if not prove:
        return refuse_unlocated(imported.without_node_ids)
    unnamed = [folder for folder in imported.without_node_ids if folder.exists()]
    if not unnamed:
        return []
    return write_located_tests(unnamed, settings.options, follow_runs(quiet=quiet, verbose=False))
