"""What of the host's network settings goes into a sandbox, and what never does."""

from pathlib import Path

import pytest

from agentbench.sandbox.setup_network import ca_bundle, ca_variables, forwarded

INDEX = "https://packages.example/simple"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PIP_INDEX_URL", INDEX),
        ("PIP_EXTRA_INDEX_URL", f"{INDEX} https://other.example/simple"),
        ("HTTPS_PROXY", "proxy.example:3128"),
        ("http_proxy", "http://proxy.example:3128"),
        ("NO_PROXY", "localhost,.example"),
    ],
)
def test_addresses_without_credentials_are_forwarded(name: str, value: str) -> None:
    assert forwarded({name: value}) == {name: value}


@pytest.mark.parametrize(
    "value",
    [
        "https://user:secret@packages.example/simple",
        "https://token@packages.example/simple",
        "user:secret@proxy.example:3128",
        f"{INDEX} https://user:secret@other.example/simple",
        "http://localhost:3141/simple",
        "http://127.0.0.1:3141/simple",
        "http://[broken",
        "",
    ],
)
def test_credentials_and_this_machines_loopback_stay_out(value: str) -> None:
    assert forwarded({"PIP_INDEX_URL": value, "HTTP_PROXY": value}) == {}


def test_nothing_else_is_forwarded() -> None:
    assert forwarded({"OPENAI_API_KEY": "secret", "HOME": "/home/me", "PATH": "/bin"}) == {}


def test_the_bundle_that_the_environment_names_comes_first(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    assert ca_bundle({"SSL_CERT_FILE": str(bundle)}) == bundle


def test_a_bundle_that_is_not_there_is_passed_over(tmp_path: Path) -> None:
    missing = tmp_path / "ca.pem"
    assert ca_bundle({"SSL_CERT_FILE": str(missing)}) != missing


def test_python_pip_git_and_curl_are_all_told() -> None:
    names = {"SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}
    assert ca_variables("/x") == dict.fromkeys(names, "/x")
