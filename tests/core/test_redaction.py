import pytest

from agentbench.core.display_text import Redactor, secrets_in
from tests.models.gateway.test_gateway import CANARY, dressed, undressed

TEXTS = dressed(CANARY)


@pytest.mark.parametrize("name", list(TEXTS))
def test_a_secret_is_removed_in_every_dress(name: str) -> None:
    shown = Redactor([CANARY]).text(f"before {TEXTS[name]} after")
    assert undressed(shown, CANARY) == set()
    assert "[removed]" in shown
    assert shown.startswith("before ")


@pytest.mark.parametrize("digits", [CANARY.encode().hex(), CANARY.encode().hex().upper()])
def test_a_secret_in_hexadecimal_digits_of_either_case_is_removed(digits: str) -> None:
    assert Redactor([CANARY]).text(f"before {digits} after") == "before [removed] after"


def test_what_is_no_secret_stays_as_it_is() -> None:
    texts = (
        "",
        "a\x00b",
        "H4sIAAAAAAAAA not packed",
        "\ud800",
        *dressed("something-else").values(),
    )
    redactor = Redactor([CANARY])
    assert all(
        redactor.data(t.encode("utf-8", "replace")) == t.encode("utf-8", "replace") for t in texts
    )


def test_a_key_that_hides_nothing_takes_nothing_out() -> None:
    assert Redactor(["", "none", "x"]).text("none of x") == "none of x"


def test_packed_bytes_that_never_end_are_looked_into_as_far_as_is_sensible() -> None:
    import base64
    import gzip

    bomb = base64.b64encode(gzip.compress(b"\0" * (1 << 28))).decode()
    assert Redactor([CANARY]).text(bomb) == bomb


def test_variables_that_hold_secrets_are_known_by_their_names():
    environ = {
        "OPENAI_API_KEY": "a",
        "github_token": "b",
        "DB_PASSWORD": "c",
        "AWS_CREDENTIALS": "d",
        "EMPTY_KEY": "",
        "KEYBOARD": "us",
        "PATH": "/bin",
    }
    assert secrets_in(environ) == {"a", "b", "c", "d"}
