import json
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.agents.command import CommandAgent
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.executor_name import ExecutorName
from agentbench.attempt.settings import RunSettings
from agentbench.errors import InputError, UnavailableError, UsageError
from agentbench.models.interface import ApiFormat
from agentbench.runs.options import RunOptions, check_model, open_model
from tests.fakes.scripted_model import Fail, Reset, Say, ScriptedModel, for_ever


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"attempts": 0}, "--attempts: 0 is not above 0"),
        ({"jobs": 0}, "--jobs: 0 is not above 0"),
        ({"retries": -1}, "--retries: -1 is below 0"),
        ({"max_failures": 0}, "--max-failures: 0 is not above 0"),
        ({"max_outage": timedelta(seconds=-1)}, "--max-outage: "),
        ({"attempt_timeout": timedelta(0)}, "--attempt-timeout: 0:00:00 is not above 0"),
        ({"agent_timeout": timedelta(0)}, "--agent-timeout: 0:00:00 is not above 0"),
        ({"timeout_scale": float("nan")}, "--timeout-scale: nan"),
        ({"run_id": "../x"}, "--run-id: '../x' is not a plain name"),
        ({"timeout_scale": 0.0}, "--timeout-scale: 0.0"),
        ({"timeout_scale": float("inf")}, "--timeout-scale: inf"),
        ({"run_id": ""}, "--run-id"),
        ({"run_id": ".hidden"}, "--run-id"),
        ({"run_id": "last"}, "--run-id: 'last' is reserved"),
        ({"run_id": "validation"}, "--run-id: 'validation' is reserved"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(wrong, said):
    with pytest.raises(UsageError) as caught:
        RunOptions(**wrong).check()
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"retires": 1}, "RunOptions: retires: there is no such argument; did you mean retries?"),
        ({"retries": "x"}, "RunOptions: retries: 'x' is not a whole number"),
    ],
)
def test_a_wrong_argument_is_named(wrong, said):
    with pytest.raises(UsageError) as caught:
        RunOptions(**wrong)
    assert str(caught.value) == said


@pytest.mark.parametrize("option", ["record", "replay"])
def test_a_cluster_s_attempts_share_no_recording_and_that_is_said(option):
    with pytest.raises(UsageError, match="the one gateway of one machine"):
        RunOptions(executor=ExecutorName.RAY, **{option: Path("answers")}).check()
    RunOptions(executor=ExecutorName.RAY, model="openai/x").check()


def test_what_is_usual_makes_sense():
    RunOptions().check()


def test_agent_files_are_refused_for_other_machines():
    options = RunOptions(executor="ray", agent_command="./fix.sh", agent_files=(Path("fix.sh"),))
    with pytest.raises(UsageError, match=r"--executor ray: --agent-files names files of this mach"):
        options.check()


ANY = CommandAgent("true")


class NeedsOne(NoopAgent):
    name = "needs-one"
    needs_model = True


def tried(setting, key, **more):
    with open_model(setting, ANY, probe=True, environ={"OPENAI_API_KEY": key}, **more) as gateway:
        return gateway


def of(server, name="openai/scripted", **more):
    return RunSettings(model=name, base_url=server.base_url, **more)


def test_an_agent_that_needs_a_model_is_refused_without_one():
    with pytest.raises(UsageError, match="--agent needs-one needs --model"):
        check_model(RunSettings(), NeedsOne())
    check_model(RunSettings(model="openai/x"), NeedsOne())
    one = NeedsOne()
    one.api_formats = frozenset({ApiFormat.ANTHROPIC_MESSAGES})
    with pytest.raises(UsageError, match="as in --model anthropic/NAME"):
        check_model(RunSettings(), one)


def test_without_a_model_there_is_no_gateway():
    with open_model(RunSettings(), ANY, probe=True) as gateway:
        assert gateway is None


@pytest.mark.parametrize("agent", [NoopAgent()])
def test_an_agent_that_asks_nobody_needs_no_key(agent):
    with open_model(RunSettings(model="openai/x"), agent, probe=True, environ={}) as gateway:
        assert gateway is None


def test_a_model_that_answers_is_named_as_its_provider_names_it():
    with ScriptedModel(for_ever(Say("ok"))) as server:
        gateway = tried(of(server), server.key)
        assert gateway.model == "scripted"
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("script", "key", "error", "said"),
    [
        (for_ever(Say("ok")), "sk-wrong", UsageError, "OPENAI_API_KEY"),
        (for_ever(Fail(404)), None, UsageError, "scripted"),
        (for_ever(Reset()), None, UnavailableError, "cannot be reached"),
    ],
    ids=["bad key", "unknown model", "no answer"],
)
def test_a_model_that_will_not_answer_is_found_before_a_run(script, key, error, said):
    with ScriptedModel(script) as server, pytest.raises(error, match=said) as caught:
        tried(of(server), key or server.key)
    assert server.key not in str(caught.value)


def test_nobody_listening_is_told_with_the_address():
    setting = RunSettings(model="mine", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9"):
        tried(setting, "")


def test_a_key_that_is_not_set_is_named():
    with (
        pytest.raises(UsageError, match="set ANTHROPIC_API_KEY"),
        open_model(RunSettings(model="anthropic/x"), ANY, probe=True, environ={}),
    ):
        raise AssertionError


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "answers.jsonl"
    with ScriptedModel(for_ever(Say("ok"))) as server:
        tried(of(server, record=path), server.key)
    return path


@pytest.mark.parametrize("name", [None, "scripted", "openai/scripted", "elsewhere/scripted"])
def test_a_replay_knows_its_model_and_needs_no_key(recording, name):
    with open_model(
        RunSettings(model=name, replay=recording), ANY, probe=True, environ={}
    ) as gateway:
        assert gateway.model == "scripted"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"model": "openai/other"}, "recorded with scripted, not with openai/other"),
        ({"model": "rescripted"}, "recorded with scripted"),
    ],
)
def test_a_replay_of_another_model_is_refused(recording, more, said):
    with (
        pytest.raises(UsageError, match=said),
        open_model(RunSettings(replay=recording, **more), ANY, probe=True, environ={}),
    ):
        raise AssertionError


def test_a_file_that_is_no_recording_is_named(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"a": 1}))
    with (
        pytest.raises(InputError, match="not a recording"),
        open_model(RunSettings(replay=path), ANY, probe=True, environ={}),
    ):
        raise AssertionError


class SpeaksGemini(CommandAgent):
    api_formats = frozenset({ApiFormat.GEMINI_GENERATE})


def test_an_agent_that_cannot_speak_to_the_model_is_refused_before_the_model_is_asked():
    with ScriptedModel(for_ever(Say("ok"))) as server:
        with (
            pytest.raises(UsageError, match="supports gemini-generate, but scripted offers"),
            open_model(
                of(server), SpeaksGemini("true"), probe=True, environ={"OPENAI_API_KEY": server.key}
            ),
        ):
            raise AssertionError
        assert server.requests == []
