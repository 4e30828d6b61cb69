"""Faults that come when an attempt's work is done: they are said, and are none of the attempt's."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from agentbench.errors import SandboxError

_LOG = logging.getLogger("agentbench.cache")


@contextmanager
def removed_or_left() -> Iterator[ExitStack]:
    """For sandboxes that have done their work: that one cannot be removed fails no attempt."""
    with ExitStack() as resources:
        yield resources
        with left_to_the_next_start():
            resources.pop_all().close()


@contextmanager
def left_to_the_next_start() -> Iterator[None]:
    """What cannot be removed now is removed when its owner is dead; this attempt goes on."""
    try:
        yield
    except (SandboxError, OSError) as fault:
        _LOG.warning("a sandbox or its state is left behind (%s); the next start removes it", fault)


@contextmanager
def made_again_later() -> Iterator[None]:
    """What cannot be kept for later attempts is made again for them; this one goes on."""
    try:
        yield
    except OSError as fault:
        _LOG.warning("the cache takes nothing (%s); the task is prepared again next time", fault)
