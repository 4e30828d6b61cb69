"""`agentbench agents`: list the agents, and try a preset with a scripted model."""

import json
from typing import Annotated

import typer

from agentbench.cli import completion, options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line
from agentbench.core.host import usable_cache_dir
from agentbench.errors import UsageError
from agentbench.sandbox.back_ends import SandboxName

agents = options.command_group("List the available agents, and test presets.")


@agents.command("list")
def list_agents(as_json: options.Json = False) -> None:
    """List the agents, one per line.

    Example: agentbench agents list
    """
    from agentbench.agents.preset import shipped_presets
    from agentbench.agents.registry import available_agents
    from agentbench.report.text_table import TableColumn, print_listing

    presets = {preset.name: preset for preset in shipped_presets()}
    if as_json:
        documents = [
            {
                "name": name,
                "about": what,
                "version": presets[name].version if name in presets else None,
                "api_formats": [each.wire for each in presets[name].wires]
                if name in presets
                else [],
            }
            for name, what in available_agents().items()
        ]
        typer.echo(json.dumps(documents, indent=1))
        return
    versions = {
        name: f" [{', '.join(each.wire for each in preset.wires)}; {preset.version}]"
        for name, preset in presets.items()
    }
    rows = [(name, f"{what}{versions.get(name, '')}") for name, what in available_agents().items()]
    rows += [
        ("predictions:FILE", "SWE-bench's predictions, applied as its own tool does"),
        ("path/to/it.toml", "a preset of your own"),
        ("package.module:attribute", "your own, by import path"),
    ]
    print_listing(rows, TableColumn(), TableColumn(below=1))


@agents.command("test")
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
    from agentbench.cli.dry_run import dry_run
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
