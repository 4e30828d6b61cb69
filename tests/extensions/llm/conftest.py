from contextlib import contextmanager
from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from agentbench.agents.interface import Budget
from agentbench.extensions.llm.agent import LlmAgent
from agentbench.extensions.llm.tools import ToolContext, use_tool
from agentbench.models.conversation import ModelToolCall
from agentbench.sandbox.interface import Limits
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools.project import sandbox_project
from tests.agents.conftest import budget as budget
from tests.agents.conftest import problem as problem
from tests.cli.conftest import cli as cli
from tests.fakes.ended_sandbox import EndedSandbox
from tests.fakes.local_sandbox import LocalSandbox
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.staging import local_provider
from tests.models.conftest import MODELS
from tests.models.gateway.endpoint_clients import endpoint_to
from tests.models.raw import arguments_text
from tests.test_runs.interpreters import NEWEST, interpreter


@pytest.fixture
def sandbox(tmp_path):
    python = interpreter(f"pytest=={NEWEST}")
    return LocalSandbox(tmp_path / "sandbox", python, reporter_mounts())


@pytest.fixture
def isolated():
    provider = local_provider()
    with provider.open(
        provider.resolve_image(None), limits=Limits(), network=False, mounts=reporter_mounts()
    ) as sandbox:
        yield sandbox


class Ended(EndedSandbox):
    workspace = PurePosixPath("/workspace")


def budget_of(*, steps=30, seconds=120.0):
    return Budget(timeout=timedelta(seconds=seconds), max_steps=steps, max_cost_usd=2.0)


def context_of(sandbox, budget=None):
    project = sandbox_project(sandbox, TestCommand(as_module=True), env={}, isolated=True)
    return ToolContext(sandbox=sandbox, budget=budget or budget_of(), project=project)


def called(sandbox, name, **given):
    call = ModelToolCall(id="1", name=name, arguments=arguments_text(given))
    return use_tool(context_of(sandbox), call)


@pytest.fixture(params=MODELS)
def wire(request):
    return request.param


@pytest.fixture
def attempt(wire, problem, sandbox, tmp_path):
    @contextmanager
    def opened(script, *, budget=None, model=None, spend=9, **settings):
        pauses = []
        agent = LlmAgent(sleep=pauses.append, **settings)
        with (
            ScriptedModel(script) as scripted,
            endpoint_to(
                scripted, tmp_path / "log", budget_usd=spend, model=model or MODELS[wire]
            ) as door,
        ):
            outcome = agent.solve(problem, sandbox, budget or budget_of(), door)
            yield outcome, pauses, scripted

    return opened
