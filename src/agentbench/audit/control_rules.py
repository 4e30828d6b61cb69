"""Rules about blind controls: whether a resolved attempt withstood tests that expect otherwise."""

from collections.abc import Iterator

from agentbench.audit.attempt_facts import AttemptFacts
from agentbench.audit.rule import Seen
from agentbench.scoring.evidence import Severity, StageName


def no_controls(facts: AttemptFacts) -> Iterator[Seen]:
    """Without blind controls a report that was forged in the tested process goes unnoticed."""
    record = facts.record
    finals = [stage.evidence for stage in record.stages if stage.name is StageName.FINAL_TEST]
    if record.resolved and not any(getattr(one, "controls", None) for one in finals):
        yield Seen(Severity.INFO, "final_test", "resolved without blind controls on the record")
