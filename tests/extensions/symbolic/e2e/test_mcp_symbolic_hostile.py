"""Code that nobody should hand in, over real stdio: an answer each, and nothing of the host."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.extensions.symbolic.hostile_code import CANARY, HOSTILE, VARIABLE, code_for
from tests.mcp.connection import command_for, over_stdio
from tests.patience import with_growing_limit
from tests.tiers import Tier, chosen_tier, gate_and_soak

HARMLESS = {"code": "def f(x: int): return x\n", "function_name": "f"}
LIMITS = (2, 20, 120)  # seconds for a search, the longer ones on a machine with much else to do
ALIKE = {
    "loop for a path",
    "loop that swallows all",
    "generator without end",
    "sleep",
    "regex",
    "decorator that loops",
    "recursion when loaded",
    "giant literal",
    "nested lists",
    "nested attributes",
    "deep blocks",
    "threads without end",
}
"""What ends as another text does, or as one in test_analysis.py: for the soak."""

IN_THE_GATE = [each for each in HOSTILE if each.name not in ALIKE]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A file of the host's, with what must never be seen in an answer."""
    path = tmp_path_factory.mktemp("planted") / "secret"
    path.write_text(CANARY)
    path.chmod(0o666)
    return path


@pytest.fixture(scope="module")
def session(tmp_path_factory, planted):
    stderr = planted.with_name("stderr")
    command = command_for(tmp_path_factory.mktemp("project"))
    with (
        stderr.open("w") as errlog,
        over_stdio(command, errlog=errlog, **{VARIABLE: CANARY}) as session,
    ):
        session.call("symbolic_check", HARMLESS)  # the first one makes the sandbox's environment
        yield session
    assert stderr.read_text() == ""  # no incident


@pytest.fixture(scope="module")
def answers(session, planted, pytestconfig):
    asked = HOSTILE if chosen_tier(pytestconfig) is Tier.SOAK else IN_THE_GATE

    def ask(hostile):
        arguments = {**hostile.call, "code": code_for(hostile, planted)}
        answer = with_growing_limit(
            lambda seconds: session.call(hostile.tool, {**arguments, "timeout_seconds": seconds}),
            lambda answer: not ran_out_of_time(answer) or hostile.may_run_out_of_time,
            limits=LIMITS,
        )
        return answer, session.call("health_check")

    with ThreadPoolExecutor(2) as calls:
        return dict(zip((each.name for each in asked), calls.map(ask, asked), strict=True))


def ran_out_of_time(answer):
    content = answer.structured_content
    return content["status"] == "timeout" or content["error_type"] == "TimeoutError"


@pytest.mark.parametrize("hostile", gate_and_soak(IN_THE_GATE, HOSTILE))
def test_hostile_code_is_answered_by_the_contract(answers, hostile):
    answer = answers[hostile.name][0].structured_content
    assert answer["status"] in hostile.status, answer
    if answer["status"] == "error":
        assert answer["error_type"] == (hostile.error_type or answer["error_type"])
        assert answer["error_type"] is not None
    assert hostile.message in answer["message"]


@pytest.mark.parametrize("hostile", gate_and_soak(IN_THE_GATE, HOSTILE))
def test_server_survives_hostile_code(answers, hostile):
    assert answers[hostile.name][1].structured_content["status"] == "healthy"


def test_hostile_code_reads_nothing_of_the_host(answers, planted):
    content = json.dumps([answer.structured_content for answer, _ in answers.values()])
    assert CANARY not in content
    assert "Traceback" not in content
    assert planted.parent.parent.name not in content.replace(str(planted), "")


def test_hostile_code_changes_nothing_of_the_host(answers, planted):
    assert answers
    assert planted.read_text() == CANARY
