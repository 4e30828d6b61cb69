"""What every sandbox, fake or real, must do: one suite for all back ends.

A back end's test module subclasses `SandboxConformance` under a name that pytest collects
and gives these fixtures, of class scope or wider:

    provider        the SandboxProvider under test
    image           an ImageId to open sandboxes from
    gaps            the promises that it is known not to make on this machine, frozenset[Promise]
    reconnect       a function that returns a second provider over the same cached snapshots
    leftovers       a function that returns the names of all that is on the host now and was made
                    by the provider for open sandboxes (not: images and snapshots), as a set
    reachable_host  the address by which a sandbox that has a network reaches this machine, or None

A promise that is not made skips what tests it, by name, so `pytest -ra` lists the gap.
"""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from agentbench.sandbox.interface import Promise, SandboxProvider
from tests.sandbox.conformance_commands import CommandConformance
from tests.sandbox.conformance_disk import DiskConformance
from tests.sandbox.conformance_endings import EndingConformance
from tests.sandbox.conformance_isolation import IsolationConformance
from tests.sandbox.conformance_limits import LimitConformance
from tests.sandbox.conformance_snapshots import SnapshotConformance
from tests.sandbox.conformance_trees import TreeConformance


class SandboxConformance(
    CommandConformance,
    DiskConformance,
    EndingConformance,
    IsolationConformance,
    LimitConformance,
    SnapshotConformance,
    TreeConformance,
):
    """All that is asked of a sandbox."""

    def test_it_promises_all_but_its_known_gaps(
        self, provider: SandboxProvider, gaps: frozenset[Promise]
    ) -> None:
        assert provider.promises == frozenset(Promise) - gaps


class IncompleteConformance(SandboxConformance):
    """All that is asked of a sandbox, except for what a back end cannot do."""

    cannot: ClassVar[Mapping[str, str]]

    def __init_subclass__(cls, *, cannot: Mapping[str, str]) -> None:
        """Let some tests fail, each for a reason; one of them that passes is a failure."""
        assert [name for name in cannot if not hasattr(cls, name)] == []
        cls.cannot = cannot

    @pytest.fixture(autouse=True)
    def known_gap(self, request: pytest.FixtureRequest) -> None:
        reason = self.cannot.get(request.node.originalname)
        if reason is not None:
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
