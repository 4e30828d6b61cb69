"""What is wrong is said before anything is served."""

import pytest

from tests.cli.serve.test_gateway import gateway
from tests.fakes.scripted_model import Fail, ScriptedModel, for_ever
from tests.patience import HANG_SECONDS


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--model", "openai/gpt-5", "--record", "a", "--replay", "b"), 65, "b: cannot be read"),
        (("--model", "openai/gpt-5", "--prices", "nothing"), 65, "nothing: cannot be read"),
        (("--model", "openai/gpt-5", "--no-probe", "--port", "TAKEN"), 2, "cannot listen"),
        (("--model", "openai/gpt-5", "--socket", "/no/such/folder/x"), 2, "cannot listen"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(options, code, words) -> None:
    with ScriptedModel(for_ever(Fail(404))) as server:
        port = server.base_url.rpartition(":")[2]
        given = [port if option == "TAKEN" else option for option in options]
        with gateway(server, *given) as process:
            out, err = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, out) == (code, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_bad_key_is_said_at_once() -> None:
    with ScriptedModel([]) as server, gateway(server, "--model", "openai/gpt-5") as process:
        server.key, key = "another", server.key
        _, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 2
    assert "set OPENAI_API_KEY" in err
    assert key not in err
