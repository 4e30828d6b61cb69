"""`agentbench agents test`."""

from typing import Annotated

import typer

from agentbench.cli import completion, options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line
from agentbench.core.host import usable_cache_dir
from agentbench.errors import UsageError
from agentbench.sandbox.back_ends import SandboxName


def try_agent(
    name: Annotated[
        str,
        typer.Argument(
            help="A preset, or the path of one's .toml file.",
            autocompletion=completion.preset_names,
        ),
    ],
    sandbox: options.Sandbox = SandboxName.AUTO,
) -> None:
    """Install a preset, let it fix a tiny bug with a scripted model, and print what works.

    Example: agentbench agents test claude-code
    """
    from agentbench.agents.preset import find_preset, shipped_presets
    from agentbench.extensions.dry_run.dry_run import dry_run
    from agentbench.sandbox.registry import select_back_end

    preset = find_preset(name)
    if preset is None:
        known = ", ".join(each.name for each in shipped_presets())
        raise UsageError(f"{name}: no such preset; known: {known}, or the path of a .toml file")
    cache_dir = usable_cache_dir()
    provider = select_back_end(sandbox.value, cache_dir=cache_dir).provider
    typer.echo(f"{preset.name} {preset.version} in {provider.name}", err=True)
    failed = False
    for check in dry_run(preset, provider, cache_dir=cache_dir, say=say_line):
        failed |= not check.ok
        word = "ok" if check.ok else "--"
        typer.echo(f"{word}  {check.what:<22} {' '.join(check.detail.split())}".rstrip())
    if failed:
        raise typer.Exit(ExitCode.CHECK_FAILED)
