"""`agentbench gateway`, `mcp` and `view`: the commands that run a server."""

from agentbench.cli.options import expand_groups
from agentbench.cli.serve import server_options
from agentbench.core import extras
from agentbench.errors import UsageError


@expand_groups
def gateway(settings: server_options.GatewayServerOptions) -> None:
    """Put a gateway before a model: it counts, prices, limits, records and replays.

    Clients use the address and the token that it prints; the real key stays with it. Until Ctrl-C.

    Example: agentbench gateway --model openai/gpt-5-mini --max-cost 1 --log llm.jsonl
    """
    extras.require("the gateway", extras.GATEWAY)
    from agentbench.cli.serve.gateway import serve_gateway

    serve_gateway(settings)


@expand_groups
def mcp(settings: server_options.McpServerOptions) -> None:
    """Serve tests over the Model Context Protocol: execute_tests, discover_tests, explain_failure.

    With the extra symbolic, also symbolic_check, find_path_to_exception, compare_functions and
    analyze_branches, on code that a client hands in: it runs in the --sandbox, never here.

    With --transport http, clients need the token in AGENTBENCH_MCP_TOKEN, or the one that is
    made up and shown at the start.

    Example: agentbench mcp --root .
    """
    extras.require("the MCP server", extras.MCP)
    from agentbench.cli.serve.mcp import serve_mcp

    if settings.task is not None and settings.python is not None:
        raise UsageError("--python goes with --root: a task brings its own environment")
    serve_mcp(settings)


@expand_groups
def view(settings: server_options.ViewServerOptions) -> None:
    """Show runs as a web page: attempts, why each failed, patches, comparisons; live.

    It reads the folder and changes nothing. Beyond loopback, a viewer needs the token in
    AGENTBENCH_VIEW_TOKEN, or the one that is made up and shown in the address at the start; where
    that variable is set, it is needed on loopback, too.

    Example: agentbench view runs/ --open
    """
    extras.require("the web page", extras.VIEW)
    from agentbench.cli.serve.view import serve_view

    serve_view(settings)
