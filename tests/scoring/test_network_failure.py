"""What tools print when the network fails, and what they print when it did not."""

import pytest

from agentbench.scoring.classification import network_failure

FAILED = [
    "fatal: unable to access 'https://x.invalid/y.git/': Could not resolve host: x.invalid",
    "ssh: Could not resolve hostname x.invalid: Name or service not known",
    "ssh: connect to host x.invalid port 22: Connection timed out",
    "ssh: connect to host x.invalid port 22: Connection refused",
    "ssh: connect to host x.invalid port 22: No route to host",
    "error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502",
    "fatal: unable to access 'https://x.invalid/': The requested URL returned error: 503",
    "fatal: unable to access: Failed to connect to x.invalid port 443 after 9 ms: "
    "Couldn't connect to server",
    "error: RPC failed; curl 56 Recv failure: Connection reset by peer",
    "fatal: the remote end hung up unexpectedly\nfatal: early EOF",
    "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError': "
    "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    "ReadTimeoutError(\"HTTPSConnectionPool(host='x.invalid', port=443): Read timed out.\")",
    "ConnectTimeoutError: Connection to x.invalid timed out. (connect timeout=15)",
    "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))",
    "OSError: [Errno 101] Network is unreachable",
    "ERROR: HTTP error 503 while getting a file",
    "requests.exceptions.HTTPError: 429 Client Error",
    "curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received",
    "curl: (35) TLS connect error: unexpected eof",
    "Err:1 http://x.invalid stable InRelease\n  Temporary failure resolving 'x.invalid'",
    "error: error sending request for url (https://x.invalid/simple/)",
    "npm error code EAI_AGAIN",
]

OTHERWISE = [
    "",
    "fatal: repository 'https://x.invalid/y.git/' not found",
    "fatal: unable to access 'https://x.invalid/': The requested URL returned error: 403",
    "fatal: reference is not a tree: 0123",
    "ERROR: No matching distribution found for foo==503",
    "error: 5031 tests were found",
    "ModuleNotFoundError: No module named 'network'",
    "make: *** [all] Error 2",
]


@pytest.mark.parametrize("said", FAILED)
def test_a_failed_network_is_recognised(said):
    assert network_failure(said)
    assert network_failure(said.upper())


@pytest.mark.parametrize("said", OTHERWISE)
def test_any_other_failure_is_not(said):
    assert network_failure(said) is None


def test_the_phrase_is_given_back_as_it_was_said():
    assert network_failure("oh: Network is unreachable!") == "Network is unreachable"


def test_only_the_end_of_what_was_said_counts():
    said = "network is unreachable"
    assert network_failure(said + "x" * 1000)
    assert network_failure(said + "x" * 100_000) is None
