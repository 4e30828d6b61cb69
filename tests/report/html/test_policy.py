import base64
import hashlib

from agentbench.report.html.page import content_policy


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_nothing_is_allowed_but_what_has_these_digests():
    style, script = "a{}", "\u00e9()"
    assert content_policy(style=style, script=script).split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest(style)}'",
        f"script-src 'sha256-{digest(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
