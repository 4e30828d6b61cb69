"""`agentbench gateway` and `agentbench mcp`: the commands that run a server."""

from agentbench.cli.options import expand_groups
from agentbench.cli.serve import server_options
from agentbench.core import extras
from agentbench.errors import UsageError


@expand_groups
def gateway(settings: server_options.GatewayServerOptions) -> None:
    """Run a gateway to a model: it counts, prices, limits, records and replays requests.

    Clients use the address and the token that it prints; only the gateway has the real key. It runs
    until Ctrl-C.

    Example: agentbench gateway --model openai/gpt-5-mini --max-cost 1 --log llm.jsonl
    """
    extras.require("the gateway", extras.GATEWAY)
    from agentbench.cli.serve.gateway import serve_gateway

    serve_gateway(settings)


@expand_groups
def mcp(settings: server_options.McpServerOptions) -> None:
    """Serve tests over the Model Context Protocol: execute_tests, discover_tests, explain_failure.

    With the extra symbolic, also symbolic_check, find_path_to_exception, compare_functions and
    analyze_branches, on code that a client submits: it runs in the --sandbox, never directly on
    this machine.

    With --transport http, clients need the token in AGENTBENCH_MCP_TOKEN, or the random one that is
    shown at the start.

    Example: agentbench mcp --root .
    """
    extras.require("the MCP server", extras.MCP)
    from agentbench.cli.serve.mcp import serve_mcp

    if settings.task is not None and settings.python is not None:
        raise UsageError("--python goes with --root: a task brings its own environment")
    serve_mcp(settings)
