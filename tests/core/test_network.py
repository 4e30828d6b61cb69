import pytest
from pydantic import TypeAdapter, ValidationError

from agentbench.core.network import AllowedHosts, Network, network_text, plain_address

NETWORK: TypeAdapter[bool | tuple[str, ...]] = TypeAdapter(Network)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (True, True),
        (False, False),
        ([], False),
        (
            ["PyPI.org.", " *.Debian.org ", "10.0.0.0/8", "2001:DB8::1", "::ffff:1.2.3.4"],
            ("pypi.org", "*.debian.org", "10.0.0.0/8", "2001:db8::1", "1.2.3.4"),
        ),
        (["db", "my_host"], ("db", "my_host")),
    ],
)
def test_a_network_in_its_usual_form(given: object, meant: object) -> None:
    assert NETWORK.validate_python(given) == meant
    assert NETWORK.validate_python(NETWORK.dump_python(NETWORK.validate_python(given))) == meant


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.", "http://a.org", "a.org:443", "a.org/path", "a*.org", "*.10.0.0.1", "10.0.0.1/8",
     "2130706433", "127.1", "0x7f.1", "[::1]", "fe80::1%eth0", "-a.org", "a..org", "x" * 64],
)  # fmt: skip
def test_no_entry_of_a_list_of_hosts(entry: str) -> None:
    with pytest.raises(
        ValidationError, match=r"is not an entry of a list of hosts; give a host name"
    ):
        NETWORK.validate_python([entry])


@pytest.mark.parametrize("value", [1, "pypi.org", None, {}])
def test_no_network(value: object) -> None:
    with pytest.raises(ValidationError, match="is neither true nor false nor a list of hosts"):
        NETWORK.validate_python(value)


def test_networks_in_words() -> None:
    assert [network_text(each) for each in (False, True, ("a", "*.b"))] == [
        "none", "public", "only a, *.b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("example.org", False),
        ("a.example.org", True),
        ("a.b.example.org", True),
        ("badexample.org", False),
        ("exact.net", True),
        ("x.exact.net", False),
    ],
)
def test_names_on_the_list(host: str, *, listed: bool) -> None:
    assert AllowedHosts(("*.example.org", "exact.net")).has_name(host) is listed


def test_addresses_in_ranges() -> None:
    hosts = AllowedHosts(("10.0.0.0/8", "2001:db8::/32"))
    found = [
        hosts.has_in_range(plain_address(x))
        for x in ("10.1.2.3", "::ffff:10.0.0.1", "11.0.0.1", "2001:db8::5")
    ]
    assert found == [True, True, False, True]
