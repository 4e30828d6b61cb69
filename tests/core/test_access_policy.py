import socket

import pytest

from agentbench.core.access_policy import AccessPolicy


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.7", "[2001:db8::1]", socket.gethostname()])
def test_server_on_all_addresses_allows_names_of_this_machine(host):
    assert AccessPolicy(host="0.0.0.0", port=80).allows_host(f"{host}:80")


@pytest.mark.parametrize("policy_host", ["0.0.0.0", "127.0.0.1"])
@pytest.mark.parametrize("host", ["rebound.example", "rebound.example:80", "127.0.0.1@other", ""])
def test_other_names_are_refused(policy_host, host):
    assert not AccessPolicy(host=policy_host, port=80).allows_host(host)
