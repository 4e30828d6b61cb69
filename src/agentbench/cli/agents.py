"""`agentbench agents`: list the agents; extensions add commands."""

import json

import typer

from agentbench.cli import options
from agentbench.core.extensions import Slot, offers

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
                "api_formats": [each.api_format for each in presets[name].api_formats]
                if name in presets
                else [],
            }
            for name, what in available_agents().items()
        ]
        typer.echo(json.dumps(documents, indent=1))
        return
    versions = {
        name: f" [{', '.join(each.api_format for each in preset.api_formats)}; {preset.version}]"
        for name, preset in presets.items()
    }
    rows = [(name, f"{what}{versions.get(name, '')}") for name, what in available_agents().items()]
    rows += [
        ("predictions:FILE", "SWE-bench's predictions, applied as its own tool does"),
        ("path/to/it.toml", "a preset of your own"),
        ("package.module:attribute", "your own, by import path"),
    ]
    print_listing(rows, TableColumn(), TableColumn(below=1))


for name, row in offers(Slot.AGENT_COMMAND).items():
    agents.command(name)(row.load())
