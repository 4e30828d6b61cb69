"""A dry run of a preset (`agents test`): a tiny task, and a model with scripted answers."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from agentbench.agents.client_bundles import TOOLS_MOUNT, MessageSink, bundles_folder
from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.preset import Preset, PresetAgent
from agentbench.attempt.record import AttemptRecord
from agentbench.cli.doctor import Check
from agentbench.core.files import owned_folder
from agentbench.errors import UnavailableError
from agentbench.extensions.dry_run.scripted_model import (
    ScriptedModel,
    serve_scripted_model,
    write_dry_run_task,
)
from agentbench.models.interface import ApiFormat, ModelEndpoint
from agentbench.runs.api import run_attempt
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import Command, Limits, Sandbox, SandboxProvider
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem
from agentbench.taxonomy import FailureReason

_MODEL = "rehearsed"
_PROVIDERS = {
    ApiFormat.OPENAI_CHAT: "openai",
    ApiFormat.OPENAI_RESPONSES: "openai",
    ApiFormat.ANTHROPIC_MESSAGES: "anthropic",
    ApiFormat.GEMINI_GENERATE: "gemini",
}
_STARTED_WITHIN = timedelta(seconds=60)
# Some clients retry for minutes if their key is refused.
_REFUSAL_TIMEOUT_SCALE = 0.1


def dry_run(
    preset: Preset, provider: SandboxProvider, *, cache_dir: Path, say: MessageSink
) -> Iterator[Check]:
    """Install an agent and let it try a tiny task; yields each check's result at once.

    Raises:
        SandboxError: the sandbox is lost.
    """
    with owned_folder("agentbench-dry-run-") as folder:
        run = _DryRun(preset, provider, cache_dir, folder, say)
        installed = run.installs()
        yield installed
        if installed.ok:
            yield run.starts()
            yield from run.works()
            yield run.is_refused()


class _DryRunAgent(PresetAgent):
    """The agent; it gives the prompter the path of its workspace."""

    prompter: ScriptedModel

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        # The scripted model names files by their absolute paths, which only the sandbox knows.
        self.prompter.workspace = str(sandbox.workspace)
        return super().solve(problem, sandbox, budget, model)


class _DryRun:
    def __init__(
        self,
        preset: Preset,
        provider: SandboxProvider,
        cache_dir: Path,
        folder: Path,
        say: MessageSink,
    ) -> None:
        self._preset = preset
        self._provider = provider
        self._task = write_dry_run_task(folder / "task")
        self._agent = _DryRunAgent(preset, toolboxes=bundles_folder(cache_dir), say=say)
        self._options = RunOptions(
            model=f"{_PROVIDERS[preset.api_formats[0].api_format]}/{_MODEL}",
            probe=False,
            runs_dir=folder / "runs",
            retries=0,
            allow_unsandboxed=True,
            cache_dir=cache_dir,
        )

    def installs(self) -> Check:
        try:
            image = self._provider.resolve_image(None)
            (mount,) = self._agent.mounts(self._provider, image)
        except UnavailableError as error:
            return Check(what="installs", ok=False, detail=str(error))
        return Check(what="installs", ok=True, detail=mount.source.parent.name)

    def starts(self) -> Check:
        image = self._provider.resolve_image(None)
        mounts = self._agent.mounts(self._provider, image)
        with self._provider.open(image, limits=Limits(), network=False, mounts=mounts) as sandbox:
            tools = str(sandbox.mounted(TOOLS_MOUNT))
            line = self._preset.version_command.replace("{tools}", tools)
            result = sandbox.run(Command(argv=("sh", "-c", line), timeout=_STARTED_WITHIN))
        output = (result.stdout.strip() or result.stderr.strip())[-200:]
        ok = result.ok and self._preset.version in output
        return Check(what="starts", ok=ok, detail=output)

    def works(self) -> Iterator[Check]:
        prompter = ScriptedModel(self._preset.dry_run)
        record = self._attempt(prompter)
        api_format = self._preset.api_formats[0].api_format
        message = f"{prompter.answered} requests, {api_format}"
        yield Check(what="reaches its model", ok=prompter.answered > 0, detail=message)
        yield Check(what="fixes the bug", ok=record.resolved, detail=record.detail)
        ending = record.agent_run.ending if record.agent_run else None
        ended = ending is AgentEnding.SUBMITTED
        yield Check(what="ends by itself", ok=ended, detail="" if ended else record.detail)
        usage = record.usage
        found = (usage.input_tokens, usage.output_tokens) if usage is not None else (0, 0)
        sent = (prompter.input_tokens, prompter.output_tokens)
        detail = f"{found[0]} in, {found[1]} out; the model reported {sent[0]} and {sent[1]}"
        ok = found == sent and sent[0] > 0
        yield Check(what="tokens are counted", ok=ok, detail=detail)

    def is_refused(self) -> Check:
        prompter = ScriptedModel(self._preset.dry_run, refuses=True)
        record = self._attempt(prompter, scale=_REFUSAL_TIMEOUT_SCALE)
        ok = record.failure_reason is FailureReason.LLM_ERROR
        return Check(what="reports a refused key", ok=ok, detail=record.detail)

    def _attempt(self, prompter: ScriptedModel, *, scale: float = 1.0) -> AttemptRecord:
        self._agent.prompter = prompter
        with serve_scripted_model(prompter) as url:
            options = self._options.replace(base_url=url, timeout_scale=scale)
            return run_attempt(self._task, self._agent, sandbox=self._provider, options=options)
