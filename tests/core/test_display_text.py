import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.core.display_text import Redactor, printable, secrets_in
from tests.models.gateway.test_gateway import CANARY, dressed, undressed

CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünï 🐍 text", "plain ünï 🐍 text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended, and all the rest", "0;never ended, and all the rest"),
        ("\x1bcreset", "reset"),
        ("at the end\x1b", "at the end"),
        ("a\nb\tc\rd", "a\\u000ab\\u0009c\\u000dd"),
        ("\x9b31m", "\\u009b31m"),
        ("abc\u202edef", "abc\\u202edef"),
        ("a\u2028b", "a\\u2028b"),
        ("\0\x7f", "\\u0000\\u007f"),
        ("lone \ud800", "lone \\ud800"),
        ("\x1b\x1b[31m[31m", "[31m[31m"),
    ],
)
def test_terminal_commands_are_removed_or_made_visible(text, shown):
    assert printable(text) == shown


def test_line_ends_and_tabs_stay_on_request():
    assert printable("a\n\tb\r\n", newlines=True) == "a\n\tb\\u000d\n"


@pytest.mark.parametrize(
    ("limit", "shown"), [(None, "12345"), (6, "12345"), (5, "12345"), (4, "123…"), (1, "…")]
)
def test_a_long_text_is_cut_to_its_limit(limit, shown):
    assert printable("12345", limit=limit) == shown


@given(st.text(st.characters(codec=None) | st.sampled_from("\x1b[]0;\x07\\\n\x9b")))
def test_no_control_character_is_left_of_any_text(text):
    shown = printable(text)
    assert not {unicodedata.category(char) for char in shown} & CONTROLS
    assert printable(shown) == shown
    shown.encode()


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


def test_ordinary_text_is_not_redacted() -> None:
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


def test_short_key_redacts_nothing() -> None:
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
