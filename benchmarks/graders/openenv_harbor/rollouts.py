"""Roll out Harbor tasks by OpenEnv's own function, and write what it returns of each."""

import asyncio
import sys
from pathlib import Path

from openenv.core.harness.capture.sessions import SessionRegistry
from openenv.harbor import seams
from openenv.harbor.rollout import run_rollout

# OpenEnv lists how each agent of Harbor finds its model. `oracle`, which runs a script, has none.
seams.SEAMS["oracle"] = seams.Seam(name="oracle", dialect="openai_chat")


async def main(place: Path, jobs: int) -> None:
    """Roll out the tasks of a place, so many at a time."""
    registry, slots = SessionRegistry(), asyncio.Semaphore(jobs)

    async def roll_out(task: Path) -> None:
        async with slots:
            result = await run_rollout(
                task_dir=task,
                harness="oracle",
                sandbox="docker",
                registry=registry,
                intercept_url="http://127.0.0.1:9",  # nothing asks a model
                model="none",
                trials_dir=place / "trials",
            )
        (place / "results" / f"{task.name}.json").write_text(result.model_dump_json(indent=1))

    await asyncio.gather(*map(roll_out, sorted((place / "tasks").iterdir())))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
