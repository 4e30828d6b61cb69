"""Tests that do not end the same in equal runs, and how often they do not."""

from collections import Counter
from collections.abc import Mapping, Sequence

from agentbench.scoring.evidence import CaseOutcome, NodeId

Outcomes = Mapping[NodeId, CaseOutcome]
"""What became of each test of one run."""


def flake_rates(equal_runs: Sequence[Outcomes]) -> dict[NodeId, float]:
    """The share of the runs in which a test did not end as in most; tests that always did are out.

    A test that is missing from a run counts as one that ended otherwise; a run that shows no test
    at all tells nothing.
    """
    known = [outcomes for outcomes in equal_runs if outcomes]
    rates = {}
    for node_id in sorted({node_id for outcomes in known for node_id in outcomes}):
        endings = Counter(outcomes.get(node_id) for outcomes in known)
        if len(endings) > 1:
            rates[node_id] = 1 - max(endings.values()) / len(known)
    return rates


def worst_rates(*groups: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """Each test with the highest of its rates."""
    every = {node_id for group in groups for node_id in group}
    return {n: max(group.get(n, 0.0) for group in groups) for n in sorted(every)}
