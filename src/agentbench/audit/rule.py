"""The interface of the audit's rules: each checks facts that were read once."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypeVar

from agentbench.scoring.evidence import Finding, Severity

# Findings of one rule about one subject; a broken one may have thousands.
_MAX_FINDINGS = 20

Facts = TypeVar("Facts")


class RuleHit(NamedTuple):
    """A rule's finding at one place."""

    severity: Severity
    where: str
    what: str


info = partial(RuleHit, Severity.INFO)
warning = partial(RuleHit, Severity.WARNING)
critical = partial(RuleHit, Severity.CRITICAL)


Rules = Mapping[str, Callable[[Facts], Iterable[RuleHit]]]
"""Rules by their names; each says in its docstring why it matters."""


class AuditSubject(StrEnum):
    """The task, run or attempt that is audited."""

    TASK = "task"
    RUN = "run"
    ATTEMPT = "attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """One subject and the findings about it."""

    subject: AuditSubject
    name: str
    note: str = ""
    findings: tuple[Finding, ...] = ()


def apply_rules(rules: Rules[Facts], facts: Facts) -> tuple[Finding, ...]:
    """Apply all rules to some facts; the most severe findings come first."""
    findings: list[Finding] = []
    for name, rule in rules.items():
        hits = sorted(rule(facts), key=lambda hit: -weight(hit.severity))
        if len(hits) > _MAX_FINDINGS:
            severity, where, _ = hits[_MAX_FINDINGS]
            more = f"{len(hits) - _MAX_FINDINGS} more of this rule"
            hits[_MAX_FINDINGS:] = [RuleHit(severity, where, more)]
        findings += (
            Finding(rule=name, severity=hit.severity, where=hit.where, what=hit.what)
            for hit in hits
        )
    return by_severity(findings)


def by_severity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings with the most severe ones first."""
    return tuple(sorted(findings, key=lambda finding: -weight(finding.severity)))


def weight(severity: Severity) -> int:
    """0 for info, 2 for critical."""
    return list(Severity).index(severity)
