"""300 calls that nobody should make, over real stdio."""

import json

import pytest
from mcp import MCPError

from tests.mcp.connection import command_for, over_stdio
from tests.mcp.hostile import calls, layout


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return layout(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def answers(root, plain_python, tmp_path_factory):
    result = tmp_path_factory.mktemp("said") / "stderr"
    command = command_for(root, "--python", str(plain_python))
    with result.open("w") as errlog, over_stdio(command, errlog=errlog) as session:
        answers = [session.call(tool, arguments) for tool, arguments in calls()]
        ran_early = (root / "ran").exists()
        alive = session.call("execute_tests", {"paths": ["tests"]})
    return answers, alive, result.read_text(), ran_early


def test_each_is_answered_with_a_refusal(answers):
    outcomes = [answer.structured_content["outcome"] for answer in answers[0]]
    assert len(outcomes) == 300
    assert set(outcomes) == {"invalid_arguments", "path_outside_root"}
    assert all(answer.is_error for answer in answers[0])


def test_what_leads_outside_is_told_from_what_is_not_there(answers):
    told = {
        json.dumps(arguments): answer.structured_content["outcome"]
        for (_, arguments), answer in zip(calls(), answers[0], strict=True)
    }
    for path in ("../../etc", "link/passwd", "chain/passwd", "/etc/passwd", "link[x]"):
        assert told[json.dumps({"paths": [path]})] == "path_outside_root"
    assert told[json.dumps({"paths": ["%2e%2e/%2e%2e/etc"]})] == "invalid_arguments"


def test_none_reaches_pytest_and_the_server_stays_up(answers, root):
    assert not answers[3]
    assert answers[1].structured_content["outcome"] == "passed"
    assert (root / "ran").exists()  # the mark does work
    assert answers[2] == ""  # nothing on stderr: no incident


def test_no_answer_echoes_a_control_character_a_path_or_a_traceback(answers, root):
    for answer in answers[0]:
        text = json.dumps(answer.structured_content["message"], ensure_ascii=False)
        assert text.isprintable()
        assert len(text) < 10_000
        for leak in (str(root), "/etc", "/proc", "Traceback", "site-packages", "x" * 100):
            assert leak not in text


def test_an_answer_is_no_protocol_error(answers):
    assert not any(isinstance(answer, MCPError) for answer in answers[0])
