from agentbench.models.formats.openai_chat import OpenAIChatFormat
from agentbench.models.interface import ModelErrorKind


def test_a_spent_quota_bears_the_code_that_clients_look_for() -> None:
    error = OpenAIChatFormat().error_body(ModelErrorKind.QUOTA, 403, "spent")["error"]
    assert error == {
        "message": "spent",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }


def test_what_openai_has_no_code_for_bears_our_own() -> None:
    body = OpenAIChatFormat().error_body(ModelErrorKind.TIMEOUT, 504, "")
    assert body["error"]["code"] == "timeout"
