"""The six stages of an attempt, in the order they run."""

from enum import StrEnum


class StageName(StrEnum):
    """One stage of the pipeline."""

    GIT_CLONE = "git_clone"
    GIT_CHECKOUT = "git_checkout"
    SETUP = "setup"
    BASELINE_RUN = "baseline_run"
    AGENT_RUN = "agent_run"
    FINAL_TEST = "final_test"
