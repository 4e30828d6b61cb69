"""Agentbench's tasks as an environment of OpenEnv; its clients are agents or trainers.

    AGENTBENCH_TASKS=tasks AGENTBENCH_SANDBOX=docker uvicorn --app-dir examples openenv_server:app

A client starts with `reset(task="lru-expiry")` and calls tools with `step`. The step with the tool
`submit` ends the episode with its reward; None means that there is no verdict.
"""

import os
from pathlib import Path

from openenv.core.env_server import create_app

from agentbench import load_tasks
from agentbench.extensions.adapters.openenv_environment import (
    AgentAction,
    AgentObservation,
    JudgedEnvironment,
)
from agentbench.extensions.adapters.process_judge import JudgeSettings, close_judges

TASKS = load_tasks([Path(os.environ.get("AGENTBENCH_TASKS", "tasks"))]).tasks
SETTINGS = JudgeSettings(sandbox=os.environ.get("AGENTBENCH_SANDBOX", "auto"))


def environment() -> JudgedEnvironment:
    """The environment of one client."""
    return JudgedEnvironment(TASKS, SETTINGS)


app = create_app(
    environment, AgentAction, AgentObservation, env_name="agentbench", max_concurrent_envs=64
)
app.router.on_shutdown.append(close_judges)
