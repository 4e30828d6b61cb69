"""Runs a command in a sandbox that reaches only its model endpoint, by a socket or a tunnel."""

from collections.abc import Mapping
from dataclasses import replace

from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox
from agentbench.sandbox.relay import Relay, relay_mounts

ENDPOINT_MOUNT = "agentbench-endpoint"
ADDRESS_PLACEHOLDER = "{agentbench-endpoint}"
"""The text in the environment that the relay replaces by the address of the endpoint."""


def endpoint_mounts(endpoint: ModelEndpoint) -> tuple[ReadOnlyMount, ...]:
    """The mounts that a sandbox needs for `relayed_command`."""
    return relay_mounts(ENDPOINT_MOUNT, endpoint.socket)


def relayed_command(command: Command, sandbox: Sandbox, endpoint: ModelEndpoint) -> Command:
    """The command with its model endpoint at an address in the variables that clients read.

    It ends like the command itself. The command's own variables take precedence; in them
    `{agentbench-endpoint}` is replaced by the address without a path.

    Raises:
        KeyError: the sandbox was opened without the endpoint's mounts.
    """
    env = {
        **model_environment(endpoint),
        **command.env,
        "AGENTBENCH_MODEL_URL": ADDRESS_PLACEHOLDER,
    }
    relay = Relay(sandbox, ENDPOINT_MOUNT, endpoint.socket)
    return relay.around(replace(command, env=env), ADDRESS_PLACEHOLDER)


def model_environment(endpoint: ModelEndpoint) -> Mapping[str, str]:
    """The variables that model clients read, with the values behind the relay."""
    return {
        "AGENTBENCH_MODEL": endpoint.model,
        **dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{ADDRESS_PLACEHOLDER}/v1"),
        **dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), ADDRESS_PLACEHOLDER),
        **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), endpoint.token),
    }
