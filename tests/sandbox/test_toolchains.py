import pytest

from agentbench.errors import UsageError
from agentbench.sandbox.toolchains import parse_tools


def test_without_tools_there_is_no_toolchain() -> None:
    assert parse_tools((), "3.11") is None


def test_tools_are_those_of_the_release_that_has_the_python() -> None:
    for python, name in (
        ("3.9", "agentbench/python:3.9-go1.15-node12"),
        ("3.11", "agentbench/python:3.11-go1.19-node18"),
        ("3.13", "agentbench/python:3.13-go1.24-node20"),
    ):
        toolchain = parse_tools(("node", "go"), python)
        assert toolchain is not None
        assert toolchain.image_name(python) == name


def test_a_version_chooses_its_release() -> None:
    toolchain = parse_tools(("node=20", "rust"), "3.11")
    assert toolchain is not None
    assert toolchain.suite == "trixie"
    assert toolchain.image_name("3.11") == "agentbench/python:3.11-node20-rust1.85"
    assert toolchain.packages == ("nodejs", "npm", "cargo", "rustc")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["ruby"], r"--with ruby: there is no tool 'ruby': use go=1\.15, 1\.19 or 1\.24; java="),
        (["node=22"], "--with node=22: Debian's releases have node 12, 18 or 20"),
        (["go="], "--with go=: Debian's releases have go"),
        (["go=1.19", "go=1.24"], r"--with go=1\.24: gives go twice"),
        (
            ["go=1.19", "node=20"],
            r"no Debian release has go 1\.19 and node 20: bookworm has go 1\.19, node 18; trixie",
        ),
    ],
)
def test_what_debian_lacks_is_refused_with_what_it_has(texts: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_tools(texts, "3.11")
