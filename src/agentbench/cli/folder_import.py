"""What the imports of folders share: notes, the proof, and what is said in the end."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench.cli import options

if TYPE_CHECKING:
    from agentbench.tasks.importers.harbor.importing import Imported


def conclude(
    imported: "Imported",
    *,
    prove: bool,
    repeat: int,
    jobs: str,
    sandbox: options.SandboxName,
    runs_dir: Path,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Say what is otherwise here than there, prove what was written, and say what came of it.

    Raises:
        Exit: something was refused, or is not good.
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    from agentbench.cli.gating import gate_settings, prove_made, tell
    from agentbench.curation.image_check import refuse_without_images
    from agentbench.report.harmless import harmless

    for note in () if quiet else imported.notes:
        typer.echo(f"note: {harmless(note, limit=500)}", err=True)
    proven, refused, written = None, list(imported.refused), list(imported.written)
    if prove and written:
        settings = gate_settings(repeat=repeat, jobs=jobs, sandbox=sandbox, runs_dir=runs_dir)
        refused += refuse_without_images(written, settings.options)
        written = [folder for folder in written if folder.exists()]
        proven = prove_made(written, settings, quiet=quiet, verbose=verbose)
    tell(refused, written, proven, as_json=as_json)
