"""The pipeline: six stages, in this order."""

from agentbench.scoring.evidence import Evidence, StageName
from agentbench.stages import git_checkout, git_clone
from agentbench.stages.agent_run import agent_run
from agentbench.stages.interface import Stage, StageContext
from agentbench.stages.selection import judged_timeout
from agentbench.stages.setup import setup


def _baseline_run(context: StageContext) -> Evidence:
    from agentbench.stages.baseline_run import baseline_run  # most attempts find it in the cache

    return baseline_run(context)


def _final_test(context: StageContext) -> Evidence:
    from agentbench.stages.final_test import final_test  # imported while the agent works

    return final_test(context)


PIPELINE = (
    Stage(
        name=StageName.GIT_CLONE,
        run=git_clone.git_clone,
        timeout=lambda context: context.scaled(git_clone.TIMEOUT.total_seconds()),
    ),
    Stage(
        name=StageName.GIT_CHECKOUT,
        run=git_checkout.git_checkout,
        timeout=lambda context: context.scaled(git_checkout.TIMEOUT.total_seconds()),
    ),
    Stage(
        name=StageName.SETUP,
        run=setup,
        timeout=lambda context: context.scaled(context.task.setup.timeout_s),
    ),
    Stage(name=StageName.BASELINE_RUN, run=_baseline_run, timeout=judged_timeout),
    Stage(
        name=StageName.AGENT_RUN,
        run=agent_run,
        timeout=lambda context: context.scaled(context.task.problem.limits.timeout_s),
    ),
    Stage(name=StageName.FINAL_TEST, run=_final_test, timeout=judged_timeout),
)
"""Every stage of an attempt. The first three prepare what later attempts can start from."""

PREPARATION = frozenset({StageName.GIT_CLONE, StageName.GIT_CHECKOUT, StageName.SETUP})
"""The stages whose outcome is kept in a snapshot."""
