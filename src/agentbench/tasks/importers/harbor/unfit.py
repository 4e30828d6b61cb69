"""What of a Harbor task cannot be kept here: reasons to refuse it, and what is merely not used."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from agentbench.tasks.importers.harbor.form import EnvironmentForm, HarborForm, unknown_keys

_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml")


def reasons_against(form: HarborForm, folder: Path) -> Iterator[tuple[str, str]]:
    """Why a task cannot run here: the key or file, and the reason."""
    if form.steps:
        yield "steps", f"has {len(form.steps)} steps; agentbench judges a task once, at its end"
    yield from _against_environment(form.environment, "environment")
    if form.verifier.environment is not None:
        yield from _against_environment(form.verifier.environment, "verifier.environment")
    if form.verifier.collect:
        yield "verifier.collect", "runs commands in the agent's container after it; none run there"
    for place in ("environment", "tests"):
        for name in _COMPOSE:
            if (folder / place / name).exists():
                yield f"{place}/{name}", "starts several containers; a sandbox here is a single one"
    if form.environment.docker_image is None and not (folder / "environment/Dockerfile").is_file():
        yield "environment/Dockerfile", "is missing, and [environment] names no docker_image"


def _against_environment(environment: EnvironmentForm, where: str) -> Iterator[tuple[str, str]]:
    if environment.os.lower() != "linux":
        yield f"{where}.os", f"is {environment.os!r}; sandboxes here are Linux"
    if environment.gpus:
        yield f"{where}.gpus", f"asks for {environment.gpus}; sandboxes here have none"
    if environment.tpu is not None:
        yield f"{where}.tpu", "asks for a TPU; sandboxes here have none"
    if environment.mcp_servers:
        yield f"{where}.mcp_servers", "asks for servers beside the agent; none run here"
    if environment.healthcheck is not None:
        yield f"{where}.healthcheck", "asks for a service beside the agent; none runs here"


def not_used(form: HarborForm) -> Iterator[str]:
    """Keys that mean nothing here; the file is kept beside the task, with all of them."""
    told: Mapping[str, object] = {
        "environment.build_timeout_sec": form.environment.build_timeout_sec,
        "environment.gpu_types": form.environment.gpu_types,
        "environment.skills_dir": form.environment.skills_dir,
        "agent.user": form.agent.user,
        "verifier.user": form.verifier.user,
        "source": form.source,
        "multi_step_reward_strategy": form.multi_step_reward_strategy,
        "artifacts": form.artifacts and not form.verifier.is_separate,
        **_of_own_environment(form.verifier.environment),
    }
    yield from (key for key, value in told.items() if value)
    yield from unknown_keys(form)


def _of_own_environment(environment: EnvironmentForm | None) -> dict[str, object]:
    if environment is None:
        return {}
    used = {"docker_image", "env", "os", "network_mode", "allow_internet"}
    return {
        f"verifier.environment.{key}": True
        for key in sorted(environment.model_fields_set - used)
        if key in EnvironmentForm.model_fields
    }
