"""What `vf-eval` loads: Harbor tasks of a folder, and a harness that runs a trial's script."""

from collections.abc import Iterator
from pathlib import Path

import verifiers.v1 as vf
from verifiers.v1.tasksets.harbor import HarborConfig, HarborEnv, HarborTask, HarborTaskset
from verifiers.v1.tasksets.harbor.taskset import parse_task

__all__ = ["HarborEnv", "ScriptHarness", "TrialTaskset"]


class TrialTasksetConfig(HarborConfig):
    """Where the tasks are."""

    folder: Path = Path("tasks")


class TrialTaskset(HarborTaskset, vf.Taskset[HarborTask, TrialTasksetConfig]):
    """Harbor tasks of a folder instead of Harbor's hub."""

    def load(self) -> Iterator[HarborTask]:
        """Read a task for each trial, which has the trial's name."""
        for number, folder in enumerate(sorted(self.config.folder.iterdir())):
            data = parse_task(folder, number, self.config)
            yield HarborTask(data.model_copy(update={"name": folder.name}), self.config.task)


class ScriptHarnessConfig(vf.HarnessConfig):
    """Where the scripts are."""

    scripts: Path = Path("scripts")


class ScriptHarness(vf.Harness[ScriptHarnessConfig]):
    """The agent: it runs the script that has the task's name."""

    async def launch(  # noqa: PLR0913, PLR0917 - verifiers' own signature
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Run it. Its exit code is no error, as an agent's failed command is none."""
        del ctx, trace, endpoint, secret, mcp_urls
        script = (self.config.scripts / f"{data.name}.sh").read_text()
        # The log is a file, so that a process in the background does not hold the pipe open.
        await runtime.run(["sh", "-c", 'sh -e -c "$0" > /tmp/agent.log 2>&1', script], {})
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")
