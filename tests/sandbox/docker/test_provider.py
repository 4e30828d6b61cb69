"""The Docker back end: the conformance suite, and what only containers can get wrong."""

import pytest

from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.docker_fixtures import (
    engine,
    gaps,
    image,
    leftovers,
    provider,
    reachable_host,
    reconnect,
)

__all__ = ["engine", "gaps", "image", "leftovers", "provider", "reachable_host", "reconnect"]

pytestmark = pytest.mark.docker


class TestDockerConformance(SandboxConformance):
    """All that is asked of any sandbox."""
