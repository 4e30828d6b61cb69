import os
import pwd
import subprocess
from pathlib import Path

import pytest

from agentbench.sandbox.host_environment import (
    ca_bundle,
    ca_variables,
    can_reach,
    forwarded_settings,
    host_python,
    install_pytest,
    sandbox_user,
)
from agentbench.sandbox.trees import FileOwner


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to drop")
def test_root_gets_a_user_without_a_name() -> None:
    user = sandbox_user()
    assert user is not None
    with pytest.raises(KeyError):
        pwd.getpwuid(user.uid)


def test_path_below_a_closed_folder_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "closed" / "tool").mkdir(parents=True)
    other = FileOwner(uid=60706, gid=60706)
    (tmp_path / "closed").chmod(0o700)
    assert not can_reach(other, tmp_path / "closed" / "tool")
    assert can_reach(other, Path("/usr/bin/env"))
    assert not can_reach(other, Path("/no/such/thing"))


INDEX = "https://packages.example/index"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UV_DEFAULT_INDEX", INDEX),
        ("UV_INDEX", f"{INDEX} https://other.example/index"),
        ("PIP_FIND_LINKS", "https://packages.example/wheels/"),
        ("npm_config_registry", "https://npm.example/"),
        ("NPM_CONFIG_REGISTRY", "https://npm.example/"),
        ("HTTPS_PROXY", "proxy.example:3128"),
        ("http_proxy", "http://proxy.example:3128"),
        ("NO_PROXY", "localhost,.example"),
    ],
)
def test_addresses_without_credentials_are_forwarded(name: str, value: str) -> None:
    assert forwarded_settings({name: value}) == {name: value}


@pytest.mark.parametrize(
    "value",
    [
        "https://user:secret@packages.example/index",
        "https://token@packages.example/index",
        "user:secret@proxy.example:3128",
        f"{INDEX} https://user:secret@other.example/index",
        "http://localhost:3141/index",
        "http://127.0.0.1:3141/index",
        "http://[broken",
        "/home/me/wheels",
        "file:///home/me/wheels",
        "",
    ],
)
def test_credentials_and_loopback_addresses_are_not_forwarded(value: str) -> None:
    names = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "HTTP_PROXY", "PIP_FIND_LINKS", "UV_INDEX")
    names += ("npm_config_registry",)
    assert forwarded_settings(dict.fromkeys(names, value)) == {}


def test_uv_gets_the_settings_of_pip() -> None:
    extra = "https://other.example/index"
    found = forwarded_settings({"PIP_INDEX_URL": INDEX, "PIP_EXTRA_INDEX_URL": extra})
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"] == INDEX
    assert found["PIP_EXTRA_INDEX_URL"] == found["UV_INDEX"] == extra


def test_settings_of_uv_stay() -> None:
    own = "https://own.example/index"
    found = forwarded_settings({"PIP_INDEX_URL": INDEX, "UV_INDEX_URL": own})
    assert found == {"PIP_INDEX_URL": INDEX, "UV_INDEX_URL": own}


@pytest.mark.parametrize("variable", ["HOME", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig"])
def test_npmrc_registry_is_forwarded_without_its_token(tmp_path: Path, variable: str) -> None:
    npmrc = tmp_path / ".npmrc"
    npmrc.write_text("//npm.example/:_authToken=secret\nregistry = https://npm.example/\n")
    value = str(tmp_path if variable == "HOME" else npmrc)
    assert forwarded_settings({variable: value}) == {"npm_config_registry": "https://npm.example/"}


def test_npmrc_registry_with_credentials_is_not_forwarded(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("registry=https://user:secret@npm.example/\n")
    assert forwarded_settings({"HOME": str(tmp_path)}) == {}


def test_the_environment_outranks_the_npmrc(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("registry=https://file.example/\n")
    env = {"HOME": str(tmp_path), "npm_config_registry": "https://npm.example/"}
    assert forwarded_settings(env) == {"npm_config_registry": "https://npm.example/"}


def test_nothing_else_is_forwarded() -> None:
    assert (
        forwarded_settings({"OPENAI_API_KEY": "secret", "HOME": "/home/me", "PATH": "/bin"}) == {}
    )


def test_the_bundle_that_the_environment_names_comes_first(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    assert ca_bundle({"SSL_CERT_FILE": str(bundle)}) == bundle


def test_missing_bundle_is_skipped(tmp_path: Path) -> None:
    missing = tmp_path / "ca.pem"
    assert ca_bundle({"SSL_CERT_FILE": str(missing)}) != missing


def test_bundle_applies_to_all_programs() -> None:
    names = {"SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}
    names |= {"NODE_EXTRA_CA_CERTS"}
    assert ca_variables("/x") == dict.fromkeys(names, "/x")


def test_the_interpreter_is_outside_any_environment() -> None:
    python = host_python()
    ask = "import sys; print(sys.prefix == sys.base_prefix, sys.version.split()[0])"
    argv = (str(python.executable), "-I", "-c", ask)
    reported = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert reported == f"True {python.full_version}\n"
    assert python.image_name == f"agentbench/python:{python.version}"


def test_pytest_and_a_missing_pip_are_installed_without_a_network(tmp_path: Path) -> None:
    python = host_python()
    make = (str(python.executable), "-I", "-m", "venv", "--without-pip", str(tmp_path))
    subprocess.run(make, check=True)
    created = install_pytest(tmp_path, sandbox_path=tmp_path)
    argv = (str(tmp_path / "bin" / "pytest"), "--version")
    reported = subprocess.run(argv, capture_output=True, text=True, check=True, env={})
    assert reported.stdout == f"pytest {pytest.__version__}\n"
    argv = (str(tmp_path / "bin" / "pip"), "--version")
    assert subprocess.run(argv, capture_output=True, check=True, env={}).stdout.startswith(b"pip ")
    installed = [path for path in tmp_path.rglob("*") if "_pytest" in path.parts]
    assert {path for path in installed if path.suffix == ".py"} <= set(created)
