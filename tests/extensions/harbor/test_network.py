"""The networks of imported tasks are those of Harbor's phases."""

import pytest

from agentbench.extensions.harbor.network import (
    agent_network,
    environment_network,
    network_faults,
    network_notes,
    shares_network,
    verifier_network,
)
from agentbench.extensions.harbor.task_toml import HarborTaskFile, parse_harbor_task_file


def form(text: str) -> HarborTaskFile:
    found = parse_harbor_task_file(text, where="task.toml")
    assert isinstance(found, HarborTaskFile), found
    return found


LISTED = 'network_mode = "allowlist"\nallowed_hosts = ["a.org", "localhost", "127.0.0.1", "::1"]\n'
CLOSED = 'network_mode = "no-network"\n'
PUBLIC = 'network_mode = "public"\n'


@pytest.mark.parametrize(
    ("text", "environment", "agent", "verifier"),
    [
        ("", True, None, True),
        ("[environment]\nallow_internet = true\n", True, None, True),
        ("[environment]\nallow_internet = false\n", False, None, False),
        (f"[environment]\nallow_internet = false\n{PUBLIC}", True, None, True),
        (f"[environment]\n{LISTED}", ("a.org",), None, ("a.org",)),
        ('[environment]\nnetwork_mode = "allowlist"\n', False, None, False),
        (f"[environment]\n{CLOSED}[agent]\n{LISTED}", False, ("a.org",), False),
        (f"[environment]\n{CLOSED}[verifier]\n{PUBLIC}", False, None, True),
        (f"[agent]\n{CLOSED}[verifier]\n{LISTED}", True, False, ("a.org",)),
        (
            f'[environment]\n{CLOSED}[verifier]\nenvironment_mode = "separate"\n',
            False, None, False,
        ),
        (f"[environment]\n{CLOSED}[verifier.environment]\ncpus = 1\n", False, None, True),
        (f"[verifier.environment]\n{CLOSED}", True, None, False),
    ],
)  # fmt: skip
def test_each_phase_has_its_own_policy_or_that_of_its_environment(
    text: str, environment: object, agent: object, verifier: object
) -> None:
    found = form(text)
    assert environment_network(found) == environment
    assert agent_network(found) == agent
    assert verifier_network(found) == verifier
    assert shares_network(found) is ({environment, agent, verifier} - {None} != {True})


def test_hosts_without_an_allow_list_are_refused_as_in_harbor() -> None:
    found = form('[environment]\nallowed_hosts = ["a.org"]\n')
    assert list(network_faults(found)) == [
        ("environment.allowed_hosts", 'needs network_mode = "allowlist"')
    ]


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("", ["the agent has a public network, which is Harbor's default", "the script has a"]),
        (f"[environment]\n{CLOSED}", []),
        (f"[environment]\n{LISTED}", ["the agent reaches only a.org of the network"]),
        (f"[agent]\n{CLOSED}", ["the script has a public network"]),
    ],
)
def test_the_notes_say_what_the_networks_mean(text: str, notes: list[str]) -> None:
    found = list(network_notes(form(text)))
    assert len(found) == len(notes)
    assert all(line.startswith(start) for line, start in zip(found, notes, strict=True))
