"""`agentbench validate --strength` and `--fairness`, and `agentbench tasks fix-tests`."""

from collections.abc import Callable, Mapping
from types import ModuleType

from agentbench.core.extensions import Offer, Slot


def _scores() -> ModuleType:
    from agentbench.extensions.test_quality import task_scores

    return task_scores


def _fairness() -> ModuleType:
    from agentbench.extensions.test_quality import task_fairness

    return task_fairness


def _fix_tests() -> Callable[..., None]:
    from agentbench.extensions.test_quality.command import fix_tests

    return fix_tests


def _words() -> Mapping[str, str]:
    return {
        "weak-tests": (
            "A warning of `validate --strength`: the hidden tests accept more wrong fixes than "
            "--min-strength allows.\n"
            "  what to do     `--report FILE` lists the wrong fixes that pass"
        ),
        "beyond-instruction": (
            "A finding of `validate --fairness`: a test to fix whose failure has no word of the "
            "instruction.\n  It may ask for something that the instruction does not state."
        ),
    }


OFFERS = {
    Slot.TASK_SCORE: {
        "strength": Offer("The mutation score of hidden tests.", _scores),
        "fairness": Offer("The right fixes that hidden tests reject.", _fairness),
    },
    Slot.WORDS: {"test quality": Offer("The rules about tests.", _words)},
    Slot.TASK_COMMAND: {"fix-tests": Offer("Propose weaker assertions.", _fix_tests)},
}
