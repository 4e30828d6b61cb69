"""The audit of a task."""

from types import MappingProxyType

from agentbench.audit import leak_rules, setup_rules, strength_rules
from agentbench.audit.rule import Audited, Rules, Subject, apply_rules
from agentbench.audit.strength_rules import controlled_functions
from agentbench.audit.task_facts import TaskFacts

TASK_RULES: Rules[TaskFacts] = MappingProxyType(
    {
        "hidden-tests-in-base": leak_rules.hidden_tests_in_base,
        "visible-tests": leak_rules.visible_tests,
        "solution-in-instruction": leak_rules.solution_in_instruction,
        "solution-in-base": leak_rules.solution_in_base,
        "solution-named-in-base": leak_rules.solution_named_in_base,
        "built-copy-in-base": leak_rules.built_copies_in_base,
        "history-in-base": leak_rules.history_in_base,
        "tests-in-instruction": leak_rules.tests_in_instruction,
        "fixed-release": setup_rules.fixed_release_installed,
        "unpinned-install": setup_rules.unpinned_installs,
        "secret-in-environment": setup_rules.secrets_in_environment,
        "few-tests": strength_rules.few_tests,
        "no-regression-tests": strength_rules.no_regression_tests,
        "weak-control": strength_rules.weakly_controlled,
        "controls-off": strength_rules.controls_off,
        "asserts-nothing": strength_rules.asserts_nothing,
        "configuration-touched": strength_rules.touches_configuration,
        "no-solution": strength_rules.no_solution,
        "not-read": strength_rules.not_read,
    }
)
"""All that is asked of a task."""


def audit_task(facts: TaskFacts) -> Audited:
    """Put every rule to a task."""
    controlled = controlled_functions(facts)
    sure = sum(why is None for why in controlled.values())
    return Audited(
        subject=Subject.TASK,
        name=facts.task.id,
        note=f"{sure} of {len(controlled)} fail_to_pass functions controlled" if controlled else "",
        findings=apply_rules(TASK_RULES, facts),
    )
