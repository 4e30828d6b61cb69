"""Judges an attempt by a script of the task, its verifier; in each step, if the task has steps."""

from contextlib import nullcontext
from dataclasses import replace

from agentbench.attempt.agent_work.agent_outcome import blamed_on_agent
from agentbench.attempt.context import (
    AgentRunOutput,
    FinalTestOutput,
    IncompleteStageError,
    PreparedContext,
)
from agentbench.attempt.expected_tests import has_passed
from agentbench.attempt.judged_tests import repeated_if_services_fail
from agentbench.attempt.sandboxes import (
    await_health,
    open_agent_sandbox,
    require_services,
    watched_services,
)
from agentbench.attempt.steps import judge_last_step, walk_idle
from agentbench.attempt.verifier import BASELINE, run_verifier
from agentbench.errors import RunCancelled
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.steps import combined_evidence

_SKIPPED_FOR_A_SCRIPT = (
    "not applicable: the task's own script judges, and control runs change what tests expect"
)
_JUDGED_IN_PLACE = (
    "not applicable: a script of the task judges in the agent's own container, which is weaker: "
    "what the agent installed or left running can deceive it"
)


class JudgeByScript:
    """See `context.Judge`."""

    def baseline(self, context: PreparedContext) -> Evidence:
        if not context.task.steps:
            return run_verifier(context, None, name=BASELINE)

        # No file of the attempt itself has such a path.
        def save(name: str, content: bytes) -> None:
            context.save(name if name.startswith("services/") else f"baseline/{name}", content)

        own = replace(context, save=save)
        with (
            open_agent_sandbox(own, (), plain_workspace=False) as sandbox,
            watched_services(own, sandbox) as failures,
        ):
            await_health(own, sandbox)
            evidence = walk_idle(own, sandbox)
        require_services(context, failures)
        return evidence

    def final(
        self,
        context: PreparedContext,
        baseline: Evidence,
        change: JudgedChange,
        work: AgentRunOutput,
    ) -> FinalTestOutput:
        task, place, steps = context.task, work.sandbox, work.steps
        is_weak = place is not None or any(step.verifier.is_shared for step in task.steps)
        why = _JUDGED_IN_PLACE if is_weak else _SKIPPED_FOR_A_SCRIPT
        skipped = Controls(level=context.control_level, skipped=why)
        try:
            with nullcontext() if place is None else blamed_on_agent(context):
                if steps:
                    steps = judge_last_step(context, change, work)
                    evidence = combined_evidence(steps, len(task.steps), task.reward_strategy)
                else:
                    evidence = repeated_if_services_fail(
                        lambda: run_verifier(context, change, name="final", work=work),
                        # What an agent left in its own sandbox is not there a second time.
                        lambda final: place is not None or has_passed(task, baseline, final),
                    )
        except (Exception, RunCancelled) as error:
            raise IncompleteStageError(FinalTestOutput(controls=skipped, steps=steps)) from error
        return FinalTestOutput(evidence=evidence, controls=skipped, steps=steps)
