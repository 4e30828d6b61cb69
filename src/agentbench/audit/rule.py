"""The interface of the audit's rules: each checks facts that were read once."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypeVar

from agentbench.scoring.evidence import Finding, Severity

_MAX_FINDINGS = 20  # findings of one rule about one subject; a broken one may have thousands

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
    hits = {name: list(rule(facts)) for name, rule in rules.items()}
    findings = [finding for name, own in hits.items() for finding in _bounded(name, own)]
    return by_severity(findings)


def by_severity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings with the most severe ones first."""
    return tuple(sorted(findings, key=lambda finding: -weight(finding.severity)))


def weight(severity: Severity) -> int:
    """0 for info, 2 for critical."""
    return list(Severity).index(severity)


def _bounded(rule: str, hits: list[RuleHit]) -> list[Finding]:
    hits.sort(key=lambda one: -weight(one.severity))
    findings = [
        Finding(rule=rule, severity=one.severity, where=one.where, what=one.what)
        for one in hits[:_MAX_FINDINGS]
    ]
    if len(hits) > _MAX_FINDINGS:
        first = hits[_MAX_FINDINGS]
        more = f"{len(hits) - _MAX_FINDINGS} more of this rule"
        findings.append(Finding(rule=rule, severity=first.severity, where=first.where, what=more))
    return findings
