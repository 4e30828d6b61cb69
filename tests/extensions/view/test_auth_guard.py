"""Who is let in, and what every answer forbids a browser."""

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from agentbench.core.access_policy import AccessPolicy, is_loopback
from agentbench.extensions.view.auth_guard import FILE_CSP, PAGE_CSP, AuthGuard
from tests.extensions.view.conftest import PORT, client_of

TOKEN = "a-token.for~tests_1"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/", 200),
        ("/parts", 200),
        ("/leaderboard", 200),
        ("/leaderboard?tasks=x", 400),
        ("/compare", 200),
        ("/compare?first={first}&second={second}", 200),
        ("/runs/{first}", 200),
        ("/runs/{first}?page=x", 400),
        ("/runs/{first}/run.json", 200),
        ("{place}", 200),
        ("{place}/files/patch.diff", 200),
        ("/static/view.js", 200),
        ("/nothing", 404),
    ],
)
def test_every_answer_forbids_what_no_page_needs(client, shown, address, status):
    path = address.format(first=shown.first, second=shown.second, place=shown.address())
    answer = client.get(path)
    assert answer.status_code == status
    is_file = "run.json" in address or "files/" in address
    policy = FILE_CSP if is_file else PAGE_CSP
    assert answer.headers["content-security-policy"] == policy
    assert "'unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-frame-options"] == "DENY"


def test_the_policy_is_the_one_that_was_agreed():
    assert PAGE_CSP == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def test_a_bug_of_ours_is_an_answer_with_the_same_headers():
    def broken(_request):
        raise ZeroDivisionError

    guard = AccessPolicy(host="127.0.0.1", port=PORT)
    client = TestClient(
        AuthGuard(Starlette(routes=[Route("/", broken)]), guard),
        base_url=f"http://127.0.0.1:{PORT}",
        raise_server_exceptions=False,
    )
    answer = client.get("/")
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"] == PAGE_CSP


@pytest.mark.parametrize(
    ("listening", "host", "is_known"),
    [
        ("127.0.0.1", "127.0.0.1:1", True),
        ("127.0.0.1", "localhost:8766", True),
        ("127.0.0.1", "LOCALHOST", True),
        ("127.0.0.1", "[::1]:8766", True),
        ("127.0.0.1", "evil.example", False),
        ("127.0.0.1", "127.0.0.1.evil.example", False),
        ("127.0.0.1", "evil.example:8766", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "user@127.0.0.1", False),
        ("127.0.0.1", "192.0.2.1", False),
        ("127.0.0.1", "[::1", False),
        ("127.0.0.1", "", False),
        ("box.example", "box.example:1", True),
        ("box.example", "other.example", False),
        ("0.0.0.0", "192.0.2.1:8766", True),
        ("::", "[2001:db8::1]:8766", True),
        ("0.0.0.0", "evil.example", False),
    ],
)
def test_a_name_that_is_not_this_servers_is_refused(listening, host, is_known):
    assert AccessPolicy(host=listening, port=PORT).allows_host(host) == is_known


def test_a_foreign_name_gets_nothing(shown):
    answer = client_of(shown.folder).get("/", headers={"Host": "evil.example"})
    assert answer.status_code == 421
    assert shown.first not in answer.text


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("box.example", False),
    ],
)
def test_loopback_is_known(host, is_own):
    assert is_loopback(host) == is_own


def test_only_the_style_of_the_page_that_asks_for_the_token_needs_none(shown):
    client = client_of(shown.folder, token=TOKEN)
    assert client.get("/").text.count('href="/static/') == 1
    assert client.get("/static/view.css").status_code == 200
    assert client.get("/static/../static/view.js").status_code == 401


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("/", {}),
        ("/?token=wrong", {}),
        ("/?token=", {}),
        ("/?token=\u00fc", {}),
        ("/", {"Authorization": "Bearer wrong"}),
        ("/", {"Authorization": f"Basic {TOKEN}"}),
        ("/", {"Authorization": "Bearer \u00fc".encode("latin-1")}),
        ("/", {"Cookie": f"agentbench_view_{PORT}=wrong"}),
        ("/", {"Cookie": f"agentbench_view_1={TOKEN}"}),
        ("/static/view.js", {}),
        ("/runs/{first}/run.json", {}),
        ("/?token=wrong", {"Authorization": f"Bearer {TOKEN}"}),
    ],
    ids=str,
)
def test_without_the_token_there_is_nothing_to_see(shown, address, headers):
    client = client_of(shown.folder, token=TOKEN)
    answer = client.get(address.format(first=shown.first), headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-security-policy"] == PAGE_CSP
    assert shown.first not in answer.text.replace(
        f'href="/runs/{shown.first}/run.json"', ""
    ).replace(f'action="/runs/{shown.first}/run.json"', "")
    assert TOKEN not in answer.text


def test_a_token_is_taken_from_the_address_once_and_kept_from_scripts_and_other_sites(shown):
    client = client_of(shown.folder, token=TOKEN)
    answer = client.get(f"/runs/{shown.first}?q=a+b&token={TOKEN}&sort=-seconds")
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/runs/{shown.first}?q=a+b&sort=-seconds"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"agentbench_view_{PORT}={TOKEN};")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get(answer.headers["location"]).status_code == 200


def test_a_token_can_be_brought_as_bearer(shown):
    client = client_of(shown.folder, token=TOKEN)
    assert client.get("/", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


def test_a_token_in_an_address_of_two_slashes_leads_to_no_other_host(shown):
    client = client_of(shown.folder, token=TOKEN)
    answer = client.get(f"//evil.example/?token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/")
    assert not answer.headers["location"].startswith("//")


def test_a_foreign_name_gets_nothing_even_with_the_token(shown):
    client = client_of(shown.folder, token=TOKEN)
    answer = client.get("/", headers={"Host": "evil.example", "Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 421
